/* Gives a batch of events to the laws that they concern, and keeps the last events of each object.

   lawful/engine/run.py calls `dispatch` for each batch, and lawful/engine/evidence.py calls `keep_recent`. They must match
   `dispatch` of lawful/engine/dispatch.py, `LawQueue` of lawful/engine/law_judge.py and `RecentEvents._add` of evidence.py.
   tests/engine/test_batches.py and tests/engine/test_unseen_objects.py compare them. */
#include "rml/rml.h"
#include <stddef.h>
#include <structmember.h>

#include "engine/dispatch.h"
#include "events/fields.h"
#include "events/lazy_event.h"
#include "messages/inline_check.h"

#define ROUTES 64 /* places for kinds and names that were met in a batch, by their hashes: a power of two */

/* The events for one law that are not judged yet, and what must be known of the law here. LawJudge fills it. */
typedef struct {
    PyObject_HEAD
    PyObject *numbers, *events; /* lists */
    char tracks_objects;        /* does it need the end of each object that it has seen? */
    char takes_lazy_events;     /* can it judge events of which no dict was made? */
    char ignores_unseen_end;    /* does the end of an object that it has not seen not concern it now? */
} LawQueue;

static int queue_renew(LawQueue *self) {
    PyObject *numbers = PyList_New(0), *events = numbers == NULL ? NULL : PyList_New(0);
    if (events == NULL) {
        Py_XDECREF(numbers);
        return -1;
    }
    Py_XSETREF(self->numbers, numbers);
    Py_XSETREF(self->events, events);
    return 0;
}

static PyObject *queue_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"tracks_objects", "takes_lazy_events", NULL};
    int tracks, lazy;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "pp:LawQueue", names, &tracks, &lazy)) return NULL;
    LawQueue *self = (LawQueue *)type->tp_alloc(type, 0);
    if (self == NULL || queue_renew(self) < 0) {
        Py_XDECREF(self);
        return NULL;
    }
    self->tracks_objects = (char)tracks;
    self->takes_lazy_events = (char)lazy;
    return (PyObject *)self;
}

static void queue_dealloc(LawQueue *self) {
    Py_CLEAR(self->numbers);
    Py_CLEAR(self->events);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *queue_take(LawQueue *self, PyObject *Py_UNUSED(unused)) {
    PyObject *taken = PyTuple_Pack(2, self->events, self->numbers);
    if (taken != NULL && queue_renew(self) < 0) Py_CLEAR(taken);
    return taken;
}

static PyMemberDef queue_members[] = {
    {"events", T_OBJECT_EX, offsetof(LawQueue, events), READONLY, "The events that have come."},
    {"numbers", T_OBJECT_EX, offsetof(LawQueue, numbers), READONLY, "The numbers that they have in the run."},
    {"tracks_objects", T_BOOL, offsetof(LawQueue, tracks_objects), READONLY, "See `Law.tracks_objects`."},
    {"takes_lazy_events", T_BOOL, offsetof(LawQueue, takes_lazy_events), READONLY, "See `Monitor.takes_lazy_events`."},
    {"ignores_unseen_end", T_BOOL, offsetof(LawQueue, ignores_unseen_end), 0, "See `Monitor.ignores_unseen_end`."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef queue_methods[] = {
    {"take", (PyCFunction)queue_take, METH_NOARGS, "take()\n--\n\nThe events and their numbers; the queue is empty then."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject LawQueueType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.LawQueue",
    .tp_basicsize = sizeof(LawQueue),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "LawQueue(tracks_objects, takes_lazy_events)\n--\n\nThe events for one law that are not judged yet.",
    .tp_new = queue_new,
    .tp_dealloc = (destructor)queue_dealloc,
    .tp_members = queue_members,
    .tp_methods = queue_methods,
};

/* What is done with events of one kind about one name. */
typedef struct {
    PyObject *kind, *name;   /* name may be NULL */
    PyObject *concerned;     /* the laws: a tuple */
    PyObject *lives;         /* NULL: all of them see it; a tuple of dicts: if they all have the object; None: ask */
    Py_ssize_t count;
    LawQueue **queues;         /* one of each law */
    bool ends;               /* is it about ends of objects, which not all laws need? */
    PyObject *tracking;      /* the laws that need the end of each object that they have seen, or NULL */
} Route;

typedef struct {
    PyObject *routes, *admit, *ways, *kept; /* admit and ways are None if objects are not sampled */
    PyObject *seen;                         /* by id the laws that have seen an object; None: all laws get all ends */
    PyObject *most_thread;                  /* the highest number, a reference of its own */
    int brief_thread;                       /* the same of events in brief */
    int met;
    Route known[ROUTES];
} Dispatch;

/* The id of the object that an event happened to, borrowed; NULL: the event has none, or an error. */
static PyObject *target_of(PyObject *event) {
    return is_lazy_event(event) ? lazy_event_target((LazyEvent *)event) : PyDict_GetItemWithError(event, text_targetId);
}

static PyObject *part_of(PyObject *event, PyObject *key) { /* the same of fields that not all events have */
    PyObject *fields = event_fields(event);
    return fields == NULL ? NULL : PyDict_GetItemWithError(fields, key);
}

static void route_clear(Route *route) {
    for (Py_ssize_t i = 0; i < route->count; i++) Py_XDECREF(route->queues[i]);
    PyMem_Free(route->queues);
    Py_XDECREF(route->tracking);
    Py_XDECREF(route->kind);
    Py_XDECREF(route->name);
    Py_XDECREF(route->concerned);
    Py_XDECREF(route->lives);
    memset(route, 0, sizeof *route);
}

static LawQueue *queue_of(PyObject *law) {
    PyObject *queue = PyObject_GetAttr(law, text_queue);
    if (queue != NULL && !Py_IS_TYPE(queue, &LawQueueType)) {
        PyErr_SetString(PyExc_TypeError, "a law's queue is one of the C core");
        Py_CLEAR(queue);
    }
    return (LawQueue *)queue;
}

/* Which laws need the ends of objects that they see here? */
static int note_tracking(Route *route) {
    PyObject *laws = PyList_New(0);
    int result = laws == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; result == 0 && i < route->count; i++)
        if (route->queues[i]->tracks_objects) result = PyList_Append(laws, PyTuple_GET_ITEM(route->concerned, i));
    if (result == 0 && PyList_GET_SIZE(laws) > 0 && (route->tracking = PyList_AsTuple(laws)) == NULL) result = -1;
    Py_XDECREF(laws);
    return result;
}

static int route_fill(Dispatch *dispatch, Route *route, PyObject *kind, PyObject *name) {
    PyObject *of_name = name == NULL ? Py_None : name;
    PyObject *key = PyTuple_Pack(2, kind, of_name);
    if (key == NULL) return -1;
    route->kind = Py_NewRef(kind);
    route->name = Py_XNewRef(name);
    route->concerned = PyObject_GetItem(dispatch->routes, key);
    Py_DECREF(key);
    if (route->concerned == NULL) return -1;
    if (!PyTuple_Check(route->concerned)) {
        PyErr_SetString(PyExc_TypeError, "laws are in a tuple");
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(route->concerned);
    route->queues = PyMem_Calloc((size_t)(count + 1), sizeof *route->queues);
    if (route->queues == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    route->count = count;
    for (Py_ssize_t i = 0; i < count; i++)
        if ((route->queues[i] = queue_of(PyTuple_GET_ITEM(route->concerned, i))) == NULL) return -1;
    if (dispatch->seen != Py_None) {
        route->ends = PyUnicode_CompareWithASCIIString(kind, "gone") == 0;
        if (!route->ends && note_tracking(route) < 0) return -1;
    }
    if (dispatch->ways != Py_None) {
        route->lives = PyObject_CallFunctionObjArgs(dispatch->ways, kind, of_name, route->concerned, NULL);
        if (route->lives == NULL) return -1;
    }
    return 0;
}

static bool same_text(PyObject *a, PyObject *b) {
    return a == b || (a != NULL && b != NULL && PyUnicode_Compare(a, b) == 0);
}

static void forget_routes(Dispatch *dispatch) {
    for (int i = 0; i < ROUTES; i++)
        if (dispatch->known[i].kind != NULL) route_clear(dispatch->known + i);
    dispatch->met = 0;
}

static Route *route_of(Dispatch *dispatch, PyObject *kind, PyObject *name) {
    Py_uhash_t hash = (Py_uhash_t)PyObject_Hash(kind) * 7 + (name == NULL ? 0 : (Py_uhash_t)PyObject_Hash(name));
    Route *route;
    for (size_t place = (size_t)(hash ^ hash >> 7);; place++) {
        route = dispatch->known + (place & (ROUTES - 1));
        if (route->kind == NULL) break;
        if (same_text(route->kind, kind) && same_text(route->name, name)) return route;
    }
    if (dispatch->met == ROUTES / 2) { /* names without end: begin anew */
        forget_routes(dispatch);
        return route_of(dispatch, kind, name);
    }
    if (route_fill(dispatch, route, kind, name) == 0) {
        dispatch->met++;
        return route;
    }
    route_clear(route);
    return NULL;
}

/* Does the event belong to a life that is followed, in each of these dicts? -1: error */
static int followed(PyObject *lives, PyObject *event) {
    if (!PyTuple_Check(lives)) return 0;
    if (PyTuple_GET_SIZE(lives) == 0) return 1;
    PyObject *target = target_of(event);
    if (target == NULL) return PyErr_Occurred() ? -1 : 0;
    if (!PyLong_CheckExact(target) && !PyUnicode_CheckExact(target)) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lives); i++) {
        int found = PyDict_Contains(PyTuple_GET_ITEM(lives, i), target);
        if (found != 1) return found;
    }
    return 1;
}

static int give(const LawQueue *queue, PyObject *number, PyObject *event) {
    if (PyList_Append(queue->numbers, number) < 0) return -1;
    if (queue->takes_lazy_events || !is_lazy_event(event)) return PyList_Append(queue->events, event);
    PyObject *made = event_to_dict(event);
    int result = made == NULL ? -1 : PyList_Append(queue->events, made);
    Py_XDECREF(made);
    return result;
}

/* To laws that were not looked up before. */
static int give_all(PyObject *laws, PyObject *number, PyObject *event) {
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(laws); i++) {
        LawQueue *queue = queue_of(PyTuple_GET_ITEM(laws, i));
        result = queue == NULL ? -1 : give(queue, number, event);
        Py_XDECREF(queue);
    }
    return result;
}

static int keep(Dispatch *dispatch, PyObject *number, PyObject *event) {
    PyObject *entry = PyTuple_Pack(2, number, event);
    if (entry == NULL) return -1;
    /* Many of them are kept for long, and no event has a way back to its entry: they need not be searched for cycles. */
    PyObject_GC_UnTrack(entry);
    int result = PyList_Append(dispatch->kept, entry);
    Py_DECREF(entry);
    return result;
}

static int note_objects(PyObject *seen, PyObject *event, PyObject *laws);

/* The laws that a strange event concerns, or one about an object that may not be followed. */
static int dispatch_slowly(Dispatch *dispatch, PyObject *laws, PyObject *number, PyObject *event) { /* takes the reference to laws */
    if (laws != NULL && dispatch->admit != Py_None) {
        PyObject *made = event_to_dict(event);
        Py_SETREF(laws, made == NULL ? NULL : PyObject_CallFunctionObjArgs(dispatch->admit, made, laws, NULL));
        Py_XDECREF(made);
    }
    if (laws == NULL) return -1;
    int result = 0;
    if (!PyTuple_Check(laws)) {
        PyErr_SetString(PyExc_TypeError, "laws are in a tuple");
        result = -1;
    } else if (PyTuple_GET_SIZE(laws) > 0) {
        result = keep(dispatch, number, event) < 0 || give_all(laws, number, event) < 0 ? -1 : 0;
        if (result == 0 && dispatch->seen != Py_None) result = note_objects(dispatch->seen, event, laws);
    }
    Py_DECREF(laws);
    return result;
}

static int note_thread(Dispatch *dispatch, PyObject *event) {
    if (is_lazy_event(event)) {
        if (((LazyEvent *)event)->thread > dispatch->brief_thread) dispatch->brief_thread = ((LazyEvent *)event)->thread;
        return 0;
    }
    PyObject *thread = PyDict_GetItemWithError(event, text_thread);
    if (thread == NULL) return PyErr_Occurred() ? -1 : 0;
    if (thread == dispatch->most_thread || !PyLong_CheckExact(thread)) return 0;
    int more = dispatch->most_thread == NULL ? 1 : PyObject_RichCompareBool(thread, dispatch->most_thread, Py_GT);
    if (more > 0) Py_XSETREF(dispatch->most_thread, Py_NewRef(thread));
    return more < 0 ? -1 : 0;
}

static bool is_id(PyObject *value) { return PyLong_CheckExact(value) || PyUnicode_CheckExact(value); }

static bool has_law(PyObject *laws, PyObject *law) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(laws); i++)
        if (PyTuple_GET_ITEM(laws, i) == law) return true;
    return false;
}

/* These laws have seen this object. */
static int note_object(PyObject *seen, PyObject *id, PyObject *laws) {
    if (!is_id(id)) return 0;
    PyObject *before = PyDict_GetItemWithError(seen, id);
    if (before == NULL) return PyErr_Occurred() ? -1 : PyDict_SetItem(seen, id, laws);
    if (before == laws || !PyTuple_CheckExact(before)) return 0;
    Py_ssize_t news = 0, count = PyTuple_GET_SIZE(before);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(laws); i++) news += !has_law(before, PyTuple_GET_ITEM(laws, i));
    if (news == 0) return 0;
    PyObject *all = PyTuple_New(count + news);
    if (all == NULL) return -1;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(all, i, Py_NewRef(PyTuple_GET_ITEM(before, i)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(laws); i++)
        if (!has_law(before, PyTuple_GET_ITEM(laws, i)))
            PyTuple_SET_ITEM(all, count++, Py_NewRef(PyTuple_GET_ITEM(laws, i)));
    int result = PyDict_SetItem(seen, id, all);
    Py_DECREF(all);
    return result;
}

static int note_task(PyObject *seen, PyObject *event, PyObject *laws) {
    if (is_lazy_event(event) && ((LazyEvent *)event)->task == 0) return 0;
    PyObject *id = is_lazy_event(event) ? PyLong_FromUnsignedLongLong(((LazyEvent *)event)->task)
                                        : Py_XNewRef(PyDict_GetItemWithError(event, text_task));
    int failed = id == NULL ? (PyErr_Occurred() ? -1 : 0) : note_object(seen, id, laws);
    Py_XDECREF(id);
    return failed;
}

/* These laws have seen all objects that an event mentions. */
static int note_objects(PyObject *seen, PyObject *event, PyObject *laws) {
    PyObject *alone[] = {text_targetId, text_resultId, text_excId};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        PyObject *id = alone[i] == text_targetId ? target_of(event) : part_of(event, alone[i]);
        if (id == NULL ? PyErr_Occurred() != NULL : note_object(seen, id, laws) < 0) return -1;
    }
    PyObject *args = part_of(event, text_argIds), *named = part_of(event, text_kwargIds);
    if (PyErr_Occurred() || note_task(seen, event, laws) < 0) return -1;
    if (args != NULL && (PyList_Check(args) || PyTuple_Check(args)))
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(args); i++)
            if (note_object(seen, PySequence_Fast_GET_ITEM(args, i), laws) < 0) return -1;
    if (named != NULL && PyDict_Check(named)) {
        PyObject *key, *id;
        Py_ssize_t place = 0;
        while (PyDict_Next(named, &place, &key, &id))
            if (note_object(seen, id, laws) < 0) return -1;
    }
    return 0;
}

/* The end of an object goes to the laws that have seen it, and to those that it may concern all the same. A law may stop
   ignoring such ends when it judges other events of the batch. */
static int dispatch_end(Dispatch *dispatch, Route *route, PyObject *target, PyObject *number, PyObject *event) {
    PyObject *laws = PyDict_GetItemWithError(dispatch->seen, target);
    if (laws == NULL && PyErr_Occurred()) return -1;
    bool known = laws != NULL;
    if (known) {
        Py_INCREF(laws);
        if (PyDict_DelItem(dispatch->seen, target) < 0) {
            Py_DECREF(laws);
            return -1;
        }
    }
    int result = 0;
    bool taken = false;
    for (Py_ssize_t i = 0; result == 0 && i < route->count; i++) {
        const LawQueue *queue = route->queues[i];
        if (queue->ignores_unseen_end && PyList_GET_SIZE(queue->numbers) == 0 &&
            !(known && PyTuple_CheckExact(laws) && has_law(laws, PyTuple_GET_ITEM(route->concerned, i))))
            continue;
        taken = true;
        result = give(queue, number, event);
    }
    Py_XDECREF(laws);
    return result == 0 && (taken || known) ? keep(dispatch, number, event) : result;
}

static int dispatch_event(Dispatch *dispatch, PyObject *event, long long at) {
    const LazyEvent *brief = is_lazy_event(event) ? (LazyEvent *)event : NULL;
    if (brief == NULL && !PyDict_Check(event)) {
        PyErr_Format(PyExc_TypeError, "an event is a dict, not %s", Py_TYPE(event)->tp_name);
        return -1;
    }
    if (note_thread(dispatch, event) < 0) return -1;
    PyObject *kind = brief ? event_kinds[brief->kind] : PyDict_GetItemWithError(event, text_event);
    PyObject *name = brief ? brief->name : PyDict_GetItemWithError(event, text_name);
    if (PyErr_Occurred()) return -1;
    if (name == Py_None) name = NULL;
    if (kind == NULL || !PyUnicode_CheckExact(kind) || (name != NULL && !PyUnicode_CheckExact(name))) {
        PyObject *number = PyLong_FromLongLong(at);
        PyObject *laws = number == NULL ? NULL : PyObject_CallMethodObjArgs(
            dispatch->routes, text_find, kind == NULL ? Py_None : kind, name == NULL ? Py_None : name, NULL);
        int result = dispatch_slowly(dispatch, laws, number, event);
        Py_XDECREF(number);
        return result;
    }
    Route *route = route_of(dispatch, kind, name);
    if (route == NULL) return -1;
    int all = route->lives == NULL ? 1 : followed(route->lives, event);
    if (all < 0 || (all && route->count == 0)) return all < 0 ? -1 : 0;
    PyObject *number = PyLong_FromLongLong(at);
    if (number == NULL) return -1;
    int result;
    PyObject *target = route->ends ? target_of(event) : NULL;
    if (target == NULL && PyErr_Occurred()) {
        result = -1;
    } else if (!all) {
        result = dispatch_slowly(dispatch, Py_NewRef(route->concerned), number, event);
    } else if (target != NULL && is_id(target)) {
        result = dispatch_end(dispatch, route, target, number, event);
    } else {
        result = keep(dispatch, number, event);
        for (Py_ssize_t i = 0; result == 0 && i < route->count; i++)
            result = give(route->queues[i], number, event);
        if (result == 0 && route->tracking != NULL) result = note_objects(dispatch->seen, event, route->tracking);
    }
    Py_DECREF(number);
    return result;
}

/* The highest thread; NULL: error */
static PyObject *highest(Dispatch *dispatch, int result) {
    PyObject *brief = result == 0 ? PyLong_FromLong(dispatch->brief_thread) : NULL, *other = dispatch->most_thread;
    if (brief == NULL || other == NULL) {
        Py_XDECREF(other);
        return brief;
    }
    bool more = PyObject_RichCompareBool(other, brief, Py_GT) > 0; /* of two ints */
    Py_DECREF(more ? brief : other);
    return more ? other : brief;
}

PyObject *dispatch_batch(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *batch;
    long long first;
    Dispatch dispatch = {0};
    if (!PyArg_ParseTuple(args, "O!LOO!OOO:dispatch", &PyList_Type, &batch, &first, &dispatch.routes, &PyList_Type, &dispatch.kept,
                          &dispatch.admit, &dispatch.ways, &dispatch.seen))
        return NULL;
    if (dispatch.seen != Py_None && !PyDict_CheckExact(dispatch.seen)) {
        PyErr_SetString(PyExc_TypeError, "the laws that have seen an object are in a dict");
        return NULL;
    }
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(batch); i++) {
        PyObject *event = Py_NewRef(PyList_GET_ITEM(batch, i));
        result = dispatch_event(&dispatch, event, first + i);
        Py_DECREF(event);
    }
    forget_routes(&dispatch);
    return highest(&dispatch, result);
}

/* ---- the last events of objects ------------------------------------------------------------------------------------- */

#define MOST_IDS 16 /* of one event; if it has more, the Python side sees to it */

typedef struct {
    PyObject *objects;          /* lists of entries by id */
    PyObject *lists[MOST_IDS];  /* lists, borrowed */
    int count;
} Found;

/* An id that an event mentions: 0 if its object is not there, or Python has to decide; -1: error */
static int find_object(Found *found, PyObject *id) {
    if (!PyLong_CheckExact(id) && !PyUnicode_CheckExact(id)) return !PyLong_Check(id) && !PyUnicode_Check(id);
    PyObject *events = PyDict_GetItemWithError(found->objects, id);
    if (events == NULL || !PyList_CheckExact(events)) return PyErr_Occurred() ? -1 : 0;
    for (int i = 0; i < found->count; i++)
        if (found->lists[i] == events) return 1;
    if (found->count == MOST_IDS) return 0;
    found->lists[found->count++] = events;
    return 1;
}

static int find_others(Found *found, PyObject *event) {
    PyObject *args = part_of(event, text_argIds), *result = part_of(event, text_resultId), *named = part_of(event, text_kwargIds);
    int done = 1;
    if (args != NULL && PyTuple_Check(args)) return 0;
    if (args != NULL && PyList_Check(args))
        for (Py_ssize_t i = 0; done == 1 && i < PyList_GET_SIZE(args); i++)
            done = find_object(found, PyList_GET_ITEM(args, i));
    if (done == 1 && result != NULL) done = find_object(found, result);
    if (named != NULL && PyDict_Check(named)) {
        PyObject *key, *id;
        Py_ssize_t place = 0;
        while (done == 1 && PyDict_Next(named, &place, &key, &id)) done = find_object(found, id);
    }
    return done;
}

static bool is_message(PyObject *kind) {
    return PyUnicode_CompareWithASCIIString(kind, "send") == 0 || PyUnicode_CompareWithASCIIString(kind, "receive") == 0;
}

/* An object is gone, and nobody will ask for its events any more. Returns what `keep_entry` returns. */
static int forget_object(PyObject *event, PyObject *objects) {
    PyObject *target = lazy_event_target((LazyEvent *)event);
    PyObject *events = target == NULL ? NULL : PyDict_GetItemWithError(objects, target);
    if (events == NULL) return PyErr_Occurred() ? -1 : 0;
    return PyDict_DelItem(objects, target) < 0 ? -1 : 1;
}

/* Makes room for an object that comes up for the first time in a lazy event, if `room` objects are not there yet. */
static int add_object(PyObject *event, PyObject *objects, Py_ssize_t room) {
    PyObject *target = lazy_event_target((LazyEvent *)event);
    if (target == NULL || PyDict_GET_SIZE(objects) >= room || PyDict_GetItemWithError(objects, target) != NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *events = PyErr_Occurred() ? NULL : PyList_New(0);
    int result = events == NULL ? -1 : PyDict_SetItem(objects, target, events);
    Py_XDECREF(events);
    return result;
}

/* 1: the entry is with the others of its objects; 0: the Python side must see to it; -1: error */
static int keep_entry(PyObject *entry, PyObject *objects, PyObject *plain, Py_ssize_t most, bool keeps_gone, Py_ssize_t room) {
    PyObject *event = PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 2 ? PyTuple_GET_ITEM(entry, 1) : NULL;
    bool deferred = event != NULL && Py_IS_TYPE(event, &DeferredEventType);
    bool brief = event != NULL && is_lazy_event(event);
    if (event == NULL || (!deferred && !brief && !PyDict_Check(event))) return 0;
    if (brief && !keeps_gone && ((LazyEvent *)event)->kind == KIND_GONE) return forget_object(event, objects);
    PyObject *kind = deferred ? NULL : brief ? event_kinds[((LazyEvent *)event)->kind] : PyDict_GetItemWithError(event, text_event);
    if (!deferred && (kind == NULL || !PyUnicode_CheckExact(kind))) return PyErr_Occurred() ? -1 : 0;
    int done = deferred ? 0 : PySet_Contains(plain, kind);
    Found found = {.objects = objects};
    if (deferred) {
        PyObject *group = deferred_event_group(event);
        done = group == NULL ? -1 : find_object(&found, group);
    } else if (done == 0 && is_message(kind)) { /* these are kept by their group alone */
        PyObject *group = PyDict_GetItemWithError(event, text_groupId);
        if (group == NULL) return PyErr_Occurred() ? -1 : 0;
        done = PyLong_CheckExact(group) || PyUnicode_CheckExact(group) ? find_object(&found, group) : 0;
    } else {
        if (brief && done == 1 && add_object(event, objects, room) < 0) return -1;
        PyObject *target = target_of(event);
        if (done == 1 && target != NULL && target != Py_None)
            done = PyLong_CheckExact(target) || PyUnicode_CheckExact(target) ? find_object(&found, target) : 0;
        if (done == 1) done = find_others(&found, event);
    }
    for (int i = 0; done == 1 && i < found.count; i++) {
        PyObject *events = found.lists[i];
        if (PyList_Append(events, entry) < 0) return -1;
        Py_ssize_t size = PyList_GET_SIZE(events);
        if (size > 2 * most && PyList_SetSlice(events, 1, size - most, NULL) < 0) return -1;
    }
    return done;
}

PyObject *keep_recent(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *entries, *objects, *plain;
    Py_ssize_t place, most, room;
    int keeps_gone;
    if (!PyArg_ParseTuple(args, "O!nO!Onpn:keep_recent", &PyList_Type, &entries, &place, &PyDict_Type, &objects, &plain, &most,
                          &keeps_gone, &room))
        return NULL;
    room += PyDict_GET_SIZE(objects);
    for (; place < PyList_GET_SIZE(entries); place++) {
        int done = keep_entry(PyList_GET_ITEM(entries, place), objects, plain, most, keeps_gone, room);
        if (done < 0) return NULL;
        if (!done) break;
    }
    return PyLong_FromSsize_t(place);
}

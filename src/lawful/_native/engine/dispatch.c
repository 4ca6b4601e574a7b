/* The way of a batch of events to the laws that they concern: the loops of lawful/engine that are run for each event. */
#include "rml/rml.h"

#include "engine/dispatch.h"
#include "events/lazy_event.h"
#include "messages/inline_check.h"

#define ROUTES 64 /* places for kinds and names that were met in a batch, by their hashes: a power of two */

/* What is done with events of one kind about one name. */
typedef struct {
    PyObject *kind, *name;   /* name may be NULL */
    PyObject *concerned;     /* the laws: a tuple */
    PyObject *lives;         /* NULL: all of them see it; a tuple of dicts: if they all have the object; None: ask */
    Py_ssize_t count;
    PyObject **inboxes;      /* two lists of each law: numbers, events */
    char *aloof;             /* of each law: does the end of a stranger not concern it now? */
    char *brief;             /* of each law: can it judge events in brief? */
    PyObject *hearing;       /* the laws that must hear of the end of each object that they have heard of; NULL: none */
} Route;

typedef struct {
    PyObject *routes, *admit, *ways, *kept; /* admit and ways are None if there are no lives */
    PyObject *heard;                        /* by id the laws that have heard of an object; None: all are told of ends */
    PyObject *most_thread;                  /* the highest number, a reference of its own */
    int brief_thread;                       /* the same of events in brief */
    int met;
    Route known[ROUTES];
} Deal;

static PyObject *text_event, *text_name, *text_target, *text_thread, *text_numbers, *text_events, *text_find, *text_group;
static PyObject *text_args, *text_kwargs, *text_result, *text_exception, *text_task, *text_aloof, *text_hears,
    *text_brief;

static int setup(void) {
    if (text_brief != NULL) return 0;
    struct { PyObject **place; const char *text; } words[] = {
        {&text_event, "event"}, {&text_name, "name"}, {&text_target, "targetId"}, {&text_thread, "thread"},
        {&text_group, "groupId"},
        {&text_numbers, "numbers"}, {&text_events, "events"}, {&text_find, "find"}, {&text_args, "argIds"},
        {&text_kwargs, "kwargIds"}, {&text_result, "resultId"}, {&text_exception, "excId"}, {&text_task, "task"},
        {&text_aloof, "aloof"}, {&text_hears, "hears"}, {&text_brief, "brief"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (*words[i].place == NULL && (*words[i].place = PyUnicode_InternFromString(words[i].text)) == NULL) return -1;
    return 0;
}

static PyObject *look_up(PyObject *dict, PyObject *key) { /* borrowed; NULL: there is none, or an error */
    return PyDict_GetItemWithError(dict, key);
}

/* The id of the object that an event happened to, borrowed; NULL: there is none, or an error. */
static PyObject *target_of(PyObject *event) {
    return is_lazy_event(event) ? lazy_event_target((LazyEvent *)event) : look_up(event, text_target);
}

static PyObject *part_of(PyObject *event, PyObject *key) { /* the same of fields that not all events have */
    PyObject *fields = event_fields(event);
    return fields == NULL ? NULL : look_up(fields, key);
}

static void route_clear(Route *route) {
    for (Py_ssize_t i = 0; i < 2 * route->count; i++) Py_XDECREF(route->inboxes[i]);
    PyMem_Free(route->inboxes);
    PyMem_Free(route->aloof);
    PyMem_Free(route->brief);
    Py_XDECREF(route->hearing);
    Py_XDECREF(route->kind);
    Py_XDECREF(route->name);
    Py_XDECREF(route->concerned);
    Py_XDECREF(route->lives);
    memset(route, 0, sizeof *route);
}

/* The lists of one law. */
static int inbox_of(PyObject *law, PyObject **lists) {
    lists[0] = PyObject_GetAttr(law, text_numbers);
    lists[1] = lists[0] == NULL ? NULL : PyObject_GetAttr(law, text_events);
    if (lists[1] == NULL) return -1;
    if (PyList_Check(lists[0]) && PyList_Check(lists[1])) return 0;
    PyErr_SetString(PyExc_TypeError, "an inbox is two lists");
    return -1;
}

static int is_so(PyObject *law, PyObject *what) {
    PyObject *value = PyObject_GetAttr(law, what);
    int result = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return result;
}

/* Of which laws is it so? Say `aloof`: these need not be told of the end of a stranger. */
static char *note_so(const Route *route, PyObject *what) {
    char *found = PyMem_Calloc((size_t)(route->count + 1), 1);
    if (found == NULL) return (char *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < route->count; i++) {
        int so = is_so(PyTuple_GET_ITEM(route->concerned, i), what);
        if (so < 0) {
            PyMem_Free(found);
            return NULL;
        }
        found[i] = (char)so;
    }
    return found;
}

/* Which laws hear here of objects of whose end they must be told? */
static int note_hearing(Route *route) {
    PyObject *laws = PyList_New(0);
    int result = laws == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; result == 0 && i < route->count; i++) {
        PyObject *law = PyTuple_GET_ITEM(route->concerned, i);
        int hears = is_so(law, text_hears);
        if (hears < 0 || (hears && PyList_Append(laws, law) < 0)) result = -1;
    }
    if (result == 0 && PyList_GET_SIZE(laws) > 0 && (route->hearing = PyList_AsTuple(laws)) == NULL) result = -1;
    Py_XDECREF(laws);
    return result;
}

static int route_fill(Deal *deal, Route *route, PyObject *kind, PyObject *name) {
    PyObject *of_name = name == NULL ? Py_None : name;
    PyObject *key = PyTuple_Pack(2, kind, of_name);
    if (key == NULL) return -1;
    route->kind = Py_NewRef(kind);
    route->name = Py_XNewRef(name);
    route->concerned = PyObject_GetItem(deal->routes, key);
    Py_DECREF(key);
    if (route->concerned == NULL) return -1;
    if (!PyTuple_Check(route->concerned)) {
        PyErr_SetString(PyExc_TypeError, "laws are in a tuple");
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(route->concerned);
    route->inboxes = PyMem_Calloc((size_t)(2 * count + 1), sizeof *route->inboxes);
    if (route->inboxes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    route->count = count;
    for (Py_ssize_t i = 0; i < count; i++)
        if (inbox_of(PyTuple_GET_ITEM(route->concerned, i), route->inboxes + 2 * i) < 0) return -1;
    if (deal->heard != Py_None) {
        bool ends = PyUnicode_CompareWithASCIIString(kind, "gone") == 0;
        if (ends ? (route->aloof = note_so(route, text_aloof)) == NULL : note_hearing(route) < 0) return -1;
    }
    if ((route->brief = note_so(route, text_brief)) == NULL) return -1;
    if (deal->ways != Py_None) {
        route->lives = PyObject_CallFunctionObjArgs(deal->ways, kind, of_name, route->concerned, NULL);
        if (route->lives == NULL) return -1;
    }
    return 0;
}

static bool same_text(PyObject *a, PyObject *b) {
    return a == b || (a != NULL && b != NULL && PyUnicode_Compare(a, b) == 0);
}

static void forget_routes(Deal *deal) {
    for (int i = 0; i < ROUTES; i++)
        if (deal->known[i].kind != NULL) route_clear(deal->known + i);
    deal->met = 0;
}

static Route *route_of(Deal *deal, PyObject *kind, PyObject *name) {
    Py_uhash_t hash = (Py_uhash_t)PyObject_Hash(kind) * 7 + (name == NULL ? 0 : (Py_uhash_t)PyObject_Hash(name));
    Route *route;
    for (size_t place = (size_t)(hash ^ hash >> 7);; place++) {
        route = deal->known + (place & (ROUTES - 1));
        if (route->kind == NULL) break;
        if (same_text(route->kind, kind) && same_text(route->name, name)) return route;
    }
    if (deal->met == ROUTES / 2) { /* names without end: begin anew */
        forget_routes(deal);
        return route_of(deal, kind, name);
    }
    if (route_fill(deal, route, kind, name) == 0) {
        deal->met++;
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

/* To a law that can judge it in brief, or cannot. */
static int give(PyObject *const *inbox, PyObject *number, PyObject *event, bool brief) {
    if (PyList_Append(inbox[0], number) < 0) return -1;
    if (brief || !is_lazy_event(event)) return PyList_Append(inbox[1], event);
    PyObject *made = event_to_dict(event);
    int result = made == NULL ? -1 : PyList_Append(inbox[1], made);
    Py_XDECREF(made);
    return result;
}

/* To laws that were not looked up before. */
static int give_all(PyObject *laws, PyObject *number, PyObject *event) {
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(laws); i++) {
        PyObject *lists[2] = {NULL, NULL};
        result = inbox_of(PyTuple_GET_ITEM(laws, i), lists);
        int brief = result == 0 ? is_so(PyTuple_GET_ITEM(laws, i), text_brief) : -1;
        result = brief < 0 ? -1 : give(lists, number, event, brief);
        Py_XDECREF(lists[0]);
        Py_XDECREF(lists[1]);
    }
    return result;
}

static int keep(Deal *deal, PyObject *number, PyObject *event) {
    PyObject *entry = PyTuple_Pack(2, number, event);
    if (entry == NULL) return -1;
    /* Many of them are kept for long, and no event has a way back to its entry: they need not be searched for cycles. */
    PyObject_GC_UnTrack(entry);
    int result = PyList_Append(deal->kept, entry);
    Py_DECREF(entry);
    return result;
}

static int introduce(PyObject *heard, PyObject *event, PyObject *laws);

/* The laws that a strange event concerns, or one about an object that may not be followed. */
static int deal_slowly(Deal *deal, PyObject *laws, PyObject *number, PyObject *event) { /* takes the reference to laws */
    if (laws != NULL && deal->admit != Py_None) {
        PyObject *made = event_to_dict(event);
        Py_SETREF(laws, made == NULL ? NULL : PyObject_CallFunctionObjArgs(deal->admit, made, laws, NULL));
        Py_XDECREF(made);
    }
    if (laws == NULL) return -1;
    int result = 0;
    if (!PyTuple_Check(laws)) {
        PyErr_SetString(PyExc_TypeError, "laws are in a tuple");
        result = -1;
    } else if (PyTuple_GET_SIZE(laws) > 0) {
        result = keep(deal, number, event) < 0 || give_all(laws, number, event) < 0 ? -1 : 0;
        if (result == 0 && deal->heard != Py_None) result = introduce(deal->heard, event, laws);
    }
    Py_DECREF(laws);
    return result;
}

static int note_thread(Deal *deal, PyObject *event) {
    if (is_lazy_event(event)) {
        if (((LazyEvent *)event)->thread > deal->brief_thread) deal->brief_thread = ((LazyEvent *)event)->thread;
        return 0;
    }
    PyObject *thread = look_up(event, text_thread);
    if (thread == NULL) return PyErr_Occurred() ? -1 : 0;
    if (thread == deal->most_thread || !PyLong_CheckExact(thread)) return 0;
    int more = deal->most_thread == NULL ? 1 : PyObject_RichCompareBool(thread, deal->most_thread, Py_GT);
    if (more > 0) Py_XSETREF(deal->most_thread, Py_NewRef(thread));
    return more < 0 ? -1 : 0;
}

static bool is_id(PyObject *value) { return PyLong_CheckExact(value) || PyUnicode_CheckExact(value); }

static bool has_law(PyObject *laws, PyObject *law) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(laws); i++)
        if (PyTuple_GET_ITEM(laws, i) == law) return true;
    return false;
}

/* These laws have heard of this object. */
static int acquaint(PyObject *heard, PyObject *id, PyObject *laws) {
    if (!is_id(id)) return 0;
    PyObject *before = look_up(heard, id);
    if (before == NULL) return PyErr_Occurred() ? -1 : PyDict_SetItem(heard, id, laws);
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
    int result = PyDict_SetItem(heard, id, all);
    Py_DECREF(all);
    return result;
}

static int introduce_task(PyObject *heard, PyObject *event, PyObject *laws) {
    if (is_lazy_event(event) && ((LazyEvent *)event)->task == 0) return 0;
    PyObject *id = is_lazy_event(event) ? PyLong_FromUnsignedLongLong(((LazyEvent *)event)->task) : Py_XNewRef(look_up(event, text_task));
    int failed = id == NULL ? (PyErr_Occurred() ? -1 : 0) : acquaint(heard, id, laws);
    Py_XDECREF(id);
    return failed;
}

/* These laws have heard of all objects that an event mentions. */
static int introduce(PyObject *heard, PyObject *event, PyObject *laws) {
    PyObject *alone[] = {text_target, text_result, text_exception};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        PyObject *id = alone[i] == text_target ? target_of(event) : part_of(event, alone[i]);
        if (id == NULL ? PyErr_Occurred() != NULL : acquaint(heard, id, laws) < 0) return -1;
    }
    PyObject *args = part_of(event, text_args), *named = part_of(event, text_kwargs);
    if (PyErr_Occurred() || introduce_task(heard, event, laws) < 0) return -1;
    if (args != NULL && (PyList_Check(args) || PyTuple_Check(args)))
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(args); i++)
            if (acquaint(heard, PySequence_Fast_GET_ITEM(args, i), laws) < 0) return -1;
    if (named != NULL && PyDict_Check(named)) {
        PyObject *key, *id;
        Py_ssize_t place = 0;
        while (PyDict_Next(named, &place, &key, &id))
            if (acquaint(heard, id, laws) < 0) return -1;
    }
    return 0;
}

/* The end of an object, for the laws that have heard of it, and for those that it may concern all the same. A law to which
   something else of the batch has come may not be aloof any more when that is judged. */
static int deal_end(Deal *deal, Route *route, PyObject *target, PyObject *number, PyObject *event) {
    PyObject *laws = look_up(deal->heard, target);
    if (laws == NULL && PyErr_Occurred()) return -1;
    bool known = laws != NULL;
    if (known) {
        Py_INCREF(laws);
        if (PyDict_DelItem(deal->heard, target) < 0) {
            Py_DECREF(laws);
            return -1;
        }
    }
    int result = 0;
    bool taken = false;
    for (Py_ssize_t i = 0; result == 0 && i < route->count; i++) {
        PyObject **lists = route->inboxes + 2 * i;
        if (route->aloof[i] && PyList_GET_SIZE(lists[0]) == 0 &&
            !(known && PyTuple_CheckExact(laws) && has_law(laws, PyTuple_GET_ITEM(route->concerned, i))))
            continue;
        taken = true;
        result = give(lists, number, event, route->brief[i]);
    }
    Py_XDECREF(laws);
    return result == 0 && (taken || known) ? keep(deal, number, event) : result;
}

static int deal_event(Deal *deal, PyObject *event, long long at) {
    const LazyEvent *brief = is_lazy_event(event) ? (LazyEvent *)event : NULL;
    if (brief == NULL && !PyDict_Check(event)) {
        PyErr_Format(PyExc_TypeError, "an event is a dict, not %s", Py_TYPE(event)->tp_name);
        return -1;
    }
    if (note_thread(deal, event) < 0) return -1;
    PyObject *kind = brief ? event_kinds[brief->kind] : look_up(event, text_event);
    PyObject *name = brief ? brief->name : look_up(event, text_name);
    if (PyErr_Occurred()) return -1;
    if (name == Py_None) name = NULL;
    if (kind == NULL || !PyUnicode_CheckExact(kind) || (name != NULL && !PyUnicode_CheckExact(name))) {
        PyObject *number = PyLong_FromLongLong(at);
        PyObject *laws = number == NULL ? NULL : PyObject_CallMethodObjArgs(
            deal->routes, text_find, kind == NULL ? Py_None : kind, name == NULL ? Py_None : name, NULL);
        int result = deal_slowly(deal, laws, number, event);
        Py_XDECREF(number);
        return result;
    }
    Route *route = route_of(deal, kind, name);
    if (route == NULL) return -1;
    int all = route->lives == NULL ? 1 : followed(route->lives, event);
    if (all < 0 || (all && route->count == 0)) return all < 0 ? -1 : 0;
    PyObject *number = PyLong_FromLongLong(at);
    if (number == NULL) return -1;
    int result;
    PyObject *target = route->aloof == NULL ? NULL : target_of(event);
    if (target == NULL && PyErr_Occurred()) {
        result = -1;
    } else if (!all) {
        result = deal_slowly(deal, Py_NewRef(route->concerned), number, event);
    } else if (target != NULL && is_id(target)) {
        result = deal_end(deal, route, target, number, event);
    } else {
        result = keep(deal, number, event);
        for (Py_ssize_t i = 0; result == 0 && i < route->count; i++)
            result = give(route->inboxes + 2 * i, number, event, route->brief[i]);
        if (result == 0 && route->hearing != NULL) result = introduce(deal->heard, event, route->hearing);
    }
    Py_DECREF(number);
    return result;
}

/* The highest thread; NULL: error */
static PyObject *highest(Deal *deal, int result) {
    PyObject *brief = result == 0 ? PyLong_FromLong(deal->brief_thread) : NULL, *other = deal->most_thread;
    if (brief == NULL || other == NULL) {
        Py_XDECREF(other);
        return brief;
    }
    bool more = PyObject_RichCompareBool(other, brief, Py_GT) > 0; /* of two ints */
    Py_DECREF(more ? brief : other);
    return more ? other : brief;
}

PyObject *deal_batch(PyObject *module, PyObject *args) {
    PyObject *batch;
    long long first;
    Deal deal = {0};
    if (!PyArg_ParseTuple(args, "O!LOO!OOO:deal", &PyList_Type, &batch, &first, &deal.routes, &PyList_Type, &deal.kept,
                          &deal.admit, &deal.ways, &deal.heard))
        return NULL;
    if (deal.heard != Py_None && !PyDict_CheckExact(deal.heard)) {
        PyErr_SetString(PyExc_TypeError, "who has heard of what is in a dict");
        return NULL;
    }
    if (setup() < 0) return NULL;
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(batch); i++) {
        PyObject *event = Py_NewRef(PyList_GET_ITEM(batch, i));
        result = deal_event(&deal, event, first + i);
        Py_DECREF(event);
    }
    forget_routes(&deal);
    return highest(&deal, result);
}

/* ---- the last events of objects ------------------------------------------------------------------------------------- */

#define MOST_IDS 16 /* of one event; if it has more, the Python side sees to it */

typedef struct {
    PyObject *objects;          /* lists of entries by id */
    PyObject *found[MOST_IDS];  /* lists, borrowed */
    int count;
} Mentioned;

/* An id that an event mentions: 0 if its object is not there, or if this is nothing that can be told here; -1: error */
static int mention(Mentioned *mentioned, PyObject *id) {
    if (!PyLong_CheckExact(id) && !PyUnicode_CheckExact(id)) return !PyLong_Check(id) && !PyUnicode_Check(id);
    PyObject *events = look_up(mentioned->objects, id);
    if (events == NULL || !PyList_CheckExact(events)) return PyErr_Occurred() ? -1 : 0;
    for (int i = 0; i < mentioned->count; i++)
        if (mentioned->found[i] == events) return 1;
    if (mentioned->count == MOST_IDS) return 0;
    mentioned->found[mentioned->count++] = events;
    return 1;
}

static int mention_others(Mentioned *mentioned, PyObject *event) {
    PyObject *args = part_of(event, text_args), *result = part_of(event, text_result), *named = part_of(event, text_kwargs);
    int done = 1;
    if (args != NULL && PyTuple_Check(args)) return 0;
    if (args != NULL && PyList_Check(args))
        for (Py_ssize_t i = 0; done == 1 && i < PyList_GET_SIZE(args); i++)
            done = mention(mentioned, PyList_GET_ITEM(args, i));
    if (done == 1 && result != NULL) done = mention(mentioned, result);
    if (named != NULL && PyDict_Check(named)) {
        PyObject *key, *id;
        Py_ssize_t place = 0;
        while (done == 1 && PyDict_Next(named, &place, &key, &id)) done = mention(mentioned, id);
    }
    return done;
}

static bool is_message(PyObject *kind) {
    return PyUnicode_CompareWithASCIIString(kind, "send") == 0 || PyUnicode_CompareWithASCIIString(kind, "receive") == 0;
}

/* An object is gone of which nobody will ask any more: the same answers. */
static int forget_object(PyObject *event, PyObject *objects) {
    PyObject *target = lazy_event_target((LazyEvent *)event);
    PyObject *events = target == NULL ? NULL : look_up(objects, target);
    if (events == NULL) return PyErr_Occurred() ? -1 : 0;
    return PyDict_DelItem(objects, target) < 0 ? -1 : 1;
}

/* An object of which nothing was heard before, as a brief tells. There may be so many of them altogether. */
static int hear_of(PyObject *event, PyObject *objects, Py_ssize_t room) {
    PyObject *target = lazy_event_target((LazyEvent *)event);
    if (target == NULL || PyDict_GET_SIZE(objects) >= room || look_up(objects, target) != NULL) return PyErr_Occurred() ? -1 : 0;
    PyObject *events = PyErr_Occurred() ? NULL : PyList_New(0);
    int result = events == NULL ? -1 : PyDict_SetItem(objects, target, events);
    Py_XDECREF(events);
    return result;
}

/* 1: the entry is with the others of its objects; 0: the Python side must see to it; -1: error */
static int recollect(PyObject *entry, PyObject *objects, PyObject *plain, Py_ssize_t most, bool keeps_gone, Py_ssize_t room) {
    PyObject *event = PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 2 ? PyTuple_GET_ITEM(entry, 1) : NULL;
    bool letter = event != NULL && Py_IS_TYPE(event, &LetterType);
    bool brief = event != NULL && is_lazy_event(event);
    if (event == NULL || (!letter && !brief && !PyDict_Check(event))) return 0;
    if (brief && !keeps_gone && ((LazyEvent *)event)->kind == KIND_GONE) return forget_object(event, objects);
    PyObject *kind = letter ? NULL : brief ? event_kinds[((LazyEvent *)event)->kind] : look_up(event, text_event);
    if (!letter && (kind == NULL || !PyUnicode_CheckExact(kind))) return PyErr_Occurred() ? -1 : 0;
    int done = letter ? 0 : PySet_Contains(plain, kind);
    Mentioned mentioned = {.objects = objects};
    if (letter) {
        PyObject *group = letter_group(event);
        done = group == NULL ? -1 : mention(&mentioned, group);
    } else if (done == 0 && is_message(kind)) { /* these are kept by their group alone */
        PyObject *group = look_up(event, text_group);
        if (group == NULL) return PyErr_Occurred() ? -1 : 0;
        done = PyLong_CheckExact(group) || PyUnicode_CheckExact(group) ? mention(&mentioned, group) : 0;
    } else {
        if (brief && done == 1 && hear_of(event, objects, room) < 0) return -1;
        PyObject *target = target_of(event);
        if (done == 1 && target != NULL && target != Py_None)
            done = PyLong_CheckExact(target) || PyUnicode_CheckExact(target) ? mention(&mentioned, target) : 0;
        if (done == 1) done = mention_others(&mentioned, event);
    }
    for (int i = 0; done == 1 && i < mentioned.count; i++) {
        PyObject *events = mentioned.found[i];
        if (PyList_Append(events, entry) < 0) return -1;
        Py_ssize_t size = PyList_GET_SIZE(events);
        if (size > 2 * most && PyList_SetSlice(events, 1, size - most, NULL) < 0) return -1;
    }
    return done;
}

PyObject *recollect_entries(PyObject *module, PyObject *args) {
    PyObject *entries, *objects, *plain;
    Py_ssize_t place, most, room;
    int keeps_gone;
    if (!PyArg_ParseTuple(args, "O!nO!Onpn:recollect", &PyList_Type, &entries, &place, &PyDict_Type, &objects, &plain, &most,
                          &keeps_gone, &room))
        return NULL;
    room += PyDict_GET_SIZE(objects);
    if (setup() < 0) return NULL;
    for (; place < PyList_GET_SIZE(entries); place++) {
        int done = recollect(PyList_GET_ITEM(entries, place), objects, plain, most, keeps_gone, room);
        if (done < 0) return NULL;
        if (!done) break;
    }
    return PyLong_FromSsize_t(place);
}

/* Messages that tasks put into asyncio's queues, as far as nothing new is to be found out about them: who reads from the
   queue, who sends, and what a message of this name is between the two, Python has found out before. It sees to all else.

   The specification is lawful/sources/actors/tasks.py: what is told here is told there in the same words. */
#include "exchange.h"

#include "court.h"

#ifndef LAWFUL_NO_TRACER

#include <structmember.h>

#define LONGEST 10000    /* as in encode.c */

static PyObject *text_args, *text_argIds, *text_task, *text_file, *text_line, *text_thread, *text_time, *text_alias,
    *text_maxsize, *text_queue, *text_kwargs, *text_get_coro, *text_get_name, *zero;

static int setup(void) {
    if (zero != NULL) return 0;
    struct { PyObject **place; const char *text; } words[] = {
        {&text_args, "args"}, {&text_argIds, "argIds"}, {&text_task, "task"}, {&text_file, "file"}, {&text_line, "line"},
        {&text_thread, "thread"}, {&text_time, "time"}, {&text_alias, "alias"}, {&text_maxsize, "_maxsize"},
        {&text_queue, "_queue"}, {&text_kwargs, "kwargs"},
        {&text_get_coro, "get_coro"}, {&text_get_name, "get_name"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (*words[i].place == NULL && (*words[i].place = PyUnicode_InternFromString(words[i].text)) == NULL) return -1;
    return (zero = PyFloat_FromDouble(0)) == NULL ? -1 : 0;
}

/* ---- who reads from a queue -------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *task;     /* that read last: a weak reference, or None */
    PyObject *party;    /* or None: nobody has read yet */
    PyObject *early, *routes, *told; /* Python's */
    PyObject *ways;     /* a dict of dicts of ways, by names of messages and by senders */
    char shared;
    char standard;      /* is a queue as asyncio makes them? */
} QueueReader;

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    QueueReader *self = (QueueReader *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->task = Py_NewRef(Py_None);
    self->party = Py_NewRef(Py_None);
    self->early = PyDict_New();
    self->routes = PyDict_New();
    self->told = PySet_New(NULL);
    self->ways = PyDict_New();
    if (!self->early || !self->routes || !self->told || !self->ways) Py_CLEAR(self);
    return (PyObject *)self;
}

static int reader_traverse(QueueReader *self, visitproc visit, void *arg) {
    Py_VISIT(self->task);
    Py_VISIT(self->party);
    Py_VISIT(self->early);
    Py_VISIT(self->routes);
    Py_VISIT(self->told);
    Py_VISIT(self->ways);
    return 0;
}

static int reader_clear(QueueReader *self) {
    Py_CLEAR(self->task);
    Py_CLEAR(self->party);
    Py_CLEAR(self->early);
    Py_CLEAR(self->routes);
    Py_CLEAR(self->told);
    Py_CLEAR(self->ways);
    return 0;
}

static void reader_dealloc(QueueReader *self) {
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef reader_members[] = {
    {"task", T_OBJECT_EX, offsetof(QueueReader, task), 0, "A weak reference to the task that read last, or None."},
    {"party", T_OBJECT_EX, offsetof(QueueReader, party), 0, "Who that is; None: nobody has read yet."},
    {"shared", T_BOOL, offsetof(QueueReader, shared), 0, "Do several read?"},
    {"standard", T_BOOL, offsetof(QueueReader, standard), 0, "Is what is in the queue where asyncio has it?"},
    {"early", T_OBJECT_EX, offsetof(QueueReader, early), READONLY, "Who sent what lies there, as long as nobody reads it."},
    {"routes", T_OBJECT_EX, offsetof(QueueReader, routes), READONLY, "What a message of a name may be."},
    {"told", T_OBJECT_EX, offsetof(QueueReader, told), READONLY, "What lay there when a second reader came."},
    {"ways", T_OBJECT_EX, offsetof(QueueReader, ways), READONLY, "What messages are, by their names and their senders."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject QueueReaderType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.QueueReader",
    .tp_basicsize = sizeof(QueueReader),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "QueueReader()\n--\n\nWho reads from a queue.",
    .tp_new = reader_new,
    .tp_dealloc = (destructor)reader_dealloc,
    .tp_traverse = (traverseproc)reader_traverse,
    .tp_clear = (inquiry)reader_clear,
    .tp_members = reader_members,
};

/* ---- what a message is, from one sender to one reader ------------------------------------------------------------------- */

/* Events with all their keys, but not all their values: to copy a dict is cheaper than to fill one. */
typedef struct {
    PyObject *events[MOST_EVENTS]; /* or NULL: not made yet */
    uint32_t place;                /* whose file and line they have */
    Id task;                       /* whose id they have */
} Forms;

typedef struct {
    PyObject_HEAD
    PyObject *heads;       /* a tuple of dicts: how the events begin */
    PyObject *parameters;  /* a tuple: how the view calls the arguments */
    const void *target;    /* the address of who is called, only compared; NULL: nobody knows */
    Forms plain, objects;  /* without objects among the arguments, and with some */
    Turn *turns;           /* what laws make of it, if it can be judged without an event */
    int turn_count;
    unsigned long version; /* of the laws */
} Way;

static PyObject *way_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"heads", "target", "parameters", "turns", "version", NULL};
    PyObject *heads, *target, *parameters, *turns = Py_None;
    unsigned long version = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO!|Ok:Way", names, &PyTuple_Type, &heads, &target, &PyTuple_Type,
                                     &parameters, &turns, &version))
        return NULL;
    bool fits = PyTuple_GET_SIZE(heads) <= MOST_EVENTS;
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(heads); i++) fits = PyDict_CheckExact(PyTuple_GET_ITEM(heads, i));
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "a message is at most %d events, which are dicts", MOST_EVENTS);
        return NULL;
    }
    Way *self = (Way *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->heads = Py_NewRef(heads);
    self->parameters = Py_NewRef(parameters);
    self->target = target == Py_None ? NULL : target;
    self->version = version;
    if ((self->turn_count = turns_new(turns, heads, &self->turns)) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static void way_dealloc(Way *self) {
    for (int i = 0; i < MOST_EVENTS; i++) {
        Py_XDECREF(self->plain.events[i]);
        Py_XDECREF(self->objects.events[i]);
    }
    if (self->turns != NULL) turns_free(self->turns, self->turn_count);
    Py_XDECREF(self->heads);
    Py_XDECREF(self->parameters);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject WayType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Way",
    .tp_basicsize = sizeof(Way),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Way(heads, target, parameters, turns=None, version=0)\n--\n\nHow the events of messages begin that one sends to another.",
    .tp_new = way_new,
    .tp_dealloc = (destructor)way_dealloc,
};

/* In the order in which events have them that are made elsewhere. */
static PyObject *form(PyObject *head, bool objects) {
    PyObject *event = PyDict_Copy(head);
    if (event == NULL) return NULL;
    PyObject *keys[] = {text_args, text_argIds, text_task, text_file, text_line, text_thread, text_time};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i] == text_argIds && !objects) continue;
        if (PyDict_SetItem(event, keys[i], keys[i] == text_time ? zero : Py_None) < 0) {
            Py_DECREF(event);
            return NULL;
        }
    }
    return event;
}

static int set_taken(PyObject *event, PyObject *key, PyObject *value) {
    int failed = value == NULL ? -1 : PyDict_SetItem(event, key, value);
    Py_XDECREF(value);
    return failed;
}

/* The forms, as they are at this place and in this task. */
static int fill_in(Tracer *tracer, Way *way, Forms *forms, uint32_t place, Id task) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(way->heads); i++) {
        bool objects = forms == &way->objects;
        if (forms->events[i] == NULL && (forms->events[i] = form(PyTuple_GET_ITEM(way->heads, i), objects)) == NULL) return -1;
        PyObject *event = forms->events[i];
        if (forms->place != place &&
            (PyDict_SetItem(event, text_file, tracer->place_list[place - 1].file) < 0 ||
             set_taken(event, text_line, PyLong_FromLong(tracer->place_list[place - 1].line)) < 0))
            return -1;
        if (forms->task != task && set_taken(event, text_task, PyLong_FromUnsignedLongLong(task)) < 0) return -1;
    }
    forms->place = place;
    forms->task = task;
    return 0;
}

/* ---- the post ------------------------------------------------------------------------------------------------------------ */

#define RECENT 64        /* entries of tables that were met last, by the addresses of their objects: a power of two */

struct Post {
    PyObject_HEAD
    PyObject *recent[RECENT];
    PyObject *recent_of[RECENT]; /* their tables, borrowed */
    PyObject *specs;     /* a dict: what messages of a name may be; (): nothing */
    PyObject *readers;   /* dicts as tables.py has them: of queues; */
    PyObject *parties;   /* of tasks; */
    PyObject *kinds;     /* of classes whose objects stand in events by their ids; */
    PyObject *shapes;    /* of classes whose objects are messages: a tuple of a name and the names of fields */
    PyObject *keys;      /* a tuple: by which of these a dict has the name of a message */
    PyObject *strangers; /* of code whose tasks are in no group, unless by their names: the class of whose method it is; if it is
                            nobody's, None, or a tuple of the class of its first argument, on which that depends */
    PyObject *matches;   /* a tuple: what tells whether the name of a task puts it into a group */
    char plain_names;    /* is that so of none of the names that asyncio gives? */
    PyObject *put, *get, *take; /* code of asyncio's queues, or None */
    char rests;          /* Python must look at everything */
    PyObject *court;     /* where messages are judged without events, or None */
    unsigned judged, missed; /* there; and not there, only because events were waiting */
};

static PyObject *post_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"specs", "readers", "parties", "kinds", "shapes", "keys", "strangers", "matches", "plain_names", NULL};
    PyObject *specs, *readers, *parties, *kinds, *shapes, *keys, *strangers, *matches;
    int plain_names;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!O!O!O!O!p:Post", names, &PyDict_Type, &specs, &PyDict_Type,
                                     &readers, &PyDict_Type, &parties, &PyDict_Type, &kinds, &PyDict_Type, &shapes,
                                     &PyTuple_Type, &keys, &PyDict_Type, &strangers, &PyTuple_Type, &matches,
                                     &plain_names) || setup() < 0)
        return NULL;
    Post *self = (Post *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->specs = Py_NewRef(specs);
    self->readers = Py_NewRef(readers);
    self->parties = Py_NewRef(parties);
    self->kinds = Py_NewRef(kinds);
    self->shapes = Py_NewRef(shapes);
    self->keys = Py_NewRef(keys);
    self->strangers = Py_NewRef(strangers);
    self->matches = Py_NewRef(matches);
    self->plain_names = plain_names;
    self->put = Py_NewRef(Py_None);
    self->get = Py_NewRef(Py_None);
    self->take = Py_NewRef(Py_None);
    self->court = Py_NewRef(Py_None);
    return (PyObject *)self;
}

static int post_traverse(Post *self, visitproc visit, void *arg) {
    Py_VISIT(self->specs);
    Py_VISIT(self->readers);
    Py_VISIT(self->parties);
    Py_VISIT(self->kinds);
    Py_VISIT(self->shapes);
    Py_VISIT(self->keys);
    Py_VISIT(self->strangers);
    Py_VISIT(self->matches);
    for (int i = 0; i < RECENT; i++) Py_VISIT(self->recent[i]);
    return 0;
}

static int post_clear(Post *self) {
    Py_CLEAR(self->specs);
    Py_CLEAR(self->readers);
    Py_CLEAR(self->parties);
    Py_CLEAR(self->kinds);
    Py_CLEAR(self->shapes);
    Py_CLEAR(self->keys);
    Py_CLEAR(self->strangers);
    Py_CLEAR(self->matches);
    for (int i = 0; i < RECENT; i++) Py_CLEAR(self->recent[i]);
    return 0;
}

static void post_dealloc(Post *self) {
    PyObject_GC_UnTrack(self);
    post_clear(self);
    Py_XDECREF(self->put);
    Py_XDECREF(self->get);
    Py_XDECREF(self->take);
    Py_XDECREF(self->court);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef post_members[] = {
    {"put", T_OBJECT_EX, offsetof(Post, put), 0, "The code of `Queue.put_nowait`, or None."},
    {"get", T_OBJECT_EX, offsetof(Post, get), 0, "The code of `Queue.get`, or None."},
    {"take", T_OBJECT_EX, offsetof(Post, take), 0, "The code of `Queue.get_nowait`, or None."},
    {"rests", T_BOOL, offsetof(Post, rests), 0, "Must Python look at everything?"},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *get_court(Post *self, void *unused) { return Py_NewRef(self->court); }

static int set_court(Post *self, PyObject *court, void *unused) {
    if (court == NULL || (court != Py_None && !Py_IS_TYPE(court, &CourtType))) {
        PyErr_SetString(PyExc_TypeError, "a court, or None");
        return -1;
    }
    Py_SETREF(self->court, Py_NewRef(court));
    return 0;
}

static PyGetSetDef post_getset[] = {
    {"court", (getter)get_court, (setter)set_court, "Where messages are judged without events, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject PostType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Post",
    .tp_basicsize = sizeof(Post),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Post(specs, readers, parties, kinds, shapes, keys, strangers, matches, plain_names)\n--\n\nWhat is known of messages in queues.",
    .tp_new = post_new,
    .tp_dealloc = (destructor)post_dealloc,
    .tp_traverse = (traverseproc)post_traverse,
    .tp_clear = (inquiry)post_clear,
    .tp_members = post_members,
    .tp_getset = post_getset,
};

static bool is_of(PyObject *entry, PyObject *key) {
    PyObject *weak = PyTuple_GET_ITEM(entry, 0);
    return PyWeakref_Check(weak) && ((PyWeakReference *)weak)->wr_object == key;
}

/* What a table has of an object; borrowed; NULL: nothing. An entry stays as it is as long as its object lives. */
static PyObject *known(Post *post, PyObject *table, PyObject *key) {
    size_t place = identity_home(key, RECENT - 1);
    PyObject *entry = post->recent[place];
    if (entry != NULL && post->recent_of[place] == table && is_of(entry, key)) return PyTuple_GET_ITEM(entry, 1);
    PyObject *number = PyLong_FromVoidPtr(key);
    entry = number ? PyDict_GetItemWithError(table, number) : NULL;
    Py_XDECREF(number);
    if (entry == NULL || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 2 || !is_of(entry, key)) return NULL;
    Py_INCREF(entry);
    Py_XSETREF(post->recent[place], entry);
    post->recent_of[place] = table;
    return PyTuple_GET_ITEM(entry, 1);
}

static bool has_surrogates(PyObject *text) {
    int kind = PyUnicode_KIND(text);
    if (kind == PyUnicode_1BYTE_KIND) return false;
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++)
        if (Py_UNICODE_IS_SURROGATE(PyUnicode_READ(kind, data, i))) return true;
    return false;
}

/* Does a value stand in events as it is? */
static bool is_plain(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyLong_Type) {
        int overflow;
        PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow;
    }
    if (type == &PyUnicode_Type) return PyUnicode_GET_LENGTH(value) <= LONGEST && !has_surrogates(value);
    if (type == &PyFloat_Type) return PyFloat_AS_DOUBLE(value) - PyFloat_AS_DOUBLE(value) == 0.0;
    return value == Py_None || type == &PyBool_Type;
}

/* 1: with objects among them; 0: without; -1: Python must see to it. */
static int look_through(Post *post, PyObject *const *values, Py_ssize_t count) {
    int objects = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!identity_needed(values[i])) {
            if (!is_plain(values[i])) return -1;
        } else if (known(post, post->kinds, (PyObject *)Py_TYPE(values[i])) == Py_True) {
            objects = 1;
        } else {
            return -1;
        }
    }
    return objects;
}

/* Nothing in an event leads back to it, so that no collection of cycles needs to look at it. */
static void leave_alone(PyObject *object) {
    if (PyObject_GC_IsTracked(object)) PyObject_GC_UnTrack(object);
}

static PyObject *list_of(Tracer *tracer, PyObject *const *values, Py_ssize_t count, bool ids) {
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        bool object = identity_needed(values[i]);
        PyObject *value;
        if (object && ids) {
            Id id = identity_of(tracer, values[i]);
            value = id ? PyLong_FromUnsignedLongLong(id) : NULL;
        } else {
            value = Py_NewRef(object || ids ? Py_None : values[i]);
        }
        if (value == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, value);
    }
    if (list != NULL) leave_alone(list);
    return list;
}

/* Something of ours failed. */
static int fault(Tracer *tracer) {
    tracer_fault(tracer);
    return 0;
}

static int tell(Tracer *tracer, Way *way, PyObject *const *values, Py_ssize_t count, bool objects, uint32_t place, Id task) {
    if (PyTuple_GET_SIZE(way->heads) == 0) return 1; /* nothing that a view is about */
    Forms *forms = objects ? &way->objects : &way->plain;
    if ((forms->place != place || forms->task != task) && fill_in(tracer, way, forms, place, task) < 0) return fault(tracer);
    PyObject *args = list_of(tracer, values, count, false), *ids = args && objects ? list_of(tracer, values, count, true) : NULL;
    PyObject *events[MOST_EVENTS];
    int made = 0, failed = args == NULL || (objects && ids == NULL);
    for (; !failed && made < PyTuple_GET_SIZE(way->heads); made++) {
        PyObject *event = events[made] = PyDict_Copy(forms->events[made]);
        if (event == NULL) break;
        failed = PyDict_SetItem(event, text_args, args) < 0 || (objects && PyDict_SetItem(event, text_argIds, ids) < 0);
        leave_alone(event);
    }
    failed |= made < PyTuple_GET_SIZE(way->heads);
    Py_XDECREF(args);
    Py_XDECREF(ids);
    if (!failed) return record_messages(tracer, events, made) < 0 ? -1 : 1;
    while (made) Py_DECREF(events[--made]);
    return fault(tracer);
}

/* ---- without an event ---------------------------------------------------------------------------------------------------- */

#define PATIENCE 256 /* messages that go by events because others have, until these are delivered */
#define TIMED 64     /* one message of so many is timed */

/* The arguments, with ids in the place of objects; which these are, as a mask. */
static PyObject *with_ids(Tracer *tracer, PyObject *const *values, Py_ssize_t count, uint64_t *objects) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        bool object = identity_needed(values[i]);
        Id id = object ? identity_of(tracer, values[i]) : 0;
        PyObject *value = !object ? Py_NewRef(values[i]) : id ? PyLong_FromUnsignedLongLong(id) : NULL;
        *objects |= (uint64_t)object << i;
        if (value == NULL) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, i, value);
    }
    if (tuple != NULL) leave_alone(tuple);
    return tuple;
}

static double seconds(Tracer *tracer, int64_t tick) {
    double passed = (double)tracer->first_time + (double)(tick - tracer->first_tick) * tracer->tick;
    if (passed > tracer->last_time) tracer->last_time = passed; /* as of events */
    return tracer->last_time * 1e-9;
}

/* 1: nobody wants to see the event of this message; 0: somebody may; -1: a fault */
static int judge(Tracer *tracer, Post *post, Way *way, PyObject *item, Py_ssize_t first, bool objects, uint32_t place, Id task) {
    Court *court = (Court *)post->court;
    Py_ssize_t count = PyTuple_GET_SIZE(item) - first;
    if (way->turns == NULL || !court->open || tracer->deliverer || (objects && count > MOST_MARKED)) return 0;
    if (tracer->count) { /* what came before is judged before */
        post->missed++;
        return 0;
    }
    bool timed = post->judged++ % TIMED == 0;
    if (timed) measure_ticks(tracer);
    int64_t tick = ticks();
    ThreadData *thread = thread_data(tracer);
    Matter matter = {
        .heads = way->heads, .values = item, .first = first, .file = tracer->place_list[place - 1].file,
        .line = tracer->place_list[place - 1].line, .thread = thread ? thread->number : 0, .process = tracer->process,
        .task = task, .time = seconds(tracer, tick),
    };
    if (objects) {
        matter.values = with_ids(tracer, &PyTuple_GET_ITEM(item, first), count, &matter.objects);
        matter.first = 0;
        if (matter.values == NULL) return -1;
    }
    int result = court_judge(court, way->turns, way->turn_count, &matter);
    if (objects) Py_DECREF(matter.values);
    if (result == 0 && court->count > MOST_LETTERS - MOST_EVENTS) post->missed = PATIENCE;
    if (timed) court->spent += (double)(ticks() - tick) * tracer->tick * 1e-9 * TIMED;
    return result;
}

/* Deliver the events that keep others from being judged without, now and then. */
static int hasten(Tracer *tracer, Post *post, int answer) {
    if (answer != 1 || post->missed < PATIENCE || tracer->synchronous) return answer;
    post->missed = 0;
    return record_flush(tracer, false) < 0 ? -1 : 1;
}

/* ---- what is seen --------------------------------------------------------------------------------------------------------- */

/* Is a queue full? -1: Python must look. */
static int is_full(QueueReader *reader, PyObject *queue) {
    PyObject *size = PyObject_GetAttr(queue, text_maxsize), *inside = NULL;
    Py_ssize_t most = size != NULL && PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
    bool known = most >= 0 || (size != NULL && !PyErr_Occurred() && PyLong_CheckExact(size));
    Py_XDECREF(size);
    if (known && most > 0) {
        inside = reader->standard ? PyObject_GetAttr(queue, text_queue) : NULL;
        Py_ssize_t count = inside == NULL ? -1 : PyObject_Size(inside);
        Py_XDECREF(inside);
        if (count >= 0) return count >= most;
        known = false;
    }
    PyErr_Clear();
    return known ? 0 : -1;
}

/* Is a message put by a method of its own receiver? Then its place is elsewhere. */
static bool passes_on(Tracer *tracer, RunFrame *frame, const void *target) {
    if (target == NULL) return false;
    for (frame = frame_caller(frame); frame != NULL; frame = frame_caller(frame)) {
        PyCodeObject *code = frame_code(frame);
        CodeInfo *info = plan_find(tracer, code);
        if (info == NULL || !info->own) continue;
        if (code->co_argcount == 0) return code->co_nfreevars > 0;
        PyObject *first = frame->localsplus[0];
        return first == NULL || first == target || PyCell_Check(first);
    }
    return false;
}

/* Is it a name like `Task-7`? */
static bool is_given(PyObject *name) {
    static const char begin[] = "Task-";
    if (!PyUnicode_IS_ASCII(name) || PyUnicode_GET_LENGTH(name) < (Py_ssize_t)sizeof begin) return false;
    const char *text = (const char *)PyUnicode_1BYTE_DATA(name);
    if (memcmp(text, begin, sizeof begin - 1) != 0) return false;
    for (text += sizeof begin - 1; *text; text++)
        if (*text < '0' || *text > '9') return false;
    return true;
}

/* Does the name of a task put it into a group, perhaps? */
static bool has_telling_name(Post *post, PyObject *task) {
    PyObject *name = PyObject_CallMethodNoArgs(task, text_get_name);
    bool telling = name == NULL || !PyUnicode_CheckExact(name);
    if (!telling && !(post->plain_names && is_given(name))) {
        for (Py_ssize_t i = 0; !telling && i < PyTuple_GET_SIZE(post->matches); i++) {
            PyObject *found = PyObject_CallOneArg(PyTuple_GET_ITEM(post->matches, i), name);
            telling = found != Py_None;
            Py_XDECREF(found);
        }
    }
    Py_XDECREF(name);
    return telling;
}

static PyCodeObject *coroutine_code(PyObject *coroutine) { /* a new reference */
#if PY_VERSION_HEX >= 0x030C0000
    return PyGen_GetCode((PyGenObject *)coroutine);
#else
    return (PyCodeObject *)Py_NewRef(((PyCoroObject *)coroutine)->cr_code);
#endif
}

/* By what the ways of a task are known that was not met before, if it is in no group: None, or the id of the object whose
   method it runs. A new reference; NULL: Python must look at it. */
static PyObject *stranger(Tracer *tracer, Post *post, PyObject *task) {
    PyObject *coroutine = PyObject_CallMethodNoArgs(task, text_get_coro), *kind = NULL, *alias = NULL;
    if (coroutine != NULL && PyCoro_CheckExact(coroutine)) {
        PyCodeObject *code = coroutine_code(coroutine);
        kind = known(post, post->strangers, (PyObject *)code);
        Py_DECREF(code);
    }
    if (kind == Py_None) {
        if (!has_telling_name(post, task)) alias = Py_NewRef(Py_None);
    } else if (kind != NULL && ((PyGenObject *)coroutine)->gi_frame_state < FRAME_COMPLETED) {
        PyObject *first = ((RunFrame *)((PyGenObject *)coroutine)->gi_iframe)->localsplus[0];
        bool nobodys = PyTuple_CheckExact(kind) && PyTuple_GET_SIZE(kind) == 1;
        if (nobodys) kind = PyTuple_GET_ITEM(kind, 0);
        if (first != NULL && (PyObject *)Py_TYPE(first) == kind && !has_telling_name(post, task)) {
            Id id = nobodys ? 0 : identity_of(tracer, first);
            alias = nobodys ? Py_NewRef(Py_None) : id ? PyLong_FromUnsignedLongLong(id) : NULL;
        }
    }
    Py_XDECREF(coroutine);
    return alias;
}

/* Have laws come or gone since? Then Python finds out anew what they make of it. */
static bool is_old(Post *post, Way *way) {
    return post->court != Py_None && ((Court *)post->court)->version != way->version;
}

/* A new reference, or NULL. */
static Way *way_of(Tracer *tracer, Post *post, QueueReader *reader, PyObject *name, PyObject *task) {
    PyObject *ways = PyDict_GetItemWithError(reader->ways, name);
    PyObject *sender = known(post, post->parties, task), *alias, *way = NULL;
    if (ways == NULL || !PyDict_CheckExact(ways) || (sender == reader->party && !reader->shared)) return NULL;
    alias = sender == NULL ? stranger(tracer, post, task) : PyObject_GetAttr(sender, text_alias);
    if (alias == Py_False) Py_SETREF(alias, Py_NewRef(sender));
    if (alias != NULL && alias != Py_Ellipsis) way = PyDict_GetItemWithError(ways, alias);
    Py_XINCREF(way);
    Py_XDECREF(alias);
    if (way != NULL && (!Py_IS_TYPE(way, &WayType) || is_old(post, (Way *)way))) Py_CLEAR(way);
    return (Way *)way;
}

static QueueReader *reader_of(Post *post, PyObject *queue) {
    PyObject *reader = known(post, post->readers, queue);
    return reader != NULL && Py_IS_TYPE(reader, &QueueReaderType) ? (QueueReader *)reader : NULL;
}

/* ---- what a message says ------------------------------------------------------------------------------------------------- */

/* The name of a message, borrowed; NULL: Python must look. Of a dict the key that says it, of an object its fields. */
static PyObject *name_of(Post *post, PyObject *item, PyObject **said_by) {
    PyObject *name = NULL;
    *said_by = NULL;
    if (PyTuple_CheckExact(item)) {
        name = PyTuple_GET_SIZE(item) ? PyTuple_GET_ITEM(item, 0) : NULL;
    } else if (PyUnicode_CheckExact(item)) {
        name = item;
    } else if (PyDict_CheckExact(item)) {
        for (Py_ssize_t i = 0; name == NULL && i < PyTuple_GET_SIZE(post->keys); i++) {
            name = PyDict_GetItemWithError(item, *said_by = PyTuple_GET_ITEM(post->keys, i));
            if (name != NULL && !PyUnicode_Check(name)) name = NULL;
        }
    } else {
        PyObject *shape = known(post, post->shapes, (PyObject *)Py_TYPE(item));
        if (shape == NULL || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 2) return NULL;
        name = PyTuple_GET_ITEM(shape, 0);
        *said_by = PyTuple_GET_ITEM(shape, 1);
    }
    return name != NULL && PyUnicode_CheckExact(name) ? name : NULL;
}

/* Is it certain that this is no future, to which an answer is to go? */
static bool is_no_future(Post *post, PyObject *value) {
    return !identity_needed(value) || PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value) ||
           known(post, post->kinds, (PyObject *)Py_TYPE(value)) == Py_True;
}

/* By the names of the view's parameters, if it has all of them; a new reference; NULL: Python must look. */
static PyObject *values_of_dict(Post *post, PyObject *item, PyObject *said_by, PyObject *parameters) {
    PyObject *key, *value;
    Py_ssize_t place = 0, others = 0;
    while (PyDict_Next(item, &place, &key, &value)) {
        if (!PyUnicode_CheckExact(key)) return NULL;
        if (key == said_by || PyUnicode_Compare(key, said_by) == 0) continue;
        if (!is_no_future(post, value) || PyUnicode_Compare(key, text_args) == 0 || PyUnicode_Compare(key, text_kwargs) == 0)
            return NULL;
        others++;
    }
    PyObject *values = PyTuple_New(others ? PyTuple_GET_SIZE(parameters) : 0);
    for (Py_ssize_t i = 0; values != NULL && i < PyTuple_GET_SIZE(values); i++) {
        key = PyTuple_GET_ITEM(parameters, i);
        value = PyUnicode_Compare(key, said_by) ? PyDict_GetItemWithError(item, key) : NULL;
        if (value == NULL) Py_CLEAR(values);
        else PyTuple_SET_ITEM(values, i, Py_NewRef(value));
    }
    return values;
}

static PyObject *field_of(PyObject *item, PyObject *fields, Py_ssize_t place) {
    if (!PyTuple_Check(item)) return PyObject_GetAttr(item, PyTuple_GET_ITEM(fields, place));
    return PyTuple_GET_SIZE(item) == PyTuple_GET_SIZE(fields) ? Py_NewRef(PyTuple_GET_ITEM(item, place)) : NULL;
}

static Py_ssize_t place_of(PyObject *fields, PyObject *name) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *field = PyTuple_GET_ITEM(fields, i);
        if (field == name || PyUnicode_Compare(field, name) == 0) return i;
    }
    return -1;
}

/* The same, of an object. If it does not have all parameters, its fields count by their order. */
static PyObject *values_of_object(Post *post, PyObject *item, PyObject *fields, PyObject *parameters) {
    Py_ssize_t count = PyTuple_GET_SIZE(fields), wanted = PyTuple_GET_SIZE(parameters);
    PyObject *all = PyTuple_New(count);
    for (Py_ssize_t i = 0; all != NULL && i < count; i++) {
        PyObject *value = field_of(item, fields, i);
        if (value != NULL) PyTuple_SET_ITEM(all, i, value);
        if (value == NULL || !is_no_future(post, value)) Py_CLEAR(all);
    }
    if (all == NULL || count == 0) return all;
    PyObject *values = PyTuple_New(wanted);
    for (Py_ssize_t i = 0; values != NULL && i < wanted; i++) {
        Py_ssize_t place = place_of(fields, PyTuple_GET_ITEM(parameters, i));
        if (place < 0) Py_CLEAR(values);
        else PyTuple_SET_ITEM(values, i, Py_NewRef(PyTuple_GET_ITEM(all, place)));
    }
    if (values == NULL) return PyErr_Occurred() ? (Py_DECREF(all), NULL) : all;
    Py_DECREF(all);
    return values;
}

/* A tuple with the arguments, from its place `first` on; a new reference; NULL: Python must look. */
static PyObject *values_of(Post *post, PyObject *item, PyObject *said_by, Way *way, Py_ssize_t *first) {
    *first = 0;
    if (PyUnicode_CheckExact(item)) return PyTuple_New(0);
    if (PyDict_CheckExact(item)) return values_of_dict(post, item, said_by, way->parameters);
    if (!PyTuple_CheckExact(item)) return values_of_object(post, item, said_by, way->parameters);
    *first = 1;
    return Py_NewRef(item);
}

static int on_put(Tracer *tracer, Post *post, RunFrame *frame, PyObject *queue, PyObject *item) {
    PyObject *said_by, *name = item == NULL ? NULL : name_of(post, item, &said_by);
    PyObject *specs = name == NULL ? NULL : PyDict_GetItemWithError(post->specs, name);
    if (specs == NULL || !PyTuple_CheckExact(specs)) return POST_UNKNOWN;
    if (PyTuple_GET_SIZE(specs) == 0) return 1; /* no view speaks of it */
    QueueReader *reader = reader_of(post, queue);
    int full = reader == NULL || !tracer->tasks ? -1 : is_full(reader, queue);
    if (full) return full < 0 ? POST_UNKNOWN : 1; /* it will not get in */
    PyObject *task = record_task(tracer);
    if (task == NULL) return POST_UNKNOWN;
    Py_ssize_t first = 0;
    Way *way = way_of(tracer, post, reader, name, task);
    PyObject *said = way == NULL ? NULL : values_of(post, item, said_by, way, &first);
    PyObject **values = said == NULL ? NULL : ((PyTupleObject *)said)->ob_item + first;
    Py_ssize_t count = said == NULL ? 0 : PyTuple_GET_SIZE(said) - first;
    int objects = said == NULL ? -1 : look_through(post, values, count);
    Id id = objects < 0 || passes_on(tracer, frame, way->target) ? 0 : identity_of(tracer, task);
    Py_DECREF(task);
    uint32_t place = id ? function_place(tracer, frame) : 0;
    int answer = POST_UNKNOWN;
    if (place && !tracer->broken && tracer->place_list[place - 1].line >= 0) {
        int judged = post->court == Py_None ? 0 : judge(tracer, post, way, said, first, objects, place, id);
        if (judged < 0) answer = fault(tracer);
        else if (judged) answer = 1;
        else answer = hasten(tracer, post, tell(tracer, way, values, count, objects, place, id));
    }
    Py_XDECREF(said);
    Py_XDECREF(way);
    return answer;
}

/* Somebody takes a message, or waits for one. Is it who always does? */
static int on_take(Tracer *tracer, Post *post, RunFrame *frame, PyObject *queue, bool waits) {
    QueueReader *reader = reader_of(post, queue);
    if (reader == NULL || reader->shared || !PyWeakref_Check(reader->task)) return POST_UNKNOWN;
    if (!waits) {
        RunFrame *caller = frame_caller(frame);
        if (caller != NULL && (PyObject *)frame_code(caller) == post->get) return 1; /* that was looked at when it began */
    }
    PyObject *task = record_task(tracer);
    bool same = task != NULL && ((PyWeakReference *)reader->task)->wr_object == task;
    Py_XDECREF(task);
    return same ? 1 : POST_UNKNOWN;
}

#define NOTHING_ELSE (~(WANT_HAND | WANT_HAND_END | WANT_SITE))

int post_start(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    Post *post = tracer->post;
    PyObject *code = (PyObject *)info->code;
    bool puts = code == post->put, waits = code == post->get;
    if (post->rests || (!puts && !waits && code != post->take)) return POST_UNKNOWN;
    PyObject *queue = frame->localsplus[0];
    if (queue == NULL || info->groups) return POST_UNKNOWN;
    Callee *callee = plan_receiver(tracer, info, Py_TYPE(queue));
    if (callee == NULL) return fault(tracer);
    if (callee->name == NULL || callee->wants & NOTHING_ELSE || callee->group != NULL) return POST_UNKNOWN;
    int answer = puts ? on_put(tracer, post, frame, queue, frame->localsplus[1]) : on_take(tracer, post, frame, queue, waits);
    if (answer == POST_UNKNOWN && PyErr_Occurred()) PyErr_Clear(); /* whatever it was, Python meets it again */
    return answer;
}

#endif

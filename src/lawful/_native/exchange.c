/* Messages that tasks put into asyncio's queues, as far as nothing new is to be found out about them: who reads from the
   queue, who sends, and what a message of this name is between the two, Python has found out before. It sees to all else.

   The specification is lawful/sources/actors/tasks.py: what is told here is told there in the same words. */
#include "exchange.h"

#ifndef LAWFUL_NO_TRACER

#include <structmember.h>

#define MOST_EVENTS 8    /* of one message */
#define LONGEST 10000    /* as in encode.c */

static PyObject *text_args, *text_argIds, *text_task, *text_file, *text_line, *text_thread, *text_time, *text_alias,
    *text_maxsize, *text_get_coro, *text_get_name, *zero;

static int setup(void) {
    if (zero != NULL) return 0;
    struct { PyObject **place; const char *text; } words[] = {
        {&text_args, "args"}, {&text_argIds, "argIds"}, {&text_task, "task"}, {&text_file, "file"}, {&text_line, "line"},
        {&text_thread, "thread"}, {&text_time, "time"}, {&text_alias, "alias"}, {&text_maxsize, "_maxsize"},
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
    const void *target;    /* the address of who is called, only compared; NULL: nobody knows */
    Forms plain, objects;  /* without objects among the arguments, and with some */
} Way;

static PyObject *way_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"heads", "target", NULL};
    PyObject *heads, *target;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O:Way", names, &PyTuple_Type, &heads, &target)) return NULL;
    bool fits = PyTuple_GET_SIZE(heads) <= MOST_EVENTS;
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(heads); i++) fits = PyDict_CheckExact(PyTuple_GET_ITEM(heads, i));
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "a message is at most %d events, which are dicts", MOST_EVENTS);
        return NULL;
    }
    Way *self = (Way *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->heads = Py_NewRef(heads);
    self->target = target == Py_None ? NULL : target;
    return (PyObject *)self;
}

static void way_dealloc(Way *self) {
    for (int i = 0; i < MOST_EVENTS; i++) {
        Py_XDECREF(self->plain.events[i]);
        Py_XDECREF(self->objects.events[i]);
    }
    Py_XDECREF(self->heads);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject WayType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Way",
    .tp_basicsize = sizeof(Way),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Way(heads, target)\n--\n\nHow the events of messages begin that one sends to another.",
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
    PyObject *strangers; /* of code whose tasks are in no group, unless by their names: the class of whose method it is, or None */
    PyObject *matches;   /* a tuple: what tells whether the name of a task puts it into a group */
    char plain_names;    /* is that so of none of the names that asyncio gives? */
    PyObject *put, *get, *take; /* code of asyncio's queues, or None */
    char rests;          /* Python must look at everything */
};

static PyObject *post_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"specs", "readers", "parties", "kinds", "strangers", "matches", "plain_names", NULL};
    PyObject *specs, *readers, *parties, *kinds, *strangers, *matches;
    int plain_names;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!O!O!p:Post", names, &PyDict_Type, &specs, &PyDict_Type,
                                     &readers, &PyDict_Type, &parties, &PyDict_Type, &kinds, &PyDict_Type, &strangers,
                                     &PyTuple_Type, &matches, &plain_names) || setup() < 0)
        return NULL;
    Post *self = (Post *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->specs = Py_NewRef(specs);
    self->readers = Py_NewRef(readers);
    self->parties = Py_NewRef(parties);
    self->kinds = Py_NewRef(kinds);
    self->strangers = Py_NewRef(strangers);
    self->matches = Py_NewRef(matches);
    self->plain_names = plain_names;
    self->put = Py_NewRef(Py_None);
    self->get = Py_NewRef(Py_None);
    self->take = Py_NewRef(Py_None);
    return (PyObject *)self;
}

static int post_traverse(Post *self, visitproc visit, void *arg) {
    Py_VISIT(self->specs);
    Py_VISIT(self->readers);
    Py_VISIT(self->parties);
    Py_VISIT(self->kinds);
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
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef post_members[] = {
    {"put", T_OBJECT_EX, offsetof(Post, put), 0, "The code of `Queue.put_nowait`, or None."},
    {"get", T_OBJECT_EX, offsetof(Post, get), 0, "The code of `Queue.get`, or None."},
    {"take", T_OBJECT_EX, offsetof(Post, take), 0, "The code of `Queue.get_nowait`, or None."},
    {"rests", T_BOOL, offsetof(Post, rests), 0, "Must Python look at everything?"},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject PostType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Post",
    .tp_basicsize = sizeof(Post),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Post(specs, readers, parties, kinds, strangers, matches, plain_names)\n--\n\nWhat is known of messages in queues.",
    .tp_new = post_new,
    .tp_dealloc = (destructor)post_dealloc,
    .tp_traverse = (traverseproc)post_traverse,
    .tp_clear = (inquiry)post_clear,
    .tp_members = post_members,
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

/* May a queue be full? */
static bool is_bounded(PyObject *queue) {
    PyObject *size = PyObject_GetAttr(queue, text_maxsize);
    bool bounded = size == NULL || !PyLong_CheckExact(size) || PyLong_AsLong(size) > 0;
    Py_XDECREF(size);
    PyErr_Clear();
    return bounded;
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
        PyObject *owner = ((RunFrame *)((PyGenObject *)coroutine)->gi_iframe)->localsplus[0];
        if (owner != NULL && (PyObject *)Py_TYPE(owner) == kind && !has_telling_name(post, task)) {
            Id id = identity_of(tracer, owner);
            alias = id ? PyLong_FromUnsignedLongLong(id) : NULL;
        }
    }
    Py_XDECREF(coroutine);
    return alias;
}

/* A new reference, or NULL. */
static Way *way_of(Tracer *tracer, Post *post, QueueReader *reader, PyObject *name, PyObject *task) {
    PyObject *ways = PyDict_GetItemWithError(reader->ways, name);
    PyObject *sender = known(post, post->parties, task), *alias, *way = NULL;
    if (ways == NULL || !PyDict_CheckExact(ways) || sender == reader->party) return NULL;
    alias = sender == NULL ? stranger(tracer, post, task) : PyObject_GetAttr(sender, text_alias);
    if (alias == Py_False) Py_SETREF(alias, Py_NewRef(sender));
    if (alias != NULL && alias != Py_Ellipsis) way = PyDict_GetItemWithError(ways, alias);
    Py_XINCREF(way);
    Py_XDECREF(alias);
    if (way != NULL && !Py_IS_TYPE(way, &WayType)) Py_CLEAR(way);
    return (Way *)way;
}

static QueueReader *reader_of(Post *post, PyObject *queue) {
    PyObject *reader = known(post, post->readers, queue);
    return reader != NULL && Py_IS_TYPE(reader, &QueueReaderType) ? (QueueReader *)reader : NULL;
}

static int on_put(Tracer *tracer, Post *post, RunFrame *frame, PyObject *queue, PyObject *item) {
    if (item == NULL || !PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) == 0) return POST_UNKNOWN;
    PyObject *name = PyTuple_GET_ITEM(item, 0);
    if (!PyUnicode_CheckExact(name)) return POST_UNKNOWN;
    PyObject *specs = PyDict_GetItemWithError(post->specs, name);
    if (specs == NULL || !PyTuple_CheckExact(specs)) return POST_UNKNOWN;
    if (PyTuple_GET_SIZE(specs) == 0) return 1; /* no view speaks of it */
    QueueReader *reader = reader_of(post, queue);
    if (reader == NULL || reader->shared || !tracer->tasks || is_bounded(queue)) return POST_UNKNOWN;
    PyObject **values = ((PyTupleObject *)item)->ob_item + 1;
    Py_ssize_t count = PyTuple_GET_SIZE(item) - 1;
    int objects = look_through(post, values, count);
    PyObject *task = objects < 0 ? NULL : record_task(tracer);
    if (task == NULL) return POST_UNKNOWN;
    Way *way = way_of(tracer, post, reader, name, task);
    Id id = way == NULL || passes_on(tracer, frame, way->target) ? 0 : identity_of(tracer, task);
    Py_DECREF(task);
    uint32_t place = id ? function_place(tracer, frame) : 0;
    int answer = POST_UNKNOWN;
    if (place && !tracer->broken && tracer->place_list[place - 1].line >= 0)
        answer = tell(tracer, way, values, count, objects, place, id);
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

/* Messages that tasks put into asyncio's queues, as far as nothing new is to be found out about them: who reads from the
   queue, who sends, and what a message of this name is between the two, Python has found out before. It sees to all else.

   The specification is lawful/sources/actors/tasks.py: what is told here is told there in the same words. */
#include "messages/messages.h"

#include "messages/message_cache.h"
#include "tracer/fast_path.h"
#include "tracer/tasks.h"

#include <structmember.h>

static PyObject *text_args, *text_argIds, *text_kwargs, *text_alias, *text_maxsize, *text_queue, *zero;

static int setup(void) {
    if (text_queue != NULL) return 0;
    if ((zero = PyLong_FromLong(0)) == NULL) return -1; /* there is only one */
#define TEXT(name) if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    TEXT(args) TEXT(argIds) TEXT(kwargs) TEXT(alias)
#undef TEXT
    if ((text_maxsize = PyUnicode_InternFromString("_maxsize")) == NULL) return -1;
    return (text_queue = PyUnicode_InternFromString("_queue")) == NULL ? -1 : 0;
}

/* ---- the post ------------------------------------------------------------------------------------------------------------ */

static PyObject *post_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"specs", "readers", "parties", "kinds", "shapes", "keys", "strangers", "matches", "plain_names",
                            "owners", "doors", NULL};
    PyObject *specs, *readers, *parties, *kinds, *shapes, *keys, *strangers, *matches, *owners, *doors;
    int plain_names;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!O!O!O!O!pO!O!:Post", names, &PyDict_Type, &specs, &PyDict_Type,
                                     &readers, &PyDict_Type, &parties, &PyDict_Type, &kinds, &PyDict_Type, &shapes,
                                     &PyTuple_Type, &keys, &PyDict_Type, &strangers, &PyTuple_Type, &matches,
                                     &plain_names, &PyDict_Type, &owners, &PyDict_Type, &doors) || setup() < 0)
        return NULL;
    Post *self = (Post *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->specs = Py_NewRef(specs);
    self->tables[READERS] = Py_NewRef(readers);
    self->tables[PARTIES] = Py_NewRef(parties);
    self->tables[CLASSES] = Py_NewRef(kinds);
    self->tables[SHAPES] = Py_NewRef(shapes);
    self->tables[STRANGERS] = Py_NewRef(strangers);
    self->tables[OWNERS] = Py_NewRef(owners);
    self->tables[DOORS] = Py_NewRef(doors);
    self->keys = Py_NewRef(keys);
    self->matches = Py_NewRef(matches);
    self->plain_names = plain_names;
    self->put = Py_NewRef(Py_None);
    self->get = Py_NewRef(Py_None);
    self->take = Py_NewRef(Py_None);
    self->court = Py_NewRef(Py_None);
    self->patience = 1;
    return (PyObject *)self;
}

static int post_traverse(Post *self, visitproc visit, void *arg) {
    Py_VISIT(self->specs);
    Py_VISIT(self->keys);
    Py_VISIT(self->matches);
    for (int table = 0; table < TABLES; table++) {
        Py_VISIT(self->tables[table]);
        for (int i = 0; i < RECENT; i++) {
            Py_VISIT(self->recent[table][i].weak);
            Py_VISIT(self->recent[table][i].value);
        }
    }
    for (int i = 0; i < RECENT_NAMES; i++) Py_VISIT(self->names[i].specs);
    for (int i = 0; i < HITS; i++) {
        Py_VISIT(self->hits[i].ways);
        Py_VISIT(self->hits[i].party);
    }
    return 0;
}

static int post_clear(Post *self) {
    Py_CLEAR(self->specs);
    Py_CLEAR(self->keys);
    Py_CLEAR(self->matches);
    for (int table = 0; table < TABLES; table++) {
        Py_CLEAR(self->tables[table]);
        for (int i = 0; i < RECENT; i++) {
            Py_CLEAR(self->recent[table][i].weak);
            Py_CLEAR(self->recent[table][i].value);
        }
    }
    for (int i = 0; i < RECENT_NAMES; i++) {
        Py_CLEAR(self->names[i].name);
        Py_CLEAR(self->names[i].specs);
    }
    for (int i = 0; i < RECENT_IDS; i++) Py_CLEAR(self->ids[i]);
    for (int i = 0; i < HITS; i++) {
        Py_CLEAR(self->hits[i].ways);
        Py_CLEAR(self->hits[i].name);
        Py_CLEAR(self->hits[i].party);
        Py_CLEAR(self->hits[i].way);
    }
    crossings_clear(self);
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
    {"rests", T_BOOL, offsetof(Post, rests), 0, "Must Python look at everything? (To compare.)"},
    {"entries", T_BOOL, offsetof(Post, entries), 0, "Is some code of the program's own told of as messages?"},
    {"calls", T_BOOL, offsetof(Post, calls), 0, "Are there doors?"},
    {"sharing", T_BOOL, offsetof(Post, sharing), 0, "Do several read from a queue?"},
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
    .tp_doc = "Post(specs, readers, parties, kinds, shapes, keys, strangers, matches, plain_names, owners, doors)\n--\n\nWhat is known of messages in queues.",
    .tp_new = post_new,
    .tp_dealloc = (destructor)post_dealloc,
    .tp_traverse = (traverseproc)post_traverse,
    .tp_clear = (inquiry)post_clear,
    .tp_members = post_members,
    .tp_getset = post_getset,
};

/* What a table has of an object; borrowed; NULL: nothing. An entry stays as it is as long as its object lives. */
PyObject *post_known(Post *post, int table, PyObject *key) {
    size_t home = identity_slot(key, RECENT - 1);
    PyObject *weak = post->recent[table][home].weak;
    if (weak != NULL && ((PyWeakReference *)weak)->wr_object == key) return post->recent[table][home].value;
    PyObject *number = PyLong_FromVoidPtr(key), *entry = number ? PyDict_GetItemWithError(post->tables[table], number) : NULL;
    Py_XDECREF(number);
    if (entry == NULL || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 2 || !is_entry_of(entry, key)) return NULL;
    PyObject *value = PyTuple_GET_ITEM(entry, 1);
    Py_XSETREF(post->recent[table][home].weak, Py_NewRef(PyTuple_GET_ITEM(entry, 0)));
    Py_XSETREF(post->recent[table][home].value, Py_NewRef(value));
    return value;
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
        if (PyUnstable_Long_IsCompact((PyLongObject *)value)) return true;
        PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow;
    }
    if (type == &PyUnicode_Type) return PyUnicode_GET_LENGTH(value) <= LONGEST_TEXT && !has_surrogates(value);
    if (type == &PyFloat_Type) return PyFloat_AS_DOUBLE(value) - PyFloat_AS_DOUBLE(value) == 0.0;
    return value == Py_None || type == &PyBool_Type;
}

#define DEEPEST_DATA 8 /* as values.py has it */

static PyObject *data_of(PyObject *value, int depth);

static PyObject *data_of_mapping(PyObject *mapping, int depth) {
    PyObject *data = PyDict_New(), *key, *value;
    Py_ssize_t place = 0;
    while (data != NULL && PyDict_Next(mapping, &place, &key, &value)) {
        PyObject *found = PyUnicode_CheckExact(key) && is_plain(key) ? data_of(value, depth + 1) : NULL;
        if (found == NULL || PyDict_SetItem(data, key, found) < 0) Py_CLEAR(data);
        Py_XDECREF(found);
    }
    return data;
}

/* A value in JSON's types, which nobody else can change: a new reference; NULL: Python must see to it. It has only data in it. */
static PyObject *data_of(PyObject *value, int depth) {
    if (!identity_needed(value)) return is_plain(value) ? Py_NewRef(value) : NULL;
    if (depth > DEEPEST_DATA) return NULL;
    if (PyDict_CheckExact(value)) return data_of_mapping(value, depth);
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return NULL;
    PyObject *data = PyList_New(PySequence_Fast_GET_SIZE(value));
    for (Py_ssize_t i = 0; data != NULL && i < PyList_GET_SIZE(data); i++) {
        PyObject *found = data_of(PySequence_Fast_GET_ITEM(value, i), depth + 1);
        if (found == NULL) Py_CLEAR(data);
        else PyList_SET_ITEM(data, i, found);
    }
    return data;
}

/* The same as a tuple of arguments, with data as it is in events. */
static PyObject *with_data(Post *post, PyObject *const *values, Py_ssize_t count, uint64_t *objects, bool spreads) {
    PyObject *tuple = count > MOST_MARKED ? NULL : PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *value = NULL;
        if (identity_needed(values[i]) && post_known(post, CLASSES, (PyObject *)Py_TYPE(values[i])) == Py_True) {
            value = Py_NewRef(values[i]);
            *objects |= UINT64_C(1) << i;
        } else if (!spreads || !PyTuple_CheckExact(values[i])) { /* a tuple of arguments is no argument */
            value = data_of(values[i], 0);
        }
        if (value == NULL) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, i, value);
    }
    if (tuple != NULL && !*objects && PyObject_GC_IsTracked(tuple)) PyObject_GC_UnTrack(tuple);
    return tuple;
}

bool post_read(Post *post, PyObject **said, Py_ssize_t *first, uint64_t *objects, bool spreads) {
    PyObject **values = ((PyTupleObject *)*said)->ob_item + *first;
    Py_ssize_t count = PyTuple_GET_SIZE(*said) - *first, plain = 0;
    while (plain < count && !identity_needed(values[plain]) && is_plain(values[plain])) plain++;
    *objects = 0;
    if (plain == count) return true;
    PyObject *data = with_data(post, values, count, objects, spreads);
    if (data == NULL) return false;
    Py_SETREF(*said, data);
    *first = 0;
    return true;
}

/* Nothing in an event leads back to it, so that no collection of cycles needs to look at it. */
static void leave_alone(PyObject *object) {
    if (PyObject_GC_IsTracked(object)) PyObject_GC_UnTrack(object);
}

static PyObject *list_of(Tracer *tracer, PyObject *const *values, Py_ssize_t count, uint64_t objects, bool ids) {
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        bool object = i < MOST_MARKED && objects >> i & 1;
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

int post_fault(Tracer *tracer) {
    tracer_fault(tracer);
    return 0;
}

static int tell(Tracer *tracer, Way *way, PyObject *const *values, Py_ssize_t count, uint64_t objects, uint32_t place, Id task) {
    if (PyTuple_GET_SIZE(way->heads) == 0) return 1; /* nothing that a view is about */
    Forms *forms = objects ? &way->objects : &way->plain;
    if ((forms->place != place || forms->task != task) && way_forms(tracer, way, forms, place, task) < 0) return post_fault(tracer);
    PyObject *args = list_of(tracer, values, count, objects, false);
    PyObject *ids = args && objects ? list_of(tracer, values, count, objects, true) : NULL;
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
    return post_fault(tracer);
}

/* ---- without an event ---------------------------------------------------------------------------------------------------- */

#define PATIENCE 256 /* messages that go by events because others have, at most, until these are delivered */
#define CALM 1000    /* messages that need no event, until it is taken for granted that few will */
#define TIMED 64     /* one message of so many is timed */

/* The arguments, with ids in the place of objects. */
static PyObject *with_ids(Tracer *tracer, PyObject *const *values, Py_ssize_t count, uint64_t objects) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        bool object = objects >> i & 1;
        Id id = object ? identity_of(tracer, values[i]) : 0;
        PyObject *value = !object ? Py_NewRef(values[i]) : id ? PyLong_FromUnsignedLongLong(id) : NULL;
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
int post_judge(Tracer *tracer, Post *post, Way *way, PyObject *item, Py_ssize_t first, uint64_t objects, uint32_t place, Id task) {
    Court *court = (Court *)post->court;
    if (way->turns == NULL || !court->open || tracer->deliverer) return 0;
    if (tracer->count) { /* what came before is judged before */
        if (post->judged - post->hastened >= CALM) post->patience = 1;
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
        matter.values = with_ids(tracer, &PyTuple_GET_ITEM(item, first), PyTuple_GET_SIZE(item) - first, objects);
        matter.objects = objects;
        matter.first = 0;
        if (matter.values == NULL) return -1;
    }
    int result = court_judge(court, way->turns, way->turn_count, &matter);
    if (objects) Py_DECREF(matter.values);
    if (result == 0 && court->used > MOST_NOTES - MOST_EVENTS) post->missed = post->patience;
    if (timed) court->spent += (double)(ticks() - tick) * tracer->tick * 1e-9 * TIMED;
    return result;
}

/* Deliver the events that keep others from being judged without: soon, if that is seldom so. */
int post_hasten(Tracer *tracer, Post *post, int answer) {
    if (answer != 1 || post->missed < post->patience || tracer->synchronous) return answer;
    if (post->patience < PATIENCE) post->patience *= 2;
    post->hastened = post->judged;
    post->missed = 0;
    return record_flush(tracer, false) < 0 ? -1 : 1;
}

/* ---- what is seen --------------------------------------------------------------------------------------------------------- */

/* Is it clear at first sight that a queue takes whatever comes? */
static bool is_boundless(Post *post, PyObject *queue) {
    PyTypeObject *type = Py_TYPE(queue);
    if (post->bound.version == 0 || post->bound.version != type->tp_version_tag) return false;
    PyObject *most = object_field(queue, post->bound.index);
    return most == zero;
}

/* From now on that can be seen of queues of this class. */
static void learn_bound(Post *post, QueueReader *reader, PyTypeObject *type) {
    int index = reader->standard && _PyType_Lookup(type, text_maxsize) == NULL ? object_field_index(type, text_maxsize) : -1;
    if (index < 0) return;
    post->bound.version = type->tp_version_tag;
    post->bound.index = index;
}

/* Is a queue full? -1: Python must look. */
static NOT_INLINE int is_full_slowly(Post *post, QueueReader *reader, PyObject *queue) {
    learn_bound(post, reader, Py_TYPE(queue));
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

static int is_full(Post *post, QueueReader *reader, PyObject *queue) {
    return is_boundless(post, queue) ? 0 : is_full_slowly(post, reader, queue);
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
    PyObject *name = tasks_name(task);
    bool given = name == Py_None || (name != NULL && PyUnicode_CheckExact(name) && is_given(name));
    if (given && post->plain_names) {
        Py_DECREF(name);
        return false;
    }
    if (name == Py_None) Py_SETREF(name, PyObject_CallMethod(task, "get_name", NULL));
    bool telling = name == NULL || !PyUnicode_CheckExact(name);
    for (Py_ssize_t i = 0; !telling && i < PyTuple_GET_SIZE(post->matches); i++) {
        PyObject *found = PyObject_CallOneArg(PyTuple_GET_ITEM(post->matches, i), name);
        telling = found != Py_None;
        Py_XDECREF(found);
    }
    Py_XDECREF(name);
    return telling;
}

static PyCodeObject *coroutine_code(PyObject *coroutine) { /* a new reference */
    return PyGen_GetCode((PyGenObject *)coroutine);
}

/* An id as a number, mostly the same object as last time; a new reference, or NULL. */
static PyObject *id_number(Post *post, Id id) {
    PyObject **known = &post->ids[id & (RECENT_IDS - 1)];
    if (*known == NULL || PyLong_AsUnsignedLongLong(*known) != id) {
        PyObject *number = PyLong_FromUnsignedLongLong(id);
        if (number == NULL) return NULL;
        Py_XSETREF(*known, number);
    }
    return Py_NewRef(*known);
}

/* By what the ways of a task are known that was not met before, if it is in no group: None, or the id of the object whose
   method it runs. A new reference; NULL: Python must look at it. */
static PyObject *stranger(Tracer *tracer, Post *post, PyObject *task) {
    PyObject *coroutine = tasks_coroutine(task), *kind = NULL, *alias = NULL;
    if (coroutine != NULL && PyCoro_CheckExact(coroutine)) {
        PyCodeObject *code = coroutine_code(coroutine);
        kind = post_known(post, STRANGERS, (PyObject *)code);
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
            alias = nobodys ? Py_NewRef(Py_None) : id ? id_number(post, id) : NULL;
        }
    }
    Py_XDECREF(coroutine);
    return alias;
}

bool post_is_old(Post *post, unsigned long version) {
    return post->court != Py_None && ((Court *)post->court)->version != version;
}

/* The way of a message of this name, from a dict of dicts of ways; a new reference, or NULL. */
static Way *find_way(Post *post, QueueReader *reader, PyObject *all, PyObject *name, PyObject *party) {
    size_t home = ((uintptr_t)all >> 5 ^ (uintptr_t)name >> 4 ^ (uintptr_t)party >> 4 ^ (uintptr_t)party >> 10) & (HITS - 1);
    if (post->hits[home].ways == all && post->hits[home].name == name && post->hits[home].party == party &&
        post->hits[home].way->shared == reader->shared && !post_is_old(post, post->hits[home].way->version))
        return (Way *)Py_NewRef((PyObject *)post->hits[home].way);
    PyObject *ways = PyDict_GetItemWithError(all, name);
    if (ways == NULL || !PyDict_CheckExact(ways)) return NULL;
    PyObject *alias = party == Py_None || PyLong_CheckExact(party) ? Py_NewRef(party) : PyObject_GetAttr(party, text_alias);
    if (alias == Py_False) Py_SETREF(alias, Py_NewRef(party));
    PyObject *way = alias == NULL || alias == Py_Ellipsis ? NULL : PyDict_GetItemWithError(ways, alias);
    Py_XDECREF(alias);
    if (way == NULL || !Py_IS_TYPE(way, &WayType) || post_is_old(post, ((Way *)way)->version)) return NULL;
    ((Way *)way)->shared = reader->shared;
    Py_XSETREF(post->hits[home].ways, Py_NewRef(all));
    Py_XSETREF(post->hits[home].name, Py_NewRef(name));
    Py_XSETREF(post->hits[home].party, Py_NewRef(party));
    Py_XSETREF(post->hits[home].way, (Way *)Py_NewRef(way));
    return (Way *)Py_NewRef(way);
}

/* A new reference, or NULL. */
static Way *way_of(Tracer *tracer, Post *post, QueueReader *reader, PyObject *name, PyObject *task) {
    PyObject *sender = post_known(post, PARTIES, task);
    if (sender != NULL) return sender == reader->party && !reader->shared ? NULL : find_way(post, reader, reader->ways, name, sender);
    PyObject *alias = stranger(tracer, post, task);
    Way *way = alias == NULL ? NULL : find_way(post, reader, reader->ways, name, alias);
    Py_XDECREF(alias);
    return way;
}

static QueueReader *reader_of(Post *post, PyObject *queue) {
    PyObject *reader = post_known(post, READERS, queue);
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
        PyObject *shape = post_known(post, SHAPES, (PyObject *)Py_TYPE(item));
        if (shape == NULL || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 2) return NULL;
        name = PyTuple_GET_ITEM(shape, 0);
        *said_by = PyTuple_GET_ITEM(shape, 1);
    }
    return name != NULL && PyUnicode_CheckExact(name) ? name : NULL;
}

/* Is it certain that this is no future, to which an answer is to go? */
static bool is_no_future(Post *post, PyObject *value) {
    return !identity_needed(value) || PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value) ||
           post_known(post, CLASSES, (PyObject *)Py_TYPE(value)) == Py_True;
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

static Py_ssize_t field_place(PyObject *fields, PyObject *name) {
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
        Py_ssize_t place = field_place(fields, PyTuple_GET_ITEM(parameters, i));
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

/* The place that its events have: as function_place, which is slow. */
uint32_t post_place(Tracer *tracer, RunFrame *frame) {
    RunFrame *caller = frame_caller(frame);
    for (int i = 0; caller != NULL && i < 10; caller = frame_caller(caller), i++) {
        uint32_t place = fast_caller_place(tracer, caller);
        if (place) return place;
        const CodeInfo *info = plan_find(tracer, frame_code(caller));
        if (info != NULL && info->own) break;
    }
    return function_place(tracer, frame);
}

#define NEAR 6 /* frames, as exchange.py has it */

/* May it be that a method which puts this was told of as the same message? */
static bool may_be_told(Tracer *tracer, RunFrame *frame) {
    for (int i = 1; i < NEAR && (frame = frame_caller(frame)) != NULL; i++) {
        const CodeInfo *info = plan_find(tracer, frame_code(frame));
        if (info != NULL && info->callee != NULL && info->callee->wants & WANT_ON_CALL) return true;
    }
    return false;
}

/* Tells of a message that takes this way. `late`: it is on its way already, so nobody can have something against it. */
static int send(Tracer *tracer, Post *post, RunFrame *frame, Way *way, PyObject *item, PyObject *said_by, PyObject *task, bool late) {
    Py_ssize_t first;
    PyObject *said = values_of(post, item, said_by, way, &first);
    uint64_t objects;
    if (said == NULL) return POST_UNKNOWN;
    int answer = POST_UNKNOWN;
    bool readable = post_read(post, &said, &first, &objects, PyTuple_CheckExact(item));
    PyObject **values = ((PyTupleObject *)said)->ob_item + first;
    Py_ssize_t count = PyTuple_GET_SIZE(said) - first;
    Id id = !readable || (!late && passes_on(tracer, frame, way->target)) ? 0 : tasks_id(tracer, task);
    uint32_t place = id ? post_place(tracer, frame) : 0;
    if (place && !tracer->broken && tracer->place_list[place - 1].line >= 0) {
        int judged = post->court == Py_None ? 0 : post_judge(tracer, post, way, said, first, objects, place, id);
        if (judged < 0) answer = post_fault(tracer);
        else if (judged) answer = 1;
        else if (!late || !tracer->synchronous) answer = post_hasten(tracer, post, tell(tracer, way, values, count, objects, place, id));
    }
    Py_DECREF(said);
    return answer;
}

static Py_hash_t text_hash(PyObject *text) {
    Py_hash_t hash = ((PyASCIIObject *)text)->hash;
    return hash == -1 ? PyObject_Hash(text) : hash;
}

/* What messages of this name may be; borrowed; NULL: Python must look. That never changes. Texts that say the same are one from here
   on, however many of them a program makes. */
static PyObject *specs_of(Post *post, PyObject **name) {
    if (*name == NULL) return NULL;
    Py_hash_t hash = text_hash(*name);
    size_t home = (size_t)hash & (RECENT_NAMES - 1);
    PyObject *known = post->names[home].name;
    if (known == *name || (known != NULL && text_hash(known) == hash && PyUnicode_Compare(known, *name) == 0)) {
        *name = known;
        return post->names[home].specs;
    }
    PyObject *specs = PyDict_GetItemWithError(post->specs, *name);
    if (specs == NULL || !PyTuple_CheckExact(specs)) return NULL;
    Py_XSETREF(post->names[home].name, Py_NewRef(*name));
    Py_XSETREF(post->names[home].specs, Py_NewRef(specs));
    return specs;
}

/* A message that a view speaks of. */
static NOT_INLINE int put_known(Tracer *tracer, Post *post, RunFrame *frame, PyObject *queue, PyObject *item, PyObject *name, PyObject *said_by) {
    QueueReader *reader = reader_of(post, queue);
    int full = reader == NULL || !tracer->tasks ? -1 : is_full(post, reader, queue);
    if (full) return full < 0 ? POST_UNKNOWN : 1; /* it will not get in */
    if (post->entries && may_be_told(tracer, frame)) return POST_UNKNOWN;
    PyObject *task = tasks_current(tracer);
    Way *way = task == NULL ? NULL : way_of(tracer, post, reader, name, task);
    int answer = way == NULL ? POST_UNKNOWN : send(tracer, post, frame, way, item, said_by, task, false);
    Py_XDECREF(way);
    Py_XDECREF(task);
    return answer;
}

static int on_put(Tracer *tracer, Post *post, RunFrame *frame, PyObject *queue, PyObject *item) {
    PyObject *said_by, *name = item == NULL ? NULL : name_of(post, item, &said_by), *specs = specs_of(post, &name);
    if (specs == NULL) return POST_UNKNOWN;
    if (PyTuple_GET_SIZE(specs) == 0) return 1; /* no view speaks of it */
    Py_INCREF(name);
    int answer = put_known(tracer, post, frame, queue, item, name, said_by);
    Py_DECREF(name);
    return answer;
}

/* What is taken next, a new reference; NULL: nothing, or Python must look. */
static PyObject *next_of(QueueReader *reader, PyObject *queue) {
    PyObject *inside = reader->next == UNKNOWN_NEXT ? NULL : PyObject_GetAttr(queue, text_queue);
    PyObject *item = inside == NULL ? NULL : PySequence_GetItem(inside, reader->next == FIRST ? 0 : -1);
    Py_XDECREF(inside);
    return item;
}

/* One of several readers takes a message. It is told of when that is done; but if nobody can have something against it, it may
   as well be told now. */
static NOT_INLINE int on_shared_take(Tracer *tracer, Post *post, RunFrame *frame, QueueReader *reader, PyObject *queue) {
    PyObject *item = next_of(reader, queue), *said_by, *name = item == NULL ? NULL : name_of(post, item, &said_by);
    PyObject *specs = specs_of(post, &name), *task = NULL;
    Way *way = NULL;
    int answer = POST_UNKNOWN;
    Py_XINCREF(name);
    if (specs != NULL && PyTuple_GET_SIZE(specs) == 0) {
        answer = 1;
    } else if (specs != NULL && PySet_GET_SIZE(reader->told) == 0 && (task = tasks_current(tracer)) != NULL) {
        PyObject *party = post_known(post, PARTIES, task);
        way = party == NULL ? NULL : find_way(post, reader, reader->takes, name, party);
        if (way != NULL) answer = send(tracer, post, frame, way, item, said_by, task, true);
    }
    Py_XDECREF(way);
    Py_XDECREF(task);
    Py_XDECREF(name);
    Py_XDECREF(item);
    return answer;
}

/* Somebody takes a message, or waits for one. Is it who always does? */
static int on_take(Tracer *tracer, Post *post, RunFrame *frame, PyObject *queue, bool waits) {
    bool by_get = !waits && post_is_called_by_get(post, frame);
    if (by_get && !post->sharing) return 1;
    QueueReader *reader = reader_of(post, queue);
    if (reader == NULL) return POST_UNKNOWN;
    if (reader->shared) return waits ? 1 : on_shared_take(tracer, post, frame, reader, queue);
    if (!PyWeakref_Check(reader->task)) return POST_UNKNOWN;
    if (by_get) return 1;
    PyObject *task = tasks_current(tracer);
    bool same = task != NULL && ((PyWeakReference *)reader->task)->wr_object == task;
    Py_XDECREF(task);
    return same ? 1 : POST_UNKNOWN;
}

static int which_of(const Post *post, const PyCodeObject *code) {
    const PyObject *known = (const PyObject *)code;
    return known == post->put ? PUT : known == post->get ? GET : known == post->take ? TAKE : NONE_OF_THEM;
}

/* 1: nothing else is wanted of this function with such a queue; 0: Python must look; -1: a fault */
static int is_plain_function(Tracer *tracer, Post *post, int which, CodeInfo *info, PyTypeObject *type) {
    if (post_is_plain(post, which, type)) return 1;
    Callee *callee = plan_receiver(tracer, info, type);
    if (callee == NULL) return -1;
    if (callee->name == NULL || callee->wants & NOTHING_ELSE || callee->group != NULL) return 0;
    if (info->own) return 1; /* that it starts is of interest in itself */
    post->plain[which].type = type;
    post->plain[which].deaths = plan_deaths;
    return 1;
}

static NOT_INLINE int see(Tracer *tracer, Post *post, int which, RunFrame *frame, PyObject *queue) {
    int answer = which == PUT ? on_put(tracer, post, frame, queue, frame->localsplus[1])
                              : on_take(tracer, post, frame, queue, which == GET);
    if (answer == POST_UNKNOWN && PyErr_Occurred()) PyErr_Clear(); /* whatever it was, Python meets it again */
    return answer;
}

static int look_at(Tracer *tracer, int which, CodeInfo *info, RunFrame *frame) {
    Post *post = tracer->post;
    PyObject *queue = frame->localsplus[0];
    if (queue == NULL || info->groups || post->rests) return POST_UNKNOWN;
    int plain = is_plain_function(tracer, post, which, info, Py_TYPE(queue));
    if (plain <= 0) return plain < 0 ? post_fault(tracer) : POST_UNKNOWN;
    return see(tracer, post, which, frame, queue);
}

/* Python may want to know what was taken. Nobody was told of ends until now: hardly anybody asks. */
static int see_ends(Tracer *tracer, CodeInfo *info, PyObject *queue) {
    if (info->callee->wants & WANT_ON_RETURN) return POST_UNKNOWN;
    Callee *callee = queue == NULL ? NULL : plan_receiver(tracer, info, Py_TYPE(queue));
    if (queue == NULL) return POST_UNKNOWN;
    if (callee == NULL) return post_fault(tracer);
    if (!(callee->wants & WANT_ON_RETURN)) return POST_UNKNOWN;
    info->callee = callee;
    return delivery_plan(tracer, info) < 0 ? post_fault(tracer) : POST_UNKNOWN;
}

int post_start(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    Post *post = tracer->post;
    int which = which_of(post, info->code);
    if (which == NONE_OF_THEM) return post->calls ? crossing_start(tracer, post, info, frame) : POST_UNKNOWN;
    int answer = look_at(tracer, which, info, frame);
    return answer == POST_UNKNOWN && which == TAKE ? see_ends(tracer, info, frame->localsplus[0]) : answer;
}

/* It was seen, and Python must look. */
static NOT_INLINE int begin_slowly(Tracer *tracer, PyCodeObject *code, int which, RunFrame *frame) {
    CodeInfo *info = plan_find(tracer, code);
    if (info == NULL) return POST_OTHER;
    int answer = which == TAKE ? see_ends(tracer, info, frame->localsplus[0]) : POST_UNKNOWN;
    return answer == POST_UNKNOWN ? function_begin(tracer, info, frame) : answer;
}

int post_begin(Tracer *tracer, PyCodeObject *code, RunFrame *frame) {
    Post *post = tracer->post;
    int which = which_of(post, code);
    if (which == NONE_OF_THEM || !tracer->running || tracer->broken || post->rests || is_suspended(tracer)) return POST_OTHER;
    PyObject *queue = frame->localsplus[0];
    if (queue == NULL || !post_is_plain(post, which, Py_TYPE(queue))) return POST_OTHER;
    int answer = see(tracer, post, which, frame, queue);
    return answer == POST_UNKNOWN ? begin_slowly(tracer, code, which, frame) : answer;
}

/* The message cache: what Python has found out about queues, tasks, classes and code, so that the C core need not ask again.

   Called by: sources/actors/tasks.py makes the cache; messages.c and group_calls.c read it for each message.
   Must match: the tables are those of sources/actors/weak_table.py, from the ids of objects to (weak reference, value).
   Compared by: tests/sources/actors/test_message_cache.py, which runs each program with the cache and without. */
#include "messages/message_cache.h"

#include <structmember.h>

static PyObject *message_cache_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"specs", "tables", "keys", "matches", "plain_names", NULL};
    PyObject *specs, *tables, *keys, *matches;
    int plain_names;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!p:MessageCache", names, &PyDict_Type, &specs, &PyTuple_Type, &tables,
                                     &PyTuple_Type, &keys, &PyTuple_Type, &matches, &plain_names))
        return NULL;
    bool fits = PyTuple_GET_SIZE(tables) == TABLES;
    for (int i = 0; fits && i < TABLES; i++) fits = PyDict_CheckExact(PyTuple_GET_ITEM(tables, i));
    if (!fits) return PyErr_Format(PyExc_TypeError, "the tables are a tuple of %d dicts", TABLES);
    MessageCache *self = (MessageCache *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    for (int i = 0; i < TABLES; i++) self->refs.tables[i] = Py_NewRef(PyTuple_GET_ITEM(tables, i));
    self->refs.specs = Py_NewRef(specs);
    self->refs.keys = Py_NewRef(keys);
    self->refs.matches = Py_NewRef(matches);
    self->plain_names = plain_names;
    self->put = Py_NewRef(Py_None);
    self->get = Py_NewRef(Py_None);
    self->take = Py_NewRef(Py_None);
    self->inline_check = Py_NewRef(Py_None);
    self->patience = 1;
    return (PyObject *)self;
}

#define REFS (sizeof(((MessageCache *)NULL)->refs) / sizeof(PyObject *))

static int message_cache_traverse(MessageCache *self, visitproc visit, void *arg) {
    PyObject **refs = (PyObject **)&self->refs;
    for (size_t i = 0; i < REFS; i++) Py_VISIT(refs[i]);
    return 0;
}

static int message_cache_clear(MessageCache *self) {
    PyObject **refs = (PyObject **)&self->refs;
    for (size_t i = 0; i < REFS; i++) Py_CLEAR(refs[i]);
    group_calls_clear(self);
    return 0;
}

static void message_cache_dealloc(MessageCache *self) {
    PyObject_GC_UnTrack(self);
    message_cache_clear(self);
    Py_XDECREF(self->put);
    Py_XDECREF(self->get);
    Py_XDECREF(self->take);
    Py_XDECREF(self->inline_check);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef cache_members[] = {
    {"put", T_OBJECT_EX, offsetof(MessageCache, put), 0, "The code of `Queue.put_nowait`, or None."},
    {"get", T_OBJECT_EX, offsetof(MessageCache, get), 0, "The code of `Queue.get`, or None."},
    {"take", T_OBJECT_EX, offsetof(MessageCache, take), 0, "The code of `Queue.get_nowait`, or None."},
    {"disabled", T_BOOL, offsetof(MessageCache, disabled), 0, "Ask Python always (for tests that compare)."},
    {"has_entries", T_BOOL, offsetof(MessageCache, has_entries), 0, "Are there entry points?"},
    {"has_group_calls", T_BOOL, offsetof(MessageCache, has_group_calls), 0, "May calls of entry points be handled here?"},
    {"has_shared_queues", T_BOOL, offsetof(MessageCache, has_shared_queues), 0, "Do several tasks read from one queue?"},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *get_inline_check(MessageCache *self, void *Py_UNUSED(unused)) { return Py_NewRef(self->inline_check); }

static int set_inline_check(MessageCache *self, PyObject *inline_check, void *Py_UNUSED(unused)) {
    if (inline_check == NULL || (inline_check != Py_None && !Py_IS_TYPE(inline_check, &InlineCheckType))) {
        PyErr_SetString(PyExc_TypeError, "an InlineCheck, or None");
        return -1;
    }
    Py_SETREF(self->inline_check, Py_NewRef(inline_check));
    return 0;
}

static PyGetSetDef cache_getset[] = {
    {"inline_check", (getter)get_inline_check, (setter)set_inline_check, "Checks messages without events, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject MessageCacheType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.MessageCache",
    .tp_basicsize = sizeof(MessageCache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "MessageCache(specs, tables, keys, matches, plain_names)\n--\n\nWhat Python has found out about messages.",
    .tp_new = message_cache_new,
    .tp_dealloc = (destructor)message_cache_dealloc,
    .tp_traverse = (traverseproc)message_cache_traverse,
    .tp_clear = (inquiry)message_cache_clear,
    .tp_members = cache_members,
    .tp_getset = cache_getset,
};

/* An entry does not change as long as its object lives. */
PyObject *cache_lookup(MessageCache *cache, int table, PyObject *key) {
    size_t home = identity_slot(key, RECENT - 1);
    PyObject *weak = cache->refs.recent[table][home].weak;
    if (weak != NULL && ((PyWeakReference *)weak)->wr_object == key) return cache->refs.recent[table][home].value;
    PyObject *number = PyLong_FromVoidPtr(key), *entry = number ? PyDict_GetItemWithError(cache->refs.tables[table], number) : NULL;
    Py_XDECREF(number);
    if (entry == NULL || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 2 || !is_entry_of(entry, key)) return NULL;
    PyObject *value = PyTuple_GET_ITEM(entry, 1);
    Py_XSETREF(cache->refs.recent[table][home].weak, Py_NewRef(PyTuple_GET_ITEM(entry, 0)));
    Py_XSETREF(cache->refs.recent[table][home].value, Py_NewRef(value));
    return value;
}

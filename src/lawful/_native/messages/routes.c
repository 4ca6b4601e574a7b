/* Two types that Python fills in: who reads from a queue, and the route of a message from one sender to one reader.

   Called by: sources/actors/tasks.py makes them; messages.c and group_calls.c use them.
   Must match: QueueReader has the attributes of `_Reader` in sources/actors/tasks.py.
   Compared by: tests/sources/actors/test_message_cache.py. */
#include "messages/messages.h"
#include "messages/routes.h"

#include <structmember.h>

/* ---- readers of queues -------------------------------------------------------------------------------------------------- */

static PyObject *reader_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(keywords)) {
    QueueReader *self = (QueueReader *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->task = Py_NewRef(Py_None);
    self->party = Py_NewRef(Py_None);
    self->early_senders = PyDict_New();
    self->specs_by_name = PyDict_New();
    self->reported = PySet_New(NULL);
    self->routes = PyDict_New();
    self->shared_routes = PyDict_New();
    if (!self->early_senders || !self->specs_by_name || !self->reported || !self->routes || !self->shared_routes) Py_CLEAR(self);
    return (PyObject *)self;
}

static int reader_traverse(QueueReader *self, visitproc visit, void *arg) {
    for (int i = 0; i < READER_REFS; i++) Py_VISIT((&self->task)[i]);
    return 0;
}

static int reader_clear(QueueReader *self) {
    for (int i = 0; i < READER_REFS; i++) Py_CLEAR((&self->task)[i]);
    return 0;
}

static void reader_dealloc(QueueReader *self) {
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef reader_members[] = {
    {"task", T_OBJECT_EX, offsetof(QueueReader, task), 0, "A weak reference to the last reader, or None."},
    {"party", T_OBJECT_EX, offsetof(QueueReader, party), 0, "The group of the reader; None: nobody has read yet."},
    {"shared", T_BOOL, offsetof(QueueReader, shared), 0, "Do several tasks read?"},
    {"standard", T_BOOL, offsetof(QueueReader, standard), 0, "Is it a queue of asyncio's own classes?"},
    {"next", T_BYTE, offsetof(QueueReader, next), 0, "Which message is taken next: 1, the first; 2, the last; 0: unknown."},
    {"early_senders", T_OBJECT_EX, offsetof(QueueReader, early_senders), READONLY, "The senders of messages that wait for a first reader."},
    {"specs_by_name", T_OBJECT_EX, offsetof(QueueReader, specs_by_name), READONLY, "What messages of a name may be."},
    {"reported", T_OBJECT_EX, offsetof(QueueReader, reported), READONLY, "Messages that were in the queue when a second reader came."},
    {"routes", T_OBJECT_EX, offsetof(QueueReader, routes), READONLY, "Routes, by names of messages and senders."},
    {"shared_routes", T_OBJECT_EX, offsetof(QueueReader, shared_routes), READONLY, "Routes for several readers, by names of messages and readers."},
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

/* ---- routes ------------------------------------------------------------------------------------------------------------- */

static PyObject *route_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"headers", "target", "parameters", "steps", "version", NULL};
    PyObject *headers, *target, *parameters, *steps = Py_None;
    unsigned long version = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!OO!|Ok:Route", names, &PyTuple_Type, &headers, &target, &PyTuple_Type,
                                     &parameters, &steps, &version))
        return NULL;
    bool fits = PyTuple_GET_SIZE(headers) <= MAX_EVENTS;
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(headers); i++) fits = PyDict_CheckExact(PyTuple_GET_ITEM(headers, i));
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "a message is at most %d events, which are dicts", MAX_EVENTS);
        return NULL;
    }
    Route *self = (Route *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->headers = Py_NewRef(headers);
    self->parameters = Py_NewRef(parameters);
    self->target = target == Py_None ? NULL : target;
    self->version = version;
    if ((self->step_count = inline_steps_new(steps, headers, &self->steps)) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static void route_dealloc(Route *self) {
    if (self->steps != NULL) inline_steps_free(self->steps, self->step_count);
    Py_XDECREF(self->headers);
    Py_XDECREF(self->parameters);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject RouteType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Route",
    .tp_basicsize = sizeof(Route),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Route(headers, target, parameters, steps=None, version=0)\n--\n\nThe headers of a message's events from one sender to one reader, and the steps of laws.",
    .tp_new = route_new,
    .tp_dealloc = (destructor)route_dealloc,
};


/* Gives a batch of events to the laws that they concern, and keeps the last events of each object (dispatch.c). */
#ifndef LAWFUL_DISPATCH_H
#define LAWFUL_DISPATCH_H

PyObject *dispatch_batch(PyObject *module, PyObject *args);
PyObject *keep_recent(PyObject *module, PyObject *args);
extern PyTypeObject LawQueueType;

#define DISPATCH_METHODS                                                                                               \
    {"dispatch", dispatch_batch, METH_VARARGS,                                                                         \
     "dispatch(batch, first, routes, kept, admit, ways, seen)\n--\n\nGive events to the laws; the highest thread."},    \
    {"keep_recent", keep_recent, METH_VARARGS,                                                                         \
     "keep_recent(entries, start, objects, plain, most, keeps_gone, room)\n--\n\nPut entries with those of their objects; where that ends."},

#endif

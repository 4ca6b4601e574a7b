/* The way of a batch of events to the laws that they concern (dispatch.c). */
#ifndef LAWFUL_BATCH_H
#define LAWFUL_BATCH_H

PyObject *deal_batch(PyObject *module, PyObject *args);
PyObject *recollect_entries(PyObject *module, PyObject *args);

#define BATCH_METHODS                                                                                                  \
    {"deal", deal_batch, METH_VARARGS,                                                                                 \
     "deal(batch, first, routes, kept, admit, ways, heard)\n--\n\nGive events to the laws; the highest thread."},      \
    {"recollect", recollect_entries, METH_VARARGS,                                                                     \
     "recollect(entries, start, objects, plain, most, keeps_gone, room)\n--\n\nPut entries with those of their objects; where that ends."},

#endif

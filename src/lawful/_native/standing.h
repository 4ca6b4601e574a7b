/* Whether names still stand for what they stood for (standing.c). */
#ifndef LAWFUL_STANDING_H
#define LAWFUL_STANDING_H

PyObject *standing_changed(PyObject *module, PyObject *args);

#define STANDING_METHODS                                                                                               \
    {"changed", standing_changed, METH_VARARGS,                                                                        \
     "changed(checks, missing)\n--\n\nThose of (holder, key, found, ...) where something else than `found` lies now."},

#endif

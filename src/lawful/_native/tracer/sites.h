/* The walk over the instructions of a code object (sites.c). */
#ifndef LAWFUL_SITES_H
#define LAWFUL_SITES_H

PyObject *walk_code(PyObject *module, PyObject *args);

#define SITES_METHODS                                                                                                  \
    {"walk_code", walk_code, METH_VARARGS,                                                                             \
     "walk_code(code, bytecode, wanted, tables, making, marks)\n--\n\nThe probes at wanted instructions, and where ways meet."},

#endif

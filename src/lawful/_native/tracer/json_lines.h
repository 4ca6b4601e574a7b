/* Events as lines of JSON. See json_lines.c. */
#ifndef LAWFUL_LINES_H
#define LAWFUL_LINES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *lines_of(PyObject *module, PyObject *args);

#define LINES_METHODS                                                                                                  \
    {"lines", lines_of, METH_VARARGS, "lines(events, ask)\n--\n\nEvents as lines; `ask` makes those that are unusual."},

#endif

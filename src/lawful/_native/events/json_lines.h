/* Lazy events as lines of JSON (json_lines.c). */
#ifndef LAWFUL_JSON_LINES_H
#define LAWFUL_JSON_LINES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *json_lines(PyObject *module, PyObject *args);

#define JSON_LINES_METHODS                                                                                                  \
    {"json_lines", json_lines, METH_VARARGS, "json_lines(events, ask)\n--\n\nEvents as lines; `ask` makes those that are unusual."},

#endif

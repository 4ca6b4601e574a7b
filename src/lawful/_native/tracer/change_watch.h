/* `ChangeWatch` (name_resolution.c), which does not depend on the tracer: every version of CPython has it. */
#ifndef LAWFUL_CHANGE_WATCH_H
#define LAWFUL_CHANGE_WATCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#if PY_VERSION_HEX < 0x030C0000
static inline PyObject *PyType_GetDict(PyTypeObject *type) { return Py_XNewRef(type->tp_dict); }
#endif

extern PyTypeObject ChangeWatchType;

#endif

/* Receivers, arguments and results in records, as words (record.h): numbers stand for themselves, objects for their ids, and
   strings are held by a reference. Nothing else is held, so the program's objects die when they would without us. */
#ifndef LAWFUL_RECORD_VALUES_H
#define LAWFUL_RECORD_VALUES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

#include "events/record.h"

/* What an event has of them is added to it. One of both may be NULL. */
int values_fill(PyObject *event, const uint64_t *values, const uint64_t *result);
/* The same as a dict of its own. NULL: there is nothing, or an exception. */
PyObject *values_payload(const uint64_t *values, const uint64_t *result);

static inline PyObject *value_held(uint64_t word) { return (PyObject *)(uintptr_t)(word & ~VALUE_MASK); }

static inline bool value_is_id(uint64_t word) { return (word & VALUE_MASK) == VALUE_ID; }

/* What follows after so many values. */
static inline const uint64_t *values_after(const uint64_t *values, size_t count) {
    while (count--) values += value_size(*values);
    return values;
}

static inline bool values_have_ids(const uint64_t *values, size_t count) {
    for (; count--; values += value_size(*values))
        if (value_is_id(*values)) return true;
    return false;
}

/* References that words are. */
static inline void values_hold(const uint64_t *values) {
    if (!(values[0] & SHAPE_HOLDS)) return;
    for (size_t i = 1; i <= shape_size(values[0]); i += value_size(values[i]))
        if ((values[i] & VALUE_MASK) == VALUE_HELD) Py_INCREF(value_held(values[i]));
}

static inline void values_release(const uint64_t *values) {
    if (!(values[0] & SHAPE_HOLDS)) return;
    for (size_t i = 1; i <= shape_size(values[0]); i += value_size(values[i]))
        if ((values[i] & VALUE_MASK) == VALUE_HELD) Py_DECREF(value_held(values[i]));
}

#endif

/* Adds the values of a record to an event. lazy_event.c and tracer/pending.c call it. The fields must be those of
   tracer/encode.c; tests/sources/python/test_fast_paths.py compares both. */
#include "events/record_values.h"

#include "events/fields.h"

/* A new reference. */
static PyObject *object_of(const uint64_t *word) {
    switch (*word & VALUE_MASK) {
    case VALUE_ID:
        return PyLong_FromUnsignedLongLong(*word >> VALUE_BITS);
    case VALUE_INT:
        return PyLong_FromLongLong((int64_t)*word >> VALUE_BITS);
    case VALUE_FLOAT: {
        double number;
        memcpy(&number, &word[1], sizeof number);
        return PyFloat_FromDouble(number);
    }
    default:
        return Py_NewRef(value_held(*word));
    }
}

/* Of the arguments by position the values, or the ids: None in place of the other. */
static PyObject *listed(const uint64_t *values, size_t count, bool ids) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++, values += value_size(*values)) {
        PyObject *value = value_is_id(*values) == ids ? object_of(values) : Py_NewRef(Py_None);
        if (value == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, value);
    }
    return list;
}

/* The same of those by keyword. */
static PyObject *named(const uint64_t *values, PyObject *names, size_t count, bool ids) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < count; i++, values += value_size(*values)) {
        PyObject *value = value_is_id(*values) == ids ? object_of(values) : Py_NewRef(Py_None);
        if (set_taken(dict, PyTuple_GET_ITEM(names, (Py_ssize_t)i), value) < 0) Py_CLEAR(dict);
    }
    return dict;
}

int values_fill(PyObject *event, const uint64_t *values, const uint64_t *result) {
    uint64_t shape = values ? *values++ : 0;
    if (shape & SHAPE_TARGET) {
        if (set_taken(event, text_target, object_of(values)) < 0) return -1;
        values = values_after(values, 1);
    }
    size_t count = shape >> SHAPE_ARGS_BIT & SHAPE_MASK, by_name = shape >> SHAPE_KEYWORDS_BIT & SHAPE_MASK;
    if (count--) {
        if (set_taken(event, text_args, listed(values, count, false)) < 0) return -1;
        if (values_have_ids(values, count) && set_taken(event, text_argIds, listed(values, count, true)) < 0) return -1;
        values = values_after(values, count);
    }
    if (by_name) {
        PyObject *names = value_held(*values++);
        if (set_taken(event, text_kwargs, named(values, names, by_name, false)) < 0) return -1;
        if (values_have_ids(values, by_name) && set_taken(event, text_kwargIds, named(values, names, by_name, true)) < 0) return -1;
        values = values_after(values, by_name);
    }
    if (shape & SHAPE_RESULT) result = values;
    return result == NULL ? 0 : set_taken(event, value_is_id(*result) ? text_resultId : text_res, object_of(result));
}

PyObject *values_payload(const uint64_t *values, const uint64_t *result) {
    if (result == NULL && (values == NULL || values[0] == 0)) return NULL;
    PyObject *payload = PyDict_New();
    if (payload != NULL && values_fill(payload, values, result) < 0) Py_CLEAR(payload);
    return payload;
}

/* Values of the program as parts of events: primitive values stand for themselves, all others for their ids. The general path
   calls it. It must match lawful/sources/python/encode.py and fast_path.c; tests/sources/python/test_tracer_encode.py runs on
   both cores, and test_fast_paths.py compares both paths. */
#include "tracer/tracer.h"

#include <math.h>

/* A primitive value as JSON can say it; a new reference. */
PyObject *encode_primitive(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyUnicode_Type) {
        if (PyUnicode_GET_LENGTH(value) > LONGEST_TEXT) return PyUnicode_Substring(value, 0, LONGEST_TEXT);
    } else if (type == &PyFloat_Type) {
        if (!isfinite(PyFloat_AS_DOUBLE(value))) Py_RETURN_NONE;
    } else if (type == &PyLong_Type) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (number == -1 && PyErr_Occurred()) return NULL;
        if (overflow) {
            /* Python refuses to write very large ones, for the time it takes. */
            PyObject *text = PyObject_Str(value);
            if (text != NULL) return text;
            PyErr_Clear();
            Py_RETURN_NONE;
        }
    }
    return Py_NewRef(value);
}

/* The value and the id of an object: one of the two is None. */
static int encoded(Tracer *tracer, PyObject *object, PyObject **value, PyObject **id) {
    if (identity_needed(object)) {
        Id number = identity_of(tracer, object);
        if (number == 0) return -1;
        *value = Py_NewRef(Py_None);
        *id = PyLong_FromUnsignedLongLong(number);
    } else {
        *value = encode_primitive(object);
        *id = Py_NewRef(Py_None);
    }
    if (*value != NULL && *id != NULL) return 0;
    Py_CLEAR(*value);
    Py_CLEAR(*id);
    return -1;
}

static int set_pair(PyObject *payload, PyObject *key, PyObject *values, PyObject *id_key, PyObject *ids, bool objects) {
    int failed = PyDict_SetItem(payload, key, values);
    if (!failed && objects) failed = PyDict_SetItem(payload, id_key, ids);
    return failed;
}

static int positional(Tracer *tracer, PyObject *payload, PyObject *const *args, Py_ssize_t count) {
    PyObject *values = PyList_New(count), *ids = PyList_New(count);
    int failed = values == NULL || ids == NULL ? -1 : 0;
    bool objects = false;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        PyObject *value, *id;
        /* An argument can be missing: a local variable that was deleted. */
        if ((failed = encoded(tracer, args[i] ? args[i] : Py_None, &value, &id))) break;
        objects |= id != Py_None;
        PyList_SET_ITEM(values, i, value);
        PyList_SET_ITEM(ids, i, id);
    }
    if (!failed) failed = set_pair(payload, text_args, values, text_argIds, ids, objects);
    Py_XDECREF(values);
    Py_XDECREF(ids);
    return failed;
}

static int named(Tracer *tracer, PyObject *values, PyObject *ids, PyObject *name, PyObject *object, bool *objects) {
    PyObject *value, *id;
    if (encoded(tracer, object, &value, &id) < 0) return -1;
    *objects |= id != Py_None;
    int failed = PyDict_SetItem(values, name, value) < 0 || PyDict_SetItem(ids, name, id) < 0;
    Py_DECREF(value);
    Py_DECREF(id);
    return -failed;
}

/* The dicts of keyword arguments: those that are there already, or new ones. */
static int keyword_dicts(PyObject *payload, PyObject **values, PyObject **ids) {
    *values = Py_XNewRef(PyDict_GetItemWithError(payload, text_kwargs));
    *ids = Py_XNewRef(PyDict_GetItemWithError(payload, text_kwargIds));
    if (PyErr_Occurred()) return -1;
    if (*values == NULL) *values = PyDict_New();
    if (*ids == NULL && *values != NULL) {
        *ids = PyDict_New();
        PyObject *name;
        for (Py_ssize_t at = 0; *ids != NULL && PyDict_Next(*values, &at, &name, NULL);)
            if (PyDict_SetItem(*ids, name, Py_None) < 0) return -1;
    }
    return *values == NULL || *ids == NULL ? -1 : 0;
}

int encode_arguments(Tracer *tracer, PyObject *payload, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    Py_ssize_t by_name = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    if (by_name > count) by_name = count;
    if (positional(tracer, payload, args, count - by_name) < 0) return -1;
    if (by_name == 0) return 0;
    PyObject *values, *ids;
    bool objects = false;
    int failed = keyword_dicts(payload, &values, &ids);
    for (Py_ssize_t i = 0; !failed && i < by_name; i++) {
        PyObject *object = args[count - by_name + i];
        failed = named(tracer, values, ids, PyTuple_GET_ITEM(keywords, i), object ? object : Py_None, &objects);
    }
    if (!failed) failed = set_pair(payload, text_kwargs, values, text_kwargIds, ids, objects);
    Py_XDECREF(values);
    Py_XDECREF(ids);
    return failed;
}

int encode_mapping(Tracer *tracer, PyObject *payload, PyObject *keywords) {
    if (PyDict_GET_SIZE(keywords) == 0) return 0;
    PyObject *values, *ids, *name, *object;
    bool objects = false;
    int failed = keyword_dicts(payload, &values, &ids);
    for (Py_ssize_t at = 0; !failed && PyDict_Next(keywords, &at, &name, &object);)
        if (PyUnicode_CheckExact(name)) failed = named(tracer, values, ids, name, object, &objects);
    if (!failed) failed = set_pair(payload, text_kwargs, values, text_kwargIds, ids, objects || PyDict_GetItem(payload, text_kwargIds));
    Py_XDECREF(values);
    Py_XDECREF(ids);
    return failed;
}

int encode_value(Tracer *tracer, PyObject *payload, PyObject *object, PyObject *key, PyObject *id_key) {
    PyObject *value, *id;
    if (encoded(tracer, object, &value, &id) < 0) return -1;
    int failed = id == Py_None ? PyDict_SetItem(payload, key, value) : PyDict_SetItem(payload, id_key, id);
    Py_DECREF(value);
    Py_DECREF(id);
    return failed;
}

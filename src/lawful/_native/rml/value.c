/* Values of events: strict equality, sub-object matching, hashing.

   Called by rml/ and grammar/. Matches lawful/laws/rml/values.py (`identical`, `matches`).
   tests/laws/rml/test_engine.py and tests/laws/grammar/test_oracle.py compare the two. */
#include "rml/rml.h"

PyObject *lawful_undefined = NULL;

PyObject *value_module(void) {
    PyObject *name = PyUnicode_FromString("lawful.laws.rml.values");
    if (name == NULL) return NULL;
    PyObject *module = PyImport_GetModule(name);
    if (module == NULL && !PyErr_Occurred()) module = PyImport_Import(name);
    Py_DECREF(name);
    return module;
}

int value_setup(void) {
    if (lawful_undefined != NULL) return 0;
    PyObject *module = value_module();
    if (module == NULL) return -1;
    lawful_undefined = PyObject_GetAttrString(module, "UNDEFINED");
    Py_DECREF(module);
    return lawful_undefined == NULL ? -1 : 0;
}

Val val_borrowed(PyObject *object) {
    if (PyLong_CheckExact(object)) {
        int overflow;
        long long i = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (!overflow && fits(i)) return val_of_int(i);
    }
    return (Val)object;
}

PyObject *val_object(Val v) {
    if (is_int(v)) return PyLong_FromLongLong(int_of(v));
    return Py_NewRef(obj_of(v));
}

#define DEEPEST 20000 /* no event that was read from a trace nests so deeply */

static int compare(PyObject *a, PyObject *b, bool sub, int depth);

static int compare_dicts(PyObject *a, PyObject *b, bool sub, int depth) {
    if (!sub && PyDict_GET_SIZE(a) != PyDict_GET_SIZE(b)) return 0;
    PyObject *key, *part;
    Py_ssize_t position = 0;
    while (PyDict_Next(a, &position, &key, &part)) {
        PyObject *other = PyDict_GetItemWithError(b, key);
        if (other == NULL) return PyErr_Occurred() ? -1 : 0;
        int same = compare(part, other, sub, depth + 1);
        if (same != 1) return same;
    }
    return 1;
}

static int compare_lists(PyObject *a, PyObject *b, bool sub, int depth) {
    if (PyList_GET_SIZE(a) != PyList_GET_SIZE(b)) return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(a) && i < PyList_GET_SIZE(b); i++) {
        int same = compare(PyList_GET_ITEM(a, i), PyList_GET_ITEM(b, i), sub, depth + 1);
        if (same != 1) return same;
    }
    return 1;
}

static int compare(PyObject *a, PyObject *b, bool sub, int depth) {
    if (Py_TYPE(a) != Py_TYPE(b) || a == lawful_undefined) return 0;
    if (a == b) return 1;
    if (PyUnicode_CheckExact(a)) { /* most values are; equal strings have the same kind */
        Py_ssize_t length = PyUnicode_GET_LENGTH(a);
        return length == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
               memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), (size_t)length * PyUnicode_KIND(a)) == 0;
    }
    if (!PyDict_Check(a) && !PyList_Check(a)) return PyObject_RichCompareBool(a, b, Py_EQ);
    if (depth > DEEPEST) return 0;
    return PyDict_Check(a) ? compare_dicts(a, b, sub, depth) : compare_lists(a, b, sub, depth);
}

int val_matches(Val pattern, Val value) {
    if (is_int(pattern) || is_int(value)) return pattern == value;
    return compare(obj_of(pattern), obj_of(value), true, 0);
}

int val_identical(Val a, Val b) {
    if (is_int(a) || is_int(b)) return a == b;
    return compare(obj_of(a), obj_of(b), false, 0);
}

bool val_keyable(Val v) {
    if (is_int(v)) return true;
    PyObject *object = obj_of(v);
    return PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyBool_Check(object) || object == Py_None;
}

uint32_t val_hash(Val v) {
    uint64_t bits;
    if (is_int(v)) {
        bits = v;
    } else {
        bits = (uint64_t)PyObject_Hash(obj_of(v)) ^ ((uint64_t)(uintptr_t)Py_TYPE(obj_of(v)) >> 4);
    }
    bits *= UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(bits >> 32);
}

/* Whether names still stand for what they stood for: asked before all that is decided about code, callees and objects. */
#include "core.h"

#include "standing.h"

/* What lies there now, borrowed; NULL: nothing, or an exception. */
static PyObject *lies_in(PyObject *holder, PyObject *key) {
    if (!PyType_Check(holder)) return PyDict_Check(holder) ? PyDict_GetItemWithError(holder, key) : NULL;
    PyTypeObject *type = (PyTypeObject *)holder;
    if (key == Py_None) return type->tp_mro;
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type);
    PyObject *found = dict == NULL ? NULL : PyDict_GetItemWithError(dict, key);
    Py_XDECREF(dict); /* the type has it, too */
    return found;
#else
    return type->tp_dict == NULL ? NULL : PyDict_GetItemWithError(type->tp_dict, key);
#endif
}

PyObject *standing_changed(PyObject *module, PyObject *args) {
    PyObject *checks, *missing;
    if (!PyArg_ParseTuple(args, "O!O:changed", &PyList_Type, &checks, &missing)) return NULL;
    PyObject *changed = PyList_New(0);
    for (Py_ssize_t at = 0; changed != NULL && at < PyList_GET_SIZE(checks); at++) {
        PyObject *check = PyList_GET_ITEM(checks, at);
        if (!PyTuple_Check(check) || PyTuple_GET_SIZE(check) < 3) {
            PyErr_SetString(PyExc_TypeError, "a check has a holder, a key, and what was found");
            Py_CLEAR(changed);
            break;
        }
        PyObject *found = lies_in(PyTuple_GET_ITEM(check, 0), PyTuple_GET_ITEM(check, 1));
        if (found == NULL && PyErr_Occurred()) Py_CLEAR(changed);
        else if ((found == NULL ? missing : found) != PyTuple_GET_ITEM(check, 2) && PyList_Append(changed, check) < 0) Py_CLEAR(changed);
    }
    return changed;
}

/* The module lawful._native._core. */
#include "core.h"

static PyObject *abi(PyObject *module, PyObject *unused) { return PyLong_FromLong(ABI); }

static PyMethodDef methods[] = {
    {"abi", abi, METH_NOARGS, "abi()\n--\n\nThe version of what Python and C expect of each other."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_core", .m_doc = "The compiled core of Lawful.", .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC PyInit__core(void) {
    if (PyType_Ready(&ProgramType) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || PyModule_AddType(module, &MachineType) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}

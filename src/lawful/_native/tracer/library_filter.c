/* Dismisses code of libraries in which nothing can be seen, without asking Python. Most code that starts for the first time
   is such code, in a program that imports more than it runs: its file and a few names are enough to tell. watch_planner.py
   makes the filter and decides about all other code; plan.c uses it. tests/sources/python/test_library_filter.py compares it
   with `plan`. */
#include "tracer/tracer.h"

#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *files;  /* a dict: True: a library's; None: Lawful's own, about which nothing is noted; else Python is asked */
    PyObject *names;  /* a set: functions with such names may report themselves */
    PyObject *loads;  /* a set: code that uses one of these names may be of interest for what it calls */
    PyObject *prefixes;   /* a tuple: modules that Python is asked about, by how their names begin */
    PyObject *codes;  /* a set: ids of code that laws name, whatever it calls itself; valid until the change watch reports a change */
    PyObject *change_watch;  /* or NULL */
    uintptr_t serial; /* what is noted of code that was dismissed */
} LibraryFilter;

static Py_ssize_t mark_index = -1;
static uintptr_t serials;
static int alive;

/* ---- one code object --------------------------------------------------------------------------------------------------------- */

static uintptr_t mark_of(PyCodeObject *code) {
    void *extra = NULL;
    if (PyUnstable_Code_GetExtra((PyObject *)code, mark_index, &extra) < 0) PyErr_Clear();
    return (uintptr_t)extra;
}

/* Can no law have a name for it that ends in something else than its own name? */
static bool plainly_named(PyCodeObject *code) {
    PyObject *name = code->co_name, *qualname = code->co_qualname;
    Py_ssize_t size = PyUnicode_GET_LENGTH(name), whole = PyUnicode_GET_LENGTH(qualname);
    if (PyUnicode_FindChar(name, '.', 0, size, 1) >= 0) return false;
    if (name == qualname) return true;
    if (size >= whole) return false;
    return PyUnicode_READ_CHAR(qualname, whole - size - 1) == '.' && PyUnicode_Tailmatch(qualname, name, 0, whole, 1) == 1;
}

/* 1: one of the names is in the set; -1: an exception. */
static int uses(PyObject *names, PyObject *set) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        int found = PySet_Contains(set, PyTuple_GET_ITEM(names, i));
        if (found) return found;
    }
    return 0;
}

static int is_named(const LibraryFilter *library_filter, PyCodeObject *code) {
    if (!(code->co_flags & CO_OPTIMIZED)) return 0; /* the body of a module or a class */
    int found = plainly_named(code) ? PySet_Contains(library_filter->names, code->co_name) : 1;
    if (found) return found;
    PyObject *address = PyLong_FromVoidPtr(code);
    found = address == NULL ? -1 : PySet_Contains(library_filter->codes, address);
    Py_XDECREF(address);
    return found;
}

static bool is_special(const LibraryFilter *library_filter, PyObject *module) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(library_filter->prefixes); i++)
        if (PyUnicode_Tailmatch(module, PyTuple_GET_ITEM(library_filter->prefixes, i), 0, PY_SSIZE_T_MAX, -1) != 0) return true;
    return false;
}

bool library_filter_dismisses(PyObject *object, PyCodeObject *code, PyObject *module) {
    const LibraryFilter *library_filter = (LibraryFilter *)object;
    PyObject *library = PyDict_GetItemWithError(library_filter->files, code->co_filename);
    if (library == Py_None) return true;
    if (library != Py_True || library_filter->change_watch == NULL || !change_watch_unchanged(library_filter->change_watch) || is_special(library_filter, module) ||
        is_named(library_filter, code) || uses(code->co_names, library_filter->loads)) {
        PyErr_Clear(); /* Python says what is wrong */
        return false;
    }
    uintptr_t mark = mark_of(code);
    if (mark == library_filter->serial) return true;
    if (mark && alive > 1) return false; /* another one's note is there, which may still be asked for */
    if (PyUnstable_Code_SetExtra((PyObject *)code, mark_index, (void *)library_filter->serial) == 0) return true;
    PyErr_Clear();
    return false;
}

static PyObject *library_filter_dismissed(LibraryFilter *library_filter, PyObject *code) {
    return PyBool_FromLong(PyCode_Check(code) && mark_of((PyCodeObject *)code) == library_filter->serial);
}

static PyObject *library_filter_set_named(LibraryFilter *library_filter, PyObject *args) {
    PyObject *codes, *change_watch;
    if (!PyArg_ParseTuple(args, "O!O!:set_named", &PySet_Type, &codes, &ChangeWatchType, &change_watch)) return NULL;
    Py_XSETREF(library_filter->codes, Py_NewRef(codes));
    Py_XSETREF(library_filter->change_watch, Py_NewRef(change_watch));
    Py_RETURN_NONE;
}

/* ---- the object ---------------------------------------------------------------------------------------------------------------- */

static PyObject *library_filter_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named)) {
    PyObject *names, *loads, *prefixes;
    if (!PyArg_ParseTuple(args, "O!O!O!:LibraryFilter", &PyFrozenSet_Type, &names, &PyFrozenSet_Type, &loads, &PyTuple_Type, &prefixes)) return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(prefixes); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(prefixes, i))) return PyErr_Format(PyExc_TypeError, "the name of a module is a text");
    if (mark_index < 0 && (mark_index = PyUnstable_Eval_RequestCodeExtraIndex(NULL)) < 0) return PyErr_Format(PyExc_RuntimeError, "no room for notes on code objects");
    LibraryFilter *library_filter = (LibraryFilter *)type->tp_alloc(type, 0);
    if (library_filter == NULL) return NULL;
    alive++;
    library_filter->serial = ++serials;
    library_filter->names = Py_NewRef(names);
    library_filter->loads = Py_NewRef(loads);
    library_filter->prefixes = Py_NewRef(prefixes);
    library_filter->files = PyDict_New();
    library_filter->codes = PySet_New(NULL);
    if (library_filter->files == NULL || library_filter->codes == NULL) Py_CLEAR(library_filter);
    return (PyObject *)library_filter;
}

static int library_filter_traverse(LibraryFilter *library_filter, visitproc visit, void *arg) {
    Py_VISIT(library_filter->change_watch);
    return 0;
}

static int library_filter_clear(LibraryFilter *library_filter) {
    Py_CLEAR(library_filter->change_watch);
    return 0;
}

static void library_filter_dealloc(LibraryFilter *library_filter) {
    PyObject_GC_UnTrack(library_filter);
    alive--;
    Py_XDECREF(library_filter->files);
    Py_XDECREF(library_filter->names);
    Py_XDECREF(library_filter->loads);
    Py_XDECREF(library_filter->prefixes);
    Py_XDECREF(library_filter->codes);
    Py_XDECREF(library_filter->change_watch);
    Py_TYPE(library_filter)->tp_free((PyObject *)library_filter);
}

static PyMethodDef library_filter_methods[] = {
    {"dismissed", (PyCFunction)library_filter_dismissed, METH_O, "dismissed(code)\n--\n\nWas this code dismissed?"},
    {"set_named", (PyCFunction)library_filter_set_named, METH_VARARGS, "set_named(codes, change_watch)\n--\n\nThe ids of code that laws name, valid until the change watch sees a change."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef library_filter_members[] = {
    {"files", T_OBJECT_EX, offsetof(LibraryFilter, files), READONLY, "Whose code a file has: True: a library's; None: ours; False: the program's."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject LibraryFilterType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.LibraryFilter",
    .tp_doc = "LibraryFilter(names, loads, prefixes)\n--\n\nDismisses code of libraries, except that which has or uses some names.",
    .tp_basicsize = sizeof(LibraryFilter),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = library_filter_new,
    .tp_dealloc = (destructor)library_filter_dealloc,
    .tp_traverse = (traverseproc)library_filter_traverse,
    .tp_clear = (inquiry)library_filter_clear,
    .tp_methods = library_filter_methods,
    .tp_members = library_filter_members,
};

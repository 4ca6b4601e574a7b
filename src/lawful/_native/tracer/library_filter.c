/* Code of libraries in which nothing can be seen. Most of what starts for the first time is such code, in a program that imports
   more than it runs: it is told by its file and a few names. `LawWatchPlanner` of watch_planner.py says which, and is asked about all else. */
#include "tracer/library_filter.h"

#include "tracer/code_extra.h"
#include "tracer/name_resolution.h"

#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *files;  /* a dict: True: a library's; None: Lawful's own, about which nothing is noted; else Python is asked */
    PyObject *names;  /* a set: functions with such names may report themselves */
    PyObject *loads;  /* a set: code that uses one of these names may be of interest for what it calls */
    PyObject *ways;   /* a tuple: modules that Python is asked about, by how their names begin */
    PyObject *codes;  /* a set: ids of code that laws name, whatever it calls itself; true as long as the vigil says so */
    PyObject *vigil;  /* or NULL */
    uintptr_t serial; /* what is noted of code that was dismissed */
} Sieve;

static Py_ssize_t mark_index = -1;
static uintptr_t serials;
static int alive;

/* ---- one code object --------------------------------------------------------------------------------------------------------- */

static uintptr_t mark_of(PyCodeObject *code) {
    void *extra = NULL;
    if (get_extra((PyObject *)code, mark_index, &extra) < 0) PyErr_Clear();
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

static int is_named(const Sieve *sieve, PyCodeObject *code) {
    if (!(code->co_flags & CO_OPTIMIZED)) return 0; /* the body of a module or a class */
    int found = plainly_named(code) ? PySet_Contains(sieve->names, code->co_name) : 1;
    if (found) return found;
    PyObject *address = PyLong_FromVoidPtr(code);
    found = address == NULL ? -1 : PySet_Contains(sieve->codes, address);
    Py_XDECREF(address);
    return found;
}

static bool is_special(const Sieve *sieve, PyObject *module) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sieve->ways); i++)
        if (PyUnicode_Tailmatch(module, PyTuple_GET_ITEM(sieve->ways, i), 0, PY_SSIZE_T_MAX, -1) != 0) return true;
    return false;
}

bool sieve_dismisses(PyObject *object, PyCodeObject *code, PyObject *module) {
    const Sieve *sieve = (Sieve *)object;
    PyObject *library = PyDict_GetItemWithError(sieve->files, code->co_filename);
    if (library == Py_None) return true;
    if (library != Py_True || sieve->vigil == NULL || !vigil_same(sieve->vigil) || is_special(sieve, module) ||
        is_named(sieve, code) || uses(code->co_names, sieve->loads)) {
        PyErr_Clear(); /* Python says what is wrong */
        return false;
    }
    uintptr_t mark = mark_of(code);
    if (mark == sieve->serial) return true;
    if (mark && alive > 1) return false; /* another one's note is there, which may still be asked for */
    if (set_extra((PyObject *)code, mark_index, (void *)sieve->serial) == 0) return true;
    PyErr_Clear();
    return false;
}

static PyObject *sieve_has(Sieve *sieve, PyObject *code) {
    return PyBool_FromLong(PyCode_Check(code) && mark_of((PyCodeObject *)code) == sieve->serial);
}

static PyObject *sieve_settle(Sieve *sieve, PyObject *args) {
    PyObject *codes, *vigil;
    if (!PyArg_ParseTuple(args, "O!O!:settle", &PySet_Type, &codes, &VigilType, &vigil)) return NULL;
    Py_XSETREF(sieve->codes, Py_NewRef(codes));
    Py_XSETREF(sieve->vigil, Py_NewRef(vigil));
    Py_RETURN_NONE;
}

/* ---- the object ---------------------------------------------------------------------------------------------------------------- */

static PyObject *sieve_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    PyObject *names, *loads, *ways;
    if (!PyArg_ParseTuple(args, "O!O!O!:Sieve", &PyFrozenSet_Type, &names, &PyFrozenSet_Type, &loads, &PyTuple_Type, &ways)) return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ways); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(ways, i))) return PyErr_Format(PyExc_TypeError, "the name of a module is a text");
    if (mark_index < 0 && (mark_index = request_extra(NULL)) < 0) return PyErr_Format(PyExc_RuntimeError, "no room for notes on code objects");
    Sieve *sieve = (Sieve *)type->tp_alloc(type, 0);
    if (sieve == NULL) return NULL;
    alive++;
    sieve->serial = ++serials;
    sieve->names = Py_NewRef(names);
    sieve->loads = Py_NewRef(loads);
    sieve->ways = Py_NewRef(ways);
    sieve->files = PyDict_New();
    sieve->codes = PySet_New(NULL);
    if (sieve->files == NULL || sieve->codes == NULL) Py_CLEAR(sieve);
    return (PyObject *)sieve;
}

static int sieve_traverse(Sieve *sieve, visitproc visit, void *arg) {
    Py_VISIT(sieve->vigil);
    return 0;
}

static int sieve_clear(Sieve *sieve) {
    Py_CLEAR(sieve->vigil);
    return 0;
}

static void sieve_dealloc(Sieve *sieve) {
    PyObject_GC_UnTrack(sieve);
    alive--;
    Py_XDECREF(sieve->files);
    Py_XDECREF(sieve->names);
    Py_XDECREF(sieve->loads);
    Py_XDECREF(sieve->ways);
    Py_XDECREF(sieve->codes);
    Py_XDECREF(sieve->vigil);
    Py_TYPE(sieve)->tp_free((PyObject *)sieve);
}

static PyMethodDef sieve_methods[] = {
    {"has", (PyCFunction)sieve_has, METH_O, "has(code)\n--\n\nWas this code dismissed?"},
    {"settle", (PyCFunction)sieve_settle, METH_VARARGS, "settle(codes, vigil)\n--\n\nThese are the ids of code that laws name, until the vigil says no."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef sieve_members[] = {
    {"files", T_OBJECT_EX, offsetof(Sieve, files), READONLY, "Whose code a file has: True: a library's; None: ours; False: the program's."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject SieveType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Sieve",
    .tp_doc = "Sieve(names, loads, ways)\n--\n\nDismisses code of libraries, except that which has or uses some names.",
    .tp_basicsize = sizeof(Sieve),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = sieve_new,
    .tp_dealloc = (destructor)sieve_dealloc,
    .tp_traverse = (traverseproc)sieve_traverse,
    .tp_clear = (inquiry)sieve_clear,
    .tp_methods = sieve_methods,
    .tp_members = sieve_members,
};

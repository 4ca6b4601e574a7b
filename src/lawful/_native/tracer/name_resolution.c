/* Whether names still stand for what they stood for: asked before all that is decided about code, callees and objects, and
   nearly always nothing has changed. So what tells that is asked first: the version of each class, and of each dictionary;
   from 3.13 on these have none, and the interpreter is asked to tell when one of them changes. */
#include "rml/rml.h"

#include "tracer/name_resolution.h"

typedef struct {
    PyTypeObject *type;   /* borrowed: a check has it */
    unsigned int version; /* 0: it has none, and must be looked at each time */
} TypeSeen;

typedef struct {
    PyObject *dict; /* borrowed: a check has it */
    uint64_t version;
} DictSeen;

typedef struct {
    PyObject_HEAD
    PyObject *checks;  /* a list of (holder, key, found, ...) */
    PyObject *missing; /* is found where nothing lies */
    TypeSeen *types;
    DictSeen *dicts;
    Py_ssize_t type_count, dict_count;
    uint64_t epoch;    /* how often dictionaries had changed when they were last looked at */
    bool versions;     /* can it be told that nothing has changed, without looking at each? */
    bool seen;         /* were the versions taken? */
} Vigil;

/* ---- dictionaries ------------------------------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030D0000

static int watcher = -1;
static uint64_t changes;         /* of keys that somebody looks after, in any of the dictionaries */
static PyObject *watched_keys;   /* a set */
static PyObject *watched_counts; /* by the address of a dictionary: how many look after it */

/* The program changes one. It may be in the middle of handling an exception, which stays as it is. */
static int on_change(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *value) {
    if (event == PyDict_EVENT_DEALLOCATED) return 0;
    bool plain = event != PyDict_EVENT_CLONED && key != NULL && PyUnicode_CheckExact(key);
    if (!plain || PySet_Contains(watched_keys, key)) changes++;
    return 0;
}

/* May dictionaries be watched? The interpreter allows a few watchers only. */
static bool have_watcher(void) {
    if (watched_keys == NULL) watched_keys = PySet_New(NULL);
    if (watched_counts == NULL) watched_counts = PyDict_New();
    if (watched_keys != NULL && watched_counts != NULL && watcher < 0) watcher = PyDict_AddWatcher(on_change);
    if (watcher >= 0) return true;
    PyErr_Clear();
    return false;
}

/* One more looks after this dictionary, or one less. */
static int watch(PyObject *dict, long more) {
    PyObject *address = PyLong_FromVoidPtr(dict);
    PyObject *known = address == NULL ? NULL : PyDict_GetItemWithError(watched_counts, address);
    long count = (known == NULL ? 0 : PyLong_AsLong(known)) + more;
    PyObject *now = PyErr_Occurred() ? NULL : PyLong_FromLong(count);
    int failed = now == NULL || PyDict_SetItem(watched_counts, address, now) < 0;
    if (!failed && count == 0) failed = PyDict_DelItem(watched_counts, address) < 0 || PyDict_Unwatch(watcher, dict) < 0;
    if (!failed && count == 1 && more > 0) failed = PyDict_Watch(watcher, dict) < 0;
    Py_XDECREF(now);
    Py_XDECREF(address);
    return failed ? -1 : 0;
}

static int dict_begin(DictSeen *seen, PyObject *key) {
    if (PySet_Add(watched_keys, key) < 0) return -1;
    if (seen->version == 0 && watch(seen->dict, 1) < 0) return -1;
    seen->version = 1; /* it is watched */
    return 0;
}

static void dict_end(DictSeen *seen) {
    PyObject *error = PyErr_GetRaisedException();
    if (seen->version && watch(seen->dict, -1) < 0) PyErr_Clear();
    PyErr_SetRaisedException(error);
}

static bool dicts_same(const Vigil *vigil) { return vigil->epoch == changes; }
static void dicts_seen(Vigil *vigil) { vigil->epoch = changes; }

#else

#  pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* from 3.12 on it is said to go, and then it does */

static bool have_watcher(void) { return true; }
static int dict_begin(DictSeen *seen, PyObject *key) { return 0; }
static void dict_end(DictSeen *seen) {}
static uint64_t version_of(PyObject *dict) { return ((PyDictObject *)dict)->ma_version_tag; }

static bool dicts_same(const Vigil *vigil) {
    for (Py_ssize_t i = 0; i < vigil->dict_count; i++)
        if (version_of(vigil->dicts[i].dict) != vigil->dicts[i].version) return false;
    return true;
}

static void dicts_seen(Vigil *vigil) {
    for (Py_ssize_t i = 0; i < vigil->dict_count; i++) vigil->dicts[i].version = version_of(vigil->dicts[i].dict);
}

#endif

/* ---- classes ------------------------------------------------------------------------------------------------------------- */

static unsigned int type_version(PyTypeObject *type) {
#if PY_VERSION_HEX < 0x030D0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
    return type->tp_version_tag;
}

static bool types_same(const Vigil *vigil) {
    for (Py_ssize_t i = 0; i < vigil->type_count; i++)
        if (!vigil->types[i].version || type_version(vigil->types[i].type) != vigil->types[i].version) return false;
    return true;
}

static void types_seen(Vigil *vigil, PyObject *name) {
    for (Py_ssize_t i = 0; i < vigil->type_count; i++) {
        TypeSeen *seen = vigil->types + i;
        if (!type_version(seen->type)) _PyType_Lookup(seen->type, name); /* gives it one, unless it has had very many */
        seen->version = type_version(seen->type);
    }
}

/* ---- looking ------------------------------------------------------------------------------------------------------------- */

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

static PyObject *look_at_each(const Vigil *vigil) {
    PyObject *changed = PyList_New(0);
    for (Py_ssize_t at = 0; changed != NULL && at < PyList_GET_SIZE(vigil->checks); at++) {
        PyObject *check = PyList_GET_ITEM(vigil->checks, at);
        PyObject *found = lies_in(PyTuple_GET_ITEM(check, 0), PyTuple_GET_ITEM(check, 1));
        if (found == NULL && PyErr_Occurred()) Py_CLEAR(changed);
        else if ((found == NULL ? vigil->missing : found) != PyTuple_GET_ITEM(check, 2) && PyList_Append(changed, check) < 0)
            Py_CLEAR(changed);
    }
    return changed;
}

bool vigil_same(PyObject *object) {
    const Vigil *vigil = (Vigil *)object;
    return vigil->seen && dicts_same(vigil) && types_same(vigil);
}

static PyObject *vigil_changed(Vigil *vigil, PyObject *unused) {
    if (vigil_same((PyObject *)vigil)) return PyList_New(0);
    if (vigil->versions && vigil->checks != NULL) {
        PyObject *name = PyUnicode_InternFromString("__init__"); /* any name does */
        if (name == NULL) return NULL;
        types_seen(vigil, name);
        dicts_seen(vigil);
        vigil->seen = true;
        Py_DECREF(name);
    }
    return look_at_each(vigil);
}

/* ---- the object ---------------------------------------------------------------------------------------------------------- */

static int note_holder(Vigil *vigil, PyObject *check, PyObject *numbers) {
    PyObject *holder = PyTuple_GET_ITEM(check, 0), *address = PyLong_FromVoidPtr(holder);
    PyObject *known = address == NULL ? NULL : PyDict_GetItemWithError(numbers, address);
    Py_ssize_t at = known == NULL ? -1 : PyLong_AsSsize_t(known);
    bool of_class = PyType_Check(holder);
    int failed = PyErr_Occurred() != NULL;
    if (!failed && at < 0) {
        at = of_class ? vigil->type_count : vigil->dict_count;
        PyObject *number = PyLong_FromSsize_t(at);
        failed = number == NULL || PyDict_SetItem(numbers, address, number) < 0;
        Py_XDECREF(number);
        if (!failed && of_class) vigil->types[vigil->type_count++] = (TypeSeen){(PyTypeObject *)holder, 0};
        if (!failed && !of_class) vigil->dicts[vigil->dict_count++] = (DictSeen){holder, 0};
    }
    Py_XDECREF(address);
    if (failed) return -1;
    return of_class || !vigil->versions ? 0 : dict_begin(vigil->dicts + at, PyTuple_GET_ITEM(check, 1));
}

static int vigil_fill(Vigil *vigil) {
    Py_ssize_t count = PyList_GET_SIZE(vigil->checks);
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *check = PyList_GET_ITEM(vigil->checks, at);
        if (!PyTuple_Check(check) || PyTuple_GET_SIZE(check) < 3) {
            PyErr_SetString(PyExc_TypeError, "a check has a holder, a key, and what was found");
            return -1;
        }
    }
    vigil->types = PyMem_Calloc(count + 1, sizeof(TypeSeen));
    vigil->dicts = PyMem_Calloc(count + 1, sizeof(DictSeen));
    PyObject *numbers = PyDict_New();
    int failed = vigil->types == NULL || vigil->dicts == NULL || numbers == NULL;
    if (failed) PyErr_NoMemory();
    vigil->versions = have_watcher();
    for (Py_ssize_t at = 0; !failed && at < count; at++) failed = note_holder(vigil, PyList_GET_ITEM(vigil->checks, at), numbers) < 0;
    Py_XDECREF(numbers);
    return failed ? -1 : 0;
}

static int vigil_clear(Vigil *vigil) {
    vigil->seen = false;
    for (Py_ssize_t i = 0; i < vigil->dict_count; i++) dict_end(vigil->dicts + i);
    vigil->type_count = vigil->dict_count = 0;
    PyMem_Free(vigil->types);
    PyMem_Free(vigil->dicts);
    vigil->types = NULL;
    vigil->dicts = NULL;
    Py_CLEAR(vigil->checks);
    Py_CLEAR(vigil->missing);
    return 0;
}

static PyObject *vigil_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    PyObject *checks, *missing;
    if (!PyArg_ParseTuple(args, "OO:Vigil", &checks, &missing)) return NULL;
    Vigil *vigil = (Vigil *)type->tp_alloc(type, 0);
    if (vigil == NULL) return NULL;
    vigil->missing = Py_NewRef(missing);
    vigil->checks = PySequence_List(checks);
    if (vigil->checks == NULL || vigil_fill(vigil) < 0) Py_CLEAR(vigil);
    return (PyObject *)vigil;
}

static int vigil_traverse(Vigil *vigil, visitproc visit, void *arg) {
    Py_VISIT(vigil->checks);
    Py_VISIT(vigil->missing);
    return 0;
}

static void vigil_dealloc(Vigil *vigil) {
    PyObject_GC_UnTrack(vigil);
    vigil_clear(vigil);
    Py_TYPE(vigil)->tp_free((PyObject *)vigil);
}

static PyMethodDef vigil_methods[] = {
    {"changed", (PyCFunction)vigil_changed, METH_NOARGS, "changed()\n--\n\nThe checks where something else lies now."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject VigilType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Vigil",
    .tp_doc = "Vigil(checks, missing)\n--\n\nLooks after checks (holder, key, found, ...): does `found` still lie there?",
    .tp_basicsize = sizeof(Vigil),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = vigil_new,
    .tp_dealloc = (destructor)vigil_dealloc,
    .tp_traverse = (traverseproc)vigil_traverse,
    .tp_clear = (inquiry)vigil_clear,
    .tp_methods = vigil_methods,
};

/* `ChangeWatch`: whether names still stand for what they stood for. It is asked before each decision about code, callees and
   objects, and nearly always nothing has changed. So versions are compared first: each class has one, and each dictionary up
   to 3.12. From 3.13 on the interpreter reports changes of dictionaries. lawful/sources/python/name_resolution.py uses it and
   has its twin `_ChangeWatch`; tests/sources/python/test_name_resolution.py runs on both. */
#include "tracer/change_watch.h"

typedef struct {
    PyTypeObject *type;   /* borrowed: a check has it */
    unsigned int version; /* 0: it has none, and must be looked at each time */
} TypeVersion;

typedef struct {
    PyObject *dict; /* borrowed: a check has it */
    uint64_t version;
} DictVersion;

typedef struct {
    PyObject_HEAD
    PyObject *checks;  /* a list of (holder, key, found, ...) */
    PyObject *missing; /* is found where nothing lies */
    TypeVersion *types;
    DictVersion *dicts;
    Py_ssize_t type_count, dict_count;
    uint64_t epoch;    /* how often dictionaries had changed when they were last looked at */
    bool versions;     /* can versions show that nothing has changed? */
    bool seen;         /* were the versions taken? */
} ChangeWatch;

/* ---- dictionaries ------------------------------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030D0000

static int watcher = -1;
static uint64_t changes;         /* of keys that somebody looks after, in any of the dictionaries */
static PyObject *watched_keys;   /* a set */
static PyObject *watched_counts; /* by the address of a dictionary: how many look after it */

/* The program changes one. It may be in the middle of handling an exception, which stays as it is. */
static int on_change(PyDict_WatchEvent event, PyObject *Py_UNUSED(dict), PyObject *key, PyObject *Py_UNUSED(value)) {
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

static int dict_begin(DictVersion *seen, PyObject *key) {
    if (PySet_Add(watched_keys, key) < 0) return -1;
    if (seen->version == 0 && watch(seen->dict, 1) < 0) return -1;
    seen->version = 1; /* it is watched */
    return 0;
}

static void dict_end(DictVersion *seen) {
    PyObject *error = PyErr_GetRaisedException();
    if (seen->version && watch(seen->dict, -1) < 0) PyErr_Clear();
    PyErr_SetRaisedException(error);
}

static bool dicts_same(const ChangeWatch *change_watch) { return change_watch->epoch == changes; }
static void dicts_seen(ChangeWatch *change_watch) { change_watch->epoch = changes; }

#else

#  pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* from 3.12 on it is said to go, and then it does */

static bool have_watcher(void) { return true; }
static int dict_begin(DictVersion *Py_UNUSED(seen), PyObject *Py_UNUSED(key)) { return 0; }
static void dict_end(DictVersion *Py_UNUSED(seen)) {}
static uint64_t version_of(PyObject *dict) { return ((PyDictObject *)dict)->ma_version_tag; }

static bool dicts_same(const ChangeWatch *change_watch) {
    for (Py_ssize_t i = 0; i < change_watch->dict_count; i++)
        if (version_of(change_watch->dicts[i].dict) != change_watch->dicts[i].version) return false;
    return true;
}

static void dicts_seen(ChangeWatch *change_watch) {
    for (Py_ssize_t i = 0; i < change_watch->dict_count; i++) change_watch->dicts[i].version = version_of(change_watch->dicts[i].dict);
}

#endif

/* ---- classes ------------------------------------------------------------------------------------------------------------- */

static unsigned int type_version(PyTypeObject *type) {
#if PY_VERSION_HEX < 0x030D0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
    return type->tp_version_tag;
}

static bool types_same(const ChangeWatch *change_watch) {
    for (Py_ssize_t i = 0; i < change_watch->type_count; i++)
        if (!change_watch->types[i].version || type_version(change_watch->types[i].type) != change_watch->types[i].version) return false;
    return true;
}

static void types_seen(ChangeWatch *change_watch, PyObject *name) {
    for (Py_ssize_t i = 0; i < change_watch->type_count; i++) {
        TypeVersion *seen = change_watch->types + i;
        if (!type_version(seen->type)) _PyType_Lookup(seen->type, name); /* gives it one, unless it has had very many */
        seen->version = type_version(seen->type);
    }
}

/* ---- looking ------------------------------------------------------------------------------------------------------------- */

/* What lies there now, borrowed; NULL: nothing, or an exception. */
static PyObject *current_value(PyObject *holder, PyObject *key) {
    if (!PyType_Check(holder)) return PyDict_Check(holder) ? PyDict_GetItemWithError(holder, key) : NULL;
    PyTypeObject *type = (PyTypeObject *)holder;
    if (key == Py_None) return type->tp_mro;
    PyObject *dict = PyType_GetDict(type);
    PyObject *found = dict == NULL ? NULL : PyDict_GetItemWithError(dict, key);
    Py_XDECREF(dict); /* the type has it, too */
    return found;
}

static PyObject *changed_checks(const ChangeWatch *change_watch) {
    PyObject *changed = PyList_New(0);
    for (Py_ssize_t at = 0; changed != NULL && at < PyList_GET_SIZE(change_watch->checks); at++) {
        PyObject *check = PyList_GET_ITEM(change_watch->checks, at);
        PyObject *found = current_value(PyTuple_GET_ITEM(check, 0), PyTuple_GET_ITEM(check, 1));
        if (found == NULL && PyErr_Occurred()) Py_CLEAR(changed);
        else if ((found == NULL ? change_watch->missing : found) != PyTuple_GET_ITEM(check, 2) && PyList_Append(changed, check) < 0)
            Py_CLEAR(changed);
    }
    return changed;
}

static PyObject *change_watch_changed(ChangeWatch *change_watch, PyObject *Py_UNUSED(unused)) {
    if (change_watch->seen && dicts_same(change_watch) && types_same(change_watch)) return PyList_New(0);
    if (change_watch->versions && change_watch->checks != NULL) {
        PyObject *name = PyUnicode_InternFromString("__init__"); /* any name does */
        if (name == NULL) return NULL;
        types_seen(change_watch, name);
        dicts_seen(change_watch);
        change_watch->seen = true;
        Py_DECREF(name);
    }
    return changed_checks(change_watch);
}

/* ---- the object ---------------------------------------------------------------------------------------------------------- */

static int note_holder(ChangeWatch *change_watch, PyObject *check, PyObject *numbers) {
    PyObject *holder = PyTuple_GET_ITEM(check, 0), *address = PyLong_FromVoidPtr(holder);
    PyObject *known = address == NULL ? NULL : PyDict_GetItemWithError(numbers, address);
    Py_ssize_t at = known == NULL ? -1 : PyLong_AsSsize_t(known);
    bool of_class = PyType_Check(holder);
    int failed = PyErr_Occurred() != NULL;
    if (!failed && at < 0) {
        at = of_class ? change_watch->type_count : change_watch->dict_count;
        PyObject *number = PyLong_FromSsize_t(at);
        failed = number == NULL || PyDict_SetItem(numbers, address, number) < 0;
        Py_XDECREF(number);
        if (!failed && of_class) change_watch->types[change_watch->type_count++] = (TypeVersion){(PyTypeObject *)holder, 0};
        if (!failed && !of_class) change_watch->dicts[change_watch->dict_count++] = (DictVersion){holder, 0};
    }
    Py_XDECREF(address);
    if (failed) return -1;
    return of_class || !change_watch->versions ? 0 : dict_begin(change_watch->dicts + at, PyTuple_GET_ITEM(check, 1));
}

static int change_watch_fill(ChangeWatch *change_watch) {
    Py_ssize_t count = PyList_GET_SIZE(change_watch->checks);
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *check = PyList_GET_ITEM(change_watch->checks, at);
        if (!PyTuple_Check(check) || PyTuple_GET_SIZE(check) < 3) {
            PyErr_SetString(PyExc_TypeError, "a check has a holder, a key, and what was found");
            return -1;
        }
    }
    change_watch->types = PyMem_Calloc(count + 1, sizeof(TypeVersion));
    change_watch->dicts = PyMem_Calloc(count + 1, sizeof(DictVersion));
    PyObject *numbers = PyDict_New();
    int failed = change_watch->types == NULL || change_watch->dicts == NULL || numbers == NULL;
    if (failed) PyErr_NoMemory();
    change_watch->versions = have_watcher();
    for (Py_ssize_t at = 0; !failed && at < count; at++) failed = note_holder(change_watch, PyList_GET_ITEM(change_watch->checks, at), numbers) < 0;
    Py_XDECREF(numbers);
    return failed ? -1 : 0;
}

static int change_watch_clear(ChangeWatch *change_watch) {
    change_watch->seen = false;
    for (Py_ssize_t i = 0; i < change_watch->dict_count; i++) dict_end(change_watch->dicts + i);
    change_watch->type_count = change_watch->dict_count = 0;
    PyMem_Free(change_watch->types);
    PyMem_Free(change_watch->dicts);
    change_watch->types = NULL;
    change_watch->dicts = NULL;
    Py_CLEAR(change_watch->checks);
    Py_CLEAR(change_watch->missing);
    return 0;
}

static PyObject *change_watch_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named)) {
    PyObject *checks, *missing;
    if (!PyArg_ParseTuple(args, "OO:ChangeWatch", &checks, &missing)) return NULL;
    ChangeWatch *change_watch = (ChangeWatch *)type->tp_alloc(type, 0);
    if (change_watch == NULL) return NULL;
    change_watch->missing = Py_NewRef(missing);
    change_watch->checks = PySequence_List(checks);
    if (change_watch->checks == NULL || change_watch_fill(change_watch) < 0) Py_CLEAR(change_watch);
    return (PyObject *)change_watch;
}

static int change_watch_traverse(ChangeWatch *change_watch, visitproc visit, void *arg) {
    Py_VISIT(change_watch->checks);
    Py_VISIT(change_watch->missing);
    return 0;
}

static void change_watch_dealloc(ChangeWatch *change_watch) {
    PyObject_GC_UnTrack(change_watch);
    change_watch_clear(change_watch);
    Py_TYPE(change_watch)->tp_free((PyObject *)change_watch);
}

static PyMethodDef change_watch_methods[] = {
    {"changed", (PyCFunction)change_watch_changed, METH_NOARGS, "changed()\n--\n\nThe checks where something else lies now."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject ChangeWatchType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.ChangeWatch",
    .tp_doc = "ChangeWatch(checks, missing)\n--\n\nLooks after checks (holder, key, found, ...): does `found` still lie there?",
    .tp_basicsize = sizeof(ChangeWatch),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = change_watch_new,
    .tp_dealloc = (destructor)change_watch_dealloc,
    .tp_traverse = (traverseproc)change_watch_traverse,
    .tp_clear = (inquiry)change_watch_clear,
    .tp_methods = change_watch_methods,
};

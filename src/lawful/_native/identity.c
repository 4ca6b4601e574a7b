/* Ids that are never used twice in a process, for objects of every type.

   An address says nothing once its object has died, so every death must be noticed, and the program must see nothing of it.
   Classes made in Python get a finaliser (the slot, not `__del__`; a weak reference would show in `__weakref__`). Types made
   in C that allow weak references have one with a callback, the others a deallocator of ours in front of their own. A
   class's deallocator must not be replaced: the interpreter's own finds the C base it belongs to by comparing
   deallocators. Finalisers and deallocators are put back when nobody watches any more. */
#include "tracer.h"

#ifndef LAWFUL_NO_TRACER

/* ---- tables by address ---------------------------------------------------------------------------------------------- */

typedef struct {
    void *key;          /* NULL: free */
    Id id;              /* of an object; 0: only its death is of interest */
    void *value;        /* objects: the weak reference, or NULL; references: the object; classes: their own finaliser */
    PyObject *name;     /* objects: the class name, if deaths are told */
} Entry;

typedef struct {
    Entry *entries;
    size_t mask, used;
} Table;

static inline size_t home(const Table *table, const void *key) {
    return ((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20 & table->mask;
}

static Entry *table_find(Table *table, const void *key) {
    if (table->entries == NULL) return NULL;
    for (size_t i = home(table, key);; i = (i + 1) & table->mask) {
        if (table->entries[i].key == key) return &table->entries[i];
        if (table->entries[i].key == NULL) return NULL;
    }
}

static Entry *place(Table *table, void *key) {
    size_t i = home(table, key);
    while (table->entries[i].key != NULL) i = (i + 1) & table->mask;
    table->entries[i].key = key;
    return &table->entries[i];
}

static int table_resize(Table *table, size_t room) {
    Entry *old = table->entries;
    size_t size = old ? table->mask + 1 : 0;
    Entry *entries = calloc(room, sizeof(Entry));
    if (entries == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    table->entries = entries;
    table->mask = room - 1;
    for (size_t i = 0; i < size; i++)
        if (old[i].key != NULL) *place(table, old[i].key) = old[i];
    free(old);
    return 0;
}

/* The key must be new. */
static Entry *table_add(Table *table, void *key) {
    size_t size = table->entries ? table->mask + 1 : 0;
    if (2 * (table->used + 1) > size && table_resize(table, size ? 2 * size : 256) < 0) return NULL;
    table->used++;
    return place(table, key);
}

static void table_remove(Table *table, Entry *entry) {
    size_t gap = entry - table->entries;
    for (size_t i = (gap + 1) & table->mask; table->entries[i].key != NULL; i = (i + 1) & table->mask) {
        size_t wanted = home(table, table->entries[i].key);
        if (((i - wanted) & table->mask) < ((i - gap) & table->mask)) continue;
        table->entries[gap] = table->entries[i];
        gap = i;
    }
    memset(&table->entries[gap], 0, sizeof(Entry));
    table->used--;
    size_t size = table->mask + 1;
    if (size > 1024 && table->used < size / 8) {
        /* Memory is bounded by what is alive. Failing to shrink is no failure, and this may run inside a deallocator. */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (table_resize(table, size / 4) < 0) PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
}

static Table objects, references, classes;
static Id last;
static Tracer *watchers[MOST_TRACERS];
static int watching;
static PyInterpreterState *interpreter;
static PyObject *on_death;            /* the callback of all weak references */
static destructor class_dealloc;      /* of classes made in Python */

/* ---- death ------------------------------------------------------------------------------------------------------------ */

static void forget(PyObject *object) {
    Entry *entry = table_find(&objects, object);
    if (entry == NULL || PyInterpreterState_Get() != interpreter) return;
    Id id = entry->id;
    PyObject *name = entry->name, *reference = entry->value;
    table_remove(&objects, entry);
    if (reference != NULL && (entry = table_find(&references, reference)) != NULL) table_remove(&references, entry);
    if (classes.used && (entry = table_find(&classes, object)) != NULL) table_remove(&classes, entry);
    if (name != NULL && id)
        for (int i = 0; i < MOST_TRACERS; i++)
            if (watchers[i] != NULL && watchers[i]->gone) record_gone(watchers[i], id, name);
    Py_XDECREF(name);
    Py_XDECREF(reference);
}

static PyObject *referent_died(PyObject *self, PyObject *reference) {
    Entry *entry = table_find(&references, reference);
    if (entry != NULL) forget(entry->value);
    Py_RETURN_NONE;
}

static PyMethodDef death_method = {"object_died", referent_died, METH_O, NULL};

static void finaliser(PyObject *self) {
    /* A subclass made later inherits this slot, and a class of its own is not known here: its base is. */
    Entry *entry = NULL;
    for (PyTypeObject *type = Py_TYPE(self); type != NULL && entry == NULL; type = type->tp_base)
        if (type->tp_finalize == finaliser) entry = table_find(&classes, type);
    destructor original = entry ? (destructor)entry->value : NULL;
    if (original != NULL) original(self); /* what its `__del__` does is still done by this object */
    forget(self);
}

/* ---- deallocators of C types -------------------------------------------------------------------------------------------- */

#define HOOKS 100
typedef struct {
    PyTypeObject *type; /* a strong reference */
    destructor original;
    bool nests;         /* its own deallocator avoids deep recursion, as long as it is the type's: we must do it then */
} Hook;

static Hook hooks[HOOKS];
static int hook_count;
static destructor hook_functions[HOOKS];

static void hooked(PyObject *self, int number) {
    Hook *hook = &hooks[number];
    if (!hook->nests || Py_TYPE(self) != hook->type) {
        forget(self);
        hook->original(self);
        return;
    }
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, hook_functions[number])
    forget(self);
    hook->original(self);
    Py_TRASHCAN_END
}

#define HOOK(n) static void hook_##n(PyObject *self) { hooked(self, n); }
#define NAME(n) hook_##n,
#define TEN(of, d) of(d##0) of(d##1) of(d##2) of(d##3) of(d##4) of(d##5) of(d##6) of(d##7) of(d##8) of(d##9)
#define HUNDRED(of) \
    TEN(of, ) TEN(of, 1) TEN(of, 2) TEN(of, 3) TEN(of, 4) TEN(of, 5) TEN(of, 6) TEN(of, 7) TEN(of, 8) TEN(of, 9)
HUNDRED(HOOK)
static destructor hook_functions[HOOKS] = {HUNDRED(NAME)};

static bool is_hooked(PyTypeObject *type) {
    for (int i = 0; i < hook_count; i++)
        if (hooks[i].type == type) return true;
    return false;
}

static Entry *note(Tracer *tracer, PyObject *object);

/* Sees to it that deaths of objects of this type, which has no weak references, are noticed. 1: done; 0: it cannot be. */
static int watch_type(Tracer *tracer, PyTypeObject *type) {
    if (type->tp_dealloc == class_dealloc) {
        if (table_find(&classes, type) != NULL && type->tp_finalize == finaliser) return 1;
        if (note(tracer, (PyObject *)type) == NULL) return -1; /* its own death counts too */
        Entry *entry = table_find(&classes, type);
        if (entry == NULL && (entry = table_add(&classes, type)) == NULL) return -1;
        if (type->tp_finalize != finaliser) entry->value = (void *)type->tp_finalize;
        else {
            Entry *base = NULL;
            for (PyTypeObject *each = type->tp_base; each != NULL && base == NULL; each = each->tp_base)
                base = table_find(&classes, each);
            entry->value = base ? base->value : NULL;
        }
        type->tp_finalize = finaliser;
        return 1;
    }
    if (is_hooked(type)) return 1;
    if (hook_count == HOOKS) return 0;
    Hook *hook = &hooks[hook_count];
    hook->type = (PyTypeObject *)Py_NewRef(type);
    hook->original = type->tp_dealloc;
    hook->nests = type == &PyList_Type || type == &PyTuple_Type || type == &PyDict_Type ||
                  type->tp_dealloc == ((PyTypeObject *)PyExc_BaseException)->tp_dealloc;
    type->tp_dealloc = hook_functions[hook_count++];
    return 1;
}

static void unwatch_types(void) {
    for (int i = 0; i < hook_count; i++) {
        if (hooks[i].type->tp_dealloc == hook_functions[i]) hooks[i].type->tp_dealloc = hooks[i].original;
        /* The hook may still be on the C stack of an outer deallocation: `original` stays. */
        Py_CLEAR(hooks[i].type);
    }
    hook_count = 0;
    for (size_t i = 0; classes.entries && i <= classes.mask; i++) {
        PyTypeObject *type = classes.entries[i].key;
        if (type != NULL && type->tp_finalize == finaliser) type->tp_finalize = (destructor)classes.entries[i].value;
    }
    /* Subclasses that inherited the slot keep it: it finds no entry, and does nothing. */
    free(classes.entries);
    memset(&classes, 0, sizeof classes);
}

/* ---- ids ---------------------------------------------------------------------------------------------------------------- */

bool identity_needed(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return !(type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
             object == Py_None);
}

/* Sees to it that the object's death is noticed. NULL with an exception. */
static Entry *note(Tracer *tracer, PyObject *object) {
    Entry *entry = table_find(&objects, object);
    if (entry != NULL) return entry;
    PyTypeObject *type = Py_TYPE(object);
    PyObject *name = NULL, *reference = NULL;
    if (tracer->gone && (name = plan_class_name(tracer, type)) == NULL) return NULL;
    /* An object whose finaliser has run once, and which lived on, is not finalised again. */
    bool finalised = PyObject_IS_GC(object) && PyObject_GC_IsFinalized(object);
    if (type->tp_weaklistoffset != 0 && (type->tp_dealloc != class_dealloc || finalised)) {
        reference = PyWeakref_NewRef(object, on_death);
        if (reference == NULL) PyErr_Clear(); /* an object that is being destroyed, or a proxy with its own mind */
    }
    if (reference == NULL) {
        int noticed = finalised && type->tp_dealloc == class_dealloc ? 0 : watch_type(tracer, type);
        if (noticed < 0) {
            Py_XDECREF(name);
            return NULL;
        }
        if (!noticed) Py_INCREF(object); /* it lives on until the program ends: better than an id used twice */
    }
    /* Making these may have run code, and found the object itself. */
    entry = table_find(&objects, object);
    if (entry != NULL) {
        Py_XDECREF(name);
        Py_XDECREF(reference);
        return entry;
    }
    if (reference != NULL) {
        entry = table_add(&references, reference);
        if (entry == NULL) goto failed;
        entry->value = object;
    }
    entry = table_add(&objects, object);
    if (entry == NULL) goto failed;
    entry->value = reference;
    entry->name = name;
    return entry;
failed:
    Py_XDECREF(name);
    Py_XDECREF(reference);
    return NULL;
}

Id identity_of(Tracer *tracer, PyObject *object) {
    Entry *entry = note(tracer, object);
    if (entry == NULL) return 0;
    if (entry->id == 0) entry->id = ++last;
    return entry->id;
}

void identity_base(Id base) { last = base; }

int identity_watch(Tracer *tracer) {
    for (int i = 0; i < MOST_TRACERS; i++) {
        if (watchers[i] == NULL) {
            watchers[i] = tracer;
            tracer->slot = i;
            watching++;
            interpreter = PyInterpreterState_Get();
            return 0;
        }
    }
    PyErr_Format(PyExc_RuntimeError, "at most %d watches can run at once", MOST_TRACERS);
    return -1;
}

void identity_unwatch(Tracer *tracer) {
    if (tracer->slot < 0) return;
    watchers[tracer->slot] = NULL;
    tracer->slot = -1;
    if (--watching) return;
    unwatch_types();
    Table gone = objects;
    memset(&objects, 0, sizeof objects);
    free(references.entries);
    memset(&references, 0, sizeof references);
    for (size_t i = 0; gone.entries && i <= gone.mask; i++) {
        if (gone.entries[i].key == NULL) continue;
        Py_XDECREF(gone.entries[i].name);
        Py_XDECREF((PyObject *)gone.entries[i].value);
    }
    free(gone.entries);
}

int identity_setup(void) {
    if (on_death != NULL) return 0;
    PyObject *type = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "probe");
    if (type == NULL) return -1;
    class_dealloc = ((PyTypeObject *)type)->tp_dealloc;
    Py_DECREF(type);
    on_death = PyCFunction_New(&death_method, NULL);
    return on_death == NULL ? -1 : 0;
}

#endif

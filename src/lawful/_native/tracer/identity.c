/* Ids that are never used twice in a process, for objects of every type. All that writes events asks for them. Its twin is
   lawful/sources/python/identity.py; tests/sources/python/test_tracer_identity.py runs on both.

   An address says nothing once its object has died, so every death must be noticed, and the program must see nothing of it.
   Classes made in Python get a finaliser (the slot, not `__del__`; a weak reference would show in `__weakref__`). Types made
   in C that allow weak references have one with a callback, the others a deallocator of ours in front of their own. A
   class's deallocator must not be replaced: the interpreter's own finds the C base it belongs to by comparing
   deallocators. Generators get a finaliser too: their weak references are cleared before theirs runs, and one that is made
   in there outlives them. Finalisers and deallocators are put back when nobody watches any more. */
#include "tracer/tracer.h"

/* ---- tables by address ---------------------------------------------------------------------------------------------- */

/* All but the ids lies apart: most look-ups are for the id, and must touch few cache lines. */
typedef struct {
    void *value;        /* objects: the weak reference, or NULL; references: the object; classes: their own finaliser */
    PyObject *name;     /* objects: the class name, if deaths are reported */
    PyTypeObject *type; /* objects: the class that counts it */
} Rest;

typedef struct {
    IdEntry *entries;   /* ids are of objects, 0: only its death is of interest; classes: how many objects they count */
    Rest *rests;
    size_t mask, used;
} Table;

/* Of the objects' table. */
IdEntry *identity_entries;
size_t identity_mask;

#define NONE SIZE_MAX

static inline size_t table_find(const Table *table, const void *key) {
    if (table->entries == NULL) return NONE;
    for (size_t i = identity_slot(key, table->mask);; i = (i + 1) & table->mask) {
        if (table->entries[i].key == key) return i;
        if (table->entries[i].key == NULL) return NONE;
    }
}

static size_t put(Table *table, void *key) {
    size_t i = identity_slot(key, table->mask);
    while (table->entries[i].key != NULL) i = (i + 1) & table->mask;
    table->entries[i].key = key;
    return i;
}

static Table objects, references, classes;

static int table_resize(Table *table, size_t room) {
    Table old = *table;
    IdEntry *entries = calloc(room, sizeof(IdEntry));
    Rest *rests = calloc(room, sizeof(Rest));
    if (entries == NULL || rests == NULL) {
        free(entries);
        free(rests);
        PyErr_NoMemory();
        return -1;
    }
    table->entries = entries;
    table->rests = rests;
    table->mask = room - 1;
    for (size_t i = 0; old.entries != NULL && i <= old.mask; i++) {
        if (old.entries[i].key == NULL) continue;
        size_t at = put(table, old.entries[i].key);
        entries[at] = old.entries[i];
        rests[at] = old.rests[i];
    }
    free(old.entries);
    free(old.rests);
    if (table == &objects) {
        identity_entries = entries;
        identity_mask = table->mask;
    }
    return 0;
}

static void table_free(Table *table) {
    free(table->entries);
    free(table->rests);
    memset(table, 0, sizeof *table);
    if (table == &objects) identity_entries = NULL;
}

/* The key must be new. */
static size_t table_add(Table *table, void *key) {
    size_t size = table->entries ? table->mask + 1 : 0;
    if (2 * (table->used + 1) > size && table_resize(table, size ? 2 * size : 256) < 0) return NONE;
    table->used++;
    return put(table, key);
}

static void table_remove(Table *table, size_t gap) {
    for (size_t i = (gap + 1) & table->mask; table->entries[i].key != NULL; i = (i + 1) & table->mask) {
        size_t wanted = identity_slot(table->entries[i].key, table->mask);
        if (((i - wanted) & table->mask) < ((i - gap) & table->mask)) continue;
        table->entries[gap] = table->entries[i];
        table->rests[gap] = table->rests[i];
        gap = i;
    }
    table->entries[gap] = (IdEntry){NULL, 0};
    table->rests[gap] = (Rest){NULL, NULL, NULL};
    table->used--;
    size_t size = table->mask + 1;
    if (size > 1024 && table->used < size / 8) {
        /* Memory is bounded by what is alive. Failing to shrink does no harm, and this may run inside a deallocator. */
        PyObject *raised = PyErr_GetRaisedException();
        if (table_resize(table, size / 4) < 0) PyErr_Clear();
        PyErr_SetRaisedException(raised);
    }
}

static Id last;
static Tracer *watchers[MOST_TRACERS];
static int watching;
static PyInterpreterState *interpreter;
static PyObject *on_death;            /* the callback of all weak references */
static destructor class_dealloc;      /* of classes made in Python */
static destructor class_finaliser;    /* of those with a `__del__` */
static destructor exception_dealloc;  /* of most exceptions */
static PyTypeObject *wrapper_type;    /* of `object().__str__` */

/* ---- death ------------------------------------------------------------------------------------------------------------ */

static void finaliser(PyObject *self);

/* A class without objects that have ids needs no finaliser from us: that costs something for each of its objects. If it has one
   of its own, objects may be met for the first time in there, when it is too late to give it ours. */
static void leave_class(PyTypeObject *type) {
    size_t at = table_find(&classes, type);
    if (at == NONE || classes.entries[at].id == 0 || --classes.entries[at].id > 0) return;
    if (type->tp_finalize == finaliser && classes.rests[at].value == NULL) type->tp_finalize = NULL;
}

static void forget(PyObject *object) {
    size_t at = table_find(&objects, object);
    if (at == NONE || PyInterpreterState_Get() != interpreter) return;
    Id id = objects.entries[at].id;
    if (objects.rests[at].type == Py_TYPE(object)) leave_class(Py_TYPE(object));
    PyObject *name = objects.rests[at].name, *reference = objects.rests[at].value;
    table_remove(&objects, at);
    if (reference != NULL && (at = table_find(&references, reference)) != NONE) table_remove(&references, at);
    if (classes.used && (at = table_find(&classes, object)) != NONE) table_remove(&classes, at);
    for (int i = 0; i < MOST_TRACERS; i++) {
        Tracer *watcher = watchers[i];
        Group *group = watcher ? sample_lost(watcher, object) : NULL;
        if (name != NULL && id && (group != NULL || (watcher != NULL && watcher->gone))) record_gone(watcher, id, name, group);
    }
    Py_XDECREF(name);
    Py_XDECREF(reference);
}

static PyObject *spent; /* the last reference that had its call: were it freed in there, `gc.collect()` would count it */

static PyObject *referent_died(PyObject *Py_UNUSED(self), PyObject *reference) {
    Py_XSETREF(spent, Py_NewRef(reference));
    size_t at = table_find(&references, reference);
    if (at != NONE) forget(references.rests[at].value);
    Py_RETURN_NONE;
}

static PyMethodDef death_method = {"object_died", referent_died, METH_O, NULL};

/* What the interpreter itself puts into the slot of a class made in Python. */
static destructor own_finaliser(PyTypeObject *type) {
    PyObject *method = _PyType_Lookup(type, text_del);
    if (method == NULL) return NULL;
    if (Py_IS_TYPE(method, &PyWrapperDescr_Type)) return (destructor)((PyWrapperDescrObject *)method)->d_wrapped;
    return class_finaliser;
}

/* Its end will be noticed, even if the tracer first meets it in its own finaliser. */
static void expect(PyObject *object) {
    if (!watching || PyInterpreterState_Get() != interpreter || table_find(&objects, object) != NONE) return;
    if (table_add(&objects, object) == NONE) PyErr_Clear();
}

static void finaliser(PyObject *self) {
    /* A class that becomes garbage together with its objects is forgotten before these are finalised. */
    size_t at = table_find(&classes, Py_TYPE(self));
    destructor original = at == NONE ? own_finaliser(Py_TYPE(self)) : (destructor)classes.rests[at].value;
    if (original != NULL) {
        expect(self);
        original(self); /* what its `__del__` does is still done by this object */
    }
    forget(self);
}

static PyTypeObject *const generators[] = {&PyGen_Type, &PyCoro_Type, &PyAsyncGen_Type};
static destructor generator_finaliser; /* of all three */

static void generator_ends(PyObject *self) {
    generator_finaliser(self);
    forget(self);
}

static void watch_generators(void) {
    if (generators[0]->tp_finalize == generator_ends) return;
    generator_finaliser = generators[0]->tp_finalize;
    for (int i = 0; i < 3; i++) generators[i]->tp_finalize = generator_ends;
}

static void unwatch_generators(void) {
    for (int i = 0; i < 3; i++)
        if (generators[i]->tp_finalize == generator_ends) generators[i]->tp_finalize = generator_finaliser;
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

static size_t note(Tracer *tracer, PyObject *object);

/* Sees to it that deaths of objects of this type, which has no weak references, are noticed. 1: done; 0: it cannot be. */
static int watch_type(Tracer *tracer, PyTypeObject *type) {
    if (type->tp_dealloc == class_dealloc) {
        if (table_find(&classes, type) != NONE && type->tp_finalize == finaliser) return 1;
        if (note(tracer, (PyObject *)type) == NONE) return -1; /* its own death counts too */
        size_t at = table_find(&classes, type);
        if (at == NONE && (at = table_add(&classes, type)) == NONE) return -1;
        bool ours = type->tp_finalize == finaliser; /* it was forgotten, and lives on */
        classes.rests[at].value = (void *)(ours ? own_finaliser(type) : type->tp_finalize);
        type->tp_finalize = finaliser;
        return 1;
    }
    if (is_hooked(type)) return 1;
    if (hook_count == HOOKS) return 0;
    Hook *hook = &hooks[hook_count];
    hook->type = (PyTypeObject *)Py_NewRef(type);
    hook->original = type->tp_dealloc;
    hook->nests = type == &PyList_Type || type == &PyTuple_Type || type == &PyDict_Type ||
                  type == &PyTraceBack_Type || type == &PyFrame_Type || type == &PyFilter_Type || type == wrapper_type ||
                  type->tp_dealloc == exception_dealloc;
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
        if (type != NULL && type->tp_finalize == finaliser) type->tp_finalize = (destructor)classes.rests[i].value;
    }
    table_free(&classes);
}

/* ---- ids ---------------------------------------------------------------------------------------------------------------- */

/* Do weak references report the deaths of its objects? */
static bool tells(const PyTypeObject *type) {
    if (type->tp_weaklistoffset == 0) return false;
    /* `P.args` and `P.kwargs` take weak references, but are freed without a word to them. */
    if (type->tp_flags & Py_TPFLAGS_MANAGED_WEAKREF && type->tp_dealloc != class_dealloc)
        return strcmp(type->tp_name, "typing.ParamSpecArgs") != 0 && strcmp(type->tp_name, "typing.ParamSpecKwargs") != 0;
    return true;
}

/* A class with a finaliser of its own, which may be at work on the object: ours comes too late for that one. */
static bool may_be_late(const PyTypeObject *type) {
    return type->tp_dealloc == class_dealloc && type->tp_finalize != NULL && type->tp_finalize != finaliser;
}

/* Does its `__del__` run, so that nothing will report its end? */
static bool untracked_end(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (type->tp_dealloc != class_dealloc || type->tp_finalize == NULL || tells(type) || table_find(&objects, object) != NONE)
        return false;
    PyObject *method = _PyType_Lookup(type, text_del);
    if (method == NULL || !PyFunction_Check(method)) return false;
    for (RunFrame *frame = frame_current(PyThreadState_Get()); frame != NULL; frame = frame_caller(frame))
        if ((PyObject *)frame_code(frame) == PyFunction_GET_CODE(method) && frame->localsplus[0] == object) return true;
    return false;
}

/* Sees to it that the object's death is noticed. NONE with an exception. */
static size_t note(Tracer *tracer, PyObject *object) {
    size_t at = table_find(&objects, object);
    if (at != NONE) return at;
    PyTypeObject *type = Py_TYPE(object);
    PyObject *name = NULL, *reference = NULL;
    if (tracer->gone && (name = plan_class_name(tracer, type)) == NULL) return NONE;
    /* An object whose finaliser has run once, and which lived on, is not finalised again. */
    bool finalised = PyObject_IS_GC(object) && PyObject_GC_IsFinalized(object), late = may_be_late(type);
    bool generator = type->tp_finalize == generator_ends, ends = type->tp_dealloc == class_dealloc || generator;
    if ((!ends || finalised || late) && tells(type)) {
        reference = PyWeakref_NewRef(object, on_death);
        if (reference == NULL) PyErr_Clear(); /* an object that is being destroyed, or a proxy with its own mind */
    }
    if (late || (reference == NULL && !(generator && !finalised))) {
        int noticed = finalised && type->tp_dealloc == class_dealloc ? 0 : watch_type(tracer, type);
        if (noticed < 0) {
            Py_XDECREF(name);
            Py_XDECREF(reference);
            return NONE;
        }
        if (!noticed && reference == NULL) Py_INCREF(object); /* it lives on until the program ends: better than an id used twice */
    }
    /* Making these may have run code, and found the object itself. */
    at = table_find(&objects, object);
    if (at != NONE) {
        Py_XDECREF(name);
        Py_XDECREF(reference);
        return at;
    }
    if (reference != NULL) {
        at = table_add(&references, reference);
        if (at == NONE) goto failed;
        references.rests[at].value = object;
    }
    at = table_add(&objects, object);
    if (at == NONE) goto failed;
    objects.rests[at] = (Rest){reference, name, NULL};
    if (reference == NULL && type->tp_dealloc == class_dealloc) {
        size_t class_at = table_find(&classes, type);
        if (class_at != NONE) {
            classes.entries[class_at].id++;
            objects.rests[at].type = type;
        }
    }
    return at;
failed:
    Py_XDECREF(name);
    Py_XDECREF(reference);
    return NONE;
}

/* An object of a class made in Python, whose finaliser is ours already, is only written down. */
Id identity_create_simple(Tracer *tracer, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (type->tp_finalize != finaliser || type->tp_dealloc != class_dealloc || tracer->gone) return 0;
    if (PyObject_IS_GC(object) && PyObject_GC_IsFinalized(object)) return 0;
    size_t class_at = table_find(&classes, type);
    if (class_at == NONE || table_find(&objects, object) != NONE) return 0;
    if (classes.rests[class_at].value != NULL && !tells(type)) return 0;
    size_t at = table_add(&objects, object);
    if (at == NONE) {
        PyErr_Clear();
        return 0;
    }
    classes.entries[class_at].id++;
    objects.rests[at].type = type;
    return objects.entries[at].id = ++last;
}

Id identity_create(Tracer *tracer, PyObject *object) {
    if (untracked_end(object)) return watch_type(tracer, Py_TYPE(object)) < 0 ? 0 : ++last; /* another one each time */
    size_t at = note(tracer, object);
    if (at == NONE) return 0;
    if (objects.entries[at].id == 0) {
        if (tracer->gone && objects.rests[at].name == NULL && identity_name(tracer, object) < 0) return 0;
        at = table_find(&objects, object);
        objects.entries[at].id = ++last;
    }
    return objects.entries[at].id;
}

int identity_name(Tracer *tracer, PyObject *object) {
    PyObject *name = plan_class_name(tracer, Py_TYPE(object));
    size_t at = name ? table_find(&objects, object) : NONE;
    if (at != NONE && objects.rests[at].name == NULL) objects.rests[at].name = Py_NewRef(name);
    Py_XDECREF(name);
    return name ? 0 : -1;
}

void identity_base(Id base) { last = base; }

uint32_t identity_high(void) { return (uint32_t)(last >> 32); }

int identity_watch(Tracer *tracer) {
    for (int i = 0; i < MOST_TRACERS; i++) {
        if (watchers[i] == NULL) {
            watchers[i] = tracer;
            tracer->slot = i;
            watching++;
            interpreter = PyInterpreterState_Get();
            watch_generators();
            return 0;
        }
    }
    PyErr_Format(PyExc_RuntimeError, "at most %d watches can run at once", MOST_TRACERS);
    return -1;
}

Tracer *identity_watcher(int slot) { return watchers[slot]; }

void identity_unwatch(Tracer *tracer) {
    if (tracer->slot < 0) return;
    watchers[tracer->slot] = NULL;
    tracer->slot = -1;
    if (--watching) return;
    unwatch_types();
    unwatch_generators();
    Table gone = objects;
    memset(&objects, 0, sizeof objects);
    identity_entries = NULL;
    table_free(&references);
    Py_CLEAR(spent);
    for (size_t i = 0; gone.entries && i <= gone.mask; i++) {
        if (gone.entries[i].key == NULL) continue;
        Py_XDECREF(gone.rests[i].name);
        Py_XDECREF((PyObject *)gone.rests[i].value);
    }
    table_free(&gone);
}

int identity_setup(void) {
    if (on_death != NULL) return 0;
    PyObject *type = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){Os}", "probe", text_del, "");
    if (type == NULL) return -1;
    class_dealloc = ((PyTypeObject *)type)->tp_dealloc;
    class_finaliser = ((PyTypeObject *)type)->tp_finalize;
    exception_dealloc = ((PyTypeObject *)PyExc_BaseException)->tp_dealloc;
    Py_DECREF(type);
    PyObject *wrapper = PyObject_GetAttrString(Py_None, "__str__");
    if (wrapper == NULL) return -1;
    wrapper_type = Py_TYPE(wrapper); /* a static type */
    Py_DECREF(wrapper);
    on_death = PyCFunction_New(&death_method, NULL);
    return on_death == NULL ? -1 : 0;
}

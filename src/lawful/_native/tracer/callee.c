/* Callees: functions, classes, operations and fields, each with a type of receiver. The tracer asks Python once
   (`WatchPlanner` in tracer_protocol.py), and the answer is kept as long as the function and the type live. Both paths call
   it. tests/sources/python/test_planned_once.py tests that nothing is asked twice. */
#include "tracer/tracer.h"

static char class_names; /* its address is a key */

/* What the fast path must know of it. */
static uint16_t fast_flags(int wants, const Group *group) {
    if (group != NULL) return 0;
    if ((wants & (WANT_TOLD | WANT_CALLEE_SIDE | LEARN(WANT_PRE | WANT_NEW))) == LEARN(WANT_PRE)) return FAST_LEARNED;
    if (wants & (WANT_ON_CALL | WANT_ON_RETURN | WANT_LEARN | WANT_BIRTH | WANT_EXIT)) return 0;
    uint16_t fast = 0;
    bool begins_or_ends = wants & (WANT_PRE | WANT_END);
    if (begins_or_ends && !(wants & WANT_CALLEE_SIDE)) fast |= FAST_CALLER;
    if (begins_or_ends || !(wants & WANT_ARGS)) fast |= FAST_CALLEE;
    if (wants & WANT_ARGS) fast |= FAST_VALUES;
    if (wants & WANT_PRE) fast |= FAST_PRE;
    if (wants & WANT_RECEIVER) fast |= FAST_RECEIVER;
    if (wants & (WANT_END | WANT_YIELD)) fast |= FAST_END;
    if ((wants & (WANT_POST | WANT_NEW | WANT_RESULT)) == WANT_POST) fast |= FAST_END_PLAIN;
    return fast;
}

static Callee *intern(Tracer *tracer, PyObject *name, PyObject *class_name, int wants, Group *group) {
    Callee **bucket = &tracer->callees[(size_t)PyObject_Hash(name) % CALLEE_BUCKETS];
    for (Callee *callee = *bucket; callee != NULL; callee = callee->next)
        if (callee->wants == wants && callee->group == group && PyUnicode_Compare(callee->name, name) == 0 &&
            (class_name == NULL ? callee->class_name == NULL
                                : callee->class_name != NULL && PyUnicode_Compare(callee->class_name, class_name) == 0))
            return callee;
    Callee *callee = NULL;
    if (make_room((void **)&tracer->callee_list, &tracer->callee_room, tracer->callee_count, sizeof(Callee *)) == 0)
        callee = PyMem_RawCalloc(1, sizeof(Callee));
    if (callee == NULL) return (void *)PyErr_NoMemory();
    tracer->callee_list[tracer->callee_count++] = callee;
    callee->number = tracer->callee_count;
    callee->name = Py_NewRef(name);
    callee->class_name = Py_XNewRef(class_name);
    callee->wants = wants;
    callee->group = group;
    callee->fast = fast_flags(wants, group);
    callee->next = *bucket;
    *bucket = callee;
    return callee;
}

Callee *callee_read(Tracer *tracer, PyObject *answer, PyTypeObject *receiver) {
    if (answer == Py_None) return &tracer->unwanted;
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 3 || !PyUnicode_Check(PyTuple_GET_ITEM(answer, 0))) {
        PyErr_SetString(PyExc_TypeError, "a callee must be a tuple of its name, its wants and its group");
        return NULL;
    }
    long wants = PyLong_AsLong(PyTuple_GET_ITEM(answer, 1)), number = PyLong_AsLong(PyTuple_GET_ITEM(answer, 2));
    if (PyErr_Occurred()) return NULL;
    Group *group = number ? sample_group(tracer, number) : NULL;
    if (number && group == NULL) return NULL;
    if (wants & WANT_LEARN && tracer->window == NULL) /* the learner gets events like everybody else */
        wants = (wants & ~WANT_LEARN) | (wants & WANT_LEARN) >> LEARN_SHIFT | WANT_SITE;
    PyObject *class_name = NULL;
    if (receiver != NULL && (class_name = plan_class_name(tracer, receiver)) == NULL) return NULL;
    Callee *callee = intern(tracer, PyTuple_GET_ITEM(answer, 0), class_name, (int)wants, group);
    Py_XDECREF(class_name);
    return callee;
}

/* ---- the hash table ------------------------------------------------------------------------------------------------------- */

unsigned plan_deaths;
static PyObject *note_death;

static PyObject *noted_death(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(reference)) {
    plan_deaths++;
    Py_RETURN_NONE;
}

static PyMethodDef noted_death_method = {"callee_died", noted_death, METH_O, NULL};

typedef struct Slot {
    const void *key;      /* NULL: free */
    PyTypeObject *type;   /* of the receiver, or NULL */
    PyObject *key_holder; /* a weak reference where there can be one, else a strong one; NULL: it lives forever */
    PyObject *type_ref;   /* a weak reference; NULL: it lives forever */
    Callee *callee;
    unsigned deaths;      /* when it was last seen to live */
} Slot;

static inline size_t slot_home(const Tracer *tracer, const void *key, const PyTypeObject *type) {
    uint64_t mixed = ((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15) + ((uintptr_t)type >> 4) * UINT64_C(0xC2B2AE3D27D4EB4F);
    return (mixed ^ mixed >> 29) & tracer->slot_mask;
}

static inline bool lives(PyObject *holder) {
    return holder == NULL || !PyWeakref_CheckRefExact(holder) || ((PyWeakReference *)holder)->wr_object != Py_None;
}

static inline bool slot_lives(const Slot *slot) { return lives(slot->key_holder) && lives(slot->type_ref); }

/* NULL: not known. */
static const Slot *find_slot(const Tracer *tracer, const void *key, const PyTypeObject *type) {
    if (tracer->slots == NULL) return NULL;
    for (size_t i = slot_home(tracer, key, type);; i = (i + 1) & tracer->slot_mask) {
        Slot *slot = &tracer->slots[i];
        if (slot->key == NULL) return NULL;
        if (slot->key != key || slot->type != type) continue;
        if (slot->deaths == plan_deaths) return slot;
        if (!slot_lives(slot)) continue;
        slot->deaths = plan_deaths;
        return slot;
    }
}

static inline Callee *known(const Tracer *tracer, const void *key, const PyTypeObject *type) {
    const Slot *slot = find_slot(tracer, key, type);
    return slot ? slot->callee : NULL;
}

/* Where an answer that is asked for goes: in the place of one that is good no longer, or of some other. */
static CachedCallee *cache_slot(CachedCallee *cached_callees, int count, const void *key, const PyTypeObject *type) {
    for (int i = 0; i < count; i++)
        if (cached_callees[i].key == NULL || cached_callees[i].deaths != plan_deaths) return &cached_callees[i];
    return &cached_callees[((uintptr_t)type >> 5 ^ (uintptr_t)type >> 11 ^ (uintptr_t)key >> 4) % (size_t)count];
}

/* The same where it is mostly asked for the same as last time. */
static inline const CachedCallee *find_cached(const Tracer *tracer, CachedCallee *cached_callees, int count, const void *key,
                                             PyObject *qualname, PyTypeObject *type) {
    for (int i = 0; i < count; i++)
        if (cached_callees[i].key == key && cached_callees[i].type == type && cached_callees[i].deaths == plan_deaths)
            return &cached_callees[i];
    const Slot *slot = find_slot(tracer, key, type);
    if (slot == NULL) return NULL;
    uint16_t fast = slot->callee->fast;
    bool primitive = type != NULL && is_primitive(type);
    /* Where a class is called upon, the answer is for itself, not for its own class: the fast path need not find that out. */
    if ((type != NULL && PyType_FastSubclass(type, Py_TPFLAGS_TYPE_SUBCLASS)) || slot->callee->number >> CALLEE_BITS) fast = 0;
    if (primitive && fast & FAST_RECEIVER) fast |= FAST_VALUES;
    CachedCallee *cached_callee = cache_slot(cached_callees, count, key, type);
    *cached_callee = (CachedCallee){key, type, qualname, slot->callee, plan_deaths, slot->callee->number, fast, primitive};
    return cached_callee;
}

static inline Callee *find_cached_callee(const Tracer *tracer, CachedCallee *cached_callees, const void *key, PyTypeObject *type) {
    const CachedCallee *answer = find_cached(tracer, cached_callees, CACHED_CALLEES, key, NULL, type);
    return answer ? answer->callee : NULL;
}

static void free_slot(Slot *slot) {
    Py_XDECREF(slot->key_holder);
    Py_XDECREF(slot->type_ref);
}

static int grow(Tracer *tracer) {
    Slot *old = tracer->slots;
    size_t size = old ? tracer->slot_mask + 1 : 0, alive = 0;
    for (size_t i = 0; i < size; i++) alive += old[i].key != NULL && slot_lives(&old[i]);
    size_t room = 1024;
    while (room < 4 * alive) room *= 2;
    Slot *slots = PyMem_RawCalloc(room, sizeof(Slot));
    if (slots == NULL) return out_of_memory();
    tracer->slots = slots;
    tracer->slot_mask = room - 1;
    tracer->slot_count = 0;
    for (size_t i = 0; i < size; i++) {
        if (old[i].key == NULL) continue;
        if (!slot_lives(&old[i])) {
            free_slot(&old[i]);
            continue;
        }
        size_t at = slot_home(tracer, old[i].key, old[i].type);
        while (slots[at].key != NULL) at = (at + 1) & tracer->slot_mask;
        slots[at] = old[i];
        tracer->slot_count++;
    }
    PyMem_RawFree(old);
    return 0;
}

static PyObject *type_reference(PyTypeObject *type) {
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE ? PyWeakref_NewRef((PyObject *)type, note_death) : NULL;
}

/* NULL with an exception; `callee` may be NULL with one already. */
static Callee *store(Tracer *tracer, const void *key, PyObject *holder, PyTypeObject *type, Callee *callee) {
    if (callee == NULL) return NULL;
    if ((tracer->slots == NULL || 2 * tracer->slot_count > tracer->slot_mask) && grow(tracer) < 0) return NULL;
    Slot slot = {.key = key, .type = type, .callee = callee, .deaths = plan_deaths};
    if (holder != NULL) {
        bool weak = PyCode_Check(holder) || PyType_Check(holder) || PyFunction_Check(holder);
        slot.key_holder = weak ? PyWeakref_NewRef(holder, note_death) : Py_NewRef(holder);
        if (slot.key_holder == NULL) return NULL;
    }
    if (type != NULL && (slot.type_ref = type_reference(type)) == NULL && PyErr_Occurred()) {
        free_slot(&slot);
        return NULL;
    }
    size_t at = slot_home(tracer, key, type);
    while (tracer->slots[at].key != NULL) at = (at + 1) & tracer->slot_mask;
    tracer->slots[at] = slot;
    tracer->slot_count++;
    return callee;
}

/* Remembers an answer of Python, whose reference it takes over. */
static Callee *remember(Tracer *tracer, const void *key, PyObject *holder, PyTypeObject *type, PyObject *answer) {
    Callee *callee = answer == NULL ? NULL : callee_read(tracer, answer, type);
    Py_XDECREF(answer);
    return store(tracer, key, holder, type, callee);
}

#define OR_NONE(type) ((type) ? (PyObject *)(type) : Py_None)

const CachedCallee *plan_known_call(Tracer *tracer, CachedCallee *cached_callees, const void *key, PyObject *qualname, PyTypeObject *receiver) {
    return find_cached(tracer, cached_callees, CACHED_CALLEES, key, qualname, receiver);
}

Callee *plan_call(Tracer *tracer, CachedCallee *cached_callees, PyObject *function, PyObject *key, PyTypeObject *receiver) {
    PyObject *qualname = PyFunction_Check(function) && key != function ? ((PyCodeObject *)key)->co_qualname : NULL;
    const CachedCallee *known = find_cached(tracer, cached_callees, CACHED_CALLEES, key, qualname, receiver);
    if (known != NULL) return known->callee;
    PyObject *answer = plan_ask_wanted(tracer, text_callee, function, OR_NONE(receiver));
    return remember(tracer, key, PyCFunction_Check(function) ? NULL : key, receiver, answer);
}

/* A code object is also the key of its function when it is called from a probed place: hence another key. */
static inline const void *receiver_key(const CodeInfo *info) { return (const char *)info->code + 1; }

const CachedCallee *plan_known_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver) {
    return find_cached(tracer, info->cached_callees, CACHED_RECEIVERS, receiver_key(info), NULL, receiver);
}

Callee *plan_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver) {
    const CachedCallee *known = plan_known_receiver(tracer, info, receiver);
    if (known != NULL) return known->callee;
    PyObject *answer = plan_ask_wanted(tracer, text_receiver_callee, (PyObject *)info->code, (PyObject *)receiver);
    return remember(tracer, receiver_key(info), (PyObject *)info->code, receiver, answer);
}

/* `x += y` is `x = x + y` where the type knows no other way. A new reference. */
static PyObject *real_operation(PyObject *name, PyTypeObject *owner) {
    static const char *const in_place[] = {"add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow",
                                           "lshift", "rshift", "and", "or", "xor"};
    for (size_t i = 0; i < sizeof in_place / sizeof in_place[0]; i++) {
        char text[32];
        PyOS_snprintf(text, sizeof text, "__i%s__", in_place[i]);
        if (PyUnicode_CompareWithASCIIString(name, text) != 0 || _PyType_Lookup(owner, name) != NULL) continue;
        return PyUnicode_FromFormat("__%s__", in_place[i]);
    }
    return Py_NewRef(name);
}

Callee *plan_operation(Tracer *tracer, CachedCallee *cached_callees, PyObject *name, PyTypeObject *owner) {
    Callee *callee = find_cached_callee(tracer, cached_callees, name, owner);
    if (callee != NULL) return callee;
    PyObject *real = real_operation(name, owner);
    if (real == NULL) return NULL;
    PyObject *answer = plan_ask_wanted(tracer, text_operation, real, (PyObject *)owner);
    Py_DECREF(real);
    return remember(tracer, name, name, owner, answer);
}

Callee *plan_field(Tracer *tracer, CachedCallee *cached_callees, PyObject *name, PyTypeObject *owner) {
    const void *key = (const char *)name + 1; /* not the special method of this name */
    Callee *callee = find_cached_callee(tracer, cached_callees, key, owner);
    if (callee != NULL) return callee;
    PyObject *answer = plan_ask_wanted(tracer, text_field, name, (PyObject *)owner);
    return remember(tracer, key, name, owner, answer);
}

Callee *plan_known_field(Tracer *tracer, CachedCallee *cached_callees, PyObject *name, PyTypeObject *owner) {
    return find_cached_callee(tracer, cached_callees, (const char *)name + 1, owner);
}

PyObject *plan_class_name(Tracer *tracer, PyTypeObject *type) {
    Callee *callee = known(tracer, &class_names, type);
    if (callee == NULL) {
        PyObject *name = plan_ask_wanted(tracer, text_class_name, (PyObject *)type, NULL);
        if (name == NULL) return NULL;
        if (PyUnicode_Check(name)) callee = intern(tracer, name, NULL, 0, NULL);
        else PyErr_SetString(PyExc_TypeError, "a class name is a string");
        Py_DECREF(name);
        callee = store(tracer, &class_names, NULL, type, callee);
    }
    return callee == NULL ? NULL : Py_NewRef(callee->name);
}

Callee *plan_with_class(Tracer *tracer, Callee *callee, PyTypeObject *type) {
    Callee *other = known(tracer, callee, type);
    if (other != NULL) return other;
    PyObject *class_name = plan_class_name(tracer, type);
    if (class_name == NULL) return NULL;
    other = intern(tracer, callee->name, class_name, callee->wants, callee->group);
    Py_DECREF(class_name);
    return store(tracer, callee, NULL, type, other);
}

void callee_forget(Tracer *tracer) {
    PyMem_RawFree(tracer->callee_list);
    tracer->callee_list = NULL;
    tracer->callee_count = tracer->callee_room = 0;
    for (size_t i = 0; tracer->slots != NULL && i <= tracer->slot_mask; i++)
        if (tracer->slots[i].key != NULL) free_slot(&tracer->slots[i]);
    PyMem_RawFree(tracer->slots);
    tracer->slots = NULL;
    tracer->slot_count = 0;
    for (int i = 0; i < CALLEE_BUCKETS; i++) {
        for (Callee *callee = tracer->callees[i], *next; callee != NULL; callee = next) {
            next = callee->next;
            Py_XDECREF(callee->name);
            Py_XDECREF(callee->class_name);
            PyMem_RawFree(callee);
        }
        tracer->callees[i] = NULL;
    }
}

int callee_setup(void) {
    if (note_death != NULL) return 0;
    return (note_death = PyCFunction_New(&noted_death_method, NULL)) == NULL ? -1 : 0;
}

/* Ids of objects (identity.c). A part of tracer.h; all that writes events uses it. */
#ifndef LAWFUL_IDENTITY_H
#define LAWFUL_IDENTITY_H

int identity_setup(void);
Id identity_create(Tracer *tracer, PyObject *object); /* of an object that may have none yet; 0 with an exception set */

/* Values of these types stand for themselves. */
static inline bool is_primitive(const PyTypeObject *type) {
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
           type == Py_TYPE(Py_None);
}

static inline bool identity_needed(PyObject *object) { return !is_primitive(Py_TYPE(object)); }

/* Objects by address. */
typedef struct {
    void *key;          /* NULL: free */
    Id id;              /* 0: none yet */
} IdEntry;
extern IdEntry *identity_entries HIDDEN;
extern size_t identity_mask HIDDEN;

/* Objects that lie together, as those do that were made together, are together here, too. */
static inline size_t identity_slot(const void *key, size_t mask) {
    return (((uintptr_t)key >> 4) ^ ((uintptr_t)key >> 20) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & mask;
}

/* It will be asked for soon. */
static inline void identity_prefetch(PyObject *object) {
#if defined(__GNUC__)
    if (identity_entries != NULL) __builtin_prefetch(&identity_entries[identity_slot(object, identity_mask)]);
#endif
}

/* 0 with an exception set. */
static inline Id identity_of(Tracer *tracer, PyObject *object) {
    if (identity_entries != NULL) {
        const IdEntry *entry = &identity_entries[identity_slot(object, identity_mask)];
        if (entry->key == object && entry->id) return entry->id;
    }
    return identity_create(tracer, object);
}

/* 0: it has none yet. */
static ALWAYS_INLINE Id identity_known(const PyObject *object) {
    if (identity_entries == NULL) return 0;
    for (size_t i = identity_slot(object, identity_mask);; i = (i + 1) & identity_mask) {
        const IdEntry *entry = &identity_entries[i];
        if (entry->key == object) return entry->id;
        if (entry->key == NULL) return 0;
    }
}

Id identity_create_simple(Tracer *tracer, PyObject *object);

/* Of an object that has one, or gets it in the simplest way; 0: that is not so, and no exception. */
static inline Id identity_get_fast(Tracer *tracer, PyObject *object) {
    Id id = identity_known(object);
    return id ? id : identity_create_simple(tracer, object);
}

int identity_name(Tracer *tracer, PyObject *object); /* report the death of an object that has an id */
void identity_base(Id base);               /* ids go on from here: a child process has its own */
uint32_t identity_high(void);              /* the upper half of those that are given now */
int identity_watch(Tracer *tracer);        /* gets deaths from now on */
Tracer *identity_watcher(int slot);        /* or NULL */
void identity_unwatch(Tracer *tracer);     /* when nobody watches, everything is forgotten and undone */

#endif

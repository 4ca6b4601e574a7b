/* Types and functions that the two C files of invariants share. They match lawful/laws/invariants/python_tracker.py and
   expressions.py; tests/laws/invariants/test_invariants_cores.py compares the two. */
#ifndef LAWFUL_INVARIANT_H
#define LAWFUL_INVARIANT_H

#include "events/lazy_event.h"
#include "rml/rml.h"

/* ---- values of fields -------------------------------------------------------------------------------------------- */

/* The value of a field: nothing if it is not known, a Python object, or (marked by its lowest bit) the id of one. */
typedef uintptr_t Field;
#define UNKNOWN_FIELD ((Field)0)

static inline bool field_is_id(Field f) { return f & 1; }
static inline PyObject *field_object(Field f) { return (PyObject *)(f & ~(Field)1); }
static inline Field field_keep(Field f) {
    Py_XINCREF(field_object(f));
    return f;
}
static inline void field_drop(Field f) { Py_XDECREF(field_object(f)); }
static inline void field_set(Field *place, Field value) { /* takes the reference */
    Field old = *place;
    *place = value;
    field_drop(old);
}

/* ---- one object (tracker.c) -------------------------------------------------------------------------------------- */

typedef struct TrackedObject TrackedObject;
struct TrackedObject {
    PyObject_VAR_HEAD
    PyObject *id;
    Id number;                /* the same, if it is one; or 0 */
    bool begun, over, broken; /* judged now; not any more, for good; its state */
    bool asked_python;             /* the Python side was asked about it, and may have noted something */
    PyObject *snapshot;       /* a dict: its values when a transition was last judged; or NULL */
    PyObject *asked;          /* the event that asks for what it owes; NULL: it owes nothing */
    double deadline;
    TrackedObject *sooner, *later;    /* by deadline */
    Field values[];
};

/* ---- what the events of one kind about one name do --------------------------------------------------------------- */

typedef struct Expression Expression;
typedef struct KeyPlan KeyPlan;
struct KeyPlan {
    PyObject *key, *kind; /* (kind, name); borrowed from the rule's program */
    int number;
    int writes;           /* the field; -1: none */
    bool returns, calls;  /* a call's end; a call */
    bool gone, seen;
    int begins, state, transition, pays, ends, asks; /* expressions; -1: none */
    KeyPlan *next;           /* of the same name */
};

/* A step of an object, as expressions see it. */
typedef struct {
    const KeyPlan *plan;
    const TrackedObject *object;
    PyObject *event;
    Field replaced;       /* the value of the written field before */
    PyObject *snapshot;   /* what `old` stands for, if not the values before the event */
    PyObject *const *names; /* of fields */
} Step;

/* ---- expressions (expressions.c) --------------------------------------------------------------------------------- */

/* The Python side must say: some value is not among those that are dealt with here, or the expression raises. */
typedef enum { IS_FALSE, IS_TRUE, NOT_YET, ASK_PYTHON } Truth;

int expression_setup(void);
Expression *expression_parse(Arena *arena, PyObject *tree, int fields); /* NULL: error */
Truth expression_truth(const Expression *expression, const Step *step);
Field event_value(PyObject *event); /* borrowed: the result, or the value written */

/* An event's keys. */
extern PyObject *key_event, *key_name, *key_target, *key_result_id, *key_res, *key_time;

/* The value of a key in a dict, borrowed; NULL if it is not there. Our keys can be hashed. */
static inline PyObject *look_up(PyObject *dict, PyObject *key) {
    PyObject *found = PyDict_GetItemWithError(dict, key);
    if (found == NULL && PyErr_Occurred()) PyErr_Clear();
    return found;
}

/* The same in what an event has beside its head. */
static inline PyObject *event_part(PyObject *event, PyObject *key) {
    PyObject *fields = event_fields(event);
    return fields == NULL ? NULL : look_up(fields, key);
}

extern PyTypeObject InvariantTrackerType, TrackedObjectType;

#endif

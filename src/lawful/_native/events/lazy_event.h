/* Lazy events: all that a law may ask of an event, without its dict (lazy_event.c). */
#ifndef LAWFUL_LAZY_EVENT_H
#define LAWFUL_LAZY_EVENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "events/record.h"

typedef struct {
    PyObject_VAR_HEAD
    PyObject *name;
    PyObject *class_name;  /* or NULL */
    PyObject *payload;     /* see lazy_event_payload: a dict with further fields, or one value: with a target the result, else the receiver; or NULL */
    const uint64_t *values, *result; /* in place of the payload, if that was not asked for yet (record_values.h); or NULL */
    PyObject *file;        /* or NULL */
    PyObject *target_id;   /* an int, when somebody has asked for it */
    PyObject *event;       /* the dict, when somebody has */
    Id target, task;       /* 0: none */
    double time;           /* seconds */
    int line;              /* -1: unknown */
    int thread, process;
    unsigned char kind;
    uint64_t words[];      /* what lies there, if the brief is an object */
} LazyEvent;

extern PyTypeObject LazyEventType;
extern PyObject *event_kinds[KINDS]; /* their names (fields.c) */

PyObject *lazy_event_new(const LazyEvent *given);       /* of what was put together elsewhere, and is borrowed there */
PyObject *lazy_event_dict(const LazyEvent *lazy);      /* a new dict */
PyObject *event_to_dict(PyObject *event);        /* a new reference to the event of a brief; any other object itself */
PyObject *lazy_event_target(LazyEvent *lazy);          /* borrowed; NULL: it has no target, or an error */
void lazy_event_expand_values(LazyEvent *lazy);          /* they become a payload */

static inline bool is_lazy_event(const PyObject *event) { return Py_IS_TYPE((PyObject *)event, &LazyEventType); }

static inline PyObject *lazy_event_payload(LazyEvent *lazy) {
    if (lazy->payload == NULL && (lazy->values != NULL || lazy->result != NULL)) lazy_event_expand_values(lazy);
    return lazy->payload;
}

/* Its result, if there is nothing else in the payload; or NULL. */
static inline PyObject *lazy_event_result(LazyEvent *lazy) {
    PyObject *payload = lazy_event_payload(lazy);
    return payload != NULL && lazy->target && !PyDict_CheckExact(payload) ? payload : NULL;
}

/* The dict in which a field of an event is that depends on its kind, such as `args`; NULL: it has no such field, but perhaps a
   result alone. */
static inline PyObject *event_fields(PyObject *event) {
    if (!is_lazy_event(event)) return event;
    PyObject *payload = lazy_event_payload((LazyEvent *)event);
    return payload != NULL && PyDict_CheckExact(payload) ? payload : NULL;
}

PyObject *json_lines(PyObject *module, PyObject *args); /* json_lines.c */

#define JSON_LINES_METHODS \
    {"json_lines", json_lines, METH_VARARGS, "json_lines(events, ask)\n--\n\nEvents as lines; `ask` makes those that are unusual."},

#endif

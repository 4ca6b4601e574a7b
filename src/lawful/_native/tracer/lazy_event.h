/* Events of a tracer in brief: all that a law may ask of them, without the dict. See lazy_event.c. */
#ifndef LAWFUL_BRIEF_H
#define LAWFUL_BRIEF_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/record.h"

typedef struct {
    PyObject_VAR_HEAD
    PyObject *name;
    PyObject *class_name;  /* or NULL */
    PyObject *payload;     /* see brief_payload: a dict with further fields, or one value: with a target the result, else the receiver; or NULL */
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
} Brief;

extern PyTypeObject BriefType;
extern PyObject *event_kinds[KINDS];

int brief_setup(void);
PyObject *brief_new(const Brief *given);       /* of what was put together elsewhere, and is borrowed there */
PyObject *brief_dict(const Brief *brief);      /* a new dict */
PyObject *brief_event(PyObject *event);        /* a new reference to the event of a brief; any other object itself */
PyObject *brief_target(Brief *brief);          /* borrowed; NULL: there is none, or an error */
void brief_open_values(Brief *brief);          /* they become a payload */

static inline bool is_brief(const PyObject *event) { return Py_IS_TYPE((PyObject *)event, &BriefType); }

static inline PyObject *brief_payload(Brief *brief) {
    if (brief->payload == NULL && (brief->values != NULL || brief->result != NULL)) brief_open_values(brief);
    return brief->payload;
}

/* Its result, if there is nothing else in the payload; or NULL. */
static inline PyObject *brief_result(Brief *brief) {
    PyObject *payload = brief_payload(brief);
    return payload != NULL && brief->target && !PyDict_CheckExact(payload) ? payload : NULL;
}

/* The dict in which a field of an event is that depends on its kind, such as `args`; NULL: there are none, but perhaps a
   result alone. */
static inline PyObject *event_fields(PyObject *event) {
    if (!is_brief(event)) return event;
    PyObject *payload = brief_payload((Brief *)event);
    return payload != NULL && PyDict_CheckExact(payload) ? payload : NULL;
}

#endif

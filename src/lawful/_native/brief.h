/* Events of a tracer in brief: all that a law may ask of them, without the dict. See brief.c. */
#ifndef LAWFUL_BRIEF_H
#define LAWFUL_BRIEF_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "record.h"

typedef struct {
    PyObject_HEAD
    PyObject *name;
    PyObject *class_name;  /* or NULL */
    PyObject *payload;     /* a dict with further fields, or one value: with a target the result, else the receiver; or NULL */
    const uint64_t *values, *result; /* in place of the payload, while the brief is still being put together; or NULL */
    PyObject *file;        /* or NULL */
    PyObject *target_id;   /* an int, when somebody has asked for it */
    PyObject *event;       /* the dict, when somebody has */
    Id target;             /* 0: none */
    double time;           /* seconds */
    int line;              /* -1: unknown */
    int thread, process;
    unsigned char kind;
} Brief;

extern PyTypeObject BriefType;
extern PyObject *event_kinds[KINDS];

int brief_setup(void);
PyObject *brief_new(const Brief *given);       /* of what was put together elsewhere, and is borrowed there */
PyObject *brief_dict(const Brief *brief);      /* a new dict */
PyObject *brief_event(PyObject *event);        /* a new reference to the event of a brief; any other object itself */
PyObject *brief_target(Brief *brief);          /* borrowed; NULL: there is none, or an error */

static inline bool is_brief(const PyObject *event) { return Py_IS_TYPE((PyObject *)event, &BriefType); }

/* Its result, if there is nothing else in the payload; or NULL. */
static inline PyObject *brief_result(const Brief *brief) {
    return brief->payload != NULL && brief->target && !PyDict_CheckExact(brief->payload) ? brief->payload : NULL;
}

/* The dict in which a field of an event is that depends on its kind, such as `args`; NULL: there are none, but perhaps a
   result alone. */
static inline PyObject *event_fields(PyObject *event) {
    if (!is_brief(event)) return event;
    PyObject *payload = ((Brief *)event)->payload;
    return payload != NULL && PyDict_CheckExact(payload) ? payload : NULL;
}

#endif

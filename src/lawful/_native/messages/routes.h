/* What is known of messages in queues: who reads, and what a message is between two (routes.c). */
#ifndef LAWFUL_ROUTES_H
#define LAWFUL_ROUTES_H

#include "messages/inline_check.h"
#include "tracer/tracer.h"

typedef struct {
    PyObject_HEAD
    PyObject *task;     /* that read last: a weak reference, or None */
    PyObject *party;    /* or None: nobody has read yet */
    PyObject *early_senders, *specs_by_name, *reported; /* Python's */
    PyObject *routes;     /* a dict of dicts of ways, by names of messages and by senders */
    PyObject *shared_routes;    /* the same, by who takes them, if it is shared */
    char shared;
    char standard;      /* is a queue as asyncio makes them? */
    signed char next;   /* which message is taken next: FIRST, LAST, or UNKNOWN_NEXT */
} QueueReader;

enum { UNKNOWN_NEXT, FIRST, LAST };

/* Events with all their keys, but not all their values: to copy a dict is cheaper than to fill one. */
typedef struct {
    PyObject *events[MAX_EVENTS]; /* or NULL: not made yet */
    uint32_t place;                /* whose file and line they have */
    Id task;                       /* whose id they have */
} EventTemplates;

typedef struct {
    PyObject_HEAD
    PyObject *headers;       /* a tuple of dicts: how the events begin */
    PyObject *parameters;  /* a tuple: how the view calls the arguments */
    const void *target;    /* the address of who is called, only compared; NULL: nobody knows */
    InlineStep *steps;           /* what laws make of it, if it can be judged without an event */
    int step_count;
    char shared;           /* several read from the queue that it leads to */
    unsigned long version; /* of the laws */
    EventTemplates plain, objects;  /* without objects among the arguments, and with some; behind what each message needs */
} Route;

/* The forms, as they are at this place and in this task. */
int route_templates(Tracer *tracer, Route *route, EventTemplates *templates, uint32_t place, Id task);

#endif

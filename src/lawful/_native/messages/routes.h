/* Readers of queues, and routes of messages (routes.c). */
#ifndef LAWFUL_ROUTES_H
#define LAWFUL_ROUTES_H

#include "messages/inline_check.h"
#include "tracer/tracer.h"

#define READER_REFS 7

typedef struct {
    PyObject_HEAD
    /* References, from `task` to `shared_routes`: */
    PyObject *task;     /* the last reader: a weak reference, or None */
    PyObject *party;    /* the group of the reader; None: nobody has read yet */
    PyObject *early_senders, *specs_by_name, *reported; /* only Python uses these */
    PyObject *routes;   /* a dict of dicts of routes, by names of messages and by senders */
    PyObject *shared_routes; /* the same for several readers, by names and by readers */
    char shared;
    char standard;      /* is it a queue of asyncio's own classes? */
    signed char next;   /* which message is taken next: FIRST, LAST, or UNKNOWN_NEXT */
} QueueReader;

enum { UNKNOWN_NEXT, FIRST, LAST };

typedef struct {
    PyObject_HEAD
    PyObject *headers;     /* a tuple of dicts: the first keys of each event */
    PyObject *parameters;  /* a tuple: the names of the arguments in the view */
    const void *target;    /* the address of the called object, only compared; NULL: not known */
    InlineStep *steps;     /* of the laws, or NULL: the message needs its events */
    int step_count;
    char shared;           /* several tasks read from its queue */
    unsigned long version; /* of the laws */
} Route;

#endif

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

typedef struct {
    PyObject_HEAD
    PyObject *headers;       /* a tuple of dicts: how the events begin */
    PyObject *parameters;  /* a tuple: how the view calls the arguments */
    const void *target;    /* the address of who is called, only compared; NULL: nobody knows */
    InlineStep *steps;           /* what laws make of it, if it can be judged without an event */
    int step_count;
    char shared;           /* several read from the queue that it leads to */
    unsigned long version; /* of the laws */
} Route;

#endif

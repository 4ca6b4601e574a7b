/* Messages that are judged where they are sent, without an event. See inline_check.c. */
#ifndef LAWFUL_INLINE_CHECK_H
#define LAWFUL_INLINE_CHECK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define MAX_EVENTS 8     /* of one message */
#define MAX_STEPS 16     /* steps of laws that one message is */
#define MAX_DEFERRED 4096   /* that wait until somebody asks for them */
#define PRUNE_AT 512    /* so many are sorted out: what lies in few places stays near at hand */
#define MAX_MARKED 64    /* arguments of a message with objects among them */

/* A law's step for one of a message's events. */
typedef struct {
    PyObject *machine;
    int terminal, event;
    PyObject *key;   /* of the group; the event's beginning keeps it alive */
    PyObject *group; /* where it stands, as far as that is known, or NULL */
} InlineStep;

/* What is judged, and what is kept of it in case that somebody asks. */
typedef struct {
    PyObject *headers;          /* a tuple of dicts: how the events begin */
    PyObject *values;         /* a tuple: behind the first ones, the arguments; of objects their ids */
    Py_ssize_t first;
    uint64_t objects;         /* which arguments are objects, as a mask */
    PyObject *file;
    int line, thread, process;
    unsigned long long task;  /* 0: there is none */
    double time;
} MessageData;

typedef struct {
    PyObject_HEAD
    char enabled;                /* may messages be judged here now? */
    unsigned long version;    /* of the laws: what was found out before it changed holds no more */
    struct DeferredData *deferred;       /* what letters are made of, if they may be asked for */
    struct DeferredData *spare;       /* room for as many, or NULL */
    int used, prune_at;        /* how many there are, and at how many they are sorted out */
    int count;                /* of all that came since somebody has asked */
    int max_per_group, max_overall;         /* how many of each group, and of all, may be asked for */
    int thread;               /* the highest number so far */
    double seconds;             /* seconds of judging, nearly */
} InlineCheck;

extern PyTypeObject InlineCheckType, DeferredEventType;

/* The turns of a message, or NULL with an error; 0 of them for None. */
int inline_steps_new(PyObject *given, PyObject *headers, InlineStep **steps);
void inline_steps_free(InlineStep *steps, int count);

/* 1: judged, and nothing to be said against it; 0: an event must be made, and nothing has changed; -1: error */
int inline_check_message(InlineCheck *inline_check, InlineStep *steps, int count, const MessageData *message);

/* One of the events of a message, without thread and time; a new reference. Keys are in the order that all events have. */
PyObject *message_event(const MessageData *message, int event);

/* The group of a deferred event; borrowed. */
PyObject *deferred_event_group(PyObject *self);

#endif

/* Messages that are checked where they are sent, without an event (inline_check.c). */
#ifndef LAWFUL_INLINE_CHECK_H
#define LAWFUL_INLINE_CHECK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define MAX_EVENTS 8     /* of one message */
#define MAX_DEFERRED 4096 /* deferred events that are kept */
#define PRUNE_AT 512     /* at so many they are pruned: little memory stays in the processor's cache */
#define MAX_MARKED 64    /* most arguments of a message that has objects among them */

/* A law's step for one of a message's events. */
typedef struct {
    PyObject *machine;
    int terminal, event;
    PyObject *key;   /* of the group; the header keeps it alive */
    PyObject *group; /* the group's state in the machine, or NULL: not known yet */
} InlineStep;

/* A message: what laws check, and what its events say. */
typedef struct {
    PyObject *headers;        /* a tuple of dicts: the first keys of each event */
    PyObject *values;         /* a tuple: from `first` on, the arguments; objects are ids */
    Py_ssize_t first;
    uint64_t objects;         /* which arguments are objects, as a mask */
    PyObject *file;
    int line, thread, process;
    unsigned long long task;  /* 0: not in a task */
    double time;
} MessageData;

typedef struct {
    PyObject_HEAD
    char enabled;             /* may messages be checked now? */
    unsigned long version;    /* of the laws: steps of another version are invalid */
    struct DeferredData *deferred;
    int used, prune_at;       /* entries of `deferred`, and at how many they are pruned next */
    int count;                /* of checked messages since the last `take` */
    int max_per_group, max_overall; /* how many of the last ones to keep */
    int thread;               /* the highest number of a sending thread */
    double seconds;           /* that the checks took, estimated */
} InlineCheck;

extern PyTypeObject InlineCheckType, DeferredEventType;

/* How many steps a message has, -1 on error; None has 0. */
int inline_steps_new(PyObject *given, PyObject *headers, InlineStep **steps);
void inline_steps_free(InlineStep *steps, int count);

/* 1: no law is broken; 0: the events must be made, and nothing has changed; -1: error. */
int inline_check_message(InlineCheck *inline_check, InlineStep *steps, int count, const MessageData *message);

/* One of the events of a message, without thread and time; a new reference. Keys are in the order that all events have. */
PyObject *message_event(const MessageData *message, int event);

/* The group of a deferred event; borrowed. */
PyObject *deferred_event_group(PyObject *self);

#endif

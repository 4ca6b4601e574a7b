/* The message cache (message_cache.c), and what messages.c and group_calls.c share. */
#ifndef LAWFUL_MESSAGE_CACHE_H
#define LAWFUL_MESSAGE_CACHE_H

#include "messages/messages.h"
#include "messages/routes.h"

#define RECENT 256       /* recently used entries of each table, by address: a power of two */
#define HITS 256         /* recently used routes: a power of two */
#define RECENT_NAMES 64  /* recently used names of messages: a power of two */
#define RECENT_IDS 16    /* recently used ids of tasks' objects, as Python integers: a power of two */

enum { PUT, GET, TAKE, NONE_OF_THEM }; /* functions of asyncio's queues */

/* Tables of the cache, in the order in which Python passes them: */
enum {
    READERS,             /* of queues */
    PARTIES,             /* of tasks */
    CLASSES,             /* of classes: do events show their objects by ids? */
    SHAPES,              /* of classes whose objects are messages: (name, names of fields) */
    UNGROUPED_CODE,           /* of code whose tasks are in no group, unless by their names: the class of whose method it is; if it is
                            nobody's, None, or a tuple of the class of its first argument, on which that depends */
    CALLER_ROLES,        /* of code: a table from the class of its object to a role (group_calls.c) */
    ENTRY_POINTS,        /* of functions of the program whose calls are messages */
    TABLES
};

/* A recently used route. */
typedef struct {
    PyObject *routes, *name, *party; /* only compared: the dict of dicts, and its keys */
    PyObject *route;
} RouteHit;

/* The fields that every message needs come first. */
struct MessageCache {
    PyObject_HEAD
    PyObject *put, *get, *take; /* code objects of asyncio's queues, or None */
    PyObject *inline_check; /* or None */
    char disabled;       /* ask Python always */
    char has_entries;    /* there are entry points: a method that puts a message may be reported as that message */
    char has_shared_queues; /* several tasks read from one queue */
    char has_group_calls; /* calls of entry points may be handled here */
    char plain_names;    /* names that asyncio gives put no task into a group */
    unsigned judged, missed; /* messages that were checked inline; and that were not, because events were waiting */
    unsigned patience;   /* how many may be missed before the events are delivered */
    unsigned flushed_at; /* `judged` when that happened last */
    struct {
        PyTypeObject *type; /* of queues, only compared */
        unsigned deaths;
    } plain[3];          /* classes of queues where nobody else watches `put`, `get` and `take` */
    struct {
        unsigned version; /* of the class of queues; 0: none yet */
        int index;
    } bound;             /* where queues of this class keep `_maxsize` */
    struct GroupCalls *group_calls; /* recently used roles and routes of calls, or NULL */
    struct {
        struct {
            PyObject *name, *specs; /* what messages of a name may be */
        } names[RECENT_NAMES];
        RouteHit hits[HITS];
        struct {
            PyObject *weak, *value; /* the entry */
        } recent[TABLES][RECENT];
        PyObject *ids[RECENT_IDS];
        PyObject *tables[TABLES];
        PyObject *specs;     /* a dict: what messages of a name may be; (): no view names it */
        PyObject *keys;      /* a tuple: keys under which a dict has the name of its message */
        PyObject *matches;   /* a tuple of functions: does the name of a task put it into a group? */
    } refs;                  /* strong references and nothing else, or NULL */
};

/* The value that a table has for an object; borrowed; NULL: nothing. */
PyObject *cache_lookup(MessageCache *cache, int table, PyObject *key);
/* Is this the entry of an object? */
static inline bool is_entry_of(PyObject *entry, const void *key) {
    PyObject *weak = PyTuple_GET_ITEM(entry, 0);
    return PyWeakref_Check(weak) && ((PyWeakReference *)weak)->wr_object == key;
}
/* Completes a message whose task, and arguments as they are in the program, are set already: they become what events have.
   If it `spreads`, a tuple among the arguments is not one argument. false: ask Python. */
bool message_fill(Tracer *tracer, MessageCache *cache, MessageData *message, const Route *route, uint32_t place, bool spreads);
/* 1: checked, and no law is broken; 0: the message needs its events; -1: an internal error. */
int message_check_inline(Tracer *tracer, MessageCache *cache, Route *route, MessageData *message);
/* Deliver the waiting events that prevent inline checks, if too many were missed. Passes an answer on. */
int message_flush_soon(Tracer *tracer, MessageCache *cache, int answer);
uint32_t message_place(Tracer *tracer, RunFrame *frame); /* where the program is; a fast function_place */
int message_fault(Tracer *tracer);                       /* an internal error */
bool cache_is_outdated(MessageCache *cache, unsigned long version); /* have laws changed since? */

static inline bool cache_is_plain(const MessageCache *cache, int which, const PyTypeObject *type) {
    return cache->plain[which].type == type && cache->plain[which].deaths == plan_deaths;
}

/* Does `get` call `take`? Then the read was handled when `get` began. */
static inline bool cache_is_called_by_get(const MessageCache *cache, RunFrame *frame) {
    RunFrame *caller = frame_caller(frame);
    return caller != NULL && (PyObject *)frame_code(caller) == cache->get;
}

/* Can the start of this code be ignored? Tests only the most frequent case. */
static inline bool message_is_ignored(Tracer *tracer, const PyObject *code) {
    const MessageCache *cache = tracer->message_cache;
    if (code != cache->take || cache->has_shared_queues || cache->disabled || !tracer->running || tracer->broken) return false;
    RunFrame *frame = frame_current(frame_thread(tracer->interpreter));
    const PyObject *queue = frame->localsplus[0];
    return queue != NULL && cache_is_plain(cache, TAKE, Py_TYPE(queue)) && cache_is_called_by_get(cache, frame) && !is_suspended(tracer);
}

/* An entry point of the program starts. Answers as message_start. */
int group_call_start(Tracer *tracer, MessageCache *cache, CodeInfo *info, RunFrame *frame);
void group_calls_clear(MessageCache *cache);

#endif

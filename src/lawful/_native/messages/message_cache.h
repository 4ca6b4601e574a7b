/* What is known of messages, as far as the C core sees to them itself (messages.c, group_calls.c). */
#ifndef LAWFUL_MESSAGE_CACHE_H
#define LAWFUL_MESSAGE_CACHE_H

#include "messages/messages.h"
#include "messages/routes.h"

#define RECENT 256       /* entries of a table that were met last, by the addresses of their objects: a power of two */
#define HITS 256         /* ways that were found last: a power of two */
#define RECENT_NAMES 64  /* names of messages that were met last: a power of two */
#define RECENT_IDS 16    /* ids of objects whose methods tasks run, as numbers of Python: a power of two */

enum { PUT, GET, TAKE, NONE_OF_THEM }; /* functions of asyncio's queues */

/* Dicts as tables.py has them: */
enum {
    READERS,             /* of queues; */
    PARTIES,             /* of tasks; */
    CLASSES,             /* of classes whose objects stand in events by their ids; */
    SHAPES,              /* of classes whose objects are messages: a tuple of a name and the names of fields */
    UNGROUPED_CODE,           /* of code whose tasks are in no group, unless by their names: the class of whose method it is; if it is
                            nobody's, None, or a tuple of the class of its first argument, on which that depends */
    CALLER_ROLES,              /* of code: a table of classes, of whose objects it is a method, perhaps (group_calls.c); */
    ENTRY_POINTS,               /* of code that is called with messages */
    TABLES
};

/* What each message asks for lies together, in front. */
struct MessageCache {
    PyObject_HEAD
    PyObject *put, *get, *take; /* code of asyncio's queues, or None */
    PyObject *inline_check;     /* where messages are judged without events, or None */
    char disabled;          /* Python must look at everything */
    char has_entries;        /* some code of the program's own is told of as messages: what it puts may have been told already */
    char has_shared_queues;        /* several read from a queue */
    char has_group_calls;          /* there are doors */
    char plain_names;    /* do none of the names that asyncio gives put a task into a group? */
    unsigned judged, missed; /* there; and not there, only because events were waiting */
    unsigned patience;   /* how many of these there may be */
    unsigned flushed_at;   /* how many were judged when there were too many last */
    struct {
        PyTypeObject *type; /* of queues, only compared */
        unsigned deaths;
    } plain[3];          /* where nothing else is wanted of `put`, `get` and `take` */
    struct {
        unsigned version; /* of the class of queues; 0: none yet */
        int index;
    } bound;             /* where queues of this class keep how much they hold at most */
    struct {
        PyObject *name, *specs; /* strong references; what it may be */
    } names[RECENT_NAMES];
    struct {
        PyObject *routes, *name, *party; /* strong references, only compared: the dict of dicts, and its keys */
        Route *route;
    } hits[HITS];
    struct {
        PyObject *weak, *value; /* strong references: what an entry of the table has */
    } recent[TABLES][RECENT];
    PyObject *ids[RECENT_IDS]; /* or NULL */
    PyObject *tables[TABLES];
    struct GroupCalls *group_calls; /* calls that were met last, or NULL */
    PyObject *specs;     /* a dict: what messages of a name may be; (): nothing */
    PyObject *keys;      /* a tuple: by which of these a dict has the name of a message */
    PyObject *matches;   /* a tuple: what tells whether the name of a task puts it into a group */
};

/* What a table has of an object; borrowed; NULL: nothing. */
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
/* Deliver the events that keep others from being judged without: soon, if that is seldom so. Passes an answer on. */
int message_flush_soon(Tracer *tracer, MessageCache *cache, int answer);
uint32_t message_place(Tracer *tracer, RunFrame *frame); /* as function_place, which is slow */
int message_fault(Tracer *tracer);                       /* something of ours failed */
bool cache_is_outdated(MessageCache *cache, unsigned long version);  /* have laws come or gone since? Then Python finds out anew */

static inline bool cache_is_plain(const MessageCache *cache, int which, const PyTypeObject *type) {
    return cache->plain[which].type == type && cache->plain[which].deaths == plan_deaths;
}

/* Does asyncio itself call `take`, for who waits? That was looked at when it began. */
static inline bool cache_is_called_by_get(const MessageCache *cache, RunFrame *frame) {
    RunFrame *caller = frame_caller(frame);
    return caller != NULL && (PyObject *)frame_code(caller) == cache->get;
}

/* Is nothing to be seen where this code starts? Only what it takes to say yes in the most frequent case. */
static inline bool message_is_ignored(Tracer *tracer, const PyObject *code) {
    const MessageCache *cache = tracer->message_cache;
    if (code != cache->take || cache->has_shared_queues || cache->disabled || !tracer->running || tracer->broken) return false;
    RunFrame *frame = frame_current(frame_thread(tracer->interpreter));
    const PyObject *queue = frame->localsplus[0];
    return queue != NULL && cache_is_plain(cache, TAKE, Py_TYPE(queue)) && cache_is_called_by_get(cache, frame) && !is_suspended(tracer);
}

/* A function of the program's own starts that may be a message. As post_start. */
int group_call_start(Tracer *tracer, MessageCache *cache, CodeInfo *info, RunFrame *frame);
void group_calls_clear(MessageCache *cache);

#endif

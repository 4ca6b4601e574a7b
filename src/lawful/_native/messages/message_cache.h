/* What is known of messages, as far as the C core sees to them itself (messages.c, group_calls.c). */
#ifndef LAWFUL_POST_H
#define LAWFUL_POST_H

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
    STRANGERS,           /* of code whose tasks are in no group, unless by their names: the class of whose method it is; if it is
                            nobody's, None, or a tuple of the class of its first argument, on which that depends */
    OWNERS,              /* of code: a table of classes, of whose objects it is a method, perhaps (group_calls.c); */
    DOORS,               /* of code that is called with messages */
    TABLES
};

/* What each message asks for lies together, in front. */
struct Post {
    PyObject_HEAD
    PyObject *put, *get, *take; /* code of asyncio's queues, or None */
    PyObject *court;     /* where messages are judged without events, or None */
    char rests;          /* Python must look at everything */
    char entries;        /* some code of the program's own is told of as messages: what it puts may have been told already */
    char sharing;        /* several read from a queue */
    char calls;          /* there are doors */
    char plain_names;    /* do none of the names that asyncio gives put a task into a group? */
    unsigned judged, missed; /* there; and not there, only because events were waiting */
    unsigned patience;   /* how many of these there may be */
    unsigned hastened;   /* how many were judged when there were too many last */
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
        PyObject *ways, *name, *party; /* strong references, only compared: the dict of dicts, and its keys */
        Way *way;
    } hits[HITS];
    struct {
        PyObject *weak, *value; /* strong references: what an entry of the table has */
    } recent[TABLES][RECENT];
    PyObject *ids[RECENT_IDS]; /* or NULL */
    PyObject *tables[TABLES];
    struct Crossings *crossings; /* calls that were met last, or NULL */
    PyObject *specs;     /* a dict: what messages of a name may be; (): nothing */
    PyObject *keys;      /* a tuple: by which of these a dict has the name of a message */
    PyObject *matches;   /* a tuple: what tells whether the name of a task puts it into a group */
};

/* What a table has of an object; borrowed; NULL: nothing. */
PyObject *post_known(Post *post, int table, PyObject *key);
/* Is this the entry of an object? */
static inline bool is_entry_of(PyObject *entry, const void *key) {
    PyObject *weak = PyTuple_GET_ITEM(entry, 0);
    return PyWeakref_Check(weak) && ((PyWeakReference *)weak)->wr_object == key;
}
/* Arguments, in a tuple from its place `first` on, with data as it is in events: in another tuple, if need be. `objects`: which of
   them are objects, as a mask. If it `spreads`, a tuple among them is not one argument. false: Python must see to them */
bool post_read(Post *post, PyObject **said, Py_ssize_t *first, uint64_t *objects, bool spreads);
/* 1: nobody wants to see the event of this message; 0: somebody may; -1: a fault. Its arguments are in a tuple, from its place
   `first` on; task: 0, if there is none */
int post_judge(Tracer *tracer, Post *post, Way *way, PyObject *item, Py_ssize_t first, uint64_t objects, uint32_t place, Id task);
/* Deliver the events that keep others from being judged without: soon, if that is seldom so. Passes an answer on. */
int post_hasten(Tracer *tracer, Post *post, int answer);
uint32_t post_place(Tracer *tracer, RunFrame *frame); /* as function_place, which is slow */
int post_fault(Tracer *tracer);                       /* something of ours failed */
bool post_is_old(Post *post, unsigned long version);  /* have laws come or gone since? Then Python finds out anew */

static inline bool post_is_plain(const Post *post, int which, const PyTypeObject *type) {
    return post->plain[which].type == type && post->plain[which].deaths == plan_deaths;
}

/* Does asyncio itself call `take`, for who waits? That was looked at when it began. */
static inline bool post_is_called_by_get(const Post *post, RunFrame *frame) {
    RunFrame *caller = frame_caller(frame);
    return caller != NULL && (PyObject *)frame_code(caller) == post->get;
}

/* Is nothing to be seen where this code starts? Only what it takes to say yes in the most frequent case. */
static inline bool post_passes(Tracer *tracer, const PyObject *code) {
    const Post *post = tracer->post;
    if (code != post->take || post->sharing || post->rests || !tracer->running || tracer->broken) return false;
    RunFrame *frame = frame_current(frame_thread(tracer->interpreter));
    const PyObject *queue = frame->localsplus[0];
    return queue != NULL && post_is_plain(post, TAKE, Py_TYPE(queue)) && post_is_called_by_get(post, frame) && !is_suspended(tracer);
}

/* A function of the program's own starts that may be a message. As post_start. */
int crossing_start(Tracer *tracer, Post *post, CodeInfo *info, RunFrame *frame);
void crossings_clear(Post *post);

#endif

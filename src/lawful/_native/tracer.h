/* The C tracer: what its files share. The Python twin is lawful/sources/python/pytracer.py; the two behave alike.

   identity.c   ids of objects, and their deaths
   encode.c     values as parts of events
   record.h     how compact records lie in memory
   record.c     the buffer of them, and events made from them
   sink.c       events as numbers, for the learner
   sample.c     which objects are told of, and what sleeps meanwhile
   plan.c       what is known about code objects and callees, asked of Python once
   probe.c      what happens before, after and instead of the end of a probed instruction, and what probe.h names beside it
   function.c   starts and ends of functions that report themselves
   quick.h      the same, of what is most frequent
   monitoring.c delivery by sys.monitoring (3.12 and newer)
   profile.c    delivery by PyEval_SetProfile and PyEval_SetTrace (3.11)
   exchange.c   messages in queues, as far as nothing new is to be found out about them
   tracer.c     the Python type */
#ifndef LAWFUL_TRACER_H
#define LAWFUL_TRACER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#include "frame.h"
#include "record.h"

#ifndef LAWFUL_NO_TRACER

/* Numbers that lawful/sources/python/model.py knows: Operation, */
enum {
    OP_CALL, OP_CALL_EX, OP_ENTER, OP_EXIT_RAISED, OP_ASYNC_ENTER, OP_ITER, OP_NEXT, OP_ASYNC_ITER, OP_ASYNC_NEXT,
    OP_AWAIT, OP_CONTAINS, OP_GET_ITEM, OP_SET_ITEM, OP_DELETE_ITEM, OP_GET_SLICE, OP_SET_SLICE, OP_GET_FIELD,
    OP_SET_FIELD, OP_DELETE_FIELD, OP_BINARY, OP_COMPARE, OP_UNARY, OPERATIONS
};
/* and Want. */
enum {
    WANT_PRE = 1, WANT_POST = 2, WANT_RAISE = 4, WANT_NEW = 8, WANT_ARGS = 16, WANT_RESULT = 32, WANT_READ = 64,
    WANT_WRITE = 128, WANT_NEXT = 256, WANT_YIELD = 512, WANT_CALLEE_SIDE = 1024, WANT_RECEIVER = 2048,
    WANT_EXIT = 4096, WANT_SITE = 8192, WANT_BIRTH = 1 << 26, WANT_STACK = 1 << 27, WANT_HAND = 1 << 28,
    WANT_HAND_END = 1 << 29
};
#define WANT_END (WANT_POST | WANT_RAISE | WANT_NEW | WANT_HAND_END)
/* The same events, for the learner. */
#define LEARN_SHIFT 14
#define LEARN(wants) ((wants) << LEARN_SHIFT)
#define WANT_LEARN LEARN(WANT_PRE | WANT_NEW | WANT_READ | WANT_WRITE)
/* What is told otherwise. */
#define WANT_TOLD \
    (WANT_END | WANT_PRE | WANT_READ | WANT_WRITE | WANT_NEXT | WANT_YIELD | WANT_EXIT | WANT_BIRTH | WANT_HAND)

#define CELL_KIND 0x40 /* CO_FAST_CELL: a local variable is in a cell */

typedef struct Tracer Tracer;
typedef struct Callee Callee;

/* ---- ids (identity.c) -------------------------------------------------------------------------------------------- */

int identity_setup(void);
Id identity_anew(Tracer *tracer, PyObject *object); /* of an object that may have none yet; 0 with an exception set */

/* Values of these types stand for themselves. */
static inline bool is_primitive(const PyTypeObject *type) {
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
           type == Py_TYPE(Py_None);
}

static inline bool identity_needed(PyObject *object) { return !is_primitive(Py_TYPE(object)); }

/* Objects by address. */
typedef struct {
    void *key;          /* NULL: free */
    Id id;              /* 0: none yet */
} IdEntry;
extern IdEntry *identity_entries;
extern size_t identity_mask;

/* Objects that lie together, as those do that were made together, are together here, too. */
static inline size_t identity_home(const void *key, size_t mask) {
    return (((uintptr_t)key >> 4) ^ ((uintptr_t)key >> 20) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & mask;
}

/* It will be asked for soon. */
static inline void identity_prefetch(PyObject *object) {
#if defined(__GNUC__)
    if (identity_entries != NULL) __builtin_prefetch(&identity_entries[identity_home(object, identity_mask)]);
#endif
}

/* 0 with an exception set. */
static inline Id identity_of(Tracer *tracer, PyObject *object) {
    if (identity_entries != NULL) {
        const IdEntry *entry = &identity_entries[identity_home(object, identity_mask)];
        if (entry->key == object && entry->id) return entry->id;
    }
    return identity_anew(tracer, object);
}

/* 0: it has none yet. */
static inline Id identity_known(const PyObject *object) {
    if (identity_entries == NULL) return 0;
    for (size_t i = identity_home(object, identity_mask);; i = (i + 1) & identity_mask) {
        const IdEntry *entry = &identity_entries[i];
        if (entry->key == object) return entry->id;
        if (entry->key == NULL) return 0;
    }
}

int identity_name(Tracer *tracer, PyObject *object); /* the death of an object that has an id will be told */
void identity_base(Id base);               /* ids go on from here: a child process has its own */
uint32_t identity_high(void);              /* the upper half of those that are given now */
int identity_watch(Tracer *tracer);        /* is told of deaths from now on */
void identity_unwatch(Tracer *tracer);     /* when nobody watches, everything is forgotten and undone */

/* ---- samples (sample.c) -------------------------------------------------------------------------------------------- */

typedef struct CodeInfo CodeInfo;

/* Objects that are sampled by one coin. It lives as long as the tracer. */
typedef struct Group {
    struct Group *next;
    long number;
    uint64_t bit;          /* in masks of groups; 0: there are too many, and this one never sleeps */
    uint64_t coin;         /* where its splitmix64 is */
    double rate;
    int64_t budget;        /* below 0: without end */
    uint64_t born, taken;
    int64_t alive;         /* samples whose end was not told */
    int64_t fruitless;     /* how often its places told of nothing, since the last sample died */
    int64_t patience;      /* how often that may be: about what it cost to wake them last time, or a guess */
    bool woken;            /* it is no guess */
    double visits, births; /* how often that was, and how many were born meanwhile */
    unsigned sleeps;       /* how often it fell asleep */
} Group;

typedef struct {
    PyObject *key;         /* NULL: free; borrowed, it dies before its place is used again */
    Id id;
    Group *group;
} Sample;

#define FILTER_BITS 512    /* a line of memory */

typedef struct {
    Sample *entries;       /* or NULL */
    size_t mask, used;
    uint64_t filter[FILTER_BITS / 64]; /* by address: where there is no bit, there is no sample */
} Samples;

static inline size_t filter_bit(const void *key) {
    return ((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 55;
}

Group *sample_group(Tracer *tracer, long number);             /* NULL with an exception */
int sample_set(Tracer *tracer, Group *group, double rate, int64_t budget);
void sample_release(Tracer *tracer, Group *group);            /* none of its objects is a sample any more */
void sample_seed(Tracer *tracer, uint64_t seed);
void sample_fork(Tracer *tracer, uint64_t process);
bool sample_flip(Tracer *tracer, Group *group);               /* a life begins: is it a sample? */
/* It is: from now on it has an id, and all is told of it, first `born`. The frame is the one that makes it. The id is 0 if
   something of ours failed; -1: an exception goes on into the program. */
int sample_take(Tracer *tracer, Callee *callee, PyObject *object, uint32_t place, RunFrame *frame, Id *id);
/* An object dies. NULL: it was no sample. */
Group *sample_lost(Tracer *tracer, PyObject *object);
void sample_gone(Tracer *tracer, Group *group);               /* and this has been told */
void sample_clear(Tracer *tracer);                            /* no object is a sample any more */
void sample_forget(Tracer *tracer);                           /* everything */
/* A place of these groups met no sample. Nobody's time is to be wasted. */
void sample_drowse(Tracer *tracer, uint64_t groups);
void sample_sleeps(Tracer *tracer, CodeInfo *info);           /* something in it is switched off */
void sample_unlink(CodeInfo *info);
void sample_cost(Tracer *tracer, CodeInfo *info, uint64_t groups); /* it would have to be woken, too */
int64_t cpu_time(void);                                       /* of this thread, in nanoseconds */

/* ---- callees and code (plan.c) ------------------------------------------------------------------------------------ */

/* What is known about a function with a type of receiver. There is one for each name, class name and wants, and it
   lives as long as the tracer: their number is that of the names in the program. */
struct Callee {
    struct Callee *next;
    PyObject *name;         /* NULL: it is not wanted */
    PyObject *class_name;   /* of the receiver's type, or NULL */
    int wants;
    uint32_t number;        /* from 1 */
    uint32_t words[4];      /* the learner's numbers of its events, from 1; see sink.h */
    Group *group;           /* whose samples alone are told of; NULL: all is told */
    unsigned char plainly;  /* when its numbers are all there is to tell (quick.h) */
};

enum {
    PLAINLY_STARTS = 1,
    PLAINLY_CALLED = 2,     /* and nothing is told at its end */
    PLAINLY_ENDS = 4,
    /* And what is wanted then: */
    PLAINLY_PRE = 8, PLAINLY_END = 16, PLAINLY_RECEIVER = 32
};

/* An answer of the hash table, good until something dies that is in it. What is asked of the callee most often is here,
   too: it lies elsewhere in memory. */
typedef struct {
    const void *key;
    PyTypeObject *type;
    PyObject *qualname;     /* of functions whose key is their code: those that have this name */
    Callee *callee;
    unsigned deaths;
    uint32_t number;        /* of the callee */
    unsigned char plainly;
    bool primitive;         /* the type is one of values that have no ids */
} LastAnswer;

#define LAST_ANSWERS 4      /* that are kept, by type */

static inline size_t answer_home(const PyTypeObject *type) {
    return ((uintptr_t)type >> 5 ^ (uintptr_t)type >> 11) % LAST_ANSWERS;
}

/* Numbers of a place in the source, from 1: the tracer's and the learner's. */
typedef struct {
    uint32_t place, site;
} Spot;

typedef struct {
    /* What is asked each time comes first. */
    uint64_t groups;        /* that all belongs to that is wanted here; 0: other things may be wanted */
    Spot spot;
    int base;               /* from the frame's first variable */
    int value, owner;       /* the same, of what is there early */
    int offset, result;     /* in bytes; result may be -1 */
    int origin;             /* of the instruction itself */
    int count;
    unsigned char operation;
    bool early;             /* it is looked at one instruction before */
    bool quiet;             /* nothing that is wanted has this name */
    bool off;               /* the instruction is disabled, or could be */
    bool result_off;        /* the instruction where its result is seen is disabled */
    bool expects;           /* its result was asked for once */
    bool habit;             /* it is left alone if it calls nothing that is wanted for a while */
    bool busy;              /* it has called something that is wanted */
    uint8_t idle;           /* how often it called something else */
    bool plain;             /* a call, and no samples */
    bool bears;             /* objects of its groups may be told of here when they are new */
    PyObject *name;         /* or NULL */
    PyObject *keywords;     /* a tuple, or NULL */
    LastAnswer last_answers[LAST_ANSWERS]; /* what was called here last */
} Probe;

struct CodeInfo {
    /* What is asked each time comes first. */
    Tracer *tracer;
    struct CodeInfo *other;         /* of the same code, for another tracer */
    uint64_t groups;                /* that all it reports belongs to; 0: it may report other things */
    uint64_t all_groups;            /* and its probes */
    bool plain;                     /* it reports itself; whatever it is called on is in its first variable */
    bool unseen;                    /* its next start is to be told to `Wanted.on_seen` */
    bool by_self;                   /* it bears nothing, and its first variable is the receiver */
    bool apart;                     /* 3.12: its starts and ends are told to a tool of their own */
    bool own;
    int n_probes, units;
    Probe *probes;
    struct {
        int16_t probe, result;      /* numbers of probes from 1, or 0 */
        int16_t owner;              /* of an early probe about samples, and nothing else here: where its object lies; or -1 */
    } *at;                          /* by code unit */
    LastAnswer last_answers[LAST_ANSWERS]; /* the types of first arguments that it had last */
    struct CodeInfo *before, *after; /* of the same tracer */
    PyCodeObject *code;             /* borrowed: the info dies with it */
    PyObject *file;                 /* as events have it; of own code only */
    Callee *callee;                 /* on the callee side */
    Spot *spots;                    /* by code unit, or NULL */
    PyObject **texts;               /* the same, of places in stacks */
    int toggles;
    uint8_t idle;                   /* how often it started without an object to learn about */
    bool busy;                      /* it started with one */
    bool bears;                     /* lives of objects of its groups may begin where it starts */
    bool shared;                    /* 3.12: a tool of their own is told of its starts, too, which tell but that it runs */
    bool slept;                     /* something in it is switched off until one of its groups wakes */
    uint64_t probe_groups;          /* that all its probes belong to; 0: there are others */
    bool probes_bear;               /* one of them does */
    struct CodeInfo *sleeper_before, *sleeper_after;
};

int plan_setup(void);
extern unsigned plan_deaths; /* how often something died that an answer rests on */
/* Asks Python. NULL without an exception: it is of no interest. */
CodeInfo *plan_make(Tracer *tracer, PyCodeObject *code, PyObject *globals);
int plan_seen(Tracer *tracer, CodeInfo *info); /* it starts, for the first time since it was asked for */
Callee *plan_call(Tracer *tracer, LastAnswer *last_answers, PyObject *function, PyObject *key, PyTypeObject *receiver);
Callee *plan_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver);
/* What they would answer, if it is known. */
const LastAnswer *plan_known_call(Tracer *tracer, LastAnswer *last_answers, const void *key, PyObject *qualname, PyTypeObject *receiver);
const LastAnswer *plan_known_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver);
Callee *plan_operation(Tracer *tracer, LastAnswer *last_answers, PyObject *name, PyTypeObject *owner);
Callee *plan_field(Tracer *tracer, LastAnswer *last_answers, PyObject *name, PyTypeObject *owner);
PyObject *plan_class_name(Tracer *tracer, PyTypeObject *type);       /* a new reference */
Callee *plan_with_class(Tracer *tracer, Callee *callee, PyTypeObject *type);
void plan_forget(Tracer *tracer);                                    /* everything */
void plan_forget_numbers(Tracer *tracer);                            /* the learner's */
/* The numbers of a place; NULL with an exception. */
Spot *plan_spot(Tracer *tracer, PyCodeObject *code, int offset);
uint32_t plan_place(Tracer *tracer, Spot *spot, PyCodeObject *code, int offset); /* 0: there is no memory */
/* Calls a method with one argument or two. */
PyObject *plan_ask(PyObject *whom, PyObject *method, PyObject *first, PyObject *second);
/* Something is wanted that is called by this name: places where it is, and that were left alone, are looked at again. */
int plan_wanted_name(Tracer *tracer, PyObject *name);

/* ---- records (record.c) ------------------------------------------------------------------------------------------- */

/* Records in memory that is never moved. One chunk serves again and again as long as records are delivered in time. */
typedef struct RecordChunk {
    struct RecordChunk *next;
    size_t count, room;    /* in words */
    int64_t first, epoch;  /* ticks: of the first record, of the last epoch */
    uint64_t start;        /* how many words may have been written before it */
    uint32_t high;         /* see record_pack */
    bool large;
    /* In the order of their records: dicts with further fields, or only the receiver, which is a value; gone: the class
       name; emit: the event. */
    PyObject **payloads;
    size_t payload_count, payload_room;
    uint64_t words[];
} RecordChunk;

/* Takes over the reference to payload. Where it is a place to run Python code, the buffer is emptied when it is full;
   -1 with an exception that goes on into the program. */
int record_add(Tracer *tracer, int kind, Callee *callee, Id target, PyObject *payload, uint32_t place);
/* Never runs Python code. The group is that of a sample, or NULL. */
int record_gone(Tracer *tracer, Id id, PyObject *class_name, Group *group);
int record_emit(Tracer *tracer, PyObject *event);
int record_emit_all(Tracer *tracer, PyObject *events, uint32_t place); /* a list; they are delivered together */
/* The same, of events that have their places and tasks already; takes over the references. */
int record_messages(Tracer *tracer, PyObject **events, int count);
PyObject *record_task(Tracer *tracer); /* the asyncio task that is running in this thread, a new reference, or NULL */
int record_flush(Tracer *tracer, bool wait); /* for another thread's delivery */
void record_discard(Tracer *tracer);
int record_setup(void);

/* ---- signals -------------------------------------------------------------------------------------------------------- */

/* Handlers of signals that ran now would run inside Lawful: what they do would not be seen, and what they raise would be
   taken for a fault of ours. They are put off: as long as this thread does not count as the one that runs them, they stay
   pending. (Blocking signals is not enough: another thread of the program takes them.) */
typedef unsigned long Held;

static inline Held hold_signals(void) {
    Held thread = *signal_thread();
    if (thread != PyThread_get_thread_ident()) return 0;
    *signal_thread() = 0;
    return thread;
}

static inline void let_signals(Held held) {
    if (!held) return;
    *signal_thread() = held;
    signals_again(PyThreadState_Get());
}

/* ---- values (encode.c) -------------------------------------------------------------------------------------------- */

int encode_setup(void);
/* A dict to which args, argIds, kwargs, kwargIds are added as needed. The last arguments are by keyword. */
int encode_arguments(Tracer *tracer, PyObject *payload, PyObject *const *args, Py_ssize_t count, PyObject *keywords);
int encode_mapping(Tracer *tracer, PyObject *payload, PyObject *keywords); /* of `**keywords` */
PyObject *encode_primitive(PyObject *value); /* of a value that has no id */
int encode_value(Tracer *tracer, PyObject *payload, PyObject *value, PyObject *key, PyObject *id_key);
extern PyObject *text_res, *text_resultId, *text_target;

/* ---- pending calls and the events themselves (probe.c) ------------------------------------------------------------ */

typedef struct {
    Callee *callee;
    RunFrame *frame;
    PyObject *payload;     /* what its beginning had, or NULL */
    PyObject *token;       /* what `Wanted.hand` wants to be given back at its end, or NULL */
    PyTypeObject *type;    /* the class that is called, or NULL; borrowed, only compared */
    bool asks;             /* it makes no object, though a class is called */
    bool plain;            /* its numbers are all there is to tell at its end, unless the receiver dies */
    PyObject *gone;        /* the receiver has died meanwhile: its class name */
    Group *gone_group;     /* if it was a sample */
    Id target;
    uint64_t begun;        /* where its beginning was written, as `start` counts words; 0: that does not matter */
    uint32_t place;        /* that callee-side events have */
    int offset;            /* of the probe; callee side: -1 */
} Pending;

typedef struct {
    unsigned long serial;  /* of the tracer it belongs to */
    Pending *stack;
    int depth, room;
    uint16_t number;       /* from 1, in order of appearance */
    bool aside;            /* it does Lawful's own work */
    PyObject *exception;   /* 3.11: what is known about the last one, as `exception_payload` gives it */
} ThreadData;

ThreadData *thread_data_anew(Tracer *tracer);

int probe_setup(void);
/* 1: keep on telling; 0: this place is of no further interest; -1: an exception goes on into the program. */
int probe_before(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame);
int probe_result(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame);
int probe_raise(Tracer *tracer, CodeInfo *info, RunFrame *frame, int offset, PyObject *exception);
int function_start(Tracer *tracer, CodeInfo *info, RunFrame *frame);
uint32_t function_place(Tracer *tracer, RunFrame *frame); /* that its events have; 0: none */
int function_return(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *result);
int function_unwind(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *payload); /* takes it over */
PyObject *exception_payload(Tracer *tracer, const Pending *pending, PyObject *exception);
int function_yield(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *value);
int function_resume(Tracer *tracer, CodeInfo *info, RunFrame *frame);

/* ---- delivery (monitoring.c or profile.c) -------------------------------------------------------------------------- */

extern const char delivery_name[];
int delivery_setup(void);
PyObject *delivery_nothing(void);                    /* a callback that is empty, to measure what that costs; or None */
int delivery_begin(Tracer *tracer);                  /* before any code is planned */
int delivery_start(Tracer *tracer);
int delivery_stop(Tracer *tracer);
int delivery_plan(Tracer *tracer, CodeInfo *info);   /* events of this code object are wanted from now on */
int delivery_again(Tracer *tracer, CodeInfo *info);  /* what was switched off in it is wanted again */
int delivery_wake(Tracer *tracer, CodeInfo *info);   /* the same, for what slept */
int delivery_woken(Tracer *tracer);                  /* some groups are awake that were not */
int delivery_rearm(Tracer *tracer, CodeInfo *info);  /* its next start is to be told */

/* ---- the tracer (tracer.c) ------------------------------------------------------------------------------------------ */

#define MOST_TRACERS 6
#define CALLEE_BUCKETS 512
#define SPOTS 64
#define CALLERS 256

struct Tracer {
    PyObject_HEAD
    /* What each callback asks for comes first. */
    bool running, broken;
    bool plain;                /* records are kept until there are enough of them, however many that is */
    bool tasks;                /* a coroutine was seen */
    int asides;                /* threads that do Lawful's own work */
    int slot;                  /* among the running tracers, -1 if it does not run */
    uint32_t until, period;    /* one callback of so many is timed, the one after so many more */
    unsigned long serial;
    RecordChunk *last_chunk;   /* the newest */
    Py_ssize_t count, flush_at;
    struct Post *post;         /* knows messages in queues, or NULL */
    PyInterpreterState *interpreter;
    uint64_t slow;             /* callbacks before instructions that are slower for it */
    uint64_t alive;            /* groups that have samples alive, as a mask */
    PyObject *wanted, *deliver;
    PyObject *fault;           /* an exception, or NULL */
    RecordChunk *chunks;       /* the oldest */
    RecordChunk *spare;
    Py_ssize_t limit;
    uint64_t taken;            /* records that were delivered, or discarded */
    uint64_t position;         /* no chunk that was begun later starts before this */
    uint64_t dropped;
    bool synchronous, gone;
    bool escaped;              /* what is wanted may be called through variables */
    PyObject *called;          /* by which names something was called that is wanted, or NULL */
    int64_t first_tick, first_time; /* ticks, and nanoseconds since `began`, at the start */
    double tick;               /* its length in nanoseconds */
    double last_time;          /* of the last event that was delivered, in nanoseconds */
    int before_slot;           /* of the tracer that this one follows, or -1 */
    unsigned long before_serial;
    int64_t began;
    int process;               /* 0: the one that was started */
    uint16_t threads;
    PyThread_type_lock delivering;
    unsigned long deliverer;   /* the thread that holds the lock, or 0 */
    CodeInfo *infos;
    struct Slot *slots;        /* hash table of plan.c */
    size_t slot_mask, slot_count;
    Callee *callees[CALLEE_BUCKETS];
    Callee **callee_list;      /* by number */
    uint32_t callee_count, callee_room;
    struct {
        PyObject *file;
        int line;              /* -1: unknown */
    } *place_list;             /* by number */
    uint32_t place_count, place_room;
    PyObject *place_numbers;   /* by file and line */
    struct {
        const void *at;        /* an address in own code, or NULL */
        uint32_t place;
    } callers[CALLERS];        /* what quick.h found out last */
    Callee unwanted;           /* stands for all that is not */
    PyObject *learner;         /* or NULL */
    struct Window *window;     /* of the learner */
    struct {
        PyCodeObject *code;    /* a strong reference, or NULL */
        int offset;
        Spot spot;
    } spots[SPOTS];            /* of code that is not planned */
    PyObject *get_loop, *get_task;
    PyObject *resting;         /* what the beginnings of suspended generators had, by frame */
    PyObject *resting_tokens;  /* the same, of tokens */
    int tool;                  /* of sys.monitoring */
    int second_tool;           /* for starts and ends that sleep, or -1 */
    int everywhere;            /* events that are asked for in all code */
    bool asked;                /* the interpreter knows of these */
    /* Samples: */
    Samples samples;
    Group *groups;
    uint64_t seed;
    int only_groups;           /* nothing is wanted beside them; -1: not asked yet */
    uint64_t awake[2];         /* groups whose places are awake: all places; those that bear */
    CodeInfo *sleepers;
    bool tells_seen;           /* `wanted` wants to know which code starts */
    /* What it costs: */
    int64_t exact;             /* nanoseconds in deliveries and in Python code of ours */
    unsigned exacts;           /* how often there were any */
    uint64_t callbacks;        /* until the last that was timed */
    double timed;              /* ticks, times the periods */
};

extern Py_ssize_t plan_index; /* of notes on code objects */

static inline CodeInfo *plan_find(Tracer *tracer, PyCodeObject *code) {
    CodeInfo *info = code_note(code, plan_index);
    while (info != NULL && info->tracer != tracer) info = info->other;
    return info;
}

/* Reached in one instruction: a few hundred bytes fit into what is left of the memory for it. */
extern _Thread_local ThreadData lawful_threads[MOST_TRACERS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline ThreadData *thread_data(Tracer *tracer) {
    if (tracer->slot < 0) return NULL;
    ThreadData *data = &lawful_threads[tracer->slot];
    return data->serial == tracer->serial ? data : thread_data_anew(tracer);
}

/* Does this thread do Lawful's own work, so that what starts is not the program's doing? */
static inline bool is_aside(Tracer *tracer) {
    if (!tracer->asides) return false;
    const ThreadData *data = thread_data(tracer);
    return data != NULL && data->aside;
}

/* The id of a sample; 0: it is none. */
static inline Id sample_of(const Tracer *tracer, const PyObject *object) {
    size_t bit = filter_bit(object);
    if (!(tracer->samples.filter[bit / 64] >> bit % 64 & 1)) return 0;
    for (size_t i = identity_home(object, tracer->samples.mask);; i = (i + 1) & tracer->samples.mask) {
        const Sample *sample = &tracer->samples.entries[i];
        if (sample->key == object) return sample->id;
        if (sample->key == NULL) return 0;
    }
}

/* Need a place of these groups tell nothing now? */
static inline bool sample_asleep(const Tracer *tracer, uint64_t groups, bool bears) {
    return groups && !(groups & tracer->awake[bears]);
}

/* One callback in about 64 is timed: the one for which `until` comes to 0. */
#define LONGEST_CALLBACK 200000 /* ticks: beyond this something else has run */

int64_t cost_begin(Tracer *tracer);
void cost_end(Tracer *tracer, int64_t began, unsigned exacts);

extern PyTypeObject TracerType;
int64_t tracer_now(void);                       /* nanoseconds of the monotonic clock */
extern bool ticks_counted;                      /* the processor counts them, at a constant rate */

/* Of the fastest clock there is. */
static inline int64_t ticks(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (ticks_counted) return (int64_t)__builtin_ia32_rdtsc();
#endif
    return tracer_now();
}
void measure_ticks(Tracer *tracer);
/* Something inside Lawful failed: keep the exception that is set, and watch no longer. */
void tracer_fault(Tracer *tracer);
int tracer_plan_frames(Tracer *tracer);         /* code that is running already will not start again */

#endif
#endif

/* The C tracer: what its files share. It must behave as lawful/sources/python/pytracer.py does; most tests in
   tests/sources/python/test_tracer_*.py run on both.

   identity.h   ids of objects, and their deaths
   encode.c     values as parts of events
   record.c     the buffer of compact records (events/record.h), and events made from them
   learner_feed.c  events as numbers, for the learner
   sampling/    which objects are reported, and which places sleep meanwhile
   messages/    messages in queues, as far as Python has nothing to decide about them
   code.h       notes on code objects, callees and places
   probe.c      what happens before, after and instead of the end of a probed instruction, and what probe.h names beside it
   function.c   starts and ends of functions that report themselves
   fast_path.h  both of these, for most events
   monitoring.c what sys.monitoring calls
   tasks.c      asyncio's tasks
   tracer.c     the Python type */
#ifndef LAWFUL_TRACER_H
#define LAWFUL_TRACER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#include "tracer/change_watch.h"
#include "events/fields.h"
#include "events/record.h"
#include "tracer/frame.h"

/* Numbers that lawful/sources/python/tracer_protocol.py knows: Operation, */
enum {
    OP_CALL, OP_CALL_EX, OP_ENTER, OP_EXIT_RAISED, OP_ASYNC_ENTER, OP_ITER, OP_NEXT, OP_ASYNC_ITER, OP_ASYNC_NEXT,
    OP_AWAIT, OP_CONTAINS, OP_GET_ITEM, OP_SET_ITEM, OP_DELETE_ITEM, OP_GET_SLICE, OP_SET_SLICE, OP_GET_FIELD,
    OP_SET_FIELD, OP_DELETE_FIELD, OP_BINARY, OP_COMPARE, OP_UNARY, OPERATIONS
};
/* and Want. */
enum {
    WANT_PRE = 1, WANT_POST = 2, WANT_RAISE = 4, WANT_NEW = 8, WANT_ARGS = 16, WANT_RESULT = 32, WANT_READ = 64,
    WANT_WRITE = 128, WANT_NEXT = 256, WANT_YIELD = 512, WANT_CALLEE_SIDE = 1024, WANT_RECEIVER = 2048,
    WANT_EXIT = 4096, WANT_SITE = 8192, WANT_BIRTH = 1 << 26, WANT_STACK = 1 << 27, WANT_ON_CALL = 1 << 28,
    WANT_ON_RETURN = 1 << 29
};
#define WANT_END (WANT_POST | WANT_RAISE | WANT_NEW | WANT_ON_RETURN)
/* The same events, for the learner. */
#define LEARN_SHIFT 14
#define LEARN(wants) ((wants) << LEARN_SHIFT)
#define WANT_LEARN LEARN(WANT_PRE | WANT_NEW | WANT_READ | WANT_WRITE)
/* Events for all others. */
#define WANT_TOLD \
    (WANT_END | WANT_PRE | WANT_READ | WANT_WRITE | WANT_NEXT | WANT_YIELD | WANT_EXIT | WANT_BIRTH | WANT_ON_CALL)

#define CELL_KIND 0x40 /* CO_FAST_CELL: a local variable is in a cell */

typedef struct Tracer Tracer;
typedef struct Callee Callee;

#include "tracer/identity.h"
#include "sampling/samples.h"
#include "tracer/code.h"

/* ---- records (record.c) ------------------------------------------------------------------------------------------- */

/* Records in memory that is never moved. One chunk serves again and again as long as records are delivered in time. */
typedef struct RecordChunk {
    struct RecordChunk *next;
    size_t count, room;    /* in words */
    int64_t first, epoch;  /* ticks: of the first record, of the last epoch */
    uint64_t start;        /* how many words may have been written before it */
    uint32_t high;         /* see record_pack */
    bool large;
    /* In the order of their records: dicts with further fields, or one value alone, which is the result of what happened to
       an object, or the receiver if it has no id; gone: the class name; emit: the event. */
    PyObject **payloads;
    size_t payload_count, payload_room;
    PyObject **held;       /* references of words (record_values.h), to be given back */
    size_t held_count, held_room;
    uint64_t words[];
} RecordChunk;

/* Takes over the reference to payload. Where it is a place to run Python code, the buffer is emptied when it is full;
   -1 with an exception that goes on into the program. */
int record_add(Tracer *tracer, int kind, Callee *callee, Id target, PyObject *payload, uint32_t place);
/* Neither runs Python code nor delivers anything. */
void record_keep(Tracer *tracer, int kind, Callee *callee, Id target, PyObject *payload, uint32_t place);
/* Never runs Python code. The group is that of a sample, or NULL. */
int record_gone(Tracer *tracer, Id id, PyObject *class_name, Group *group);
int record_emit(Tracer *tracer, PyObject *event);
int record_emit_all(Tracer *tracer, PyObject *events, uint32_t place); /* a list; they are delivered together */
/* The same, of events that have their places and tasks already; takes over the references. */
int record_messages(Tracer *tracer, PyObject **events, int count);
void record_prepare(Tracer *tracer); /* notes the task of this thread in the chunk, if it has room */
int record_flush(Tracer *tracer, bool wait); /* for another thread's delivery */
void record_discard(Tracer *tracer);
void record_setup(void);

/* ---- own work ------------------------------------------------------------------------------------------------------ */

extern bool signals_waited HIDDEN; /* some may have come while they were held */

/* While Lawful's own Python code runs:
   - Handlers of signals wait. Inside Lawful, what they do would not be seen, and what they raise would be taken for an internal
     error. As long as this thread does not count as the one that runs them, they stay pending. (Blocking signals is not
     enough: another thread of the program takes them.)
   - No collection runs: it would run finalisers of the program, which would not be seen.
   - The program may be at the end of its recursion limit, which does not count. */
typedef struct {
    PyThreadState *thread;
    Depth depth;
    int collecting;
    unsigned long signals; /* the thread that runs their handlers, or 0 */
} OwnWork;

static inline OwnWork own_work_begin(void) {
    OwnWork work = {.thread = PyThreadState_Get(), .collecting = PyGC_Disable(), .signals = *signal_thread()};
    work.depth = frame_depth(work.thread, NO_DEPTH);
    if (work.signals != PyThread_get_thread_ident()) work.signals = 0;
    else *signal_thread() = 0;
    return work;
}

static inline void own_work_end(const OwnWork *work) {
    if (work->signals) {
        *signal_thread() = work->signals;
        signals_waited = true;
        signals_again(work->thread);
    }
    frame_depth(work->thread, work->depth);
    if (work->collecting) PyGC_Enable();
}

/* ---- values (encode.c) -------------------------------------------------------------------------------------------- */

/* A dict to which args, argIds, kwargs, kwargIds are added as needed. The last arguments are by keyword. */
int encode_arguments(Tracer *tracer, PyObject *payload, PyObject *const *args, Py_ssize_t count, PyObject *keywords);
int encode_mapping(Tracer *tracer, PyObject *payload, PyObject *keywords); /* of `**keywords` */
PyObject *encode_primitive(PyObject *value); /* of a value that has no id */
int encode_value(Tracer *tracer, PyObject *payload, PyObject *value, PyObject *key, PyObject *id_key);

/* ---- pending calls and the events themselves (probe.c) ------------------------------------------------------------ */

#define CALL_WORDS 12 /* words, for those of one call */

enum {
    PENDING_GENERAL,       /* the general path ends it */
    PENDING_PLAIN,         /* its numbers are all that its end has; not if the receiver has died */
    PENDING_VALUES         /* its numbers and values are, unless the receiver dies */
};

typedef struct {
    Callee *callee;
    RunFrame *frame;
    Id target;
    uint64_t begun;        /* where its beginning was written, as `start` counts words; 0: that does not matter */
    PyObject *payload;     /* what its beginning had, or NULL */
    PyObject *token;       /* what `WatchPlanner.on_call` wants to be given back at its end, or NULL */
    PyTypeObject *type;    /* the class that is called, or NULL; borrowed, only compared */
    PyObject *gone;        /* the receiver has died meanwhile: its class name */
    Group *gone_group;     /* if it was a sample */
    uint32_t place;        /* that callee-side events have */
    int offset;            /* of the probe; callee side: -1 */
    bool asks_type;             /* it makes no object, though a class is called */
    uint8_t fast;          /* which path began it, and may end it */
    uint64_t values[CALL_WORDS]; /* what its beginning had, in place of the payload (record_values.h); the first is 0: nothing */
} Pending;

/* One that has nothing but this. Each field by itself: a compiler zeroes the whole by an instruction that takes longer. */
static inline void pending_clear(Pending *pending, Callee *callee, RunFrame *frame, Id target, int offset) {
    pending->callee = callee;
    pending->frame = frame;
    pending->payload = pending->token = pending->gone = NULL;
    pending->type = NULL;
    pending->gone_group = NULL;
    pending->asks_type = false;
    pending->fast = PENDING_GENERAL;
    pending->values[0] = 0;
    pending->target = target;
    pending->begun = 0;
    pending->place = 0;
    pending->offset = offset;
}

/* In which asyncio task a thread was seen last. */
typedef struct {
    PyObject *loop;        /* that runs in it, or NULL, borrowed: as long as the mark of that is `of_loop` */
    Id task;               /* 0: none; as long as that holds, and `switches` has the version `of_task` */
    uint64_t of_loop, of_task;
    uint64_t noted;        /* the chunk that has this task, by its start; 0: none */
} TaskCache;

typedef struct {
    unsigned long serial;  /* of the tracer it belongs to */
    Pending *stack;
    int depth, room;
    uint64_t word;         /* its number, where records of two words have it; 0: it does not fit */
    uint16_t number;       /* from 1, in order of appearance */
    bool suspended;            /* it does Lawful's own work */
    TaskCache *task_cache;        /* NULL: nobody has asked yet */
} ThreadData;

void pending_setup(void);
ThreadData *thread_data_reset(Tracer *tracer);
TaskCache *thread_task_cache(ThreadData *thread); /* made, if need be; NULL: out of memory, without an exception */
void thread_forget_task(ThreadData *thread);

/* ---- asyncio's tasks (tasks.c) --------------------------------------------------------------------------------------- */

PyObject *tasks_current(Tracer *tracer); /* that runs in this thread, a new reference, or NULL without an exception */
Id tasks_here(Tracer *tracer);           /* its id, or 0 without an exception */

/* 1: keep on telling; 0: this place is of no further interest; -1: an exception goes on into the program. */
int probe_before(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame);
int probe_result(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame);
int probe_raise(Tracer *tracer, CodeInfo *info, RunFrame *frame, int offset, PyObject *exception);
int function_start(Tracer *tracer, CodeInfo *info, RunFrame *frame);
int function_begin(Tracer *tracer, CodeInfo *info, RunFrame *frame); /* the same, of a function that is not a known message */
uint32_t function_place(Tracer *tracer, RunFrame *frame); /* that its events have; 0: none */
int function_return(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *result);
int function_unwind(Tracer *tracer, RunFrame *frame, PyObject *payload); /* takes it over */
PyObject *exception_payload(Tracer *tracer, const Pending *pending, PyObject *exception);
int function_yield(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *value);
int function_resume(Tracer *tracer, CodeInfo *info, RunFrame *frame);

/* ---- delivery (monitoring.c or profile.c) -------------------------------------------------------------------------- */

int delivery_setup(void);
PyObject *delivery_empty_callback(void);             /* to measure what a callback costs */
int delivery_begin(Tracer *tracer);                  /* before any code is planned */
int delivery_start(Tracer *tracer);
int delivery_stop(Tracer *tracer);
int delivery_plan(Tracer *tracer, CodeInfo *info);   /* events of this code object are wanted from now on */
int delivery_again(Tracer *tracer, CodeInfo *info);  /* enables all its places again */
int delivery_wake(Tracer *tracer, CodeInfo *info);   /* the same, for what slept */
int delivery_rearm(Tracer *tracer, CodeInfo *info);  /* its next start must be reported */

/* ---- the tracer (tracer.c) ------------------------------------------------------------------------------------------ */

#define MOST_TRACERS 6
#define CALLEE_BUCKETS 512
#define SPOTS 64
#define CALLERS 1024

struct Tracer {
    PyObject_HEAD
    /* What each callback asks for comes first. */
    bool running, broken;
    bool buffers;              /* records are kept until there are enough, however many that is */
    bool tasks;                /* a coroutine was seen */
    int32_t suspended_threads;            /* threads that do Lawful's own work */
    int slot;                  /* among the running tracers, -1 if it does not run */
    uint32_t until_timed, timing_period;    /* one callback of so many is timed, the one after so many more */
    unsigned long serial;
    RecordChunk *last_chunk;   /* the newest */
    Py_ssize_t count, flush_at;
    struct MessageCache *message_cache; /* knows messages in queues, or NULL */
    PyInterpreterState *interpreter;
    PyObject *task_switches;        /* a dict that changes with every task that begins or ends to run; NULL: nobody knows one */
    uint64_t slow_callbacks;             /* callbacks before instructions that are slower for it */
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
    bool lazy_events;                /* events are delivered in brief: no dicts are made (lazy_event.h) */
    bool escaped;              /* variables may hold wanted callees */
    PyObject *called_names;          /* by which names something was called that is wanted, or NULL */
    int64_t first_tick, first_time; /* ticks, and nanoseconds since `began`, at the start */
    double tick;               /* its length in nanoseconds */
    double last_time;          /* of the last event that was delivered, in nanoseconds */
    int previous_slot;           /* of the tracer that this one follows, or -1 */
    unsigned long previous_serial;
    int64_t began;
    int process;               /* 0: the one that was started */
    uint16_t threads;
    PyThread_type_lock delivering;
    unsigned long deliverer;   /* the thread that holds the lock, or 0 */
    CodeInfo *infos;
    struct Slot *slots;        /* hash table of callee.c */
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
    } callers[CALLERS];        /* what the fast path found last */
    Callee unwanted;           /* stands for all that is not */
    PyObject *learner;         /* or NULL */
    struct Window *window;     /* of the learner */
    struct {
        PyCodeObject *code;    /* a strong reference, or NULL */
        int offset;
        PlaceNumbers spot;
    } spots[SPOTS];            /* of code that is not planned */
    PyObject *get_loop, *get_task;
    PyObject *running_tasks;   /* asyncio's own, or NULL */
    PyObject *generator_payloads;         /* what the beginnings of suspended generators had, by frame */
    PyObject *generator_tokens;  /* the same, of tokens */
    int tool;                  /* of sys.monitoring */
    int second_tool;           /* for starts and ends that sleep, or -1 */
    int global_events;            /* events that are asked for in all code */
    bool global_events_set;                /* the interpreter knows of these */
    /* Samples: */
    Samples samples;
    Group *groups;
    uint64_t seed;
    uint64_t awake[2];         /* groups whose places are awake: all places; those that bear */
    CodeInfo *sleepers;
    uint64_t by_place;         /* groups whose samples do not report their steps themselves */
    PyObject *step_names[MOST_COUNTED_FIELDS];
    int step_count;
    bool steps_off;            /* no sample reports its steps */
    bool flushing;             /* the interpreter was asked to empty the buffer */
    bool reports_starts;           /* `wanted` wants to know which code starts */
    /* What it costs: */
    int64_t measured;             /* nanoseconds in deliveries and in Lawful's own Python code */
    unsigned measurements;           /* how often there were any */
    uint64_t callbacks;        /* until the last that was timed */
    double timed_ticks;              /* ticks, times the periods */
};

extern Py_ssize_t plan_index HIDDEN; /* of notes on code objects */

static inline CodeInfo *plan_find(Tracer *tracer, PyCodeObject *code) {
    CodeInfo *info = code_extra(code, plan_index);
    while (info != NULL && info->tracer != tracer) info = info->other;
    return info;
}

/* Reached in one instruction: a few hundred bytes fit into what is left of the memory for it. */
extern _Thread_local ThreadData lawful_threads[MOST_TRACERS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline ThreadData *thread_data(Tracer *tracer) {
    if (tracer->slot < 0) return NULL;
    ThreadData *data = &lawful_threads[tracer->slot];
    return data->serial == tracer->serial ? data : thread_data_reset(tracer);
}

/* The same, of a tracer that runs; NULL: this thread was not met yet. Calls nothing. */
static ALWAYS_INLINE ThreadData *thread_known(const Tracer *tracer) {
    ThreadData *data = &lawful_threads[tracer->slot];
#if defined(__GNUC__)
    __asm__("" : "+r"(data)); /* where it lies is not to be worked out anew for each of its fields */
#endif
    return data->serial == tracer->serial ? data : NULL;
}

/* Is this thread in the same task, or in none, as when that was asked last? */
static ALWAYS_INLINE bool task_is_same(const Tracer *tracer, const TaskCache *task_cache) {
    return task_cache != NULL && tracer->task_switches != NULL && task_cache->of_task == dict_version(tracer->task_switches) &&
           task_cache->of_loop == loop_mark(frame_thread(tracer->interpreter));
}

/* Does this thread do Lawful's own work, so that what starts is not the program's doing? */
static inline bool is_suspended(Tracer *tracer) {
    if (!tracer->suspended_threads) return false;
    const ThreadData *data = thread_data(tracer);
    return data != NULL && data->suspended;
}

/* The id of a sample; 0: the object is not a sample. */
static inline Id sample_of(const Tracer *tracer, const PyObject *object) {
    if (tracer->samples.used == 0) return 0;
    for (size_t i = identity_slot(object, tracer->samples.mask);; i = (i + 1) & tracer->samples.mask) {
        const Sample *sample = &tracer->samples.entries[i];
        if (sample->key == object) return sample->id;
        if (sample->key == NULL) return 0;
    }
}

/* Need a place of these groups tell nothing now? */
static inline bool sample_asleep(const Tracer *tracer, uint64_t groups, bool bears) {
    return groups && !(groups & tracer->awake[bears]);
}

/* The same of one probe. */
static inline bool probe_asleep(const Tracer *tracer, const Probe *probe) {
    return sample_asleep(tracer, probe->steps ? probe->groups & tracer->by_place : probe->groups, probe->bears) ||
           (probe->steps && !(probe->groups & tracer->by_place));
}

/* One callback in about 64 is timed: the one for which `until` comes to 0. */
#define LONGEST_CALLBACK 200000 /* ticks: beyond this something else has run */

int64_t cost_begin(Tracer *tracer);
void cost_end(Tracer *tracer, int64_t began, unsigned measurements);

extern PyTypeObject TracerType;

/* ---- parts that Python uses by themselves --------------------------------------------------------------------------- */

PyObject *call_without_frames(PyObject *module, PyObject *callable); /* tracer.c */
PyObject *walk_code(PyObject *module, PyObject *args);               /* sites.c */

#define TRACER_METHODS                                                                                                 \
    {"call_without_frames", call_without_frames, METH_O,                                                               \
     "call_without_frames(callable)\n--\n\nCall a function with an empty stack below it, and the whole depth of recursion."}, \
    {"walk_code", walk_code, METH_VARARGS,                                                                             \
     "walk_code(code, bytecode, wanted, tables)\n--\n\nThe wanted instructions, and where paths meet."},

int64_t tracer_now(void);                       /* nanoseconds of the monotonic clock */
extern bool ticks_counted HIDDEN;               /* the processor counts them, at a constant rate */

/* Of the processor, if it counts them; calls nothing. */
static ALWAYS_INLINE int64_t processor_ticks(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    return (int64_t)__builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* Of the fastest clock there is. */
static inline int64_t ticks(void) { return ticks_counted ? processor_ticks() : tracer_now(); }
void measure_ticks(Tracer *tracer);
/* Something inside Lawful failed: keep the exception that is set, and watch no longer. */
void tracer_fault(Tracer *tracer);
int tracer_plan_frames(Tracer *tracer);         /* code that is running already will not start again */

#endif

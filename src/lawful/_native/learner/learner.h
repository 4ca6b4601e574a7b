/* The learner's core: Algorithm 1 of the OCD paper over a stream of small events.

   Used by: the files of this folder, tracer/learner_feed.h (stream_push), module.c (the type).
   Must match: the protocol `Window` in lawful/learning/window_protocol.py, and its twin lawful/learning/window.py.
   Compared by: tests/learning/test_window.py, test_step_cache.py, test_object_histories.py.

   learner.c            the Python type
   stream.c             events from a running program to a thread of our own, which needs no interpreter lock
   window.c             the window itself: objects in it, runs and scenarios
   step_cache.c         the same, where what happens has happened before
   pairs.c              pairs of events, how their scenarios ended, and examples
   survey.c             all rules under a strategy
   object_histories.c   whole histories of objects, beside the window

   Scenarios in which only one event of a pair occurs are the most frequent ones by far, and an event has as many of them
   as it has partners. They are counted once, with the event; a pair has the difference: what was counted before it
   existed, and the runs that were part of a scenario with both events, are subtracted. */
#ifndef LAWFUL_LEARNER_H
#define LAWFUL_LEARNER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

/* Numbers that lawful/learning/window_protocol.py knows. */
#define MOST_EXAMPLES 16
#define FEW_EXAMPLES 4
#define ALL_EXAMPLES 200000
#define MOST_TRAIL 8
#define MOST_CONTEXTS 64
#define MOST_USAGES 256
#define FEW_USAGES 64
#define ALL_USAGES 100000
#define MOST_RULES 64
#define MOST_HISTORY_EVENTS 64
#define MOST_HISTORY_EXAMPLES 32
#define ALL_HISTORY_SITES 500000
#define MOST_HISTORIES 10000
#define MOST_OPEN_HISTORIES 65536
#define FEW_HISTORY_EVENTS 6
#define ALL_HISTORY_EVENTS 1000000
enum { OP_COUNT, OP_RATIO, OP_CONTEXT, OP_JOIN, OP_MEET };
enum { STATE_DEAD, STATE_LEARNING, STATE_ENFORCING };

#define MOST_TRAILS 65536 /* of all examples together; further ones go without */

typedef struct {
    uint32_t name, site;
    uint64_t object;
} LearnEvent;

/* Makes room for one more in an array that doubles, beginning with `least`. false: no memory. */
static inline bool array_grow(void **array, size_t *room, size_t least, size_t each) {
    size_t more = *room ? 2 * *room : least;
    void *larger = realloc(*array, more * each);
    if (larger == NULL) return false;
    *array = larger;
    *room = more;
    return true;
}
#define HAS_ROOM(array, count, room, least) __extension__({ \
    size_t room_ = (room); \
    bool has_ = (size_t)(count) < room_ || array_grow((void **)&(array), &room_, (least), sizeof *(array)); \
    (room) = room_; \
    has_; \
})

/* Hash tables: arrays of a power of two, in which a slot is at its home or in the next free place after it. `taken` and
   `home` are expressions of `slot`: whether it is, and where it belongs, before the mask. The table has twice as many
   places as before, or `least`. false: no memory. */
#define TABLE_GROW(slots, mask, least, taken, home) __extension__({ \
    size_t before_ = (slots) ? (mask) + 1 : 0, size_ = before_ ? 2 * before_ : (least); \
    __typeof__(slots) old_ = (slots), larger_ = calloc(size_, sizeof *larger_); \
    for (size_t i_ = 0; larger_ != NULL && i_ < before_; i_++) { \
        __typeof__(slots) slot = &old_[i_]; \
        if (!(taken)) continue; \
        size_t at_ = (home); \
        while (slot = &larger_[at_ & (size_ - 1)], (taken)) at_++; \
        *slot = old_[i_]; \
    } \
    if (larger_ != NULL) { \
        free(old_); \
        (slots) = larger_; \
        (mask) = size_ - 1; \
    } \
    larger_ != NULL; \
})
/* Takes the slot at `from` out: later ones move up. It gives the place that is free then. */
#define TABLE_DROP(slots, mask, from, taken, home) __extension__({ \
    size_t at_ = (from); \
    __typeof__(slots) slot; \
    for (size_t next_ = (at_ + 1) & (mask); slot = &(slots)[next_], (taken); next_ = (next_ + 1) & (mask)) { \
        if (((next_ - (home)) & (mask)) < ((next_ - at_) & (mask))) continue; \
        (slots)[at_] = *slot; \
        at_ = next_; \
    } \
    &(slots)[at_]; \
})

/* ---- the automaton of all templates (learner.c) -------------------------------------------------------------------- */

typedef struct {
    int states, kinds, rules, start;
    uint16_t (*step)[2];
    uint16_t *kind;           /* by state */
    uint64_t *satisfied;      /* by kind: rules as bits */
    uint8_t *letters;         /* by kind */
    uint64_t size[MOST_RULES];
    /* Runs of one letter: position k stands for the states after letter 0, and after letter 1, came k + 1 times. */
    int positions;
    uint16_t *next;           /* the position after one more */
    uint16_t (*alone)[2];     /* by position: the states */
    uint16_t (*alone_at)[2];  /* by kind: a position with that kind, for each letter */
} Automaton;

static inline int alone_kind(const Automaton *automaton, int letter, int position) {
    return automaton->kind[automaton->alone[position][letter]];
}

/* ---- pairs (pairs.c) --------------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t object, seq, count;
    uint32_t site, last_site;
    uint32_t trail;           /* its number from 1, or 0 */
    bool at_end;
} Example;

typedef struct {
    uint8_t count;
    uint32_t events[MOST_TRAIL][2]; /* name and site */
} Trail;

/* One cache line: while scenarios come from a few places, nothing else is touched. */
#define RECENT_SITES 4
typedef struct {
    uint64_t count, first;
    Example *examples;
    uint32_t recent_site[RECENT_SITES];
    uint32_t recent_count[RECENT_SITES]; /* 0: free; the first of them is noted in examples and contexts, the others not yet */
    uint16_t kind;
    uint8_t example_count;
} Ending;

typedef struct {
    uint64_t satisfied;
    uint32_t site;
} Context;

#define FEW_KINDS 24 /* kinds of endings whose number is kept in the pair: a search costs 18 % of learning from bursts */
#define LINE 64 /* bytes of the cache */

/* Most scenarios touch only the second half. */
typedef struct {
    uint32_t first, second;
    uint64_t created;
    Context *contexts;
    uint64_t *remembered;     /* by kind: what earlier runs have counted; or NULL */
    uint16_t ending_count, ending_room, context_count, context_room;
    _Alignas(LINE) Ending *endings; /* of both events; in the order in which they came up */
    uint8_t ending_at[FEW_KINDS]; /* by kind, if there are few: number from 1 */
    uint64_t alone[];         /* by letter and position: what is to be added to the event's own, modulo 2**64 */
} Pair;

/* A run of one event on one object: where it began, how long it was, what else happened there. */
typedef struct {
    uint64_t hash, first, last; /* last, and how many there were: when they were last settled */
    Example example;
    uint32_t *touched;        /* the other events */
    uint16_t touched_count, position;
} Usage;

/* The part of a usage that changes with every run. Two fit into a cache line. */
typedef struct {
    uint64_t hash, last, count;
    uint32_t number;          /* from 1, or 0: the place is free */
} UsageSpot;

typedef struct {
    uint64_t *alone;          /* runs that are over, by position */
    Usage *usages;
    uint16_t usage_count, usage_room;
    UsageSpot *usage_at;      /* hash table of twice the room, a power of two */
    bool unsettled;           /* there were runs since its usages were last settled */
} Name;

typedef struct {
    uint64_t key;
    Pair *pair;               /* NULL: the place is free */
} PairSlot;

typedef struct {
    uint64_t key, bits;       /* no bit: the place is free */
} PrunedBlock;

/* ---- whole histories (object_histories.c) ------------------------------------------------------------------------------------------------ */

typedef struct {
    uint32_t name, first, last; /* numbers in the history, from 1 */
    uint32_t sites[2];          /* of the first one and of the last one */
} HistoryEvent;

/* Two lines of the cache. */
#define INLINE_HISTORY_EVENTS 4
#define HISTORY_HINTS 16
typedef struct {
    _Alignas(LINE) uint64_t object;
    uint64_t seq;
    HistoryEvent *list;            /* in the order in which they came up: those below, or, if they do not fit, memory of its own */
    uint32_t events;
    uint8_t count, room;        /* of different events */
    bool dropped;                  /* there were too many: it has none any more */
    uint8_t hints[HISTORY_HINTS];  /* by the lower bits of a name: where its event may be */
    HistoryEvent inline_events[INLINE_HISTORY_EVENTS];
} History;
#define NO_NAME UINT32_MAX      /* of an unused event, to which a hint may lead */

#define HISTORY_BLOCK 1024

/* Flags of histories lie apart from them: they are read in turn, when most histories are not in the cache. */
enum {
    HISTORY_USED = 1,
    HISTORY_IN_WINDOW = 2,             /* it is in the window */
    HISTORY_TOUCHED = 4            /* it was, since it was last asked whether it can be ended */
};

typedef struct {
    uint64_t object, seq, count, hash; /* hash: of its places, which tells examples apart */
    uint32_t *sites;
} HistoryExample;

typedef struct {
    uint64_t hash, count;
    uint32_t *order;            /* of twice as many as there are names: 2 * name, the first one; 2 * name + 1, the last one */
    HistoryExample *examples;
    uint8_t names, example_count, example_room;
} EndedHistory;

typedef struct {
    uint32_t number, tag;       /* from 1, or 0: the place is free; lower bits of the object */
} HistorySlot;

typedef struct {
    History **blocks;              /* of HISTORY_BLOCK each */
    uint8_t *flags;
    uint32_t count, room, used, clock_hand;
    uint32_t spare;             /* one that is not in use, from 1; it has the next one for its object */
    HistorySlot *at;               /* hash table by object */
    size_t mask;
    uint64_t events;            /* different ones, of histories that have more than a few */
    uint64_t given_up, sites;
    EndedHistory *ended;
    uint32_t ended_count, ended_room;
    uint32_t *ended_at;           /* hash table */
    size_t ended_mask;
} Histories;

/* ---- the window (window.c) -------------------------------------------------------------------------------------------- */

/* The scenario of a pair for one object. Without a pair, all is 0. */
typedef struct {
    Pair *pair;               /* NULL: none */
    uint32_t site;            /* of its first event */
    uint16_t state;
    uint8_t letters, unused;
} Scenario;

typedef struct {
    uint32_t queued;          /* in the window */
    uint32_t scenarios;       /* that have begun */
    uint32_t run_site;        /* 0 without a run */
    uint16_t run;             /* position from 1, or 0: no run has begun */
    uint16_t unused;
} Local;

/* An object with events in the window. */
typedef struct Subject {
    uint64_t object;
    History *history;
    uint32_t history_number;
    uint32_t queued;
    uint32_t trailed;         /* events that left the window */
    uint32_t state;           /* the number of what follows the trail, if the cache has it; 0: it is written out here */
    uint32_t trail[MOST_TRAIL][2];
    int count, room;
    uint32_t *names;          /* of its events */
    Local *locals;
    Scenario *scenarios;      /* a triangle: of two of them */
    struct Subject *next;     /* if it is spare */
} Subject;

typedef struct {
    uint64_t object;
    Subject *subject;         /* NULL: the place is free */
} SubjectSlot;

typedef struct {
    uint32_t name, site;
    Subject *subject;
} Queued;

/* ---- what has happened before (step_cache.c) ------------------------------------------------------------------------------------ */

/* A count that changes whenever a step is taken. */
typedef struct {
    union {
        Pair *pair;
        uint64_t hash;        /* of a usage */
    };
    uint32_t site;
    uint16_t number;          /* of the place in `alone`, or of the kind of ending */
    int8_t what;              /* what it changes by, in `alone`; or one of these */
} Effect;
enum { EFFECT_LAST, EFFECT_ENDED = 16, EFFECT_USED };

/* A step in which an event leaves. Two fit into a cache line. */
typedef struct {
    uint64_t *alone;          /* the counter of the run that is over, or `nowhere` */
    uint32_t to;
    uint32_t count, last;     /* how often it was taken, and when last, since `since` */
    uint32_t effects;         /* the first of them */
    uint32_t name;
    uint32_t worth;           /* the saving each time it is found, as `credit` counts */
} CachedStep;

/* A place in the table of steps. A step in which an event comes has neither a place in the source nor effects. */
typedef struct {
    uint64_t from;            /* the state, and the name of the event; 0: the place is free */
    uint32_t site;            /* if it leaves */
    uint32_t number;          /* if it comes, of the state afterwards; if it leaves, of the step, from 1 */
} StepSlot;

typedef struct {
    StepSlot *slots;          /* hash table */
    size_t mask;
    uint32_t count;
} StepTable;

typedef struct {
    uint64_t hash;
    size_t at;                /* in `written` */
    uint32_t count;           /* of names */
} CachedState;

#define MOST_STEP_EFFECTS 64
typedef struct {
    CachedState *states;        /* the first is that of an object without events */
    uint32_t state_count, state_room;
    uint32_t *state_at;       /* hash table */
    size_t state_mask;
    char *written;            /* states, written out: names, locals, scenarios */
    size_t written_size, written_room;
    CachedStep *steps;
    uint32_t step_count, step_room;
    StepTable comes, leaves;
    Effect *effects;
    uint32_t effect_count, effect_room;
    uint64_t nowhere;         /* the `alone` of steps that end no run */
    uint64_t since;           /* events that had left the window when all was settled */
    int64_t credit;           /* savings, about, to spend on new steps; below 0 the cache rests */
    uint32_t resting, rested; /* events for which it rests; for which it has */
    uint64_t woken;           /* events that had been taken in when it had last rested */
    /* Notes about the step that is being taken, if it is new: */
    bool noting;              /* it can be known afterwards */
    int noted;
    Effect notes[MOST_STEP_EFFECTS];
} StepCache;

typedef struct LearnChunk {
    struct LearnChunk *next;
    uint32_t count, done;
    LearnEvent events[];
} LearnChunk;
#define CHUNK_EVENTS 4096
#define CHUNKS_AT_ONCE 4      /* so many wait before the thread is woken for them */
#define MOST_CHUNKS 64        /* that may wait; then the program waits for the thread */

typedef struct Window {
    PyObject_HEAD
    Automaton automaton;
    uint64_t *by_kind, *firsts; /* scratch memory for the counts of one pair, by kind of ending */
    bool broken;              /* it ran out of memory */
    pthread_mutex_t lock;     /* of all that follows, up to the stream */
    uint64_t taken, expired;  /* events */
    uint64_t size;
    Queued *queue;            /* a ring, of a power of two: those from `expired` to `taken` */
    size_t queue_room;
    SubjectSlot *subject_at;  /* hash table */
    size_t subject_mask;
    uint32_t subject_count;   /* those that are spare included */
    Subject *spare_subjects;
    Name *names;
    uint32_t name_count;
    PairSlot *pair_at;        /* hash table */
    size_t pair_mask, pair_used;
    PrunedBlock *pruned_at;   /* hash table */
    size_t pruned_mask, pruned_used;
    Pair **pairs;             /* in order of creation */
    uint64_t pair_count;
    size_t pair_room;
    uint64_t pruned, given_up, most_pairs;
    uint64_t example_count, usage_count; /* of all together, pruned ones included */
    Trail *trails;
    uint32_t trail_count, trail_room, trail_spare; /* spare: a list through the counts of the first events */
    bool draining;
    StepCache cache;
    Histories histories;
    /* the stream */
    LearnChunk *chunk;        /* being filled, under the interpreter lock */
    PyObject *wake;           /* is called once, when a chunk is full; or NULL */
    uint64_t pushed;
    pthread_mutex_t gate;
    pthread_cond_t arrived, taken_away;
    LearnChunk *waiting, *last_waiting, *spare_chunks;
    int waiting_count;
    int patient, idlers;      /* threads that wait for room, or until all events are taken in */
    uint64_t handed, worked;  /* events handed over, and of those what is in the window or through it */
    uint64_t tick_every;
    bool threaded, stopping, tick_due;
    pthread_t thread;
    uint64_t native;          /* the system's number of the thread, or 0 */
    pid_t process;
} Window;

extern PyTypeObject WindowType;

extern Pair pair_pruned;      /* stands for every pruned pair */

/* Takes `count` events in, and prefetches for those up to `seen`. -1: no memory. */
int window_take(Window *window, const LearnEvent *events, size_t count, size_t seen);
int window_drain(Window *window);
int window_resize(Window *window, size_t size);
void window_forget(Window *window, const Pair *pair); /* drops its scenarios */
int window_interrupt_runs(Window *window, Pair *pair); /* a new pair does not count present runs */
void window_free(Window *window);

int subject_room(Subject *subject, int count); /* for so many names. -1: no memory */

static inline uint64_t cache_from(uint32_t state, uint32_t name) { return (uint64_t)state << 32 | name; }

static inline size_t cache_hash(uint64_t from, uint32_t site) {
    return (size_t)((from ^ (uint64_t)site << 16) * UINT64_C(0x9E3779B97F4A7C15) >> 40);
}

/* The number of a step that was taken before; 0: it was not, or that is forgotten. */
static inline uint32_t cache_find(const StepTable *table, uint64_t from, uint32_t site) {
    for (size_t at = cache_hash(from, site);; at++) {
        const StepSlot *slot = &table->slots[at & table->mask];
        if (slot->from == from && slot->site == site) return slot->number;
        if (!slot->from) return 0;
    }
}

static inline bool cache_rests(StepCache *cache) { return cache->credit < 0 && ++cache->rested < cache->resting; }
/* Before a new step: writes the subject out, and notes effects from now on. -1: no memory. */
int cache_begin(Window *window, Subject *subject);
void cache_add_note(StepCache *cache, Effect effect);
static inline void cache_note(StepCache *cache, Effect effect) {
    if (cache->noting) cache_add_note(cache, effect);
}
/* Keep the step that was just taken from a state: an event came, or left. `run` is the position, from 1, of the run that is
   over with it, or 0. Afterwards the subject has a state, if there is room for one. */
void cache_keep_come(Window *window, Subject *subject, uint32_t from, uint32_t name);
void cache_keep_leave(Window *window, Subject *subject, uint32_t from, uint32_t name, uint32_t site, uint32_t run);
int cache_write_out(Window *window, Subject *subject); /* copies its state into the subject. -1: no memory */
void cache_settle(Window *window); /* adds the counts of steps to those of pairs and names */
/* Call it before many events: a step counts in 32 bits. */
static inline void cache_settle_in_time(Window *window) {
    if (window->expired - window->cache.since > UINT32_MAX / 2) cache_settle(window);
}
int cache_clear(Window *window);   /* writes all subjects out, and forgets all steps. -1: no memory */
void cache_free(StepCache *cache);

/* The history of an object that comes into the window; it stays where it is as long as the object is there. -1: no memory. */
int history_enter(Histories *histories, uint64_t object, Subject *subject);
static inline size_t history_home(uint32_t tag) { return (size_t)((tag * UINT64_C(0x9E3779B97F4A7C15)) >> 20); }
static inline History *history_at(const Histories *histories, uint32_t number) {
    return &histories->blocks[number / HISTORY_BLOCK][number % HISTORY_BLOCK];
}

/* An object will soon come into the window: prefetch its slot, and later its history. */
#define EVENTS_AHEAD 8
#define EVENTS_SOON 4
static inline void history_expect(const Histories *histories, uint64_t object) {
    __builtin_prefetch(&histories->at[history_home((uint32_t)object) & histories->mask]);
}
static inline void history_expect_soon(const Histories *histories, uint64_t object) {
    HistorySlot slot = histories->at[history_home((uint32_t)object) & histories->mask];
    if (!slot.number || slot.tag != (uint32_t)object) return;
    const char *history = (const char *)history_at(histories, slot.number - 1);
    __builtin_prefetch(history, 1);
    __builtin_prefetch(history + LINE, 1);
}

/* An event in a history. -1: no memory. */
int history_take_new(Histories *histories, History *history, uint32_t name, uint32_t site);
static inline int history_take(Histories *histories, History *history, uint32_t name, uint32_t site, uint64_t seq) {
    HistoryEvent *event = &history->list[history->hints[name % HISTORY_HINTS]];
    history->seq = seq;
    history->events++;
    if (event->name != name) return history_take_new(histories, history, name, site);
    event->last = history->events;
    event->sites[1] = site;
    return 0;
}
static inline void history_rest(Histories *histories, uint32_t number) { histories->flags[number] &= ~HISTORY_IN_WINDOW; } /* it left the window */
int histories_end(Histories *histories); /* all of them; nothing is in the window */
void histories_free(Histories *histories);

Name *name_make(Window *window, uint32_t number); /* NULL: no memory */
static inline Name *name_at(Window *window, uint32_t number) {
    return number < window->name_count && window->names[number].alone ? &window->names[number] : name_make(window, number);
}
/* NULL: too many pairs; or out of memory, and the window is broken. */
Pair *pair_for(Window *window, uint32_t first, uint32_t second, bool *created);
Pair *pair_find(Window *window, uint32_t first, uint32_t second); /* NULL: unknown, or pruned */
int pair_ended(Window *window, Pair *pair, const Scenario *scenario, const Subject *subject, uint32_t last_site);
void ending_settle(Ending *ending); /* adds recent counts to its examples */
void ending_add(Pair *pair, int kind, uint32_t site, uint64_t count); /* so many more, from a known place */
int pair_context(Pair *pair, uint32_t site, uint64_t satisfied);
void pair_counts(Window *window, const Pair *pair); /* into `by_kind` of the window: its scenarios */
void pairs_order(Window *window, size_t from); /* sorts those from this index on by their events */
int pair_prune(Window *window, size_t index); /* -1: no memory */
int name_used(Window *window, uint32_t number, const Usage *usage, const Subject *subject, uint32_t site, uint32_t last_site);
void usage_add(Window *window, uint32_t number, uint64_t hash, uint64_t count, uint64_t last); /* the same */
void usages_settle(Window *window, uint32_t number); /* adds recent counts to the usages of a name */
bool usage_touched(const Usage *usage, uint32_t name);
void pairs_free(Window *window);

typedef struct {
    uint32_t first, second;
    uint16_t rule, kind;
} Candidate;

typedef struct {
    uint64_t enforcing, learning, dead, pairs;
    Candidate *candidates;
    size_t count, room;
} Survey;

typedef struct {
    int op;
    double x, y, z;
} Instruction;

int survey_all(Window *window, const Instruction *program, int length, bool prune, Survey *survey);
/* When endings of a kind first came up. */
uint64_t survey_first(Window *window, const Pair *pair, int kind);
void survey_rules(Window *window, const Pair *pair, uint64_t *total, uint64_t *satisfied, uint64_t *contexts);

/* ---- the stream (stream.c) --------------------------------------------------------------------------------------------- */

int stream_start(Window *window);
/* The chunk that is being filled. If `patient`, it waits while too many are there already, and lets go of the interpreter
   lock; whoever serves the ticks must not, since the thread may wait for a tick. */
int stream_hand_over(Window *window, bool patient);
int stream_wait(Window *window, double seconds, bool idle);
uint64_t stream_worked(Window *window);
void stream_resume(Window *window);
void stream_stop(Window *window);
void stream_free(Window *window);
LearnChunk *stream_chunk(Window *window);

/* Append an event; with the interpreter lock. It never raises: without memory the window is broken, and says so later. */
static inline int stream_push(Window *window, uint32_t name, uint32_t site, uint64_t object) {
    LearnChunk *chunk = window->chunk;
    if (chunk == NULL && (chunk = stream_chunk(window)) == NULL) return -1;
    chunk->events[chunk->count++] = (LearnEvent){name, site, object};
    window->pushed++;
    return chunk->count == CHUNK_EVENTS ? stream_hand_over(window, true) : 0;
}

#endif

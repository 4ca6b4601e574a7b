/* The tracer's notes on code objects, callees and places (plan.c, callee.c, place.c). A part of tracer.h. The fields of `Probe`
   are those of `Probe` in lawful/sources/python/tracer_protocol.py. */
#ifndef LAWFUL_CODE_H
#define LAWFUL_CODE_H

/* A function with a type of receiver. There is one for each name, class name and wants, and it
   lives as long as the tracer: their number is that of the names in the program. */
struct Callee {
    struct Callee *next;
    PyObject *name;         /* NULL: it is not wanted */
    PyObject *class_name;   /* of the receiver's type, or NULL */
    int wants;
    uint32_t number;        /* from 1 */
    uint32_t words[4];      /* the learner's numbers of its events, from 1; see learner_feed.h */
    Group *group;           /* whose samples alone are reported; NULL: all objects are */
    uint16_t fast;          /* whether the fast path may report it, and what it must know for that */
};

enum {
    FAST_CALLER = 1, FAST_CALLEE = 2,  /* it may be reported where it is called, or where it starts */
    FAST_VALUES = 4,                   /* with arguments, or with a receiver that has no id */
    FAST_PRE = 8, FAST_END = 16,       /* its beginning is wanted, its end */
    FAST_END_PLAIN = 32,               /* the end has no result and makes no object */
    FAST_RECEIVER = 64,
    FAST_LEARNED = 128                 /* the learner alone wants it, and nothing but its beginning */
};

/* An answer of the hash table, good until something dies that is in it. The callee's fields that are read most often are
   here, too: it lies elsewhere in memory. */
typedef struct {
    const void *key;
    PyTypeObject *type;
    PyObject *qualname;     /* of functions whose key is their code: those that have this name */
    Callee *callee;
    unsigned deaths;
    uint32_t number;        /* of the callee */
    uint16_t fast;          /* as the callee's, for this type */
    bool primitive;         /* the type is one of values that have no ids */
} CachedCallee;

#define CACHED_CALLEES 4      /* that are kept of a place */
#define CACHED_RECEIVERS 8    /* the same, of functions: methods of a base class have objects of many */

/* Numbers of a place in the source, from 1: the tracer's and the learner's. */
typedef struct {
    uint32_t place, site;
} PlaceNumbers;

typedef struct {
    /* The fields that each callback reads come first. */
    uint64_t groups;        /* that all belongs to that is wanted here; 0: other things may be wanted */
    PlaceNumbers spot;
    int base;               /* from the frame's first variable */
    int value, owner;       /* the same, of what is there early */
    int offset, result;     /* in bytes; result may be -1 */
    int origin;             /* of the instruction itself */
    int count;
    unsigned char operation;
    bool early;             /* it is looked at one instruction before */
    bool name_unwanted;             /* nothing that is wanted has this name */
    bool disabled;               /* the instruction is disabled, or could be */
    bool result_disabled;        /* the instruction where its result is seen is disabled */
    bool expects_result;           /* its result was asked for once */
    bool learner_only;             /* it is left alone if it calls nothing that is wanted for a while */
    bool matched;              /* it has called something that is wanted */
    uint8_t unmatched;           /* how often it called something else */
    bool fast;              /* a call, and no samples: the fast path may report it */
    bool has_values;        /* more than numbers was wanted of something that was called here */
    bool bears;             /* reports of new objects of its groups may begin here */
    bool by_global;         /* its name is that of a global */
    bool steps;             /* a field makes steps, of which its object may tell by itself */
    PyObject *name;         /* or NULL */
    PyObject *keywords;     /* a tuple, or NULL */
    CachedCallee cached_callees[CACHED_CALLEES]; /* the last callees here */
} Probe;

struct CodeInfo {
    /* The fields that each callback reads come first. */
    Tracer *tracer;
    struct CodeInfo *other;         /* of the same code, for another tracer */
    uint64_t groups;                /* that all it reports belongs to; 0: it may report other things */
    uint64_t all_groups;            /* and its probes */
    bool fast;                      /* the fast path may report it; what it is called on is in its first variable */
    bool special_first;                       /* and one of these: */
    bool in_cell;                   /* that is in a cell */
    bool is_generator;                     /* it is a generator */
    bool report_start;                    /* report its next start to `WatchPlanner.on_seen` */
    bool first_is_receiver;                   /* it bears nothing, and its first variable is the receiver */
    bool on_second_tool;                     /* 3.12: the second tool gets its starts and ends */
    bool own;
    int n_probes, units;
    Probe *probes;
    struct {
        int16_t probe, result;      /* numbers of probes from 1, or 0 */
        int16_t step;               /* the same, where the instruction itself makes a step */
        int16_t owner;              /* of an early probe about samples, and nothing else here: where its object lies; or -1 */
    } *at;                          /* by code unit */
    CachedCallee cached_callees[CACHED_RECEIVERS]; /* the types of first arguments that it had last */
    struct CodeInfo *before, *after; /* of the same tracer */
    PyCodeObject *code;             /* borrowed: the info dies with it */
    PyObject *file;                 /* as events have it; of own code only */
    Callee *callee;                 /* on the callee side */
    PyObject *keywords;             /* names of what it takes by keyword alone, a tuple, or NULL: not asked for yet */
    PlaceNumbers *spots;                    /* by code unit, or NULL */
    PyObject **texts;               /* the same, of places in stacks */
    int toggles;
    uint8_t unmatched;                   /* how often it started without an object to learn about */
    bool matched;                      /* it started with one */
    bool bears;                     /* lives of objects of its groups may begin where it starts */
    bool shares_second_tool;                    /* 3.12: the second tool gets its starts, too, only to report that it runs */
    bool slept;                     /* something in it is switched off until one of its groups wakes */
    struct CodeInfo *sleeper_before, *sleeper_after;
};

#define FARTHEST_CALLER 100 /* of the callers that may be own code */

/* The number of a place in the code, if it has been asked for before; or 0. */
static inline uint32_t code_place(const CodeInfo *info, int offset) {
    int unit = offset / 2;
    return info->spots != NULL && unit >= 0 && unit < info->units ? info->spots[unit].place : 0;
}

int plan_setup(void);
extern unsigned plan_deaths HIDDEN; /* how often something died that an answer rests on */
/* Asks Python. NULL without an exception: it is of no interest. */
CodeInfo *plan_make(Tracer *tracer, PyCodeObject *code, PyObject *globals);
int plan_report_start(Tracer *tracer, CodeInfo *info); /* it starts, for the first time since it was asked for */
Callee *plan_call(Tracer *tracer, CachedCallee *cached_callees, PyObject *function, PyObject *key, PyTypeObject *receiver);
Callee *plan_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver);
/* What they would answer, if it is known. */
const CachedCallee *plan_known_call(Tracer *tracer, CachedCallee *cached_callees, const void *key, PyObject *qualname, PyTypeObject *receiver);
const CachedCallee *plan_known_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver);
Callee *plan_operation(Tracer *tracer, CachedCallee *cached_callees, PyObject *name, PyTypeObject *owner);
Callee *plan_field(Tracer *tracer, CachedCallee *cached_callees, PyObject *name, PyTypeObject *owner);
Callee *plan_known_field(Tracer *tracer, CachedCallee *cached_callees, PyObject *name, PyTypeObject *owner); /* or NULL */
PyObject *plan_class_name(Tracer *tracer, PyTypeObject *type);       /* a new reference */
Callee *plan_with_class(Tracer *tracer, Callee *callee, PyTypeObject *type);
void plan_forget(Tracer *tracer);                                    /* everything */
void plan_forget_numbers(Tracer *tracer);                            /* the learner's */
/* The numbers of a place; NULL with an exception. */
PlaceNumbers *plan_place_numbers(Tracer *tracer, PyCodeObject *code, int offset);
uint32_t plan_place(Tracer *tracer, PlaceNumbers *spot, PyCodeObject *code, int offset); /* 0: out of memory */
/* Calls a method with one argument or two. */
PyObject *plan_ask(PyObject *whom, PyObject *method, PyObject *first, PyObject *second);
/* Something is wanted that is called by this name: places where it is, and that were left alone, are looked at again. */
int plan_wanted_name(Tracer *tracer, PyObject *name);

/* Asks `WatchPlanner`. The further argument may be NULL. */
PyObject *plan_ask_wanted(Tracer *tracer, PyObject *method, PyObject *subject, PyObject *further);

int callee_setup(void);
/* From a model.Callee or None. The receiver is the type of one, or NULL. */
Callee *callee_read(Tracer *tracer, PyObject *answer, PyTypeObject *receiver);
void callee_forget(Tracer *tracer);   /* all of them */

void place_forget(Tracer *tracer);    /* all of them */

/* Both set an exception, and return -1. */
static inline int failed_with(PyObject *exception, const char *message) {
    PyErr_SetString(exception, message);
    return -1;
}

static inline int out_of_memory(void) {
    PyErr_NoMemory();
    return -1;
}

/* Makes room for one more. -1: out of memory, and no exception. */
static inline int make_room(void **items, uint32_t *room, uint32_t count, size_t size) {
    if (count < *room) return 0;
    uint32_t more = *room ? 2 * *room : 64;
    void *grown = PyMem_RawRealloc(*items, more * size);
    if (grown == NULL) return -1;
    *items = grown;
    *room = more;
    return 0;
}

#endif

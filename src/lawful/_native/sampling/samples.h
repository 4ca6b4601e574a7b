/* Samples: which objects are reported (samples.c), and their counter fields (field_counts.c). A part of tracer/tracer.h.
   Must match: lawful/sources/python/object_sampling.py. Compared by: tests/sources/python/sampling/. */
#ifndef LAWFUL_SAMPLES_H
#define LAWFUL_SAMPLES_H

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
    int64_t alive;         /* samples whose end was not reported */
    int64_t unwatched;     /* samples whose dict is not watched */
    bool places;           /* none ever does */
    int64_t idle_visits;     /* how often its places met no sample, since the last one died */
    int64_t patience;      /* how often that may be: about what it cost to wake them last time, or a guess */
    bool woken;            /* the patience was measured */
    double visits, births; /* how often that was, and how many were born meanwhile */
    unsigned sleeps;       /* how often it fell asleep */
} Group;

typedef struct {
    PyObject *key;         /* NULL: free; borrowed, it dies before its place is used again */
    Id id;
    Group *group;
    PyObject *fields;      /* its dict, if that is watched (field_counts.c); borrowed, or NULL */
} Sample;

typedef struct {
    Sample *entries;       /* or NULL */
    size_t mask, used;     /* at most a quarter of the entries is used */
} Samples;

Group *sample_group(Tracer *tracer, long number);             /* NULL with an exception */
int sample_set(Tracer *tracer, Group *group, double rate, int64_t budget);
void sample_release(Tracer *tracer, Group *group);            /* none of its objects is a sample any more */
void sample_seed(Tracer *tracer, uint64_t seed);
void sample_fork(Tracer *tracer, uint64_t process);
bool sample_flip(Tracer *tracer, Group *group);               /* a life begins: is it a sample? */
/* It is: from now on it has an id, and all its events are reported, first `born`. The frame is the one that makes it. The id is 0 if
   there was an internal error; -1: an exception goes on into the program. */
int sample_take(Tracer *tracer, Callee *callee, PyObject *object, uint32_t place, RunFrame *frame, Id *id);
/* An object dies. NULL: it was not a sample. */
Group *sample_lost(Tracer *tracer, PyObject *object);
void sample_gone(Tracer *tracer, Group *group);               /* and this was reported */
void sample_clear(Tracer *tracer);                            /* no object is a sample any more */
void sample_forget(Tracer *tracer);                           /* everything */
/* A place of these groups met no sample. Nobody's time is to be wasted. */
void sample_idle_visit(Tracer *tracer, uint64_t groups);
void sample_add_sleeper(Tracer *tracer, CodeInfo *info);           /* something in it is switched off */
void sample_unlink(CodeInfo *info);
void sample_cost(Tracer *tracer, CodeInfo *info, uint64_t groups); /* it would have to be woken, too */
/* The dicts of this group's samples cannot be watched: places report them from now on. -1: an exception. */
int sample_by_place(Tracer *tracer, Group *group);
Sample *sample_find(Tracer *tracer, const PyObject *object);  /* NULL: it is not a sample */
int64_t cpu_time(void);                                       /* of this thread, in nanoseconds */

/* ---- steps of samples (field_counts.c) ------------------------------------------------------------------------------------ */

#define MOST_COUNTED_FIELDS 16 /* names of fields */

bool field_counts_possible(const Tracer *tracer);
int field_counts_add_name(Tracer *tracer, PyObject *name);               /* there is a place where such a field makes steps */
/* An object becomes a sample: the dict that is watched, or NULL, perhaps with an exception. */
PyObject *field_counts_watch(Tracer *tracer, Group *group, PyObject *object);
void field_counts_unwatch(PyObject *fields);
int field_counts_disable(Tracer *tracer);                            /* of all groups */

#endif

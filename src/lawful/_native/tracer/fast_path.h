/* The fast path: calls, starts and ends of which nothing is wanted but numbers and plain values, at places and with types that
   came up before. Each function does what its counterpart in call.c, function.c or probe.c would do, or it does nothing and
   returns false: then these are called. tests/sources/python/test_fast_paths.py compares both.

   monitoring.c first tries `fast_start`, `fast_call` and `fast_return`. They compare with what was found last, write plain
   records, and call nothing: a function that is called may use every register, and to save them takes as long as the work.
   Where they return false, it calls `fast_start_again`, `fast_call_again` and `fast_return_again` (fast_path.c), which look up
   what was not found and write records with values. docs/benchmarks.md says what the fast path gains. */
#ifndef LAWFUL_FAST_PATH_H
#define LAWFUL_FAST_PATH_H

#include "tracer/probe.h"

/* If there are tasks, does the chunk have the one in which this thread is now? */
static ALWAYS_INLINE bool fast_task_noted(const Tracer *tracer) {
    if (!tracer->tasks) return true;
    const ThreadData *thread = thread_known(tracer);
    return thread != NULL && tracer->last_chunk != NULL && task_is_same(tracer, thread->task_cache) &&
           thread->task_cache->noted == tracer->last_chunk->start;
}

/* Is it enough to add a record? The tracer runs, has not failed, and buffers records without a limit. Most programs have
   no tasks: then one comparison answers all that. */
static ALWAYS_INLINE bool fast_ready(const Tracer *tracer) {
#ifdef LAWFUL_GENERAL_PATH_ONLY /* to measure what the fast path gains: docs/benchmarks.md */
    return false;
#endif
    const bool ready[4] = {true, false, true, false};
    _Static_assert(offsetof(Tracer, tasks) == offsetof(Tracer, running) + 3, "these lie together");
    if (memcmp(&tracer->running, ready, sizeof ready) == 0) return true;
    return tracer->running && !tracer->broken && tracer->buffers && fast_task_noted(tracer);
}

/* The same, and no thread is suspended. */
static ALWAYS_INLINE bool fast_ready_to_start(const Tracer *tracer) {
    const struct {
        bool ready[4];
        int32_t suspended;
    } all = {{true, false, true, false}, 0};
    _Static_assert(offsetof(Tracer, suspended_threads) == offsetof(Tracer, running) + sizeof all.ready, "these lie together");
#ifndef LAWFUL_GENERAL_PATH_ONLY
    if (memcmp(&tracer->running, &all, sizeof all) == 0) return true;
#endif
    return !tracer->suspended_threads && fast_ready(tracer);
}

/* The same after the task was noted. It may run Python code. */
static inline bool fast_prepare(Tracer *tracer) {
    if (tracer->tasks && tracer->running && !tracer->broken) record_prepare(tracer);
    return fast_ready(tracer);
}

/* Room for so many records and words, and their time; NULL: the general path makes room. */
static ALWAYS_INLINE RecordChunk *fast_room(Tracer *tracer, int records, size_t words, int64_t tick, uint32_t *time) {
    RecordChunk *chunk = tracer->last_chunk;
    if (chunk == NULL || chunk->count + words > chunk->room || tracer->count + records >= tracer->flush_at) return NULL;
    uint64_t passed = (uint64_t)(tick - chunk->epoch) / TICKS;
    *time = (uint32_t)passed;
    return passed > UINT32_MAX ? NULL : chunk;
}

/* Two words; false: they do not fit. */
static ALWAYS_INLINE bool fast_write(Tracer *tracer, RecordChunk *chunk, uint32_t callee, Id target, uint32_t place,
                                     uint64_t thread, uint32_t time) {
    if (!record_fits(target, place, thread, chunk->high)) return false;
    uint64_t *words = &chunk->words[chunk->count];
    words[0] = record_word(KIND_PRE, false, false, callee, time);
    words[1] = record_second_word(target, place, thread);
    chunk->count += 2;
    tracer->count++;
    return true;
}

bool fast_start_again(Tracer *tracer, CodeInfo *info, RunFrame *frame, bool starts);
bool fast_return_again(Tracer *tracer, RunFrame *frame, PyObject *result);
bool fast_call_again(Tracer *tracer, Probe *probe, RunFrame *frame);
bool fast_result(Tracer *tracer, const Probe *probe, RunFrame *frame); /* the end of a call */
bool fast_learn(Tracer *tracer, Probe *probe, RunFrame *frame);        /* the beginning of a call, for the learner alone */

/* ---- functions that report themselves ------------------------------------------------------------------------------------ */

static ALWAYS_INLINE size_t caller_slot(const void *at) { return ((uintptr_t)at >> 1 ^ (uintptr_t)at >> 9) % CALLERS; }

static ALWAYS_INLINE uint32_t fast_cached_place(const Tracer *tracer, const void *at) {
    size_t slot = caller_slot(at);
    return tracer->callers[slot].at == at ? tracer->callers[slot].place : 0;
}

uint32_t fast_caller_place(Tracer *tracer, RunFrame *caller); /* of the nearest caller that is own code, or 0: unknown */

/* The first argument of a function that is on the fast path, or NULL. */
static ALWAYS_INLINE PyObject *fast_first_argument(const Tracer *tracer, const CodeInfo *info, RunFrame *frame) {
    PyObject *first = frame->localsplus[0];
    if (!info->special_first || first == NULL) return first;
    if (info->is_generator && (tracer->generator_payloads != NULL || tracer->generator_tokens != NULL)) return NULL;
    if (!info->in_cell) return first;
    return PyCell_Check(first) ? PyCell_GET(first) : NULL;
}

/* A function starts at this tick, or a generator goes on, which its start has reported. */
static ALWAYS_INLINE bool fast_start_plain(Tracer *tracer, ThreadData *thread, RunFrame *frame, const CachedCallee *cached,
                                           PyObject *first, uint32_t place, bool starts, int64_t tick) {
    unsigned fast = cached->fast;
    if (!starts && cached->callee->wants & WANT_YIELD) return false;
    Id target = 0;
    if (fast & FAST_RECEIVER && (target = identity_known(first)) == 0) return false;
    if (fast & FAST_END && thread->depth == thread->room) return false;
    uint64_t begun = 0;
    if (starts && fast & FAST_PRE) {
        uint32_t time;
        RecordChunk *chunk = fast_room(tracer, 1, MOST_WORDS, tick, &time);
        if (chunk == NULL || !fast_write(tracer, chunk, cached->number, target, place, thread->word, time)) return false;
        begun = chunk->start + chunk->count - 2;
    }
    if (fast & FAST_END) {
        Pending *pending = &thread->stack[thread->depth++];
        pending_clear(pending, cached->callee, frame, target, -1);
        pending->fast = fast & FAST_END_PLAIN ? PENDING_PLAIN : PENDING_VALUES;
        pending->begun = begun;
        pending->place = place;
    }
    return true;
}

/* The same with the callee and the place of the caller as they were found last. */
static ALWAYS_INLINE bool fast_start(Tracer *tracer, CodeInfo *info, RunFrame *frame, bool starts, int64_t tick) {
    PyObject *first = fast_first_argument(tracer, info, frame);
    RunFrame *caller = frame_caller(frame);
    ThreadData *thread = thread_known(tracer);
    if (first == NULL || caller == NULL || thread == NULL) return false;
    const CachedCallee *cached = info->cached_callees;
    for (int i = 1; cached->type != Py_TYPE(first) || cached->deaths != plan_deaths; i++, cached++)
        if (i == CACHED_RECEIVERS) return false;
    if ((cached->fast & (FAST_CALLEE | FAST_VALUES)) != FAST_CALLEE) return false;
    uint32_t place = fast_cached_place(tracer, frame_at(caller));
    return place && fast_start_plain(tracer, thread, frame, cached, first, place, starts, tick);
}

/* The function that runs in this frame, if its start was on the fast path. */
static ALWAYS_INLINE Pending *fast_pending(const ThreadData *thread, const RunFrame *frame) {
    if (thread == NULL || thread->depth == 0) return NULL;
    Pending *pending = &thread->stack[thread->depth - 1];
    return pending->frame == frame && pending->fast ? pending : NULL;
}

/* A function ends at this tick: one word is enough if the record of its start is in the same chunk. */
static ALWAYS_INLINE bool fast_return(Tracer *tracer, RunFrame *frame, int64_t tick) {
    ThreadData *thread = thread_known(tracer);
    const Pending *pending = fast_pending(thread, frame);
    if (pending == NULL || pending->fast != PENDING_PLAIN) return false;
    uint32_t time;
    RecordChunk *chunk = fast_room(tracer, 1, MOST_WORDS, tick, &time);
    if (chunk == NULL || pending->begun < chunk->start) return false;
    tracer->count++;
    uint64_t distance = chunk->start + chunk->count - pending->begun;
    chunk->words[chunk->count++] = record_word(WORDS_END, false, false, distance, time);
    thread->depth--;
    return true;
}

/* A generator yields. What its start had, it gets again when it goes on. */
static ALWAYS_INLINE bool fast_yield(Tracer *tracer, RunFrame *frame) {
    ThreadData *thread = thread_known(tracer);
    const Pending *pending = fast_pending(thread, frame);
    if (pending == NULL || pending->callee->wants & WANT_YIELD) return false;
    thread->depth--;
    return true;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------- */

/* What a callable is known by, and its receiver, as in `look_at_call`; the name of a function that is known by its code. */
static ALWAYS_INLINE const void *fast_key(PyObject *callable, PyObject **receiver, PyObject **qualname) {
    PyTypeObject *kind = Py_TYPE(callable);
    if (is_method_descriptor(callable)) return *receiver ? callable : NULL;
    if (kind == &PyFunction_Type) {
        *qualname = ((PyFunctionObject *)callable)->func_qualname;
        return PyFunction_GET_CODE(callable);
    }
    if (*receiver != NULL) return NULL;
    if (kind == &PyCFunction_Type || kind == &PyCMethod_Type) {
        PyCFunctionObject *builtin = (PyCFunctionObject *)callable;
        if (builtin->m_self != NULL && !PyModule_CheckExact(builtin->m_self)) {
            if (PyModule_Check(builtin->m_self) || builtin->m_ml->ml_flags & METH_STATIC) return NULL;
            *receiver = builtin->m_self;
        }
        return builtin->m_ml;
    }
    return PyType_Check(callable) ? callable : NULL;
}

static ALWAYS_INLINE const CachedCallee *fast_cached_callee(const Probe *probe, const void *key, PyObject *qualname, PyTypeObject *type) {
    for (const CachedCallee *cached = probe->cached_callees; cached < probe->cached_callees + CACHED_CALLEES; cached++)
        if (cached->key == key && cached->type == type && cached->deaths == plan_deaths && cached->qualname == qualname)
            return cached;
    return NULL;
}

/* Does the record of a call need values, or its end another record? */
static ALWAYS_INLINE bool fast_has_values(const CachedCallee *cached) {
    return cached->fast & (FAST_VALUES | FAST_END) || cached->primitive;
}

/* A call begins of which nothing but numbers is wanted, and nothing at its end. */
static ALWAYS_INLINE bool fast_call_plain(Tracer *tracer, const ThreadData *thread, const Probe *probe, const CachedCallee *cached,
                                          PyObject *receiver, int64_t tick) {
    Id target = 0;
    if (receiver != NULL && (target = identity_known(receiver)) == 0) return false;
    uint32_t time;
    RecordChunk *chunk = fast_room(tracer, 1, MOST_WORDS, tick, &time);
    return chunk != NULL && fast_write(tracer, chunk, cached->number, target, probe->spot.place, thread->word, time);
}

/* A call is about to begin, of something that was called here before. */
static ALWAYS_INLINE bool fast_call(Tracer *tracer, const Probe *probe, RunFrame *frame, int64_t tick) {
    if (!probe->fast || !probe->matched || probe->has_values || !probe->spot.place || probe->operation != OP_CALL) return false;
    PyObject **operands = frame->localsplus + probe->base, *callable = operands[0], *receiver = operands[1], *qualname = NULL;
    if (callable == NULL) {
        callable = receiver;
        receiver = NULL;
    }
    const void *key = fast_key(callable, &receiver, &qualname);
    const ThreadData *thread = thread_known(tracer);
    if (key == NULL || thread == NULL) return false;
    const CachedCallee *cached = fast_cached_callee(probe, key, qualname, receiver ? Py_TYPE(receiver) : NULL);
    if (cached == NULL || !(cached->fast & FAST_CALLER)) return false;
    if (fast_has_values(cached) || (cached->fast & FAST_RECEIVER && receiver == NULL)) return false;
    return fast_call_plain(tracer, thread, probe, cached, receiver, tick);
}

#endif

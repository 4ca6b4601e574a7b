/* The most frequent events, where there is nothing to do but to write down numbers: calls, starts and ends of which nothing
   else is wanted, at places and with types that were met before. Each function here does what its counterpart in call.c
   or function.c would do, or nothing at all: then it says no, and these are asked.

   What a start or an end needs is compared with what was found last, and nothing is called for it: what is called may use
   every register, and to save them takes as long as the work. If something is not found there, `fast_start_lookup` looks for it. */
#ifndef LAWFUL_FAST_PLAIN_H
#define LAWFUL_FAST_PLAIN_H

#include "tracer/probe.h"
#include "tracer/learner_feed.h"

/* Can records be added without seeing to anything else? It runs, is not broken, plain, and knows tasks or not: all at once, as it
   is asked each time. */
static ALWAYS_INLINE bool fast_ready(const Tracer *tracer, bool tasks) {
    const bool ready[4] = {true, false, true, tasks};
    _Static_assert(offsetof(Tracer, tasks) == offsetof(Tracer, running) + 3, "these lie together");
    return memcmp(&tracer->running, ready, sizeof ready) == 0;
}

/* The same, and all threads are the program's. */
static ALWAYS_INLINE bool fast_ready_unsuspended(const Tracer *tracer, bool tasks) {
    const struct {
        bool ready[4];
        int32_t suspended_threads;
    } alone = {{true, false, true, tasks}, 0};
    _Static_assert(offsetof(Tracer, suspended_threads) == offsetof(Tracer, running) + offsetof(typeof(alone), suspended_threads), "these lie together");
    return memcmp(&tracer->running, &alone, sizeof alone) == 0;
}

/* The same where something may be called for it. */
static inline bool fast_prepared(Tracer *tracer) {
    if (!fast_ready(tracer, tracer->tasks)) return false;
    if (tracer->tasks) record_prepare(tracer);
    return true;
}

/* Where the next records of a thread go, and their time; NULL: that is not so easy. If there are `tasks`, the chunk must have been
   told in which one it is. What is asked for each event is written down twice for this, with tasks and without. */
static ALWAYS_INLINE RecordChunk *fast_room_at(Tracer *tracer, const ThreadData *thread, bool tasks, int records, size_t words,
                                                int64_t tick, uint32_t *time) {
    RecordChunk *chunk = tracer->last_chunk;
    if (chunk == NULL || chunk->count + words > chunk->room || tracer->count + records >= tracer->flush_at) return NULL;
    if (tasks && !(task_is_same(tracer, thread->task_cache) && thread->task_cache->noted == chunk->start)) return NULL;
    uint64_t passed = (uint64_t)(tick - chunk->epoch) / TICKS;
    *time = (uint32_t)passed;
    return passed > UINT32_MAX ? NULL : chunk;
}

static ALWAYS_INLINE RecordChunk *fast_room_now(Tracer *tracer, const ThreadData *thread, int records, size_t words, uint32_t *time) {
    return fast_room_at(tracer, thread, tracer->tasks, records, words, ticks(), time);
}

static ALWAYS_INLINE void fast_write(Tracer *tracer, RecordChunk *chunk, const Record *record) {
    tracer->count++;
    chunk->count += record_pack(&chunk->words[chunk->count], record, chunk->high);
}

static ALWAYS_INLINE size_t caller_home(const void *at) { return ((uintptr_t)at >> 1 ^ (uintptr_t)at >> 9) % CALLERS; }

/* The place of the nearest caller that is own code, if it is known; or 0. */
static inline uint32_t fast_caller_place(Tracer *tracer, RunFrame *caller) {
    for (int i = 0; caller != NULL && i < FARTHEST_CALLER; caller = frame_caller(caller), i++) {
        const void *at = frame_at(caller);
        size_t home = caller_home(at);
        if (tracer->callers[home].at == at) return tracer->callers[home].place;
        const CodeInfo *info = plan_find(tracer, frame_code(caller));
        if (info == NULL || !info->own) continue;
        uint32_t place = code_place(info, frame_offset(caller));
        if (place) {
            tracer->callers[home].at = at;
            tracer->callers[home].place = place;
        }
        return place;
    }
    return 0;
}

/* What a function is called on, if it is plain; or NULL. */
static ALWAYS_INLINE PyObject *fast_first_argument(const Tracer *tracer, const CodeInfo *info, RunFrame *frame) {
    PyObject *first = frame->localsplus[0];
    if (!info->special_first || first == NULL) return first;
    if (info->is_generator && (tracer->generator_payloads != NULL || tracer->generator_tokens != NULL)) return NULL;
    if (!info->in_cell) return first;
    return PyCell_Check(first) ? PyCell_GET(first) : NULL;
}

/* A function begins at this tick, or a generator goes on: that is told by its start alone. */
static ALWAYS_INLINE bool fast_begin(Tracer *tracer, ThreadData *thread, RunFrame *frame, const CachedCallee *answer, Id target,
                                      uint32_t place, bool starts, int64_t tick, bool tasks) {
    unsigned fast = answer->fast;
    if (fast & FAST_WANTS_END && thread->depth == thread->room) return false;
    uint64_t begun = 0;
    uint32_t time;
    if (starts && fast & FAST_WANTS_PRE) {
        RecordChunk *chunk = fast_room_at(tracer, thread, tasks, 1, MOST_WORDS, tick, &time);
        if (chunk == NULL || !record_fits(target, place, thread->word, chunk->high)) return false;
        uint64_t *words = &chunk->words[chunk->count];
        words[0] = record_word(KIND_PRE, false, false, answer->number, time);
        words[1] = record_second_word(target, place, thread->word);
        begun = chunk->start + chunk->count;
        chunk->count += 2;
        tracer->count++;
    }
    if (fast & FAST_WANTS_END) {
        Pending *pending = &thread->stack[thread->depth++];
        pending_clear(pending, answer->callee, frame, target, -1);
        pending->plain = fast & FAST_END_PLAIN;
        pending->begun = begun;
        pending->place = place;
    }
    return true;
}

/* Is this all that is to be told? */
static ALWAYS_INLINE bool fast_is_plain(const CachedCallee *answer, bool starts) {
    return answer->fast & FAST_CALLEE_PLAIN && (starts || !(answer->callee->wants & WANT_YIELD));
}

/* With what was found last: the caller, the type of what it is called on, and that itself. */
static ALWAYS_INLINE bool fast_start_cached(Tracer *tracer, CodeInfo *info, RunFrame *frame, bool starts, int64_t tick, bool tasks) {
    PyObject *first = fast_first_argument(tracer, info, frame);
    RunFrame *caller = frame_caller(frame);
    ThreadData *thread = thread_known(tracer);
    if (first == NULL || caller == NULL || thread == NULL) return false;
    const CachedCallee *answer = info->cached_callees;
    for (int i = 1; answer->type != Py_TYPE(first) || answer->deaths != plan_deaths; i++, answer++)
        if (i == CACHED_RECEIVERS) return false;
    if (!fast_is_plain(answer, starts)) return false;
    const void *at = frame_at(caller);
    size_t home = caller_home(at);
    if (tracer->callers[home].at != at) return false;
    Id target = 0;
    if (answer->fast & FAST_WANTS_RECEIVER && (target = identity_known(first)) == 0) return false;
    return fast_begin(tracer, thread, frame, answer, target, tracer->callers[home].place, starts, tick, tasks);
}

/* The same with what can be found. */
static inline bool fast_start_lookup(Tracer *tracer, CodeInfo *info, RunFrame *frame, bool starts) {
    PyObject *first = fast_first_argument(tracer, info, frame);
    ThreadData *thread = thread_data(tracer);
    if (first == NULL || thread == NULL || tracer->message_cache != NULL) return false;
    const CachedCallee *answer = plan_known_receiver(tracer, info, receiver_type(first));
    if (answer == NULL || !fast_is_plain(answer, starts)) return false;
    Id target = 0;
    if (answer->fast & FAST_WANTS_RECEIVER && (target = identity_get_fast(tracer, first)) == 0) return false;
    uint32_t place = fast_caller_place(tracer, frame_caller(frame));
    return place && fast_begin(tracer, thread, frame, answer, target, place, starts, ticks(), tracer->tasks);
}

/* The call that is about to end or to rest, if it began in a quick way. */
static ALWAYS_INLINE const Pending *fast_pending(const ThreadData *thread, const RunFrame *frame) {
    if (thread == NULL || thread->depth == 0) return NULL;
    const Pending *pending = &thread->stack[thread->depth - 1];
    return pending->frame == frame && pending->plain ? pending : NULL;
}

/* A function ends at this tick. If its beginning is not at hand any more, what it had is written once more, where `apart`. */
static ALWAYS_INLINE bool fast_end(Tracer *tracer, RunFrame *frame, int64_t tick, bool on_second_tool, bool tasks) {
    ThreadData *thread = thread_known(tracer);
    const Pending *pending = fast_pending(thread, frame);
    uint32_t time;
    RecordChunk *chunk = pending ? fast_room_at(tracer, thread, tasks, 1, MOST_WORDS, tick, &time) : NULL;
    if (chunk == NULL) return false;
    if (pending->begun >= chunk->start) {
        tracer->count++;
        uint64_t distance = chunk->start + chunk->count - pending->begun;
        chunk->words[chunk->count++] = record_word(WORDS_END, false, false, distance, time);
    } else {
        if (!on_second_tool) return false;
        fast_write(tracer, chunk, &(Record){.target = pending->target, .callee = pending->callee->number, .time = time,
                                              .place = pending->place, .thread = thread->number, .kind = KIND_POST});
    }
    thread->depth--;
    return true;
}

/* A generator rests. What its beginning had, as far as that is kept, it gets again when it goes on. */
static ALWAYS_INLINE bool fast_yield(Tracer *tracer, RunFrame *frame) {
    ThreadData *thread = thread_known(tracer);
    const Pending *pending = fast_pending(thread, frame);
    if (pending == NULL || pending->payload != NULL || pending->token != NULL || pending->callee->wants & WANT_YIELD) return false;
    thread->depth--;
    return true;
}

/* By what a callable is known, and its receiver, as in `look_at_call`; a function's name, if it is known by its code. */
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

/* What was found last of a callable at a place. */
static ALWAYS_INLINE const CachedCallee *fast_cached_callee(const Probe *probe, const void *key, PyObject *qualname, PyTypeObject *type) {
    for (const CachedCallee *answer = probe->cached_callees; answer < probe->cached_callees + CACHED_CALLEES; answer++)
        if (answer->key == key && answer->type == type && answer->deaths == plan_deaths && answer->qualname == qualname)
            return answer;
    return NULL;
}

/* What is known of it. */
static ALWAYS_INLINE const CachedCallee *fast_callee(Tracer *tracer, Probe *probe, PyObject *callable, PyObject **receiver) {
    if (Py_IS_TYPE(callable, &PyMethod_Type) && *receiver == NULL) {
        *receiver = PyMethod_GET_SELF(callable);
        callable = PyMethod_GET_FUNCTION(callable);
        if (!PyFunction_Check(callable)) return NULL;
    }
    PyObject *qualname = NULL;
    const void *key = fast_key(callable, receiver, &qualname);
    if (key == NULL) return NULL;
    const CachedCallee *answer = fast_cached_callee(probe, key, qualname, *receiver ? Py_TYPE(*receiver) : NULL);
    if (answer != NULL) return answer;
    /* The functions of a decorator share their code, but not their names. */
    if (qualname != NULL && qualname != ((PyCodeObject *)key)->co_qualname) {
        key = callable;
        qualname = NULL;
    }
    return plan_known_call(tracer, probe->cached_callees, key, qualname, *receiver ? receiver_type(*receiver) : NULL);
}

/* What is called, on what, with what. */
typedef struct {
    PyObject *callable, *receiver;
    PyObject *const *args;
    Py_ssize_t count;     /* of arguments, with those by keyword */
    PyObject *keywords;   /* names of the last, or NULL */
} FastCall;

/* As in `look_at_call`. false: that is not so easy. */
static ALWAYS_INLINE bool fast_operands(FastCall *call, const Probe *probe, RunFrame *frame) {
    PyObject **operands = frame->localsplus + probe->base;
    call->callable = operands[0] ? operands[0] : operands[1];
    call->receiver = operands[0] ? operands[1] : NULL;
    call->args = operands + 2;
    call->count = probe->count;
    call->keywords = probe->keywords;
    if (probe->operation == OP_CALL) return true;
    PyObject *all = operands[2], *mapping = probe->count & 1 ? operands[3] : NULL;
    if (!PyTuple_CheckExact(all) && !PyList_CheckExact(all)) return false;
    if (mapping != NULL && !(PyDict_CheckExact(mapping) && PyDict_GET_SIZE(mapping) == 0)) return false;
    call->args = PySequence_Fast_ITEMS(all);
    call->count = PySequence_Fast_GET_SIZE(all);
    return true;
}

static inline bool fast_first_is_receiver(FastCall *call) {
    if (call->receiver != NULL || call->count - (call->keywords ? PyTuple_GET_SIZE(call->keywords) : 0) < 1) return false;
    call->receiver = *call->args++;
    call->count--;
    return true;
}

/* A call with values begins or ends (fast_args_caller.c). */
bool fast_args_call(Tracer *tracer, Probe *probe, RunFrame *frame, const CachedCallee *answer, const FastCall *call);
bool fast_args_result(Tracer *tracer, Probe *probe, RunFrame *frame);

/* The same of functions that report themselves (fast_args_callee.c). */
bool fast_args_start(Tracer *tracer, CodeInfo *info, RunFrame *frame);
bool fast_args_return(Tracer *tracer, RunFrame *frame, PyObject *result);

#define LONGEST_FAST_TEXT 1000 /* characters: longer values may have to be cut */

/* Once more, if the first argument is the receiver. */
static NOT_INLINE const CachedCallee *fast_callee_of_first(Tracer *tracer, Probe *probe, FastCall *call) {
    return fast_first_is_receiver(call) ? fast_callee(tracer, probe, call->callable, &call->receiver) : NULL;
}

/* A call begins at this tick, of which nothing else is told. */
static ALWAYS_INLINE bool fast_write_call(Tracer *tracer, const ThreadData *thread, const Probe *probe, const CachedCallee *answer,
                                     PyObject *receiver, int64_t tick, bool tasks) {
    PyObject *payload = NULL;
    Id target = 0;
    if (answer->primitive) {
        if (!PyUnicode_CheckExact(receiver) || PyUnicode_GET_LENGTH(receiver) > LONGEST_FAST_TEXT) return false;
        payload = receiver;
    } else if (receiver != NULL && (target = identity_known(receiver)) == 0) {
        return false;
    }
    uint32_t time;
    RecordChunk *chunk = fast_room_at(tracer, thread, tasks, 1, MOST_WORDS, tick, &time);
    if (chunk == NULL || !record_fits(target, probe->spot.place, thread->word, chunk->high)) return false;
    if (payload != NULL) {
        if (chunk->payload_count == chunk->payload_room) return false;
        chunk->payloads[chunk->payload_count++] = Py_NewRef(payload);
    }
    uint64_t *words = &chunk->words[chunk->count];
    words[0] = record_word(KIND_PRE, payload != NULL, false, answer->number, time);
    words[1] = record_second_word(target, probe->spot.place, thread->word);
    chunk->count += 2;
    tracer->count++;
    return true;
}

/* Of what was called here last. */
static ALWAYS_INLINE bool fast_call_cached(Tracer *tracer, const Probe *probe, RunFrame *frame, int64_t tick, bool tasks) {
    if (!probe->plain || !probe->matched || probe->has_values || !probe->spot.place || probe->operation != OP_CALL) return false;
    PyObject **operands = frame->localsplus + probe->base, *callable = operands[0], *receiver = operands[1], *qualname = NULL;
    if (callable == NULL) {
        callable = receiver;
        receiver = NULL;
    }
    const void *key = fast_key(callable, &receiver, &qualname);
    const ThreadData *thread = thread_known(tracer);
    if (key == NULL || thread == NULL) return false;
    const CachedCallee *answer = fast_cached_callee(probe, key, qualname, receiver ? Py_TYPE(receiver) : NULL);
    if (answer == NULL || !(answer->fast & FAST_CALLER_PLAIN)) return false;
    if (answer->fast & FAST_WANTS_RECEIVER && receiver == NULL) return false;
    return fast_write_call(tracer, thread, probe, answer, receiver, tick, tasks);
}

/* Of what is known. */
static inline bool fast_call_lookup(Tracer *tracer, Probe *probe, RunFrame *frame) {
    if (!probe->plain || !probe->matched || !probe->spot.place || !fast_prepared(tracer)) return false;
    FastCall call;
    if (!fast_operands(&call, probe, frame)) return false;
    if (is_method_descriptor(call.callable)) fast_first_is_receiver(&call);
    const CachedCallee *answer = fast_callee(tracer, probe, call.callable, &call.receiver);
    if (answer != NULL && answer->fast & FAST_WANTS_RECEIVER && call.receiver == NULL)
        answer = fast_callee_of_first(tracer, probe, &call);
    if (answer == NULL || !(answer->fast & (FAST_CALLER_PLAIN | FAST_CALLER_ARGS))) return false;
    if (answer->fast & FAST_CALLER_ARGS) {
        probe->has_values = true;
        return fast_args_call(tracer, probe, frame, answer, &call);
    }
    const ThreadData *thread = thread_data(tracer);
    return thread != NULL && fast_write_call(tracer, thread, probe, answer, call.receiver, ticks(), tracer->tasks);
}

/* Is there nothing to be told of such a call, and the place stays as it is all the same? */
static inline bool fast_unwanted(const Probe *probe, const Callee *callee, PyObject *receiver) {
    if (probe->name_unwanted || probe->disabled || (probe->by_global && receiver == NULL)) return false;
    if (probe->learner_only && !probe->matched && probe->name != NULL && probe->unmatched < MOST_UNMATCHED) return false; /* then it is known by now */
    if (receiver != NULL && PyType_Check(receiver)) return false; /* it may be what is known of its class */
    if (callee->name == NULL) return true;
    if (receiver == NULL && callee->wants & WANT_RECEIVER) return false;
    if (callee->wants & WANT_CALLEE_SIDE) return true;
    if (callee->wants & (WANT_TOLD | LEARN(WANT_NEW))) return false;
    return !(callee->wants & LEARN(WANT_PRE)) || receiver == NULL || !identity_needed(receiver);
}

/* What most calls are to the learner: of something that was called here before, on an object, and nothing else is wanted; or
   of something that is nothing to it. */
static inline bool fast_learn(Tracer *tracer, Probe *probe, RunFrame *frame) {
    if (!probe->plain || probe->operation != OP_CALL) return false;
    PyObject **operands = frame->localsplus + probe->base, *callable = operands[0], *receiver = operands[1];
    if (callable == NULL) {
        callable = receiver;
        receiver = NULL;
    }
    const CachedCallee *answer = fast_callee(tracer, probe, callable, &receiver);
    if (answer == NULL) return false;
    if (!(answer->fast & FAST_LEARNED) || answer->primitive || receiver == NULL)
        return fast_unwanted(probe, answer->callee, receiver);
    uint32_t word = answer->callee->words[WORD_PRE];
    if (word == 0 || !probe->spot.site || !probe->matched) return false;
    Id object = identity_known(receiver);
    if (object == 0 && (object = identity_create(tracer, receiver)) == 0) {
        PyErr_Clear(); /* it will come up again */
        return false;
    }
    stream_push(tracer->window, word - 1, probe->spot.site - 1, object);
    return true;
}

/* A call is about to be made. */
static inline bool fast_event(Tracer *tracer, Probe *probe, RunFrame *frame) {
    return tracer->window != NULL ? fast_learn(tracer, probe, frame) : fast_call_lookup(tracer, probe, frame);
}

#endif

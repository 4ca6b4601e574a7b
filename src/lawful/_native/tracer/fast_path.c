/* The part of the fast path that fast_path.h, which says what it is, does not have inline: records with values, and look-ups of
   what was not found in its caches. monitoring.c calls it. tests/sources/python/test_fast_paths.py compares it with call.c, function.c and probe.c. */
#include "tracer/fast_path.h"

#include <math.h>

#include "events/record_values.h"

/* A callable, its receiver and its arguments. */
typedef struct {
    PyObject *callable, *receiver;
    PyObject *const *args;
    Py_ssize_t count;     /* of arguments, with those by keyword */
    PyObject *keywords;   /* names of the last, or NULL */
} FastCall;

/* ---- values ----------------------------------------------------------------------------------------------------------------- */

static inline bool fits_word(long long number) {
    return number >= -(INT64_C(1) << (63 - VALUE_BITS)) && number < INT64_C(1) << (63 - VALUE_BITS);
}

static inline uint64_t address_word(PyObject *object, uint64_t *shape) {
    if (_Py_IsImmortal(object)) return (uintptr_t)object | VALUE_STATIC;
    *shape |= SHAPE_HOLDS;
    return (uintptr_t)object | VALUE_HELD;
}

/* The id of an object; 0: it cannot have one, without an exception. */
static inline Id id_of(Tracer *tracer, PyObject *object) {
    Id id = identity_get_fast(tracer, object);
    if (id == 0 && (id = identity_create(tracer, object)) == 0) PyErr_Clear(); /* the general path asks for it again */
    return id;
}

/* A value as one word or two; how many. 0: that is not possible. What is held is not yet counted as a reference. */
static inline size_t take_value(Tracer *tracer, PyObject *object, uint64_t *words, uint64_t *shape) {
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyLong_Type) {
        int overflow = 0;
        long long number = PyUnstable_Long_IsCompact((PyLongObject *)object)
                               ? PyUnstable_Long_CompactValue((PyLongObject *)object)
                               : PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow) return 0;
        words[0] = fits_word(number) ? (uint64_t)number << VALUE_BITS | VALUE_INT : address_word(object, shape);
    } else if (type == &PyUnicode_Type) {
        if (PyUnicode_GET_LENGTH(object) > LONGEST_TEXT) return 0;
        words[0] = address_word(object, shape);
    } else if (type == &PyBool_Type || object == Py_None) {
        words[0] = (uintptr_t)object | VALUE_STATIC;
    } else if (type == &PyFloat_Type) {
        double number = PyFloat_AS_DOUBLE(object);
        if (!isfinite(number)) {
            words[0] = (uintptr_t)Py_None | VALUE_STATIC;
            return 1;
        }
        words[0] = VALUE_FLOAT;
        memcpy(&words[1], &number, sizeof number);
        return 2;
    } else {
        Id id = id_of(tracer, object);
        if (id == 0 || id >> (64 - VALUE_BITS)) return 0;
        words[0] = id << VALUE_BITS | VALUE_ID;
    }
    return 1;
}

/* The receiver, if it has no id, and the arguments. false: they cannot be written as words. */
static inline bool take_values(Tracer *tracer, const FastCall *call, bool args, bool target, uint64_t *values) {
    size_t count = args ? (size_t)call->count : 0, at = 1, taken;
    size_t by_name = args && call->keywords ? (size_t)PyTuple_GET_SIZE(call->keywords) : 0;
    uint64_t shape = 0;
    if (count + 4 > CALL_WORDS) return false;
    if (target) {
        if ((taken = take_value(tracer, call->receiver, &values[at], &shape)) == 0) return false;
        at += taken;
        shape |= SHAPE_TARGET;
    }
    for (size_t i = 0; i < count; i++) {
        if (by_name && i == count - by_name) values[at++] = address_word(call->keywords, &shape);
        if (at + 3 > CALL_WORDS || (taken = take_value(tracer, call->args[i], &values[at], &shape)) == 0) return false;
        at += taken;
    }
    if (args) shape |= (count - by_name + 1) << SHAPE_ARGS_BIT | by_name << SHAPE_KEYWORDS_BIT;
    values[0] = shape | (at - 1) << SHAPE_SIZE_BIT;
    return true;
}

/* Room for so many records with values, and for the references that come with them. */
static inline RecordChunk *room_for_values(Tracer *tracer, int records, uint32_t *time) {
    if (!fast_task_noted(tracer)) return NULL; /* to make ids may have run Python code */
    RecordChunk *chunk = fast_room(tracer, records, records * (MOST_WORDS + CALL_WORDS + 2), ticks(), time);
    if (chunk == NULL || chunk->held_count + 2 * CALL_WORDS <= chunk->held_room) return chunk;
    size_t room = chunk->held_room ? 2 * chunk->held_room : 256;
    PyObject **held = realloc(chunk->held, room * sizeof *held);
    if (held == NULL) return NULL;
    chunk->held = held;
    chunk->held_room = room;
    return chunk;
}

static inline void chunk_hold(RecordChunk *chunk, uint64_t word) {
    if ((word & VALUE_MASK) == VALUE_HELD) chunk->held[chunk->held_count++] = Py_NewRef(value_held(word));
}

/* A record with values, and perhaps with a result behind them. */
static inline void write_record(Tracer *tracer, RecordChunk *chunk, Record *record, const uint64_t *values, const uint64_t *result,
                                bool holds) {
    size_t size = shape_size(values[0]), more = result ? value_size(*result) : 0;
    record->has_values = values[0] != 0 || result != NULL;
    tracer->count++;
    chunk->count += record_pack(&chunk->words[chunk->count], record, chunk->high);
    if (!record->has_values) return;
    uint64_t *words = &chunk->words[chunk->count];
    for (size_t i = 0; i <= size; i++) words[i] = values[i];
    chunk->count += 1 + size;
    if (holds && values[0] & SHAPE_HOLDS)
        for (size_t i = 1; i <= size; i += value_size(values[i])) chunk_hold(chunk, values[i]);
    if (result == NULL) return;
    uint64_t holds_result = (*result & VALUE_MASK) == VALUE_HELD ? SHAPE_HOLDS : 0;
    words[0] = (values[0] | SHAPE_RESULT | holds_result) + ((uint64_t)more << SHAPE_SIZE_BIT);
    memcpy(&words[1 + size], result, more * sizeof *result);
    chunk->count += more;
    chunk_hold(chunk, *result);
}

/* ---- beginnings and ends ------------------------------------------------------------------------------------------------------ */

/* A call begins, or a function starts: its record, and the pending call if its end is wanted. The offset is that of the probe;
   callee side: -1. */
static inline bool begin(Tracer *tracer, RunFrame *frame, const CachedCallee *cached, const FastCall *call, uint32_t place, int offset) {
    Callee *callee = cached->callee;
    ThreadData *thread = thread_data(tracer);
    bool primitive = call->receiver != NULL && cached->primitive;
    if (thread == NULL || (callee->wants & WANT_END && thread->depth == thread->room)) return false;
    uint64_t values[CALL_WORDS], begun = 0;
    if (!take_values(tracer, call, callee->wants & WANT_ARGS, primitive, values)) return false;
    Id target = 0;
    if (call->receiver != NULL && !primitive && (target = id_of(tracer, call->receiver)) == 0) return false;
    if (callee->wants & WANT_PRE) {
        uint32_t time;
        RecordChunk *chunk = room_for_values(tracer, 1, &time);
        if (chunk == NULL) return false;
        begun = chunk->start + chunk->count;
        write_record(tracer, chunk, &(Record){.target = target, .callee = callee->number, .place = place, .time = time,
                                              .thread = thread->number, .kind = KIND_PRE}, values, NULL, true);
    }
    if (!(callee->wants & WANT_END)) return true;
    Pending *pending = &thread->stack[thread->depth++];
    pending_clear(pending, callee, frame, target, offset);
    pending->fast = PENDING_VALUES;
    pending->begun = begun;
    pending->place = place;
    size_t size = shape_size(values[0]);
    for (size_t i = 0; i <= size; i++) pending->values[i] = values[i];
    values_hold(values);
    return true;
}

/* It ends. If it made an object of which there is an event, `made` is its callee and `id` the object. */
static bool end(Tracer *tracer, ThreadData *thread, Pending *pending, PyObject *result, Callee *made, Id id) {
    Callee *callee = pending->callee;
    uint64_t words[2], shape = 0;
    bool post = callee->wants & WANT_POST, has_result = post && callee->wants & WANT_RESULT;
    if (has_result && take_value(tracer, result, words, &shape) == 0) return false;
    if (pending->gone != NULL) return false; /* the receiver has died; nothing below can let it die */
    uint32_t time;
    RecordChunk *chunk = room_for_values(tracer, 2, &time);
    if (chunk == NULL) return false;
    bool apart = pending->begun < chunk->start; /* the beginning lies in an older chunk, or nowhere */
    Record record = {.place = pending->place, .time = time, .thread = thread->number};
    if (made != NULL) {
        record.kind = KIND_NEW;
        record.target = id;
        record.callee = made->number;
        write_record(tracer, chunk, &record, pending->values, NULL, apart);
    }
    record.kind = KIND_POST;
    record.target = pending->target;
    record.callee = callee->number;
    if (post && apart) {
        write_record(tracer, chunk, &record, pending->values, has_result ? words : NULL, true);
    } else if (post) {
        uint64_t distance = chunk->start + chunk->count - pending->begun;
        tracer->count++;
        chunk->words[chunk->count++] = record_word(WORDS_END, false, has_result, distance, time);
        if (has_result) {
            for (size_t i = 0; i < value_size(words[0]); i++) chunk->words[chunk->count++] = words[i];
            chunk_hold(chunk, words[0]);
        }
    }
    values_release(pending->values);
    thread->depth--;
    return true;
}

/* ---- functions that report themselves ------------------------------------------------------------------------------------------ */

/* The names of what a function takes by keyword alone; NULL: out of memory, without an exception. */
static PyObject *keyword_names(CodeInfo *info, int plain, int named) {
    if (info->keywords == NULL) {
        info->keywords = PyTuple_GetSlice(info->code->co_localsplusnames, plain, plain + named);
        if (info->keywords == NULL) PyErr_Clear();
    }
    return info->keywords;
}

#define MOST_ARGUMENTS CALL_WORDS /* that are looked at: more than can be written */

/* The arguments of a function, from `first` on, as its variables have them when it starts. false: there are unusual ones. */
static inline bool collect_arguments(CodeInfo *info, RunFrame *frame, int first, PyObject **args, FastCall *call) {
    const PyCodeObject *code = info->code;
    int plain = code->co_argcount, named = code->co_kwonlyargcount, starred = code->co_flags & CO_VARARGS ? 1 : 0;
    Py_ssize_t count = 0;
    if (plain + named > MOST_ARGUMENTS) return false;
    if (code->co_flags & CO_VARKEYWORDS) {
        PyObject *mapping = frame_local(frame, code, plain + named + starred);
        if (mapping == NULL || !PyDict_CheckExact(mapping) || PyDict_GET_SIZE(mapping)) return false;
    }
    for (int i = first; i < plain; i++) args[count++] = frame_local(frame, code, i);
    if (starred) {
        PyObject *rest = frame_local(frame, code, plain + named);
        if (rest == NULL || !PyTuple_CheckExact(rest) || PyTuple_GET_SIZE(rest) > MOST_ARGUMENTS - plain - named) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++) args[count++] = PyTuple_GET_ITEM(rest, i);
    }
    for (int i = 0; i < named; i++) args[count++] = frame_local(frame, code, plain + i);
    for (Py_ssize_t i = 0; i < count; i++)
        if (args[i] == NULL) return false;
    *call = (FastCall){.args = args, .count = count, .keywords = named ? keyword_names(info, plain, named) : NULL};
    return !named || call->keywords != NULL;
}

static bool start_values(Tracer *tracer, CodeInfo *info, RunFrame *frame, const CachedCallee *cached, PyObject *first, uint32_t place) {
    PyObject *args[MOST_ARGUMENTS];
    FastCall call;
    bool receives = cached->fast & FAST_RECEIVER;
    if (info->is_generator || !collect_arguments(info, frame, receives, args, &call)) return false;
    if (receives) call.receiver = first;
    return begin(tracer, frame, cached, &call, place, -1);
}

uint32_t fast_caller_place(Tracer *tracer, RunFrame *caller) {
    for (int i = 0; caller != NULL && i < FARTHEST_CALLER; caller = frame_caller(caller), i++) {
        const void *at = frame_at(caller);
        uint32_t place = fast_cached_place(tracer, at);
        if (place) return place;
        const CodeInfo *info = plan_find(tracer, frame_code(caller));
        if (info == NULL || !info->own) continue;
        if ((place = code_place(info, frame_offset(caller)))) {
            tracer->callers[caller_slot(at)].at = at;
            tracer->callers[caller_slot(at)].place = place;
        }
        return place;
    }
    return 0;
}

bool fast_start_again(Tracer *tracer, CodeInfo *info, RunFrame *frame, bool starts) {
    if (!info->fast || tracer->message_cache != NULL || !fast_prepare(tracer)) return false;
    PyObject *first = fast_first_argument(tracer, info, frame);
    ThreadData *thread = thread_data(tracer);
    if (first == NULL || thread == NULL) return false;
    const CachedCallee *cached = plan_known_receiver(tracer, info, receiver_type(first));
    if (cached == NULL || !(cached->fast & FAST_CALLEE)) return false;
    uint32_t place = fast_caller_place(tracer, frame_caller(frame));
    if (place == 0) return false;
    if (cached->fast & FAST_VALUES) return starts && start_values(tracer, info, frame, cached, first, place);
    if (cached->fast & FAST_RECEIVER && identity_get_fast(tracer, first) == 0) return false;
    return fast_start_plain(tracer, thread, frame, cached, first, place, starts, ticks());
}

bool fast_return_again(Tracer *tracer, RunFrame *frame, PyObject *result) {
    if (!fast_prepare(tracer)) return false;
    ThreadData *thread = thread_data(tracer);
    Pending *pending = fast_pending(thread, frame);
    if (pending == NULL) return false;
    /* The end of an `__init__` that stands for its class: the receiver is complete. */
    bool makes = pending->callee->wants & WANT_NEW && pending->target;
    return end(tracer, thread, pending, result, makes ? pending->callee : NULL, pending->target);
}

/* ---- calls ------------------------------------------------------------------------------------------------------------------------ */

/* As in `look_at_call`. false: that is not so easy. */
static inline bool find_operands(FastCall *call, const Probe *probe, RunFrame *frame) {
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

static bool first_is_receiver(FastCall *call) {
    if (call->receiver != NULL || call->count - (call->keywords ? PyTuple_GET_SIZE(call->keywords) : 0) < 1) return false;
    call->receiver = *call->args++;
    call->count--;
    return true;
}

/* The cached answer about a callable. NULL: the general path must ask. */
static inline const CachedCallee *find_callee(Tracer *tracer, Probe *probe, PyObject *callable, PyObject **receiver) {
    if (Py_IS_TYPE(callable, &PyMethod_Type) && *receiver == NULL) {
        *receiver = PyMethod_GET_SELF(callable);
        callable = PyMethod_GET_FUNCTION(callable);
        if (!PyFunction_Check(callable)) return NULL;
    }
    PyObject *qualname = NULL;
    const void *key = fast_key(callable, receiver, &qualname);
    if (key == NULL) return NULL;
    const CachedCallee *cached = fast_cached_callee(probe, key, qualname, *receiver ? Py_TYPE(*receiver) : NULL);
    if (cached != NULL) return cached;
    /* The functions of a decorator share their code, but not their names. */
    if (qualname != NULL && qualname != ((PyCodeObject *)key)->co_qualname) {
        key = callable;
        qualname = NULL;
    }
    return plan_known_call(tracer, probe->cached_callees, key, qualname, *receiver ? receiver_type(*receiver) : NULL);
}

/* Will the end of a call be seen, and at the right place? */
static inline bool can_end(const Probe *probe, const ThreadData *thread, RunFrame *frame) {
    if (!probe->expects_result || probe->result_disabled || probe->result < 0) return false;
    const Pending *last = thread->depth ? &thread->stack[thread->depth - 1] : NULL;
    return last == NULL || last->frame != frame || last->offset < 0;
}

static inline bool call_values(Tracer *tracer, const Probe *probe, RunFrame *frame, const CachedCallee *cached, const FastCall *call) {
    ThreadData *thread = thread_data(tracer);
    bool ends = cached->callee->wants & WANT_END;
    if (thread == NULL || (ends && !can_end(probe, thread, frame))) return false;
    if (!begin(tracer, frame, cached, call, probe->spot.place, probe->offset)) return false;
    if (!ends || !PyType_Check(call->callable)) return true;
    Pending *pending = &thread->stack[thread->depth - 1];
    pending->type = (PyTypeObject *)call->callable;
    pending->asks_type = pending->type == &PyType_Type && call->count == 1 && call->keywords == NULL;
    return true;
}

bool fast_call_again(Tracer *tracer, Probe *probe, RunFrame *frame) {
    if (!probe->fast || !probe->matched || !probe->spot.place || !fast_prepare(tracer)) return false;
    FastCall call;
    if (!find_operands(&call, probe, frame)) return false;
    if (is_method_descriptor(call.callable)) first_is_receiver(&call);
    const CachedCallee *cached = find_callee(tracer, probe, call.callable, &call.receiver);
    if (cached != NULL && cached->fast & FAST_RECEIVER && call.receiver == NULL)
        cached = first_is_receiver(&call) ? find_callee(tracer, probe, call.callable, &call.receiver) : NULL;
    if (cached == NULL || !(cached->fast & FAST_CALLER)) return false;
    if (fast_has_values(cached)) {
        probe->has_values = true;
        return call_values(tracer, probe, frame, cached, &call);
    }
    const ThreadData *thread = thread_data(tracer);
    return thread != NULL && fast_call_plain(tracer, thread, probe, cached, call.receiver, ticks());
}

bool fast_result(Tracer *tracer, const Probe *probe, RunFrame *frame) {
    if (!fast_prepare(tracer)) return false;
    ThreadData *thread = thread_data(tracer);
    Pending *pending = fast_pending(thread, frame);
    if (pending == NULL || pending->offset != probe->offset) return false;
    PyObject *result = frame->localsplus[probe->base];
    if (result == NULL) result = Py_None;
    if (!(pending->callee->wants & WANT_NEW) || !pending_made(pending, result)) return end(tracer, thread, pending, result, NULL, 0);
    Id id = id_of(tracer, result);
    Callee *made = id ? plan_with_class(tracer, pending->callee, Py_TYPE(result)) : NULL;
    if (made == NULL) PyErr_Clear();
    return made != NULL && end(tracer, thread, pending, result, made, id);
}

/* ---- the learner ------------------------------------------------------------------------------------------------------------------ */

/* Is nothing of such a call wanted, and does the place stay as it is all the same? */
static inline bool is_unwanted(const Probe *probe, const Callee *callee, PyObject *receiver) {
    if (probe->name_unwanted || probe->disabled || (probe->by_global && receiver == NULL)) return false;
    if (probe->learner_only && !probe->matched && probe->name != NULL && probe->unmatched < MOST_UNMATCHED) return false;
    if (receiver != NULL && PyType_Check(receiver)) return false; /* the cached answer may be that of its class */
    if (callee->name == NULL) return true;
    if (receiver == NULL && callee->wants & WANT_RECEIVER) return false;
    if (callee->wants & WANT_CALLEE_SIDE) return true;
    if (callee->wants & (WANT_TOLD | LEARN(WANT_NEW))) return false;
    return !(callee->wants & LEARN(WANT_PRE)) || receiver == NULL || !identity_needed(receiver);
}

bool fast_learn(Tracer *tracer, Probe *probe, RunFrame *frame) {
#ifdef LAWFUL_GENERAL_PATH_ONLY
    return false;
#endif
    if (!probe->fast || probe->operation != OP_CALL) return false;
    PyObject **operands = frame->localsplus + probe->base;
    PyObject *callable = operands[0] ? operands[0] : operands[1], *receiver = operands[0] ? operands[1] : NULL;
    const CachedCallee *cached = find_callee(tracer, probe, callable, &receiver);
    if (cached == NULL) return false;
    if (!(cached->fast & FAST_LEARNED) || cached->primitive || receiver == NULL)
        return is_unwanted(probe, cached->callee, receiver);
    uint32_t word = cached->callee->words[WORD_PRE];
    if (word == 0 || !probe->spot.site || !probe->matched) return false;
    Id object = identity_known(receiver);
    if (object == 0 && (object = identity_create(tracer, receiver)) == 0) {
        PyErr_Clear(); /* the general path asks for it again */
        return false;
    }
    stream_push(tracer->window, word - 1, probe->spot.site - 1, object);
    return true;
}

/* What calls with values (fast_args_caller.c) and functions with values (fast_args_callee.c) have in common: to write them down as words. */
#ifndef LAWFUL_FAST_ARGS_H
#define LAWFUL_FAST_ARGS_H

#include "tracer/fast_plain.h"
#include "events/record_values.h"

#include <math.h>

static inline bool fits_word(long long number) {
    return number >= -(INT64_C(1) << (63 - VALUE_BITS)) && number < INT64_C(1) << (63 - VALUE_BITS);
}

static inline uint64_t address_word(PyObject *object, uint64_t *shape) {
    if (_Py_IsImmortal(object)) return (uintptr_t)object | VALUE_STATIC;
    *shape |= SHAPE_HOLDS;
    return (uintptr_t)object | VALUE_HELD;
}

/* The id of an object; 0: there is none, and no exception. */
static inline Id id_of(Tracer *tracer, PyObject *object) {
    Id id = identity_get_fast(tracer, object);
    if (id == 0 && (id = identity_create(tracer, object)) == 0) PyErr_Clear(); /* it will be asked for once more */
    return id;
}

/* A value as one word or two; how many. 0: that cannot be. What is held is not yet counted as a reference. */
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

/* Room for the references that come with a record. */
static inline bool can_hold(RecordChunk *chunk) {
    if (chunk->held_count + 2 * CALL_WORDS <= chunk->held_room) return true;
    size_t room = chunk->held_room ? 2 * chunk->held_room : 256;
    PyObject **held = realloc(chunk->held, room * sizeof *held);
    if (held == NULL) return false;
    chunk->held = held;
    chunk->held_room = room;
    return true;
}

static inline void chunk_hold(RecordChunk *chunk, uint64_t word) {
    if ((word & VALUE_MASK) == VALUE_HELD) chunk->held[chunk->held_count++] = Py_NewRef(value_held(word));
}

/* A record with values, and perhaps with a result behind them. */
static inline void write_record(Tracer *tracer, RecordChunk *chunk, Record *record, const uint64_t *values, const uint64_t *result,
                                bool holds) {
    size_t size = shape_size(values[0]), more = result ? value_size(*result) : 0;
    record->has_values = values[0] != 0 || result != NULL;
    fast_write(tracer, chunk, record);
    if (!record->has_values) return;
    uint64_t *words = &chunk->words[chunk->count];
    words[0] = values[0];
    for (size_t i = 1; i <= size; i++) words[i] = values[i];
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

/* The receiver, if it has no id, and the arguments. false: they cannot be written down. */
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

/* The call that ends here, if it began in this way. The offset is that of its pending call. */
static inline Pending *pending_here(Tracer *tracer, ThreadData *thread, RunFrame *frame, int offset) {
    if (!fast_prepared(tracer) || thread == NULL || thread->depth == 0) return NULL;
    Pending *pending = &thread->stack[thread->depth - 1];
    return pending->has_values && pending->frame == frame && pending->offset == offset ? pending : NULL;
}

/* What its end must know. */
static inline void pending_take(Pending *pending, const uint64_t *values, uint64_t begun) {
    pending->has_values = true;
    pending->begun = begun;
    size_t size = shape_size(values[0]);
    for (size_t i = 0; i <= size; i++) pending->values[i] = values[i];
    values_hold(values);
}

/* Its end, as short as can be if its beginning is still at hand. */
static inline void write_end(Tracer *tracer, RecordChunk *chunk, Record *record, const Pending *pending, const uint64_t *result) {
    if (pending->begun < chunk->start) {
        write_record(tracer, chunk, record, pending->values, result, true);
        return;
    }
    uint64_t distance = chunk->start + chunk->count - pending->begun;
    tracer->count++;
    chunk->words[chunk->count++] = record_word(WORDS_END, false, result != NULL, distance, record->time);
    if (result == NULL) return;
    chunk->words[chunk->count++] = result[0];
    if (value_size(result[0]) == 2) chunk->words[chunk->count++] = result[1];
    chunk_hold(chunk, result[0]);
}

#endif

/* Calls with their arguments and results, where all of these can be written down as words: no dict is made before somebody
   wants the event. Each function here does what call.c or probe.c would do, or nothing at all: then it says no, and these are
   asked. */
#include "tracer/fast_args.h"

/* Is it clear where the end will be noted? */
static inline bool can_end(const Probe *probe, const ThreadData *thread, RunFrame *frame) {
    if (!probe->expects_result || probe->result_disabled || probe->result < 0 || thread->depth == thread->room) return false;
    const Pending *last = thread->depth ? &thread->stack[thread->depth - 1] : NULL;
    return last == NULL || last->frame != frame || last->offset < 0;
}

bool fast_args_call(Tracer *tracer, Probe *probe, RunFrame *frame, const CachedCallee *answer, const FastCall *call) {
    Callee *callee = answer->callee;
    ThreadData *thread = thread_data(tracer);
    bool ends = callee->wants & WANT_END, primitive = call->receiver != NULL && answer->primitive;
    if (thread == NULL || (ends && !can_end(probe, thread, frame))) return false;
    uint64_t values[CALL_WORDS], begun = 0;
    uint32_t time;
    if (!take_values(tracer, call, callee->wants & WANT_ARGS, primitive, values)) return false;
    Id target = 0;
    if (call->receiver != NULL && !primitive && (target = id_of(tracer, call->receiver)) == 0) return false;
    if (callee->wants & WANT_PRE) {
        RecordChunk *chunk = fast_room_now(tracer, thread, 1, MOST_WORDS + CALL_WORDS, &time);
        if (chunk == NULL || !can_hold(chunk)) return false;
        begun = chunk->start + chunk->count;
        write_record(tracer, chunk, &(Record){.target = target, .callee = callee->number, .place = probe->spot.place, .time = time,
                                              .thread = thread->number, .kind = KIND_PRE}, values, NULL, true);
    }
    if (!ends) return true;
    Pending *pending = &thread->stack[thread->depth++];
    pending_clear(pending, callee, frame, target, probe->offset);
    pending_take(pending, values, begun);
    if (PyType_Check(call->callable)) {
        pending->type = (PyTypeObject *)call->callable;
        pending->asks_type = pending->type == &PyType_Type && call->count == 1 && call->keywords == NULL;
    }
    return true;
}

bool fast_args_result(Tracer *tracer, Probe *probe, RunFrame *frame) {
    ThreadData *thread = thread_data(tracer);
    Pending *pending = pending_here(tracer, thread, frame, probe->offset);
    if (pending == NULL) return false;
    PyObject *result = frame->localsplus[probe->base];
    if (result == NULL) result = Py_None;
    Callee *callee = pending->callee, *made = NULL;
    uint64_t words[2], shape = 0;
    bool told = callee->wants & WANT_POST, has_values = told && callee->wants & WANT_RESULT;
    Id id = 0;
    if (callee->wants & WANT_NEW && pending_made(pending, result)) {
        if ((id = id_of(tracer, result)) == 0) return false;
        if ((made = plan_with_class(tracer, callee, Py_TYPE(result))) == NULL) {
            PyErr_Clear();
            return false;
        }
    }
    if (has_values && take_value(tracer, result, words, &shape) == 0) return false;
    if (pending->gone != NULL) return false; /* now at the latest that is known */
    uint32_t time;
    RecordChunk *chunk = fast_room_now(tracer, thread, 2, 2 * (MOST_WORDS + CALL_WORDS + 2), &time);
    if (chunk == NULL || !can_hold(chunk)) return false;
    Record record = {.place = probe->spot.place, .time = time, .thread = thread->number};
    if (made != NULL) {
        record.kind = KIND_NEW;
        record.target = id;
        record.callee = made->number;
        write_record(tracer, chunk, &record, pending->values, NULL, pending->begun < chunk->start);
    }
    if (told) {
        record.kind = KIND_POST;
        record.target = pending->target;
        record.callee = callee->number;
        write_end(tracer, chunk, &record, pending, has_values ? words : NULL);
    }
    values_release(pending->values);
    thread->depth--;
    return true;
}

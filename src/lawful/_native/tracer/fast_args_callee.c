/* Functions that report themselves with what they are given and what they return: the callee side of fast_args_caller.c. Each function
   here does what its counterpart in function.c would do, or nothing at all: then it says no, and these are asked. */
#include "tracer/fast_args.h"

/* The names of what a function takes by keyword alone; NULL: there is no memory, and no exception. */
static PyObject *keyword_names(CodeInfo *info, int plain, int named) {
    if (info->keywords == NULL) {
        info->keywords = PyTuple_GetSlice(info->code->co_localsplusnames, plain, plain + named);
        if (info->keywords == NULL) PyErr_Clear();
    }
    return info->keywords;
}

static inline PyObject *variable(RunFrame *frame, const PyCodeObject *code, int index) {
    PyObject *value = frame->localsplus[index];
    if (!(PyBytes_AS_STRING(code->co_localspluskinds)[index] & CELL_KIND)) return value;
    return value != NULL && PyCell_Check(value) ? PyCell_GET(value) : value;
}

#define MOST_ARGUMENTS CALL_WORDS /* arguments that are looked at: more than can be written down */

/* What a function was given, from `first` on, as its variables have it when it starts. false: that is not so easy. */
static inline bool collect_arguments(CodeInfo *info, RunFrame *frame, int first, PyObject **args, FastCall *call) {
    const PyCodeObject *code = info->code;
    int plain = code->co_argcount, named = code->co_kwonlyargcount, starred = code->co_flags & CO_VARARGS ? 1 : 0;
    Py_ssize_t count = 0;
    if (plain + named > MOST_ARGUMENTS) return false;
    if (code->co_flags & CO_VARKEYWORDS) {
        PyObject *mapping = variable(frame, code, plain + named + starred);
        if (mapping == NULL || !PyDict_CheckExact(mapping) || PyDict_GET_SIZE(mapping)) return false;
    }
    for (int i = first; i < plain; i++) args[count++] = variable(frame, code, i);
    if (starred) {
        PyObject *rest = variable(frame, code, plain + named);
        if (rest == NULL || !PyTuple_CheckExact(rest) || PyTuple_GET_SIZE(rest) > MOST_ARGUMENTS - plain - named) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++) args[count++] = PyTuple_GET_ITEM(rest, i);
    }
    for (int i = 0; i < named; i++) args[count++] = variable(frame, code, plain + i);
    for (Py_ssize_t i = 0; i < count; i++)
        if (args[i] == NULL) return false;
    *call = (FastCall){.args = args, .count = count, .keywords = named ? keyword_names(info, plain, named) : NULL};
    return !named || call->keywords != NULL;
}

bool fast_args_start(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    PyObject *first = info->is_generator || info->code->co_argcount == 0 ? NULL : fast_first_argument(tracer, info, frame);
    if (first == NULL || tracer->message_cache != NULL) return false;
    const CachedCallee *answer = plan_known_receiver(tracer, info, receiver_type(first));
    if (answer == NULL || !(answer->fast & FAST_CALLEE_ARGS)) return false;
    Callee *callee = answer->callee;
    ThreadData *thread = thread_data(tracer);
    if (thread == NULL || (callee->wants & WANT_END && thread->depth == thread->room)) return false;
    bool receives = callee->wants & WANT_RECEIVER, primitive = receives && answer->primitive;
    PyObject *args[MOST_ARGUMENTS];
    FastCall call;
    if (!collect_arguments(info, frame, receives, args, &call)) return false;
    if (receives) call.receiver = first;
    uint64_t values[CALL_WORDS], begun = 0;
    if (!take_values(tracer, &call, callee->wants & WANT_ARGS, primitive, values)) return false;
    Id target = 0;
    if (receives && !primitive && (target = id_of(tracer, first)) == 0) return false;
    uint32_t place = fast_caller_place(tracer, frame_caller(frame)), time;
    if (place == 0) return false;
    if (callee->wants & WANT_PRE) {
        RecordChunk *chunk = fast_room_now(tracer, thread, 1, MOST_WORDS + CALL_WORDS, &time);
        if (chunk == NULL || !can_hold(chunk)) return false;
        begun = chunk->start + chunk->count;
        write_record(tracer, chunk, &(Record){.target = target, .callee = callee->number, .place = place, .time = time,
                                              .thread = thread->number, .kind = KIND_PRE}, values, NULL, true);
    }
    if (!(callee->wants & WANT_END)) return true;
    Pending *pending = &thread->stack[thread->depth++];
    pending_clear(pending, callee, frame, target, -1);
    pending_take(pending, values, begun);
    pending->place = place;
    return true;
}

bool fast_args_return(Tracer *tracer, RunFrame *frame, PyObject *result) {
    ThreadData *thread = thread_data(tracer);
    Pending *pending = pending_here(tracer, thread, frame, -1);
    if (pending == NULL) return false;
    Callee *callee = pending->callee;
    uint64_t words[2], shape = 0;
    bool told = callee->wants & WANT_POST, has_values = told && callee->wants & WANT_RESULT;
    if (has_values && take_value(tracer, result, words, &shape) == 0) return false;
    if (pending->gone != NULL) return false; /* now at the latest that is known */
    uint32_t time;
    RecordChunk *chunk = fast_room_now(tracer, thread, 2, 2 * (MOST_WORDS + CALL_WORDS + 2), &time);
    if (chunk == NULL || !can_hold(chunk)) return false;
    Record record = {.target = pending->target, .callee = callee->number, .place = pending->place, .time = time,
                     .thread = thread->number};
    if (callee->wants & WANT_NEW && pending->target) { /* the end of an `__init__` that stands for its class */
        record.kind = KIND_NEW;
        write_record(tracer, chunk, &record, pending->values, NULL, pending->begun < chunk->start);
    }
    if (told) {
        record.kind = KIND_POST;
        write_end(tracer, chunk, &record, pending, has_values ? words : NULL);
    }
    values_release(pending->values);
    thread->depth--;
    return true;
}

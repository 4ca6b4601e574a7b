/* The most frequent events, where there is nothing to do but to write down numbers: calls, starts and ends of which nothing
   else is wanted, at places and with types that were met before. Each function here does what its counterpart in call.c
   or function.c would do, or nothing at all: then it says no, and these are asked. */
#ifndef LAWFUL_QUICK_H
#define LAWFUL_QUICK_H

#include "probe.h"

#ifndef LAWFUL_NO_TRACER

/* Can records be added without seeing to anything else? */
static inline bool quick_ready(const Tracer *tracer) { return tracer->plain && !tracer->tasks; }

/* The payload is a value, or NULL. */
static inline bool quick_record(Tracer *tracer, const ThreadData *thread, int kind, const Callee *callee, Id target,
                                PyObject *payload, uint32_t place) {
    RecordChunk *chunk = tracer->last_chunk;
    if (chunk == NULL || chunk->count == chunk->room || tracer->count + 1 >= tracer->flush_at) return false;
    if (payload != NULL && chunk->payload_count == chunk->payload_room) return false;
    uint64_t passed = (uint64_t)(ticks() - chunk->epoch) / TICKS;
    if (passed > UINT32_MAX) return false;
    if (payload != NULL) chunk->payloads[chunk->payload_count++] = Py_NewRef(payload);
    tracer->events++;
    tracer->count++;
    chunk->records[chunk->count++] = (Record){.target = target, .callee = callee->number, .place = place, .time = (uint32_t)passed,
                                              .thread = thread->number, .kind = kind, .loaded = payload != NULL};
    return true;
}

/* The place of a caller that is own code, if it is known; or 0. */
static inline uint32_t quick_place(Tracer *tracer, RunFrame *caller) {
    const CodeInfo *info = caller ? plan_find(tracer, frame_code(caller)) : NULL;
    if (info == NULL || !info->own || info->spots == NULL) return 0;
    int unit = frame_offset(caller) / 2;
    return unit >= 0 && unit < info->units ? info->spots[unit].place : 0;
}

static inline bool quick_start(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    PyObject *first = frame->localsplus[0];
    if (!quick_ready(tracer) || first == NULL || tracer->post != NULL) return false;
    PyTypeObject *type = receiver_type(first);
    const LastAnswer *answer = &info->last_answers[answer_home(type)];
    if (answer->type != type || answer->deaths != plan_deaths) return false;
    Callee *callee = answer->callee;
    if (!callee->starts_plainly || callee->name == NULL) return false;
    Id target = 0;
    if (callee->wants & WANT_RECEIVER && (answer->primitive || (target = identity_known(first)) == 0)) return false;
    ThreadData *thread = thread_data(tracer);
    uint32_t place = quick_place(tracer, frame_caller(frame));
    if (place == 0 || thread == NULL || thread->depth == thread->room) return false;
    if (callee->wants & WANT_PRE && !quick_record(tracer, thread, KIND_PRE, callee, target, NULL, place)) return false;
    if (callee->wants & WANT_END)
        thread->stack[thread->depth++] = (Pending){.callee = callee, .frame = frame, .target = target, .place = place, .offset = -1};
    return true;
}

static inline bool quick_return(Tracer *tracer, RunFrame *frame) {
    ThreadData *thread = thread_data(tracer);
    if (!quick_ready(tracer) || thread == NULL || thread->depth == 0) return false;
    const Pending *pending = &thread->stack[thread->depth - 1];
    if (pending->frame != frame || pending->offset != -1 || !pending->callee->ends_plainly || pending->payload != NULL ||
        pending->token != NULL || pending->gone != NULL ||
        !quick_record(tracer, thread, KIND_POST, pending->callee, pending->target, NULL, pending->place))
        return false;
    thread->depth--;
    return true;
}

/* By what a callable is known, and its receiver, as in `look_at_call`. */
static inline const void *quick_key(PyObject *callable, PyObject **receiver) {
    PyTypeObject *kind = Py_TYPE(callable);
    if (kind == &PyMethod_Type && *receiver == NULL) {
        *receiver = PyMethod_GET_SELF(callable);
        callable = PyMethod_GET_FUNCTION(callable);
        kind = Py_TYPE(callable);
        if (kind != &PyFunction_Type) return NULL;
    }
    if (kind == &PyFunction_Type) {
        PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(callable);
        return ((PyFunctionObject *)callable)->func_qualname == code->co_qualname ? (const void *)code : callable;
    }
    if (kind == &PyMethodDescr_Type) return *receiver ? callable : NULL;
    if (*receiver != NULL) return NULL;
    if (kind == &PyCFunction_Type) {
        PyCFunctionObject *builtin = (PyCFunctionObject *)callable;
        if (builtin->m_self != NULL && !PyModule_CheckExact(builtin->m_self)) {
            if (PyModule_Check(builtin->m_self) || builtin->m_ml->ml_flags & METH_STATIC) return NULL;
            *receiver = builtin->m_self;
        }
        return builtin->m_ml;
    }
    return PyType_Check(callable) ? callable : NULL;
}

#define QUICK_TEXT 1000 /* characters: longer values may have to be cut */

static inline bool quick_call(Tracer *tracer, const Probe *probe, RunFrame *frame) {
    if (!probe->plain || !probe->busy || !probe->spot.place || !quick_ready(tracer)) return false;
    PyObject **operands = frame->localsplus + probe->base, *callable = operands[0], *receiver = operands[1], *payload = NULL;
    if (callable == NULL) {
        callable = receiver;
        receiver = NULL;
    }
    const void *key = quick_key(callable, &receiver);
    PyTypeObject *type = receiver ? receiver_type(receiver) : NULL;
    const LastAnswer *answer = &probe->last_answers[answer_home(type)];
    if (key == NULL || answer->key != key || answer->type != type || answer->deaths != plan_deaths) return false;
    const Callee *callee = answer->callee;
    if (!callee->calls_plainly || callee->name == NULL || (callee->wants & WANT_RECEIVER && receiver == NULL)) return false;
    Id target = 0;
    if (answer->primitive) {
        if (!PyUnicode_CheckExact(receiver) || PyUnicode_GET_LENGTH(receiver) > QUICK_TEXT) return false;
        payload = receiver;
    } else if (receiver != NULL && (target = identity_known(receiver)) == 0) {
        return false;
    }
    ThreadData *thread = thread_data(tracer);
    return thread != NULL && quick_record(tracer, thread, KIND_PRE, callee, target, payload, probe->spot.place);
}

#endif
#endif

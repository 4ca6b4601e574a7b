/* The general path before and after a probed instruction, and where it raises: takes operands from the frame, looks callees
   up and makes records. monitoring.c calls it where the fast path refuses. It must match
   lawful/sources/python/caller_events.py; tests/sources/python/test_tracer.py runs on both. */
#include "tracer/probe.h"

int probe_fault(Tracer *tracer) {
    tracer_fault(tracer);
    return 0;
}

int probe_before(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame) {
    if (probe_asleep(tracer, probe)) {
        probe->disabled = true;
        sample_add_sleeper(tracer, info);
        return 0;
    }
    PyObject **operands = frame->localsplus + probe->base;
    switch (probe->operation) {
    case OP_CALL:
    case OP_CALL_EX:
        return before_call(tracer, info, probe, frame, operands);
    case OP_EXIT_RAISED:
        return before_exit(tracer, info, probe, frame, operands);
    case OP_GET_FIELD:
    case OP_SET_FIELD:
    case OP_DELETE_FIELD:
        return before_field(tracer, info, probe, frame, operands);
    default:
        return before_operation(tracer, info, probe, frame, operands);
    }
}

/* ---- payloads: what events have beside their numbers -------------------------------------------------------------------------- */

/* What the end of a call has in common with its beginning: the receiver, if that is a value, and the arguments. */
static PyObject *end_payload(const Pending *pending) {
    return pending && pending->payload ? PyDict_Copy(pending->payload) : PyDict_New();
}

PyObject *result_payload(Tracer *tracer, Callee *callee, const Pending *pending, PyObject *result) {
    if (!(callee->wants & WANT_RESULT)) return pending ? Py_XNewRef(pending->payload) : NULL;
    /* Of most there is nothing else to tell. */
    if (!identity_needed(result) && (pending == NULL || (pending->payload == NULL && pending->target)))
        return encode_primitive(result);
    PyObject *payload = end_payload(pending);
    if (payload != NULL && encode_value(tracer, payload, result, text_res, text_resultId) < 0) Py_CLEAR(payload);
    return payload;
}

PyObject *exception_payload(Tracer *tracer, const Pending *pending, PyObject *exception) {
    PyObject *payload = end_payload(pending), *name = NULL, *id = NULL;
    if (payload == NULL) return NULL;
    if (exception != NULL) {
        Id number = identity_of(tracer, exception);
        name = number ? plan_class_name(tracer, Py_TYPE(exception)) : NULL;
        id = name ? PyLong_FromUnsignedLongLong(number) : NULL;
        if (id == NULL || PyDict_SetItem(payload, text_exception, name) < 0 || PyDict_SetItem(payload, text_excId, id) < 0)
            Py_CLEAR(payload);
    }
    Py_XDECREF(name);
    Py_XDECREF(id);
    return payload;
}

/* ---- on_call and on_return (tests/sources/python/test_tracer_on_call.py runs on both cores) ----------------------------------- */

/* Calls a method of `WatchPlanner` as records are delivered: nothing of the program runs in between. */
static PyObject *ask_wanted(Tracer *tracer, PyObject *method, PyObject *first, PyObject *second, PyObject *third) {
    OwnWork work = own_work_begin();
    int64_t began = ticks();
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *args[] = {tracer->wanted, first, second, third};
    PyObject *answer = PyObject_VectorcallMethod(method, args, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (answer == NULL) Py_XDECREF(raised);
    else PyErr_SetRaisedException(raised);
    int64_t passed = ticks() - began; /* the thread's own time would cost more than most calls here */
    if (passed < LONGEST_CALLBACK) tracer->measured += (int64_t)((double)passed * tracer->tick);
    tracer->measurements++;
    own_work_end(&work);
    return answer;
}

int ask_on_call(Tracer *tracer, PyObject *subject, PyObject *arguments, PyObject *keywords, uint32_t place, PyObject **token) {
    *token = NULL;
    PyObject *answer = arguments ? ask_wanted(tracer, text_on_call, subject, arguments, keywords ? keywords : Py_None) : NULL;
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    if (answer == NULL) return probe_fault(tracer);
    int failed = 0;
    if (PyTuple_CheckExact(answer) && PyTuple_GET_SIZE(answer) == 2 && PyList_CheckExact(PyTuple_GET_ITEM(answer, 0))) {
        failed = record_emit_all(tracer, PyTuple_GET_ITEM(answer, 0), place);
        if (!failed && PyTuple_GET_ITEM(answer, 1) != Py_None) *token = Py_NewRef(PyTuple_GET_ITEM(answer, 1));
    }
    Py_DECREF(answer);
    return failed;
}

int ask_on_return(Tracer *tracer, PyObject *token, PyObject *result, PyObject *exception, uint32_t place) {
    if (token == NULL) return 0;
    PyObject *answer = ask_wanted(tracer, text_on_return, token, result ? result : Py_None, exception ? exception : Py_None);
    if (answer == NULL) return probe_fault(tracer);
    int failed = PyList_CheckExact(answer) ? record_emit_all(tracer, answer, place) : 0;
    Py_DECREF(answer);
    return failed;
}

/* ---- results -------------------------------------------------------------------------------------------------------------------- */

static int constructed(Tracer *tracer, CodeInfo *info, Probe *probe, Pending *pending, PyObject *object) {
    Callee *callee = pending->callee;
    Id id = identity_of(tracer, object);
    if (id == 0) return probe_fault(tracer);
    if (callee->wants & LEARN(WANT_NEW) && learn(tracer, WORD_NEW, callee, &probe->spot, info->code, probe->origin, id) < 0)
        return probe_fault(tracer);
    if (!(callee->wants & WANT_NEW)) return 0;
    callee = plan_with_class(tracer, callee, Py_TYPE(object));
    if (callee == NULL) return probe_fault(tracer);
    return record_add(tracer, KIND_NEW, callee, id, Py_XNewRef(pending->payload), place_of(tracer, info, probe));
}

bool pending_made(const Pending *pending, PyObject *object) {
    if (pending->asks_type || !identity_needed(object)) return false;
    return pending->type == NULL || PyType_IsSubtype(Py_TYPE(object), pending->type);
}

/* Does an event, or the learner, want the new object? */
static bool is_new(const Pending *pending, PyObject *object) {
    return pending->callee->wants & (WANT_NEW | LEARN(WANT_NEW)) && pending_made(pending, object);
}

/* An object comes out of a call whose callee has a group. 1: it is a sample; 0: it is not reported; -1: an exception. */
static int sample_result(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, Pending *pending, PyObject *object) {
    Callee *callee = pending->callee;
    if (!pending_made(pending, object)) return 0;
    if (sample_of(tracer, object)) return 1;
    if (!(callee->wants & WANT_BIRTH) || !sample_flip(tracer, callee->group)) return 0;
    Id id;
    int failed = sample_take(tracer, callee, object, place_of(tracer, info, probe), frame, &id);
    return failed < 0 ? -1 : id != 0;
}

static int ended(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, Pending *pending, PyObject *result) {
    int kind = probe->operation == OP_GET_FIELD ? KIND_READ : KIND_POST;
    if (pending->callee->group != NULL && pending->target == 0) {
        int sampled = sample_result(tracer, info, probe, frame, pending, result);
        if (sampled <= 0) return sampled;
    }
    if (kind == KIND_POST) {
        if (pending->token && ask_on_return(tracer, pending->token, result, NULL, place_of(tracer, info, probe)) < 0) return -1;
        if (is_new(pending, result) && constructed(tracer, info, probe, pending, result) < 0) return -1;
        if (!(pending->callee->wants & WANT_POST)) return 0;
    }
    PyObject *payload = result_payload(tracer, pending->callee, pending, result);
    if (payload == NULL && PyErr_Occurred()) return probe_fault(tracer);
    if (record_add(tracer, kind, pending->callee, pending->target, payload, place_of(tracer, info, probe)) < 0) return -1;
    if (kind == KIND_POST || !(pending->callee->wants & LEARN(WANT_READ))) return 0;
    return learn(tracer, WORD_READ, pending->callee, &probe->spot, info->code, probe->origin, pending->target) < 0
               ? probe_fault(tracer) : 0;
}

int probe_result(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame) {
    Pending pending;
    if (!probe->expects_result || !pending_pop(tracer, frame, probe->offset, &pending)) {
        if (probe->expects_result && !probe->disabled) return 1;
        probe->result_disabled = true;
        return 0;
    }
    int slot = operation_shapes[probe->operation].result;
    PyObject *result = slot < 0 ? Py_None : frame->localsplus[probe->base + slot];
    if (result == NULL) result = Py_None;
    if (probe->operation == OP_CONTAINS && probe->count && PyBool_Check(result))
        result = result == Py_True ? Py_False : Py_True; /* `not in`: what `__contains__` said is the contrary */
    int failed = ended(tracer, info, probe, frame, &pending, result);
    pending_release(tracer, &pending);
    return failed < 0 ? -1 : 1;
}

int probe_raise(Tracer *tracer, CodeInfo *info, RunFrame *frame, int offset, PyObject *exception) {
    int at = pending_offset(tracer, frame);
    if (at < 0 || at / 2 >= info->units || info->at[at / 2].probe == 0) return 0;
    Probe *probe = &info->probes[info->at[at / 2].probe - 1];
    /* It may be noticed in the caches that follow the instruction. If it comes out of a Python function, 3.13 reports the
       code unit before the call. */
    if (offset < at - 2 || (probe->result >= 0 && offset >= probe->result)) return 0;
    Pending pending;
    if (!pending_pop(tracer, frame, at, &pending)) return 0;
    int failed = 0;
    bool unborn = pending.callee->group != NULL && pending.target == 0;
    if (pending.token != NULL) {
        PyObject *name = plan_class_name(tracer, Py_TYPE(exception));
        failed = name == NULL ? probe_fault(tracer) : ask_on_return(tracer, pending.token, NULL, name, place_of(tracer, info, probe));
        Py_XDECREF(name);
    }
    if (!failed && pending.callee->wants & WANT_RAISE && probe->operation != OP_GET_FIELD && !unborn) {
        PyObject *payload = exception_payload(tracer, &pending, exception);
        failed = payload == NULL ? probe_fault(tracer)
                                 : record_add(tracer, KIND_RAISE, pending.callee, pending.target, payload, place_of(tracer, info, probe));
    }
    pending_release(tracer, &pending);
    return failed;
}

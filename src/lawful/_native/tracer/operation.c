/* The general path before other probed instructions: `with`, `for`, `in`, `[]`, operators, and fields. probe.c calls it. The
   table of operands must match `Operation` in tracer_protocol.py; tests/sources/python/test_tracer.py runs on both cores. */
#include "tracer/probe.h"

const OperationShape operation_shapes[OPERATIONS] = {
    [OP_CALL] = {.result = 0},
    [OP_CALL_EX] = {.result = 0},
    [OP_ENTER] = {.receiver = 0, .result = 1},
    [OP_EXIT_RAISED] = {.receiver = 0, .result = 4},
    [OP_ASYNC_ENTER] = {.receiver = 0, .result = 1},
    [OP_ITER] = {.receiver = 0, .result = 0},
    [OP_NEXT] = {.receiver = 0, .result = 1},
    [OP_ASYNC_ITER] = {.receiver = 0, .result = 0},
    [OP_ASYNC_NEXT] = {.receiver = 0, .result = 1},
    [OP_AWAIT] = {.receiver = 0, .result = 0},
    [OP_CONTAINS] = {.receiver = 1, .args = 1, .first = 0, .last = -1, .result = 0},
    [OP_GET_ITEM] = {.receiver = 0, .args = 1, .first = 1, .last = -1, .result = 0},
    [OP_SET_ITEM] = {.receiver = 1, .args = 1, .first = 2, .last = 0, .result = -1},
    [OP_DELETE_ITEM] = {.receiver = 0, .args = 1, .first = 1, .last = -1, .result = -1},
    [OP_GET_SLICE] = {.receiver = 0, .args = 2, .first = 1, .last = -1, .result = 0},
    [OP_SET_SLICE] = {.receiver = 1, .args = 2, .first = 2, .last = 0, .result = -1},
    [OP_GET_FIELD] = {.receiver = 0, .result = 0},
    [OP_SET_FIELD] = {.receiver = 1, .result = -1},
    [OP_DELETE_FIELD] = {.receiver = 0, .result = -1},
    [OP_BINARY] = {.receiver = 0, .args = 1, .first = 1, .last = -1, .result = 0},
    [OP_COMPARE] = {.receiver = 0, .args = 1, .first = 1, .last = -1, .result = 0},
    [OP_UNARY] = {.receiver = 0, .result = 0},
};

/* The arguments of the special method that an instruction calls. */
static PyObject *operation_payload(Tracer *tracer, Callee *callee, int operation, PyObject **operands) {
    if (!(callee->wants & WANT_ARGS)) return NULL;
    PyObject *args[4], *slice = NULL;
    Py_ssize_t count = operation_shapes[operation].args;
    PyObject **first = operands + operation_shapes[operation].first;
    if (count == 2) {
        slice = PySlice_New(first[0], first[1], NULL);
        if (slice == NULL) return NULL;
        first = &slice;
        count = 1;
    }
    if (count) args[0] = *first;
    if (count && operation_shapes[operation].last >= 0) args[count++] = operands[(int)operation_shapes[operation].last];
    PyObject *payload = PyDict_New();
    if (payload != NULL && encode_arguments(tracer, payload, args, count, NULL) < 0) Py_CLEAR(payload);
    Py_XDECREF(slice);
    return payload;
}

/* `__exit__` is called for an exception: what is on the stack is bound already. */
int before_exit(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    PyObject *function = operands[0], *receiver = NULL;
    if (Py_IS_TYPE(function, &PyMethod_Type)) {
        receiver = PyMethod_GET_SELF(function);
        function = PyMethod_GET_FUNCTION(function);
    } else if (PyCFunction_Check(function)) {
        receiver = PyCFunction_GET_SELF(function);
    }
    if (receiver == NULL) return 1;
    if (passes(tracer, probe, receiver)) return unsampled(tracer, probe->groups);
    Callee *callee = plan_operation(tracer, probe->cached_callees, probe->name, receiver_type(receiver));
    if (callee == NULL) return probe_fault(tracer);
    if (callee->name == NULL || callee->wants & WANT_CALLEE_SIDE) return 1;
    if (callee->group != NULL && !sample_of(tracer, receiver)) return unsampled(tracer, probe->groups);
    PyObject *payload = NULL, *exception = operands[3];
    if (callee->wants & WANT_ARGS && exception != NULL && (payload = PyDict_New()) != NULL) {
        PyObject *args[3] = {(PyObject *)Py_TYPE(exception), exception, Py_None};
        if (encode_arguments(tracer, payload, args, 3, NULL) < 0) Py_CLEAR(payload);
    }
    return probe_begin(tracer, info, probe, frame, callee, receiver, payload, NULL);
}

int before_operation(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    PyObject *receiver = operands[(int)operation_shapes[probe->operation].receiver];
    if (receiver == NULL || probe->name == NULL) return 1;
    if (passes(tracer, probe, receiver)) return unsampled(tracer, probe->groups);
    Callee *callee = plan_operation(tracer, probe->cached_callees, probe->name, Py_TYPE(receiver));
    if (callee == NULL) return probe_fault(tracer);
    if (callee->name == NULL || callee->wants & WANT_CALLEE_SIDE) return 1;
    if (callee->group != NULL && !sample_of(tracer, receiver)) return unsampled(tracer, probe->groups);
    if ((probe->operation == OP_NEXT || probe->operation == OP_ASYNC_NEXT) && callee->wants & WANT_NEXT) {
        Id target = identity_of(tracer, receiver);
        if (target == 0) return probe_fault(tracer);
        if (record_add(tracer, KIND_NEXT, callee, target, NULL, place_of(tracer, info, probe)) < 0) return -1;
        if (!(callee->wants & (WANT_PRE | WANT_POST | WANT_RAISE))) return 1;
    }
    PyObject *payload = operation_payload(tracer, callee, probe->operation, operands);
    return probe_begin(tracer, info, probe, frame, callee, receiver, payload, NULL);
}

int before_field(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    PyObject *early[2];
    if (probe->early) {
        early[0] = frame->localsplus[probe->value];
        early[1] = frame->localsplus[probe->owner];
        if (early[0] == NULL) return 1; /* a variable without a value: that will not be stored */
        operands = early;
    }
    PyObject *owner = operands[(int)operation_shapes[probe->operation].receiver];
    if (owner == NULL || probe->name == NULL) return 1;
    if (passes(tracer, probe, owner)) return unsampled(tracer, probe->groups);
    if (!identity_needed(owner)) return 1;
    Callee *callee = plan_field(tracer, probe->cached_callees, probe->name, receiver_type(owner));
    if (callee == NULL) return probe_fault(tracer);
    int wanted = probe->operation == OP_GET_FIELD ? WANT_READ : WANT_WRITE;
    if (callee->name == NULL || !(callee->wants & (wanted | LEARN(wanted)))) return 1;
    if (callee->group != NULL && !sample_of(tracer, owner)) return unsampled(tracer, probe->groups);
    if (probe->steps && sample_find(tracer, owner)->fields != NULL) return 1; /* the sample reports it */
    Id target = identity_of(tracer, owner);
    if (target == 0) return probe_fault(tracer);
    if (callee->wants & WANT_READ && probe->operation == OP_GET_FIELD && callee->wants & WANT_RESULT && probe->result >= 0) {
        /* It is reported with the value, when that is known. */
        probe->expects_result = true;
        if (probe->result_disabled && delivery_again(tracer, info) < 0) return probe_fault(tracer);
        return pending_push(tracer, callee, frame, probe->offset, target, NULL) == NULL ? probe_fault(tracer) : 1;
    }
    if (callee->wants & wanted) {
        PyObject *payload = NULL;
        if (probe->operation == OP_SET_FIELD) {
            payload = result_payload(tracer, callee, NULL, operands[0]);
            if (payload == NULL && PyErr_Occurred()) return probe_fault(tracer);
        }
        int kind = probe->operation == OP_GET_FIELD ? KIND_READ : KIND_WRITE;
        if (record_add(tracer, kind, callee, target, payload, place_of(tracer, info, probe)) < 0) return -1;
    }
    if (!(callee->wants & LEARN(wanted))) return 1;
    int word = probe->operation == OP_GET_FIELD ? WORD_READ : WORD_WRITE;
    return learn(tracer, word, callee, &probe->spot, info->code, probe->origin, target) < 0 ? probe_fault(tracer) : 1;
}

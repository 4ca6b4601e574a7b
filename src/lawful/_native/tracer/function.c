/* The general path at the start and the end of functions that report themselves. monitoring.c calls it where the fast path
   refuses. It must match lawful/sources/python/call_events.py; tests/sources/python/test_tracer.py runs on both. */
#include "messages/messages.h"
#include "tracer/probe.h"

/* A generator that rests keeps what its beginning had, so that its end can tell it. One that never goes on leaves it here
   until another has its place. */
static void rest(PyObject **generator_payloads, RunFrame *frame, PyObject *value) {
    if (value == NULL) return;
    PyObject *key = PyLong_FromVoidPtr(frame);
    if (*generator_payloads == NULL) *generator_payloads = PyDict_New();
    if (key == NULL || *generator_payloads == NULL || PyDict_SetItem(*generator_payloads, key, value) < 0) PyErr_Clear();
    Py_XDECREF(key);
}

static PyObject *wake(PyObject *generator_payloads, RunFrame *frame) {
    if (generator_payloads == NULL || PyDict_GET_SIZE(generator_payloads) == 0) return NULL;
    PyObject *key = PyLong_FromVoidPtr(frame);
    PyObject *value = key ? Py_XNewRef(PyDict_GetItemWithError(generator_payloads, key)) : NULL;
    if (value != NULL) PyDict_DelItem(generator_payloads, key);
    Py_XDECREF(key);
    PyErr_Clear();
    return value;
}

/* The place that events of a function have: the nearest caller that is own code, or the caller. */
static PyCodeObject *place(Tracer *tracer, RunFrame *frame, int *offset) {
    RunFrame *caller = frame_caller(frame), *nearest = caller;
    const CodeInfo *own = NULL;
    for (int i = 0; nearest != NULL && i < FARTHEST_CALLER; nearest = frame_caller(nearest), i++) {
        const CodeInfo *info = plan_find(tracer, frame_code(nearest));
        if (info != NULL && info->own) {
            caller = nearest;
            own = info;
            break;
        }
    }
    if (caller == NULL) return NULL;
    *offset = frame_offset(caller);
    if (own != NULL && code_place(own, *offset)) return frame_code(caller);
    /* Between a class that is called and its `__init__` the interpreter may put a frame of its own, which is nowhere. */
    RunFrame *outer = PyCode_Addr2Line(frame_code(caller), *offset) < 0 ? frame_caller(caller) : NULL;
    if (outer == NULL) return frame_code(caller);
    *offset = frame_offset(outer);
    return frame_code(outer);
}

/* The arguments of a function that starts, as a tuple; those by keyword in a dict. */
static PyObject *frame_arguments(RunFrame *frame, PyObject **keywords) {
    PyCodeObject *code = frame_code(frame);
    int plain = code->co_argcount, named = code->co_kwonlyargcount;
    bool starred = code->co_flags & CO_VARARGS;
    PyObject *rest = starred ? frame_local(frame, code, plain + named) : NULL;
    PyObject *mapping = code->co_flags & CO_VARKEYWORDS ? frame_local(frame, code, plain + named + starred) : NULL;
    Py_ssize_t further = rest && PyTuple_CheckExact(rest) ? PyTuple_GET_SIZE(rest) : 0;
    PyObject *arguments = PyTuple_New(plain + further);
    if (arguments == NULL) return NULL;
    for (int i = 0; i < plain; i++) {
        PyObject *value = frame_local(frame, code, i);
        PyTuple_SET_ITEM(arguments, i, Py_NewRef(value ? value : Py_None));
    }
    for (Py_ssize_t i = 0; i < further; i++) PyTuple_SET_ITEM(arguments, plain + i, Py_NewRef(PyTuple_GET_ITEM(rest, i)));
    bool mapped = mapping && PyDict_CheckExact(mapping) && PyDict_GET_SIZE(mapping);
    if (!named && !mapped) return arguments;
    *keywords = PyDict_New();
    for (int i = 0; *keywords != NULL && i < named; i++) {
        PyObject *value = frame_local(frame, code, plain + i);
        if (value && PyDict_SetItem(*keywords, PyTuple_GET_ITEM(code->co_localsplusnames, plain + i), value) < 0)
            Py_CLEAR(*keywords);
    }
    if (*keywords != NULL && mapped && PyDict_Update(*keywords, mapping) < 0) Py_CLEAR(*keywords);
    if (*keywords == NULL) Py_CLEAR(arguments);
    return arguments;
}

/* The same as fields of an event, without the receiver. */
static PyObject *parameters(Tracer *tracer, RunFrame *frame, bool receiver) {
    PyObject *keywords = NULL, *arguments = frame_arguments(frame, &keywords), *payload = arguments ? PyDict_New() : NULL;
    if (payload != NULL &&
        (encode_arguments(tracer, payload, &PyTuple_GET_ITEM(arguments, receiver), PyTuple_GET_SIZE(arguments) - receiver, NULL) < 0 ||
         (keywords != NULL && encode_mapping(tracer, payload, keywords) < 0)))
        Py_CLEAR(payload);
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    return payload;
}

/* The first argument, which may be the receiver. */
static PyObject *first_argument(RunFrame *frame) {
    PyCodeObject *code = frame_code(frame);
    if (code->co_argcount) return frame_local(frame, code, 0);
    if (!(code->co_flags & CO_VARARGS)) return NULL;
    PyObject *rest = frame_local(frame, code, code->co_kwonlyargcount);
    return rest && PyTuple_CheckExact(rest) && PyTuple_GET_SIZE(rest) ? PyTuple_GET_ITEM(rest, 0) : NULL;
}

/* Who is called, and on whom. 1; 0: it does not matter; -1: a fault. */
static int look_at_function(Tracer *tracer, CodeInfo *info, RunFrame *frame, Callee **callee, PyObject **receiver) {
    *callee = info->callee;
    *receiver = first_argument(frame);
    if (*receiver == NULL) return 1;
    identity_prefetch(*receiver);
    *callee = plan_receiver(tracer, info, receiver_type(*receiver));
    if (*callee == NULL) return -1;
    if (!((*callee)->wants & WANT_RECEIVER)) *receiver = NULL;
    return (*callee)->name != NULL;
}

/* The place that events of a function have, as a number; 0: unknown. */
static uint32_t place_number(Tracer *tracer, PyCodeObject *code, int offset) {
    PlaceNumbers *spot = code ? plan_place_numbers(tracer, code, offset) : NULL;
    if (code != NULL && spot == NULL) probe_fault(tracer);
    return spot ? plan_place(tracer, spot, code, offset) : 0;
}

/* 1: the receiver is a sample, perhaps from now on; 0: it is not reported; -1: an exception. */
static int sample_start(Tracer *tracer, RunFrame *frame, Callee *callee, PyObject *receiver, int kind) {
    if (receiver == NULL) return 0;
    if (sample_of(tracer, receiver)) return 1;
    if (!(callee->wants & WANT_BIRTH) || kind != KIND_PRE || !sample_flip(tracer, callee->group)) return 0;
    int offset = 0;
    PyCodeObject *code = place(tracer, frame, &offset);
    Id id;
    int failed = sample_take(tracer, callee, receiver, place_number(tracer, code, offset), frame_caller(frame), &id);
    return failed < 0 ? -1 : id != 0;
}

static int enter(Tracer *tracer, CodeInfo *info, RunFrame *frame, int kind, int wanted) {
    Callee *callee;
    PyObject *receiver, *payload = NULL;
    if (info->groups) {
        if (info->on_second_tool && sample_asleep(tracer, info->groups, info->bears)) {
            sample_add_sleeper(tracer, info);
            return 0;
        }
        receiver = info->bears ? NULL : first_argument(frame);
        if (!info->bears && (receiver == NULL || !sample_of(tracer, receiver))) return unsampled(tracer, info->groups);
    }
    /* An exception may be thrown into a generator that never started. */
    if (kind == KIND_RESUME && frame_offset(frame) / 2 < info->code->_co_firsttraceable) return 1;
    int found = look_at_function(tracer, info, frame, &callee, &receiver);
    if (found <= 0) return found < 0 ? probe_fault(tracer) : 1;
    if (callee->group != NULL) {
        int sampled = sample_start(tracer, frame, callee, receiver, kind);
        if (sampled <= 0) return sampled < 0 ? -1 : unsampled(tracer, info->groups);
    }
    if (!(callee->wants & WANT_TOLD) && !learnable(callee, receiver)) {
        /* A function that has no object to learn about will hardly get one. */
        if (info->unmatched < MOST_UNMATCHED) info->unmatched++;
        return info->unmatched < MOST_UNMATCHED || info->matched;
    }
    info->matched = true;
    PyObject *before = NULL, *token = NULL;
    if (info->code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
        before = wake(tracer->generator_payloads, frame);
        token = wake(tracer->generator_tokens, frame);
        if (kind == KIND_PRE) {
            Py_CLEAR(before);
            Py_CLEAR(token);
        }
    }
    if (callee->wants & WANT_ARGS && kind == KIND_PRE && (payload = parameters(tracer, frame, receiver != NULL)) == NULL)
        return probe_fault(tracer);
    Id target;
    if (take_receiver(tracer, receiver, &target, &payload, false) < 0) {
        Py_XDECREF(payload);
        Py_XDECREF(before);
        Py_XDECREF(token);
        return probe_fault(tracer);
    }
    int offset = 0, failed = 0;
    PyCodeObject *code = place(tracer, frame, &offset);
    if (callee->wants & WANT_TOLD) {
        uint32_t number = place_number(tracer, code, offset);
        if (callee->wants & wanted) failed = record_add(tracer, kind, callee, target, Py_XNewRef(payload), number);
        if (!failed && callee->wants & WANT_ON_CALL && kind == KIND_PRE) {
            PyObject *keywords = NULL, *arguments = frame_arguments(frame, &keywords);
            failed = ask_on_call(tracer, (PyObject *)info->code, arguments, keywords, number, &token);
        }
        if (!failed && callee->wants & (WANT_END | WANT_YIELD)) {
            Pending *pending = pending_push(tracer, callee, frame, -1, target, before ? before : payload);
            if (pending == NULL) probe_fault(tracer);
            else {
                pending->place = number;
                pending->token = Py_XNewRef(token);
            }
        }
    }
    Py_XDECREF(payload);
    Py_XDECREF(before);
    Py_XDECREF(token);
    if (failed) return -1;
    if (kind != KIND_PRE || !(callee->wants & LEARN(WANT_PRE)) || target == 0 || code == NULL) return 1;
    return learn_at(tracer, WORD_PRE, callee, code, offset, target) < 0 ? probe_fault(tracer) : 1;
}

/* Takes over the payload. */
static int leave(Tracer *tracer, int kind, Pending *pending, PyObject *payload) {
    int failed = record_add(tracer, kind, pending->callee, pending->target, payload, pending->place);
    pending_release(tracer, pending);
    return failed ? -1 : 1;
}

/* The tracer did not report the start of the call that ends here. Does the place sleep until there is a sample? */
static int untracked_end(Tracer *tracer, CodeInfo *info) {
    if (!info->on_second_tool || !sample_asleep(tracer, info->groups, false)) return 1;
    sample_add_sleeper(tracer, info);
    return 0;
}

static int leave_with(Tracer *tracer, CodeInfo *info, RunFrame *frame, int kind, int wanted, PyObject *value) {
    Pending pending;
    if (!pending_pop(tracer, frame, -1, &pending)) return untracked_end(tracer, info);
    PyObject *payload = NULL;
    bool wants = pending.callee->wants & wanted;
    if (kind == KIND_POST && pending.callee->wants & WANT_NEW && pending.target) {
        /* The end of an `__init__` that stands for its class: the receiver is complete. */
        if (record_add(tracer, KIND_NEW, pending.callee, pending.target, Py_XNewRef(pending.payload), pending.place) < 0) {
            pending_release(tracer, &pending);
            return -1;
        }
    }
    if (kind == KIND_POST && ask_on_return(tracer, pending.token, value, NULL, pending.place) < 0) {
        pending_release(tracer, &pending);
        return -1;
    }
    if (kind == KIND_YIELD) {
        rest(&tracer->generator_payloads, frame, pending.payload);
        rest(&tracer->generator_tokens, frame, pending.token);
        PyObject *target = pending.payload ? Py_XNewRef(PyDict_GetItemWithError(pending.payload, text_target)) : NULL;
        Py_CLEAR(pending.payload);
        if (target != NULL && (pending.payload = PyDict_New()) != NULL) PyDict_SetItem(pending.payload, text_target, target);
        Py_XDECREF(target);
    }
    if (wants && (payload = result_payload(tracer, pending.callee, &pending, value)) == NULL && PyErr_Occurred()) {
        pending_release(tracer, &pending);
        return probe_fault(tracer);
    }
    if (wants) return leave(tracer, kind, &pending, payload);
    pending_release(tracer, &pending);
    return 1;
}

uint32_t function_place(Tracer *tracer, RunFrame *frame) {
    int offset = 0;
    PyCodeObject *code = place(tracer, frame, &offset);
    return place_number(tracer, code, offset);
}

int function_begin(Tracer *tracer, CodeInfo *info, RunFrame *frame) { return enter(tracer, info, frame, KIND_PRE, WANT_PRE); }

int function_start(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    int answer = tracer->message_cache != NULL ? message_start(tracer, info, frame) : ASK_PYTHON;
    return answer == ASK_PYTHON ? function_begin(tracer, info, frame) : answer;
}

int function_resume(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    return enter(tracer, info, frame, KIND_RESUME, WANT_YIELD);
}

int function_return(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *result) {
    return leave_with(tracer, info, frame, KIND_POST, WANT_POST, result);
}

int function_yield(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *value) {
    return leave_with(tracer, info, frame, KIND_YIELD, WANT_YIELD, value);
}

int function_unwind(Tracer *tracer, RunFrame *frame, PyObject *payload) {
    Pending pending;
    if (payload == NULL && PyErr_Occurred()) return probe_fault(tracer);
    if (!pending_pop(tracer, frame, -1, &pending)) {
        Py_XDECREF(payload);
        return 1;
    }
    PyObject *name = pending.token && payload ? PyDict_GetItemWithError(payload, text_exception) : NULL;
    if (pending.token != NULL && ask_on_return(tracer, pending.token, NULL, name, pending.place) < 0) {
        Py_XDECREF(payload);
        pending_release(tracer, &pending);
        return -1;
    }
    if (!(pending.callee->wants & WANT_RAISE)) {
        Py_XDECREF(payload);
        pending_release(tracer, &pending);
        return 1;
    }
    PyObject *all = pending.payload ? PyDict_Copy(pending.payload) : NULL;
    if (all != NULL && payload != NULL && PyDict_Update(all, payload) == 0) Py_SETREF(payload, Py_NewRef(all));
    Py_XDECREF(all);
    PyErr_Clear();
    return leave(tracer, KIND_RAISE, &pending, payload);
}

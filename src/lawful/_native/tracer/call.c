/* The general path before a probed call: finds the callee, its receiver and arguments, and begins its events. probe.c
   calls `before_call`. It must match `CallerEvents` in lawful/sources/python/caller_events.py;
   tests/sources/python/test_tracer.py runs on both, and test_fast_paths.py compares it with fast_path.c. */
#include "tracer/probe.h"

static inline Py_ssize_t positional(const Call *call) {
    return call->count - (call->keywords ? PyTuple_GET_SIZE(call->keywords) : 0);
}

static inline void first_is_receiver(Call *call) {
    if (call->receiver != NULL || !call->known || positional(call) < 1) return;
    call->receiver = call->args[0];
    call->args++;
    call->count--;
}

static void look_at_call(Call *call, Probe *probe, PyObject **operands) {
    PyObject *callable = operands[0] ? operands[0] : operands[1];
    memset(call, 0, sizeof *call);
    call->receiver = operands[0] ? operands[1] : NULL;
    call->known = true;
    if (probe->operation == OP_CALL) {
        call->args = operands + 2;
        call->count = probe->count;
        call->keywords = probe->keywords;
    } else {
        PyObject *all = operands[2];
        if (PyTuple_CheckExact(all) || PyList_CheckExact(all)) {
            call->args = PySequence_Fast_ITEMS(all);
            call->count = PySequence_Fast_GET_SIZE(all);
        } else {
            call->known = false; /* any iterable: looking into it would use it up */
        }
        if (probe->count & 1 && PyDict_CheckExact(operands[3])) call->mapping = operands[3];
    }
    call->function = callable;
    if (call->receiver != NULL && !PyFunction_Check(callable) && !is_method_descriptor(callable)) {
        /* Where a `with` ends, the second value is the first argument. */
        call->receiver = NULL;
        call->args--;
        call->count++;
    }
    if (Py_IS_TYPE(callable, &PyMethod_Type)) {
        call->function = PyMethod_GET_FUNCTION(callable);
        call->receiver = PyMethod_GET_SELF(callable);
    }
    PyObject *function = call->key = call->function;
    if (is_method_descriptor(function)) {
        first_is_receiver(call);
    } else if (PyFunction_Check(function)) {
        PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
        /* The functions of a decorator share their code, but not their names. */
        if (((PyFunctionObject *)function)->func_qualname == code->co_qualname) call->key = (PyObject *)code;
    } else if (PyType_Check(function)) {
        call->type = (PyTypeObject *)function;
        call->receiver = NULL;
    } else if (PyCFunction_Check(function)) {
        PyCFunctionObject *builtin = (PyCFunctionObject *)function;
        call->key = (PyObject *)builtin->m_ml;
        /* Those of a module have its name. */
        bool of_module = builtin->m_self != NULL && (builtin->m_module ? PyModule_Check(builtin->m_self) : PyModule_CheckExact(builtin->m_self));
        call->receiver = of_module || builtin->m_ml->ml_flags & METH_STATIC ? NULL : builtin->m_self;
    } else {
        call->other = true;
        call->receiver = function;
    }
}

static PyObject *own_name(PyObject *function) {
    if (PyFunction_Check(function)) return ((PyFunctionObject *)function)->func_name;
    if (is_method_descriptor(function)) return PyDescr_NAME(function);
    return NULL;
}

/* Was the function loaded by its own name? Then this place will hardly call anything else. */
static bool called_by_name(Probe *probe, PyObject *function) {
    if (probe->name == NULL) return false;
    PyObject *name = own_name(function);
    if (name != NULL) return name == probe->name || PyUnicode_Compare(name, probe->name) == 0;
    const char *text;
    if (PyCFunction_Check(function)) text = ((PyCFunctionObject *)function)->m_ml->ml_name;
    else if (PyType_Check(function)) {
        const char *dot = strrchr(((PyTypeObject *)function)->tp_name, '.');
        text = dot ? dot + 1 : ((PyTypeObject *)function)->tp_name;
    } else {
        return false;
    }
    return PyUnicode_CompareWithASCIIString(probe->name, text) == 0;
}

static PyObject *call_payload(Tracer *tracer, Callee *callee, const Call *call) {
    if (!(callee->wants & WANT_ARGS) || !call->known) return NULL;
    PyObject *payload = PyDict_New();
    if (payload == NULL) return NULL;
    if (encode_arguments(tracer, payload, call->args, call->count, call->keywords) < 0 ||
        (call->mapping != NULL && encode_mapping(tracer, payload, call->mapping) < 0))
        Py_CLEAR(payload);
    return payload;
}

/* `type(x)` makes no object. */
static bool asks_for_type(const Call *call) { return call->type == &PyType_Type && call->count == 1 && !call->keywords; }

static inline bool makes_object(const Callee *callee, const Call *call) {
    return callee->wants & LEARN(WANT_NEW) && !asks_for_type(call);
}

/* Is the object that matters the one that comes out of the call? */
static inline bool is_birth(const Callee *callee, const Call *call) { return call->type != NULL || callee->wants & WANT_BIRTH; }

/* The objects of a call, as a tuple with the receiver first; those by keyword in a dict. */
static PyObject *call_arguments(const Call *call, PyObject *receiver, PyObject **keywords) {
    Py_ssize_t count = positional(call), first = receiver != NULL && call->receiver == receiver;
    PyObject *arguments = PyTuple_New(first + count);
    if (arguments == NULL) return NULL;
    if (first) PyTuple_SET_ITEM(arguments, 0, Py_NewRef(receiver));
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(arguments, first + i, Py_NewRef(call->args[i]));
    if (call->keywords == NULL && call->mapping == NULL) return arguments;
    *keywords = call->mapping ? PyDict_Copy(call->mapping) : PyDict_New();
    for (Py_ssize_t i = 0; *keywords != NULL && call->keywords != NULL && i < PyTuple_GET_SIZE(call->keywords); i++)
        if (PyDict_SetItem(*keywords, PyTuple_GET_ITEM(call->keywords, i), call->args[count + i]) < 0) Py_CLEAR(*keywords);
    if (*keywords == NULL) Py_CLEAR(arguments);
    return arguments;
}

int probe_begin(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, Callee *callee, PyObject *receiver,
                 PyObject *payload, const Call *call) {
    if (!(callee->wants & (WANT_TOLD | LEARN(WANT_NEW)))) {
        /* The learner's numbers are all there is to it. */
        Id object = learnable(callee, receiver) ? identity_of(tracer, receiver) : 0;
        if (object == 0) return PyErr_Occurred() ? probe_fault(tracer) : 1;
        return learn(tracer, WORD_PRE, callee, &probe->spot, info->code, probe->origin, object) < 0 ? probe_fault(tracer) : 1;
    }
    Id target;
    if ((payload == NULL && callee->wants & WANT_ARGS && PyErr_Occurred()) ||
        take_receiver(tracer, receiver, &target, &payload, !(callee->wants & WANT_END)) < 0) {
        Py_XDECREF(payload);
        return probe_fault(tracer);
    }
    int failed = 0;
    PyObject *token = NULL;
    bool unborn = callee->group != NULL && call != NULL && is_birth(callee, call); /* the object does not exist yet */
    if (callee->wants & WANT_PRE && !unborn)
        failed = record_add(tracer, KIND_PRE, callee, target, Py_XNewRef(payload), place_of(tracer, info, probe));
    if (!failed && callee->wants & WANT_ON_CALL && call != NULL && call->known) {
        PyObject *keywords = NULL, *arguments = call_arguments(call, receiver, &keywords);
        failed = ask_on_call(tracer, call->function, arguments, keywords, place_of(tracer, info, probe), &token);
    }
    if (!failed && (unborn || callee->wants & (WANT_END | LEARN(WANT_NEW))) && probe->result >= 0) {
        Pending *pending = NULL;
        probe->expects_result = true;
        if (!probe->result_disabled || delivery_again(tracer, info) == 0)
            pending = pending_push(tracer, callee, frame, probe->offset, target, payload);
        if (pending == NULL) probe_fault(tracer);
        else if (call != NULL) {
            pending->type = call->type;
            pending->asks_type = asks_for_type(call);
            pending->token = Py_XNewRef(token);
        }
    }
    Py_XDECREF(payload);
    Py_XDECREF(token);
    if (failed) return -1;
    if (callee->wants & WANT_EXIT && record_flush(tracer, true) < 0) return -1;
    if (callee->wants & LEARN(WANT_PRE) && target &&
        learn(tracer, WORD_PRE, callee, &probe->spot, info->code, probe->origin, target) < 0)
        return probe_fault(tracer);
    return 1;
}

/* Nothing that is wanted is called here. Is the place left alone? */
static int pass_over(Tracer *tracer, Probe *probe, const Call *call) {
    /* Where an attribute is called, the next object may be of another class, with a method of this name that matters.
       Through a variable anything may be called, once something that matters was put into one. */
    if (probe->name == NULL) probe->disabled = probe->name_unwanted && !tracer->escaped;
    else if ((probe->by_global && call->receiver == NULL) || probe->name_unwanted)
        probe->disabled = called_by_name(probe, call->function);
    else if (probe->learner_only && !probe->matched && ++probe->unmatched >= MOST_UNMATCHED) {
        probe->unmatched = MOST_UNMATCHED;
        probe->disabled = tracer->called_names == NULL || PySet_Contains(tracer->called_names, probe->name) == 0;
    }
    return !probe->disabled;
}

/* The first time that something that is wanted is called here. */
static int first_match(Tracer *tracer, Probe *probe) {
    probe->matched = true;
    return probe->learner_only && probe->name != NULL ? plan_wanted_name(tracer, probe->name) : 0;
}

int before_call(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    Call call;
    look_at_call(&call, probe, operands);
    if (passes(tracer, probe, call.receiver)) return unsampled(tracer, probe->groups);
    if (call.receiver != NULL) identity_prefetch(call.receiver);
    PyTypeObject *type = call.receiver ? receiver_type(call.receiver) : NULL;
    Callee *callee = call.other ? plan_operation(tracer, probe->cached_callees, text_call, Py_TYPE(call.function))
                                : plan_call(tracer, probe->cached_callees, call.function, call.key, type);
    if (callee != NULL && callee->name != NULL && callee->wants & WANT_RECEIVER && call.receiver == NULL) {
        first_is_receiver(&call);
        if (call.receiver != NULL)
            callee = plan_call(tracer, probe->cached_callees, call.function, call.key, receiver_type(call.receiver));
    }
    if (callee == NULL) return probe_fault(tracer);
    if (callee->name == NULL || callee->wants & WANT_CALLEE_SIDE) return pass_over(tracer, probe, &call);
    if (!(callee->wants & WANT_TOLD) && !learnable(callee, call.receiver) && !makes_object(callee, &call))
        return pass_over(tracer, probe, &call);
    if (callee->group != NULL && (is_birth(callee, &call) ? sample_asleep(tracer, callee->group->bit, true)
                                                          : call.receiver == NULL || !sample_of(tracer, call.receiver)))
        return unsampled(tracer, probe->groups);
    if (!probe->matched && first_match(tracer, probe) < 0) return probe_fault(tracer);
    return probe_begin(tracer, info, probe, frame, callee, call.receiver, call_payload(tracer, callee, &call), &call);
}

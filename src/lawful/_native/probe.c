/* What happens before, after and instead of the end of a probed instruction, and at the start and end of functions that
   report themselves: operands are taken from the frame, callees looked up, and records made. */
#include "sink.h"

#ifndef LAWFUL_NO_TRACER

static PyObject *text_call, *text_exception, *text_excId, *text_hand, *text_handed;

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

_Thread_local ThreadData lawful_threads[MOST_TRACERS];
static pthread_key_t thread_key;
static bool has_thread_key;

static void thread_ends(void *data) {
    ThreadData *all = data;
    for (int i = 0; i < MOST_TRACERS; i++) {
        PyMem_RawFree(all[i].stack);
        memset(&all[i], 0, sizeof all[i]);
    }
}

int probe_setup(void) {
    if (text_call == NULL && (text_call = PyUnicode_InternFromString("__call__")) == NULL) return -1;
    if (text_exception == NULL && (text_exception = PyUnicode_InternFromString("exception")) == NULL) return -1;
    if (text_excId == NULL && (text_excId = PyUnicode_InternFromString("excId")) == NULL) return -1;
    if (text_hand == NULL && (text_hand = PyUnicode_InternFromString("hand")) == NULL) return -1;
    if (text_handed == NULL && (text_handed = PyUnicode_InternFromString("handed")) == NULL) return -1;
    if (!has_thread_key && pthread_key_create(&thread_key, thread_ends) == 0) has_thread_key = true;
    return 0;
}

ThreadData *thread_data_anew(Tracer *tracer) {
    ThreadData *data = &lawful_threads[tracer->slot];
    data->serial = tracer->serial;
    data->depth = 0;
    data->exception = NULL;
    ThreadData *before = tracer->before_slot < 0 ? NULL : &lawful_threads[tracer->before_slot];
    data->number = before && before->serial == tracer->before_serial ? before->number : ++tracer->threads;
    return data;
}

/* The references of a pending call are given back, and the death of its receiver is told. */
static void settle(Tracer *tracer, Pending *pending) {
    Py_XDECREF(pending->payload);
    Py_XDECREF(pending->token);
    if (pending->gone == NULL) return;
    record_gone(tracer, pending->target, pending->gone, pending->gone_group);
    Py_DECREF(pending->gone);
}

/* Not every end is seen: that of a loop, for one. Such calls are found out by their frames, which run no more. */
static void drop_dead(Tracer *tracer, ThreadData *data) {
    RunFrame *first = frame_current(PyThreadState_Get());
    int live = data->depth;
    for (int i = data->depth - 1; i >= 0; i--) {
        RunFrame *frame = first;
        while (frame != NULL && frame != data->stack[i].frame) frame = frame_caller(frame);
        if (frame != NULL) {
            first = frame; /* what lies below is of this frame or its callers */
            data->stack[--live] = data->stack[i];
        } else {
            settle(tracer, &data->stack[i]);
            memset(&data->stack[i], 0, sizeof(Pending)); /* another death must not find it */
        }
    }
    data->depth -= live;
    memmove(data->stack, data->stack + live, data->depth * sizeof(Pending));
}

/* A new one on the stack; takes a reference to the payload. The offset is that of the probe; callee side: -1. */
static Pending *push_pending(Tracer *tracer, Callee *callee, RunFrame *frame, int offset, Id target, PyObject *payload) {
    static Pending nobody; /* there is no place for it: the tracer has stopped */
    ThreadData *data = thread_data(tracer);
    if (data == NULL) return &nobody;
    /* A frame is in the middle of one instruction only. */
    while (offset >= 0 && data->depth && data->stack[data->depth - 1].frame == frame && data->stack[data->depth - 1].offset >= 0)
        settle(tracer, &data->stack[--data->depth]);
    if (data->depth == data->room && data->room) drop_dead(tracer, data);
    if (data->depth == data->room) {
        int room = data->room ? 2 * data->room : 64;
        Pending *stack = PyMem_RawRealloc(data->stack, room * sizeof(Pending));
        if (stack == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        if (data->stack == NULL && has_thread_key) pthread_setspecific(thread_key, lawful_threads);
        data->stack = stack;
        data->room = room;
    }
    Pending *pending = &data->stack[data->depth++];
    pending->callee = callee;
    pending->frame = frame;
    pending->payload = Py_XNewRef(payload);
    pending->token = NULL;
    pending->type = NULL;
    pending->asks = false;
    pending->gone = NULL;
    pending->gone_group = NULL;
    pending->target = target;
    pending->place = 0;
    pending->offset = offset;
    return pending;
}

/* Takes the pending call of a frame at an offset off the stack, and those above it, which never ended. The caller settles
   it. */
static bool pop_pending(Tracer *tracer, RunFrame *frame, int offset, Pending *found) {
    ThreadData *data = thread_data(tracer);
    if (data == NULL) return false;
    for (int i = data->depth - 1; i >= 0; i--) {
        Pending *pending = &data->stack[i];
        if (pending->frame != frame || pending->offset != offset) continue;
        *found = *pending;
        int depth = data->depth;
        data->depth = i;
        for (int j = i + 1; j < depth; j++) settle(tracer, &data->stack[j]);
        return true;
    }
    return false;
}

/* ---- parts of records ---------------------------------------------------------------------------------------------------- */

/* Of a class, itself: class methods belong to it, and not to its metaclass. */
static inline PyTypeObject *receiver_type(PyObject *receiver) {
    return PyType_Check(receiver) ? (PyTypeObject *)receiver : Py_TYPE(receiver);
}

/* The id of the receiver, or its value in the payload; or as the payload, if that has nothing else to come. */
static inline int take_receiver(Tracer *tracer, PyObject *receiver, Id *target, PyObject **payload, bool alone) {
    *target = 0;
    if (receiver == NULL) return 0;
    if (identity_needed(receiver)) return (*target = identity_of(tracer, receiver)) == 0 ? -1 : 0;
    if (*payload == NULL && alone) return (*payload = encode_primitive(receiver)) == NULL ? -1 : 0;
    if (*payload == NULL && (*payload = PyDict_New()) == NULL) return -1;
    return encode_value(tracer, *payload, receiver, text_target, text_target);
}

/* What the end of a call has in common with its beginning: the receiver, if that is a value, and the arguments. */
static PyObject *end_payload(const Pending *pending) {
    return pending && pending->payload ? PyDict_Copy(pending->payload) : PyDict_New();
}

/* A generator that rests keeps what its beginning had, so that its end can tell it. One that never goes on leaves it here
   until another has its place. */
static void rest(PyObject **resting, RunFrame *frame, PyObject *value) {
    if (value == NULL) return;
    PyObject *key = PyLong_FromVoidPtr(frame);
    if (*resting == NULL) *resting = PyDict_New();
    if (key == NULL || *resting == NULL || PyDict_SetItem(*resting, key, value) < 0) PyErr_Clear();
    Py_XDECREF(key);
}

static PyObject *wake(PyObject *resting, RunFrame *frame) {
    if (resting == NULL || PyDict_GET_SIZE(resting) == 0) return NULL;
    PyObject *key = PyLong_FromVoidPtr(frame);
    PyObject *value = key ? Py_XNewRef(PyDict_GetItemWithError(resting, key)) : NULL;
    if (value != NULL) PyDict_DelItem(resting, key);
    Py_XDECREF(key);
    PyErr_Clear();
    return value;
}

/* NULL: none is needed, or there is an exception. */
static PyObject *result_payload(Tracer *tracer, Callee *callee, const Pending *pending, PyObject *result) {
    if (!(callee->wants & WANT_RESULT)) return pending ? Py_XNewRef(pending->payload) : NULL;
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

static inline uint32_t place_of(Tracer *tracer, CodeInfo *info, Probe *probe) {
    return probe->spot.place ? probe->spot.place : plan_place(tracer, &probe->spot, info->code, probe->origin);
}

/* Something of ours failed: the program goes on without being watched. */
static int fault(Tracer *tracer) {
    tracer_fault(tracer);
    return 0;
}

/* ---- what is handed over itself --------------------------------------------------------------------------------------------- */

/* Calls a method of `Wanted` as records are delivered: nothing of the program runs in between. */
static PyObject *ask_wanted(Tracer *tracer, PyObject *method, PyObject *first, PyObject *second, PyObject *third) {
    int collecting = PyGC_Disable();
    PyThreadState *thread = PyThreadState_Get();
    int depth = frame_depth(thread, 0);
    Held held = hold_signals();
    int64_t began = ticks();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *args[] = {tracer->wanted, first, second, third};
    PyObject *answer = PyObject_VectorcallMethod(method, args, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (answer != NULL) {
        PyErr_Restore(type, value, trace);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    int64_t passed = ticks() - began; /* the thread's own time would be dearer than most of what is measured */
    if (passed < LONGEST_CALLBACK) tracer->exact += (int64_t)((double)passed * tracer->tick);
    tracer->exacts++;
    let_signals(held);
    frame_depth(thread, depth);
    if (collecting) PyGC_Enable();
    return answer;
}

/* A call begins: its objects are handed over. The events that come back are at the place; what is to be handed back at its
   end is the token, a new reference or NULL. -1: an exception goes on into the program. Takes over arguments and keywords. */
static int hand(Tracer *tracer, PyObject *subject, PyObject *arguments, PyObject *keywords, uint32_t place, PyObject **token) {
    *token = NULL;
    PyObject *answer = arguments ? ask_wanted(tracer, text_hand, subject, arguments, keywords ? keywords : Py_None) : NULL;
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    if (answer == NULL) return fault(tracer);
    int failed = 0;
    if (PyTuple_CheckExact(answer) && PyTuple_GET_SIZE(answer) == 2 && PyList_CheckExact(PyTuple_GET_ITEM(answer, 0))) {
        failed = record_emit_all(tracer, PyTuple_GET_ITEM(answer, 0), place);
        if (!failed && PyTuple_GET_ITEM(answer, 1) != Py_None) *token = Py_NewRef(PyTuple_GET_ITEM(answer, 1));
    }
    Py_DECREF(answer);
    return failed;
}

/* It ends, with a result, or with an exception of a class of this name. */
static int handed(Tracer *tracer, PyObject *token, PyObject *result, PyObject *exception, uint32_t place) {
    if (token == NULL) return 0;
    PyObject *answer = ask_wanted(tracer, text_handed, token, result ? result : Py_None, exception ? exception : Py_None);
    if (answer == NULL) return fault(tracer);
    int failed = PyList_CheckExact(answer) ? record_emit_all(tracer, answer, place) : 0;
    Py_DECREF(answer);
    return failed;
}

/* ---- samples ---------------------------------------------------------------------------------------------------------------- */

/* Nothing is told of this object, or of what is met here. */
static inline int unsampled(Tracer *tracer, uint64_t groups) {
    if (groups && !(groups & tracer->alive)) sample_drowse(tracer, groups);
    return 1;
}

/* Is this an object that all events here must be of, and is it none? */
static inline bool passes(Tracer *tracer, const Probe *probe, PyObject *receiver) {
    return probe->groups && !probe->bears && receiver != NULL && !sample_of(tracer, receiver);
}

/* ---- calls ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
    PyObject *function, *key, *receiver;
    PyObject *const *args;
    Py_ssize_t count;     /* of arguments, with those by keyword */
    PyObject *keywords;   /* names of the last, or NULL */
    PyObject *mapping;    /* `**mapping`, or NULL */
    PyTypeObject *type;   /* the class that is called, or NULL */
    bool known;           /* are the arguments known? */
    bool other;           /* an object with `__call__` */
} Call;

static inline Py_ssize_t positional(const Call *call) {
    return call->count - (call->keywords ? PyTuple_GET_SIZE(call->keywords) : 0);
}

static inline void first_is_receiver(Call *call) {
    if (call->receiver != NULL || !call->known || positional(call) < 1) return;
    call->receiver = call->args[0];
    call->args++;
    call->count--;
}

static bool is_method_descriptor(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type;
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

/* Is there an object that the learner is to be told of? */
static inline bool learnable(const Callee *callee, PyObject *receiver) {
    return callee->wants & LEARN(WANT_PRE) && receiver != NULL && identity_needed(receiver);
}

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

#define HABIT 32 /* calls of nothing that is wanted, after which a place is left alone */

/* What is common to all that has a before and an after. Takes over the payload. */
static int begin(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, Callee *callee, PyObject *receiver,
                 PyObject *payload, const Call *call) {
    if (!(callee->wants & (WANT_TOLD | LEARN(WANT_NEW)))) {
        /* The learner's numbers are all there is to it. */
        Id object = learnable(callee, receiver) ? identity_of(tracer, receiver) : 0;
        if (object == 0) return PyErr_Occurred() ? fault(tracer) : 1;
        return learn(tracer, WORD_PRE, callee, &probe->spot, info->code, probe->origin, object) < 0 ? fault(tracer) : 1;
    }
    Id target;
    if ((payload == NULL && callee->wants & WANT_ARGS && PyErr_Occurred()) ||
        take_receiver(tracer, receiver, &target, &payload, !(callee->wants & WANT_END)) < 0) {
        Py_XDECREF(payload);
        return fault(tracer);
    }
    int failed = 0;
    PyObject *token = NULL;
    bool unborn = callee->group != NULL && call != NULL && is_birth(callee, call); /* there is no object to tell of yet */
    if (callee->wants & WANT_PRE && !unborn)
        failed = record_add(tracer, KIND_PRE, callee, target, Py_XNewRef(payload), place_of(tracer, info, probe));
    if (!failed && callee->wants & WANT_HAND && call != NULL && call->known) {
        PyObject *keywords = NULL, *arguments = call_arguments(call, receiver, &keywords);
        failed = hand(tracer, call->function, arguments, keywords, place_of(tracer, info, probe), &token);
    }
    if (!failed && (unborn || callee->wants & (WANT_END | LEARN(WANT_NEW))) && probe->result >= 0) {
        Pending *pending = NULL;
        probe->expects = true;
        if (!probe->result_off || delivery_again(tracer, info) == 0)
            pending = push_pending(tracer, callee, frame, probe->offset, target, payload);
        if (pending == NULL) fault(tracer);
        else if (call != NULL) {
            pending->type = call->type;
            pending->asks = asks_for_type(call);
            pending->token = Py_XNewRef(token);
        }
    }
    Py_XDECREF(payload);
    Py_XDECREF(token);
    if (failed) return -1;
    if (callee->wants & WANT_EXIT && record_flush(tracer, true) < 0) return -1;
    if (callee->wants & LEARN(WANT_PRE) && target &&
        learn(tracer, WORD_PRE, callee, &probe->spot, info->code, probe->origin, target) < 0)
        return fault(tracer);
    return 1;
}

/* Nothing that is wanted is called here. Is the place left alone? */
static int pass_over(Tracer *tracer, Probe *probe, const Call *call) {
    /* Where a method is called, the next receiver may be of another class, with a method of this name that matters.
       Through a variable anything may be called, once something that matters was put into one. */
    if (probe->name == NULL) probe->off = probe->quiet && !tracer->escaped;
    else if (call->receiver == NULL || probe->quiet) probe->off = called_by_name(probe, call->function);
    else if (probe->habit && !probe->busy && ++probe->idle >= HABIT) {
        probe->idle = HABIT;
        probe->off = tracer->called == NULL || PySet_Contains(tracer->called, probe->name) == 0;
    }
    return !probe->off;
}

/* The first time that something that is wanted is called here. */
static int gets_busy(Tracer *tracer, Probe *probe) {
    probe->busy = true;
    return probe->habit && probe->name != NULL ? plan_wanted_name(tracer, probe->name) : 0;
}

static int before_call(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    Call call;
    look_at_call(&call, probe, operands);
    if (passes(tracer, probe, call.receiver)) return unsampled(tracer, probe->groups);
    if (call.receiver != NULL) identity_prefetch(call.receiver);
    PyTypeObject *type = call.receiver ? receiver_type(call.receiver) : NULL;
    Callee *callee = call.other ? plan_operation(tracer, &probe->last_answer, text_call, Py_TYPE(call.function))
                                : plan_call(tracer, &probe->last_answer, call.function, call.key, type);
    if (callee != NULL && callee->name != NULL && callee->wants & WANT_RECEIVER && call.receiver == NULL) {
        first_is_receiver(&call);
        if (call.receiver != NULL)
            callee = plan_call(tracer, &probe->last_answer, call.function, call.key, receiver_type(call.receiver));
    }
    if (callee == NULL) return fault(tracer);
    if (callee->name == NULL || callee->wants & WANT_CALLEE_SIDE) return pass_over(tracer, probe, &call);
    if (!(callee->wants & WANT_TOLD) && !learnable(callee, call.receiver) && !makes_object(callee, &call))
        return pass_over(tracer, probe, &call);
    if (callee->group != NULL && (is_birth(callee, &call) ? sample_asleep(tracer, callee->group->bit, true)
                                                          : call.receiver == NULL || !sample_of(tracer, call.receiver)))
        return unsampled(tracer, probe->groups);
    if (!probe->busy && gets_busy(tracer, probe) < 0) return fault(tracer);
    return begin(tracer, info, probe, frame, callee, call.receiver, call_payload(tracer, callee, &call), &call);
}

/* ---- other operations ---------------------------------------------------------------------------------------------------------- */

/* Where the receiver and the arguments are among the operands, and where the result is, from the base. */
static const struct {
    signed char receiver, args, first, last, result;
} shapes[OPERATIONS] = {
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
    Py_ssize_t count = shapes[operation].args;
    PyObject **first = operands + shapes[operation].first;
    if (count == 2) {
        slice = PySlice_New(first[0], first[1], NULL);
        if (slice == NULL) return NULL;
        first = &slice;
        count = 1;
    }
    if (count) args[0] = *first;
    if (count && shapes[operation].last >= 0) args[count++] = operands[(int)shapes[operation].last];
    PyObject *payload = PyDict_New();
    if (payload != NULL && encode_arguments(tracer, payload, args, count, NULL) < 0) Py_CLEAR(payload);
    Py_XDECREF(slice);
    return payload;
}

/* `__exit__` is called for an exception: what is on the stack is bound already. */
static int before_exit(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    PyObject *function = operands[0], *receiver = NULL;
    if (Py_IS_TYPE(function, &PyMethod_Type)) {
        receiver = PyMethod_GET_SELF(function);
        function = PyMethod_GET_FUNCTION(function);
    } else if (PyCFunction_Check(function)) {
        receiver = PyCFunction_GET_SELF(function);
    }
    if (receiver == NULL) return 1;
    if (passes(tracer, probe, receiver)) return unsampled(tracer, probe->groups);
    Callee *callee = plan_operation(tracer, &probe->last_answer, probe->name, receiver_type(receiver));
    if (callee == NULL) return fault(tracer);
    if (callee->name == NULL || callee->wants & WANT_CALLEE_SIDE) return 1;
    if (callee->group != NULL && !sample_of(tracer, receiver)) return unsampled(tracer, probe->groups);
    PyObject *payload = NULL, *exception = operands[3];
    if (callee->wants & WANT_ARGS && exception != NULL && (payload = PyDict_New()) != NULL) {
        PyObject *args[3] = {(PyObject *)Py_TYPE(exception), exception, Py_None};
        if (encode_arguments(tracer, payload, args, 3, NULL) < 0) Py_CLEAR(payload);
    }
    return begin(tracer, info, probe, frame, callee, receiver, payload, NULL);
}

static int before_operation(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    PyObject *receiver = operands[(int)shapes[probe->operation].receiver];
    if (receiver == NULL || probe->name == NULL) return 1;
    if (passes(tracer, probe, receiver)) return unsampled(tracer, probe->groups);
    Callee *callee = plan_operation(tracer, &probe->last_answer, probe->name, Py_TYPE(receiver));
    if (callee == NULL) return fault(tracer);
    if (callee->name == NULL || callee->wants & WANT_CALLEE_SIDE) return 1;
    if (callee->group != NULL && !sample_of(tracer, receiver)) return unsampled(tracer, probe->groups);
    if ((probe->operation == OP_NEXT || probe->operation == OP_ASYNC_NEXT) && callee->wants & WANT_NEXT) {
        Id target = identity_of(tracer, receiver);
        if (target == 0) return fault(tracer);
        if (record_add(tracer, KIND_NEXT, callee, target, NULL, place_of(tracer, info, probe)) < 0) return -1;
        if (!(callee->wants & (WANT_PRE | WANT_POST | WANT_RAISE))) return 1;
    }
    PyObject *payload = operation_payload(tracer, callee, probe->operation, operands);
    return begin(tracer, info, probe, frame, callee, receiver, payload, NULL);
}

static int before_field(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands) {
    PyObject *early[2];
    if (probe->early) {
        early[0] = frame->localsplus[probe->value];
        early[1] = frame->localsplus[probe->owner];
        if (early[0] == NULL) return 1; /* a variable without a value: that will not be stored */
        operands = early;
    }
    PyObject *owner = operands[(int)shapes[probe->operation].receiver];
    if (owner == NULL || probe->name == NULL) return 1;
    if (passes(tracer, probe, owner)) return unsampled(tracer, probe->groups);
    if (!identity_needed(owner)) return 1;
    Callee *callee = plan_field(tracer, &probe->last_answer, probe->name, receiver_type(owner));
    if (callee == NULL) return fault(tracer);
    int wanted = probe->operation == OP_GET_FIELD ? WANT_READ : WANT_WRITE;
    if (callee->name == NULL || !(callee->wants & (wanted | LEARN(wanted)))) return 1;
    if (callee->group != NULL && !sample_of(tracer, owner)) return unsampled(tracer, probe->groups);
    Id target = identity_of(tracer, owner);
    if (target == 0) return fault(tracer);
    if (callee->wants & WANT_READ && probe->operation == OP_GET_FIELD && callee->wants & WANT_RESULT && probe->result >= 0) {
        /* It is told with the value that was read, when that is known. */
        probe->expects = true;
        if (probe->result_off && delivery_again(tracer, info) < 0) return fault(tracer);
        return push_pending(tracer, callee, frame, probe->offset, target, NULL) == NULL ? fault(tracer) : 1;
    }
    if (callee->wants & wanted) {
        PyObject *payload = NULL;
        if (probe->operation == OP_SET_FIELD) {
            payload = result_payload(tracer, callee, NULL, operands[0]);
            if (payload == NULL && PyErr_Occurred()) return fault(tracer);
        }
        int kind = probe->operation == OP_GET_FIELD ? KIND_READ : KIND_WRITE;
        if (record_add(tracer, kind, callee, target, payload, place_of(tracer, info, probe)) < 0) return -1;
    }
    if (!(callee->wants & LEARN(wanted))) return 1;
    int word = probe->operation == OP_GET_FIELD ? WORD_READ : WORD_WRITE;
    return learn(tracer, word, callee, &probe->spot, info->code, probe->origin, target) < 0 ? fault(tracer) : 1;
}

int probe_before(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame) {
    if (sample_asleep(tracer, probe->groups, probe->bears)) {
        probe->off = true;
        sample_sleeps(tracer, info);
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

/* ---- results -------------------------------------------------------------------------------------------------------------------- */

static int constructed(Tracer *tracer, CodeInfo *info, Probe *probe, Pending *pending, PyObject *object) {
    Callee *callee = pending->callee;
    Id id = identity_of(tracer, object);
    if (id == 0) return fault(tracer);
    if (callee->wants & LEARN(WANT_NEW) && learn(tracer, WORD_NEW, callee, &probe->spot, info->code, probe->origin, id) < 0)
        return fault(tracer);
    if (!(callee->wants & WANT_NEW)) return 0;
    callee = plan_with_class(tracer, callee, Py_TYPE(object));
    if (callee == NULL) return fault(tracer);
    return record_add(tracer, KIND_NEW, callee, id, Py_XNewRef(pending->payload), place_of(tracer, info, probe));
}

static bool is_made(const Pending *pending, PyObject *object) {
    if (pending->asks || !identity_needed(object)) return false;
    return pending->type == NULL || PyType_IsSubtype(Py_TYPE(object), pending->type);
}

/* Is the object what the call of a class, or of a function that stands for one, was to make? */
static bool is_new(const Pending *pending, PyObject *object) {
    return pending->callee->wants & (WANT_NEW | LEARN(WANT_NEW)) && is_made(pending, object);
}

/* An object comes out of a call whose callee has a group. 1: it is a sample; 0: nothing is told of it; -1: as ever. */
static int comes_out(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, Pending *pending, PyObject *object) {
    Callee *callee = pending->callee;
    if (!is_made(pending, object)) return 0;
    if (sample_of(tracer, object)) return 1;
    if (!(callee->wants & WANT_BIRTH) || !sample_flip(tracer, callee->group)) return 0;
    Id id;
    int failed = sample_take(tracer, callee, object, place_of(tracer, info, probe), frame, &id);
    return failed < 0 ? -1 : id != 0;
}

static int ended(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, Pending *pending, PyObject *result) {
    int kind = probe->operation == OP_GET_FIELD ? KIND_READ : KIND_POST;
    if (pending->callee->group != NULL && pending->target == 0) {
        int sampled = comes_out(tracer, info, probe, frame, pending, result);
        if (sampled <= 0) return sampled;
    }
    if (kind == KIND_POST) {
        if (pending->token && handed(tracer, pending->token, result, NULL, place_of(tracer, info, probe)) < 0) return -1;
        if (is_new(pending, result) && constructed(tracer, info, probe, pending, result) < 0) return -1;
        if (!(pending->callee->wants & WANT_POST)) return 0;
    }
    PyObject *payload = result_payload(tracer, pending->callee, pending, result);
    if (payload == NULL && PyErr_Occurred()) return fault(tracer);
    if (record_add(tracer, kind, pending->callee, pending->target, payload, place_of(tracer, info, probe)) < 0) return -1;
    if (kind == KIND_POST || !(pending->callee->wants & LEARN(WANT_READ))) return 0;
    return learn(tracer, WORD_READ, pending->callee, &probe->spot, info->code, probe->origin, pending->target) < 0
               ? fault(tracer) : 0;
}

int probe_result(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame) {
    Pending pending;
    if (!probe->expects || !pop_pending(tracer, frame, probe->offset, &pending)) {
        if (probe->expects && !probe->off) return 1;
        probe->result_off = true;
        return 0;
    }
    int slot = shapes[probe->operation].result;
    PyObject *result = slot < 0 ? Py_None : frame->localsplus[probe->base + slot];
    if (result == NULL) result = Py_None;
    if (probe->operation == OP_CONTAINS && probe->count && PyBool_Check(result))
        result = result == Py_True ? Py_False : Py_True; /* `not in`: what `__contains__` said is the contrary */
    int failed = ended(tracer, info, probe, frame, &pending, result);
    settle(tracer, &pending);
    return failed < 0 ? -1 : 1;
}

/* The offset of the instruction that a frame is in the middle of, or -1. */
static int waiting(Tracer *tracer, RunFrame *frame) {
    ThreadData *data = thread_data(tracer);
    for (int i = data ? data->depth - 1 : -1; i >= 0; i--)
        if (data->stack[i].frame == frame) return data->stack[i].offset;
    return -1;
}

int probe_raise(Tracer *tracer, CodeInfo *info, RunFrame *frame, int offset, PyObject *exception) {
    int at = waiting(tracer, frame);
    if (at < 0 || at / 2 >= info->units || info->at[at / 2].probe == 0) return 0;
    Probe *probe = &info->probes[info->at[at / 2].probe - 1];
    /* It may be noticed in the caches that follow the instruction. If it comes out of a Python function, 3.13 tells of the
       code unit before the call. */
    if (offset < at - 2 || (probe->result >= 0 && offset >= probe->result)) return 0;
    Pending pending;
    if (!pop_pending(tracer, frame, at, &pending)) return 0;
    int failed = 0;
    bool unborn = pending.callee->group != NULL && pending.target == 0;
    if (pending.token != NULL) {
        PyObject *name = plan_class_name(tracer, Py_TYPE(exception));
        failed = name == NULL ? fault(tracer) : handed(tracer, pending.token, NULL, name, place_of(tracer, info, probe));
        Py_XDECREF(name);
    }
    if (!failed && pending.callee->wants & WANT_RAISE && probe->operation != OP_GET_FIELD && !unborn) {
        PyObject *payload = exception_payload(tracer, &pending, exception);
        failed = payload == NULL ? fault(tracer)
                                 : record_add(tracer, KIND_RAISE, pending.callee, pending.target, payload, place_of(tracer, info, probe));
    }
    settle(tracer, &pending);
    return failed;
}

/* ---- functions that report themselves ------------------------------------------------------------------------------------------- */

static PyObject *local(RunFrame *frame, int index) {
    PyCodeObject *code = frame_code(frame);
    PyObject *value = frame->localsplus[index];
    bool in_cell = PyBytes_AS_STRING(code->co_localspluskinds)[index] & CELL_KIND;
    return value != NULL && in_cell && PyCell_Check(value) ? PyCell_GET(value) : value;
}

/* The place that events of a function have: the nearest caller that is own code, or the caller. */
static PyCodeObject *place(Tracer *tracer, RunFrame *frame, int *offset) {
    RunFrame *caller = frame_caller(frame), *nearest = caller;
    for (int i = 0; nearest != NULL && i < 100; nearest = frame_caller(nearest), i++) {
        CodeInfo *info = plan_find(tracer, frame_code(nearest));
        if (info != NULL && info->own) {
            caller = nearest;
            break;
        }
    }
    if (caller == NULL) return NULL;
    *offset = frame_offset(caller);
    return frame_code(caller);
}

static PyObject *parameters(Tracer *tracer, RunFrame *frame, bool receiver) {
    PyCodeObject *code = frame_code(frame);
    int plain = code->co_argcount, named = code->co_kwonlyargcount;
    bool starred = code->co_flags & CO_VARARGS;
    PyObject *rest = starred ? local(frame, plain + named) : NULL;
    PyObject *mapping = code->co_flags & CO_VARKEYWORDS ? local(frame, plain + named + starred) : NULL;
    Py_ssize_t further = rest && PyTuple_CheckExact(rest) ? PyTuple_GET_SIZE(rest) : 0, at = 0;
    PyObject *payload = PyDict_New(), *keywords = named ? PyTuple_New(named) : NULL;
    PyObject **args = PyMem_Malloc((plain + further + named + 1) * sizeof(PyObject *));
    if (payload == NULL || (named && keywords == NULL) || args == NULL) goto failed;
    for (int i = receiver && plain ? 1 : 0; i < plain; i++) args[at++] = local(frame, i);
    for (Py_ssize_t i = receiver && !plain ? 1 : 0; i < further; i++) args[at++] = PyTuple_GET_ITEM(rest, i);
    for (int i = 0; i < named; i++) {
        args[at++] = local(frame, plain + i);
        PyTuple_SET_ITEM(keywords, i, Py_NewRef(PyTuple_GET_ITEM(code->co_localsplusnames, plain + i)));
    }
    if (encode_arguments(tracer, payload, args, at, keywords) < 0) goto failed;
    if (mapping && PyDict_CheckExact(mapping) && encode_mapping(tracer, payload, mapping) < 0) goto failed;
    PyMem_Free(args);
    Py_XDECREF(keywords);
    return payload;
failed:
    if (!PyErr_Occurred()) PyErr_NoMemory();
    PyMem_Free(args);
    Py_XDECREF(keywords);
    Py_XDECREF(payload);
    return NULL;
}

/* The same objects themselves, as a tuple; those by keyword in a dict. */
static PyObject *frame_arguments(RunFrame *frame, PyObject **keywords) {
    PyCodeObject *code = frame_code(frame);
    int plain = code->co_argcount, named = code->co_kwonlyargcount;
    bool starred = code->co_flags & CO_VARARGS;
    PyObject *rest = starred ? local(frame, plain + named) : NULL;
    PyObject *mapping = code->co_flags & CO_VARKEYWORDS ? local(frame, plain + named + starred) : NULL;
    Py_ssize_t further = rest && PyTuple_CheckExact(rest) ? PyTuple_GET_SIZE(rest) : 0;
    PyObject *arguments = PyTuple_New(plain + further);
    if (arguments == NULL) return NULL;
    for (int i = 0; i < plain; i++) {
        PyObject *value = local(frame, i);
        PyTuple_SET_ITEM(arguments, i, Py_NewRef(value ? value : Py_None));
    }
    for (Py_ssize_t i = 0; i < further; i++) PyTuple_SET_ITEM(arguments, plain + i, Py_NewRef(PyTuple_GET_ITEM(rest, i)));
    bool mapped = mapping && PyDict_CheckExact(mapping) && PyDict_GET_SIZE(mapping);
    if (!named && !mapped) return arguments;
    *keywords = mapped ? PyDict_Copy(mapping) : PyDict_New();
    for (int i = 0; *keywords != NULL && i < named; i++) {
        PyObject *value = local(frame, plain + i);
        if (value && PyDict_SetItem(*keywords, PyTuple_GET_ITEM(code->co_localsplusnames, plain + i), value) < 0)
            Py_CLEAR(*keywords);
    }
    if (*keywords == NULL) Py_CLEAR(arguments);
    return arguments;
}

/* The first argument, which may be the receiver. */
static PyObject *first_argument(RunFrame *frame) {
    PyCodeObject *code = frame_code(frame);
    if (code->co_argcount) return local(frame, 0);
    if (!(code->co_flags & CO_VARARGS)) return NULL;
    PyObject *rest = local(frame, code->co_kwonlyargcount);
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

/* The place that events of a function have, as a number; 0: there is none. */
static uint32_t place_number(Tracer *tracer, PyCodeObject *code, int offset) {
    Spot *spot = code ? plan_spot(tracer, code, offset) : NULL;
    if (code != NULL && spot == NULL) fault(tracer);
    return spot ? plan_place(tracer, spot, code, offset) : 0;
}

/* 1: the receiver is a sample, perhaps from now on; 0: nothing is told of it; -1: as ever. */
static int begins_life(Tracer *tracer, RunFrame *frame, Callee *callee, PyObject *receiver, int kind) {
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
        if (info->apart && sample_asleep(tracer, info->groups, info->bears)) {
            sample_sleeps(tracer, info);
            return 0;
        }
        receiver = info->bears ? NULL : first_argument(frame);
        if (!info->bears && (receiver == NULL || !sample_of(tracer, receiver))) return unsampled(tracer, info->groups);
    }
    /* An exception may be thrown into a generator that never started. */
    if (kind == KIND_RESUME && frame_offset(frame) / 2 < info->code->_co_firsttraceable) return 1;
    int found = look_at_function(tracer, info, frame, &callee, &receiver);
    if (found <= 0) return found < 0 ? fault(tracer) : 1;
    if (callee->group != NULL) {
        int sampled = begins_life(tracer, frame, callee, receiver, kind);
        if (sampled <= 0) return sampled < 0 ? -1 : unsampled(tracer, info->groups);
    }
    if (!(callee->wants & WANT_TOLD) && !learnable(callee, receiver)) {
        /* A function that has no object to learn about will hardly get one. */
        if (info->idle < HABIT) info->idle++;
        return info->idle < HABIT || info->busy;
    }
    info->busy = true;
    PyObject *before = NULL, *token = NULL;
    if (info->code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
        before = wake(tracer->resting, frame);
        token = wake(tracer->resting_tokens, frame);
        if (kind == KIND_PRE) {
            Py_CLEAR(before);
            Py_CLEAR(token);
        }
    }
    if (callee->wants & WANT_ARGS && kind == KIND_PRE && (payload = parameters(tracer, frame, receiver != NULL)) == NULL)
        return fault(tracer);
    Id target;
    if (take_receiver(tracer, receiver, &target, &payload, false) < 0) {
        Py_XDECREF(payload);
        Py_XDECREF(before);
        Py_XDECREF(token);
        return fault(tracer);
    }
    int offset = 0, failed = 0;
    PyCodeObject *code = place(tracer, frame, &offset);
    if (callee->wants & WANT_TOLD) {
        uint32_t number = place_number(tracer, code, offset);
        if (callee->wants & wanted) failed = record_add(tracer, kind, callee, target, Py_XNewRef(payload), number);
        if (!failed && callee->wants & WANT_HAND && kind == KIND_PRE) {
            PyObject *keywords = NULL, *arguments = frame_arguments(frame, &keywords);
            failed = hand(tracer, (PyObject *)info->code, arguments, keywords, number, &token);
        }
        if (!failed && callee->wants & (WANT_END | WANT_YIELD)) {
            Pending *pending = push_pending(tracer, callee, frame, -1, target, before ? before : payload);
            if (pending == NULL) fault(tracer);
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
    return sink_learn_at(tracer, WORD_PRE, callee, code, offset, target) < 0 ? fault(tracer) : 1;
}

/* Takes over the payload. */
static int leave(Tracer *tracer, int kind, Pending *pending, PyObject *payload) {
    int failed = record_add(tracer, kind, pending->callee, pending->target, payload, pending->place);
    settle(tracer, pending);
    return failed ? -1 : 1;
}

/* What ends here was not told of. Is the place left alone until there is a sample? */
static int ends_unseen(Tracer *tracer, CodeInfo *info) {
    if (!info->apart || !sample_asleep(tracer, info->groups, false)) return 1;
    sample_sleeps(tracer, info);
    return 0;
}

static int leave_with(Tracer *tracer, CodeInfo *info, RunFrame *frame, int kind, int wanted, PyObject *value) {
    Pending pending;
    if (!pop_pending(tracer, frame, -1, &pending)) return ends_unseen(tracer, info);
    PyObject *payload = NULL;
    bool wants = pending.callee->wants & wanted;
    if (kind == KIND_POST && pending.callee->wants & WANT_NEW && pending.target) {
        /* The end of an `__init__` that stands for its class: the receiver is complete. */
        if (record_add(tracer, KIND_NEW, pending.callee, pending.target, Py_XNewRef(pending.payload), pending.place) < 0) {
            settle(tracer, &pending);
            return -1;
        }
    }
    if (kind == KIND_POST && handed(tracer, pending.token, value, NULL, pending.place) < 0) {
        settle(tracer, &pending);
        return -1;
    }
    if (kind == KIND_YIELD) {
        rest(&tracer->resting, frame, pending.payload);
        rest(&tracer->resting_tokens, frame, pending.token);
        PyObject *target = pending.payload ? Py_XNewRef(PyDict_GetItemWithError(pending.payload, text_target)) : NULL;
        Py_CLEAR(pending.payload);
        if (target != NULL && (pending.payload = PyDict_New()) != NULL) PyDict_SetItem(pending.payload, text_target, target);
        Py_XDECREF(target);
    }
    if (wants && (payload = result_payload(tracer, pending.callee, &pending, value)) == NULL && PyErr_Occurred()) {
        settle(tracer, &pending);
        return fault(tracer);
    }
    if (wants) return leave(tracer, kind, &pending, payload);
    settle(tracer, &pending);
    return 1;
}

int function_start(Tracer *tracer, CodeInfo *info, RunFrame *frame) { return enter(tracer, info, frame, KIND_PRE, WANT_PRE); }

int function_resume(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    return enter(tracer, info, frame, KIND_RESUME, WANT_YIELD);
}

int function_return(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *result) {
    return leave_with(tracer, info, frame, KIND_POST, WANT_POST, result);
}

int function_yield(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *value) {
    return leave_with(tracer, info, frame, KIND_YIELD, WANT_YIELD, value);
}

int function_unwind(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *payload) {
    Pending pending;
    if (payload == NULL && PyErr_Occurred()) return fault(tracer);
    if (!pop_pending(tracer, frame, -1, &pending)) {
        Py_XDECREF(payload);
        return 1;
    }
    PyObject *name = pending.token && payload ? PyDict_GetItemWithError(payload, text_exception) : NULL;
    if (pending.token != NULL && handed(tracer, pending.token, NULL, name, pending.place) < 0) {
        Py_XDECREF(payload);
        settle(tracer, &pending);
        return -1;
    }
    if (!(pending.callee->wants & WANT_RAISE)) {
        Py_XDECREF(payload);
        settle(tracer, &pending);
        return 1;
    }
    PyObject *all = pending.payload ? PyDict_Copy(pending.payload) : NULL;
    if (all != NULL && payload != NULL && PyDict_Update(all, payload) == 0) Py_SETREF(payload, Py_NewRef(all));
    Py_XDECREF(all);
    PyErr_Clear();
    return leave(tracer, KIND_RAISE, &pending, payload);
}

#endif

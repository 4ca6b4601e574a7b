/* Delivery by sys.monitoring. Every code object is looked at once, when it first starts; only those that matter get events
   of their own, and only instructions that matter keep them. */
#include "tracer.h"

#if !defined(LAWFUL_NO_TRACER) && PY_VERSION_HEX >= 0x030C0000

const char delivery_name[] = "monitoring";

enum {
    EVENT_PY_START = 1 << 0, EVENT_PY_RESUME = 1 << 1, EVENT_PY_RETURN = 1 << 2, EVENT_PY_YIELD = 1 << 3,
    EVENT_INSTRUCTION = 1 << 6, EVENT_RAISE = 1 << 10, EVENT_PY_UNWIND = 1 << 12, EVENT_PY_THROW = 1 << 13
};

static PyObject *monitoring, *disable;

/* ---- what the interpreter calls ------------------------------------------------------------------------------------------ */

static inline PyObject *keep(int answer) {
    if (answer < 0) return NULL;
    return Py_NewRef(answer ? Py_None : disable);
}

/* What is registered: an object that the interpreter calls without further ado. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc function;
    Tracer *tracer;
} Callback;

static void callback_dealloc(Callback *self) {
    Py_DECREF(self->tracer);
    PyObject_Free(self);
}

static PyTypeObject CallbackType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Callback",
    .tp_basicsize = sizeof(Callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(Callback, function),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = (destructor)callback_dealloc,
};

static PyObject *new_callback(Tracer *tracer, vectorcallfunc function) {
    Callback *self = PyObject_New(Callback, &CallbackType);
    if (self == NULL) return NULL;
    self->function = function;
    self->tracer = (Tracer *)Py_NewRef((PyObject *)tracer);
    return (PyObject *)self;
}

#define CALLBACK(name) static PyObject *name(PyObject *self, PyObject *const *args, size_t count, PyObject *keywords)
#define TRACER (((Callback *)self)->tracer)

/* An offset in code. */
static inline long offset_of(PyObject *number) {
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)number)) return (long)PyUnstable_Long_CompactValue((PyLongObject *)number);
#endif
    return PyLong_AsLong(number);
}

CALLBACK(on_start) {
    Tracer *tracer = TRACER;
    if (!tracer->running || tracer->broken) return keep(0);
    PyCodeObject *code = (PyCodeObject *)args[0];
    RunFrame *frame = frame_current(PyThreadState_Get());
    CodeInfo *info = plan_find(tracer, code);
    if (info == NULL) {
        info = plan_make(tracer, code, frame_globals(frame));
        if (info == NULL || delivery_plan(tracer, info) < 0) {
            if (PyErr_Occurred()) tracer_fault(tracer);
            return keep(0);
        }
    }
    return keep(info->callee == NULL ? 0 : function_start(tracer, info, frame));
}

CALLBACK(on_instruction) {
    Tracer *tracer = TRACER;
    if (!tracer->running || tracer->broken) return keep(0);
    CodeInfo *info = plan_find(tracer, (PyCodeObject *)args[0]);
    if (info == NULL || info->n_probes == 0) return keep(0);
    long unit = offset_of(args[1]) / 2;
    if (unit < 0 || unit >= info->units) return keep(0);
    int before = info->at[unit].probe, after = info->at[unit].result, answer = 0;
    if (!before && !after) return keep(0);
    RunFrame *frame = frame_current(PyThreadState_Get());
    if (after) answer = probe_result(tracer, info, &info->probes[after - 1], frame);
    if (before && answer >= 0) {
        int other = probe_before(tracer, info, &info->probes[before - 1], frame);
        answer = other < 0 ? -1 : answer | other;
    }
    return keep(answer);
}

#define WITH_INFO \
    Tracer *tracer = TRACER; \
    if (!tracer->running || tracer->broken) Py_RETURN_NONE; \
    CodeInfo *info = plan_find(tracer, (PyCodeObject *)args[0]); \
    if (info == NULL) Py_RETURN_NONE; \
    RunFrame *frame = frame_current(PyThreadState_Get());

CALLBACK(on_return) {
    WITH_INFO
    return keep(info->callee == NULL ? 1 : function_return(tracer, info, frame, args[2]));
}

CALLBACK(on_yield) {
    WITH_INFO
    return keep(info->callee == NULL ? 1 : function_yield(tracer, info, frame, args[2]));
}

CALLBACK(on_resume) {
    WITH_INFO
    return keep(info->callee == NULL ? 1 : function_resume(tracer, info, frame));
}

/* Of these three an event cannot be disabled. */
CALLBACK(on_throw) {
    WITH_INFO
    if (info->callee != NULL && function_resume(tracer, info, frame) < 0) return NULL;
    Py_RETURN_NONE;
}

CALLBACK(on_unwind) {
    WITH_INFO
    if (info->callee != NULL && function_unwind(tracer, info, frame, exception_payload(tracer, NULL, args[2])) < 0) return NULL;
    Py_RETURN_NONE;
}

CALLBACK(on_raise) {
    WITH_INFO
    if (info->n_probes && probe_raise(tracer, info, frame, (int)offset_of(args[1]), args[2]) < 0) return NULL;
    Py_RETURN_NONE;
}

static const struct {
    int event;
    vectorcallfunc function;
} callbacks[] = {
    {EVENT_PY_START, on_start},   {EVENT_INSTRUCTION, on_instruction}, {EVENT_PY_RETURN, on_return}, {EVENT_PY_YIELD, on_yield},
    {EVENT_PY_RESUME, on_resume}, {EVENT_PY_THROW, on_throw},          {EVENT_PY_UNWIND, on_unwind}, {EVENT_RAISE, on_raise},
};
#define CALLBACKS (sizeof callbacks / sizeof callbacks[0])

/* ---- what the tracer asks of the interpreter ---------------------------------------------------------------------------- */

static int call(const char *method, const char *format, ...) {
    va_list values;
    va_start(values, format);
    PyObject *args = Py_VaBuildValue(format, values), *function = PyObject_GetAttrString(monitoring, method), *result = NULL;
    va_end(values);
    if (args != NULL && function != NULL) result = PyObject_CallObject(function, args);
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int delivery_setup(void) {
    if (monitoring != NULL) return 0;
    PyObject *module = PySys_GetObject("monitoring"); /* borrowed */
    if (module == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no sys.monitoring");
        return -1;
    }
    if (PyType_Ready(&CallbackType) < 0) return -1;
    disable = PyObject_GetAttrString(module, "DISABLE");
    if (disable == NULL) return -1;
    monitoring = Py_NewRef(module);
    return 0;
}

static int events_of(CodeInfo *info) {
    int events = info->n_probes ? EVENT_INSTRUCTION : 0;
    if (info->callee != NULL) {
        events |= EVENT_PY_START;
        if (info->callee->wants & (WANT_END | WANT_YIELD)) {
            events |= EVENT_PY_RETURN;
            if (info->code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) events |= EVENT_PY_YIELD | EVENT_PY_RESUME;
        }
    }
    return events;
}

int delivery_plan(Tracer *tracer, CodeInfo *info) {
    int events = events_of(info);
    return events ? call("set_local_events", "(iOi)", tracer->tool, info->code, events) : 0;
}

int delivery_again(Tracer *tracer, CodeInfo *info) {
    /* Switching off and on makes the interpreter forget what was disabled. Where that happens again and again, what
       could be disabled stays on. */
    info->toggles++;
    for (int i = 0; i < info->n_probes; i++) {
        info->probes[i].off = info->probes[i].result_off = false;
        if (info->toggles > 8) info->probes[i].expects = true;
    }
    int events = events_of(info);
    if (call("set_local_events", "(iOi)", tracer->tool, info->code, events & ~EVENT_INSTRUCTION) < 0) return -1;
    return call("set_local_events", "(iOi)", tracer->tool, info->code, events);
}

int delivery_begin(Tracer *tracer) {
    /* From the end: the first numbers are those that debuggers, coverage and profilers are told to use. */
    static const int order[] = {4, 3, 5, 1, 2, 0};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (call("use_tool_id", "(is)", order[i], "lawful") == 0) {
            tracer->tool = order[i];
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "all tool numbers of sys.monitoring are in use");
    return -1;
}

int delivery_start(Tracer *tracer) {
    for (size_t i = 0; i < CALLBACKS; i++) {
        PyObject *function = new_callback(tracer, callbacks[i].function);
        int failed = function == NULL || call("register_callback", "(iiO)", tracer->tool, callbacks[i].event, function) < 0;
        Py_XDECREF(function);
        if (failed) return -1;
    }
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after) {
        for (int i = 0; i < info->n_probes; i++) info->probes[i].off = info->probes[i].result_off = false;
        if (delivery_plan(tracer, info) < 0) return -1;
    }
    /* What an earlier tool of this number had disabled is still disabled. */
    if (call("restart_events", "()") < 0) return -1;
    return call("set_events", "(ii)", tracer->tool, EVENT_PY_START | EVENT_RAISE | EVENT_PY_UNWIND | EVENT_PY_THROW);
}

int delivery_stop(Tracer *tracer) {
    if (tracer->tool < 0) return 0;
    int failed = call("set_events", "(ii)", tracer->tool, 0);
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after)
        if (events_of(info)) failed |= call("set_local_events", "(iOi)", tracer->tool, info->code, 0);
    for (size_t i = 0; i < CALLBACKS; i++)
        failed |= call("register_callback", "(iiO)", tracer->tool, callbacks[i].event, Py_None);
    failed |= call("free_tool_id", "(i)", tracer->tool);
    tracer->tool = -1;
    return failed ? -1 : 0;
}

#endif

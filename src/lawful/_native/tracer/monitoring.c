/* What sys.monitoring calls, and what the tracer asks of it. Every code object is looked at once, when it first starts; only those
   that matter get events of their own, and only instructions that matter keep them. It must match monitoring_hooks.py in
   lawful/sources/python; tests/sources/python/test_tracer_behaviour.py and test_tracer_traced.py run on both.

   A disabled place is enabled again if the tool's event is switched off and on for this code object alone. That does
   not help with starts, which are asked for everywhere. So functions whose starts sleep now and then tell them to a
   second tool, which asks for nothing else. */
#include "messages/message_cache.h"
#include "tracer/fast_path.h"

enum {
    EVENT_PY_START = 1 << 0, EVENT_PY_RESUME = 1 << 1, EVENT_PY_RETURN = 1 << 2, EVENT_PY_YIELD = 1 << 3,
    EVENT_INSTRUCTION = 1 << 6, EVENT_RAISE = 1 << 10, EVENT_PY_UNWIND = 1 << 12, EVENT_PY_THROW = 1 << 13
};

static PyObject *monitoring, *disable, *set_local_events;

/* ---- what the interpreter calls ------------------------------------------------------------------------------------------ */

static inline PyObject *keep(int answer) {
    if (answer < 0) return NULL;
    return Py_NewRef(answer ? Py_None : disable);
}

/* The registered object: the interpreter calls its function directly. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc function;
    Tracer *tracer;
} Callback;

static void callback_dealloc(Callback *self) {
    Py_XDECREF(self->tracer);
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
    self->tracer = (Tracer *)Py_XNewRef((PyObject *)tracer);
    return (PyObject *)self;
}

#define CALLBACK(name) \
    static PyObject *name(PyObject *self, PyObject *const *args, size_t Py_UNUSED(count), PyObject *Py_UNUSED(keywords))
#define TRACER (((Callback *)self)->tracer)

/* One that is timed now and then. The fast path comes first, and calls nothing: see fast_path.h. */
#define TIMED_CALLBACK(name, fast) \
    static PyObject *other_##name(PyObject *self, PyObject *const *args); \
    static NOT_INLINE PyObject *timed_##name(PyObject *self, PyObject *const *args) { \
        Tracer *tracer = TRACER; \
        if (tracer->until_timed) return other_##name(self, args); \
        Py_INCREF(tracer); \
        unsigned measurements = tracer->measurements; \
        int64_t began = cost_begin(tracer); \
        PyObject *answer = fast(tracer, args) ? Py_NewRef(Py_None) : other_##name(self, args); \
        cost_end(tracer, began, measurements); \
        Py_DECREF(tracer); \
        return answer; \
    } \
    CALLBACK(name) { \
        Tracer *tracer = TRACER; \
        if (--tracer->until_timed && fast(tracer, args)) Py_RETURN_NONE; \
        return timed_##name(self, args); \
    } \
    static PyObject *other_##name(PyObject *self, PyObject *const *args)

/* Nothing is. */
static ALWAYS_INLINE bool never(Tracer *Py_UNUSED(tracer), PyObject *const *Py_UNUSED(args)) { return false; }

/* The frame that the interpreter calls us for. */
static ALWAYS_INLINE RunFrame *frame_here(const Tracer *tracer) { return *frame_slot(frame_thread(tracer->interpreter)); }

/* An offset in code, if it is of the size that they mostly have; or -1. */
static ALWAYS_INLINE long small_offset(PyObject *number) {
    const PyLongObject *offset = (const PyLongObject *)number;
    return PyUnstable_Long_IsCompact(offset) ? (long)PyUnstable_Long_CompactValue(offset) : -1;
}

static inline long offset_of(PyObject *number) {
    long offset = small_offset(number);
    return offset >= 0 ? offset : PyLong_AsLong(number);
}

static PyObject *on_anything(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(count),
                             PyObject *Py_UNUSED(keywords)) {
    Py_RETURN_NONE;
}

PyObject *delivery_empty_callback(void) {
    return PyType_Ready(&CallbackType) < 0 ? NULL : new_callback(NULL, on_anything);
}

/* Slow work may let other threads run, and one of them may stop the tracer and drop it. */
#define HELD(call) \
    Py_INCREF(tracer); \
    PyObject *answer = call; \
    Py_DECREF(tracer); \
    return answer;

static PyObject *starts(Tracer *tracer, CodeInfo *info, PyCodeObject *code, RunFrame *frame, bool second) {
    bool first = info == NULL;
    if (first) {
        info = second ? NULL : plan_make(tracer, code, frame_globals(frame));
        if (info == NULL || delivery_plan(tracer, info) < 0) {
            if (PyErr_Occurred()) tracer_fault(tracer);
            return keep(0);
        }
    }
    if (info->report_start && plan_report_start(tracer, info) < 0) tracer_fault(tracer);
    if (info->callee == NULL) return keep(0);
    if (!info->on_second_tool) return keep(second ? 0 : function_start(tracer, info, frame));
    if (second) return keep(function_start(tracer, info, frame));
    return keep(first && function_start(tracer, info, frame) < 0 ? -1 : 0);
}

static PyObject *begins(Tracer *tracer, PyCodeObject *code, RunFrame *frame, bool second) {
    if (!tracer->running || tracer->broken) return keep(0);
    if (is_suspended(tracer)) return keep(1);
    CodeInfo *info = plan_find(tracer, code);
    if (info != NULL && !info->report_start && !second && fast_start_again(tracer, info, frame, true)) Py_RETURN_NONE;
    /* By far the most frequent case where objects are sampled: not a sample. */
    if (info != NULL && info->groups & tracer->alive && info->first_is_receiver && !info->report_start && frame->localsplus[0] != NULL &&
        !sample_of(tracer, frame->localsplus[0]))
        return keep(second || !info->on_second_tool);
    HELD(starts(tracer, info, code, frame, second))
}

static PyObject *posts(Tracer *tracer, PyCodeObject *code, RunFrame *frame) {
    int posted = message_begin(tracer, code, frame);
    return posted != NOT_A_MESSAGE ? keep(posted) : begins(tracer, code, frame, false);
}

static ALWAYS_INLINE bool starts_fast(Tracer *tracer, PyObject *const *args) {
    CodeInfo *info = plan_find(tracer, (PyCodeObject *)args[0]);
    if (tracer->message_cache != NULL || info == NULL || !info->fast || info->report_start || !fast_ready_to_start(tracer)) return false;
    return ticks_counted && fast_start(tracer, info, frame_here(tracer), true, processor_ticks());
}

TIMED_CALLBACK(on_start, starts_fast) {
    Tracer *tracer = TRACER;
    PyCodeObject *code = (PyCodeObject *)args[0];
    RunFrame *frame = frame_here(tracer);
    if (tracer->message_cache == NULL) return begins(tracer, code, frame, false);
    if (message_is_ignored(tracer, args[0])) Py_RETURN_NONE;
    HELD(posts(tracer, code, frame))
}

TIMED_CALLBACK(on_second_start, never) {
    Tracer *tracer = TRACER;
    return begins(tracer, (PyCodeObject *)args[0], frame_here(tracer), true);
}

/* Handlers of signals that waited for us run before the instruction: it may wait itself, and be woken only by signals
   that come then. What their handlers do is the program's doing, and is seen. */
static int run_waiting_signals(int answer) {
    if (!signals_waited || answer < 0 || *signal_thread() != PyThread_get_thread_ident()) return answer;
    signals_waited = false;
    PyThreadState *thread = PyThreadState_Get();
    PyThreadState_LeaveTracing(thread);
    int failed = PyErr_CheckSignals();
    PyThreadState_EnterTracing(thread);
    return failed ? -1 : answer;
}

/* A call is about to begin, and was not found in the caches of the fast path. */
static inline bool call_again(Tracer *tracer, Probe *probe, RunFrame *frame) {
    return tracer->window != NULL ? fast_learn(tracer, probe, frame) : fast_call_again(tracer, probe, frame);
}

/* An instruction that is not on the fast path. A function of its own, so that the others need not save registers for it. */
static NOT_INLINE PyObject *other_instruction(Tracer *tracer, CodeInfo *info, RunFrame *frame, int before, int after) {
    int answer = 0;
    if (after) {
        Probe *probe = &info->probes[after - 1];
        answer = fast_result(tracer, probe, frame) ? 1 : probe_result(tracer, info, probe, frame);
    }
    if (before && answer >= 0) {
        Probe *probe = &info->probes[before - 1];
        tracer->slow_callbacks += !probe->early;
        int other = after && call_again(tracer, probe, frame) ? 1 : probe_before(tracer, info, probe, frame);
        answer = other < 0 ? -1 : answer | other;
    }
    return keep(run_waiting_signals(answer));
}

static ALWAYS_INLINE bool calls_fast(Tracer *tracer, PyObject *const *args) {
    if (!fast_ready(tracer) || tracer->window != NULL || !ticks_counted || signals_waited) return false;
    CodeInfo *info = plan_find(tracer, (PyCodeObject *)args[0]);
    unsigned long unit = (unsigned long)small_offset(args[1]) / 2;
    if (info == NULL || info->n_probes == 0 || unit >= (unsigned long)info->units) return false;
    int before = info->at[unit].probe;
    if (!before || info->at[unit].result || info->at[unit].owner >= 0) return false;
    const Probe *probe = &info->probes[before - 1];
    if (!fast_call(tracer, probe, frame_here(tracer), processor_ticks())) return false;
    tracer->slow_callbacks += !probe->early;
    return true;
}

TIMED_CALLBACK(on_instruction, calls_fast) {
    Tracer *tracer = TRACER;
    if (!tracer->running || tracer->broken) return keep(0);
    CodeInfo *info = plan_find(tracer, (PyCodeObject *)args[0]);
    if (info == NULL || info->n_probes == 0) return keep(0);
    long unit = offset_of(args[1]) / 2;
    if (unit < 0 || unit >= info->units) return keep(0);
    int before = info->at[unit].probe, after = info->at[unit].result, owner = info->at[unit].owner;
    if (!before && !after) return keep(0);
    RunFrame *frame = frame_here(tracer);
    /* As in on_start. */
    if (owner >= 0 && frame->localsplus[owner] != NULL && !sample_of(tracer, frame->localsplus[owner]) &&
        info->probes[before - 1].groups & tracer->alive && !probe_asleep(tracer, &info->probes[before - 1]))
        Py_RETURN_NONE;
    if (before && !after && call_again(tracer, &info->probes[before - 1], frame)) {
        tracer->slow_callbacks += !info->probes[before - 1].early;
        if (!signals_waited) Py_RETURN_NONE;
        return keep(run_waiting_signals(1));
    }
    HELD(other_instruction(tracer, info, frame, before, after))
}

#define WITH_INFO \
    Tracer *tracer = TRACER; \
    if (!tracer->running || tracer->broken) Py_RETURN_NONE; \
    CodeInfo *info = plan_find(tracer, (PyCodeObject *)args[0]); \
    if (info == NULL) Py_RETURN_NONE; \
    RunFrame *frame = frame_here(tracer);

static ALWAYS_INLINE bool ends_fast(Tracer *tracer, PyObject *const *Py_UNUSED(args)) {
    return fast_ready(tracer) && ticks_counted && fast_return(tracer, frame_here(tracer), processor_ticks());
}

TIMED_CALLBACK(on_return, ends_fast) {
    WITH_INFO
    if (fast_return_again(tracer, frame, args[2])) Py_RETURN_NONE;
    HELD(keep(info->callee == NULL ? 1 : function_return(tracer, info, frame, args[2])))
}

static ALWAYS_INLINE bool yields_fast(Tracer *tracer, PyObject *const *Py_UNUSED(args)) {
    return fast_ready(tracer) && fast_yield(tracer, frame_here(tracer));
}

TIMED_CALLBACK(on_yield, yields_fast) {
    WITH_INFO
    HELD(keep(info->callee == NULL ? 1 : function_yield(tracer, info, frame, args[2])))
}

static ALWAYS_INLINE bool resumes_fast(Tracer *tracer, PyObject *const *args) {
    CodeInfo *info = plan_find(tracer, (PyCodeObject *)args[0]);
    if (info == NULL || !info->fast || tracer->message_cache != NULL || !fast_ready(tracer)) return false;
    return fast_start(tracer, info, frame_here(tracer), false, 0);
}

TIMED_CALLBACK(on_resume, resumes_fast) {
    WITH_INFO
    if (fast_start_again(tracer, info, frame, false)) Py_RETURN_NONE;
    HELD(keep(info->callee == NULL ? 1 : function_resume(tracer, info, frame)))
}

/* Of these three an event cannot be disabled. */
CALLBACK(on_throw) {
    WITH_INFO
    HELD(keep(info->callee == NULL || function_resume(tracer, info, frame) >= 0 ? 1 : -1))
}

CALLBACK(on_unwind) {
    WITH_INFO
    if (info->callee == NULL) Py_RETURN_NONE;
    HELD(keep(function_unwind(tracer, frame, exception_payload(tracer, NULL, args[2])) < 0 ? -1 : 1))
}

TIMED_CALLBACK(on_raise, never) {
    WITH_INFO
    if (!info->n_probes) Py_RETURN_NONE;
    HELD(keep(probe_raise(tracer, info, frame, (int)offset_of(args[1]), args[2]) < 0 ? -1 : 1))
}

static const struct {
    int event;
    vectorcallfunc function, second; /* the second tool's, if that is another */
} callbacks[] = {
    {EVENT_PY_START, on_start, on_second_start}, {EVENT_INSTRUCTION, on_instruction, NULL},
    {EVENT_PY_RETURN, on_return, NULL},          {EVENT_PY_YIELD, on_yield, NULL},
    {EVENT_PY_RESUME, on_resume, NULL},          {EVENT_PY_THROW, on_throw, NULL},
    {EVENT_PY_UNWIND, on_unwind, NULL},          {EVENT_RAISE, on_raise, NULL},
};
#define CALLBACKS (sizeof callbacks / sizeof callbacks[0])
#define SECOND_EVENTS (EVENT_PY_START | EVENT_PY_RETURN | EVENT_PY_YIELD | EVENT_PY_RESUME)

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
    if (module == NULL) return failed_with(PyExc_RuntimeError, "this interpreter has no sys.monitoring");
    if (PyType_Ready(&CallbackType) < 0) return -1;
    disable = PyObject_GetAttrString(module, "DISABLE");
    set_local_events = PyObject_GetAttrString(module, "set_local_events");
    if (disable == NULL || set_local_events == NULL) return -1;
    monitoring = Py_NewRef(module);
    return 0;
}

/* Of a code object, for one tool. */
static int set_local(int tool, CodeInfo *info, int events) {
    PyObject *args[] = {PyLong_FromLong(tool), (PyObject *)info->code, PyLong_FromLong(events)};
    PyObject *result = args[0] && args[2] ? PyObject_Vectorcall(set_local_events, args, 3, NULL) : NULL;
    Py_XDECREF(args[0]);
    Py_XDECREF(args[2]);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* From the end: the first numbers are those that debuggers, coverage and profilers should use. */
static int take_tool(void) {
    static const int order[] = {4, 3, 5, 1, 2, 0};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (call("use_tool_id", "(is)", order[i], "lawful") == 0) return order[i];
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
        PyErr_Clear();
    }
    return failed_with(PyExc_RuntimeError, "all tool numbers of sys.monitoring are in use");
}

static int register_callbacks(Tracer *tracer, int tool, int events, bool second) {
    for (size_t i = 0; i < CALLBACKS; i++) {
        if (!(callbacks[i].event & events)) continue;
        PyObject *function = new_callback(tracer, second && callbacks[i].second ? callbacks[i].second : callbacks[i].function);
        int failed = function == NULL || call("register_callback", "(iiO)", tool, callbacks[i].event, function) < 0;
        Py_XDECREF(function);
        if (failed) return -1;
    }
    return 0;
}

static int give_back_tool(int tool, int events) {
    int failed = 0;
    for (size_t i = 0; i < CALLBACKS; i++)
        if (callbacks[i].event & events) failed |= call("register_callback", "(iiO)", tool, callbacks[i].event, Py_None);
    return failed | call("free_tool_id", "(i)", tool);
}

/* -1: all tools are in use, and no exception. */
static int second_tool(Tracer *tracer) {
    if (tracer->second_tool >= 0) return tracer->second_tool;
    int tool = take_tool();
    if (tool >= 0 && register_callbacks(tracer, tool, SECOND_EVENTS, true) == 0) return tracer->second_tool = tool;
    PyErr_Clear();
    return -1;
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

static int first_events(CodeInfo *info) { return events_of(info) & (info->on_second_tool ? EVENT_INSTRUCTION : ~0); }

static int second_events(CodeInfo *info) { return info->on_second_tool ? events_of(info) & ~EVENT_INSTRUCTION : 0; }

/* Which tools want an instruction is noted for each of them only where several tools have asked for an event. If another one
   comes later, the interpreter (up to 3.13 at least) begins these notes as if nobody wanted any, and instructions tell
   nothing any more. So another tool asks first: our second one, if it will be told of starts, or else one that leaves
   again, for whoever else may come. `sys.settrace` is a tool, too. */
static bool shares(Tracer *tracer, CodeInfo *info) {
    return tracer->reports_starts && info->own && info->n_probes && info->callee == NULL && second_tool(tracer) >= 0;
}

/* The interpreter reports exceptions everywhere or nowhere, and each future of asyncio that somebody waits for ends with one that
   nobody sees otherwise. So they are asked for only when a place is planned that has to know. */
static int ask_everywhere(Tracer *tracer, CodeInfo *info) {
    int local = events_of(info), events = EVENT_PY_START;
    if (local & EVENT_INSTRUCTION) events |= EVENT_RAISE;
    if (local & EVENT_PY_RETURN) events |= EVENT_PY_UNWIND;
    if (local & EVENT_PY_RESUME) events |= EVENT_PY_THROW;
    if ((tracer->global_events & events) == events) return 0;
    tracer->global_events |= events;
    return tracer->global_events_set ? call("set_events", "(ii)", tracer->tool, tracer->global_events) : 0;
}

int delivery_plan(Tracer *tracer, CodeInfo *info) {
    if (ask_everywhere(tracer, info) < 0) return -1;
    info->on_second_tool = info->callee != NULL && info->groups && second_tool(tracer) >= 0;
    info->shares_second_tool = shares(tracer, info);
    int first = first_events(info), second = info->shares_second_tool ? EVENT_PY_START : second_events(info);
    if (second && set_local(tracer->second_tool, info, second) < 0) return -1;
    if (!(first & EVENT_INSTRUCTION)) return first ? set_local(tracer->tool, info, first) : 0;
    int guest = take_tool(); /* see `shares` */
    if (guest < 0) PyErr_Clear();
    int failed = guest < 0 ? 0 : set_local(guest, info, EVENT_INSTRUCTION);
    failed |= set_local(tracer->tool, info, first);
    if (guest >= 0) failed |= set_local(guest, info, 0) | call("free_tool_id", "(i)", guest);
    return failed;
}

/* Switching off and on makes the interpreter enable all places again. */
static int toggle_probes(Tracer *tracer, CodeInfo *info) {
    for (int i = 0; i < info->n_probes; i++) info->probes[i].disabled = info->probes[i].result_disabled = false;
    int events = first_events(info);
    if (set_local(tracer->tool, info, events & ~EVENT_INSTRUCTION) < 0) return -1;
    return set_local(tracer->tool, info, events);
}

int delivery_wake(Tracer *tracer, CodeInfo *info) {
    bool disabled = false;
    for (int i = 0; i < info->n_probes; i++)
        disabled |= info->probes[i].groups && (info->probes[i].disabled || info->probes[i].result_disabled);
    if (disabled && toggle_probes(tracer, info) < 0) return -1;
    if (!info->on_second_tool) return 0;
    if (set_local(tracer->second_tool, info, 0) < 0) return -1;
    return set_local(tracer->second_tool, info, second_events(info));
}

int delivery_rearm(Tracer *tracer, CodeInfo *info) {
    if (info->callee != NULL && !info->on_second_tool) return 0; /* the interpreter reports its starts anyway */
    int tool = second_tool(tracer), events = second_events(info);
    if (tool < 0) return call("restart_events", "()");
    if (set_local(tool, info, events & ~EVENT_PY_START) < 0 || set_local(tool, info, events | EVENT_PY_START) < 0) return -1;
    if (info->on_second_tool || info->shares_second_tool || !info->n_probes) return 0;
    info->shares_second_tool = true; /* the second tool came after its plan */
    return toggle_probes(tracer, info);
}

int delivery_again(Tracer *tracer, CodeInfo *info) {
    /* Where that happens again and again, what could be disabled stays on. */
    info->toggles++;
    for (int i = 0; i < info->n_probes; i++)
        if (info->toggles > 8) info->probes[i].expects_result = true;
    return toggle_probes(tracer, info);
}

int delivery_begin(Tracer *tracer) {
    tracer->interpreter = PyInterpreterState_Get();
    tracer->tool = take_tool();
    return tracer->tool < 0 ? -1 : 0;
}

int delivery_start(Tracer *tracer) {
    if (register_callbacks(tracer, tracer->tool, ~0, false) < 0) return -1;
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after) {
        for (int i = 0; i < info->n_probes; i++) info->probes[i].disabled = info->probes[i].result_disabled = false;
        if (delivery_plan(tracer, info) < 0) return -1;
    }
    tracer->global_events |= EVENT_PY_START;
    tracer->global_events_set = true;
    if (call("set_events", "(ii)", tracer->tool, tracer->global_events) < 0) return -1;
    /* What an earlier tool of this number had disabled is still disabled. And there may be two tools only now: see `shares`. */
    return call("restart_events", "()");
}

int delivery_stop(Tracer *tracer) {
    if (tracer->tool < 0) return 0;
    tracer->global_events_set = false;
    tracer->global_events = 0;
    int failed = call("set_events", "(ii)", tracer->tool, 0);
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after) {
        if (first_events(info)) failed |= set_local(tracer->tool, info, 0);
        if (tracer->second_tool >= 0 && (info->on_second_tool || info->own)) failed |= set_local(tracer->second_tool, info, 0);
        info->on_second_tool = info->shares_second_tool = false;
    }
    failed |= give_back_tool(tracer->tool, ~0);
    if (tracer->second_tool >= 0) failed |= give_back_tool(tracer->second_tool, SECOND_EVENTS);
    tracer->tool = tracer->second_tool = -1;
    return failed ? -1 : 0;
}

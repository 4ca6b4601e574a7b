/* Delivery by a profile function and a trace function: CPython 3.11, which has no sys.monitoring.

   The profile function sees functions start and end. Instructions are seen by the trace function, which costs something
   for every instruction there is: it is in force only while a frame runs that has probes (or whose exceptions matter).
   There is one of each for all tracers. The program does not see them: sys.getprofile() gives None, and sys.gettrace() gives
   the trace function of somebody else, if there is one. Then only the C function behind it is exchanged, for one that
   calls both.

   Where only samples are told of, and there is none and will be none, both are taken away until somebody wants some. */
#include "tracer/fast_plain.h"

#if !defined(LAWFUL_NO_TRACER) && PY_VERSION_HEX < 0x030C0000

#include <opcode.h>

const char delivery_name[] = "profile";

#define OURS 2 /* in a frame's f_trace_opcodes, which is 1 where somebody else wants instructions too */

static Tracer *tracers[MOST_TRACERS];          /* that run, by slot */
static int running;                            /* their number */
static bool resting;                           /* nothing is to be seen, and the interpreter is left alone */
static uint64_t newest;                        /* the id of the newest thread there was */
static _Thread_local Py_tracefunc other;       /* somebody else's */
static _Thread_local Py_tracefunc in_force;    /* the one that was put in force last */

static int on_trace(PyObject *self, PyFrameObject *object, int what, PyObject *arg);
static int on_profile(PyObject *self, PyFrameObject *object, int what, PyObject *arg);

#define EACH_TRACER(tracer) \
    for (int each = 0; each < MOST_TRACERS; each++) \
        for (Tracer *tracer = tracers[each]; tracer != NULL && !tracer->broken; tracer = NULL)

/* ---- which function is in force ------------------------------------------------------------------------------------------ */

static bool wants_raise(CodeInfo *info) {
    return info->callee != NULL && info->callee->wants & (WANT_RAISE | WANT_ON_RETURN) && !sample_asleep(info->tracer, info->groups, info->bears);
}

static bool wants_probes(CodeInfo *info) {
    return info->n_probes && !sample_asleep(info->tracer, info->probe_groups, info->probes_bear);
}

/* An exception that goes on after `finally` or `with` is only told of by the instruction that raises it again. */
static bool reraises(CodeInfo *info) {
    return info->callee != NULL && info->callee->wants & (WANT_RAISE | WANT_ON_RETURN) && PyBytes_GET_SIZE(info->code->co_exceptiontable) > 0;
}

static bool wants_trace(RunFrame *frame) {
    EACH_TRACER(tracer) {
        CodeInfo *info = plan_find(tracer, frame_code(frame));
        if (info != NULL && (wants_probes(info) || wants_raise(info))) return true;
    }
    return false;
}

/* A frame that has not begun: finalisers may run while it is made ready. Either it begins, which is told, or it becomes a
   generator, and who called it goes on without a word. */
static bool is_unbegun(RunFrame *frame) {
    return frame->owner != FRAME_OWNED_BY_GENERATOR && frame_offset(frame) / 2 < frame_code(frame)->_co_firsttraceable;
}

/* The trace function for the frame that goes on now in this thread. */
static void trace_next(PyThreadState *thread, RunFrame *frame) {
    while (frame != NULL && is_unbegun(frame)) frame = frame_caller(frame);
    if (thread->c_tracefunc != on_trace) other = thread->c_tracefunc;
    else if (thread->c_traceobj == NULL) other = NULL;
    in_force = thread->c_tracefunc = frame != NULL && wants_trace(frame) ? on_trace : other;
}

static void prepare(PyFrameObject *object, CodeInfo *info) {
    if (info != NULL && (info->n_probes || reraises(info)) && !object->f_trace_opcodes) object->f_trace_opcodes = OURS;
}

static void prepare_all(PyFrameObject *object) {
    EACH_TRACER(tracer) prepare(object, plan_find(tracer, frame_code(object->f_frame)));
}

/* Also for threads that do not run now. One that has a trace function is left alone until it calls something. */
static int watch_thread(PyThreadState *thread) {
    if (thread->c_profilefunc == NULL && _PyEval_SetProfile(thread, on_profile, NULL) < 0) return -1;
    RunFrame *frame = frame_current(thread);
    if (thread->c_tracefunc == NULL && frame != NULL && wants_trace(frame)) thread->c_tracefunc = on_trace;
    return 0;
}

/* A thread that was made is the first in the list of all, before it runs for the first time. */
static int watch_new_threads(void) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    uint64_t first = PyThreadState_GetID(PyInterpreterState_ThreadHead(interpreter));
    if (first == newest) return 0;
    newest = first;
again:
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter); thread != NULL; thread = PyThreadState_Next(thread)) {
        if (thread->c_profilefunc != NULL) continue;
        if (watch_thread(thread) < 0) return -1;
        goto again; /* audit hooks may have run, and threads ended */
    }
    return 0;
}

/* ---- what the interpreter calls ------------------------------------------------------------------------------------------ */

static int opcode_of(RunFrame *frame) { return _Py_OPCODE(*frame->prev_instr); }

static bool yields(RunFrame *frame) { return opcode_of(frame) == YIELD_VALUE; }

/* Where an exception is thrown into a generator, the frame stands where it had stopped. */
static bool begins(RunFrame *frame) {
    int opcode = opcode_of(frame);
    return (opcode == RESUME || opcode == RESUME_QUICK) && (_Py_OPARG(*frame->prev_instr) & 3) == 0;
}

static int starts(Tracer *tracer, PyFrameObject *object) {
    RunFrame *frame = object->f_frame;
    CodeInfo *info = plan_find(tracer, frame_code(frame));
    if (info == NULL) {
        info = plan_make(tracer, frame_code(frame), frame_globals(frame));
        if (info == NULL && PyErr_Occurred()) tracer_fault(tracer);
    }
    prepare(object, info);
    if (info != NULL && info->unseen && plan_seen(tracer, info) < 0) tracer_fault(tracer);
    if (info == NULL || info->callee == NULL || sample_asleep(tracer, info->groups, info->bears)) return 0;
    if (is_aside(tracer)) return 0;
    return begins(frame) ? function_start(tracer, info, frame) : function_resume(tracer, info, frame);
}

/* What is known about the exception that this frame ends by, a new reference. What lies on its stack dies between the
   exception and the end, and finalisers may have others of their own. */
static PyObject *take_exception(Tracer *tracer, RunFrame *frame) {
    ThreadData *data = thread_data(tracer);
    if (data == NULL || data->exceptions == NULL || PyDict_GET_SIZE(data->exceptions) == 0) return NULL;
    PyObject *key = PyLong_FromVoidPtr(frame), *found = key ? Py_XNewRef(PyDict_GetItemWithError(data->exceptions, key)) : NULL;
    if (found != NULL) PyDict_DelItem(data->exceptions, key);
    Py_XDECREF(key);
    PyErr_Clear();
    return found;
}

static int ends(Tracer *tracer, RunFrame *frame, PyObject *result) {
    CodeInfo *info = plan_find(tracer, frame_code(frame));
    if (info == NULL || info->callee == NULL) return 0;
    PyObject *payload = take_exception(tracer, frame);
    if (result == NULL) return function_unwind(tracer, info, frame, payload ? payload : PyDict_New());
    Py_XDECREF(payload);
    return yields(frame) ? function_yield(tracer, info, frame, result) : function_return(tracer, info, frame, result);
}

static void cannot_watch(void) {
    EACH_TRACER(tracer) tracer_fault(tracer);
}

static bool only_groups(Tracer *tracer) {
    if (tracer->only_groups < 0) {
        PyObject *answer = PyObject_GetAttrString(tracer->wanted, "only_groups");
        tracer->only_groups = answer != NULL && answer == Py_True;
        Py_XDECREF(answer);
        /* Some of them may not have been met yet. */
        PyObject *groups = tracer->only_groups ? PyObject_GetAttrString(tracer->wanted, "groups") : NULL;
        PyObject *numbers = groups ? PySequence_Tuple(groups) : NULL;
        for (Py_ssize_t i = 0; numbers != NULL && i < PyTuple_GET_SIZE(numbers); i++)
            if (sample_group(tracer, PyLong_AsLong(PyTuple_GET_ITEM(numbers, i))) == NULL) break;
        if (numbers == NULL || PyErr_Occurred()) tracer->only_groups = false;
        Py_XDECREF(groups);
        Py_XDECREF(numbers);
        PyErr_Clear();
    }
    return tracer->only_groups;
}

static int leave_threads(void);

/* Can the interpreter be left alone? */
static bool can_rest(void) {
    EACH_TRACER(tracer) {
        if (tracer->groups == NULL || tracer->awake[1] || tracer->count || !only_groups(tracer) || tracer->awake[1]) return false;
    }
    return running > 0;
}

/* One call in about 64 is timed, by the first tracer. */
static int64_t timer_begin(Tracer **timed, unsigned *exacts) {
    EACH_TRACER(tracer) {
        if (--tracer->until) return 0;
        *timed = (Tracer *)Py_NewRef((PyObject *)tracer);
        *exacts = tracer->exacts;
        return cost_begin(tracer);
    }
    return 0;
}

static void timer_end(Tracer *timed, int64_t began, unsigned exacts) {
    cost_end(timed, began, exacts);
    Py_DECREF(timed);
}

static int on_profile(PyObject *self, PyFrameObject *object, int what, PyObject *arg) {
    PyThreadState *thread = PyThreadState_Get();
    RunFrame *frame = object->f_frame;
    if (what != PyTrace_CALL && what != PyTrace_RETURN) {
        if (what == PyTrace_C_CALL) return 0;
        /* What was called may have started a thread, or have been sys.settrace(). */
        if (watch_new_threads() < 0) cannot_watch();
        if (thread->c_tracefunc != in_force) trace_next(thread, frame);
        return 0;
    }
    int collecting = PyGC_Disable(); /* here every allocation may start a collection, and finalisers would run unseen */
    if (can_rest()) {
        resting = true;
        if (leave_threads() < 0) cannot_watch();
        if (collecting) PyGC_Enable();
        return 0;
    }
    if (watch_new_threads() < 0) cannot_watch();
    int answer = 0;
    Tracer *timed = NULL;
    unsigned exacts = 0;
    int64_t began = timer_begin(&timed, &exacts);
    EACH_TRACER(tracer) {
        if (answer < 0) break;
        Py_INCREF(tracer); /* whom it tells may stop it */
        answer = what == PyTrace_CALL ? starts(tracer, object) : ends(tracer, frame, arg);
        Py_DECREF(tracer);
    }
    trace_next(thread, what == PyTrace_CALL ? frame : frame_caller(frame));
    if (timed != NULL) timer_end(timed, began, exacts);
    if (collecting) PyGC_Enable();
    return answer < 0 ? -1 : 0;
}

/* What is known about the exception that a function ends by, should it be this one. */
static void note_exception(Tracer *tracer, RunFrame *frame, PyObject *value) {
    PyObject *payload = exception_payload(tracer, NULL, value), *key = payload ? PyLong_FromVoidPtr(frame) : NULL;
    ThreadData *data = key ? thread_data(tracer) : NULL; /* another thread may have stopped the tracer meanwhile */
    if (data != NULL && data->exceptions == NULL) data->exceptions = PyDict_New();
    if (data != NULL && data->exceptions != NULL) PyDict_SetItem(data->exceptions, key, payload);
    Py_XDECREF(key);
    Py_XDECREF(payload);
    if (PyErr_Occurred()) tracer_fault(tracer);
}

static int instruction(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    if (opcode_of(frame) == RERAISE && wants_raise(info)) {
        PyObject *value = frame->localsplus[frame->stacktop - 1];
        if (value != NULL && PyExceptionInstance_Check(value)) note_exception(tracer, frame, value);
    }
    int unit = frame_offset(frame) / 2;
    if (!info->n_probes || unit < 0 || unit >= info->units) return 0;
    int before = info->at[unit].probe, after = info->at[unit].result, answer = 0;
    if (after) answer = probe_result(tracer, info, &info->probes[after - 1], frame);
    if (!before || answer < 0) return answer;
    Probe *probe = &info->probes[before - 1];
    if (tracer->window != NULL && quick_learn(tracer, probe, frame)) return 1;
    return probe_before(tracer, info, probe, frame);
}

static int exception(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *arg) {
    PyObject *value = PyTuple_Check(arg) && PyTuple_GET_SIZE(arg) > 1 ? PyTuple_GET_ITEM(arg, 1) : NULL;
    if (value != NULL && !PyExceptionInstance_Check(value)) value = NULL;
    if (wants_raise(info)) note_exception(tracer, frame, value);
    return info->n_probes ? probe_raise(tracer, info, frame, frame_offset(frame), value) : 0;
}

static int tell(PyFrameObject *object, int what, PyObject *arg) {
    RunFrame *frame = object->f_frame;
    int collecting = PyGC_Disable(), answer = 0;
    Tracer *timed = NULL;
    unsigned exacts = 0;
    int64_t began = timer_begin(&timed, &exacts);
    EACH_TRACER(tracer) {
        CodeInfo *info = plan_find(tracer, frame_code(frame));
        if (info == NULL || answer < 0) continue;
        Py_INCREF(tracer);
        answer = what == PyTrace_OPCODE ? instruction(tracer, info, frame) : exception(tracer, info, frame, arg);
        Py_DECREF(tracer);
    }
    if (timed != NULL) timer_end(timed, began, exacts);
    if (collecting) PyGC_Enable();
    return answer < 0 ? -1 : 0;
}

static int on_trace(PyObject *self, PyFrameObject *object, int what, PyObject *arg) {
    Py_tracefunc others = self != NULL ? other : NULL;
    bool ours = object->f_trace_opcodes == OURS;
    if (others != NULL && !(what == PyTrace_OPCODE && ours)) {
        if (ours) object->f_trace_opcodes = 0; /* they may look at it, and change it */
        int failed = others(self, object, what, arg);
        if (running && !resting) prepare_all(object);
        if (failed) return -1;
    }
    int answer = what == PyTrace_OPCODE || what == PyTrace_EXCEPTION ? tell(object, what, arg) : 0;
    PyThreadState *thread = PyThreadState_Get();
    if (thread->c_tracefunc != on_trace || !running || resting) trace_next(thread, object->f_frame);
    if (thread->c_profilefunc == NULL && running && !resting && _PyEval_SetProfile(thread, on_profile, NULL) < 0) cannot_watch();
    return answer;
}

/* ---- what the tracer asks of the interpreter ---------------------------------------------------------------------------- */

PyObject *delivery_nothing(void) { Py_RETURN_NONE; }

int delivery_setup(void) { return 0; }

int delivery_plan(Tracer *tracer, CodeInfo *info) { return 0; }

int delivery_again(Tracer *tracer, CodeInfo *info) { return 0; }

int delivery_wake(Tracer *tracer, CodeInfo *info) { return 0; }

int delivery_rearm(Tracer *tracer, CodeInfo *info) { return 0; }

int delivery_begin(Tracer *tracer) {
    Py_tracefunc profile = PyThreadState_Get()->c_profilefunc;
    if (profile == NULL || profile == on_profile) return 0;
    PyErr_SetString(PyExc_RuntimeError, "another profile function is in force, and CPython 3.11 has room for one only");
    return -1;
}

/* The trace function where a frame runs that has something to be seen. */
static void trace_threads(void) {
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); thread != NULL; thread = PyThreadState_Next(thread)) {
        RunFrame *frame = frame_current(thread);
        if (thread->c_tracefunc == NULL && frame != NULL && wants_trace(frame)) thread->c_tracefunc = on_trace;
    }
}

/* Frames that run already get no start. */
static void watch_frames(Tracer *tracer) {
    int collecting = PyGC_Disable(); /* a collection would let other threads run, and end */
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter); thread != NULL; thread = PyThreadState_Next(thread)) {
        PyFrameObject *object = PyThreadState_GetFrame(thread);
        while (object != NULL) {
            prepare(object, plan_find(tracer, frame_code(object->f_frame)));
            PyFrameObject *back = PyFrame_GetBack(object);
            Py_DECREF(object);
            object = back;
        }
    }
    trace_threads();
    if (collecting) PyGC_Enable();
}

int delivery_start(Tracer *tracer) {
    tracers[tracer->slot] = (Tracer *)Py_NewRef((PyObject *)tracer);
    running++;
    resting = false;
    newest = 0;
    if (watch_new_threads() < 0) return -1;
    watch_frames(tracer);
    return 0;
}

int delivery_woken(Tracer *tracer) {
    tracer->only_groups = -1;
    if (resting) {
        resting = false;
        newest = 0;
        if (watch_new_threads() < 0) return -1;
        EACH_TRACER(other_one) {
            if (tracer_plan_frames(other_one) < 0) return -1; /* they began meanwhile */
            watch_frames(other_one);
        }
    }
    trace_threads();
    return 0;
}

/* The interpreter as it was, for a thread that may not be the one that runs. */
static int leave_thread(PyThreadState *thread, bool current) {
    int failed = 0;
    for (RunFrame *frame = frame_current(thread); frame != NULL; frame = frame_caller(frame))
        if (frame->frame_obj != NULL && frame->frame_obj->f_trace_opcodes == OURS) frame->frame_obj->f_trace_opcodes = 0;
    if (thread->c_tracefunc == on_trace) {
        if (thread->c_traceobj == NULL) failed |= _PyEval_SetTrace(thread, NULL, NULL);
        else if (current) thread->c_tracefunc = other; /* others see to it themselves */
    }
    if (thread->c_profilefunc == on_profile) failed |= _PyEval_SetProfile(thread, NULL, NULL);
    return failed;
}

static int leave_threads(void) {
    int failed = 0;
    PyThreadState *current = PyThreadState_Get(), *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread != NULL; thread = PyThreadState_Next(thread)) failed |= leave_thread(thread, thread == current);
    return failed;
}

int delivery_stop(Tracer *tracer) {
    if (tracer->slot < 0 || tracers[tracer->slot] != tracer) return 0;
    tracers[tracer->slot] = NULL;
    PyThreadState *current = PyThreadState_Get();
    if (current->c_profilefunc != NULL && current->c_profilefunc != on_profile && tracer->fault == NULL) {
        bool broken = tracer->broken;
        PyErr_SetString(PyExc_RuntimeError, "another profile function took the place of Lawful's");
        tracer_fault(tracer);
        tracer->broken = broken; /* what was gathered is good */
    }
    int failed = --running ? 0 : leave_threads();
    Py_DECREF(tracer);
    return failed;
}

#endif

/* Delivery by a profile function and a trace function: CPython 3.11, which has no sys.monitoring.

   The profile function sees functions start and end. Instructions are seen by the trace function, which costs something
   for every instruction there is: it is in force only while a frame runs that has probes (or whose exceptions matter). */
#include "tracer.h"

#if !defined(LAWFUL_NO_TRACER) && PY_VERSION_HEX < 0x030C0000

#include <opcode.h>

const char delivery_name[] = "profile";

static int on_trace(PyObject *self, PyFrameObject *object, int what, PyObject *arg);
static int on_profile(PyObject *self, PyFrameObject *object, int what, PyObject *arg);

/* ---- which function is in force ------------------------------------------------------------------------------------------ */

static CodeInfo *info_of(Tracer *tracer, RunFrame *frame) {
    CodeInfo *info = plan_find(tracer, frame_code(frame));
    if (info != NULL) return info;
    info = plan_make(tracer, frame_code(frame), frame_globals(frame));
    if (info == NULL && PyErr_Occurred()) tracer_fault(tracer);
    return info;
}

/* The trace function for the frame that goes on now in this thread. Another's is left alone. */
static void trace_next(Tracer *tracer, PyThreadState *thread, CodeInfo *info) {
    if (thread->c_tracefunc != NULL && thread->c_tracefunc != on_trace) return;
    bool wanted = info != NULL && (info->n_probes || (info->callee && info->callee->wants & WANT_RAISE));
    thread->c_tracefunc = wanted ? on_trace : NULL;
    if (wanted && thread->c_traceobj != (PyObject *)tracer) {
        PyObject *old = thread->c_traceobj;
        thread->c_traceobj = Py_NewRef((PyObject *)tracer);
        Py_XDECREF(old);
    }
}

static void prepare(PyFrameObject *object, CodeInfo *info) {
    if (info == NULL || !info->n_probes) return;
    object->f_trace_opcodes = 1;
    object->f_trace_lines = 0;
}

static int install(Tracer *tracer, PyThreadState *thread) {
    if (thread->c_profilefunc == on_profile) return 0;
    if (_PyEval_SetProfile(thread, on_profile, (PyObject *)tracer) < 0) return -1;
    RunFrame *frame = frame_current(thread);
    trace_next(tracer, thread, frame ? plan_find(tracer, frame_code(frame)) : NULL);
    return 0;
}

/* A thread that was made is the first in the list of all, before it runs for the first time. */
static int watch_new_threads(Tracer *tracer) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    PyThreadState *newest = PyInterpreterState_ThreadHead(interpreter);
    if (newest == tracer->newest) return 0;
    tracer->newest = newest;
    for (PyThreadState *thread = newest; thread != NULL; thread = PyThreadState_Next(thread))
        if (thread->c_profilefunc == NULL && install(tracer, thread) < 0) return -1;
    return 0;
}

/* ---- what the interpreter calls ------------------------------------------------------------------------------------------ */

static bool yields(RunFrame *frame) {
    return _Py_OPCODE(*frame->prev_instr) == YIELD_VALUE;
}

static bool resumes(RunFrame *frame) {
    return _Py_OPCODE(*frame->prev_instr) == RESUME && (_Py_OPARG(*frame->prev_instr) & 3);
}

static int starts(Tracer *tracer, PyThreadState *thread, PyFrameObject *object) {
    RunFrame *frame = object->f_frame;
    CodeInfo *info = info_of(tracer, frame);
    prepare(object, info);
    trace_next(tracer, thread, info);
    if (info == NULL || info->callee == NULL) return 0;
    return resumes(frame) ? function_resume(tracer, info, frame) : function_start(tracer, info, frame);
}

static int ends(Tracer *tracer, PyThreadState *thread, RunFrame *frame, PyObject *result) {
    CodeInfo *info = plan_find(tracer, frame_code(frame));
    int answer = 0;
    if (info != NULL && info->callee != NULL) {
        if (result == NULL) {
            ThreadData *data = thread_data(tracer);
            PyObject *payload = data->exception ? data->exception : PyDict_New();
            data->exception = NULL;
            answer = function_unwind(tracer, info, frame, payload);
        } else {
            answer = yields(frame) ? function_yield(tracer, info, frame, result) : function_return(tracer, info, frame, result);
        }
    }
    RunFrame *caller = frame_caller(frame);
    trace_next(tracer, thread, caller ? plan_find(tracer, frame_code(caller)) : NULL);
    return answer;
}

static int on_profile(PyObject *self, PyFrameObject *object, int what, PyObject *arg) {
    Tracer *tracer = (Tracer *)self;
    if (!tracer->running || tracer->broken) return 0;
    int collecting = PyGC_Disable(); /* here every allocation may start a collection, and finalisers would run unseen */
    int answer = watch_new_threads(tracer);
    if (answer == 0) {
        if (what == PyTrace_CALL) answer = starts(tracer, PyThreadState_Get(), object);
        else if (what == PyTrace_RETURN) answer = ends(tracer, PyThreadState_Get(), object->f_frame, arg);
    }
    if (collecting) PyGC_Enable();
    return answer < 0 ? -1 : 0;
}

static int instruction(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    int unit = frame_offset(frame) / 2;
    if (unit < 0 || unit >= info->units) return 0;
    int before = info->probe_at[unit], after = info->result_at[unit], answer = 0;
    if (after) answer = probe_result(tracer, info, &info->probes[after - 1], frame);
    if (before && answer >= 0) answer = probe_before(tracer, info, &info->probes[before - 1], frame);
    return answer;
}

static int exception(Tracer *tracer, CodeInfo *info, RunFrame *frame, PyObject *arg) {
    PyObject *value = PyTuple_Check(arg) && PyTuple_GET_SIZE(arg) > 1 ? PyTuple_GET_ITEM(arg, 1) : NULL;
    if (value != NULL && !PyExceptionInstance_Check(value)) value = NULL;
    if (info->callee != NULL && info->callee->wants & WANT_RAISE) {
        PyObject *payload = exception_payload(tracer, NULL, value);
        if (payload == NULL) {
            tracer_fault(tracer);
            return 0;
        }
        ThreadData *data = thread_data(tracer);
        Py_XSETREF(data->exception, payload);
    }
    return info->n_probes ? probe_raise(tracer, info, frame, frame_offset(frame), value) : 0;
}

static int on_trace(PyObject *self, PyFrameObject *object, int what, PyObject *arg) {
    Tracer *tracer = (Tracer *)self;
    if (!tracer->running || tracer->broken || (what != PyTrace_OPCODE && what != PyTrace_EXCEPTION)) return 0;
    CodeInfo *info = plan_find(tracer, frame_code(object->f_frame));
    if (info == NULL) return 0;
    int collecting = PyGC_Disable(), answer = 0;
    if (what == PyTrace_EXCEPTION) answer = exception(tracer, info, object->f_frame, arg);
    else if (info->n_probes) answer = instruction(tracer, info, object->f_frame);
    if (collecting) PyGC_Enable();
    return answer < 0 ? -1 : 0;
}

/* ---- what the tracer asks of the interpreter ---------------------------------------------------------------------------- */

int delivery_setup(void) { return 0; }

int delivery_plan(Tracer *tracer, CodeInfo *info) { return 0; }

int delivery_again(Tracer *tracer, CodeInfo *info) { return 0; }

int delivery_begin(Tracer *tracer) {
    if (PyThreadState_Get()->c_profilefunc == NULL) return 0;
    PyErr_SetString(PyExc_RuntimeError, "another profile function is in force, and CPython 3.11 has room for one only");
    return -1;
}

int delivery_start(Tracer *tracer) {
    /* Frames that run already get no start. */
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
    tracer->newest = NULL;
    return watch_new_threads(tracer);
}

int delivery_stop(Tracer *tracer) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    int failed = 0;
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter); thread != NULL; thread = PyThreadState_Next(thread)) {
        if (thread->c_tracefunc == on_trace || thread->c_traceobj == (PyObject *)tracer)
            failed |= _PyEval_SetTrace(thread, NULL, NULL);
        if (thread->c_profilefunc == on_profile) failed |= _PyEval_SetProfile(thread, NULL, NULL);
    }
    tracer->newest = NULL;
    return failed;
}

#endif

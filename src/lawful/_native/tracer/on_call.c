/* Passes the objects of a call to `WatchPlanner.on_call`, and its end to `on_return`, and records the events that they
   return. The general path calls it. It must match lawful/sources/python/call_events.py;
   tests/sources/python/test_tracer_on_call.py runs on both. */
#include "tracer/probe.h"

/* Calls a method of `WatchPlanner` as records are delivered: nothing of the program runs in between. */
static PyObject *ask_wanted(Tracer *tracer, PyObject *method, PyObject *first, PyObject *second, PyObject *third) {
    OwnWork work = own_work_begin();
    int64_t began = ticks();
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *args[] = {tracer->wanted, first, second, third};
    PyObject *answer = PyObject_VectorcallMethod(method, args, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (answer == NULL) Py_XDECREF(raised);
    else PyErr_SetRaisedException(raised);
    int64_t passed = ticks() - began; /* the thread's own time would be dearer than most of what is measured */
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

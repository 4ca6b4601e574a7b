/* Calls a function as if nothing had been called before: frames below are hidden, and the whole recursion depth is free. A
   program that Lawful runs looks at its stack, counts frames for warnings, and recurses as far as it can. cli/run_host.py
   calls it where it is built. tests/sources/python/test_tracer_unseen.py tests it. */
#include "tracer/tracer.h"

PyObject *call_without_frames(PyObject *Py_UNUSED(module), PyObject *callable) {
    PyThreadState *thread = PyThreadState_Get();
    RunFrame **current = frame_slot(thread), *below = *current;
    Depth depth = frame_depth(thread, EMPTY_STACK_DEPTH);
    *current = NULL;
    PyObject *result = PyObject_CallNoArgs(callable);
    *frame_slot(thread) = below;
    frame_depth(thread, depth);
    return result;
}

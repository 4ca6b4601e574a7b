/* What is needed of the interpreter's frames. Their layout is internal: one header per version touches it, and a version
   without such a header has no C tracer (sources/python/cores.py says so, and the pure-Python one takes over). */
#ifndef LAWFUL_FRAME_H
#define LAWFUL_FRAME_H

#include <Python.h>

#if defined(Py_GIL_DISABLED)
#  define LAWFUL_NO_TRACER "the C tracer does not know interpreters without a GIL"
#elif PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#  include "frame_311.h"
#elif PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
#  include "frame_312.h"
#elif PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
#  include "frame_313.h"
#else
#  define LAWFUL_NO_TRACER "the C tracer knows the frames of CPython 3.11 to 3.13 only"
#endif

#ifndef LAWFUL_NO_TRACER
/* Where the values on the stack begin. */
static inline PyObject **frame_stack(RunFrame *frame) {
    return frame->localsplus + frame_code(frame)->co_nlocalsplus;
}
#endif

#endif

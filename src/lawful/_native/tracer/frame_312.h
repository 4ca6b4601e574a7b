/* The part of frame.h, which includes it, that is for CPython 3.12. */
#define Py_BUILD_CORE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#undef _PyGC_FINALIZED /* the next header defines it again */
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#undef _PyObject_LookupSpecial /* the same */
#include "internal/pycore_object.h"
#include "internal/pycore_runtime.h"
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

#define LAWFUL_C_RECURSION_LIMIT C_RECURSION_LIMIT

typedef _PyInterpreterFrame RunFrame;

/* Where the interpreter keeps the frame that runs. */
static inline RunFrame **frame_slot(PyThreadState *thread) { return &thread->cframe->current_frame; }

/* The thread that runs now. */
static inline PyThreadState *frame_thread(PyInterpreterState *Py_UNUSED(interpreter)) { return PyThreadState_Get(); }

static inline PyCodeObject *frame_code(RunFrame *frame) { return frame->f_code; }

/* Where it stands, as an address that no other code has as long as this one lives. */
static inline const void *frame_at(RunFrame *frame) { return frame->prev_instr; }

/* A number that changes when another asyncio loop runs in a thread, or none. */
static inline uint64_t loop_mark(const PyThreadState *thread) { return dict_version(thread->dict); }

/* Does it have no dict yet, so that no code can have seen one? */
static inline bool object_has_no_dict(PyObject *object) {
    return Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT &&
           _PyDictOrValues_IsValues(*_PyObject_DictOrValuesPointer(object));
}

/* Fields of objects are looked up by their names. */
static inline int object_field_index(PyTypeObject *Py_UNUSED(type), PyObject *Py_UNUSED(name)) { return -1; }
static inline PyObject *object_field(PyObject *Py_UNUSED(object), int Py_UNUSED(index)) { return NULL; }

/* Makes a thread look for signals and pending calls: a request that it could not follow may be forgotten when another thread
   had its turn. */
static inline void signals_again(PyThreadState *thread) {
    if (_Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) ||
        _Py_atomic_load_relaxed(&thread->interp->ceval.pending.calls_to_do))
        _Py_atomic_store_relaxed(&thread->interp->ceval.eval_breaker, 1);
}

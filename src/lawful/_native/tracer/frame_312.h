/* Frames of CPython 3.12. */
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* which the next header defines anew */
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#undef _PyObject_LookupSpecial /* the same */
#include "internal/pycore_object.h"
#include "internal/pycore_runtime.h"
#undef Py_BUILD_CORE

typedef _PyInterpreterFrame RunFrame;

static inline RunFrame *frame_past_shims(RunFrame *frame) {
    while (frame != NULL && frame->owner == FRAME_OWNED_BY_CSTACK) frame = frame->previous;
    return frame;
}

static inline RunFrame *frame_current(PyThreadState *thread) { return frame_past_shims(thread->cframe->current_frame); }

/* The thread that runs now. */
static inline PyThreadState *frame_thread(PyInterpreterState *interpreter) { return PyThreadState_Get(); }

static inline PyCodeObject *frame_code(RunFrame *frame) { return frame->f_code; }

static inline PyObject *frame_globals(RunFrame *frame) { return frame->f_globals; }

static inline RunFrame *frame_caller(RunFrame *frame) { return frame_past_shims(frame->previous); }

static inline RunFrame *frame_of_object(PyFrameObject *frame) { return frame->f_frame; }

/* Where it stands, in bytes: in the instruction that is running, or in its caches. */
static inline int frame_offset(RunFrame *frame) { return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT); }

/* The same as an address, which no other code has as long as this one lives. */
static inline const void *frame_at(RunFrame *frame) { return frame->prev_instr; }

/* A number that changes when another loop of asyncio's runs in a thread, or none. */
static inline uint64_t loop_mark(const PyThreadState *thread) { return dict_version(thread->dict); }

/* Where the interpreter keeps the frame that runs. */
static inline RunFrame **frame_slot(PyThreadState *thread) { return &thread->cframe->current_frame; }

/* Has it still no dict of its own, so that nobody can have seen it? */
static inline bool object_is_bare(PyObject *object) {
    return Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT &&
           _PyDictOrValues_IsValues(*_PyObject_DictOrValuesPointer(object));
}

/* The calls in progress, as the recursion limit counts them, and those of C, which have a limit of their own. */
typedef struct {
    int python, c;
} Depth;

/* Before a program starts. The call of the C function that starts it counts, too. */
#define BARE_DEPTH ((Depth){0, -1})

/* Sets the calls in progress; gives those before. */
static inline Depth frame_depth(PyThreadState *thread, Depth depth) {
    Depth before = {thread->py_recursion_limit - thread->py_recursion_remaining, C_RECURSION_LIMIT - thread->c_recursion_remaining};
    thread->py_recursion_remaining = thread->py_recursion_limit - depth.python;
    thread->c_recursion_remaining = C_RECURSION_LIMIT - depth.c;
    return before;
}

/* Which thread runs the handlers of signals, between two instructions. */
static inline unsigned long *signal_thread(void) { return &_PyRuntime.main_thread; }

/* Has it look for signals, and for pending calls: a request that it could not follow may have been forgotten when another
   thread had its turn. */
static inline void signals_again(PyThreadState *thread) {
    if (_Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) ||
        _Py_atomic_load_relaxed(&thread->interp->ceval.pending.calls_to_do))
        _Py_atomic_store_relaxed(&thread->interp->ceval.eval_breaker, 1);
}

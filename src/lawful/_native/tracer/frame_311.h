/* Frames of CPython 3.11. */
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* which the next header defines anew */
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#undef Py_BUILD_CORE

typedef _PyInterpreterFrame RunFrame;

static inline RunFrame *frame_current(PyThreadState *thread) { return thread->cframe->current_frame; }

/* The thread that runs now. */
static inline PyThreadState *frame_thread(PyInterpreterState *interpreter) { return PyThreadState_Get(); }

static inline PyCodeObject *frame_code(RunFrame *frame) { return frame->f_code; }

static inline PyObject *frame_globals(RunFrame *frame) { return frame->f_globals; }

static inline RunFrame *frame_caller(RunFrame *frame) { return frame->previous; }

static inline RunFrame *frame_of_object(PyFrameObject *frame) { return frame->f_frame; }

/* Where it stands, in bytes: in the instruction that is running, or in its caches. */
static inline int frame_offset(RunFrame *frame) { return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT); }

/* The same as an address, which no other code has as long as this one lives. */
static inline const void *frame_at(RunFrame *frame) { return frame->prev_instr; }

/* A number that changes when another loop of asyncio's runs in a thread, or none. */
static inline uint64_t loop_mark(const PyThreadState *thread) { return dict_version(thread->dict); }

/* Where the interpreter keeps the frame that runs. */
static inline RunFrame **frame_slot(PyThreadState *thread) { return &thread->cframe->current_frame; }

/* The calls in progress, as the recursion limit counts them. */
typedef struct {
    int all;
} Depth;

/* Before a program starts. The call of the C function that starts it counts, too. */
#define BARE_DEPTH ((Depth){-1})

/* Sets the calls in progress; gives those before. */
static inline Depth frame_depth(PyThreadState *thread, Depth depth) {
    Depth before = {thread->recursion_limit - thread->recursion_remaining};
    thread->recursion_remaining = thread->recursion_limit - depth.all;
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

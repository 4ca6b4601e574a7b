/* What the tracer needs of the interpreter's frames, threads and recursion limits. Their layout is internal to CPython: what
   differs between versions is in frame_312.h and frame_313.h. Other versions have no C tracer: setup.py leaves it out, and
   sources/python/tracer_choice.py says so. All files of the tracer use it; tests/sources/python/test_tracer*.py run on each
   version (tools/test-versions). */
#ifndef LAWFUL_FRAME_H
#define LAWFUL_FRAME_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* A number that changes with every change of a dict, and that no other dict has had; 0: no dict. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* CPython 3.14 removes it */
static inline uint64_t dict_version(const PyObject *dict) { return dict ? ((const PyDictObject *)dict)->ma_version_tag : 0; }
#pragma GCC diagnostic pop

#if PY_VERSION_HEX >= 0x030D0000
#  include "tracer/frame_313.h"
#else
#  include "tracer/frame_312.h"
#endif

static inline RunFrame *frame_past_shims(RunFrame *frame) {
    while (frame != NULL && frame->owner == FRAME_OWNED_BY_CSTACK) frame = frame->previous;
    return frame;
}

static inline RunFrame *frame_current(PyThreadState *thread) { return frame_past_shims(*frame_slot(thread)); }
static inline RunFrame *frame_caller(RunFrame *frame) { return frame_past_shims(frame->previous); }
static inline PyObject *frame_globals(RunFrame *frame) { return frame->f_globals; }

/* Where it stands, in bytes: in the instruction that is running, or in its caches. */
static inline int frame_offset(RunFrame *frame) { return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT); }

/* The calls in progress, as the recursion limit counts them, and those of C, which have a limit of their own. */
typedef struct {
    int python, c;
} Depth;

#define NO_DEPTH ((Depth){0})               /* as if nothing had been called */
#define EMPTY_STACK_DEPTH ((Depth){0, -1})  /* before a program starts; the call of the C function that starts it counts */

/* Sets the calls in progress; returns those before. */
static inline Depth frame_depth(PyThreadState *thread, Depth depth) {
    Depth before = {thread->py_recursion_limit - thread->py_recursion_remaining,
                    LAWFUL_C_RECURSION_LIMIT - thread->c_recursion_remaining};
    thread->py_recursion_remaining = thread->py_recursion_limit - depth.python;
    thread->c_recursion_remaining = LAWFUL_C_RECURSION_LIMIT - depth.c;
    return before;
}

/* Which thread runs the handlers of signals, between two instructions. */
static inline unsigned long *signal_thread(void) { return &_PyRuntime.main_thread; }

/* The extra pointer of a code object at an index that the interpreter gave out, or NULL. PyUnstable_Code_GetExtra is several
   times slower. */
static inline void *code_extra(PyCodeObject *code, Py_ssize_t index) {
    struct {
        Py_ssize_t size;
        void *extras[];
    } *all = code->co_extra;
    return all != NULL && index < all->size ? all->extras[index] : NULL;
}

#endif

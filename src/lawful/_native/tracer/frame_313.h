/* Frames of CPython 3.13. */
#define Py_BUILD_CORE 1
#include "internal/pycore_ceval.h"
#pragma GCC diagnostic push /* what it keeps for others, and nobody here asks for */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "internal/pycore_dict.h"
#pragma GCC diagnostic pop
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_tstate.h"
#undef Py_BUILD_CORE

typedef _PyInterpreterFrame RunFrame;

static inline RunFrame *frame_past_shims(RunFrame *frame) {
    while (frame != NULL && frame->owner == FRAME_OWNED_BY_CSTACK) frame = frame->previous;
    return frame;
}

static inline RunFrame *frame_current(PyThreadState *thread) { return frame_past_shims(thread->current_frame); }

/* The thread that runs now: the one that has the lock. (The function for it is slower.) */
static inline PyThreadState *frame_thread(PyInterpreterState *interpreter) {
    return _Py_atomic_load_ptr_relaxed(&interpreter->ceval.gil->last_holder);
}

static inline PyCodeObject *frame_code(RunFrame *frame) { return (PyCodeObject *)frame->f_executable; }

static inline PyObject *frame_globals(RunFrame *frame) { return frame->f_globals; }

static inline RunFrame *frame_caller(RunFrame *frame) { return frame_past_shims(frame->previous); }

static inline RunFrame *frame_of_object(PyFrameObject *frame) { return frame->f_frame; }

/* Where it stands, in bytes: in the instruction that is running, or in its caches. */
static inline int frame_offset(RunFrame *frame) { return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT); }

/* The same as an address, which no other code has as long as this one lives. */
static inline const void *frame_at(RunFrame *frame) { return frame->instr_ptr; }

/* A number that changes when another loop of asyncio's runs in a thread, or none. */
static inline uint64_t loop_mark(const PyThreadState *thread) {
    return (uintptr_t)((const _PyThreadStateImpl *)thread)->asyncio_running_loop;
}

/* Where the interpreter keeps the frame that runs. */
static inline RunFrame **frame_slot(PyThreadState *thread) { return &thread->current_frame; }

/* Has it still no dict of its own, so that nobody can have seen it? */
static inline bool object_is_bare(PyObject *object) {
    return Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES && _PyObject_GetManagedDict(object) == NULL;
}

#define HAS_INLINE_FIELDS

/* Which of the fields that objects of a class have in themselves has this name, an interned text; -1: none. */
static inline int object_field_index(PyTypeObject *type, PyObject *name) {
    if (!(type->tp_flags & Py_TPFLAGS_INLINE_VALUES) || type->tp_version_tag == 0) return -1;
    PyDictKeysObject *keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
    if (keys == NULL || keys->dk_kind != DICT_KEYS_SPLIT) return -1;
    for (int i = 0; i < keys->dk_nentries; i++)
        if (DK_UNICODE_ENTRIES(keys)[i].me_key == name) return i;
    return -1;
}

/* What it has there, borrowed; NULL: nobody knows. As long as the class stays the same. */
static inline PyObject *object_field(PyObject *object, int index) {
    PyDictValues *values = _PyObject_InlineValues(object);
    return values->valid && index < values->capacity ? values->values[index] : NULL;
}

/* What a dict has of this key, borrowed, if it was put in last; or NULL. */
static inline PyObject *dict_newest(PyObject *dict, PyObject *key) {
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    if (keys->dk_kind != DICT_KEYS_GENERAL || keys->dk_nentries == 0) return NULL;
    PyDictKeyEntry *entry = &DK_ENTRIES(keys)[keys->dk_nentries - 1];
    return entry->me_key == key ? entry->me_value : NULL;
}

/* The calls in progress, as the recursion limit counts them, and those of C, which have a limit of their own. */
typedef struct {
    int python, c;
} Depth;

/* Before a program starts. The call of the C function that starts it counts, too. */
#define BARE_DEPTH ((Depth){0, -1})

/* Sets the calls in progress; gives those before. */
static inline Depth frame_depth(PyThreadState *thread, Depth depth) {
    Depth before = {thread->py_recursion_limit - thread->py_recursion_remaining, Py_C_RECURSION_LIMIT - thread->c_recursion_remaining};
    thread->py_recursion_remaining = thread->py_recursion_limit - depth.python;
    thread->c_recursion_remaining = Py_C_RECURSION_LIMIT - depth.c;
    return before;
}

/* Which thread runs the handlers of signals, between two instructions. */
static inline unsigned long *signal_thread(void) { return &_PyRuntime.main_thread; }

/* Has it look for signals: a request that it could not follow is forgotten. */
static inline void signals_again(PyThreadState *thread) {
    _Py_set_eval_breaker_bit(thread, _PY_SIGNALS_PENDING_BIT);
    _Py_set_eval_breaker_bit(thread, _PY_CALLS_TO_DO_BIT); /* pending calls of the main thread were put off with them */
}

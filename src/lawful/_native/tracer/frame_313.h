/* The part of frame.h, which includes it, that is for CPython 3.13. */
#define Py_BUILD_CORE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* of functions that nobody here calls */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "internal/pycore_ceval.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_tstate.h"
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

#define LAWFUL_C_RECURSION_LIMIT Py_C_RECURSION_LIMIT

typedef _PyInterpreterFrame RunFrame;

/* Where the interpreter keeps the frame that runs. */
static inline RunFrame **frame_slot(PyThreadState *thread) { return &thread->current_frame; }

/* The thread that runs now: the one that has the lock. PyThreadState_Get is slower. */
static inline PyThreadState *frame_thread(PyInterpreterState *interpreter) {
    return _Py_atomic_load_ptr_relaxed(&interpreter->ceval.gil->last_holder);
}

static inline PyCodeObject *frame_code(RunFrame *frame) { return (PyCodeObject *)frame->f_executable; }

/* Where it stands, as an address that no other code has as long as this one lives. */
static inline const void *frame_at(RunFrame *frame) { return frame->instr_ptr; }

/* A number that changes when another asyncio loop runs in a thread, or none. */
static inline uint64_t loop_mark(const PyThreadState *thread) {
    return (uintptr_t)((const _PyThreadStateImpl *)thread)->asyncio_running_loop;
}

/* Does it have no dict yet, so that no code can have seen one? */
static inline bool object_has_no_dict(PyObject *object) {
    return Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES && _PyObject_GetManagedDict(object) == NULL;
}

/* Which of the fields that objects of a class have in themselves has this name, an interned text; -1: none. */
static inline int object_field_index(PyTypeObject *type, PyObject *name) {
    if (!(type->tp_flags & Py_TPFLAGS_INLINE_VALUES) || type->tp_version_tag == 0) return -1;
    PyDictKeysObject *keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
    if (keys == NULL || keys->dk_kind != DICT_KEYS_SPLIT) return -1;
    for (int i = 0; i < keys->dk_nentries; i++)
        if (DK_UNICODE_ENTRIES(keys)[i].me_key == name) return i;
    return -1;
}

/* Its value there, borrowed; NULL: unknown. It holds as long as the class stays the same. */
static inline PyObject *object_field(PyObject *object, int index) {
    PyDictValues *values = _PyObject_InlineValues(object);
    return values->valid && index < values->capacity ? values->values[index] : NULL;
}

/* Makes a thread look for signals and pending calls: a request that it could not follow is forgotten. */
static inline void signals_again(PyThreadState *thread) {
    _Py_set_eval_breaker_bit(thread, _PY_SIGNALS_PENDING_BIT);
    _Py_set_eval_breaker_bit(thread, _PY_CALLS_TO_DO_BIT); /* pending calls of the main thread were delayed with them */
}

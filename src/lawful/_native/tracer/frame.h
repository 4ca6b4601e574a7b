/* What is needed of the interpreter's frames. Their layout is internal: one header per version touches it, and a version
   without such a header has no C tracer (sources/python/tracer_choice.py says so, and the pure-Python one takes over). */
#ifndef LAWFUL_FRAME_H
#define LAWFUL_FRAME_H

#include <Python.h>
#include <stdint.h>

/* A number that changes with every change of a dict, and that no other dict has had; 0: there is no dict. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* it is gone in 3.14 */
static inline uint64_t dict_version(const PyObject *dict) { return dict ? ((const PyDictObject *)dict)->ma_version_tag : 0; }
#pragma GCC diagnostic pop

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
/* As if nothing had been called. */
#define NO_DEPTH ((Depth){0})

#ifndef HAS_INLINE_FIELDS
/* Fields of objects are asked for by their names. */
static inline int object_field_index(PyTypeObject *type, PyObject *name) { return -1; }
static inline PyObject *object_field(PyObject *object, int index) { return NULL; }

/* What a dict has of this key, borrowed, if it has nothing else; or NULL. */
static inline PyObject *dict_newest(PyObject *dict, PyObject *key) {
    PyObject *found, *value;
    Py_ssize_t place = 0;
    return PyDict_GET_SIZE(dict) == 1 && PyDict_Next(dict, &place, &found, &value) && found == key ? value : NULL;
}

#endif

/* What was noted on a code object, by the index that the interpreter gave out; NULL: nothing. (The function for it is
   several times slower.) */
static inline void *code_note(PyCodeObject *code, Py_ssize_t index) {
    struct {
        Py_ssize_t size;
        void *notes[];
    } *all = code->co_extra;
    return all != NULL && index < all->size ? all->notes[index] : NULL;
}
#endif

#endif

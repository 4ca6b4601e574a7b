/* Numbers for places in the source, of code that has a plan and of some that has none. Both paths and sampling use them;
   record.c turns them into `file` and `line`. tests/sources/python/test_tracer.py compares these with the Python tracer. */
#include "tracer/tracer.h"

PlaceNumbers *plan_place_numbers(Tracer *tracer, PyCodeObject *code, int offset) {
    CodeInfo *info = plan_find(tracer, code);
    int unit = offset / 2;
    if (info != NULL && unit >= 0 && unit < info->units) {
        if (info->spots == NULL && (info->spots = PyMem_RawCalloc(info->units, sizeof(PlaceNumbers))) == NULL)
            return (void *)PyErr_NoMemory();
        return &info->spots[unit];
    }
    size_t at = (((uintptr_t)code >> 4) + (size_t)offset * 31) % SPOTS;
    if (tracer->spots[at].code != code || tracer->spots[at].offset != offset) {
        Py_XSETREF(tracer->spots[at].code, (PyCodeObject *)Py_NewRef((PyObject *)code));
        tracer->spots[at].offset = offset;
        tracer->spots[at].spot = (PlaceNumbers){0, 0};
    }
    return &tracer->spots[at].spot;
}

static int number_place(Tracer *tracer, PyObject *file, int line, uint32_t *number) {
    PyObject *key = Py_BuildValue("(Oi)", file, line), *value = NULL;
    int failed = -1;
    if (key == NULL || (tracer->place_numbers == NULL && (tracer->place_numbers = PyDict_New()) == NULL)) goto done;
    PyObject *known = PyDict_GetItemWithError(tracer->place_numbers, key);
    if (known != NULL) {
        *number = (uint32_t)PyLong_AsUnsignedLong(known);
        failed = 0;
        goto done;
    }
    if (make_room((void **)&tracer->place_list, &tracer->place_room, tracer->place_count, sizeof *tracer->place_list) < 0 ||
        (value = PyLong_FromUnsignedLong(tracer->place_count + 1)) == NULL ||
        PyDict_SetItem(tracer->place_numbers, key, value) < 0)
        goto done;
    tracer->place_list[tracer->place_count].file = Py_NewRef(file);
    tracer->place_list[tracer->place_count].line = line;
    *number = ++tracer->place_count;
    failed = 0;
done:
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed;
}

uint32_t plan_place(Tracer *tracer, PlaceNumbers *spot, PyCodeObject *code, int offset) {
    if (spot->place) return spot->place;
    CodeInfo *info = plan_find(tracer, code);
    PyObject *raised = PyErr_GetRaisedException(); /* some callbacks run while an exception is on its way */
    if (number_place(tracer, info && info->file ? info->file : code->co_filename, PyCode_Addr2Line(code, offset), &spot->place) < 0)
        PyErr_Clear();
    PyErr_SetRaisedException(raised);
    return spot->place;
}

void place_forget(Tracer *tracer) {
    for (int i = 0; i < SPOTS; i++) Py_CLEAR(tracer->spots[i].code);
    for (uint32_t i = 0; i < tracer->place_count; i++) Py_DECREF(tracer->place_list[i].file);
    PyMem_RawFree(tracer->place_list);
    tracer->place_list = NULL;
    tracer->place_count = tracer->place_room = 0;
    Py_CLEAR(tracer->place_numbers);
}

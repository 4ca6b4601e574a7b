/* asyncio's tasks: which one runs, its name and its coroutine. Asked for each message, so no way round by Python is taken
   where there is a shorter one. */
#include "tasks.h"

#ifndef LAWFUL_NO_TRACER

static PyObject *text_get_coro, *text_get_name;

static int setup(void) {
    if (text_get_name != NULL) return 0;
    if ((text_get_coro = PyUnicode_InternFromString("get_coro")) == NULL) return -1;
    return (text_get_name = PyUnicode_InternFromString("get_name")) == NULL ? -1 : 0;
}

PyObject *tasks_current(Tracer *tracer) {
    PyObject *get_loop = tracer->get_loop, *running = tracer->running_tasks, *loop, *task;
    if (get_loop == NULL || running == NULL || !PyCFunction_CheckExact(get_loop) || PyDict_GET_SIZE(running) != 1 ||
        PyCFunction_GET_FLAGS(get_loop) != METH_NOARGS)
        return record_task(tracer);
    Py_ssize_t place = 0;
    PyObject *here = PyCFunction_GET_FUNCTION(get_loop)(PyCFunction_GET_SELF(get_loop), NULL);
    bool same = here != NULL && PyDict_Next(running, &place, &loop, &task) && loop == here && task != Py_None;
    Py_XDECREF(here); /* whoever runs it keeps it alive */
    return same ? Py_NewRef(task) : record_task(tracer);
}

/* ---- what a task made in C has ---------------------------------------------------------------------------------------- */

/* Where tasks of this class keep what a method of theirs returns. Nobody says where that is, but a task in which it lies at one
   place only shows it. A name that nobody has asked for is still a number there: to ask for it would make a text of it. */
typedef struct {
    PyTypeObject *type; /* a strong reference, or NULL */
    Py_ssize_t offset;  /* 0: nobody knows */
} Field;

static Field names, coroutines;

static Py_ssize_t find(PyObject *task, PyObject *value) {
    Py_ssize_t found = 0;
    for (Py_ssize_t at = sizeof(PyObject); at + (Py_ssize_t)sizeof(PyObject *) <= Py_TYPE(task)->tp_basicsize; at += sizeof(PyObject *)) {
        if (*(PyObject **)((char *)task + at) != value) continue;
        if (found) return 0;
        found = at;
    }
    return found;
}

/* Is the method the class's own, and made in C? */
static bool is_own(PyTypeObject *type, PyObject *method) {
    PyObject *found = _PyType_Lookup(type, method);
    return found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type) && PyDescr_TYPE(found) == type;
}

/* What lies there, borrowed; NULL: it must be asked for. */
static PyObject *look(const Field *field, PyObject *task) {
    if (field->type != Py_TYPE(task) || field->offset == 0) return NULL;
    return *(PyObject **)((char *)task + field->offset);
}

static PyObject *ask(Field *field, PyObject *task, PyObject *method) {
    PyObject *value = PyObject_CallMethodNoArgs(task, method);
    PyTypeObject *type = Py_TYPE(task);
    if (value == NULL || (field->type == type && field->offset) || !is_own(type, method)) return value;
    Py_XSETREF(field->type, (PyTypeObject *)Py_NewRef((PyObject *)type));
    field->offset = value == Py_None ? 0 : find(task, value);
    return value;
}

PyObject *tasks_coroutine(PyObject *task) {
    if (setup() < 0) return NULL;
    PyObject *found = look(&coroutines, task);
    return found != NULL ? Py_NewRef(found) : ask(&coroutines, task, text_get_coro);
}

PyObject *tasks_name(PyObject *task) {
    if (setup() < 0) return NULL;
    PyObject *found = look(&names, task);
    if (found != NULL && PyUnicode_CheckExact(found)) return Py_NewRef(found);
    if (found != NULL && PyLong_CheckExact(found)) return Py_NewRef(Py_None);
    return ask(&names, task, text_get_name);
}

#endif

/* Lazy events: objects with what a record has, which make the dict when it is asked for. To make a dict of each event, and to
   look up in it what was put there a moment before, takes most of the time of judging it; and only a finding shows it.
   record.c makes them; engine/dispatch.c, invariants/ and json_lines.c read them. tests/engine/test_lazy_events.py compares
   them with dicts. */
#include "events/lazy_event.h"

#include "events/fields.h"
#include "events/record_values.h"

/* ---- the dict ---------------------------------------------------------------------------------------------------------- */

static int set_payload(PyObject *event, const LazyEvent *lazy) {
    PyObject *payload = lazy->payload;
    if (!PyDict_CheckExact(payload)) return PyDict_SetItem(event, lazy->target ? text_res : text_target, payload);
    PyObject *target = PyDict_GetItemWithError(payload, text_target); /* it comes first */
    if (target == NULL ? PyErr_Occurred() != NULL : PyDict_SetItem(event, text_target, target) < 0) return -1;
    return PyDict_Update(event, payload);
}

static int fill(PyObject *event, const LazyEvent *lazy) {
    if (PyDict_SetItem(event, text_event, event_kinds[lazy->kind]) < 0 || PyDict_SetItem(event, text_name, lazy->name) < 0)
        return -1;
    if (lazy->class_name != NULL && PyDict_SetItem(event, text_class, lazy->class_name) < 0) return -1;
    if (lazy->target && set_taken(event, text_targetId, PyLong_FromUnsignedLongLong(lazy->target)) < 0) return -1;
    if (lazy->values != NULL || lazy->result != NULL) {
        if (values_fill(event, lazy->values, lazy->result) < 0) return -1;
    } else if (lazy->payload != NULL && set_payload(event, lazy) < 0) {
        return -1;
    }
    if (lazy->file != NULL && PyDict_SetItem(event, text_file, lazy->file) < 0) return -1;
    if (lazy->file != NULL && lazy->line >= 0 && set_taken(event, text_line, PyLong_FromLong(lazy->line)) < 0) return -1;
    if (set_taken(event, text_thread, PyLong_FromLong(lazy->thread)) < 0) return -1;
    if (lazy->task && set_taken(event, text_task, PyLong_FromUnsignedLongLong(lazy->task)) < 0) return -1;
    if (set_taken(event, text_time, PyFloat_FromDouble(lazy->time)) < 0) return -1;
    return lazy->process ? set_taken(event, text_process, PyLong_FromLong(lazy->process)) : 0;
}

PyObject *lazy_event_dict(const LazyEvent *lazy) {
    PyObject *event = PyDict_New();
    if (event != NULL && fill(event, lazy) < 0) Py_CLEAR(event);
    return event;
}

/* ---- the object -------------------------------------------------------------------------------------------------------- */

/* The words become the brief's own. */
static void take_values(LazyEvent *lazy, const LazyEvent *given, size_t before, size_t behind) {
    lazy->values = lazy->result = NULL;
    if (before) {
        memcpy(lazy->words, given->values, before * sizeof(uint64_t));
        lazy->values = lazy->words;
        values_hold(lazy->values);
    }
    if (behind) {
        memcpy(lazy->words + before, given->result, behind * sizeof(uint64_t));
        lazy->result = lazy->words + before;
        if ((*lazy->result & VALUE_MASK) == VALUE_HELD) Py_INCREF(value_held(*lazy->result));
    }
}

static void leave_values(LazyEvent *lazy) {
    if (lazy->values != NULL) values_release(lazy->values);
    if (lazy->result != NULL && (*lazy->result & VALUE_MASK) == VALUE_HELD) Py_DECREF(value_held(*lazy->result));
    lazy->values = lazy->result = NULL;
}

PyObject *lazy_event_new(const LazyEvent *given) {
    size_t before = given->values ? 1 + shape_size(*given->values) : 0, behind = given->result ? value_size(*given->result) : 0;
    LazyEvent *lazy = PyObject_NewVar(LazyEvent, &LazyEventType, (Py_ssize_t)(before + behind));
    if (lazy == NULL) return NULL;
    PyVarObject head = lazy->ob_base;
    *lazy = *given;
    lazy->ob_base = head;
    Py_INCREF(lazy->name);
    Py_XINCREF(lazy->class_name);
    Py_XINCREF(lazy->payload);
    Py_XINCREF(lazy->file);
    take_values(lazy, given, before, behind);
    lazy->target_id = lazy->event = NULL;
    return (PyObject *)lazy;
}

void lazy_event_expand_values(LazyEvent *lazy) {
    lazy->payload = values_payload(lazy->values, lazy->result);
    if (lazy->payload != NULL) leave_values(lazy);
    else PyErr_Clear(); /* out of memory */
}

static void lazy_event_dealloc(LazyEvent *lazy) {
    Py_DECREF(lazy->name);
    Py_XDECREF(lazy->class_name);
    Py_XDECREF(lazy->payload);
    leave_values(lazy);
    Py_XDECREF(lazy->file);
    Py_XDECREF(lazy->target_id);
    Py_XDECREF(lazy->event);
    PyObject_Free(lazy);
}

PyObject *lazy_event_target(LazyEvent *lazy) {
    if (lazy->target_id == NULL && lazy->target) lazy->target_id = PyLong_FromUnsignedLongLong(lazy->target);
    return lazy->target_id;
}

static PyObject *lazy_event_to_dict(LazyEvent *lazy, PyObject *Py_UNUSED(unused)) {
    if (lazy->event == NULL) lazy->event = lazy_event_dict(lazy);
    return Py_XNewRef(lazy->event);
}

PyObject *event_to_dict(PyObject *event) { return is_lazy_event(event) ? lazy_event_to_dict((LazyEvent *)event, NULL) : Py_NewRef(event); }

static PyMethodDef lazy_event_methods[] = {
    {"to_dict", (PyCFunction)lazy_event_to_dict, METH_NOARGS, "to_dict()\n--\n\nThe event: always the same dict."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject LazyEventType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.LazyEvent",
    .tp_basicsize = offsetof(LazyEvent, words),
    .tp_itemsize = sizeof(uint64_t),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An event of which no dict was made.",
    .tp_dealloc = (destructor)lazy_event_dealloc,
    .tp_methods = lazy_event_methods,
};

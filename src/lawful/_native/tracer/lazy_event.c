/* Events of a tracer in brief. To make a dict of each event, and to look up in it what was put there a moment before, takes
   most of the time of judging it, and hardly ever does anybody want to see it: when a law was broken. So laws that can are
   given what the record has, and the event is made when it is asked for. */
#include "tracer/lazy_event.h"

#include "tracer/record_values.h"

PyObject *event_kinds[KINDS];
static PyObject *text_event, *text_name, *text_class, *text_targetId, *text_target, *text_res, *text_file, *text_line,
    *text_thread, *text_task, *text_time, *text_process;

int brief_setup(void) {
    static const char *const names[KINDS] = {"func_pre", "func_post", "func_raise", "new", "gone", "field_write",
                                             "field_read", "iter_next", "yield", "resume", "born", "emit"};
    if (text_event != NULL) return 0;
    for (int i = 0; i < KINDS; i++)
        if ((event_kinds[i] = PyUnicode_InternFromString(names[i])) == NULL) return -1;
#define TEXT(name) if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    TEXT(name) TEXT(class) TEXT(targetId) TEXT(target) TEXT(res) TEXT(file) TEXT(line) TEXT(thread) TEXT(task) TEXT(time)
    TEXT(process) TEXT(event)
#undef TEXT
    return 0;
}

/* ---- the dict ---------------------------------------------------------------------------------------------------------- */

static int set_taken(PyObject *event, PyObject *key, PyObject *value) {
    if (value == NULL) return -1;
    int failed = PyDict_SetItem(event, key, value);
    Py_DECREF(value);
    return failed;
}

static int set_payload(PyObject *event, const Brief *brief) {
    PyObject *payload = brief->payload;
    if (!PyDict_CheckExact(payload)) return PyDict_SetItem(event, brief->target ? text_res : text_target, payload);
    PyObject *target = PyDict_GetItemWithError(payload, text_target); /* it comes first */
    if (target == NULL ? PyErr_Occurred() != NULL : PyDict_SetItem(event, text_target, target) < 0) return -1;
    return PyDict_Update(event, payload);
}

static int fill(PyObject *event, const Brief *brief) {
    if (PyDict_SetItem(event, text_event, event_kinds[brief->kind]) < 0 || PyDict_SetItem(event, text_name, brief->name) < 0)
        return -1;
    if (brief->class_name != NULL && PyDict_SetItem(event, text_class, brief->class_name) < 0) return -1;
    if (brief->target && set_taken(event, text_targetId, PyLong_FromUnsignedLongLong(brief->target)) < 0) return -1;
    if (brief->values != NULL || brief->result != NULL) {
        if (values_fill(event, brief->values, brief->result) < 0) return -1;
    } else if (brief->payload != NULL && set_payload(event, brief) < 0) {
        return -1;
    }
    if (brief->file != NULL && PyDict_SetItem(event, text_file, brief->file) < 0) return -1;
    if (brief->file != NULL && brief->line >= 0 && set_taken(event, text_line, PyLong_FromLong(brief->line)) < 0) return -1;
    if (set_taken(event, text_thread, PyLong_FromLong(brief->thread)) < 0) return -1;
    if (brief->task && set_taken(event, text_task, PyLong_FromUnsignedLongLong(brief->task)) < 0) return -1;
    if (set_taken(event, text_time, PyFloat_FromDouble(brief->time)) < 0) return -1;
    return brief->process ? set_taken(event, text_process, PyLong_FromLong(brief->process)) : 0;
}

PyObject *brief_dict(const Brief *brief) {
    PyObject *event = PyDict_New();
    if (event != NULL && fill(event, brief) < 0) Py_CLEAR(event);
    return event;
}

/* ---- the object -------------------------------------------------------------------------------------------------------- */

/* The words become the brief's own. */
static void take_values(Brief *brief, const Brief *given, size_t before, size_t behind) {
    brief->values = brief->result = NULL;
    if (before) {
        memcpy(brief->words, given->values, before * sizeof(uint64_t));
        brief->values = brief->words;
        values_hold(brief->values);
    }
    if (behind) {
        memcpy(brief->words + before, given->result, behind * sizeof(uint64_t));
        brief->result = brief->words + before;
        if ((*brief->result & VALUE_MASK) == VALUE_HELD) Py_INCREF(value_held(*brief->result));
    }
}

static void leave_values(Brief *brief) {
    if (brief->values != NULL) values_release(brief->values);
    if (brief->result != NULL && (*brief->result & VALUE_MASK) == VALUE_HELD) Py_DECREF(value_held(*brief->result));
    brief->values = brief->result = NULL;
}

PyObject *brief_new(const Brief *given) {
    size_t before = given->values ? 1 + shape_size(*given->values) : 0, behind = given->result ? value_size(*given->result) : 0;
    Brief *brief = PyObject_NewVar(Brief, &BriefType, (Py_ssize_t)(before + behind));
    if (brief == NULL) return NULL;
    PyVarObject head = brief->ob_base;
    *brief = *given;
    brief->ob_base = head;
    Py_INCREF(brief->name);
    Py_XINCREF(brief->class_name);
    Py_XINCREF(brief->payload);
    Py_XINCREF(brief->file);
    take_values(brief, given, before, behind);
    brief->target_id = brief->event = NULL;
    return (PyObject *)brief;
}

void brief_open_values(Brief *brief) {
    brief->payload = values_payload(brief->values, brief->result);
    if (brief->payload != NULL) leave_values(brief);
    else PyErr_Clear(); /* there is no memory */
}

static void brief_dealloc(Brief *brief) {
    Py_DECREF(brief->name);
    Py_XDECREF(brief->class_name);
    Py_XDECREF(brief->payload);
    leave_values(brief);
    Py_XDECREF(brief->file);
    Py_XDECREF(brief->target_id);
    Py_XDECREF(brief->event);
    PyObject_Free(brief);
}

PyObject *brief_target(Brief *brief) {
    if (brief->target_id == NULL && brief->target) brief->target_id = PyLong_FromUnsignedLongLong(brief->target);
    return brief->target_id;
}

static PyObject *brief_open(Brief *brief, PyObject *unused) {
    if (brief->event == NULL) brief->event = brief_dict(brief);
    return Py_XNewRef(brief->event);
}

PyObject *brief_event(PyObject *event) { return is_brief(event) ? brief_open((Brief *)event, NULL) : Py_NewRef(event); }

static PyMethodDef brief_methods[] = {
    {"to_dict", (PyCFunction)brief_open, METH_NOARGS, "to_dict()\n--\n\nThe event: always the same dict."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject BriefType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Brief",
    .tp_basicsize = offsetof(Brief, words),
    .tp_itemsize = sizeof(uint64_t),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "An event of which no dict was made.",
    .tp_dealloc = (destructor)brief_dealloc,
    .tp_methods = brief_methods,
};

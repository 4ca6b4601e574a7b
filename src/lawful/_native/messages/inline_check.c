/* Checks messages where they are sent, before any event is made.

   The machine of each law takes its step from the values of the message. If no law is broken, no event is needed: the message
   is kept as a deferred event, in case a finding has to show it. Otherwise the steps are undone, and the event is made and
   judged like any other. Nothing here runs Python code.
   Called by: messages.c and group_calls.c; engine/inline_messages.py enables it and takes the deferred events.
   Must match: judging the same events by engine/run.py.
   Compared by: tests/sources/actors/test_inline_check.py.
   Measured on benchmarks/grammar_live.py (CPU time without it, divided by with it): 1.5 for the service with 400 B texts and
   1.06 with 20 KB texts when violations raise; 1.05 and 1.01 when they are only reported. */
#include "messages/inline_check.h"

#include "grammar/grammar.h"

#include <structmember.h>

static PyObject *text_args, *text_argIds, *text_task, *text_file, *text_line, *text_thread, *text_time, *text_process,
    *text_group;

static int setup(void) {
    if (text_group != NULL) return 0;
#define TEXT(name) if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    TEXT(args) TEXT(argIds) TEXT(task) TEXT(file) TEXT(line) TEXT(thread) TEXT(time) TEXT(process)
#undef TEXT
    return (text_group = PyUnicode_InternFromString("groupId")) == NULL ? -1 : 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------- */

void inline_steps_free(InlineStep *steps, int count) {
    for (int i = 0; i < count; i++) {
        Py_XDECREF(steps[i].machine);
        Py_XDECREF(steps[i].group);
    }
    PyMem_Free(steps);
}

static int inline_step_fill(InlineStep *step, PyObject *given, PyObject *headers) {
    PyObject *machine;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a step is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "iO!i", &step->event, &GrammarMachineType, &machine, &step->terminal)) return -1;
    bool fits = step->event >= 0 && step->event < PyTuple_GET_SIZE(headers) && step->terminal >= 0 &&
                step->terminal < ((GMachine *)machine)->tables->columns - 1;
    step->key = fits ? PyDict_GetItemWithError(PyTuple_GET_ITEM(headers, step->event), text_group) : NULL;
    if (step->key == NULL || !(PyLong_CheckExact(step->key) || PyUnicode_CheckExact(step->key))) {
        PyErr_SetString(PyExc_ValueError, "no step of this message");
        return -1;
    }
    step->machine = Py_NewRef(machine);
    return 0;
}

int inline_steps_new(PyObject *given, PyObject *headers, InlineStep **steps) {
    *steps = NULL;
    if (given == Py_None) return 0;
    if (setup() < 0) return -1;
    Py_ssize_t count = PyTuple_Check(given) ? PyTuple_GET_SIZE(given) : 0;
    if (count < 1 || count > MAX_STEPS) {
        PyErr_Format(PyExc_ValueError, "steps are a tuple of 1 to %d", MAX_STEPS);
        return -1;
    }
    InlineStep *made = PyMem_Calloc((size_t)count, sizeof(InlineStep));
    if (made == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (inline_step_fill(made + i, PyTuple_GET_ITEM(given, i), headers) < 0) {
            inline_steps_free(made, (int)count);
            return -1;
        }
    }
    *steps = made;
    return (int)count;
}

/* ---- deferred events ---------------------------------------------------------------------------------------------------- */

/* A checked message, until somebody takes the deferred events. */
typedef struct DeferredData {
    MessageData message;
    PyObject *key; /* of the group; the header keeps it alive */
    int event;     /* which of the message's events; -1: dropped */
    int number;    /* of the event since the last `take`, from 0 */
} DeferredData;

typedef struct {
    PyObject_HEAD
    DeferredData data;
} DeferredEvent;

static void deferred_data_drop(DeferredData *data) {
    Py_DECREF(data->message.headers);
    Py_DECREF(data->message.values);
    Py_DECREF(data->message.file);
}

/* Steals the data, also on failure. */
static PyObject *deferred_event_new(DeferredData *data) {
    DeferredEvent *self = PyObject_New(DeferredEvent, &DeferredEventType);
    if (self == NULL) deferred_data_drop(data);
    else self->data = *data;
    return (PyObject *)self;
}

static void deferred_event_dealloc(DeferredEvent *self) {
    deferred_data_drop(&self->data);
    PyObject_Free(self);
}

PyObject *deferred_event_group(PyObject *self) { return ((DeferredEvent *)self)->data.key; }

/* The arguments as events have them: ids of objects stand in a list of their own. */
static PyObject *argument_list(const MessageData *message, bool objects) {
    Py_ssize_t count = PyTuple_GET_SIZE(message->values) - message->first;
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        bool shown = (i < MAX_MARKED && (message->objects >> i & 1)) == objects;
        PyList_SET_ITEM(list, i, Py_NewRef(shown ? PyTuple_GET_ITEM(message->values, message->first + i) : Py_None));
    }
    if (list != NULL) PyObject_GC_UnTrack(list);
    return list;
}

static int set_taken(PyObject *event, PyObject *key, PyObject *value) {
    int failed = value == NULL ? -1 : PyDict_SetItem(event, key, value);
    Py_XDECREF(value);
    return failed;
}

PyObject *message_event(const MessageData *message, int event) {
    PyObject *made = setup() < 0 ? NULL : PyDict_Copy(PyTuple_GET_ITEM(message->headers, event));
    if (made == NULL) return NULL;
    if (set_taken(made, text_args, argument_list(message, false)) < 0 ||
        (message->objects && set_taken(made, text_argIds, argument_list(message, true)) < 0) ||
        (message->task && set_taken(made, text_task, PyLong_FromUnsignedLongLong(message->task)) < 0) ||
        PyDict_SetItem(made, text_file, message->file) < 0 ||
        set_taken(made, text_line, PyLong_FromLong(message->line)) < 0)
        Py_CLEAR(made);
    else if (PyObject_GC_IsTracked(made)) PyObject_GC_UnTrack(made); /* it is in no reference cycle */
    return made;
}

static PyObject *deferred_event_to_dict(DeferredEvent *self, PyObject *Py_UNUSED(unused)) {
    const MessageData *message = &self->data.message;
    PyObject *event = message_event(message, self->data.event);
    if (event == NULL) return NULL;
    if (set_taken(event, text_thread, PyLong_FromLong(message->thread)) < 0 ||
        set_taken(event, text_time, PyFloat_FromDouble(message->time)) < 0 ||
        (message->process && set_taken(event, text_process, PyLong_FromLong(message->process)) < 0))
        Py_CLEAR(event);
    return event;
}

static PyMethodDef deferred_event_methods[] = {
    {"to_dict", (PyCFunction)deferred_event_to_dict, METH_NOARGS, "to_dict()\n--\n\nThe event."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject DeferredEventType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.DeferredEvent",
    .tp_basicsize = sizeof(DeferredEvent),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A message that was checked without an event.",
    .tp_dealloc = (destructor)deferred_event_dealloc,
    .tp_methods = deferred_event_methods,
};

/* ---- the check ---------------------------------------------------------------------------------------------------------- */

#define GROUP_SLOTS 256 /* groups that are counted apart when pruning: a power of two */

/* How many deferred events there are of each group. */
typedef struct {
    const PyObject *key[GROUP_SLOTS];
    int count[GROUP_SLOTS];
} GroupCounts;

/* How many were counted before. If there is no slot left, 0. */
static int count_group(GroupCounts *seen, const PyObject *key) {
    size_t home = ((uintptr_t)key >> 4) * 0x9E3779B1u;
    for (size_t i = 0; i < 8; i++) {
        size_t at = (home + i) & (GROUP_SLOTS - 1);
        if (seen->key[at] == NULL) seen->key[at] = key;
        if (seen->key[at] == key) return seen->count[at]++;
    }
    return 0;
}

/* Drop what no finding can show: of each group the first event and the last `max_per_group` are kept, and the last `max_overall`
   of all. Returns how many are left. */
static int prune(DeferredData *deferred, int count, int max_per_group, int max_overall) {
    GroupCounts ahead = {0}, back = {0};
    bool first[MAX_DEFERRED];
    for (int i = 0; i < count - max_overall; i++) first[i] = count_group(&ahead, deferred[i].key) == 0;
    for (int i = count; i--;) {
        bool late = count_group(&back, deferred[i].key) < max_per_group;
        if (i < count - max_overall && !late && !first[i]) deferred[i].event = -1;
    }
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (deferred[i].event < 0) deferred_data_drop(&deferred[i]);
        else if (kept++ != i) deferred[kept - 1] = deferred[i];
    }
    return kept;
}

static void keep(InlineCheck *inline_check, const InlineStep *steps, int count, const MessageData *message) {
    for (int i = 0; i < count; i++) {
        if (i && steps[i].event == steps[i - 1].event) continue;
        DeferredData *data = &inline_check->deferred[inline_check->used++];
        data->message = *message;
        data->key = steps[i].key;
        data->event = steps[i].event;
        data->number = inline_check->count++;
        Py_INCREF(message->headers);
        Py_INCREF(message->values);
        Py_INCREF(message->file);
    }
    if (message->thread > inline_check->thread) inline_check->thread = message->thread;
    if (inline_check->used < inline_check->prune_at) return;
    inline_check->used = prune(inline_check->deferred, inline_check->used, inline_check->max_per_group, inline_check->max_overall);
    inline_check->prune_at = inline_check->used < PRUNE_AT / 2 ? PRUNE_AT : 2 * inline_check->used;
}

int inline_check_message(InlineCheck *inline_check, InlineStep *steps, int count, const MessageData *message) {
    if (inline_check->used > MAX_DEFERRED - MAX_EVENTS) return 0;
    GSource source = {.values = &PyTuple_GET_ITEM(message->values, message->first),
                      .count = PyTuple_GET_SIZE(message->values) - message->first};
    int taken = 0, result = 1;
    for (; result == 1 && taken < count; taken += result == 1) {
        InlineStep *step = steps + taken;
        source.header = PyTuple_GET_ITEM(message->headers, step->event);
        result = grammar_message((GMachine *)step->machine, step->key, &step->group, step->terminal, &source);
    }
    if (result == 1) {
        keep(inline_check, steps, count, message);
        return 1;
    }
    while (taken)
        if (grammar_take_back((GMachine *)steps[--taken].machine) < 0) result = -1;
    if (result < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "the step of a message could not be undone");
    return result;
}

static PyObject *inline_check_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(keywords)) {
    if (setup() < 0) return NULL;
    InlineCheck *inline_check = (InlineCheck *)type->tp_alloc(type, 0);
    if (inline_check == NULL) return NULL;
    inline_check->deferred = PyMem_Malloc(MAX_DEFERRED * sizeof(DeferredData));
    inline_check->prune_at = PRUNE_AT;
    if (inline_check->deferred != NULL) return (PyObject *)inline_check;
    Py_DECREF(inline_check);
    return PyErr_NoMemory();
}

static void inline_check_dealloc(InlineCheck *inline_check) {
    while (inline_check->used) deferred_data_drop(&inline_check->deferred[--inline_check->used]);
    PyMem_Free(inline_check->deferred);
    PyMem_Free(inline_check->spare);
    Py_TYPE(inline_check)->tp_free((PyObject *)inline_check);
}

static PyObject *entry_of(long long number, DeferredData *data) { /* steals the data */
    PyObject *self = deferred_event_new(data), *entry = PyTuple_New(2), *at = PyLong_FromLongLong(number);
    if (self == NULL || entry == NULL || at == NULL) {
        Py_XDECREF(self);
        Py_XDECREF(entry);
        Py_XDECREF(at);
        return NULL;
    }
    PyTuple_SET_ITEM(entry, 0, at);
    PyTuple_SET_ITEM(entry, 1, self);
    PyObject_GC_UnTrack(entry); /* it is in no reference cycle, and many are kept for long */
    return entry;
}

/* Messages may be checked while this allocates: they go into another array. */
static PyObject *inline_check_take(InlineCheck *inline_check, PyObject *argument) {
    long long first = PyLong_AsLongLong(argument);
    if (first == -1 && PyErr_Occurred()) return NULL;
    DeferredData *more = inline_check->spare ? inline_check->spare : PyMem_Malloc(MAX_DEFERRED * sizeof(DeferredData)), *deferred = inline_check->deferred;
    if (more == NULL) return PyErr_NoMemory();
    int count = inline_check->count, kept = prune(deferred, inline_check->used, inline_check->max_per_group, inline_check->max_overall);
    inline_check->deferred = more;
    inline_check->spare = NULL;
    inline_check->count = inline_check->used = 0;
    inline_check->prune_at = PRUNE_AT;
    PyObject *entries = PyList_New(kept);
    for (int i = 0; i < kept; i++) {
        PyObject *entry = entries == NULL ? (deferred_data_drop(&deferred[i]), NULL) : entry_of(first + deferred[i].number, &deferred[i]);
        if (entry != NULL) PyList_SET_ITEM(entries, i, entry);
        else Py_CLEAR(entries);
    }
    if (inline_check->spare == NULL) inline_check->spare = deferred;
    else PyMem_Free(deferred);
    return entries == NULL ? NULL : Py_BuildValue("iN", count, entries);
}

static PyMethodDef inline_check_methods[] = {
    {"take", (PyCFunction)inline_check_take, METH_O,
     "take(first)\n--\n\nHow many messages were checked since the last call, and the deferred events to keep, numbered from `first` "
     "on: the first of each group and `max_per_group` of its last, and the last `max_overall` of all."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef inline_check_members[] = {
    {"enabled", T_BOOL, offsetof(InlineCheck, enabled), 0, "May messages be checked now?"},
    {"version", T_ULONG, offsetof(InlineCheck, version), 0, "Of the laws."},
    {"count", T_INT, offsetof(InlineCheck, count), READONLY, "Checked messages since the last `take`."},
    {"thread", T_INT, offsetof(InlineCheck, thread), READONLY, "The highest number of a thread that has sent one."},
    {"max_per_group", T_INT, offsetof(InlineCheck, max_per_group), 0, "How many of the last messages of each group to keep."},
    {"max_overall", T_INT, offsetof(InlineCheck, max_overall), 0, "How many of the last messages of all groups to keep."},
    {"seconds", T_DOUBLE, offsetof(InlineCheck, seconds), 0, "Seconds that the checks took, estimated."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject InlineCheckType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.InlineCheck",
    .tp_basicsize = sizeof(InlineCheck),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "InlineCheck()\n--\n\nChecks messages where they are sent, without an event.",
    .tp_new = inline_check_new,
    .tp_dealloc = (destructor)inline_check_dealloc,
    .tp_methods = inline_check_methods,
    .tp_members = inline_check_members,
};

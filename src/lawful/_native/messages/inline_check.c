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

#include "events/fields.h"
#include "grammar/grammar.h"

#include <structmember.h>

/* ---- steps ------------------------------------------------------------------------------------------------------------- */

void inline_steps_free(InlineStep *steps, int count) {
    for (int i = 0; i < count; i++) {
        Py_XDECREF(steps[i].machine);
        Py_XDECREF(steps[i].group);
    }
    PyMem_Free(steps);
}

int inline_steps_new(PyObject *given, PyObject *headers, InlineStep **steps) {
    *steps = NULL;
    if (given == Py_None) return 0;
    int count = (int)PyTuple_GET_SIZE(given), made = 0;
    InlineStep *all = PyMem_Calloc((size_t)count, sizeof(InlineStep));
    if (all == NULL) PyErr_NoMemory();
    for (; all != NULL && made < count; made++) {
        InlineStep *step = all + made;
        PyObject *item = PyTuple_GET_ITEM(given, made);
        if (!PyArg_ParseTuple(item, "iO!i", &step->event, &GrammarMachineType, &step->machine, &step->terminal)) break;
        if ((step->key = PyDict_GetItemWithError(PyTuple_GET_ITEM(headers, step->event), text_groupId)) == NULL) break;
        Py_INCREF(step->machine);
    }
    if (all != NULL && made == count) {
        *steps = all;
        return count;
    }
    if (all != NULL) inline_steps_free(all, made);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the header of the message has no group");
    return -1;
}

/* ---- deferred events ---------------------------------------------------------------------------------------------------- */

/* A checked message, until somebody takes the deferred events. */
typedef struct DeferredData {
    MessageData message;
    PyObject *key; /* of the group; the header keeps it alive */
    int event;     /* which of the message's events */
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

PyObject *message_event(const MessageData *message, int event) {
    PyObject *made = PyDict_Copy(PyTuple_GET_ITEM(message->headers, event));
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

/* How many were counted before. 0 if all slots are in use. */
static int count_group(GroupCounts *seen, const PyObject *key) {
    size_t home = ((uintptr_t)key >> 4) * 0x9E3779B1u;
    for (size_t i = 0; i < 8; i++) {
        size_t at = (home + i) & (GROUP_SLOTS - 1);
        if (seen->key[at] == NULL) seen->key[at] = key;
        if (seen->key[at] == key) return seen->count[at]++;
    }
    return 0;
}

/* Drop what no finding can show: of each group the first event and the last `max_per_group` are kept, and the last
   `max_overall` of all. */
static void prune(InlineCheck *inline_check) {
    DeferredData *deferred = inline_check->deferred;
    int count = inline_check->used, old = count - inline_check->max_overall, kept = 0;
    GroupCounts ahead = {0}, back = {0};
    bool shown[MAX_DEFERRED];
    for (int i = 0; i < count; i++) shown[i] = i >= old || count_group(&ahead, deferred[i].key) == 0;
    for (int i = count; i--;) shown[i] |= count_group(&back, deferred[i].key) < inline_check->max_per_group;
    for (int i = 0; i < count; i++) {
        if (!shown[i]) deferred_data_drop(&deferred[i]);
        else if (kept++ != i) deferred[kept - 1] = deferred[i];
    }
    inline_check->used = kept;
    inline_check->prune_at = kept < PRUNE_AT / 2 ? PRUNE_AT : 2 * kept;
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
    if (inline_check->used >= inline_check->prune_at) prune(inline_check);
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
        if (grammar_undo((GMachine *)steps[--taken].machine) < 0) result = -1;
    if (result < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "the step of a message could not be undone");
    return result;
}

static PyObject *inline_check_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(keywords)) {
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
    Py_TYPE(inline_check)->tp_free((PyObject *)inline_check);
}

static PyObject *entry_of(long long number, DeferredData *data) { /* steals the data */
    PyObject *event = deferred_event_new(data), *at = PyLong_FromLongLong(number);
    PyObject *entry = event == NULL || at == NULL ? NULL : PyTuple_Pack(2, at, event);
    Py_XDECREF(event);
    Py_XDECREF(at);
    if (entry != NULL) PyObject_GC_UnTrack(entry); /* it is in no reference cycle, and many are kept for long */
    return entry;
}

static PyObject *inline_check_take(InlineCheck *inline_check, PyObject *argument) {
    long long first = PyLong_AsLongLong(argument);
    if (first == -1 && PyErr_Occurred()) return NULL;
    char enabled = inline_check->enabled;
    inline_check->enabled = 0; /* allocating may run code of the program: its messages need their events meanwhile */
    prune(inline_check);
    PyObject *entries = PyList_New(0);
    for (int i = 0; i < inline_check->used; i++) {
        DeferredData *data = inline_check->deferred + i;
        PyObject *entry = entry_of(first + data->number, data);
        if (entry == NULL || (entries != NULL && PyList_Append(entries, entry) < 0)) Py_CLEAR(entries);
        Py_XDECREF(entry);
    }
    int count = inline_check->count;
    inline_check->count = inline_check->used = 0;
    inline_check->prune_at = PRUNE_AT;
    inline_check->enabled = enabled;
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

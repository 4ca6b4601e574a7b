/* Counter fields of samples, reported by the samples themselves.

   Called by: samples.c when an object becomes a sample, plan.c where `x.field += 1` is found, the interpreter (on_change).
   Must match: nothing in Python: the Python tracer looks at every such place.
   Compared by: tests/sources/python/sampling/test_steps.py, with the Python tracer.

   Where `x.field += 1` runs for all objects and few of them are samples, looking at each costs far more than the samples do.
   So the place sleeps, and the dict of a sample is watched: the interpreter reports each value in it that changes. It does
   not report a value that is written again. But adding to a number makes a new object, and nothing else can run between
   reading and writing. So at these places there is always a change as long as the field has numbers. If a sample has no
   dict that can be watched, or something else in such a field, places report its group as usual.

   Not seen here: what happens after a program has given a sample another dict while somebody keeps the old one, or has put
   a property into its class under the name of such a field. */
#include "tracer/probe.h"

static int watcher = -1; /* the interpreter's number for it */
static PyObject *text_dict;

bool field_counts_possible(const Tracer *tracer) { return !tracer->steps_off; }

static bool is_number(PyObject *value) {
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value);
}

/* ---- changes of watched dicts -------------------------------------------------------------------------------------------- */

static Sample *by_fields(Tracer *tracer, PyObject *fields) {
    Samples *samples = &tracer->samples;
    for (size_t i = 0; samples->used && i <= samples->mask; i++)
        if (samples->entries[i].key != NULL && samples->entries[i].fields == fields) return &samples->entries[i];
    return NULL;
}

static bool is_step_name(const Tracer *tracer, PyObject *key) {
    for (int i = 0; i < tracer->step_count; i++)
        if (key == tracer->step_names[i]) return true;
    for (int i = 0; i < tracer->step_count; i++) /* a text that is not the interpreter's own */
        if (PyUnicode_CheckExact(key) && PyUnicode_Compare(key, tracer->step_names[i]) == 0) return true;
    return false;
}

/* The interpreter might not report further changes. */
static void ends(Tracer *tracer, PyObject *fields, bool dies) {
    Sample *sample = by_fields(tracer, fields);
    if (sample == NULL) return;
    if (dies) sample->fields = NULL;
    if (sample_by_place(tracer, sample->group) < 0) tracer_fault(tracer);
}

static int empty_buffer(void *argument) {
    Tracer *tracer = argument;
    tracer->flushing = false;
    int failed = tracer->running && !tracer->broken ? record_flush(tracer, false) : 0;
    Py_DECREF(tracer);
    return failed;
}

static void tell(Tracer *tracer, CodeInfo *info, Probe *probe, const Sample *sample, PyObject *value) {
    Callee *callee = plan_known_field(tracer, probe->cached_callees, probe->name, Py_TYPE(sample->key));
    if (callee == NULL || callee->name == NULL || !(callee->wants & WANT_WRITE)) return;
    PyObject *payload = result_payload(tracer, callee, NULL, value);
    if (payload == NULL && PyErr_Occurred()) {
        tracer_fault(tracer);
        return;
    }
    record_keep(tracer, KIND_WRITE, callee, sample->id, payload, place_of(tracer, info, probe));
    if (tracer->count < tracer->flush_at || tracer->flushing) return;
    /* Python code must not run here. */
    tracer->flushing = Py_AddPendingCall(empty_buffer, Py_NewRef(tracer)) == 0;
    if (!tracer->flushing) Py_DECREF(tracer);
}

static void changes(Tracer *tracer, RunFrame *frame, PyObject *fields, PyObject *key, PyObject *value) {
    CodeInfo *info = plan_find(tracer, frame_code(frame));
    int unit = frame_offset(frame) / 2;
    Probe *probe = info && info->n_probes && unit >= 0 && unit < info->units && info->at[unit].step
                       ? &info->probes[info->at[unit].step - 1] : NULL;
    if (probe != NULL && probe->name == key) {
        PyObject *owner = frame->localsplus[probe->base + operation_shapes[OP_SET_FIELD].receiver];
        const Sample *sample = owner ? sample_find(tracer, owner) : NULL;
        if (sample != NULL && sample->fields == fields) tell(tracer, info, probe, sample, value);
    }
    if (!is_number(value)) ends(tracer, fields, false);
}

static void timed_changes(Tracer *tracer, RunFrame *frame, PyObject *fields, PyObject *key, PyObject *value) {
    if (--tracer->until_timed) {
        changes(tracer, frame, fields, key, value);
        return;
    }
    unsigned measurements = tracer->measurements;
    int64_t began = cost_begin(tracer);
    changes(tracer, frame, fields, key, value);
    cost_end(tracer, began, measurements);
}

static int on_change(PyDict_WatchEvent event, PyObject *fields, PyObject *key, PyObject *value) {
    if (event == PyDict_EVENT_DELETED) return 0;
    PyObject *exception = PyErr_GetRaisedException();
    RunFrame *frame = event == PyDict_EVENT_ADDED || event == PyDict_EVENT_MODIFIED ? frame_current(PyThreadState_Get()) : NULL;
    for (int i = 0; i < MOST_TRACERS; i++) {
        Tracer *tracer = identity_watcher(i);
        if (tracer == NULL || !tracer->running || tracer->broken) continue;
        if (event == PyDict_EVENT_DEALLOCATED) ends(tracer, fields, true);
        else if (event == PyDict_EVENT_CLONED) ends(tracer, fields, false); /* all at once, whatever it is */
        else if (frame != NULL && is_step_name(tracer, key)) timed_changes(tracer, frame, fields, key, value);
    }
    PyErr_SetRaisedException(exception);
    return 0;
}

/* ---- samples ------------------------------------------------------------------------------------------------------------- */

/* Does writing this field of such an object put the value into its dict, and is all known about it? -1: an exception. */
static int can_tell(Tracer *tracer, Group *group, PyTypeObject *type, PyObject *name) {
    if (type->tp_setattro != PyObject_GenericSetAttr) return 0;
    PyObject *descriptor = _PyType_Lookup(type, name);
    if (descriptor != NULL && Py_TYPE(descriptor)->tp_descr_set != NULL) return 0;
    CachedCallee answers[CACHED_CALLEES] = {{NULL}};
    Callee *callee = plan_field(tracer, answers, name, type);
    if (callee == NULL) return -1;
    return callee->name == NULL || (callee->group == group && !(callee->wants & LEARN(WANT_WRITE)));
}

int field_counts_add_name(Tracer *tracer, PyObject *name) {
    if (is_step_name(tracer, name)) return 0;
    if (tracer->step_count == MOST_COUNTED_FIELDS) return field_counts_disable(tracer);
    tracer->step_names[tracer->step_count++] = Py_NewRef(name);
    for (Group *group = tracer->groups; group != NULL; group = group->next)
        if (group->unwatched) tracer->by_place |= group->bit;
    Samples *samples = &tracer->samples;
    for (size_t i = 0; samples->used && i <= samples->mask; i++) {
        Sample *sample = &samples->entries[i];
        if (sample->key == NULL || sample->fields == NULL) continue;
        PyObject *value = PyDict_GetItemWithError(sample->fields, name);
        if (value == NULL && PyErr_Occurred()) return -1;
        int can = value == NULL || is_number(value) ? can_tell(tracer, sample->group, Py_TYPE(sample->key), name) : 0;
        if (can < 0 || (!can && sample_by_place(tracer, sample->group) < 0)) return -1;
    }
    return 0;
}

int field_counts_disable(Tracer *tracer) {
    for (Group *group = tracer->groups; group != NULL; group = group->next)
        if (sample_by_place(tracer, group) < 0) return -1;
    tracer->steps_off = true;
    tracer->by_place = ~UINT64_C(0);
    return 0;
}

/* A dict of its own that has nothing in common with those of others: the interpreter does not report all changes in these.
   It is given to the object as `object.__dict__ = fields` would do it. NULL without an exception: that is the class's own
   business. */
static PyObject *own_fields(PyObject *object) {
    PyObject *setter = _PyType_Lookup(Py_TYPE(object), text_dict);
    if (setter == NULL || !Py_IS_TYPE(setter, &PyGetSetDescr_Type)) return NULL;
    PyObject *shared = PyObject_GenericGetDict(object, NULL), *fields = shared ? PyDict_New() : NULL;
    if (fields != NULL && ((PyDict_GET_SIZE(shared) && PyDict_Update(fields, shared) < 0) ||
                           Py_TYPE(setter)->tp_descr_set(setter, object, fields) < 0))
        Py_CLEAR(fields);
    Py_XDECREF(shared);
    return fields;
}

PyObject *field_counts_watch(Tracer *tracer, Group *group, PyObject *object) {
    if (tracer->steps_off || !group->bit || group->places || tracer->step_count == 0) return NULL;
    int can = object_has_no_dict(object);
    for (int i = 0; can > 0 && i < tracer->step_count; i++) can = can_tell(tracer, group, Py_TYPE(object), tracer->step_names[i]);
    if (can > 0 && watcher < 0 && (watcher = PyDict_AddWatcher(on_change)) < 0) {
        PyErr_Clear(); /* others have all of them */
        can = 0;
    }
    if (text_dict == NULL && (text_dict = PyUnicode_InternFromString("__dict__")) == NULL) return NULL;
    PyObject *fields = can > 0 ? own_fields(object) : NULL;
    if (can > 0 && fields == NULL) can = PyErr_Occurred() ? -1 : 0;
    for (int i = 0; fields != NULL && i < tracer->step_count; i++) {
        PyObject *value = PyDict_GetItemWithError(fields, tracer->step_names[i]);
        if (value != NULL && !is_number(value)) can = 0;
    }
    if (can > 0 && PyDict_Watch(watcher, fields) < 0) can = -1;
    Py_XDECREF(fields); /* the object has it */
    if (can > 0) return fields;
    if (can == 0) (void)sample_by_place(tracer, group);
    return NULL;
}

void field_counts_unwatch(PyObject *fields) {
    int several = -1;
    for (int i = 0; i < MOST_TRACERS; i++) several += identity_watcher(i) != NULL;
    if (several > 0) return; /* another tracer may watch it */
    PyObject *exception = PyErr_GetRaisedException();
    if (PyDict_Unwatch(watcher, fields) < 0) PyErr_Clear();
    PyErr_SetRaisedException(exception);
}

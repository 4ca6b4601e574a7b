/* The Python type `InvariantTracker`: one invariant on its objects, their fields, obligations and violations.

   Called by lawful/laws/invariants/native_tracker.py, the "host", which gets the rare cases: violations, and expressions
   over unusual values. Matches `PythonTracker` of lawful/laws/invariants/python_tracker.py.
   tests/laws/invariants/test_invariants_cores.py compares the two. */
#include "invariants/invariants.h"
#include <structmember.h>

#define END_OF_TIME 1e15
#define MOST_PLANS 64 /* they are bits of a word */
#define RECENT 64     /* objects that had the last events, and names of these: powers of two */

/* How the object was before the last event. */
typedef struct {
    PyObject *id; /* NULL: no event yet */
    int writes;
    Field replaced;
    bool begun, over, broken;
    PyObject *snapshot, *asked;
    double deadline;
} PreviousState;

typedef struct {
    PyObject_HEAD
    Arena arena;
    PyObject *program;     /* keeps what the plans borrow */
    PyObject *object_kind; /* the class that holds ids of objects in Python: expressions.Ref */
    int plan_count, name_count, expression_count;
    KeyPlan *plans, *gone;
    PyObject *by_name;     /* numbers of the first plans */
    PyObject **names;      /* of fields */
    Expression **expressions;
    bool starts_begun;
    int on;
    double within;         /* 0: it knows no time */

    PyObject *objects;     /* by id, TrackedObject */
    TrackedObject *recent[RECENT]; /* some of them, by number: borrowed; or NULL */
    struct {
        PyObject *name;    /* or NULL */
        int kind;
        KeyPlan *plan;        /* NULL: it has none for these events */
    } recent_names[RECENT]; /* of events in brief, whose names are the same objects again and again */
    TrackedObject *first, *last;   /* of those with an obligation, the next deadline first */
    bool timed;
    double now;            /* the latest time that was seen */
    PreviousState previous;
    PyObject *number;      /* of the event that `previous` is about */
    PyObject *ended;       /* at the law's own end, since somebody asked */
    char reports_ends, plain;
    long long judgements, timeless;

    bool busy, violated;
    PyObject *host, *numbers; /* while it is fed: borrowed */
    Py_ssize_t at, stepped;   /* the present event; the last one that was a step of an object */
} InvariantTracker;

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static void object_dealloc(TrackedObject *object) {
    Py_XDECREF(object->id);
    Py_XDECREF(object->snapshot);
    Py_XDECREF(object->asked);
    for (Py_ssize_t i = 0; i < Py_SIZE(object); i++) field_drop(object->values[i]);
    PyObject_Free(object);
}

PyTypeObject TrackedObjectType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.TrackedObject",
    .tp_basicsize = sizeof(TrackedObject),
    .tp_itemsize = sizeof(Field),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The state of one object.",
    .tp_dealloc = (destructor)object_dealloc,
};

static TrackedObject **recent(InvariantTracker *self, Id number) { return &self->recent[number % RECENT]; }

static int object_remove(InvariantTracker *self, const TrackedObject *object) {
    if (*recent(self, object->number) == object) *recent(self, object->number) = NULL;
    return PyDict_DelItem(self->objects, object->id);
}

/* A new reference, or NULL. */
static TrackedObject *object_find(InvariantTracker *self, PyObject *event, PyObject *id) {
    Id number = is_lazy_event(event) ? ((LazyEvent *)event)->target : 0;
    TrackedObject *object = *recent(self, number);
    if (number && object != NULL && object->number == number) return (TrackedObject *)Py_NewRef(object);
    object = (TrackedObject *)Py_XNewRef(look_up(self->objects, id));
    if (number && object != NULL) *recent(self, number) = object;
    return object;
}

/* Puts a new one into the table, and gives a reference. */
static TrackedObject *object_new(InvariantTracker *self, PyObject *id) {
    TrackedObject *object = PyObject_NewVar(TrackedObject, &TrackedObjectType, self->name_count);
    if (object == NULL) return NULL;
    object->id = Py_NewRef(id);
    object->number = PyLong_CheckExact(id) ? PyLong_AsUnsignedLongLong(id) : 0;
    if (PyErr_Occurred()) { /* not an id of the tracer */
        PyErr_Clear();
        object->number = 0;
    }
    object->begun = self->starts_begun;
    object->over = object->broken = object->asked_python = false;
    object->snapshot = object->asked = NULL;
    object->sooner = object->later = NULL;
    for (int i = 0; i < self->name_count; i++) object->values[i] = UNKNOWN_FIELD;
    if (PyDict_SetItem(self->objects, id, (PyObject *)object) < 0) Py_CLEAR(object);
    return object;
}

static void previous_clear(PreviousState *previous) {
    Py_CLEAR(previous->id);
    Py_CLEAR(previous->snapshot);
    Py_CLEAR(previous->asked);
    field_set(&previous->replaced, UNKNOWN_FIELD);
}

/* ---- obligations ------------------------------------------------------------------------------------------------- */

static void unlink_obligation(InvariantTracker *self, TrackedObject *object) {
    *(object->sooner == NULL ? &self->first : &object->sooner->later) = object->later;
    *(object->later == NULL ? &self->last : &object->later->sooner) = object->sooner;
    object->sooner = object->later = NULL;
}

/* Takes the reference to the event. Deadlines come in order, but for those that are put back. */
static void add_obligation(InvariantTracker *self, TrackedObject *object, double deadline, PyObject *event) {
    TrackedObject *sooner = self->last;
    while (sooner != NULL && sooner->deadline > deadline) sooner = sooner->sooner;
    object->deadline = deadline;
    object->asked = event;
    object->sooner = sooner;
    object->later = sooner == NULL ? self->first : sooner->later;
    *(sooner == NULL ? &self->first : &sooner->later) = object;
    *(object->later == NULL ? &self->last : &object->later->sooner) = object;
}

/* The event that asked for it: a new reference; NULL if it owes nothing. */
static PyObject *remove_obligation(InvariantTracker *self, TrackedObject *object) {
    PyObject *event = object->asked;
    if (event == NULL) return NULL;
    object->asked = NULL;
    unlink_obligation(self, object);
    return event;
}

/* ---- calls of the host ------------------------------------------------------------------------------------------- */

static PyObject *python_value(InvariantTracker *self, Field field) {
    if (!field_is_id(field)) return Py_NewRef(field_object(field));
    return PyObject_CallOneArg(self->object_kind, field_object(field));
}

static PyObject *values_dict(InvariantTracker *self, const TrackedObject *object) {
    PyObject *values = PyDict_New();
    for (int i = 0; values != NULL && i < self->name_count; i++) {
        if (object->values[i] == UNKNOWN_FIELD) continue;
        PyObject *value = python_value(self, object->values[i]);
        if (value == NULL || PyDict_SetItem(values, self->names[i], value) < 0) Py_CLEAR(values);
        Py_XDECREF(value);
    }
    return values;
}

/* (key, event, values, field, what it replaced in a tuple, snapshot) */
static PyObject *step_tuple(InvariantTracker *self, const Step *step) {
    int writes = step->plan->writes;
    PyObject *replaced = step->replaced == UNKNOWN_FIELD ? PyTuple_New(0)
                                                         : Py_BuildValue("(N)", python_value(self, step->replaced));
    PyObject *field = writes < 0 ? PyUnicode_FromString("") : Py_NewRef(self->names[writes]);
    return Py_BuildValue("(ONNNNO)", step->plan->key, event_to_dict(step->event), values_dict(self, step->object), field,
                         replaced, step->snapshot == NULL ? Py_None : step->snapshot);
}

static PyObject *number_now(InvariantTracker *self) { return PySequence_GetItem(self->numbers, self->at); }

/* 1, 0, -1: it is not known; -2: error */
static int judge_in_python(InvariantTracker *self, int expression, Step *step, PyObject *if_unknown) {
    ((TrackedObject *)step->object)->asked_python = true;
    PyObject *answer = PyObject_CallMethod(self->host, "judge", "iNONO", expression, step_tuple(self, step),
                                           step->object->id, number_now(self), if_unknown);
    if (answer == NULL) return -2;
    int result = answer == Py_None ? -1 : answer == Py_True;
    Py_DECREF(answer);
    return result;
}

/* The same. If the expression raises, the answer is `if_unknown`: Py_True or Py_None. */
static inline int verdict(InvariantTracker *self, int expression, Step *step, PyObject *if_unknown) {
    switch (expression_truth(self->expressions[expression], step)) {
    case IS_TRUE: self->judgements++; return 1;
    case IS_FALSE: self->judgements++; return 0;
    case NOT_YET: return -1;
    default: return judge_in_python(self, expression, step, if_unknown);
    }
}

static inline int holds_at(InvariantTracker *self, int expression, Step *step, PyObject *if_unknown) {
    if (expression < 0) return 0;
    int result = verdict(self, expression, step, if_unknown);
    return result == -1 ? 0 : result;
}

static int answered(PyObject *answer) { /* takes the reference */
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static int report_violation(InvariantTracker *self, int expression, const Step *step) {
    self->violated = true;
    PyObject *id = step->object->id;
    return answered(PyObject_CallMethod(self->host, "violated", "iNO", expression, step_tuple(self, step), id));
}

/* Takes the reference to the event. */
static int report_overdue(InvariantTracker *self, PyObject *id, PyObject *asked, bool gone) {
    PyObject *event = event_to_dict(asked);
    Py_DECREF(asked);
    self->violated = true;
    return answered(PyObject_CallMethod(self->host, "overdue", "ONO", id, event, gone ? Py_True : Py_False));
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static bool time_of(PyObject *event, double *time) {
    if (is_lazy_event(event)) {
        *time = ((LazyEvent *)event)->time;
        return true;
    }
    PyObject *found = look_up(event, key_time);
    if (found == NULL) return false;
    if (PyFloat_CheckExact(found)) {
        *time = PyFloat_AS_DOUBLE(found);
    } else if (PyLong_CheckExact(found)) {
        int overflow;
        *time = (double)PyLong_AsLongLongAndOverflow(found, &overflow);
        if (overflow) return false;
    } else {
        return false;
    }
    return -END_OF_TIME < *time && *time < END_OF_TIME;
}

static int pass_time(InvariantTracker *self, PyObject *event) {
    double time;
    if (!time_of(event, &time)) {
        self->timeless++;
    } else if (!self->timed || time > self->now) {
        self->now = time;
        self->timed = true;
    }
    while (self->first != NULL && self->timed && self->now > self->first->deadline) {
        TrackedObject *object = (TrackedObject *)Py_NewRef(self->first);
        int result = report_overdue(self, object->id, remove_obligation(self, object), false);
        Py_DECREF(object);
        if (result < 0) return -1;
    }
    return 0;
}

static inline bool same_text(PyObject *a, PyObject *b) { return a == b || PyUnicode_Compare(a, b) == 0; }

static KeyPlan *plan_for(InvariantTracker *self, PyObject *kind, PyObject *name) {
    if (kind == NULL || !PyUnicode_CheckExact(kind)) return NULL;
    if (name != NULL && PyUnicode_CheckExact(name)) {
        PyObject *number = look_up(self->by_name, name);
        KeyPlan *plan = number == NULL ? NULL : self->plans + PyLong_AsLong(number);
        for (; plan != NULL; plan = plan->next)
            if (same_text(plan->kind, kind)) return plan;
    }
    return same_text(self->gone->kind, kind) ? self->gone : NULL;
}

static KeyPlan *plan_of(InvariantTracker *self, PyObject *event) {
    if (!is_lazy_event(event)) return plan_for(self, look_up(event, key_event), look_up(event, key_name));
    PyObject *name = ((LazyEvent *)event)->name;
    int kind = ((LazyEvent *)event)->kind;
    size_t home = (((uintptr_t)name >> 4) ^ ((uintptr_t)name >> 10) ^ (size_t)kind << 2) % RECENT;
    if (self->recent_names[home].name != name || self->recent_names[home].kind != kind) {
        self->recent_names[home].plan = plan_for(self, event_kinds[kind], name);
        self->recent_names[home].kind = kind;
        Py_XSETREF(self->recent_names[home].name, Py_NewRef(name));
    }
    return self->recent_names[home].plan;
}

static int judge_state(InvariantTracker *self, const KeyPlan *plan, TrackedObject *object, Step *step) {
    if (self->on >= 0) {
        int on = holds_at(self, self->on, step, Py_None);
        if (on <= 0) return on;
    }
    int holds = verdict(self, plan->state, step, Py_None);
    if (holds < 0) return holds == -1 ? 0 : -1;
    /* A state that stays broken is one violation, until it holds again; each call that should not be is another. */
    bool again = object->broken && plan->writes >= 0;
    object->broken = !holds;
    return !holds && !again ? report_violation(self, plan->state, step) : 0;
}

static int judge_transition(InvariantTracker *self, const KeyPlan *plan, TrackedObject *object, Step *step) {
    PyObject *previous = NULL;
    if (self->on >= 0) {
        int on = holds_at(self, self->on, step, Py_None);
        if (on <= 0) return on;
        PyObject *values = values_dict(self, object);
        if (values == NULL) return -1;
        previous = object->snapshot;
        object->snapshot = values;
        if (previous == NULL) return 0;
        step->snapshot = previous;
    }
    int holds = verdict(self, plan->transition, step, Py_None);
    int result = holds == 0 ? report_violation(self, plan->transition, step) : holds == -2 ? -1 : 0;
    step->snapshot = NULL;
    Py_XDECREF(previous);
    return result;
}

static int end_judging(InvariantTracker *self, TrackedObject *object) {
    Py_XDECREF(remove_obligation(self, object));
    object->broken = object->begun = false;
    Py_XSETREF(object->snapshot, NULL);
    object->over = self->starts_begun;
    return self->reports_ends ? PyList_Append(self->ended, object->id) : 0;
}

static int judge(InvariantTracker *self, const KeyPlan *plan, TrackedObject *object, Step *step) {
    int holds;
    if (!object->begun) {
        holds = holds_at(self, plan->begins, step, Py_None);
        if (holds <= 0) return holds;
        object->begun = true;
    }
    if (plan->state >= 0) {
        if (judge_state(self, plan, object, step) < 0) return -1;
    } else if (plan->transition >= 0) {
        if (judge_transition(self, plan, object, step) < 0) return -1;
    } else if (object->asked != NULL) {
        holds = holds_at(self, plan->pays, step, Py_True);
        if (holds < 0) return -1;
        if (holds) Py_XDECREF(remove_obligation(self, object));
    }
    holds = holds_at(self, plan->ends, step, Py_True);
    if (holds < 0) return -1;
    if (holds) return end_judging(self, object);
    holds = holds_at(self, plan->asks, step, Py_None);
    if (holds < 0) return -1;
    /* An earlier obligation is due sooner. A step that fulfils it may begin a new one. */
    if (holds && self->timed && self->within > 0 && object->asked == NULL)
        add_obligation(self, object, self->now + self->within, Py_NewRef(step->event));
    return 0;
}

static int report_unjudged(InvariantTracker *self, PyObject *id) {
    return answered(PyObject_CallMethod(self->host, "unjudged", "O", id));
}

static int object_gone(InvariantTracker *self, TrackedObject *object) {
    PyObject *event = remove_obligation(self, object);
    if (event != NULL && report_overdue(self, object->id, event, true) < 0) return -1;
    if (object_remove(self, object) < 0) PyErr_Clear();
    for (int i = 0; self->plain && i < self->name_count; i++) {
        if (object->values[i] != UNKNOWN_FIELD) continue;
        if (report_unjudged(self, object->id) < 0) return -1;
        break;
    }
    return object->asked_python ? answered(PyObject_CallMethod(self->host, "departs", "O", object->id)) : 0;
}

static int step_object(InvariantTracker *self, KeyPlan *plan, TrackedObject *object, PyObject *event) {
    PreviousState *previous = &self->previous;
    Step step = {.plan = plan, .object = object, .event = event, .names = self->names};
    plan->seen = true;
    Py_XSETREF(previous->id, Py_NewRef(object->id));
    Py_XSETREF(previous->snapshot, Py_XNewRef(object->snapshot));
    Py_XSETREF(previous->asked, Py_XNewRef(object->asked));
    previous->deadline = object->deadline;
    previous->begun = object->begun;
    previous->over = object->over;
    previous->broken = object->broken;
    previous->writes = plan->writes;
    field_set(&previous->replaced, UNKNOWN_FIELD);
    if (plan->writes >= 0) {
        previous->replaced = object->values[plan->writes];
        object->values[plan->writes] = field_keep(event_value(event));
        step.replaced = field_keep(previous->replaced);
    }
    int result = object->over ? 0 : judge(self, plan, object, &step);
    field_drop(step.replaced);
    if (result == 0 && plan->gone) result = object_gone(self, object);
    return result;
}

/* The event in `at`. -1: error */
static int take(InvariantTracker *self, PyObject *event) {
    if (!PyDict_Check(event) && !is_lazy_event(event)) {
        PyErr_Format(PyExc_TypeError, "an event is a dict, as JSON gives it, not %s", Py_TYPE(event)->tp_name);
        return -1;
    }
    if (self->within > 0 && pass_time(self, event) < 0) return -1;
    KeyPlan *plan = plan_of(self, event);
    if (plan == NULL) return PyErr_Occurred() ? -1 : 0;
    PyObject *target = is_lazy_event(event) ? lazy_event_target((LazyEvent *)event) : look_up(event, key_target);
    if (target == NULL) return PyErr_Occurred() ? -1 : 0;
    if (!PyLong_CheckExact(target) && !PyUnicode_CheckExact(target)) return 0;
    TrackedObject *object = object_find(self, event, target);
    if (object == NULL) {
        if (plan->gone) /* of another class, or without any event before */
            return self->plain && self->reports_ends ? report_unjudged(self, target) : 0;
        object = object_new(self, target);
        if (object == NULL) return -1;
    }
    self->stepped = self->at;
    int result = step_object(self, plan, object, event);
    Py_DECREF(object);
    return result;
}

/* The number of the event that `previous` is about is looked up when all of them are through. */
static void note_number(InvariantTracker *self) {
    PyObject *type, *value, *trace;
    if (self->stepped < 0) return;
    PyErr_Fetch(&type, &value, &trace);
    Py_XSETREF(self->number, PySequence_GetItem(self->numbers, self->stepped));
    PyErr_Restore(type, value, trace);
}

static int usable(InvariantTracker *self) {
    if (!self->busy) return 0;
    PyErr_SetString(PyExc_RuntimeError, "a monitor takes one event after the other: it is in use already");
    return -1;
}

static PyObject *invariant_feed(InvariantTracker *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyList_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "feed takes a host, a list of events, and their numbers");
        return NULL;
    }
    PyObject *events = args[1];
    Py_ssize_t given = PySequence_Size(args[2]);
    if (given < 0 || usable(self) < 0) return NULL;
    if (given != PyList_GET_SIZE(events)) {
        PyErr_SetString(PyExc_ValueError, "there is not one number for each event");
        return NULL;
    }
    self->host = args[0];
    self->numbers = args[2];
    self->stepped = -1;
    self->violated = false;
    self->busy = true;
    int result = 0;
    for (self->at = 0; self->at < PyList_GET_SIZE(events); self->at++) {
        PyObject *event = Py_NewRef(PyList_GET_ITEM(events, self->at));
        result = take(self, event);
        Py_DECREF(event);
        if (result < 0 || self->violated) break;
        if ((self->at & 4095) == 4095 && (result = PyErr_CheckSignals()) < 0) break;
    }
    note_number(self);
    self->busy = false;
    self->host = self->numbers = NULL;
    return result < 0 ? NULL : PyLong_FromSsize_t(self->violated ? self->at : -1);
}

/* ---- objects, from outside --------------------------------------------------------------------------------------- */

static void put_back(InvariantTracker *self, TrackedObject *object) {
    PreviousState *previous = &self->previous;
    if (previous->writes >= 0) {
        field_set(&object->values[previous->writes], previous->replaced);
        previous->replaced = UNKNOWN_FIELD;
    }
    object->begun = previous->begun;
    object->over = previous->over;
    object->broken = previous->broken;
    Py_XSETREF(object->snapshot, Py_XNewRef(previous->snapshot));
    if (object->asked == previous->asked && (previous->asked == NULL || object->deadline == previous->deadline)) return;
    Py_XDECREF(remove_obligation(self, object));
    if (previous->asked != NULL) add_obligation(self, object, previous->deadline, Py_NewRef(previous->asked));
}

static PyObject *invariant_prevented(InvariantTracker *self, PyObject *number) {
    if (usable(self) < 0) return NULL;
    int same = self->previous.id == NULL || self->number == NULL ? 0 : PyObject_RichCompareBool(self->number, number, Py_EQ);
    if (same < 0) return NULL;
    TrackedObject *object = same ? (TrackedObject *)Py_XNewRef(look_up(self->objects, self->previous.id)) : NULL;
    if (object != NULL) put_back(self, object);
    Py_XDECREF(object);
    previous_clear(&self->previous);
    Py_RETURN_NONE;
}

static PyObject *invariant_forget(InvariantTracker *self, PyObject *id) {
    if (usable(self) < 0) return NULL;
    TrackedObject *object = (TrackedObject *)PyDict_GetItemWithError(self->objects, id);
    if (object == NULL) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_XDECREF(remove_obligation(self, object));
    if (object_remove(self, object) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *invariant_owes(InvariantTracker *self, PyObject *id) {
    TrackedObject *object = (TrackedObject *)PyDict_GetItemWithError(self->objects, id);
    if (object == NULL && PyErr_Occurred()) return NULL;
    return PyBool_FromLong(object != NULL && object->asked != NULL);
}

static PyObject *invariant_take_ended(InvariantTracker *self, PyObject *Py_UNUSED(unused)) {
    self->reports_ends = 1;
    if (PyList_GET_SIZE(self->ended) == 0) return PyList_New(0);
    PyObject *fresh = PyList_New(0), *ended = self->ended;
    if (fresh == NULL) return NULL;
    self->ended = fresh;
    return ended;
}

static int invariant_contains(InvariantTracker *self, PyObject *id) { return PyDict_Contains(self->objects, id); }

/* ---- out and in -------------------------------------------------------------------------------------------------- */

static PyObject *truth(bool value) { return value ? Py_True : Py_False; }

static PyObject *dump_objects(InvariantTracker *self) {
    PyObject *found = PyDict_New(), *id, *each;
    Py_ssize_t place = 0;
    while (found != NULL && PyDict_Next(self->objects, &place, &id, &each)) {
        TrackedObject *object = (TrackedObject *)each;
        PyObject *values = values_dict(self, object), *all = NULL;
        if (values != NULL)
            all = PyTuple_Pack(5, truth(object->begun), truth(object->over), truth(object->broken), values,
                               object->snapshot == NULL ? Py_None : object->snapshot);
        Py_XDECREF(values);
        if (all == NULL || PyDict_SetItem(found, id, all) < 0) Py_CLEAR(found);
        Py_XDECREF(all);
    }
    return found;
}

static PyObject *invariant_dump(InvariantTracker *self, PyObject *Py_UNUSED(unused)) {
    if (usable(self) < 0) return NULL;
    PyObject *objects = dump_objects(self), *obligations = objects == NULL ? NULL : PyDict_New();
    for (TrackedObject *object = self->first; obligations != NULL && object != NULL; object = object->later) {
        PyObject *event = event_to_dict(object->asked);
        PyObject *obligation = event == NULL ? NULL : Py_BuildValue("(dN)", object->deadline, event);
        if (obligation == NULL || PyDict_SetItem(obligations, object->id, obligation) < 0) Py_CLEAR(obligations);
        Py_XDECREF(obligation);
    }
    if (obligations == NULL) {
        Py_XDECREF(objects);
        return NULL;
    }
    return Py_BuildValue("(NN)", objects, obligations);
}

/* An object of expressions.Ref is its id again. Takes the reference; UNKNOWN_FIELD: error */
static Field field_from(InvariantTracker *self, PyObject *value) {
    if (Py_TYPE(value) != (PyTypeObject *)self->object_kind) return (Field)value;
    PyObject *id = PyObject_GetAttrString(value, "id");
    Py_DECREF(value);
    return id == NULL ? UNKNOWN_FIELD : (Field)id | 1;
}

static int load_object(InvariantTracker *self, PyObject *id, PyObject *state, PyObject *asked_python) {
    int begun, over, broken, asked;
    PyObject *values, *snapshot;
    if (!PyArg_ParseTuple(state, "pppO!O", &begun, &over, &broken, &PyDict_Type, &values, &snapshot)) return -1;
    asked = PySequence_Contains(asked_python, id);
    TrackedObject *object = asked < 0 ? NULL : object_new(self, id);
    if (object == NULL) return -1;
    object->begun = begun;
    object->over = over;
    object->broken = broken;
    object->asked_python = asked;
    object->snapshot = snapshot == Py_None ? NULL : Py_NewRef(snapshot);
    int result = 0;
    for (int i = 0; result == 0 && i < self->name_count; i++) {
        PyObject *value = look_up(values, self->names[i]);
        if (value == NULL) continue;
        object->values[i] = field_from(self, Py_NewRef(value));
        if (object->values[i] == UNKNOWN_FIELD) result = -1;
    }
    Py_DECREF(object);
    return result;
}

static PyObject *invariant_load(InvariantTracker *self, PyObject *args) {
    PyObject *objects, *obligations, *asked_python, *seen, *now, *id, *state;
    if (!PyArg_ParseTuple(args, "O!O!OOLO:load", &PyDict_Type, &objects, &PyDict_Type, &obligations, &asked_python, &seen,
                          &self->timeless, &now))
        return NULL;
    for (int i = 0; i < self->plan_count; i++) {
        int there = PySequence_Contains(seen, self->plans[i].key);
        if (there < 0) return NULL;
        self->plans[i].seen = there;
    }
    self->timed = now != Py_None;
    self->now = self->timed ? PyFloat_AsDouble(now) : 0;
    if (PyErr_Occurred()) return NULL;
    Py_ssize_t place = 0;
    while (PyDict_Next(objects, &place, &id, &state))
        if (load_object(self, id, state, asked_python) < 0) return NULL;
    place = 0;
    while (PyDict_Next(obligations, &place, &id, &state)) {
        double deadline;
        PyObject *event;
        if (!PyArg_ParseTuple(state, "dO", &deadline, &event)) return NULL;
        TrackedObject *object = (TrackedObject *)look_up(self->objects, id);
        if (object != NULL && object->asked == NULL) add_obligation(self, object, deadline, Py_NewRef(event));
    }
    Py_RETURN_NONE;
}

static PyObject *invariant_observed(InvariantTracker *self, PyObject *Py_UNUSED(unused)) {
    PyObject *seen = PySet_New(NULL), *now = self->timed ? PyFloat_FromDouble(self->now) : Py_NewRef(Py_None);
    for (int i = 0; seen != NULL && i < self->plan_count; i++)
        if (self->plans[i].seen && PySet_Add(seen, self->plans[i].key) < 0) Py_CLEAR(seen);
    return Py_BuildValue("(NLLN)", seen, self->judgements, self->timeless, now);
}

/* ---- a rule ------------------------------------------------------------------------------------------------------ */

static bool in_range(InvariantTracker *self, int expression) { return expression >= -1 && expression < self->expression_count; }

static int parse_plan(InvariantTracker *self, KeyPlan *plan, PyObject *given) {
    PyObject *kind, *name;
    if (!PyArg_ParseTuple(given, "O!iiiiiii", &PyTuple_Type, &plan->key, &plan->writes, &plan->begins, &plan->state,
                          &plan->transition, &plan->pays, &plan->ends, &plan->asks) ||
        !PyArg_ParseTuple(plan->key, "UU", &kind, &name))
        return -1;
    if (!in_range(self, plan->begins) || !in_range(self, plan->state) || !in_range(self, plan->transition) ||
        !in_range(self, plan->pays) || !in_range(self, plan->ends) || !in_range(self, plan->asks) ||
        plan->writes < -1 || plan->writes >= self->name_count) {
        PyErr_SetString(PyExc_ValueError, "a plan names what is not there");
        return -1;
    }
    plan->kind = kind;
    plan->gone = PyUnicode_CompareWithASCIIString(kind, "gone") == 0;
    plan->returns = PyUnicode_CompareWithASCIIString(kind, "func_post") == 0;
    plan->calls = plan->returns || PyUnicode_CompareWithASCIIString(kind, "func_pre") == 0 ||
                  PyUnicode_CompareWithASCIIString(kind, "func_raise") == 0;
    if (plan->gone) self->gone = plan;
    PyObject *first = look_up(self->by_name, name);
    if (first != NULL) {
        KeyPlan *other = self->plans + PyLong_AsLong(first);
        plan->next = other->next;
        other->next = plan;
        return 0;
    }
    PyObject *number = PyLong_FromLong(plan->number);
    int result = number == NULL ? -1 : PyDict_SetItem(self->by_name, name, number);
    Py_XDECREF(number);
    return result;
}

static int parse_program(InvariantTracker *self) {
    PyObject *plans, *names, *expressions;
    int from;
    if (!PyArg_ParseTuple(self->program, "O!O!O!pid", &PyTuple_Type, &plans, &PyTuple_Type, &names, &PyTuple_Type,
                          &expressions, &from, &self->on, &self->within))
        return -1;
    self->starts_begun = !from;
    self->plan_count = (int)PyTuple_GET_SIZE(plans);
    self->name_count = (int)PyTuple_GET_SIZE(names);
    self->expression_count = (int)PyTuple_GET_SIZE(expressions);
    self->plans = arena_alloc(&self->arena, sizeof *self->plans * (size_t)(self->plan_count + 1));
    self->names = arena_alloc(&self->arena, sizeof *self->names * (size_t)(self->name_count + 1));
    self->expressions = arena_alloc(&self->arena, sizeof *self->expressions * (size_t)(self->expression_count + 1));
    if (self->plans == NULL || self->names == NULL || self->expressions == NULL) return -1;
    for (int i = 0; i < self->name_count; i++) self->names[i] = PyTuple_GET_ITEM(names, i);
    for (int i = 0; i < self->expression_count; i++)
        if ((self->expressions[i] = expression_parse(&self->arena, PyTuple_GET_ITEM(expressions, i), self->name_count)) ==
            NULL)
            return -1;
    for (int i = 0; i < self->plan_count; i++) {
        self->plans[i].number = i;
        if (parse_plan(self, self->plans + i, PyTuple_GET_ITEM(plans, i)) < 0) return -1;
    }
    if (self->gone == NULL || self->plan_count > MOST_PLANS || !in_range(self, self->on)) {
        PyErr_SetString(PyExc_ValueError, "a rule has a plan for the end of objects, and not too many others");
        return -1;
    }
    return 0;
}

static PyObject *invariant_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs)) {
    PyObject *program, *object_kind;
    if (!PyArg_ParseTuple(args, "O!O!:InvariantTracker", &PyTuple_Type, &program, &PyType_Type, &object_kind)) return NULL;
    if (expression_setup() < 0) return NULL;
    InvariantTracker *self = (InvariantTracker *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->program = Py_NewRef(program);
    self->object_kind = Py_NewRef(object_kind);
    if (arena_init(&self->arena) < 0 || (self->by_name = PyDict_New()) == NULL ||
        (self->objects = PyDict_New()) == NULL || (self->ended = PyList_New(0)) == NULL || parse_program(self) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void invariant_dealloc(InvariantTracker *self) {
    self->first = self->last = NULL;
    for (int i = 0; i < RECENT; i++) Py_XDECREF(self->recent_names[i].name);
    Py_CLEAR(self->objects);
    previous_clear(&self->previous);
    Py_CLEAR(self->number);
    Py_CLEAR(self->ended);
    Py_CLEAR(self->by_name);
    arena_free(&self->arena);
    Py_CLEAR(self->program);
    Py_CLEAR(self->object_kind);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef invariant_methods[] = {
    {"feed", (PyCFunction)(void (*)(void))invariant_feed, METH_FASTCALL,
     "feed(host, events, numbers)\n--\n\nTake events up to one that breaks it; the place of that one, or -1."},
    {"prevented", (PyCFunction)invariant_prevented, METH_O,
     "prevented(number)\n--\n\nGo back to before the event of this number, if it is the last."},
    {"forget", (PyCFunction)invariant_forget, METH_O, "forget(id)\n--\n\nStop following an object."},
    {"owes", (PyCFunction)invariant_owes, METH_O, "owes(id)\n--\n\nMust something follow of an object?"},
    {"take_ended", (PyCFunction)invariant_take_ended, METH_NOARGS,
     "take_ended()\n--\n\nObjects that came to the law's own end since this was last asked; to ask turns it on."},
    {"observed", (PyCFunction)invariant_observed, METH_NOARGS,
     "observed()\n--\n\nThe keys of all steps, how often it judged, events without a time, the latest time."},
    {"dump", (PyCFunction)invariant_dump, METH_NOARGS, "dump()\n--\n\nAll objects, and their obligations."},
    {"load", (PyCFunction)invariant_load, METH_VARARGS,
     "load(objects, obligations, asked_python, seen, timeless, now)\n--\n\nTake over a state, at the beginning."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef invariant_members[] = {
    {"ended", T_OBJECT_EX, offsetof(InvariantTracker, ended), READONLY, "Objects that came to the law's own end."},
    {"reports_ends", T_BOOL, offsetof(InvariantTracker, reports_ends), 0, "Does somebody ask?"},
    {"plain", T_BOOL, offsetof(InvariantTracker, plain), 0, "Was an object judged exactly if all its fields are known?"},
    {NULL, 0, 0, 0, NULL},
};

static PySequenceMethods invariant_sequence = {.sq_contains = (objobjproc)invariant_contains};

PyTypeObject InvariantTrackerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.InvariantTracker",
    .tp_basicsize = sizeof(InvariantTracker),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "InvariantTracker(program, object_kind)\n--\n\nThe running state of one invariant.",
    .tp_new = invariant_new,
    .tp_dealloc = (destructor)invariant_dealloc,
    .tp_methods = invariant_methods,
    .tp_members = invariant_members,
    .tp_as_sequence = &invariant_sequence,
};

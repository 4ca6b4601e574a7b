/* One invariant on the objects that it is about: what is known of each, what it still owes, and what was broken.

   What is rare - a violation, an expression over strange values - is handed to a host, which is Python's half of this. */
#include "invariants/invariants.h"
#include <structmember.h>

#define END_OF_TIME 1e15
#define MOST_PLANS 64 /* they are bits of a word */
#define LATELY 64     /* objects that had the last events, and names of these: powers of two */

/* How it was before the last event. */
typedef struct {
    PyObject *id; /* NULL: there is none */
    int writes;
    Field replaced;
    bool begun, over, broken;
    PyObject *snapshot, *asked;
    double deadline;
} Before;

typedef struct {
    PyObject_HEAD
    Arena arena;
    PyObject *program;     /* keeps what the plans borrow */
    PyObject *object_kind; /* what is made of ids of objects for Python: expressions.Ref */
    int plan_count, name_count, expression_count;
    Plan *plans, *gone;
    PyObject *by_name;     /* numbers of the first plans */
    PyObject **names;      /* of fields */
    Expression **expressions;
    bool starts_begun;
    int on;
    double within;         /* 0: it knows no time */

    PyObject *objects;     /* by id, Known */
    Known *lately[LATELY]; /* some of them, by number: borrowed; or NULL */
    struct {
        PyObject *name;    /* or NULL */
        int kind;
        Plan *plan;        /* NULL: it has none for these events */
    } names_lately[LATELY]; /* of events in brief, whose names are the same objects again and again */
    Known *first, *last;   /* of those that owe something, the next deadline first */
    bool timed;
    double now;            /* the latest time that was seen */
    Before before;
    PyObject *number;      /* of the event that `before` is about */
    PyObject *ended;       /* at the law's own end, since somebody asked */
    char tells_ends, plain;
    long long judgements, timeless;

    bool busy, offended;
    PyObject *host, *numbers; /* while it is fed: borrowed */
    Py_ssize_t at, stepped;   /* the present event; the last one that was a step of an object */
} Invariant;

/* ---- objects ------------------------------------------------------------------------------------------------------- */

static void known_dealloc(Known *known) {
    Py_XDECREF(known->id);
    Py_XDECREF(known->snapshot);
    Py_XDECREF(known->asked);
    for (Py_ssize_t i = 0; i < Py_SIZE(known); i++) field_drop(known->values[i]);
    PyObject_Free(known);
}

PyTypeObject KnownType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Known",
    .tp_basicsize = sizeof(Known),
    .tp_itemsize = sizeof(Field),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "What is known of one object.",
    .tp_dealloc = (destructor)known_dealloc,
};

static Known **lately(Invariant *self, Id number) { return &self->lately[number % LATELY]; }

static int known_remove(Invariant *self, const Known *known) {
    if (*lately(self, known->number) == known) *lately(self, known->number) = NULL;
    return PyDict_DelItem(self->objects, known->id);
}

/* A new reference, or NULL. */
static Known *known_find(Invariant *self, PyObject *event, PyObject *id) {
    Id number = is_lazy_event(event) ? ((LazyEvent *)event)->target : 0;
    Known *known = *lately(self, number);
    if (number && known != NULL && known->number == number) return (Known *)Py_NewRef(known);
    known = (Known *)Py_XNewRef(look_up(self->objects, id));
    if (number && known != NULL) *lately(self, number) = known;
    return known;
}

/* Puts a new one into the table, and gives a reference. */
static Known *known_new(Invariant *self, PyObject *id) {
    Known *known = PyObject_NewVar(Known, &KnownType, self->name_count);
    if (known == NULL) return NULL;
    known->id = Py_NewRef(id);
    known->number = PyLong_CheckExact(id) ? PyLong_AsUnsignedLongLong(id) : 0;
    if (PyErr_Occurred()) { /* it is none of a tracer's */
        PyErr_Clear();
        known->number = 0;
    }
    known->begun = self->starts_begun;
    known->over = known->broken = known->doubted = false;
    known->snapshot = known->asked = NULL;
    known->sooner = known->later = NULL;
    for (int i = 0; i < self->name_count; i++) known->values[i] = UNKNOWN_FIELD;
    if (PyDict_SetItem(self->objects, id, (PyObject *)known) < 0) Py_CLEAR(known);
    return known;
}

static void set_object(PyObject **place, PyObject *value) { /* takes the reference */
    PyObject *old = *place;
    *place = value;
    Py_XDECREF(old);
}

static void before_clear(Before *before) {
    Py_CLEAR(before->id);
    Py_CLEAR(before->snapshot);
    Py_CLEAR(before->asked);
    Field replaced = before->replaced;
    before->replaced = UNKNOWN_FIELD;
    field_drop(replaced);
}

/* ---- debts --------------------------------------------------------------------------------------------------------- */

static void unlink_debt(Invariant *self, Known *known) {
    *(known->sooner == NULL ? &self->first : &known->sooner->later) = known->later;
    *(known->later == NULL ? &self->last : &known->later->sooner) = known->sooner;
    known->sooner = known->later = NULL;
}

/* Takes the reference to the event. Deadlines come in order, but for those that are put back. */
static void owe(Invariant *self, Known *known, double deadline, PyObject *event) {
    Known *sooner = self->last;
    while (sooner != NULL && sooner->deadline > deadline) sooner = sooner->sooner;
    known->deadline = deadline;
    known->asked = event;
    known->sooner = sooner;
    known->later = sooner == NULL ? self->first : sooner->later;
    *(sooner == NULL ? &self->first : &sooner->later) = known;
    *(known->later == NULL ? &self->last : &known->later->sooner) = known;
}

/* The event that asked for it: a new reference; NULL if it owes nothing. */
static PyObject *pay(Invariant *self, Known *known) {
    PyObject *event = known->asked;
    if (event == NULL) return NULL;
    known->asked = NULL;
    unlink_debt(self, known);
    return event;
}

/* ---- what the host is told, and asked --------------------------------------------------------------------------------- */

static PyObject *python_value(Invariant *self, Field field) {
    if (!field_is_id(field)) return Py_NewRef(field_object(field));
    return PyObject_CallOneArg(self->object_kind, field_object(field));
}

static PyObject *values_dict(Invariant *self, const Known *known) {
    PyObject *values = PyDict_New();
    for (int i = 0; values != NULL && i < self->name_count; i++) {
        if (known->values[i] == UNKNOWN_FIELD) continue;
        PyObject *value = python_value(self, known->values[i]);
        if (value == NULL || PyDict_SetItem(values, self->names[i], value) < 0) Py_CLEAR(values);
        Py_XDECREF(value);
    }
    return values;
}

/* (key, event, values, field, what it replaced in a tuple, snapshot) */
static PyObject *step_tuple(Invariant *self, const Step *step) {
    int writes = step->plan->writes;
    PyObject *replaced = step->replaced == UNKNOWN_FIELD ? NULL : python_value(self, step->replaced);
    if (replaced == NULL && step->replaced != UNKNOWN_FIELD) return NULL;
    PyObject *all = replaced == NULL ? PyTuple_New(0) : PyTuple_Pack(1, replaced);
    Py_XDECREF(replaced);
    PyObject *values = all == NULL ? NULL : values_dict(self, step->known);
    PyObject *event = values == NULL ? NULL : event_to_dict(step->event);
    PyObject *field = writes < 0 ? PyUnicode_FromString("") : Py_NewRef(self->names[writes]);
    PyObject *found = NULL;
    if (event != NULL && field != NULL)
        found = PyTuple_Pack(6, step->plan->key, event, values, field, all,
                             step->snapshot == NULL ? Py_None : step->snapshot);
    Py_XDECREF(all);
    Py_XDECREF(event);
    Py_XDECREF(values);
    Py_XDECREF(field);
    return found;
}

static PyObject *number_now(Invariant *self) { return PySequence_GetItem(self->numbers, self->at); }

/* 1, 0, -1: it cannot be told; -2: error */
static int ask_host(Invariant *self, int expression, Step *step, PyObject *if_unknown) {
    ((Known *)step->known)->doubted = true;
    PyObject *parts = step_tuple(self, step), *number = number_now(self), *answer = NULL;
    if (parts != NULL && number != NULL)
        answer = PyObject_CallMethod(self->host, "ask", "iOOOO", expression, parts, step->known->id, number, if_unknown);
    Py_XDECREF(parts);
    Py_XDECREF(number);
    if (answer == NULL) return -2;
    int result = answer == Py_None ? -1 : answer == Py_True;
    Py_DECREF(answer);
    return result;
}

/* The same. If the expression raises, the answer is `if_unknown`: Py_True or Py_None. */
static inline int verdict(Invariant *self, int expression, Step *step, PyObject *if_unknown) {
    switch (expression_truth(self->expressions[expression], step)) {
    case IS_TRUE: self->judgements++; return 1;
    case IS_FALSE: self->judgements++; return 0;
    case NOT_YET: return -1;
    default: return ask_host(self, expression, step, if_unknown);
    }
}

static inline int holds_at(Invariant *self, int expression, Step *step, PyObject *if_unknown) {
    if (expression < 0) return 0;
    int result = verdict(self, expression, step, if_unknown);
    return result == -1 ? 0 : result;
}

static int told(Invariant *self, PyObject *answer) {
    self->offended = true;
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static int offend(Invariant *self, int expression, const Step *step) {
    PyObject *parts = step_tuple(self, step);
    if (parts == NULL) return -1;
    PyObject *answer = PyObject_CallMethod(self->host, "offend", "iOO", expression, parts, step->known->id);
    Py_DECREF(parts);
    return told(self, answer);
}

/* Takes the reference to the event. */
static int owed(Invariant *self, PyObject *id, PyObject *asked, bool gone) {
    PyObject *event = event_to_dict(asked);
    Py_DECREF(asked);
    if (event == NULL) return -1;
    int result = told(self, PyObject_CallMethod(self->host, "owe", "OOO", id, event, gone ? Py_True : Py_False));
    Py_DECREF(event);
    return result;
}

/* ---- events -------------------------------------------------------------------------------------------------------- */

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

static int pass_time(Invariant *self, PyObject *event) {
    double time;
    if (!time_of(event, &time)) {
        self->timeless++;
    } else if (!self->timed || time > self->now) {
        self->now = time;
        self->timed = true;
    }
    while (self->first != NULL && self->timed && self->now > self->first->deadline) {
        Known *known = (Known *)Py_NewRef(self->first);
        int result = owed(self, known->id, pay(self, known), false);
        Py_DECREF(known);
        if (result < 0) return -1;
    }
    return 0;
}

static inline bool same_text(PyObject *a, PyObject *b) { return a == b || PyUnicode_Compare(a, b) == 0; }

static Plan *plan_for(Invariant *self, PyObject *kind, PyObject *name) {
    if (kind == NULL || !PyUnicode_CheckExact(kind)) return NULL;
    if (name != NULL && PyUnicode_CheckExact(name)) {
        PyObject *number = look_up(self->by_name, name);
        Plan *plan = number == NULL ? NULL : self->plans + PyLong_AsLong(number);
        for (; plan != NULL; plan = plan->next)
            if (same_text(plan->kind, kind)) return plan;
    }
    return same_text(self->gone->kind, kind) ? self->gone : NULL;
}

static Plan *plan_of(Invariant *self, PyObject *event) {
    if (!is_lazy_event(event)) return plan_for(self, look_up(event, key_event), look_up(event, key_name));
    PyObject *name = ((LazyEvent *)event)->name;
    int kind = ((LazyEvent *)event)->kind;
    size_t home = (((uintptr_t)name >> 4) ^ ((uintptr_t)name >> 10) ^ (size_t)kind << 2) % LATELY;
    if (self->names_lately[home].name != name || self->names_lately[home].kind != kind) {
        self->names_lately[home].plan = plan_for(self, event_kinds[kind], name);
        self->names_lately[home].kind = kind;
        Py_XSETREF(self->names_lately[home].name, Py_NewRef(name));
    }
    return self->names_lately[home].plan;
}

static int judge_state(Invariant *self, const Plan *plan, Known *known, Step *step) {
    if (self->on >= 0) {
        int on = holds_at(self, self->on, step, Py_None);
        if (on <= 0) return on;
    }
    int holds = verdict(self, plan->state, step, Py_None);
    if (holds < 0) return holds == -1 ? 0 : -1;
    /* A state that stays broken is one violation, until it holds again; each call that should not be is another. */
    bool again = known->broken && plan->writes >= 0;
    known->broken = !holds;
    return !holds && !again ? offend(self, plan->state, step) : 0;
}

static int judge_transition(Invariant *self, const Plan *plan, Known *known, Step *step) {
    PyObject *before = NULL;
    if (self->on >= 0) {
        int on = holds_at(self, self->on, step, Py_None);
        if (on <= 0) return on;
        PyObject *values = values_dict(self, known);
        if (values == NULL) return -1;
        before = known->snapshot;
        known->snapshot = values;
        if (before == NULL) return 0;
        step->snapshot = before;
    }
    int holds = verdict(self, plan->transition, step, Py_None);
    int result = holds == 0 ? offend(self, plan->transition, step) : holds == -2 ? -1 : 0;
    step->snapshot = NULL;
    Py_XDECREF(before);
    return result;
}

static int end_judging(Invariant *self, Known *known) {
    Py_XDECREF(pay(self, known));
    known->broken = known->begun = false;
    set_object(&known->snapshot, NULL);
    known->over = self->starts_begun;
    return self->tells_ends ? PyList_Append(self->ended, known->id) : 0;
}

static int judge(Invariant *self, const Plan *plan, Known *known, Step *step) {
    int holds;
    if (!known->begun) {
        holds = holds_at(self, plan->begins, step, Py_None);
        if (holds <= 0) return holds;
        known->begun = true;
    }
    if (plan->state >= 0) {
        if (judge_state(self, plan, known, step) < 0) return -1;
    } else if (plan->transition >= 0) {
        if (judge_transition(self, plan, known, step) < 0) return -1;
    } else if (known->asked != NULL) {
        holds = holds_at(self, plan->pays, step, Py_True);
        if (holds < 0) return -1;
        if (holds) Py_XDECREF(pay(self, known));
    }
    holds = holds_at(self, plan->ends, step, Py_True);
    if (holds < 0) return -1;
    if (holds) return end_judging(self, known);
    holds = holds_at(self, plan->asks, step, Py_None);
    if (holds < 0) return -1;
    /* What was owed before is due sooner. What pays for all so far does not pay for what it asks for itself. */
    if (holds && self->timed && self->within > 0 && known->asked == NULL)
        owe(self, known, self->now + self->within, Py_NewRef(step->event));
    return 0;
}

static int doubt(Invariant *self, PyObject *id) {
    PyObject *answer = PyObject_CallMethod(self->host, "doubt", "O", id);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static int depart(Invariant *self, Known *known) {
    PyObject *event = pay(self, known);
    if (event != NULL && owed(self, known->id, event, true) < 0) return -1;
    if (known_remove(self, known) < 0) PyErr_Clear();
    for (int i = 0; self->plain && i < self->name_count; i++) {
        if (known->values[i] != UNKNOWN_FIELD) continue;
        if (doubt(self, known->id) < 0) return -1;
        break;
    }
    if (!known->doubted) return 0;
    PyObject *answer = PyObject_CallMethod(self->host, "depart", "O", known->id);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static int step_object(Invariant *self, Plan *plan, Known *known, PyObject *event) {
    Before *before = &self->before;
    Step step = {.plan = plan, .known = known, .event = event, .names = self->names};
    plan->seen = true;
    set_object(&before->id, Py_NewRef(known->id));
    set_object(&before->snapshot, Py_XNewRef(known->snapshot));
    set_object(&before->asked, Py_XNewRef(known->asked));
    before->deadline = known->deadline;
    before->begun = known->begun;
    before->over = known->over;
    before->broken = known->broken;
    before->writes = plan->writes;
    Field older = before->replaced;
    before->replaced = UNKNOWN_FIELD;
    if (plan->writes >= 0) {
        before->replaced = known->values[plan->writes];
        known->values[plan->writes] = field_keep(event_value(event));
        step.replaced = field_keep(before->replaced);
    }
    field_drop(older);
    int result = known->over ? 0 : judge(self, plan, known, &step);
    field_drop(step.replaced);
    if (result == 0 && plan->gone) result = depart(self, known);
    return result;
}

/* The event in `at`. -1: error */
static int take(Invariant *self, PyObject *event) {
    if (!PyDict_Check(event) && !is_lazy_event(event)) {
        PyErr_Format(PyExc_TypeError, "an event is a dict, as JSON gives it, not %s", Py_TYPE(event)->tp_name);
        return -1;
    }
    if (self->within > 0 && pass_time(self, event) < 0) return -1;
    Plan *plan = plan_of(self, event);
    PyObject *target = plan == NULL ? NULL : is_lazy_event(event) ? lazy_event_target((LazyEvent *)event) : look_up(event, key_target);
    if (target == NULL) return PyErr_Occurred() ? -1 : 0;
    if (!PyLong_CheckExact(target) && !PyUnicode_CheckExact(target)) return 0;
    Known *known = known_find(self, event, target);
    if (known == NULL) {
        if (plan->gone) /* another object's, or that of one of which nothing was seen */
            return self->plain && self->tells_ends ? doubt(self, target) : 0;
        known = known_new(self, target);
        if (known == NULL) return -1;
    }
    self->stepped = self->at;
    int result = step_object(self, plan, known, event);
    Py_DECREF(known);
    return result;
}

/* The number of the event that `before` is about is looked up when all of them are through. */
static void note_number(Invariant *self) {
    PyObject *type, *value, *trace;
    if (self->stepped < 0) return;
    PyErr_Fetch(&type, &value, &trace);
    Py_XSETREF(self->number, PySequence_GetItem(self->numbers, self->stepped));
    PyErr_Restore(type, value, trace);
}

static int usable(Invariant *self) {
    if (!self->busy) return 0;
    PyErr_SetString(PyExc_RuntimeError, "a monitor takes one event after the other: it is in use already");
    return -1;
}

static PyObject *invariant_feed(Invariant *self, PyObject *const *args, Py_ssize_t count) {
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
    self->offended = false;
    self->busy = true;
    int result = 0;
    for (self->at = 0; self->at < PyList_GET_SIZE(events); self->at++) {
        PyObject *event = Py_NewRef(PyList_GET_ITEM(events, self->at));
        result = take(self, event);
        Py_DECREF(event);
        if (result < 0 || self->offended) break;
        if ((self->at & 4095) == 4095 && (result = PyErr_CheckSignals()) < 0) break;
    }
    note_number(self);
    self->busy = false;
    self->host = self->numbers = NULL;
    return result < 0 ? NULL : PyLong_FromSsize_t(self->offended ? self->at : -1);
}

/* ---- objects, from outside ------------------------------------------------------------------------------------------- */

static void put_back(Invariant *self, Known *known) {
    Before *before = &self->before;
    if (before->writes >= 0) {
        Field now = known->values[before->writes];
        known->values[before->writes] = before->replaced;
        before->replaced = UNKNOWN_FIELD;
        field_drop(now);
    }
    known->begun = before->begun;
    known->over = before->over;
    known->broken = before->broken;
    set_object(&known->snapshot, Py_XNewRef(before->snapshot));
    if (known->asked == before->asked && (before->asked == NULL || known->deadline == before->deadline)) return;
    Py_XDECREF(pay(self, known));
    if (before->asked != NULL) owe(self, known, before->deadline, Py_NewRef(before->asked));
}

static PyObject *invariant_prevented(Invariant *self, PyObject *number) {
    if (usable(self) < 0) return NULL;
    int same = self->before.id == NULL || self->number == NULL ? 0 : PyObject_RichCompareBool(self->number, number, Py_EQ);
    if (same < 0) return NULL;
    Known *known = same ? (Known *)Py_XNewRef(look_up(self->objects, self->before.id)) : NULL;
    if (known != NULL) put_back(self, known);
    Py_XDECREF(known);
    before_clear(&self->before);
    Py_RETURN_NONE;
}

static PyObject *invariant_forget(Invariant *self, PyObject *id) {
    if (usable(self) < 0) return NULL;
    Known *known = (Known *)PyDict_GetItemWithError(self->objects, id);
    if (known == NULL) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_XDECREF(pay(self, known));
    if (known_remove(self, known) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *invariant_owes(Invariant *self, PyObject *id) {
    Known *known = (Known *)PyDict_GetItemWithError(self->objects, id);
    if (known == NULL && PyErr_Occurred()) return NULL;
    return PyBool_FromLong(known != NULL && known->asked != NULL);
}

static PyObject *invariant_take_ended(Invariant *self, PyObject *unused) {
    self->tells_ends = 1;
    if (PyList_GET_SIZE(self->ended) == 0) return PyList_New(0);
    PyObject *fresh = PyList_New(0), *ended = self->ended;
    if (fresh == NULL) return NULL;
    self->ended = fresh;
    return ended;
}

static int invariant_contains(Invariant *self, PyObject *id) { return PyDict_Contains(self->objects, id); }

/* ---- out and in ------------------------------------------------------------------------------------------------------ */

static PyObject *truth(bool value) { return value ? Py_True : Py_False; }

static PyObject *dump_objects(Invariant *self) {
    PyObject *found = PyDict_New(), *id, *each;
    Py_ssize_t place = 0;
    while (found != NULL && PyDict_Next(self->objects, &place, &id, &each)) {
        Known *known = (Known *)each;
        PyObject *values = values_dict(self, known), *all = NULL;
        if (values != NULL)
            all = PyTuple_Pack(5, truth(known->begun), truth(known->over), truth(known->broken), values,
                               known->snapshot == NULL ? Py_None : known->snapshot);
        Py_XDECREF(values);
        if (all == NULL || PyDict_SetItem(found, id, all) < 0) Py_CLEAR(found);
        Py_XDECREF(all);
    }
    return found;
}

static PyObject *invariant_dump(Invariant *self, PyObject *unused) {
    if (usable(self) < 0) return NULL;
    PyObject *objects = dump_objects(self), *debts = objects == NULL ? NULL : PyDict_New();
    for (Known *known = self->first; debts != NULL && known != NULL; known = known->later) {
        PyObject *event = event_to_dict(known->asked);
        PyObject *debt = event == NULL ? NULL : Py_BuildValue("(dN)", known->deadline, event);
        if (debt == NULL || PyDict_SetItem(debts, known->id, debt) < 0) Py_CLEAR(debts);
        Py_XDECREF(debt);
    }
    if (debts == NULL) {
        Py_XDECREF(objects);
        return NULL;
    }
    return Py_BuildValue("(NN)", objects, debts);
}

/* An object of expressions.Ref is its id again. Takes the reference; UNKNOWN_FIELD: error */
static Field field_from(Invariant *self, PyObject *value) {
    if (Py_TYPE(value) != (PyTypeObject *)self->object_kind) return (Field)value;
    PyObject *id = PyObject_GetAttrString(value, "id");
    Py_DECREF(value);
    return id == NULL ? UNKNOWN_FIELD : (Field)id | 1;
}

static int load_object(Invariant *self, PyObject *id, PyObject *state, PyObject *doubted) {
    int begun, over, broken, doubt;
    PyObject *values, *snapshot;
    if (!PyArg_ParseTuple(state, "pppO!O", &begun, &over, &broken, &PyDict_Type, &values, &snapshot)) return -1;
    doubt = PySequence_Contains(doubted, id);
    Known *known = doubt < 0 ? NULL : known_new(self, id);
    if (known == NULL) return -1;
    known->begun = begun;
    known->over = over;
    known->broken = broken;
    known->doubted = doubt;
    known->snapshot = snapshot == Py_None ? NULL : Py_NewRef(snapshot);
    int result = 0;
    for (int i = 0; result == 0 && i < self->name_count; i++) {
        PyObject *value = look_up(values, self->names[i]);
        if (value == NULL) continue;
        known->values[i] = field_from(self, Py_NewRef(value));
        if (known->values[i] == UNKNOWN_FIELD) result = -1;
    }
    Py_DECREF(known);
    return result;
}

static PyObject *invariant_load(Invariant *self, PyObject *args) {
    PyObject *objects, *debts, *doubted, *id, *state;
    if (!PyArg_ParseTuple(args, "O!O!O:load", &PyDict_Type, &objects, &PyDict_Type, &debts, &doubted)) return NULL;
    if (usable(self) < 0) return NULL;
    if (PyDict_GET_SIZE(self->objects) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "a state is taken over at the beginning");
        return NULL;
    }
    Py_ssize_t place = 0;
    while (PyDict_Next(objects, &place, &id, &state))
        if (load_object(self, id, state, doubted) < 0) return NULL;
    place = 0;
    while (PyDict_Next(debts, &place, &id, &state)) {
        double deadline;
        PyObject *event;
        if (!PyArg_ParseTuple(state, "dO", &deadline, &event)) return NULL;
        Known *known = (Known *)look_up(self->objects, id);
        if (known != NULL && known->asked == NULL) owe(self, known, deadline, Py_NewRef(event));
    }
    Py_RETURN_NONE;
}

static PyObject *get_seen(Invariant *self, void *unused) {
    PyObject *seen = PySet_New(NULL);
    for (int i = 0; seen != NULL && i < self->plan_count; i++)
        if (self->plans[i].seen && PySet_Add(seen, self->plans[i].key) < 0) Py_CLEAR(seen);
    return seen;
}

static int set_seen(Invariant *self, PyObject *keys, void *unused) {
    if (keys == NULL) {
        PyErr_SetString(PyExc_TypeError, "seen cannot be deleted");
        return -1;
    }
    for (int i = 0; i < self->plan_count; i++) {
        int seen = PySequence_Contains(keys, self->plans[i].key);
        if (seen < 0) return -1;
        self->plans[i].seen = seen;
    }
    return 0;
}

static PyObject *get_now(Invariant *self, void *unused) {
    return self->timed ? PyFloat_FromDouble(self->now) : Py_NewRef(Py_None);
}

static int set_now(Invariant *self, PyObject *now, void *unused) {
    self->timed = now != NULL && now != Py_None;
    self->now = self->timed ? PyFloat_AsDouble(now) : 0;
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- a rule ---------------------------------------------------------------------------------------------------------- */

static bool in_range(Invariant *self, int expression) { return expression >= -1 && expression < self->expression_count; }

static int parse_plan(Invariant *self, Plan *plan, PyObject *given) {
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
        Plan *other = self->plans + PyLong_AsLong(first);
        plan->next = other->next;
        other->next = plan;
        return 0;
    }
    PyObject *number = PyLong_FromLong(plan->number);
    int result = number == NULL ? -1 : PyDict_SetItem(self->by_name, name, number);
    Py_XDECREF(number);
    return result;
}

static int parse_program(Invariant *self) {
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

static PyObject *invariant_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *program, *object_kind;
    if (!PyArg_ParseTuple(args, "O!O!:Invariant", &PyTuple_Type, &program, &PyType_Type, &object_kind)) return NULL;
    if (expression_setup() < 0) return NULL;
    Invariant *self = (Invariant *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->program = Py_NewRef(program);
    self->object_kind = Py_NewRef(object_kind);
    if (arena_init(&self->arena) < 0 || (self->by_name = PyDict_New()) == NULL ||
        (self->objects = PyDict_New()) == NULL || (self->ended = PyList_New(0)) == NULL || parse_program(self) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void invariant_dealloc(Invariant *self) {
    self->first = self->last = NULL;
    for (int i = 0; i < LATELY; i++) Py_XDECREF(self->names_lately[i].name);
    Py_CLEAR(self->objects);
    before_clear(&self->before);
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
    {"dump", (PyCFunction)invariant_dump, METH_NOARGS, "dump()\n--\n\nAll objects, and what they owe."},
    {"load", (PyCFunction)invariant_load, METH_VARARGS, "load(objects, debts, doubted)\n--\n\nTake them over."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef invariant_getset[] = {
    {"seen", (getter)get_seen, (setter)set_seen, "The kinds of steps that were made.", NULL},
    {"now", (getter)get_now, (setter)set_now, "The latest time that was seen.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef invariant_members[] = {
    {"judgements", T_LONGLONG, offsetof(Invariant, judgements), 0, "How often something was judged."},
    {"timeless", T_LONGLONG, offsetof(Invariant, timeless), 0, "Events without a time."},
    {"ended", T_OBJECT_EX, offsetof(Invariant, ended), READONLY, "Objects that came to the law's own end."},
    {"tells_ends", T_BOOL, offsetof(Invariant, tells_ends), 0, "Does somebody ask?"},
    {"plain", T_BOOL, offsetof(Invariant, plain), 0, "Was an object judged if all its fields are known, and only then?"},
    {NULL, 0, 0, 0, NULL},
};

static PySequenceMethods invariant_sequence = {.sq_contains = (objobjproc)invariant_contains};

PyTypeObject InvariantType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Invariant",
    .tp_basicsize = sizeof(Invariant),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Invariant(program, object_kind)\n--\n\nThe running state of one invariant.",
    .tp_new = invariant_new,
    .tp_dealloc = (destructor)invariant_dealloc,
    .tp_methods = invariant_methods,
    .tp_getset = invariant_getset,
    .tp_members = invariant_members,
    .tp_as_sequence = &invariant_sequence,
};

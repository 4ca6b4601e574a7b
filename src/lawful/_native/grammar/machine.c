/* The machine of a grammar: one stack for each group, and the step that a message takes on it.

   Called by: laws/grammar/monitor.py for events; messages/inline_check.c for messages without an event.
   Must match: laws/grammar/machine.py and steps.py.
   Compared by: tests/laws/grammar/test_machines.py. */
#include "grammar/grammar.h"

#include "events/fields.h"

#include <structmember.h>

#define MOST_OTHERS 1000 /* names of messages that the view does not have */

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static void group_dealloc(GGroup *group) {
    stack_free(&group->stack);
    PyObject_Free(group);
}

PyTypeObject GrammarGroupType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.GrammarGroup",
    .tp_basicsize = sizeof(GGroup),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)group_dealloc,
};

static GGroup *group_new(void) {
    GGroup *group = PyObject_New(GGroup, &GrammarGroupType);
    if (group != NULL) {
        group->stack = (GStack){0};
        group->gone = false;
    }
    return group;
}

static GGroup *group_copy(const GGroup *other, const GTables *tables) {
    GGroup *group = group_new();
    for (int i = 0; group != NULL && i < other->stack.count; i++) {
        const GFrame *frame = other->stack.frames + i;
        if (stack_push(&group->stack, tables, frame->state, other->stack.values + frame->first, NULL) < 0)
            Py_CLEAR(group);
    }
    return group;
}

/* ---- a step ---------------------------------------------------------------------------------------------------- */

/* The stack during a step: the lowest `kept` frames of a group, and on top of them the machine's scratch. */
typedef struct { GStack *stack; int kept; } WorkingStack;

static GStack *top_stack(GMachine *machine, WorkingStack *work) {
    return machine->scratch.count ? &machine->scratch : work->kept ? work->stack : NULL;
}

static GFrame *top_frame(GMachine *machine, WorkingStack *work) {
    if (machine->scratch.count) return machine->scratch.frames + machine->scratch.count - 1;
    return work->kept ? work->stack->frames + work->kept - 1 : NULL;
}

static void drop_top(GMachine *machine, WorkingStack *work) {
    if (machine->scratch.count) stack_pop(&machine->scratch);
    else work->kept--;
}

static void release(PyObject **registers) {
    for (; *registers != NULL; registers++) Py_CLEAR(*registers);
}

static void fill(const GTables *tables, const GStack *stack, const GFrame *frame, PyObject **registers) {
    int size = tables->state[frame->state].size;
    for (int i = 0; i < size; i++) registers[i] = Py_NewRef(stack->values[frame->first + i]);
    registers[size] = NULL;
}

static int push_all(GMachine *machine, const GTransition *transition, PyObject **registers) {
    for (int i = 0; i < transition->pushes; i++) {
        const GPush *push = transition->frames + i;
        if (stack_push(&machine->scratch, machine->tables, push->state, registers, push->values) < 0) return -1;
    }
    return 0;
}

/* Pass results to the frames below, as long as these end with it. Steals the registers. */
static int hand_down(GMachine *machine, WorkingStack *work, const GTransition *transition, int which,
                     const GSource *source) {
    const GTables *tables = machine->tables;
    int result = 1;
    GFrame *frame;
    while ((frame = top_frame(machine, work)) != NULL) {
        PyObject **old = machine->registers[which], **registers = machine->registers[1 - which];
        int number = tables->state[frame->state].resume;
        const GTransition *next = tables->transition + number;
        fill(tables, top_stack(machine, work), frame, registers);
        for (int i = 0; i < next->results_size; i++)
            registers[next->frame_size + i] = Py_NewRef(old[transition->result[i]]);
        registers[next->frame_size + next->results_size] = NULL;
        release(old);
        which = 1 - which;
        transition = next;
        result = grammar_run(machine, number, registers, source);
        if (result != 1) break;
        drop_top(machine, work);
        if (next->pushes) {
            result = push_all(machine, next, registers) < 0 ? -1 : 1;
            break;
        }
    }
    release(machine->registers[which]);
    return result;
}

/* Let a message come to a stack. 1: it is taken (or the end is reached), 0: it has no step, -1: error, or NEEDS_EVENT.
   Nothing is changed: the outcome is in the working stack and in the scratch. */
static int step(GMachine *machine, WorkingStack *work, int column, const GSource *source) {
    const GTables *tables = machine->tables;
    for (;;) {
        GFrame *frame = top_frame(machine, work);
        if (frame == NULL) return column == tables->columns - 1;
        int number = tables->table[frame->state * tables->columns + column];
        if (number == NO_STEP) return 0;
        const GTransition *transition = tables->transition + number;
        PyObject **registers = machine->registers[0];
        fill(tables, top_stack(machine, work), frame, registers);
        int result = grammar_run(machine, number, registers, source);
        if (result == 1) {
            drop_top(machine, work);
            if (transition->pushes) {
                result = push_all(machine, transition, registers) < 0 ? -1 : 1;
                release(registers);
                return result;
            }
            result = hand_down(machine, work, transition, 0, source);
        } else {
            release(registers);
        }
        if (result != 1 || transition->taken) return result;
    }
}

/* ---- which message an event is --------------------------------------------------------------------------------- */

static bool same_text(PyObject *a, PyObject *b) {
    return a == b || (a != NULL && PyUnicode_CheckExact(a) && PyUnicode_Compare(a, b) == 0);
}

static bool in_group(const GTables *tables, PyObject *event) {
    return tables->group == Py_None || same_text(PyDict_GetItemWithError(event, text_group), tables->group);
}

/* Count a message of the group that is not in the view: it may be misspelled. */
static int count_other(GMachine *machine, PyObject *event, PyObject *kind, PyObject *name) {
    if (name == NULL || !PyUnicode_CheckExact(name) || kind == NULL) return 0;
    if (!same_text(kind, text_send) && !same_text(kind, text_receive)) return 0;
    if (!in_group(machine->tables, event)) return 0;
    PyObject *key = PyTuple_Pack(2, kind, name);
    if (key == NULL) return -1;
    PyObject *count = PyDict_GetItemWithError(machine->others, key);
    int result = PyErr_Occurred() ? -1 : 0;
    if (result == 0 && (count != NULL || PyDict_GET_SIZE(machine->others) < MOST_OTHERS)) {
        PyObject *more = PyLong_FromSsize_t(count == NULL ? 1 : PyLong_AsSsize_t(count) + 1);
        result = more == NULL ? -1 : PyDict_SetItem(machine->others, key, more);
        Py_XDECREF(more);
    }
    Py_DECREF(key);
    return result;
}

/* The terminal, -1: not in the view, -2: error. */
static int terminal_of(GMachine *machine, PyObject *event) {
    const GTables *tables = machine->tables;
    if (!PyDict_Check(event)) {
        PyErr_Format(PyExc_TypeError, "an event is a dict, not %.100s", Py_TYPE(event)->tp_name);
        return -2;
    }
    PyObject *name = PyDict_GetItemWithError(event, text_name);
    PyObject *kind = PyDict_GetItemWithError(event, text_event);
    if (PyErr_Occurred()) return -2;
    if (name != NULL && PyUnicode_CheckExact(name)) {
        PyObject *messages = PyDict_GetItemWithError(tables->by_name, name);
        if (messages != NULL && in_group(tables, event)) {
            bool reply = PyDict_GetItemWithError(event, text_reply) == Py_True;
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(messages); i++) {
                PyObject **message = ((PyTupleObject *)PyList_GET_ITEM(messages, i))->ob_item;
                if ((message[1] == Py_True) == reply && same_text(kind, message[0])) return (int)PyLong_AsLong(message[2]);
            }
        }
        if (PyErr_Occurred()) return -2;
    }
    return count_other(machine, event, kind, name) < 0 ? -2 : -1;
}

/* The key that identifies a group of this name; a new reference. */
static PyObject *key_of(GMachine *machine, PyObject *event) {
    PyObject *key = PyDict_GetItemWithError(event, text_groupId);
    if (key == NULL) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    if (key == Py_None || PyLong_CheckExact(key) || PyUnicode_CheckExact(key)) return Py_NewRef(key);
    return PyObject_CallOneArg(machine->tables->key, event);
}

/* ---- the machine ----------------------------------------------------------------------------------------------- */

/* Count the groups that may not end. */
static inline int account(GMachine *machine, PyObject *key, GEnding before, GEnding after) {
    machine->open += (after == G_NEVER) - (before == G_NEVER);
    if (before != G_BY_VALUES && after != G_BY_VALUES) return 0;
    if (PySet_Discard(machine->blocked, key) < 0) return -1;
    if (after == G_BY_VALUES) return PySet_Add(machine->unsure, key);
    return PySet_Discard(machine->unsure, key) < 0 ? -1 : 0;
}

/* Do the values of a group forbid every message and the end? */
static int is_lost(GMachine *machine, const GStack *stack) {
    if (!stack->count) return 0;
    const GFrame *frame = stack->frames + stack->count - 1;
    if (!machine->tables->state[frame->state].lost) return 0;
    int size = machine->tables->state[frame->state].size;
    PyObject *values = PyTuple_New(size);
    if (values == NULL) return -1;
    for (int i = 0; i < size; i++) PyTuple_SET_ITEM(values, i, Py_NewRef(stack->values[frame->first + i]));
    PyObject *lost = PyObject_CallFunction(machine->tables->lost, "iN", frame->state, values);
    int result = lost == NULL ? -1 : PyObject_IsTrue(lost);
    Py_XDECREF(lost);
    return result;
}

/* May the values after a step forbid everything? */
static bool may_be_lost(GMachine *machine, WorkingStack *work) {
    const GFrame *frame = machine->tables->can_be_lost ? top_frame(machine, work) : NULL;
    return frame != NULL && machine->tables->state[frame->state].lost;
}

/* The record that undoes the next step. */
static GUndo *new_undo(GMachine *machine, PyObject *key, int kept, bool fresh) {
    GUndo *undo = &machine->undo[machine->newest ^= 1];
    undo->kept = kept;
    undo->at = machine->at;
    undo->fresh = fresh;
    if (undo->key != key) Py_XSETREF(undo->key, Py_NewRef(key));
    return undo;
}

#define NOT_PLAIN 3

/* The most frequent step, and the only one of an automaton: a frame replaces another. Answers as take_by. */
static int take_plainly(GMachine *machine, PyObject *key, GGroup *group, int terminal, const GSource *source) {
    const GTables *tables = machine->tables;
    GStack *stack = &group->stack;
    if (stack->count == 0) return NOT_PLAIN;
    const GFrame *frame = stack->frames + stack->count - 1;
    int number = tables->table[frame->state * tables->columns + terminal];
    if (number == NO_STEP) return 0;
    const GTransition *transition = tables->transition + number;
    if (transition->pushes != 1 || !transition->taken) return NOT_PLAIN;
    const GPush *push = transition->frames;
    PyObject **registers = machine->registers[0];
    fill(tables, stack, frame, registers);
    int result = grammar_run(machine, number, registers, source);
    if (result == 1 && source->event == NULL && tables->state[push->state].lost) result = NEEDS_EVENT;
    if (result == 1) {
        GEnding before = stack_ending(stack);
        GUndo *undo = new_undo(machine, key, stack->count - 1, false);
        if (stack_replace(stack, &undo->taken, tables, push->state, registers, push->values) < 0 ||
            account(machine, key, before, stack_ending(stack)) < 0)
            result = -1;
        else
            machine->came[terminal] = true;
    }
    release(registers);
    return result;
}

/* One message to a group, which is not in the machine yet if it is `fresh`. */
static int take_by(GMachine *machine, PyObject *key, GGroup *group, bool fresh, int terminal, const GSource *source) {
    int result = fresh ? NOT_PLAIN : take_plainly(machine, key, group, terminal, source);
    if (result != NOT_PLAIN) return result;
    GEnding before = fresh ? G_ALWAYS : stack_ending(&group->stack);
    WorkingStack work = {&group->stack, group->stack.count};
    result = step(machine, &work, terminal, source);
    if (result == 1 && source->event == NULL && may_be_lost(machine, &work)) result = NEEDS_EVENT;
    if (result == 1) {
        GUndo *undo = new_undo(machine, key, work.kept, fresh);
        if (stack_commit(&group->stack, work.kept, &machine->scratch, &undo->taken, machine->tables) < 0 ||
            (fresh && PyDict_SetItem(machine->groups, key, (PyObject *)group) < 0) ||
            account(machine, key, before, stack_ending(&group->stack)) < 0)
            result = -1;
        else
            machine->came[terminal] = true;
    }
    stack_clear(&machine->scratch);
    return result;
}

/* The group of this key, or a new one, which is not in the machine yet; a new reference, or NULL. */
static GGroup *group_of(GMachine *machine, PyObject *key, bool *fresh) {
    GGroup *group = (GGroup *)PyDict_GetItemWithError(machine->groups, key);
    *fresh = group == NULL;
    if (group != NULL) return (GGroup *)Py_NewRef((PyObject *)group);
    return PyErr_Occurred() ? NULL : group_copy(machine->start, machine->tables);
}

/* One message. 1: taken, 0: no step, 2: taken, and everything is lost; -1: error. */
static int take_event(GMachine *machine, PyObject *event, int terminal, bool look) {
    bool fresh;
    PyObject *key = key_of(machine, event);
    GGroup *group = key == NULL ? NULL : group_of(machine, key, &fresh);
    int result = group == NULL ? -1 : take_by(machine, key, group, fresh, terminal, &(GSource){.event = event});
    if (result == 1 && look) {
        int lost = is_lost(machine, &group->stack);
        if (lost) result = lost < 0 ? -1 : 2;
    }
    Py_XDECREF(group);
    Py_XDECREF(key);
    return result;
}

#define NO_PLACE (-1) /* of a message that is in no batch */

int grammar_message(GMachine *machine, PyObject *key, PyObject **found, int terminal, const GSource *source) {
    if (machine->busy || machine->failed) return 0;
    Py_ssize_t at = machine->at;
    machine->at = NO_PLACE;
    bool fresh = false;
    if (*found == NULL || ((GGroup *)*found)->gone) Py_XSETREF(*found, (PyObject *)group_of(machine, key, &fresh));
    int result = *found == NULL ? -1 : take_by(machine, key, (GGroup *)*found, fresh, terminal, source);
    if (fresh && result != 1) Py_CLEAR(*found);
    machine->at = at;
    return result == NEEDS_EVENT ? 0 : result;
}

int grammar_undo(GMachine *machine) {
    GUndo *undo = &machine->undo[machine->newest];
    PyObject *key = undo->key;
    if (key == NULL) return -1;
    undo->key = NULL;
    machine->newest ^= 1;
    GGroup *group = (GGroup *)PyDict_GetItemWithError(machine->groups, key);
    int result = group == NULL ? -1 : 0;
    if (result == 0) {
        GEnding before = stack_ending(&group->stack), after = G_ALWAYS;
        if (!undo->fresh) {
            result = stack_commit(&group->stack, undo->kept, &undo->taken, &machine->scratch, machine->tables);
            stack_clear(&machine->scratch);
            after = stack_ending(&group->stack);
        }
        if (result == 0) result = account(machine, key, before, after);
        if (result == 0 && undo->fresh) {
            group->gone = true;
            result = PyDict_DelItem(machine->groups, key);
        }
    }
    Py_DECREF(key);
    return result;
}

/* Take back the message at this place of the last batch, if it was the last that was taken: it was not sent. Then the one
   before it can be taken back, too. */
static PyObject *machine_undo(GMachine *machine, PyObject *position) {
    Py_ssize_t at = PyLong_AsSsize_t(position);
    if (at == -1 && PyErr_Occurred()) return NULL;
    GUndo *undo = &machine->undo[machine->newest];
    if (undo->key == NULL || undo->at != at || at == NO_PLACE || machine->busy) Py_RETURN_FALSE;
    int result = grammar_undo(machine);
    if (result < 0 && PyErr_Occurred()) return NULL;
    return PyBool_FromLong(result == 0);
}

static int enter(GMachine *machine) {
    if (machine->busy) {
        PyErr_SetString(PyExc_RuntimeError, "a monitor takes one event after the other: it is in use already");
        return -1;
    }
    machine->busy = 1;
    return 0;
}

static PyObject *machine_feed(GMachine *machine, PyObject *args) {
    PyObject *events;
    Py_ssize_t position;
    int look;
    if (!PyArg_ParseTuple(args, "O!np:feed", &PyList_Type, &events, &position, &look)) return NULL;
    if (enter(machine) < 0) return NULL;
    look = look && machine->tables->can_be_lost;
    for (int i = 0; i < 2; i++) Py_CLEAR(machine->undo[i].key);
    int result = 1;
    for (; position < PyList_GET_SIZE(events); position++) {
        PyObject *event = Py_NewRef(PyList_GET_ITEM(events, position));
        int terminal = terminal_of(machine, event);
        if (terminal >= 0) {
            machine->at = position;
            result = take_event(machine, event, terminal, look);
        } else if (terminal == -2) {
            result = -1;
        }
        Py_DECREF(event);
        if (result != 1) break;
    }
    machine->busy = 0;
    if (result < 0) return NULL;
    if (result == 0) machine->failed = 1;
    return PyLong_FromSsize_t(position);
}

/* Find out which groups may end whose values decide that. */
static int judge(GMachine *machine) {
    if (!PySet_GET_SIZE(machine->unsure)) return 0;
    if (enter(machine) < 0) return -1;
    int result = 0;
    PyObject *nothing = PyDict_New();
    if (nothing == NULL) result = -1;
    machine->silent = 1; /* the trace may go on: missing values cause no warning */
    while (result == 0 && PySet_GET_SIZE(machine->unsure)) {
        PyObject *key = PySet_Pop(machine->unsure);
        if (key == NULL) {
            result = -1;
            break;
        }
        GGroup *group = (GGroup *)PyDict_GetItemWithError(machine->groups, key);
        if (group == NULL) {
            result = PyErr_Occurred() ? -1 : 0;
        } else {
            WorkingStack work = {&group->stack, group->stack.count};
            int ends = step(machine, &work, machine->tables->columns - 1, &(GSource){.event = nothing});
            stack_clear(&machine->scratch);
            if (ends < 0) result = -1;
            else if (!ends) result = PySet_Add(machine->blocked, key);
        }
        Py_DECREF(key);
    }
    machine->silent = machine->busy = 0;
    Py_XDECREF(nothing);
    return result;
}

static PyObject *machine_halts(GMachine *machine, void *Py_UNUSED(unused)) {
    if (machine->open) Py_RETURN_FALSE;
    if (judge(machine) < 0) return NULL;
    return PyBool_FromLong(PySet_GET_SIZE(machine->blocked) == 0);
}

static PyObject *machine_waiting(GMachine *machine, PyObject *Py_UNUSED(unused)) {
    if (judge(machine) < 0) return NULL;
    PyObject *list = PyList_New(0), *key, *group;
    Py_ssize_t at = 0;
    while (list != NULL && PyDict_Next(machine->groups, &at, &key, &group)) {
        GEnding ending = stack_ending(&((GGroup *)group)->stack);
        int blocked = ending == G_BY_VALUES ? PySet_Contains(machine->blocked, key) : ending == G_NEVER;
        if (blocked < 0 || (blocked && PyList_Append(list, key) < 0)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *machine_frames(GMachine *machine, PyObject *key) {
    GGroup *group = (GGroup *)PyDict_GetItemWithError(machine->groups, key);
    if (group == NULL && PyErr_Occurred()) return NULL;
    return stack_frames(group == NULL ? &machine->start->stack : &group->stack, machine->tables);
}

static PyObject *machine_dump(GMachine *machine, PyObject *Py_UNUSED(unused)) {
    PyObject *all = PyDict_New(), *key, *group;
    Py_ssize_t at = 0;
    while (all != NULL && PyDict_Next(machine->groups, &at, &key, &group)) {
        PyObject *frames = stack_frames(&((GGroup *)group)->stack, machine->tables);
        if (frames == NULL || PyDict_SetItem(all, key, frames) < 0) Py_CLEAR(all);
        Py_XDECREF(frames);
    }
    return all;
}

static PyObject *machine_load(GMachine *machine, PyObject *args) {
    PyObject *stacks, *came, *others, *key, *frames;
    if (!PyArg_ParseTuple(args, "O!O!O!:load", &PyDict_Type, &stacks, &PyList_Type, &came, &PyDict_Type, &others))
        return NULL;
    Py_ssize_t at = 0;
    while (PyDict_Next(stacks, &at, &key, &frames)) {
        GGroup *group = group_new();
        if (group == NULL) return NULL;
        int result = stack_load(&group->stack, frames, machine->tables);
        GGroup *before = (GGroup *)PyDict_GetItemWithError(machine->groups, key);
        if (before != NULL) before->gone = true;
        if (result == 0) result = PyDict_SetItem(machine->groups, key, (PyObject *)group);
        if (result == 0) result = account(machine, key, G_ALWAYS, stack_ending(&group->stack));
        Py_DECREF(group);
        if (result < 0) return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(came); i++) {
        long terminal = PyLong_AsLong(PyList_GET_ITEM(came, i));
        if (terminal >= 0 && terminal < machine->tables->columns) machine->came[terminal] = true;
    }
    if (PyErr_Occurred() || PyDict_Update(machine->others, others) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *machine_came(GMachine *machine, void *Py_UNUSED(unused)) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < machine->tables->columns; i++) {
        PyObject *number = machine->came[i] ? PyLong_FromLong(i) : NULL;
        if (number != NULL && PyList_Append(list, number) < 0) Py_CLEAR(list);
        Py_XDECREF(number);
    }
    return list;
}

static PyObject *machine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"tables", "start", "warn", NULL};
    PyObject *tables, *start, *warn;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO:GrammarMachine", names, &GrammarTablesType, &tables, &start,
                                     &warn))
        return NULL;
    GMachine *machine = (GMachine *)type->tp_alloc(type, 0);
    if (machine == NULL) return NULL;
    machine->tables = (GTables *)Py_NewRef(tables);
    machine->warn = Py_NewRef(warn);
    size_t registers = (size_t)machine->tables->registers + 2;
    for (int i = 0; i < 2; i++) machine->registers[i] = PyMem_Calloc(registers, sizeof(PyObject *));
    machine->came = PyMem_Calloc((size_t)machine->tables->columns, sizeof(bool));
    machine->groups = PyDict_New();
    machine->others = PyDict_New();
    machine->unsure = PySet_New(NULL);
    machine->blocked = PySet_New(NULL);
    machine->start = group_new();
    if (machine->registers[0] == NULL || machine->registers[1] == NULL || machine->came == NULL) PyErr_NoMemory();
    if (PyErr_Occurred() || stack_load(&machine->start->stack, start, machine->tables) < 0) Py_CLEAR(machine);
    return (PyObject *)machine;
}

static int machine_traverse(GMachine *machine, visitproc visit, void *arg) {
    Py_VISIT(machine->warn);
    Py_VISIT(machine->tables);
    Py_VISIT(machine->groups);
    Py_VISIT(machine->others);
    return 0;
}

static int machine_clear(GMachine *machine) {
    Py_CLEAR(machine->warn);
    return 0;
}

static void machine_dealloc(GMachine *machine) {
    PyObject_GC_UnTrack(machine);
    machine_clear(machine);
    stack_free(&machine->scratch);
    for (int i = 0; i < 2; i++) {
        stack_free(&machine->undo[i].taken);
        Py_CLEAR(machine->undo[i].key);
    }
    Py_CLEAR(machine->groups);
    Py_CLEAR(machine->others);
    Py_CLEAR(machine->unsure);
    Py_CLEAR(machine->blocked);
    Py_CLEAR(machine->start);
    Py_CLEAR(machine->tables);
    for (int i = 0; i < 2; i++) PyMem_Free(machine->registers[i]);
    PyMem_Free(machine->came);
    Py_TYPE(machine)->tp_free((PyObject *)machine);
}

static PyMethodDef machine_methods[] = {
    {"feed", (PyCFunction)machine_feed, METH_VARARGS, NULL},
    {"undo", (PyCFunction)machine_undo, METH_O, NULL},
    {"waiting", (PyCFunction)machine_waiting, METH_NOARGS, NULL},
    {"frames", (PyCFunction)machine_frames, METH_O, NULL},
    {"dump", (PyCFunction)machine_dump, METH_NOARGS, NULL},
    {"load", (PyCFunction)machine_load, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef machine_members[] = {
    {"failed", T_BOOL, offsetof(GMachine, failed), 0, NULL},
    {"at", T_PYSSIZET, offsetof(GMachine, at), READONLY, NULL},
    {"others", T_OBJECT_EX, offsetof(GMachine, others), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef machine_getset[] = {
    {"halts", (getter)machine_halts, NULL, NULL, NULL},
    {"came", (getter)machine_came, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject GrammarMachineType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.GrammarMachine",
    .tp_basicsize = sizeof(GMachine),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "All groups of a law, each with its stack.",
    .tp_new = machine_new,
    .tp_dealloc = (destructor)machine_dealloc,
    .tp_traverse = (traverseproc)machine_traverse,
    .tp_clear = (inquiry)machine_clear,
    .tp_methods = machine_methods,
    .tp_members = machine_members,
    .tp_getset = machine_getset,
};

/* The Python type `RmlMachine`: feeds events to the running state of one law.

   Called by lawful/laws/rml/monitor.py. Matches lawful/laws/rml/machine.py, which has the same interface.
   tests/laws/rml/test_engine.py and tests/oracle/test_rml_oracle.py compare the two. */
#include "rml/rml.h"
#include <structmember.h>

static PyObject *machine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"planner", "warn", NULL};
    PyObject *planner, *warn;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:RmlMachine", names, &planner, &warn)) return NULL;
    RmlMachine *machine = (RmlMachine *)type->tp_alloc(type, 0);
    if (machine == NULL) return NULL;
    machine->warn = Py_NewRef(warn);
    machine->now = machine->views;
    if (arena_init(&machine->pool.arena) < 0 || arena_init(&machine->scratch) < 0 ||
        (machine->trees = trees_of(planner)) == NULL)
        goto failed;
    PyObject *initial = PyObject_GetAttrString(planner, "initial");
    Recipe *recipe = initial == NULL ? NULL : recipe_parse(&machine->trees->arena, initial);
    Py_XDECREF(initial);
    if (recipe == NULL || (machine->root = part_build(machine, recipe, NULL)) == NULL) goto failed;
    return (PyObject *)machine;
failed:
    Py_DECREF(machine);
    return NULL;
}

static int machine_traverse(RmlMachine *machine, visitproc visit, void *arg) {
    Py_VISIT(machine->warn);
    Py_VISIT(machine->trees);
    return 0;
}

static int machine_clear(RmlMachine *machine) {
    Py_CLEAR(machine->warn);
    return 0;
}

static void machine_dealloc(RmlMachine *machine) {
    PyObject_GC_UnTrack(machine);
    part_free(machine, machine->root);
    machine->root = NULL;
    machine_clear(machine);
    Py_CLEAR(machine->trees);
    arena_free(&machine->pool.arena);
    arena_free(&machine->scratch);
    for (int i = 0; i <= AHEAD; i++) {
        view_clear(machine->views + i);
        free(machine->views[i].matches);
    }
    Py_TYPE(machine)->tp_free((PyObject *)machine);
}

static int usable(RmlMachine *machine) {
    if (machine->busy) {
        PyErr_SetString(PyExc_RuntimeError, "a monitor takes one event after the other: it is in use already");
        return -1;
    }
    if (machine->root == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this monitor stopped with an error");
        return -1;
    }
    return 0;
}

/* The present event: 1 stepped and changed, 0 stepped, 2 no step, -1 error. */
static int take(RmlMachine *machine) {
    Change *change = part_step(machine, machine->root);
    int result = change == NULL ? -1 : change == &FAILS ? 2 : change == &SAME ? 0 : 1;
    if (result == 1) {
        machine->root = part_collapsed(machine, part_apply(machine, machine->root, change));
        if (machine->root == NULL) result = -1;
    }
    arena_reset(&machine->scratch);
    return result;
}

/* The list that most events come to, if it is so large that its memory is slow to reach. */
static InstanceList *large_list(RmlMachine *machine) {
    Part *part = machine->root;
    for (;;) {
        switch (part->kind) {
        case P_INSTANCE_LIST: return list_is_large((InstanceList *)part) ? (InstanceList *)part : NULL;
        case P_SEQUENCE: part = ((Sequence *)part)->first; break;
        case P_FILTER: part = ((Filter *)part)->body; break;
        case P_CLOSURE: part = ((Closure *)part)->body; break;
        default: return NULL;
        }
    }
}

/* Look at the next events, to prefetch their memory while the machine handles the present one. */
static int look_ahead(RmlMachine *machine, PyObject *sequence, Py_ssize_t position) {
    InstanceList *list = large_list(machine);
    if (list == NULL) return 0;
    EventView *present = machine->now;
    EventView *last = machine->views + (position + AHEAD) % (AHEAD + 1);
    if (position + AHEAD < PySequence_Fast_GET_SIZE(sequence) && last->event == NULL) {
        last->event = Py_NewRef(PySequence_Fast_GET_ITEM(sequence, position + AHEAD));
        machine->now = last;
        int prefetched = list_prefetch_slots(machine, list);
        machine->now = present;
        if (prefetched < 0) return -1;
    }
    list_prefetch_entries(list, machine->views + (position + 1) % (AHEAD + 1));
    return 0;
}

static bool is_event(PyObject *event) {
    if (PyDict_Check(event)) return true;
    PyErr_Format(PyExc_TypeError, "an event is a dict, as JSON gives it, not %s", Py_TYPE(event)->tp_name);
    return false;
}

static PyObject *machine_feed(RmlMachine *machine, PyObject *args) {
    PyObject *events;
    Py_ssize_t position;
    int stop_when_dead;
    if (!PyArg_ParseTuple(args, "Onp:feed", &events, &position, &stop_when_dead)) return NULL;
    if (usable(machine) < 0) return NULL;
    PyObject *sequence = PySequence_Fast(events, "events must be a sequence");
    if (sequence == NULL) return NULL;
    machine->busy = true;
    int result = 0;
    for (; position < PySequence_Fast_GET_SIZE(sequence); position++) {
        machine->now = machine->views + position % (AHEAD + 1);
        if (machine->now->event == NULL)
            machine->now->event = Py_NewRef(PySequence_Fast_GET_ITEM(sequence, position));
        machine->at = position;
        result = is_event(machine->now->event) ? look_ahead(machine, sequence, position) : -1;
        if (result == 0) result = take(machine);
        view_clear(machine->now);
        if (result == 2) {
            machine->failed = 1;
            break;
        }
        if (result == 1 && stop_when_dead) {
            int dead = part_is_dead(machine, machine->root);
            if (dead < 0) result = -1;
            if (dead) break;
        }
        if ((position & 4095) == 4095 && PyErr_CheckSignals() < 0) result = -1;
        if (result < 0) break;
    }
    for (int i = 0; i <= AHEAD; i++) view_clear(machine->views + i);
    machine->busy = false;
    Py_DECREF(sequence);
    return result < 0 ? NULL : PyLong_FromSsize_t(position);
}

static PyObject *machine_ignores(RmlMachine *machine, PyObject *event) {
    if (usable(machine) < 0 || !is_event(event)) return NULL;
    machine->busy = true;
    machine->now = machine->views;
    machine->now->event = Py_NewRef(event);
    Change *change = part_step(machine, machine->root);
    view_clear(machine->now);
    arena_reset(&machine->scratch);
    machine->busy = false;
    return change == NULL ? NULL : PyBool_FromLong(change == &SAME);
}

static PyObject *machine_dump(RmlMachine *machine, PyObject *Py_UNUSED(unused)) {
    return usable(machine) < 0 ? NULL : part_dump(machine, machine->root);
}

static PyObject *machine_load(RmlMachine *machine, PyObject *state) {
    if (usable(machine) < 0) return NULL;
    Arena arena;
    if (arena_init(&arena) < 0) return NULL;
    Recipe *recipe = recipe_parse(&arena, state);
    Part *root = recipe == NULL ? NULL : part_collapsed(machine, part_build(machine, recipe, NULL));
    arena_free(&arena);
    if (root == NULL) return NULL;
    part_free(machine, machine->root);
    machine->root = root;
    Py_RETURN_NONE;
}

static PyObject *truth(int value) { return value < 0 ? NULL : PyBool_FromLong(value); }

static PyObject *get_halts(RmlMachine *machine, void *Py_UNUSED(unused)) {
    return usable(machine) < 0 ? NULL : truth(part_halts(machine, machine->root));
}

static PyObject *get_dead(RmlMachine *machine, void *Py_UNUSED(unused)) {
    return usable(machine) < 0 ? NULL : truth(part_is_dead(machine, machine->root));
}

static PyObject *get_is_all(RmlMachine *machine, void *Py_UNUSED(unused)) {
    if (usable(machine) < 0) return NULL;
    if (machine->root->kind != P_LEAF) Py_RETURN_FALSE;
    return truth(trees_is_all(machine->trees, (int)machine->root->shape));
}

static PyMethodDef machine_methods[] = {
    {"feed", (PyCFunction)machine_feed, METH_VARARGS,
     "feed(events, start, stop_when_dead)\n--\n\nStep through events from one place; where to stop, or their number."},
    {"ignores", (PyCFunction)machine_ignores, METH_O,
     "ignores(event)\n--\n\nWould this event be accepted, and change nothing?"},
    {"dump", (PyCFunction)machine_dump, METH_NOARGS, "dump()\n--\n\nThe state as a recipe over constants."},
    {"load", (PyCFunction)machine_load, METH_O, "load(state)\n--\n\nTake over a dumped state."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef machine_getset[] = {
    {"halts", (getter)get_halts, NULL, "May the trace end here?", NULL},
    {"dead", (getter)get_dead, NULL, "Can nothing be accepted any more?", NULL},
    {"is_all", (getter)get_is_all, NULL, "Is everything accepted from here on?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef machine_members[] = {
    {"failed", T_BOOL, offsetof(RmlMachine, failed), 0, "Had an event no step?"},
    {"at", T_PYSSIZET, offsetof(RmlMachine, at), READONLY, "The place of the present event among those fed."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject RmlMachineType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.RmlMachine",
    .tp_basicsize = sizeof(RmlMachine),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "RmlMachine(planner, warn)\n--\n\nThe running state of an RML law.",
    .tp_new = machine_new,
    .tp_dealloc = (destructor)machine_dealloc,
    .tp_traverse = (traverseproc)machine_traverse,
    .tp_clear = (inquiry)machine_clear,
    .tp_methods = machine_methods,
    .tp_getset = machine_getset,
    .tp_members = machine_members,
};

/* The tables of a compiled grammar, copied from Python's once for each law.

   Called by: laws/grammar/native.py (`tables`).
   Must match: the numbers and the layout in laws/grammar/native.py, for laws/grammar/compiled_grammar.py.
   Compared by: tests/laws/grammar/test_machines.py. */
#include "grammar/grammar.h"

static int *numbers(Arena *arena, PyObject *sequence, int *count) {
    PyObject *fast = PySequence_Fast(sequence, "numbers are a sequence");
    if (fast == NULL) return NULL;
    Py_ssize_t size = PySequence_Fast_GET_SIZE(fast);
    int *found = arena_alloc(arena, (size_t)(size + 1) * sizeof(int));
    for (Py_ssize_t i = 0; found != NULL && i < size; i++) {
        long value = PyLong_AsLong(PySequence_Fast_GET_ITEM(fast, i));
        if (value == -1 && PyErr_Occurred()) found = NULL;
        else found[i] = (int)value;
    }
    Py_DECREF(fast);
    *count = (int)size;
    return found;
}

static int parse_instruction(GTables *tables, PyObject *tuple, GInstruction *made) {
    int kind;
    PyObject *code;
    if (!PyArg_ParseTuple(tuple, "iiO", &kind, &made->attribute, &code)) return -1;
    made->kind = (GInstructionKind)kind;
    made->code = numbers(&tables->arena, code, &made->count);
    return made->code == NULL ? -1 : 0;
}

static int parse_transition(GTables *tables, PyObject *tuple, GTransition *made) {
    PyObject *instructions, *frames, *results;
    int taken;
    if (!PyArg_ParseTuple(tuple, "O!O!Opii", &PyTuple_Type, &instructions, &PyTuple_Type, &frames, &results, &taken,
                          &made->frame_size, &made->results_size))
        return -1;
    made->taken = taken;
    made->result = numbers(&tables->arena, results, &made->results);
    made->count = (int)PyTuple_GET_SIZE(instructions);
    made->pushes = (int)PyTuple_GET_SIZE(frames);
    made->instructions = arena_alloc(&tables->arena, (size_t)(made->count + 1) * sizeof(GInstruction));
    made->frames = arena_alloc(&tables->arena, (size_t)(made->pushes + 1) * sizeof(GPush));
    if (made->result == NULL || made->instructions == NULL || made->frames == NULL) return -1;
    for (int i = 0; i < made->count; i++)
        if (parse_instruction(tables, PyTuple_GET_ITEM(instructions, i), made->instructions + i) < 0) return -1;
    for (int i = 0; i < made->pushes; i++) {
        PyObject *values;
        GPush *push = made->frames + i;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(frames, i), "iO", &push->state, &values)) return -1;
        if ((push->values = numbers(&tables->arena, values, &push->count)) == NULL) return -1;
    }
    int registers = made->frame_size + made->results_size + made->count;
    if (registers > tables->registers) tables->registers = registers;
    return 0;
}

static int parse_states(GTables *tables, PyObject *states) {
    tables->states = (int)PyTuple_GET_SIZE(states);
    tables->state = arena_alloc(&tables->arena, (size_t)(tables->states + 1) * sizeof(GState));
    for (int i = 0; tables->state != NULL && i < tables->states; i++) {
        GState *state = tables->state + i;
        int ending, lost;
        PyObject *tuple = PyTuple_GET_ITEM(states, i);
        if (!PyArg_ParseTuple(tuple, "iiip", &ending, &state->resume, &state->size, &lost)) return -1;
        state->ending = (GEnding)ending;
        state->lost = lost;
        tables->can_be_lost = tables->can_be_lost || lost;
        if (state->size > tables->registers) tables->registers = state->size;
    }
    return tables->state == NULL ? -1 : 0;
}

static int parse_attributes(GTables *tables, PyObject *attributes) {
    tables->attributes = (int)PyTuple_GET_SIZE(attributes);
    tables->attribute = arena_alloc(&tables->arena, (size_t)(tables->attributes + 1) * sizeof(GAttribute));
    for (int i = 0; tables->attribute != NULL && i < tables->attributes; i++) {
        GAttribute *attribute = tables->attribute + i;
        int kind;
        PyObject *tuple = PyTuple_GET_ITEM(attributes, i);
        if (!PyArg_ParseTuple(tuple, "iiO", &kind, &attribute->position, &attribute->field)) return -1;
        attribute->kind = (GAttributeKind)kind;
        if (PyList_Append(tables->arena.keep, attribute->field) < 0) return -1;
    }
    return tables->attribute == NULL ? -1 : 0;
}

/* Messages of one name are a list: `next` is the one after, and -1 ends it. */
static int parse_messages(GTables *tables, PyObject *messages) {
    tables->messages = (int)PyTuple_GET_SIZE(messages);
    tables->message = arena_alloc(&tables->arena, (size_t)(tables->messages + 1) * sizeof(GMessage));
    tables->by_name = PyDict_New();
    if (tables->message == NULL || tables->by_name == NULL) return -1;
    for (int i = 0; i < tables->messages; i++) {
        GMessage *message = tables->message + i;
        PyObject *name;
        int reply;
        PyObject *tuple = PyTuple_GET_ITEM(messages, i);
        if (!PyArg_ParseTuple(tuple, "UUp", &name, &message->direction, &reply)) return -1;
        message->reply = reply;
        message->terminal = i;
        PyObject *before = PyDict_GetItemWithError(tables->by_name, name);
        if (before == NULL && PyErr_Occurred()) return -1;
        message->next = before == NULL ? -1 : (int)PyLong_AsLong(before);
        PyObject *number = PyLong_FromLong(i);
        int stored = number == NULL ? -1 : PyDict_SetItem(tables->by_name, name, number);
        Py_XDECREF(number);
        if (stored < 0 || PyList_Append(tables->arena.keep, message->direction) < 0) return -1;
    }
    return 0;
}

static PyObject *tables_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"columns", "table", "states", "transitions", "attributes", "messages", "constants",
                            "functions", "group", "undefined", "slow", "lost", "key", NULL};
    PyObject *table, *states, *transitions, *attributes, *messages, *constants, *functions;
    PyObject *group, *undefined, *slow, *lost, *key;
    int columns, cells = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iOO!O!O!O!O!O!OOOOO:GrammarTables", names, &columns, &table,
                                     &PyTuple_Type, &states, &PyTuple_Type, &transitions, &PyTuple_Type, &attributes,
                                     &PyTuple_Type, &messages, &PyTuple_Type, &constants, &PyTuple_Type, &functions,
                                     &group, &undefined, &slow, &lost, &key))
        return NULL;
    GTables *tables = (GTables *)type->tp_alloc(type, 0);
    if (tables == NULL) return NULL;
    tables->columns = columns;
    tables->constants = Py_NewRef(constants);
    tables->functions = Py_NewRef(functions);
    tables->group = Py_NewRef(group);
    tables->undefined = Py_NewRef(undefined);
    tables->slow = Py_NewRef(slow);
    tables->lost = Py_NewRef(lost);
    tables->key = Py_NewRef(key);
    if (arena_init(&tables->arena) < 0) goto failed;
    if ((tables->table = numbers(&tables->arena, table, &cells)) == NULL) goto failed;
    if (parse_states(tables, states) < 0 || parse_attributes(tables, attributes) < 0) goto failed;
    if (parse_messages(tables, messages) < 0) goto failed;
    if (cells != tables->states * columns) {
        PyErr_SetString(PyExc_ValueError, "the table has another size");
        goto failed;
    }
    tables->transitions = (int)PyTuple_GET_SIZE(transitions);
    tables->transition = arena_alloc(&tables->arena, (size_t)(tables->transitions + 1) * sizeof(GTransition));
    if (tables->transition == NULL) goto failed;
    for (int i = 0; i < tables->transitions; i++)
        if (parse_transition(tables, PyTuple_GET_ITEM(transitions, i), tables->transition + i) < 0) goto failed;
    return (PyObject *)tables;
failed:
    Py_DECREF(tables);
    return NULL;
}

static int tables_traverse(GTables *tables, visitproc visit, void *arg) {
    Py_VISIT(tables->slow);
    Py_VISIT(tables->lost);
    Py_VISIT(tables->key);
    Py_VISIT(tables->functions);
    return 0;
}

static int tables_clear(GTables *tables) {
    Py_CLEAR(tables->slow);
    Py_CLEAR(tables->lost);
    Py_CLEAR(tables->key);
    Py_CLEAR(tables->functions);
    return 0;
}

static void tables_dealloc(GTables *tables) {
    PyObject_GC_UnTrack(tables);
    tables_clear(tables);
    Py_CLEAR(tables->by_name);
    Py_CLEAR(tables->group);
    Py_CLEAR(tables->constants);
    Py_CLEAR(tables->undefined);
    arena_free(&tables->arena);
    Py_TYPE(tables)->tp_free((PyObject *)tables);
}

PyTypeObject GrammarTablesType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.GrammarTables",
    .tp_basicsize = sizeof(GTables),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "The tables of a grammar, shared by all monitors of a law.",
    .tp_new = tables_new,
    .tp_dealloc = (destructor)tables_dealloc,
    .tp_traverse = (traverseproc)tables_traverse,
    .tp_clear = (inquiry)tables_clear,
};

/* The tables of a compiled grammar, copied from Python's once for each law.

   Called by: laws/grammar/native.py (`tables`).
   Must match: the order of the numbers in laws/grammar/native.py, for laws/grammar/compiled_grammar.py.
   Compared by: tests/laws/grammar/test_machines.py. */
#include "grammar/grammar.h"

static int *copy_numbers(Arena *arena, PyObject *list, int **end) {
    Py_ssize_t size = PyList_GET_SIZE(list);
    int *copied = arena_alloc(arena, (size_t)(size + 1) * sizeof(int));
    for (Py_ssize_t i = 0; copied != NULL && i < size; i++) {
        copied[i] = (int)PyLong_AsLong(PyList_GET_ITEM(list, i));
        if (PyErr_Occurred()) return NULL;
    }
    *end = copied + size;
    return copied;
}

/* The next numbers. */
static int *take(int **at, int count) {
    *at += count;
    return *at - count;
}

static int read_transition(GTables *tables, GTransition *made, int **at) {
    int *head = take(at, 6);
    *made = (GTransition){.taken = head[0], .frame_size = head[1], .results_size = head[2], .results = head[3],
                          .count = head[4], .pushes = head[5]};
    made->result = take(at, made->results);
    made->instructions = arena_alloc(&tables->arena, (size_t)(made->count + 1) * sizeof(GInstruction));
    made->frames = arena_alloc(&tables->arena, (size_t)(made->pushes + 1) * sizeof(GPush));
    if (made->instructions == NULL || made->frames == NULL) return -1;
    for (int i = 0; i < made->count; i++) {
        int *part = take(at, 3);
        made->instructions[i] = (GInstruction){part[0], part[1], part[2], take(at, part[2])};
    }
    for (int i = 0; i < made->pushes; i++) {
        int state = *take(at, 1);
        made->frames[i] = (GPush){state, take(at, tables->state[state].size)};
    }
    int registers = made->frame_size + made->results_size + made->count;
    if (registers > tables->registers) tables->registers = registers;
    return 0;
}

static int read_states(GTables *tables, int count, int **at) {
    if ((tables->state = arena_alloc(&tables->arena, (size_t)(count + 1) * sizeof(GState))) == NULL) return -1;
    for (int i = 0; i < count; i++) {
        int *part = take(at, 4);
        tables->state[i] = (GState){part[0], part[1], part[2], part[3]};
        tables->can_be_lost |= part[3];
        if (part[2] > tables->registers) tables->registers = part[2];
    }
    tables->states = count;
    tables->table = take(at, count * tables->columns);
    return 0;
}

static int read_attributes(GTables *tables, int **at) {
    Py_ssize_t count = PyTuple_GET_SIZE(tables->fields);
    tables->attribute = arena_alloc(&tables->arena, (size_t)(count + 1) * sizeof(GAttribute));
    for (Py_ssize_t i = 0; tables->attribute != NULL && i < count; i++) {
        PyObject *field = PyTuple_GET_ITEM(tables->fields, i);
        int position = *take(at, 1);
        GAttributeKind kind = position >= 0 ? G_PARAMETER : field != Py_None ? G_FIELD : G_RESULT;
        tables->attribute[i] = (GAttribute){kind, position, field};
    }
    return tables->attribute == NULL ? -1 : 0;
}

static int read_all(GTables *tables, PyObject *numbers) {
    int *at, *end;
    if (arena_init(&tables->arena) < 0 || (at = copy_numbers(&tables->arena, numbers, &end)) == NULL) return -1;
    int *sizes = take(&at, 3);
    tables->columns = sizes[0];
    if (read_states(tables, sizes[1], &at) < 0 || read_attributes(tables, &at) < 0) return -1;
    tables->transition = arena_alloc(&tables->arena, (size_t)(sizes[2] + 1) * sizeof(GTransition));
    if (tables->transition == NULL) return -1;
    for (int i = 0; i < sizes[2]; i++)
        if (read_transition(tables, tables->transition + i, &at) < 0) return -1;
    if (at == end) return 0;
    PyErr_SetString(PyExc_ValueError, "the tables have another size");
    return -1;
}

static PyObject *tables_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"numbers", "by_name", "fields", "constants", "functions", "group", "undefined", "slow",
                            "lost", "key", NULL};
    PyObject *numbers;
    GTables given;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!O!OOOOO:GrammarTables", names, &PyList_Type, &numbers,
                                     &PyDict_Type, &given.by_name, &PyTuple_Type, &given.fields, &PyTuple_Type,
                                     &given.constants, &PyTuple_Type, &given.functions, &given.group, &given.undefined,
                                     &given.slow, &given.lost, &given.key))
        return NULL;
    GTables *tables = (GTables *)type->tp_alloc(type, 0);
    if (tables == NULL) return NULL;
    tables->by_name = Py_NewRef(given.by_name);
    tables->fields = Py_NewRef(given.fields);
    tables->constants = Py_NewRef(given.constants);
    tables->functions = Py_NewRef(given.functions);
    tables->group = Py_NewRef(given.group);
    tables->undefined = Py_NewRef(given.undefined);
    tables->slow = Py_NewRef(given.slow);
    tables->lost = Py_NewRef(given.lost);
    tables->key = Py_NewRef(given.key);
    if (read_all(tables, numbers) < 0) Py_CLEAR(tables);
    return (PyObject *)tables;
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
    Py_CLEAR(tables->fields);
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

/* A law's shapes, patterns and decision trees, asked of the Python planner when they are first needed. */
#include "rml/rml.h"

/* ---- tuples to structures ------------------------------------------------------------------------------------------ */

static bool named(PyObject *word, const char *name) { return PyUnicode_CompareWithASCIIString(word, name) == 0; }

static PyObject *item(PyObject *tuple, Py_ssize_t i) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) <= i) {
        PyErr_SetString(PyExc_TypeError, "the planner gave a tuple of another form");
        return NULL;
    }
    return PyTuple_GET_ITEM(tuple, i);
}

static int item_int(PyObject *tuple, Py_ssize_t i) {
    PyObject *number = item(tuple, i);
    return number == NULL ? -1 : (int)PyLong_AsLong(number);
}

static const struct { const char *name; Op op; } OPS[] = {
    {"+", ADD}, {"-", SUBTRACT}, {"*", MULTIPLY}, {"<", LESS}, {"<=", LESS_EQUAL}, {">", GREATER},
    {">=", GREATER_EQUAL}, {"==", EQUAL}, {"!=", UNEQUAL}, {"&&", AND_ALSO}, {"||", OR_ELSE},
};

static Operand *operand_parse(Arena *arena, PyObject *tuple);

static Operand **operands_parse(Arena *arena, PyObject *tuples, int *count) {
    if (!PyTuple_Check(tuples)) {
        PyErr_SetString(PyExc_TypeError, "operands must be a tuple");
        return NULL;
    }
    *count = (int)PyTuple_GET_SIZE(tuples);
    Operand **operands = arena_alloc(arena, sizeof(Operand *) * (size_t)(*count + 1));
    if (operands == NULL) return NULL;
    for (int i = 0; i < *count; i++) {
        operands[i] = operand_parse(arena, PyTuple_GET_ITEM(tuples, i));
        if (operands[i] == NULL) return NULL;
    }
    return operands;
}

static Operand *operand_parse(Arena *arena, PyObject *tuple) {
    PyObject *kind = item(tuple, 0);
    Operand *operand = kind == NULL ? NULL : arena_alloc(arena, sizeof(Operand));
    if (operand == NULL) return NULL;
    if (named(kind, "slot")) {
        operand->kind = SLOT;
        operand->a = item_int(tuple, 1);
    } else if (named(kind, "capture")) {
        operand->kind = CAPTURE;
        operand->a = item_int(tuple, 1);
        operand->b = item_int(tuple, 2);
    } else if (named(kind, "constant")) {
        PyObject *value = item(tuple, 1);
        if (value == NULL || PyList_Append(arena->keep, value) < 0) return NULL;
        operand->kind = CONSTANT;
        operand->constant = val_borrowed(value);
    } else {
        PyObject *op = item(tuple, 1), *parts = item(tuple, 2);
        if (parts == NULL || PyList_Append(arena->keep, op) < 0) return NULL;
        operand->kind = OPERATION;
        operand->a = OTHER_OP;
        for (size_t i = 0; i < sizeof(OPS) / sizeof(OPS[0]); i++)
            if (named(op, OPS[i].name)) operand->a = OPS[i].op;
        if (PyTuple_Check(parts) && PyTuple_GET_SIZE(parts) != 2) operand->a = OTHER_OP;
        operand->constant = (Val)op;
        operand->parts = operands_parse(arena, parts, &operand->b);
        if (operand->parts == NULL) return NULL;
    }
    return PyErr_Occurred() ? NULL : operand;
}

static Recipe *leaf_parse(Arena *arena, PyObject *shape, PyObject *operands) {
    Recipe *recipe = arena_alloc(arena, sizeof(Recipe));
    if (recipe == NULL) return NULL;
    recipe->kind = R_LEAF;
    recipe->shape = (int)PyLong_AsLong(shape);
    recipe->operands = operands_parse(arena, operands, &recipe->size);
    if (recipe->size > UINT16_MAX) {
        PyErr_SetString(PyExc_OverflowError, "a term of this law holds more than 65535 values");
        return NULL;
    }
    return recipe->operands == NULL || PyErr_Occurred() ? NULL : recipe;
}

static Recipe *pair_parse(Arena *arena, PyObject *pair) {
    PyObject *shape = item(pair, 0), *operands = item(pair, 1);
    return operands == NULL ? NULL : leaf_parse(arena, shape, operands);
}

Recipe *recipe_parse(Arena *arena, PyObject *tuple) {
    PyObject *kind = item(tuple, 0);
    if (kind == NULL) return NULL;
    if (named(kind, "leaf")) {
        PyObject *shape = item(tuple, 1), *operands = item(tuple, 2);
        return operands == NULL ? NULL : leaf_parse(arena, shape, operands);
    }
    Recipe *recipe = arena_alloc(arena, sizeof(Recipe));
    if (recipe == NULL) return NULL;
    if (named(kind, "instance_list")) {
        PyObject *entries = item(tuple, 1), *core = item(tuple, 2);
        if (core == NULL || !PyTuple_Check(entries)) return NULL;
        recipe->kind = R_INSTANCE_LIST;
        recipe->count = (int)PyTuple_GET_SIZE(entries);
        recipe->ways = arena_alloc(arena, (size_t)recipe->count + 1);
        recipe->children = arena_alloc(arena, sizeof(Recipe *) * (size_t)(recipe->count + 1));
        if (recipe->ways == NULL || recipe->children == NULL) return NULL;
        for (int i = 0; i < recipe->count; i++) {
            PyObject *entry = PyTuple_GET_ITEM(entries, i), *way = item(entry, 0), *child = item(entry, 1);
            if (child == NULL) return NULL;
            recipe->ways[i] = named(way, "and") ? AND : named(way, "left") ? LEFT : RIGHT;
            recipe->children[i] = recipe_parse(arena, child);
            if (recipe->children[i] == NULL) return NULL;
        }
        recipe->core = recipe_parse(arena, core);
        return recipe->core == NULL ? NULL : recipe;
    }
    PyObject *first = item(tuple, 1);
    if (first == NULL) return NULL;
    if (named(kind, "closure")) {
        recipe->kind = R_CLOSURE;
        recipe->core = recipe_parse(arena, first);
        return recipe->core == NULL ? NULL : recipe;
    }
    if (named(kind, "sequence")) {
        recipe->kind = R_SEQUENCE;
        recipe->core = recipe_parse(arena, first);
        recipe->count = (int)PyTuple_GET_SIZE(tuple) - 2;
        recipe->children = arena_alloc(arena, sizeof(Recipe *) * (size_t)(recipe->count + 1));
        if (recipe->core == NULL || recipe->children == NULL) return NULL;
        for (int i = 0; i < recipe->count; i++) {
            recipe->children[i] = pair_parse(arena, PyTuple_GET_ITEM(tuple, i + 2));
            if (recipe->children[i] == NULL) return NULL;
        }
        return recipe;
    }
    PyObject *body = item(tuple, 2), *otherwise = item(tuple, 3);
    if (otherwise == NULL) return NULL;
    recipe->kind = R_FILTER;
    recipe->test = pair_parse(arena, first);
    recipe->core = recipe->test == NULL ? NULL : recipe_parse(arena, body);
    recipe->otherwise = recipe->core == NULL ? NULL : recipe_parse(arena, otherwise);
    return recipe->otherwise == NULL ? NULL : recipe;
}

/* ---- patterns ------------------------------------------------------------------------------------------------------ */

typedef enum { T_OBJECT, T_LIST, T_LITERAL, T_WILDCARD, T_CAPTURE, T_CHOICE } PatternKind;

struct PatternNode {
    PatternKind kind;
    int count, capture;
    bool open;
    Val literal;
    PyObject **keys;
    PatternNode **parts;
};

static PatternNode *pattern_parse(Arena *arena, PyObject *tuple);

static int parts_parse(Arena *arena, PatternNode *node, PyObject *tuples) {
    if (tuples == NULL || !PyTuple_Check(tuples)) return -1;
    node->count = (int)PyTuple_GET_SIZE(tuples);
    node->parts = arena_alloc(arena, sizeof(PatternNode *) * (size_t)(node->count + 1));
    if (node->parts == NULL) return -1;
    for (int i = 0; i < node->count; i++) {
        node->parts[i] = pattern_parse(arena, PyTuple_GET_ITEM(tuples, i));
        if (node->parts[i] == NULL) return -1;
    }
    return 0;
}

static PatternNode *pattern_parse(Arena *arena, PyObject *tuple) {
    PyObject *kind = item(tuple, 0);
    PatternNode *node = kind == NULL ? NULL : arena_alloc(arena, sizeof(PatternNode));
    if (node == NULL) return NULL;
    if (named(kind, "object")) {
        PyObject *fields = item(tuple, 1);
        if (fields == NULL) return NULL;
        node->kind = T_OBJECT;
        node->count = (int)PyTuple_GET_SIZE(fields);
        node->keys = arena_alloc(arena, sizeof(PyObject *) * (size_t)(node->count + 1));
        node->parts = arena_alloc(arena, sizeof(PatternNode *) * (size_t)(node->count + 1));
        if (node->keys == NULL || node->parts == NULL) return NULL;
        for (int i = 0; i < node->count; i++) {
            PyObject *field = PyTuple_GET_ITEM(fields, i), *key = item(field, 0), *part = item(field, 1);
            if (part == NULL || PyList_Append(arena->keep, key) < 0) return NULL;
            node->keys[i] = key;
            node->parts[i] = pattern_parse(arena, part);
            if (node->parts[i] == NULL) return NULL;
        }
    } else if (named(kind, "list")) {
        node->kind = T_LIST;
        node->open = item(tuple, 2) == Py_True;
        if (parts_parse(arena, node, item(tuple, 1)) < 0) return NULL;
    } else if (named(kind, "choice")) {
        node->kind = T_CHOICE;
        if (parts_parse(arena, node, item(tuple, 1)) < 0) return NULL;
    } else if (named(kind, "literal")) {
        PyObject *value = item(tuple, 1);
        if (value == NULL || PyList_Append(arena->keep, value) < 0) return NULL;
        node->kind = T_LITERAL;
        node->literal = val_borrowed(value);
    } else if (named(kind, "capture")) {
        node->kind = T_CAPTURE;
        node->capture = item_int(tuple, 1);
    } else {
        node->kind = T_WILDCARD;
    }
    return node;
}

int pattern_match(PatternNode *node, PyObject *value, Val *captures) {
    switch (node->kind) {
    case T_OBJECT:
        if (!PyDict_Check(value)) return 0;
        for (int i = 0; i < node->count; i++) {
            PyObject *part = PyDict_GetItemWithError(value, node->keys[i]);
            if (part == NULL) return PyErr_Occurred() ? -1 : 0;
            int matched = pattern_match(node->parts[i], part, captures);
            if (matched != 1) return matched;
        }
        return 1;
    case T_LIST:
        if (!PyList_Check(value)) return 0;
        Py_ssize_t size = PyList_GET_SIZE(value);
        if (node->open ? size < (node->count ? node->count : 1) : size != node->count) return 0;
        for (int i = 0; i < node->count; i++) {
            int matched = pattern_match(node->parts[i], PyList_GET_ITEM(value, i), captures);
            if (matched != 1) return matched;
        }
        return 1;
    case T_LITERAL:
        return val_identical(node->literal, val_borrowed(value));
    case T_CAPTURE:
        captures[node->capture] = val_borrowed(value);
        return 1;
    case T_CHOICE:
        for (int i = 0; i < node->count; i++) {
            int matched = pattern_match(node->parts[i], value, captures);
            if (matched != 0) return matched;
        }
        return 0;
    default:
        return 1;
    }
}

/* ---- the trees ------------------------------------------------------------------------------------------------------ */

static int grow(void **array, int *room, int wanted, size_t size) {
    if (wanted <= *room) return 0;
    int more = *room ? *room : 16;
    while (more < wanted) more *= 2;
    void *bigger = realloc(*array, (size_t)more * size);
    if (bigger == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *array = bigger;
    *room = more;
    return 0;
}

DecisionTrees *trees_of(PyObject *planner) {
    PyObject *known = PyObject_GetAttrString(planner, "native");
    if (known == NULL) return NULL;
    if (Py_IS_TYPE(known, &DecisionTreesType)) return (DecisionTrees *)known;
    Py_DECREF(known);
    DecisionTrees *trees = PyObject_GC_New(DecisionTrees, &DecisionTreesType);
    if (trees == NULL) return NULL;
    memset((char *)trees + sizeof(PyObject), 0, sizeof(DecisionTrees) - sizeof(PyObject));
    trees->planner = Py_NewRef(planner);
    if (arena_init(&trees->arena) < 0 || value_setup() < 0 ||
        PyObject_SetAttrString(planner, "native", (PyObject *)trees) < 0) {
        Py_DECREF(trees);
        return NULL;
    }
    PyObject_GC_Track(trees);
    return trees;
}

TermShape *trees_shape(DecisionTrees *trees, int number) {
    if (number >= trees->shape_count) {
        int before = trees->shape_count;
        if (grow((void **)&trees->shapes, &trees->shape_room, number + 1, sizeof(TermShape)) < 0) return NULL;
        memset(trees->shapes + before, 0, sizeof(TermShape) * (size_t)(number + 1 - before));
        for (int i = before; i <= number; i++) {
            TermShape *shape = trees->shapes + i;
            shape->all = shape->exactly_all = shape->empty = shape->dead = shape->halts = -1;
        }
        trees->shape_count = number + 1;
    }
    return trees->shapes + number;
}

Pattern *trees_pattern(DecisionTrees *trees, int number) {
    if (number >= trees->pattern_count) {
        int before = trees->pattern_count;
        if (grow((void **)&trees->patterns, &trees->pattern_room, number + 1, sizeof(Pattern)) < 0) return NULL;
        memset(trees->patterns + before, 0, sizeof(Pattern) * (size_t)(number + 1 - before));
        trees->pattern_count = number + 1;
    }
    if (trees->patterns[number].tree == NULL) {
        PyObject *described = PyObject_CallMethod(trees->planner, "pattern", "i", number);
        if (described == NULL) return NULL;
        PyObject *tree = item(described, 0);
        int captures = item_int(described, 1);
        PatternNode *parsed = tree == NULL ? NULL : pattern_parse(&trees->arena, tree);
        Py_DECREF(described);
        if (parsed == NULL) return NULL;
        trees->patterns[number].tree = parsed;
        trees->patterns[number].captures = captures;
    }
    return trees->patterns + number;
}

/* What the planner says of a shape, asked once; `flag` is where in a TermShape it is kept. */
static int asked(DecisionTrees *trees, int number, size_t flag, const char *method) {
    TermShape *shape = trees_shape(trees, number);
    if (shape == NULL) return -1;
    int8_t known = *((int8_t *)shape + flag);
    if (known >= 0) return known;
    PyObject *said = PyObject_CallMethod(trees->planner, method, "i", number);
    if (said == NULL) return -1;
    int result = said == Py_True;
    Py_DECREF(said);
    *((int8_t *)(trees->shapes + number) + flag) = (int8_t)result; /* the call may have moved the shapes */
    return result;
}

int trees_is_all(DecisionTrees *trees, int shape) { return asked(trees, shape, offsetof(TermShape, all), "is_all"); }

int trees_is_exactly_all(DecisionTrees *trees, int shape) {
    return asked(trees, shape, offsetof(TermShape, exactly_all), "is_exactly_all");
}

int trees_is_empty(DecisionTrees *trees, int shape) {
    return asked(trees, shape, offsetof(TermShape, empty), "is_empty");
}

int trees_is_dead(DecisionTrees *trees, int shape) { return asked(trees, shape, offsetof(TermShape, dead), "is_dead"); }

Recipe *trees_expanded(DecisionTrees *trees, int number) {
    TermShape *shape = trees_shape(trees, number);
    if (shape == NULL) return NULL;
    if (shape->expanded == NULL) {
        PyObject *described = PyObject_CallMethod(trees->planner, "expand", "i", number);
        if (described == NULL) return NULL;
        Recipe *recipe = recipe_parse(&trees->arena, described);
        Py_DECREF(described);
        if (recipe == NULL) return NULL;
        trees->shapes[number].expanded = recipe;
    }
    return trees->shapes[number].expanded;
}

/* ---- decision trees ----------------------------------------------------------------------------------------------------- */

static int node_fill(Arena *arena, Node *node, PyObject *described) {
    static const struct { const char *name; NodeKind kind; } KINDS[] = {
        {"match", N_MATCH}, {"sub", N_SUB}, {"same", N_SAME}, {"guard", N_GUARD}, {"fail", N_FAIL},
        {"self", N_SELF}, {"plan", N_PLAN}, {"yes", N_YES}, {"no", N_NO},
    };
    PyObject *kind = item(described, 0);
    if (kind == NULL) return -1;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        if (named(kind, KINDS[i].name)) node->kind = KINDS[i].kind;
    if (node->kind == N_PLAN) {
        PyObject *recipe = item(described, 1);
        node->recipe = recipe == NULL ? NULL : recipe_parse(arena, recipe);
        return node->recipe == NULL ? -1 : 0;
    }
    if (node->kind == N_MATCH) {
        PyObject *constraints = item(described, 2);
        if (constraints == NULL) return -1;
        node->pattern = item_int(described, 1);
        node->count = (int)PyTuple_GET_SIZE(constraints);
        node->captures = arena_alloc(arena, sizeof(int) * (size_t)(node->count + 1));
        node->operands = arena_alloc(arena, sizeof(Operand *) * (size_t)(node->count + 1));
        if (node->captures == NULL || node->operands == NULL) return -1;
        for (int i = 0; i < node->count; i++) {
            PyObject *constraint = PyTuple_GET_ITEM(constraints, i), *operand = item(constraint, 1);
            if (operand == NULL) return -1;
            node->captures[i] = item_int(constraint, 0);
            node->operands[i] = operand_parse(arena, operand);
            if (node->operands[i] == NULL) return -1;
        }
        return PyErr_Occurred() ? -1 : 0;
    }
    int operands = node->kind == N_GUARD ? 1 : node->kind == N_SUB || node->kind == N_SAME ? 2 : 0;
    node->operands = arena_alloc(arena, sizeof(Operand *) * 2);
    if (node->operands == NULL) return -1;
    for (int i = 0; i < operands; i++) {
        PyObject *operand = item(described, i + 1);
        node->operands[i] = operand == NULL ? NULL : operand_parse(arena, operand);
        if (node->operands[i] == NULL) return -1;
    }
    return 0;
}

static Node *node_new(DecisionTrees *trees, TreeKind tree, int shape, PyObject *answers, Node *parent) {
    PyObject *described =
        PyObject_CallMethod(trees->planner, "node", "siO", tree == STEP ? "step" : "halt", shape, answers);
    if (described == NULL) return NULL;
    Node *node = arena_alloc(&trees->arena, sizeof(Node));
    if (node != NULL) {
        node->tree = tree;
        node->shape = shape;
        node->parent = parent;
        node->answers = answers;
        if (PyList_Append(trees->arena.keep, answers) < 0 || node_fill(&trees->arena, node, described) < 0)
            node = NULL;
    }
    Py_DECREF(described);
    return node;
}

Node *trees_root(DecisionTrees *trees, int number, TreeKind tree) {
    TermShape *shape = trees_shape(trees, number);
    if (shape == NULL) return NULL;
    if (shape->trees[tree] == NULL) {
        PyObject *answers = PyTuple_New(0);
        Node *root = answers == NULL ? NULL : node_new(trees, tree, number, answers, NULL);
        Py_XDECREF(answers);
        if (root == NULL) return NULL;
        trees->shapes[number].trees[tree] = root;
    }
    return trees->shapes[number].trees[tree];
}

Node *trees_branch(DecisionTrees *trees, Node *node, bool yes) {
    Py_ssize_t size = PyTuple_GET_SIZE(node->answers);
    PyObject *answers = PyTuple_New(size + 1);
    if (answers == NULL) return NULL;
    for (Py_ssize_t i = 0; i < size; i++)
        PyTuple_SET_ITEM(answers, i, Py_NewRef(PyTuple_GET_ITEM(node->answers, i)));
    PyTuple_SET_ITEM(answers, size, Py_NewRef(yes ? Py_True : Py_False));
    Node *branch = node_new(trees, node->tree, node->shape, answers, node);
    Py_DECREF(answers);
    if (branch == NULL) return NULL;
    if (yes)
        node->yes = branch;
    else
        node->no = branch;
    return branch;
}

/* ---- what a child watches ------------------------------------------------------------------------------------------------- */

static int key_number(DecisionTrees *trees, const Node *question) {
    for (int i = 0; i < trees->key_count; i++) {
        KeyKind *key = trees->keys + i;
        if (key->pattern == question->pattern && key->count == question->count &&
            memcmp(key->captures, question->captures, sizeof(int) * (size_t)key->count) == 0)
            return i;
    }
    if (grow((void **)&trees->keys, &trees->key_room, trees->key_count + 1, sizeof(KeyKind)) < 0) return -1;
    int number = trees->key_count++;
    int table = question->count ? -question->count : number;
    trees->keys[number] = (KeyKind){question->pattern, question->count, question->captures, table};
    return number;
}

static bool same_index_key(const IndexKey *a, const IndexKey *b) {
    if (a->table != b->table || a->in_test != b->in_test) return false;
    for (int i = 0; i < a->count; i++) {
        const Operand *x = a->operands[i], *y = b->operands[i];
        if (x->kind != y->kind || (x->kind == SLOT ? x->a != y->a : x->constant != y->constant)) return false;
    }
    return true;
}

/* Add the matches on the way to an end, which were all answered no. */
static int triggers_add(DecisionTrees *trees, Triggers *triggers, Node *end, bool in_test) {
    for (Node *node = end->parent; node != NULL; node = node->parent) {
        if (node->kind != N_MATCH) continue;
        int key = key_number(trees, node);
        if (key < 0) return -1;
        if (node->count > MOST_VALUES) triggers->keyed = false;
        for (int i = 0; i < node->count; i++)
            if (node->operands[i]->kind != SLOT && node->operands[i]->kind != CONSTANT) triggers->keyed = false;
        triggers->keys[triggers->key_count++] = key;
        IndexKey index_key = {trees->keys[key].table, node->count, node->operands, in_test};
        int known = 0;
        while (known < triggers->count && !same_index_key(triggers->index_keys + known, &index_key)) known++;
        if (known == triggers->count) triggers->index_keys[triggers->count++] = index_key;
    }
    return 0;
}

static size_t questions(const Node *end) {
    size_t count = 0;
    for (const Node *node = end->parent; node != NULL; node = node->parent) count += node->kind == N_MATCH;
    return count;
}

Triggers *trees_triggers(DecisionTrees *trees, Node *end, Node *test) {
    for (Triggers *triggers = end->triggers; triggers != NULL; triggers = triggers->next)
        if (triggers->of_test == test) return triggers;
    Triggers *triggers = arena_alloc(&trees->arena, sizeof(Triggers));
    size_t room = questions(end) + (test == NULL ? 0 : questions(test));
    if (triggers == NULL) return NULL;
    triggers->index_keys = arena_alloc(&trees->arena, sizeof(IndexKey) * (room + 1));
    triggers->keys = arena_alloc(&trees->arena, sizeof(int) * (room + 1));
    if (triggers->index_keys == NULL || triggers->keys == NULL) return NULL;
    triggers->keyed = room <= MOST_INDEX_KEYS;
    if (test != NULL && triggers_add(trees, triggers, test, true) < 0) return NULL;
    if (triggers_add(trees, triggers, end, false) < 0) return NULL;
    triggers->of_test = test;
    triggers->next = end->triggers;
    end->triggers = triggers;
    return triggers;
}

/* ---- the type --------------------------------------------------------------------------------------------------------------- */

static int trees_traverse(DecisionTrees *trees, visitproc visit, void *arg) {
    Py_VISIT(trees->planner);
    return 0;
}

static int trees_clear(DecisionTrees *trees) {
    Py_CLEAR(trees->planner);
    return 0;
}

static void trees_dealloc(DecisionTrees *trees) {
    PyObject_GC_UnTrack(trees);
    trees_clear(trees);
    arena_free(&trees->arena);
    free(trees->shapes);
    free(trees->patterns);
    free(trees->keys);
    PyObject_GC_Del(trees);
}

PyTypeObject DecisionTreesType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.DecisionTrees",
    .tp_basicsize = sizeof(DecisionTrees),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A law's decision trees, as the C core holds them.",
    .tp_dealloc = (destructor)trees_dealloc,
    .tp_traverse = (traverseproc)trees_traverse,
    .tp_clear = (inquiry)trees_clear,
};

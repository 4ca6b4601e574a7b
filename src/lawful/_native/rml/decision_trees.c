/* A law's shapes, patterns and decision trees, asked of the Python planner when they are first needed.

   Called by the other files of rml/. Reads the tuples that lawful/laws/rml/planner.py describes. Matches patterns.py
   (`match`) and the triggers of tree_walker.py. tests/laws/rml/test_engine.py compares the two. */
#include "rml/rml.h"

/* ---- tuples to structures ---------------------------------------------------------------------------------------- */

/* Parsers take NULL for an item that was not there, and answer NULL with an exception set. */
typedef void *(*Parser)(Arena *arena, PyObject *tuple);

static bool named(PyObject *word, const char *name) { return PyUnicode_CompareWithASCIIString(word, name) == 0; }

static PyObject *item(PyObject *tuple, Py_ssize_t i) {
    if (tuple != NULL && PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) > i) return PyTuple_GET_ITEM(tuple, i);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the planner gave a tuple of another form");
    return NULL;
}

static int item_int(PyObject *tuple, Py_ssize_t i) {
    PyObject *number = item(tuple, i);
    return number == NULL ? -1 : (int)PyLong_AsLong(number);
}

/* What a tuple holds from `start` on, each item parsed. */
static void *parse_items(Arena *arena, PyObject *tuple, Py_ssize_t start, int *count, Parser parse) {
    if (tuple == NULL || !PyTuple_Check(tuple)) return item(tuple, 0);
    *count = (int)(PyTuple_GET_SIZE(tuple) - start);
    void **found = arena_alloc(arena, sizeof(void *) * (size_t)(*count + 1));
    for (int i = 0; found != NULL && i < *count; i++)
        if ((found[i] = parse(arena, PyTuple_GET_ITEM(tuple, start + i))) == NULL) return NULL;
    return found;
}

/* A value that lives as long as the arena. */
static PyObject *kept(Arena *arena, PyObject *value) {
    return value == NULL || PyList_Append(arena->keep, value) < 0 ? NULL : value;
}

static const struct { const char *name; Op op; } OPS[] = {
    {"+", ADD}, {"-", SUBTRACT}, {"*", MULTIPLY}, {"<", LESS}, {"<=", LESS_EQUAL}, {">", GREATER},
    {">=", GREATER_EQUAL}, {"==", EQUAL}, {"!=", UNEQUAL}, {"&&", AND_ALSO}, {"||", OR_ELSE},
};

static void *operand_parse(Arena *arena, PyObject *tuple) {
    PyObject *kind = item(tuple, 0), *value = item(tuple, 1);
    Operand *operand = value == NULL ? NULL : arena_alloc(arena, sizeof(Operand));
    if (operand == NULL) return NULL;
    if (named(kind, "slot")) {
        operand->kind = SLOT;
        operand->a = item_int(tuple, 1);
    } else if (named(kind, "capture")) {
        operand->kind = CAPTURE;
        operand->a = item_int(tuple, 1);
        operand->b = item_int(tuple, 2);
    } else if (kept(arena, value) == NULL) {
        return NULL;
    } else if (named(kind, "constant")) {
        operand->kind = CONSTANT;
        operand->constant = val_borrowed(value);
    } else {
        operand->kind = OPERATION;
        operand->constant = (Val)value;
        operand->parts = parse_items(arena, item(tuple, 2), 0, &operand->b, operand_parse);
        operand->a = OTHER_OP;
        for (size_t i = 0; operand->b == 2 && i < sizeof(OPS) / sizeof(OPS[0]); i++)
            if (named(value, OPS[i].name)) operand->a = OPS[i].op;
    }
    return PyErr_Occurred() ? NULL : operand;
}

/* `tuple` holds a shape and its operands from `start` on. */
static Recipe *leaf_parse(Arena *arena, PyObject *tuple, Py_ssize_t start) {
    Recipe *recipe = arena_alloc(arena, sizeof(Recipe));
    if (recipe == NULL) return NULL;
    recipe->kind = R_LEAF;
    recipe->shape = item_int(tuple, start);
    recipe->operands = parse_items(arena, item(tuple, start + 1), 0, &recipe->size, operand_parse);
    if (recipe->size > UINT16_MAX)
        PyErr_SetString(PyExc_OverflowError, "a term of this law holds more than 65535 values");
    return PyErr_Occurred() ? NULL : recipe;
}

static void *pair_parse(Arena *arena, PyObject *pair) { return leaf_parse(arena, pair, 0); }

static void *child_parse(Arena *arena, PyObject *entry) { return recipe_parse(arena, item(entry, 1)); }

Recipe *recipe_parse(Arena *arena, PyObject *tuple) {
    PyObject *kind = item(tuple, 0);
    if (kind == NULL) return NULL;
    if (named(kind, "leaf")) return leaf_parse(arena, tuple, 1);
    Recipe *recipe = arena_alloc(arena, sizeof(Recipe));
    if (recipe == NULL) return NULL;
    if (named(kind, "instance_list")) {
        PyObject *entries = item(tuple, 1);
        recipe->kind = R_INSTANCE_LIST;
        recipe->children = parse_items(arena, entries, 0, &recipe->count, child_parse);
        recipe->ways = recipe->children == NULL ? NULL : arena_alloc(arena, (size_t)recipe->count + 1);
        for (int i = 0; recipe->ways != NULL && i < recipe->count; i++) {
            PyObject *way = item(PyTuple_GET_ITEM(entries, i), 0);
            recipe->ways[i] = named(way, "and") ? AND : named(way, "left") ? LEFT : RIGHT;
        }
        recipe->core = recipe_parse(arena, item(tuple, 2));
    } else if (named(kind, "closure")) {
        recipe->kind = R_CLOSURE;
        recipe->core = recipe_parse(arena, item(tuple, 1));
    } else if (named(kind, "sequence")) {
        recipe->kind = R_SEQUENCE;
        recipe->core = recipe_parse(arena, item(tuple, 1));
        recipe->children = recipe->core == NULL ? NULL : parse_items(arena, tuple, 2, &recipe->count, pair_parse);
    } else {
        recipe->kind = R_FILTER;
        recipe->test = pair_parse(arena, item(tuple, 1));
        recipe->core = recipe_parse(arena, item(tuple, 2));
        recipe->otherwise = recipe_parse(arena, item(tuple, 3));
    }
    return PyErr_Occurred() ? NULL : recipe;
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

typedef enum { T_OBJECT, T_LIST, T_LITERAL, T_WILDCARD, T_CAPTURE, T_CHOICE } PatternKind;

struct PatternNode {
    PatternKind kind;
    int count, capture;
    bool open;
    Val literal;
    PyObject **keys;
    PatternNode **parts;
};

static void *pattern_parse(Arena *arena, PyObject *tuple);

static void *field_parse(Arena *arena, PyObject *field) { return pattern_parse(arena, item(field, 1)); }

static void *key_parse(Arena *arena, PyObject *field) { return kept(arena, item(field, 0)); }

static void *pattern_parse(Arena *arena, PyObject *tuple) {
    PyObject *kind = item(tuple, 0);
    PatternNode *node = kind == NULL ? NULL : arena_alloc(arena, sizeof(PatternNode));
    if (node == NULL) return NULL;
    if (named(kind, "object")) {
        node->kind = T_OBJECT;
        node->keys = parse_items(arena, item(tuple, 1), 0, &node->count, key_parse);
        node->parts = parse_items(arena, item(tuple, 1), 0, &node->count, field_parse);
    } else if (named(kind, "list") || named(kind, "choice")) {
        node->kind = named(kind, "list") ? T_LIST : T_CHOICE;
        node->open = node->kind == T_LIST && item(tuple, 2) == Py_True;
        node->parts = parse_items(arena, item(tuple, 1), 0, &node->count, pattern_parse);
    } else if (named(kind, "literal")) {
        PyObject *value = kept(arena, item(tuple, 1));
        node->kind = T_LITERAL;
        node->literal = value == NULL ? 0 : val_borrowed(value);
    } else if (named(kind, "capture")) {
        node->kind = T_CAPTURE;
        node->capture = item_int(tuple, 1);
    } else {
        node->kind = T_WILDCARD;
    }
    return PyErr_Occurred() ? NULL : node;
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

/* ---- the trees --------------------------------------------------------------------------------------------------- */

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
    if (rml_grow((void **)&trees->shapes, &trees->shape_room, number + 1, sizeof(TermShape)) < 0) return NULL;
    return trees->shapes + number;
}

Pattern *trees_pattern(DecisionTrees *trees, int number) {
    if (rml_grow((void **)&trees->patterns, &trees->pattern_room, number + 1, sizeof(Pattern)) < 0) return NULL;
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
    if (known) return known - 1;
    PyObject *said = PyObject_CallMethod(trees->planner, method, "i", number);
    if (said == NULL) return -1;
    int result = said == Py_True;
    Py_DECREF(said);
    *((int8_t *)(trees->shapes + number) + flag) = (int8_t)(1 + result); /* the call may have moved the shapes */
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

/* ---- decision trees ---------------------------------------------------------------------------------------------- */

static void *constraint_parse(Arena *arena, PyObject *pair) { return operand_parse(arena, item(pair, 1)); }

static int node_fill(Arena *arena, Node *node, PyObject *described) {
    static const char *const KINDS[] = {"match", "sub", "same", "guard", "fail", "self", "plan", "yes", "no"};
    PyObject *kind = item(described, 0);
    if (kind == NULL) return -1;
    while (node->kind < N_NO && !named(kind, KINDS[node->kind])) node->kind++;
    if (node->kind == N_PLAN) {
        node->recipe = recipe_parse(arena, item(described, 1));
    } else if (node->kind == N_MATCH) {
        PyObject *constraints = item(described, 2);
        node->pattern = item_int(described, 1);
        node->operands = parse_items(arena, constraints, 0, &node->count, constraint_parse);
        node->captures = node->operands == NULL ? NULL : arena_alloc(arena, sizeof(int) * (size_t)(node->count + 1));
        for (int i = 0; node->captures != NULL && i < node->count; i++)
            node->captures[i] = item_int(PyTuple_GET_ITEM(constraints, i), 0);
    } else {
        int operands;
        node->operands = parse_items(arena, described, 1, &operands, operand_parse);
    }
    return PyErr_Occurred() ? -1 : 0;
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

/* ---- what a child watches ---------------------------------------------------------------------------------------- */

static int key_number(DecisionTrees *trees, const Node *question) {
    for (int i = 0; i < trees->key_count; i++) {
        KeyKind *key = trees->keys + i;
        if (key->pattern == question->pattern && key->count == question->count &&
            memcmp(key->captures, question->captures, sizeof(int) * (size_t)key->count) == 0)
            return i;
    }
    if (rml_grow((void **)&trees->keys, &trees->key_room, trees->key_count + 1, sizeof(KeyKind)) < 0) return -1;
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

/* ---- the type ---------------------------------------------------------------------------------------------------- */

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

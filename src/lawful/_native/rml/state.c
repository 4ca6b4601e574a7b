/* The parts of a running state: built by recipes, asked whether they may halt, dumped, freed.

   Called by machine.c, step.c and instance_list.c. Matches lawful/laws/rml/tree_walker.py, and of machine.py what builds
   and dumps. tests/laws/rml/test_engine.py compares the two. */
#include "rml/rml.h"

/* ---- questions to the present event and the registers ------------------------------------------------------------ */

PatternMatch *captured(RmlMachine *machine, int number) {
    EventView *view = machine->now;
    if (number < view->count && view->matches[number].known) return view->matches + number;
    Pattern *pattern = trees_pattern(machine->trees, number);
    if (pattern == NULL) return NULL;
    if (rml_grow((void **)&view->matches, &view->count, number + 1, sizeof(PatternMatch)) < 0) return NULL;
    PatternMatch *match = view->matches + number;
    if (match->captures == NULL) {
        match->captures = arena_alloc(&machine->pool.arena, sizeof(Val) * (size_t)(pattern->captures + 1));
        if (match->captures == NULL) return NULL;
    }
    int matched = pattern_match(pattern->tree, view->event, match->captures);
    if (matched < 0) return NULL;
    match->matched = matched;
    match->known = true;
    return match;
}

void view_clear(EventView *view) {
    Py_CLEAR(view->event);
    for (int i = 0; i < view->count; i++) view->matches[i].known = false;
    view->hints = 0;
}

/* Pass a message on; takes the references to it and to what it was made of. 0, or -1: error. */
static int warn(RmlMachine *machine, PyObject *message, PyObject *used) {
    PyObject *done = message == NULL ? NULL : PyObject_CallOneArg(machine->warn, message);
    Py_XDECREF(message);
    Py_XDECREF(used);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The type of a value, in words; takes the reference. */
static PyObject *described(Val value) {
    PyObject *object = val_object(value), *module = object == NULL ? NULL : value_module();
    PyObject *kind = module == NULL ? NULL : PyObject_CallMethod(module, "describe", "O", object);
    val_decref(value);
    Py_XDECREF(module);
    Py_XDECREF(object);
    return kind;
}

/* 1: a value; 0: none, and that has been warned of; -1: error. */
static int evaluate(RmlMachine *machine, const Operand *operand, const Val *registers, Val *value);

static int apply_in_python(RmlMachine *machine, const Operand *operand, const Val *values, Val *value) {
    static PyObject *apply = NULL, *no_value = NULL;
    if (apply == NULL) {
        PyObject *module = value_module();
        if (module == NULL) return -1;
        no_value = PyObject_GetAttrString(module, "NoValue");
        apply = PyObject_GetAttrString(module, "apply");
        Py_DECREF(module);
        if (apply == NULL || no_value == NULL) return -1;
    }
    PyObject *args = PyTuple_New(operand->b + 1);
    if (args == NULL) return -1;
    PyTuple_SET_ITEM(args, 0, Py_NewRef(obj_of(operand->constant)));
    for (int i = 0; i < operand->b; i++) {
        PyObject *part = val_object(values[i]);
        if (part == NULL) {
            Py_DECREF(args);
            return -1;
        }
        PyTuple_SET_ITEM(args, i + 1, part);
    }
    PyObject *result = PyObject_Call(apply, args, NULL);
    Py_DECREF(args);
    if (result == NULL) {
        if (!PyErr_ExceptionMatches(no_value)) return -1;
        PyObject *type, *error, *trace;
        PyErr_Fetch(&type, &error, &trace);
        PyErr_NormalizeException(&type, &error, &trace);
        int warned = warn(machine, PyObject_Str(error), error);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        return warned;
    }
    *value = val_borrowed(result);
    if (is_int(*value)) Py_DECREF(result);
    return 1;
}

/* The usual case: two integers that fit. */
static bool apply_to_ints(int op, int64_t a, int64_t b, Val *value) {
    int64_t result;
    switch (op) {
    case ADD: result = a + b; break; /* two of 63 bits: no overflow */
    case SUBTRACT: result = a - b; break;
    case MULTIPLY:
        if (__builtin_mul_overflow(a, b, &result)) return false;
        break;
    case LESS: *value = (Val)Py_NewRef(a < b ? Py_True : Py_False); return true;
    case LESS_EQUAL: *value = (Val)Py_NewRef(a <= b ? Py_True : Py_False); return true;
    case GREATER: *value = (Val)Py_NewRef(a > b ? Py_True : Py_False); return true;
    case GREATER_EQUAL: *value = (Val)Py_NewRef(a >= b ? Py_True : Py_False); return true;
    case EQUAL: *value = (Val)Py_NewRef(a == b ? Py_True : Py_False); return true;
    case UNEQUAL: *value = (Val)Py_NewRef(a != b ? Py_True : Py_False); return true;
    default: return false;
    }
    if (!fits(result)) return false;
    *value = val_of_int(result);
    return true;
}

static int evaluate_condition(RmlMachine *machine, const Operand *operand, const Val *registers, Val *value) {
    bool stop = operand->a == OR_ELSE;
    for (int i = 0; i < operand->b; i++) {
        if (i > 0) val_decref(*value);
        int found = evaluate(machine, operand->parts[i], registers, value);
        if (found != 1) return found;
        if (is_int(*value) || !PyBool_Check(obj_of(*value))) {
            PyObject *kind = described(*value);
            if (kind == NULL) return -1;
            PyObject *op = obj_of(operand->constant);
            return warn(machine, PyUnicode_FromFormat("`%U` wants conditions, not %U", op, kind), kind);
        }
        if ((obj_of(*value) == Py_True) == stop) break;
    }
    return 1;
}

static int evaluate(RmlMachine *machine, const Operand *operand, const Val *registers, Val *value) {
    switch (operand->kind) {
    case SLOT:
        *value = registers[operand->a];
        val_incref(*value);
        return 1;
    case CAPTURE: {
        PatternMatch *match = captured(machine, operand->a);
        if (match == NULL) return -1;
        *value = match->captures[operand->b];
        val_incref(*value);
        return 1;
    }
    case CONSTANT:
        *value = operand->constant;
        val_incref(*value);
        return 1;
    default:
        break;
    }
    if (operand->a == AND_ALSO || operand->a == OR_ELSE) return evaluate_condition(machine, operand, registers, value);
    Val parts[2] = {0, 0};
    int count = 0, found = 1;
    if (operand->b > 2) {
        PyErr_SetString(PyExc_TypeError, "an operation has at most two operands");
        return -1;
    }
    while (count < operand->b && (found = evaluate(machine, operand->parts[count], registers, parts + count)) == 1)
        count++;
    if (found == 1 && !(count == 2 && is_int(parts[0]) && is_int(parts[1]) &&
                        apply_to_ints(operand->a, int_of(parts[0]), int_of(parts[1]), value)))
        found = apply_in_python(machine, operand, parts, value);
    for (int i = 0; i < count; i++) val_decref(parts[i]);
    return found;
}

int operand_value(RmlMachine *machine, const Operand *operand, const Val *registers, Val *value) {
    int found = evaluate(machine, operand, registers, value);
    if (found == 0) *value = (Val)Py_NewRef(lawful_undefined);
    return found < 0 ? -1 : 0;
}

int holds(RmlMachine *machine, const Operand *operand, const Val *registers) {
    Val value;
    if (operand_value(machine, operand, registers, &value) < 0) return -1;
    if (is_int(value) || (!PyBool_Check(obj_of(value)) && obj_of(value) != lawful_undefined)) {
        PyObject *kind = described(value);
        if (kind == NULL) return -1;
        return warn(machine, PyUnicode_FromFormat("a condition must be true or false, not %U", kind), kind);
    }
    int result = obj_of(value) == Py_True;
    val_decref(value);
    return result;
}

int answer(RmlMachine *machine, const Node *node, const Val *registers) {
    if (node->kind == N_GUARD) return holds(machine, node->operands[0], registers);
    if (node->kind == N_MATCH) {
        PatternMatch *match = captured(machine, node->pattern);
        if (match == NULL) return -1;
        if (!match->matched) return 0;
        for (int i = 0; i < node->count; i++) {
            const Operand *operand = node->operands[i];
            Val found = match->captures[node->captures[i]];
            int same;
            if (operand->kind == SLOT) {
                same = val_matches(registers[operand->a], found);
            } else {
                Val value;
                if (operand_value(machine, operand, registers, &value) < 0) return -1;
                found = machine->now->matches[node->pattern].captures[node->captures[i]];
                same = val_matches(value, found);
                val_decref(value);
            }
            if (same != 1) return same;
            match = machine->now->matches + node->pattern; /* evaluating may have moved the matches */
        }
        return 1;
    }
    Val a, b;
    if (operand_value(machine, node->operands[0], registers, &a) < 0) return -1;
    if (operand_value(machine, node->operands[1], registers, &b) < 0) {
        val_decref(a);
        return -1;
    }
    int same = node->kind == N_SUB ? val_matches(a, b) : val_identical(a, b);
    val_decref(a);
    val_decref(b);
    return same;
}

Node *walk(RmlMachine *machine, TreeKind tree, const Leaf *leaf) {
    DecisionTrees *trees = machine->trees;
    Node *node = (int)leaf->shape < trees->shape_room ? trees->shapes[leaf->shape].trees[tree] : NULL;
    if (node == NULL && (node = trees_root(trees, (int)leaf->shape, tree)) == NULL) return NULL;
    while (node->kind <= N_GUARD) {
        int yes = answer(machine, node, leaf->registers);
        if (yes < 0) return NULL;
        Node *next = yes ? node->yes : node->no;
        if (next == NULL && (next = trees_branch(trees, node, yes)) == NULL) return NULL;
        node = next;
    }
    return node;
}

Node *walk_unmatched(RmlMachine *machine, const Leaf *leaf) {
    DecisionTrees *trees = machine->trees;
    Node *node = trees_root(trees, (int)leaf->shape, STEP);
    while (node != NULL && node->kind <= N_GUARD) {
        int yes = node->kind == N_MATCH ? 0 : answer(machine, node, leaf->registers);
        if (yes < 0) return NULL;
        Node *next = yes ? node->yes : node->no;
        node = next != NULL ? next : trees_branch(trees, node, yes);
    }
    return node;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

static int leaf_halts(RmlMachine *machine, const Leaf *leaf) {
    TermShape *shape = trees_shape(machine->trees, (int)leaf->shape);
    if (shape == NULL) return -1;
    if (shape->halts == 1 || shape->halts == 2) return shape->halts - 1;
    Node *end = walk(machine, HALT, leaf);
    if (end == NULL) return -1;
    machine->trees->shapes[leaf->shape].halts = end->parent != NULL ? 3 : end->kind == N_YES ? 2 : 1;
    return end->kind == N_YES;
}

int part_halts(RmlMachine *machine, Part *part) {
    switch (part->kind) {
    case P_LEAF: return leaf_halts(machine, part);
    case P_INSTANCE_LIST: return ((InstanceList *)part)->waiting == 0;
    case P_SEQUENCE: {
        Sequence *sequence = (Sequence *)part;
        return sequence->rest->halts ? part_halts(machine, sequence->first) : 0;
    }
    case P_FILTER: {
        int halts = part_halts(machine, ((Filter *)part)->body);
        return halts == 1 ? part_halts(machine, ((Filter *)part)->otherwise) : halts;
    }
    default: return 1;
    }
}

int part_is_dead(RmlMachine *machine, Part *part) {
    switch (part->kind) {
    case P_LEAF: return trees_is_dead(machine->trees, (int)part->shape);
    case P_INSTANCE_LIST: return ((InstanceList *)part)->dead > 0;
    case P_SEQUENCE: {
        Sequence *sequence = (Sequence *)part;
        return sequence->rest->dead ? 1 : part_is_dead(machine, sequence->first);
    }
    case P_FILTER: {
        int dead = part_is_dead(machine, ((Filter *)part)->body);
        return dead == 0 ? part_is_dead(machine, ((Filter *)part)->otherwise) : dead;
    }
    default: return 0;
    }
}

/* ---- building and freeing ---------------------------------------------------------------------------------------- */

Leaf *leaf_new(RmlMachine *machine, int shape, int size) {
    Leaf *leaf = pool_alloc(&machine->pool, sizeof(Leaf) + sizeof(Val) * (size_t)size);
    if (leaf != NULL) *leaf = (Leaf){.shape = (uint32_t)shape, .size = (uint16_t)size, .kind = P_LEAF};
    return leaf;
}

void leaf_free(RmlMachine *machine, Leaf *leaf) {
    for (int i = 0; i < leaf->size; i++) val_decref(leaf->registers[i]);
    pool_free(&machine->pool, leaf, sizeof(Leaf) + sizeof(Val) * leaf->size);
}

static Leaf *leaf_build(RmlMachine *machine, Recipe *recipe, const Val *registers) {
    Leaf *leaf = leaf_new(machine, recipe->shape, recipe->size);
    if (leaf == NULL) return NULL;
    for (int i = 0; i < recipe->size; i++) {
        if (operand_value(machine, recipe->operands[i], registers, leaf->registers + i) < 0) {
            for (int j = i; j < recipe->size; j++) leaf->registers[j] = val_of_int(0);
            leaf_free(machine, leaf);
            return NULL;
        }
    }
    return leaf;
}

static void *part_new(RmlMachine *machine, PartKind kind, size_t size) {
    Part *part = pool_alloc(&machine->pool, size);
    if (part == NULL) return NULL;
    memset(part, 0, size);
    part->kind = (uint8_t)kind;
    return part;
}

/* Put a cell before what follows it, and note what it says of both. */
static Cell *cell_before(RmlMachine *machine, Cell *cell, Cell *rest) {
    int halts = part_halts(machine, cell->leaf), dead = halts < 0 ? -1 : part_is_dead(machine, cell->leaf);
    if (dead < 0) return NULL;
    cell->rest = rest;
    cell->halts = halts && (rest == NULL || rest->halts);
    cell->dead = dead || (rest != NULL && rest->dead);
    return cell;
}

Cell *cell_drop(RmlMachine *machine, Cell *cell) {
    Cell *rest = cell->rest;
    leaf_free(machine, cell->leaf);
    pool_free(&machine->pool, cell, sizeof(Cell));
    return rest;
}

/* The cells of `inner` go before `rest`, which may change what they say of all that follows them. */
static int cells_joined(RmlMachine *machine, Cell *inner, Cell *rest) {
    if (inner->rest != NULL && cells_joined(machine, inner->rest, rest) < 0) return -1;
    return cell_before(machine, inner, inner->rest == NULL ? rest : inner->rest) == NULL ? -1 : 0;
}

Part *sequence_of(RmlMachine *machine, Part *first, Cell *rest) {
    while (rest != NULL && first->kind == P_LEAF) {
        int empty = trees_is_empty(machine->trees, (int)first->shape);
        if (empty < 0) return NULL;
        if (!empty) break;
        Recipe *recipe = trees_expanded(machine->trees, (int)rest->leaf->shape);
        if (recipe == NULL) return NULL;
        Part *next = part_build(machine, recipe, rest->leaf->registers);
        if (next == NULL) return NULL;
        part_free(machine, first);
        first = next;
        rest = cell_drop(machine, rest);
    }
    if (rest == NULL) return first;
    if (first->kind == P_SEQUENCE) {
        Sequence *inner = (Sequence *)first;
        if (cells_joined(machine, inner->rest, rest) < 0) return NULL;
        return first;
    }
    Sequence *sequence = part_new(machine, P_SEQUENCE, sizeof(Sequence));
    if (sequence == NULL) return NULL;
    sequence->first = first;
    sequence->rest = rest;
    return &sequence->head;
}

Part *part_build(RmlMachine *machine, Recipe *recipe, const Val *registers) {
    switch (recipe->kind) {
    case R_LEAF: return leaf_build(machine, recipe, registers);
    case R_INSTANCE_LIST: {
        Part *core = part_build(machine, recipe->core, registers);
        InstanceList *list = core == NULL ? NULL : list_new(machine, core);
        if (list == NULL) return NULL;
        for (int i = 0; i < recipe->count; i++) {
            Part *child = part_build(machine, recipe->children[i], registers);
            if (child == NULL || list_insert(machine, list, recipe->ways[i], child, list->last) < 0) return NULL;
        }
        return &list->head;
    }
    case R_SEQUENCE: {
        Cell *rest = NULL;
        for (int i = recipe->count - 1; i >= 0; i--) {
            Cell *cell = pool_alloc(&machine->pool, sizeof(Cell));
            if (cell == NULL || (cell->leaf = leaf_build(machine, recipe->children[i], registers)) == NULL) return NULL;
            if ((rest = cell_before(machine, cell, rest)) == NULL) return NULL;
        }
        Part *first = part_build(machine, recipe->core, registers);
        return first == NULL ? NULL : sequence_of(machine, first, rest);
    }
    case R_FILTER: {
        Filter *filter = part_new(machine, P_FILTER, sizeof(Filter));
        if (filter == NULL) return NULL;
        filter->test = leaf_build(machine, recipe->test, registers);
        filter->body = filter->test == NULL ? NULL : part_build(machine, recipe->core, registers);
        filter->otherwise = filter->body == NULL ? NULL : part_build(machine, recipe->otherwise, registers);
        return filter->otherwise == NULL ? NULL : &filter->head;
    }
    default: {
        Closure *closure = part_new(machine, P_CLOSURE, sizeof(Closure));
        if (closure == NULL) return NULL;
        closure->body = part_build(machine, recipe->core, registers);
        return closure->body == NULL ? NULL : &closure->head;
    }
    }
}

void part_free(RmlMachine *machine, Part *part) {
    if (part == NULL) return;
    switch (part->kind) {
    case P_LEAF: leaf_free(machine, part); break;
    case P_INSTANCE_LIST: list_free(machine, (InstanceList *)part); break;
    case P_SEQUENCE: {
        Sequence *sequence = (Sequence *)part;
        part_free(machine, sequence->first);
        for (Cell *cell = sequence->rest; cell != NULL;) cell = cell_drop(machine, cell);
        pool_free(&machine->pool, sequence, sizeof(Sequence));
        break;
    }
    case P_FILTER: {
        Filter *filter = (Filter *)part;
        leaf_free(machine, filter->test);
        part_free(machine, filter->body);
        part_free(machine, filter->otherwise);
        pool_free(&machine->pool, filter, sizeof(Filter));
        break;
    }
    default:
        part_free(machine, ((Closure *)part)->body);
        pool_free(&machine->pool, part, sizeof(Closure));
    }
}

Part *part_collapsed(RmlMachine *machine, Part *part) {
    while (part != NULL && part->kind == P_INSTANCE_LIST) {
        InstanceList *list = (InstanceList *)part;
        if (list->first != NULL || list->inert) break;
        part = list->core;
        list->core = NULL;
        list_free(machine, list);
    }
    return part;
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static PyObject *dump_registers(const Leaf *leaf) {
    PyObject *operands = PyTuple_New(leaf->size);
    for (int i = 0; operands != NULL && i < leaf->size; i++) {
        PyObject *operand = Py_BuildValue("(sN)", "constant", val_object(leaf->registers[i]));
        if (operand == NULL) Py_CLEAR(operands);
        else PyTuple_SET_ITEM(operands, i, operand);
    }
    return operands;
}

static PyObject *dump_leaf(const Leaf *leaf) { return Py_BuildValue("(IN)", leaf->shape, dump_registers(leaf)); }

/* Takes the reference to the item; clears the list if the item is NULL. */
static void append(PyObject **items, PyObject *item) {
    if (item == NULL || PyList_Append(*items, item) < 0) Py_CLEAR(*items);
    Py_XDECREF(item);
}

static PyObject *fixed(PyObject *items) { /* takes the reference */
    PyObject *tuple = items == NULL ? NULL : PyList_AsTuple(items);
    Py_XDECREF(items);
    return tuple;
}

static PyObject *dump_inert(RmlMachine *machine) {
    PyObject *shape = PyObject_GetAttrString(machine->trees->planner, "inert");
    return shape == NULL ? NULL : Py_BuildValue("[(s(sN()))]", "and", "leaf", shape);
}

PyObject *part_dump(RmlMachine *machine, Part *part) {
    static const char *const WAYS[] = {"and", "left", "right"};
    switch (part->kind) {
    case P_LEAF: return Py_BuildValue("(sIN)", "leaf", part->shape, dump_registers(part));
    case P_INSTANCE_LIST: {
        InstanceList *list = (InstanceList *)part;
        PyObject *entries = list->inert ? dump_inert(machine) : PyList_New(0);
        for (ListEntry *entry = list->first; entries != NULL && entry != NULL; entry = entry->after)
            append(&entries, Py_BuildValue("(sN)", WAYS[entry->leaf.way], part_dump(machine, entry_part(entry))));
        if (entries == NULL) return NULL;
        return Py_BuildValue("(sNN)", "instance_list", fixed(entries), part_dump(machine, list->core));
    }
    case P_SEQUENCE: {
        Sequence *sequence = (Sequence *)part;
        PyObject *items = Py_BuildValue("[sN]", "sequence", part_dump(machine, sequence->first));
        for (Cell *cell = sequence->rest; items != NULL && cell != NULL; cell = cell->rest)
            append(&items, dump_leaf(cell->leaf));
        return fixed(items);
    }
    case P_FILTER: {
        Filter *filter = (Filter *)part;
        return Py_BuildValue("(sNNN)", "filter", dump_leaf(filter->test), part_dump(machine, filter->body),
                             part_dump(machine, filter->otherwise));
    }
    default:
        return Py_BuildValue("(sN)", "closure", part_dump(machine, ((Closure *)part)->body));
    }
}

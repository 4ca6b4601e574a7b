/* Types and functions that the C files of RML share; grammar/, invariants/, engine/ and tracer/ use its values and arenas.

   Together these files are the C machine of RML laws, exported as `RmlMachine`. They match lawful/laws/rml/machine.py,
   instance_list.py, tree_walker.py and values.py: same verdicts, warnings and dumped states.
   tests/laws/rml/test_engine.py and tests/oracle/test_rml_oracle.py compare the two. */
#ifndef LAWFUL_CORE_H
#define LAWFUL_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ABI 8
#define MOST_VALUES 16 /* that a key may have */
#define MOST_INDEX_KEYS 64

/* ---- values (value.c) -------------------------------------------------------------------------------------------- */

/* A value of an event: an integer of up to 63 bits, marked by its lowest bit, or a Python object. */
typedef uintptr_t Val;

static inline bool is_int(Val v) { return v & 1; }
static inline int64_t int_of(Val v) { return (int64_t)v >> 1; }
static inline Val val_of_int(int64_t i) { return ((uint64_t)i << 1) | 1; }
static inline bool fits(int64_t i) { return i >= -(INT64_C(1) << 62) && i < (INT64_C(1) << 62); }
static inline PyObject *obj_of(Val v) { return (PyObject *)v; }
static inline void val_incref(Val v) { if (!is_int(v)) Py_INCREF(obj_of(v)); }
static inline void val_decref(Val v) { if (!is_int(v)) Py_DECREF(obj_of(v)); }

extern PyObject *lawful_undefined; /* values.UNDEFINED */

int value_setup(void);
/* The Python module of values, imported before: the program may have replaced `__import__` since. */
PyObject *value_module(void);
Val val_borrowed(PyObject *object);         /* the value of an object; holds no reference of its own */
PyObject *val_object(Val v);                /* a new reference */
int val_matches(Val pattern, Val value);    /* 1, 0 or -1: error */
int val_identical(Val a, Val b);
bool val_keyable(Val v);
uint32_t val_hash(Val v);                   /* of a keyable value */

/* ---- memory that is given back all at once (arena.c) ------------------------------------------------------------- */

typedef struct Chunk Chunk;
typedef struct {
    Chunk *chunks;
    char *at, *end;
    size_t total;
    PyObject *keep; /* a list of what must live as long */
} Arena;

void *huge_alloc(size_t size); /* give back with free() */
int array_enlarge(void **array, int *room, int wanted, size_t size);
/* Room for so many items, the new ones zeroed; -1: error. */
static inline int rml_grow(void **array, int *room, int wanted, size_t size) {
    return wanted <= *room ? 0 : array_enlarge(array, room, wanted, size);
}
int arena_init(Arena *arena);
void arena_free(Arena *arena);
void arena_reset(Arena *arena); /* keeps the newest chunk; `keep` stays as it is */
void *arena_take(Arena *arena, size_t size); /* NULL with MemoryError */
void *arena_alloc(Arena *arena, size_t size); /* the same, zeroed */

/* Small blocks that come and go, by size, without a header of their own. */
#define POOL_WORDS 48
typedef struct {
    Arena arena;
    void *free[POOL_WORDS + 1];
} Pool;

void *pool_alloc(Pool *pool, size_t size); /* not zeroed */
void pool_free(Pool *pool, void *block, size_t size);

/* ---- a law's shapes and decision trees (decision_trees.c) -------------------------------------------------------- */

typedef enum { SLOT, CAPTURE, CONSTANT, OPERATION } OperandKind;
typedef enum { ADD, SUBTRACT, MULTIPLY, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL, AND_ALSO, OR_ELSE,
               OTHER_OP } Op;

typedef struct Operand Operand;
struct Operand {
    OperandKind kind;
    int a, b;         /* SLOT: register; CAPTURE: pattern, capture; OPERATION: op, number of operands */
    Val constant;     /* CONSTANT; OPERATION: the operator's name */
    Operand **parts;
};

typedef enum { R_LEAF, R_INSTANCE_LIST, R_SEQUENCE, R_FILTER, R_CLOSURE } RecipeKind;
typedef enum { AND, LEFT, RIGHT } Way;

typedef struct Recipe Recipe;
struct Recipe {
    RecipeKind kind;
    int shape, size;      /* LEAF */
    Operand **operands;
    int count;            /* INSTANCE_LIST: children; SEQUENCE: what follows the head */
    uint8_t *ways;
    Recipe **children;
    Recipe *core;         /* INSTANCE_LIST: core; SEQUENCE: head; FILTER, CLOSURE: body */
    Recipe *test, *otherwise;
};

typedef enum { N_MATCH, N_SUB, N_SAME, N_GUARD, N_FAIL, N_SELF, N_PLAN, N_YES, N_NO } NodeKind;
typedef enum { STEP, HALT } TreeKind;

typedef struct {
    int table;            /* the table it is found in */
    int count;
    Operand **operands;   /* the values it is found by */
    bool in_test;         /* over the registers of a filter's test, not of the leaf */
} IndexKey;

/* What must be asked of an event to know whether it can matter to a child, and where the child waits for it. Questions
   about the same values share an index key: a child that an event turns out not to concern does nothing. */
typedef struct Triggers Triggers;
struct Triggers {
    bool keyed;           /* false: some question cannot be a key, so every event can matter */
    int key_count;
    int *keys;            /* the questions: numbers of kinds of keys */
    int count;
    IndexKey *index_keys;
    bool own;             /* belongs to one entry alone, and holds references to its constants */
    const void *of_test;  /* of a filter: the end of its test */
    Triggers *next;          /* of a leaf's end: the same with the tests of filters before it */
};

typedef struct Node Node;
struct Node {
    NodeKind kind;
    int shape;
    TreeKind tree;
    int pattern, count;   /* MATCH */
    int *captures;
    Operand **operands;   /* MATCH: with what; SUB, SAME: two; GUARD: one */
    Recipe *recipe;       /* PLAN */
    Node *yes, *no, *parent;
    PyObject *answers;
    Triggers *triggers;         /* at an end that was reached with every match answered no */
};

typedef struct {
    Node *trees[2];
    Recipe *expanded;
    int8_t all, exactly_all, empty, dead, halts; /* 0: not asked yet, 1: no, 2: yes; halts, 3: the registers decide */
} TermShape;

typedef struct PatternNode PatternNode;
typedef struct {
    PatternNode *tree;
    int captures;
} Pattern;

/* A kind of key: a pattern and the captures whose values are compared. Keys of as many values share a table; one without
   values has a table of its own. */
typedef struct { int pattern, count; int *captures; int table; } KeyKind;

typedef struct {
    PyObject_HEAD
    PyObject *planner;
    Arena arena;
    TermShape *shapes;
    int shape_room;
    Pattern *patterns;
    int pattern_room;
    KeyKind *keys;
    int key_count, key_room;
} DecisionTrees;

extern PyTypeObject DecisionTreesType;

DecisionTrees *trees_of(PyObject *planner);
TermShape *trees_shape(DecisionTrees *trees, int number);
Pattern *trees_pattern(DecisionTrees *trees, int number);
int pattern_match(PatternNode *tree, PyObject *value, Val *captures); /* 1, 0 or -1 */
Node *trees_root(DecisionTrees *trees, int shape, TreeKind tree);
Node *trees_branch(DecisionTrees *trees, Node *node, bool answer);
Recipe *trees_expanded(DecisionTrees *trees, int shape);
Recipe *recipe_parse(Arena *arena, PyObject *recipe);
Triggers *trees_triggers(DecisionTrees *trees, Node *end, Node *test); /* test: NULL but for filters */
int trees_is_all(DecisionTrees *trees, int shape);
int trees_is_exactly_all(DecisionTrees *trees, int shape);
int trees_is_empty(DecisionTrees *trees, int shape);
int trees_is_dead(DecisionTrees *trees, int shape);

/* ---- the running state (state.c, instance_list.c, step.c, machine.c) --------------------------------------------- */

typedef enum { P_LEAF, P_INSTANCE_LIST, P_SEQUENCE, P_FILTER, P_CLOSURE, P_BOXED } PartKind;

/* Every part begins so. A leaf is a shape and its registers; P_BOXED: an entry whose part is not a leaf. */
typedef struct {
    uint32_t shape;
    uint16_t size;
    uint8_t kind;
    uint8_t way : 2, halts : 1, dead : 1; /* of a leaf that stands in an entry */
    Val registers[];
} Leaf;
typedef Leaf Part;

typedef struct Link Link;
struct Link {
    Link *next, *prev;     /* a ring, by place; the first of a ring is in the table */
    uint32_t hash;
    uint16_t place, index_key;  /* where in its entry it lies, in words; which index key it is */
};

typedef struct ListEntry ListEntry;
struct ListEntry {
    uint64_t label;        /* grows inwards */
    ListEntry *before, *after;
    Triggers *triggers;          /* NULL: always visited */
    Leaf leaf;             /* then its registers, then its links */
};

typedef struct {
    int number;
    uint32_t used, room;
    Link **slots;
    uint32_t *hashes;      /* of the slots, so that a search need not look at each ring it passes */
} Table;

typedef struct {
    Part head;
    Part *core;
    ListEntry *first, *last;
    Link *always;
    Table *tables;
    int table_count, table_room;
    uint32_t *asked;       /* by key: how many children ask for it */
    int asked_count;
    int64_t waiting, dead;
    int64_t shuffled;      /* children that do not stand as `child /\ rest` */
    bool inert;            /* children were dropped that are not `all` or `empty`, but can never matter again */
} InstanceList;

typedef struct Cell Cell;
struct Cell {
    Cell *rest;
    Leaf *leaf;
    bool halts, dead;
};

typedef struct { Part head; Part *first; Cell *rest; } Sequence;
typedef struct { Part head; Leaf *test; Part *body, *otherwise; } Filter;
typedef struct { Part head; Part *body; } Closure;

typedef struct {
    bool known, matched;
    Val *captures;
} PatternMatch;

/* An event and what has been found in it so far, by pattern. */
typedef struct {
    PyObject *event;       /* a reference of its own; NULL: none */
    PatternMatch *matches;
    int count;
    uint32_t hashes[8];    /* the keys under which children may wait for it */
    int tables[8];
    int hints;
} EventView;

#define AHEAD 2            /* events that are looked at before their turn comes */

typedef struct {
    PyObject_HEAD
    DecisionTrees *trees;
    PyObject *warn;
    Pool pool;
    Arena scratch;         /* the changes of the present event */
    Part *root;
    EventView views[AHEAD + 1]; /* the present event and the next ones, in turn */
    EventView *now;
    char failed;
    Py_ssize_t at;         /* which event of those fed last */
    bool busy;
} RmlMachine;

extern PyTypeObject RmlMachineType;

PatternMatch *captured(RmlMachine *machine, int pattern); /* of the present event; NULL: error */
void view_clear(EventView *view);
int operand_value(RmlMachine *machine, const Operand *operand, const Val *registers, Val *value); /* -1: error */
int holds(RmlMachine *machine, const Operand *operand, const Val *registers);
int answer(RmlMachine *machine, const Node *node, const Val *registers);
Node *walk(RmlMachine *machine, TreeKind tree, const Leaf *leaf);
Node *walk_unmatched(RmlMachine *machine, const Leaf *leaf);

int part_halts(RmlMachine *machine, Part *part);
int part_is_dead(RmlMachine *machine, Part *part);
Part *part_build(RmlMachine *machine, Recipe *recipe, const Val *registers);
void part_free(RmlMachine *machine, Part *part);
Part *part_collapsed(RmlMachine *machine, Part *part);
Part *sequence_of(RmlMachine *machine, Part *first, Cell *rest);
PyObject *part_dump(RmlMachine *machine, Part *part);
Cell *cell_drop(RmlMachine *machine, Cell *cell); /* what follows it */
Leaf *leaf_new(RmlMachine *machine, int shape, int size);
void leaf_free(RmlMachine *machine, Leaf *leaf);

static inline Part *entry_part(const ListEntry *entry) {
    return entry->leaf.kind == P_BOXED ? (Part *)entry->leaf.registers[0] : (Part *)&entry->leaf;
}
static inline ListEntry *list_entry_of(Link *link) { return (ListEntry *)((char *)link - (size_t)link->place * 8); }

InstanceList *list_new(RmlMachine *machine, Part *core);
void list_free(RmlMachine *machine, InstanceList *list);
int list_insert(RmlMachine *machine, InstanceList *list, Way way, Part *part, ListEntry *before);
int list_replace(RmlMachine *machine, InstanceList *list, ListEntry *entry, Part *part);
void list_remove(RmlMachine *machine, InstanceList *list, ListEntry *entry, bool keep_part);
int list_set_core(RmlMachine *machine, InstanceList *list, Part *part);
int list_count_core(RmlMachine *machine, InstanceList *list, int by);
int list_settle_core(RmlMachine *machine, InstanceList *list);
int list_prefetch_slots(RmlMachine *machine, InstanceList *list); /* start to fetch what the event in `now` will need */
void list_prefetch_entries(InstanceList *list, const EventView *view); /* and then what that leads to */
bool list_is_large(const InstanceList *list);
Link *list_ring(RmlMachine *machine, InstanceList *list, int key); /* the children that the present event may concern */

/* What a step would change. FAILS and SAME are the same everywhere. */
typedef struct Change Change;
typedef struct { ListEntry *entry; Change *change; } EntryChange;
struct Change {
    enum { C_FAIL, C_SELF, C_BECOME, C_WITHIN, C_HEAD, C_CELL, C_ENTRIES } kind;
    Recipe *recipe;
    bool in_body;
    Cell *cell;
    Change *inner;          /* WITHIN, HEAD, CELL; ENTRIES: of the core */
    EntryChange *entries;
    int count, room;
};
extern Change FAILS, SAME;

Change *part_step(RmlMachine *machine, Part *part); /* NULL: error */
Part *part_apply(RmlMachine *machine, Part *part, Change *change); /* NULL: error */

#endif

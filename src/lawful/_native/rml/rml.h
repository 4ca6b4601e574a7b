/* The C core: what its files share. The Python twin is lawful/laws/rml/machine.py; the two behave alike. */
#ifndef LAWFUL_CORE_H
#define LAWFUL_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ABI 7
#define MOST_VALUES 16 /* that a key may have */
#define MOST_HOMES 64

/* ---- values (value.c) ------------------------------------------------------------------------------------------ */

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
/* The twin. It is there already: the program may have put its own in the place of `__import__`. */
PyObject *value_module(void);
Val val_borrowed(PyObject *object);         /* the value of an object; holds no reference of its own */
PyObject *val_object(Val v);                /* a new reference */
int val_matches(Val pattern, Val value);    /* 1, 0 or -1: error */
int val_identical(Val a, Val b);
bool val_keyable(Val v);
uint32_t val_hash(Val v);                   /* of a keyable value */

/* ---- memory that is given back all at once (arena.c) ------------------------------------------------------------ */

typedef struct Chunk Chunk;
typedef struct {
    Chunk *chunks;
    char *at, *end;
    size_t total;
    PyObject *keep; /* a list of what must live as long */
} Arena;

void *huge_alloc(size_t size); /* give back with free() */
int arena_init(Arena *arena);
void arena_free(Arena *arena);
void arena_reset(Arena *arena); /* keeps the newest chunk; `keep` is not touched */
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

/* ---- a law's shapes and decision trees (program.c) ---------------------------------------------------------------- */

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

typedef enum { R_LEAF, R_SPINE, R_SEQUENCE, R_FILTER, R_CLOSURE } RecipeKind;
typedef enum { AND, LEFT, RIGHT } Way;

typedef struct Recipe Recipe;
struct Recipe {
    RecipeKind kind;
    int shape, size;      /* LEAF */
    Operand **operands;
    int count;            /* SPINE: children; SEQUENCE: what follows the head */
    uint8_t *ways;
    Recipe **children;
    Recipe *core;         /* SPINE: core; SEQUENCE: head; FILTER, CLOSURE: body */
    Recipe *test, *otherwise;
};

typedef enum { N_MATCH, N_SUB, N_SAME, N_GUARD, N_FAIL, N_SELF, N_PLAN, N_YES, N_NO } NodeKind;
typedef enum { STEP, HALT } TreeKind;

typedef struct {
    int table;            /* the table it is found in */
    int count;
    Operand **operands;   /* the values it is found by */
    bool in_test;         /* over the registers of a filter's test, not of the leaf */
} Home;

/* What must be asked of an event to know whether it can matter to a child, and where the child waits for it. Questions
   about the same values share a home: a child that an event turns out not to concern does nothing. */
typedef struct Watch Watch;
struct Watch {
    bool keyed;           /* false: some question cannot be a key, so every event can matter */
    int key_count;
    int *keys;            /* the questions: numbers of kinds of keys */
    int count;
    Home *homes;
    bool own;             /* belongs to one frame alone, and holds references to its constants */
    const void *of_test;  /* of a filter: the end of its test */
    Watch *next;          /* of a leaf's end: the same with the tests of filters before it */
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
    Watch *watch;         /* at an end that was reached with every match answered no */
};

typedef struct {
    Node *trees[2];
    Recipe *expanded;
    int8_t all, exactly_all, empty, doomed, halts; /* -1: not asked yet; halts: 2 if it depends on the registers */
} Shape;

typedef struct PatternNode PatternNode;
typedef struct {
    PatternNode *tree;
    int captures;
} Pattern;

/* A kind of key: a pattern and the captures whose values are compared. Keys of as many values share a table; one without
   values has a table of its own. */
typedef struct { int pattern, count; int *captures; int table; } Key;

typedef struct {
    PyObject_HEAD
    PyObject *planner;
    Arena arena;
    Shape *shapes;
    int shape_count, shape_room;
    Pattern *patterns;
    int pattern_count, pattern_room;
    Key *keys;
    int key_count, key_room;
} Program;

extern PyTypeObject ProgramType;

Program *program_of(PyObject *planner);
Shape *program_shape(Program *program, int number);
Pattern *program_pattern(Program *program, int number);
int pattern_match(PatternNode *tree, PyObject *value, Val *captures); /* 1, 0 or -1 */
Node *program_root(Program *program, int shape, TreeKind tree);
Node *program_branch(Program *program, Node *node, bool answer);
Recipe *program_expanded(Program *program, int shape);
Recipe *recipe_parse(Arena *arena, PyObject *recipe);
Watch *program_watch(Program *program, Node *end, Node *test); /* test: NULL but for filters */
int program_is_all(Program *program, int shape);
int program_is_exactly_all(Program *program, int shape);
int program_is_empty(Program *program, int shape);
int program_doomed(Program *program, int shape);

/* ---- the running state (state.c, instance_list.c, step.c, machine.c) ------------------------------------------------------- */

typedef enum { P_LEAF, P_SPINE, P_SEQUENCE, P_FILTER, P_CLOSURE, P_BOXED } PartKind;

/* Every part begins so. A leaf is a shape and its registers; P_BOXED stands in a frame for a part that is no leaf. */
typedef struct {
    uint32_t shape;
    uint16_t size;
    uint8_t kind;
    uint8_t way : 2, halts : 1, doomed : 1; /* of a leaf that stands in a frame */
    Val registers[];
} Leaf;
typedef Leaf Part;

typedef struct Link Link;
struct Link {
    Link *next, *prev;     /* a ring, by place; the first of a ring is in the table */
    uint32_t hash;
    uint16_t place, home;  /* where in its frame it lies, in words; which home it is */
};

typedef struct Frame Frame;
struct Frame {
    uint64_t label;        /* grows inwards */
    Frame *before, *after;
    Watch *watch;          /* NULL: always visited */
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
    Frame *first, *last;
    Link *always;
    Table *tables;
    int table_count, table_room;
    uint32_t *asked;       /* by key: how many children ask for it */
    int asked_count;
    int64_t waiting, doomed;
    int64_t shuffled;      /* children that do not stand as `child /\ rest` */
    bool inert;            /* children were let go that are not `all` or `empty`, but will never matter again */
} Spine;

typedef struct Cell Cell;
struct Cell {
    Cell *rest;
    Leaf *leaf;
    bool halts, doomed;
};

typedef struct { Part head; Part *first; Cell *rest; } Sequence;
typedef struct { Part head; Leaf *test; Part *body, *otherwise; } Filter;
typedef struct { Part head; Part *body; } Closure;

typedef struct {
    bool known, matched;
    Val *captures;
} Memo;

/* An event and what has been found in it so far, by pattern. */
typedef struct {
    PyObject *event;       /* a reference of its own; NULL: none */
    Memo *memos;
    int count;
    uint32_t hashes[8];    /* the keys under which children may wait for it */
    int tables[8];
    int hints;
} Sight;

#define AHEAD 2            /* events that are looked at before their turn comes */

typedef struct {
    PyObject_HEAD
    Program *program;
    PyObject *warn;
    Pool pool;
    Arena scratch;         /* the changes of the present event */
    Part *root;
    Sight sights[AHEAD + 1]; /* the present event and the next ones, in turn */
    Sight *now;
    char failed;
    Py_ssize_t at;         /* which event of those fed last */
    bool busy;
} Machine;

extern PyTypeObject MachineType;

Memo *captured(Machine *machine, int pattern); /* of the present event; NULL: error */
void sight_clear(Sight *sight);
int operand_value(Machine *machine, const Operand *operand, const Val *registers, Val *value); /* -1: error */
int holds(Machine *machine, const Operand *operand, const Val *registers);
int answer(Machine *machine, const Node *node, const Val *registers);
Node *walk(Machine *machine, TreeKind tree, const Leaf *leaf);
Node *unconcerned(Machine *machine, const Leaf *leaf);

int part_halts(Machine *machine, Part *part);
int part_doomed(Machine *machine, Part *part);
Part *part_build(Machine *machine, Recipe *recipe, const Val *registers);
void part_free(Machine *machine, Part *part);
Part *part_collapsed(Machine *machine, Part *part);
Part *sequence_of(Machine *machine, Part *first, Cell *rest);
PyObject *part_dump(Machine *machine, Part *part);
Leaf *leaf_new(Machine *machine, int shape, int size);
void leaf_free(Machine *machine, Leaf *leaf);

static inline Part *frame_part(Frame *frame) {
    return frame->leaf.kind == P_BOXED ? (Part *)frame->leaf.registers[0] : &frame->leaf;
}
static inline Frame *frame_of(Link *link) { return (Frame *)((char *)link - (size_t)link->place * 8); }

Spine *spine_new(Machine *machine, Part *core);
void spine_free(Machine *machine, Spine *spine);
int spine_insert(Machine *machine, Spine *spine, Way way, Part *part, Frame *before);
int spine_replace(Machine *machine, Spine *spine, Frame *frame, Part *part);
void spine_remove(Machine *machine, Spine *spine, Frame *frame, bool keep_part);
int spine_set_core(Machine *machine, Spine *spine, Part *part);
int spine_count_core(Machine *machine, Spine *spine, int by);
int spine_settle_core(Machine *machine, Spine *spine);
int spine_foresee(Machine *machine, Spine *spine); /* start to fetch what the event in `now` will need */
void spine_fetch(Spine *spine, const Sight *sight); /* and then what that leads to */
bool spine_is_large(const Spine *spine);
Link *spine_ring(Machine *machine, Spine *spine, int key); /* the children that the present event may concern */

/* What a step would change. FAILS and SAME are the same everywhere. */
typedef struct Change Change;
typedef struct { Frame *frame; Change *change; } FrameChange;
struct Change {
    enum { C_FAIL, C_SELF, C_BECOME, C_WITHIN, C_HEAD, C_CELL, C_FRAMES } kind;
    Recipe *recipe;
    bool in_body;
    Cell *cell;
    Change *inner;          /* WITHIN, HEAD, CELL; FRAMES: of the core */
    FrameChange *frames;
    int count, room;
};
extern Change FAILS, SAME;

Change *part_step(Machine *machine, Part *part); /* NULL: error */
Part *part_apply(Machine *machine, Part *part, Change *change); /* NULL: error */

#endif

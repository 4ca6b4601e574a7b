/* Views and grammars: tables, groups and the machine. */
#ifndef LAWFUL_GRAMMAR_H
#define LAWFUL_GRAMMAR_H

#include "rml/rml.h"

#define NO_STEP (-1)
#define DEEPEST 64 /* operands that an expression may have waiting */

typedef enum { G_NEVER, G_BY_VALUES, G_ALWAYS } GEnding;
typedef enum { G_LOAD, G_SET, G_ASSERT } GInstructionKind;
typedef enum { G_PARAMETER, G_FIELD, G_RESULT } GAttributeKind;

/* Expressions are code for a machine with a stack. What it cannot do for sure is done by Python. */
typedef enum { G_REGISTER, G_CONSTANT, G_EQUAL, G_UNEQUAL, G_LESS, G_LESS_EQUAL, G_GREATER, G_GREATER_EQUAL, G_ADD,
               G_SUBTRACT, G_MULTIPLY, G_NEGATE, G_NOT, G_AND_THEN, G_OR_ELSE, G_CONDITION, G_SIZE, G_CALL,
               G_ELSEWHERE } GOp;

typedef struct {
    GInstructionKind kind;
    int attribute; /* LOAD */
    int count;
    int *code;
} GInstruction;

typedef struct { int state; int *values; } GPush;

typedef struct {
    int count, pushes, results;
    GInstruction *instructions;
    GPush *frames;   /* lowest first; none: this part is done */
    int *result;     /* registers */
    bool taken;
    int frame_size, results_size;
} GTransition;

typedef struct { GEnding ending; int resume, size; bool lost; } GState;
typedef struct { GAttributeKind kind; int position; PyObject *field; } GAttribute;

typedef struct {
    PyObject_HEAD
    Arena arena;
    int columns, states, registers;
    int *table;
    GState *state;
    GTransition *transition;
    GAttribute *attribute;
    bool can_be_lost;
    PyObject *by_name;   /* a dict: of each name a list of (direction, is it a reply, terminal) */
    PyObject *group;     /* a text or None */
    PyObject *fields, *constants, *functions; /* tuples */
    PyObject *undefined;
    PyObject *slow, *lost, *key; /* what is left to Python */
} GTables;

typedef struct { int state, first; GEnding ending; } GFrame; /* `ending` is that of all frames up to here */

typedef struct {
    int count, capacity;
    GFrame *frames;
    int value_count, value_capacity;
    PyObject **values;
} GStack;

typedef struct {
    PyObject_HEAD
    GStack stack;
    bool gone;              /* its only message was undone */
} GGroup;

/* What undoes a step. */
typedef struct {
    PyObject *key;          /* the group; NULL: there is nothing to undo */
    Py_ssize_t at;          /* the message's place in its batch */
    int kept;               /* frames that the step has left */
    char fresh;             /* it was the group's first */
    GStack taken;           /* frames that it has taken away */
} GUndo;

typedef struct {
    PyObject_HEAD
    GTables *tables;
    PyObject *warn;
    PyObject *groups, *unsure, *blocked, *others;
    GGroup *start;
    GStack scratch;         /* frames that a step puts on top of what it leaves of a group's */
    GUndo undo[2];          /* of the last two steps: what one group sends to another is two messages */
    int newest;             /* which of them is the last one */
    PyObject **registers[2];
    bool *came;
    Py_ssize_t open;        /* groups that may not end */
    Py_ssize_t at;
    char failed, busy, silent;
} GMachine;

extern PyTypeObject GrammarTablesType, GrammarGroupType, GrammarMachineType;

/* A message: an event, or its parts before there is an event. */
typedef struct {
    PyObject *event;          /* or NULL */
    PyObject *header;         /* without an event: its header */
    PyObject *const *values;  /* and its arguments; objects are ids */
    Py_ssize_t count;
} GSource;

#define NEEDS_EVENT (-2) /* the step of a message without an event needs Python */

/* machine.c */
/* A message without an event, whose terminal is known. 1: taken; 0: not taken, nothing has changed, and the event must be made
   and fed; -1: error. Runs no Python code. `group` caches the group of this key. */
int grammar_message(GMachine *machine, PyObject *key, PyObject **group, int terminal, const GSource *source);
/* Undo the last step; two at most. 0; -1: nothing to undo, or an error. */
int grammar_undo(GMachine *machine);

/* code.c */
int grammar_run(GMachine *machine, int number, PyObject **registers, const GSource *source);

/* stack.c */
int stack_push(GStack *stack, const GTables *tables, int state, PyObject **values, const int *which);
void stack_pop(GStack *stack);
void stack_clear(GStack *stack);
void stack_free(GStack *stack);
int stack_replace(GStack *stack, GStack *taken, const GTables *tables, int state, PyObject **values, const int *which);
int stack_commit(GStack *stack, int kept, GStack *above, GStack *taken, const GTables *tables);
PyObject *stack_frames(const GStack *stack, const GTables *tables);
int stack_load(GStack *stack, PyObject *frames, const GTables *tables);
static inline GEnding stack_ending(const GStack *stack) {
    return stack->count ? stack->frames[stack->count - 1].ending : G_ALWAYS;
}

#endif

/* Runs the code of a transition: loads attributes, computes values, checks assertions.

   Does the common operations. Python does the others (a division, two lists compared, a missing value), instruction by
   instruction, by the functions of its own machine.
   Called by: machine.c, for each step.
   Must match: laws/grammar/evaluation.py.
   Compared by: tests/laws/grammar/test_machines.py. */
#include "grammar/grammar.h"

#include "events/fields.h"

/* An argument by its position, borrowed; NULL without an error: it is missing. */
static inline PyObject *positional(PyObject *event, PyObject *key, int position) {
    PyObject *list = PyDict_GetItemWithError(event, key);
    if (list == NULL || !PyList_CheckExact(list) || position >= PyList_GET_SIZE(list)) return NULL;
    return PyList_GET_ITEM(list, position);
}

/* The value of an attribute of a message without an event. */
static PyObject *load_early(const GAttribute *attribute, const GSource *source) {
    if (attribute->kind == G_PARAMETER) return attribute->position < source->count ? source->values[attribute->position] : NULL;
    return attribute->kind == G_FIELD ? PyDict_GetItemWithError(source->header, attribute->field) : NULL;
}

/* The value of an attribute, borrowed; NULL without an error: ask Python. */
static PyObject *load(const GAttribute *attribute, const GSource *source) {
    PyObject *value, *event = source->event;
    if (event == NULL) return load_early(attribute, source);
    switch (attribute->kind) {
    case G_PARAMETER:
        value = positional(event, text_argIds, attribute->position);
        if (value != NULL && value != Py_None) return value;
        return positional(event, text_args, attribute->position);
    case G_FIELD:
        return PyDict_GetItemWithError(event, attribute->field);
    default:
        value = PyDict_GetItemWithError(event, text_resultId);
        if (value != NULL && value != Py_None) return value;
        return PyDict_GetItemWithError(event, text_res);
    }
}

static inline bool small(PyObject *object, long long *value) {
    int overflow;
    if (!PyLong_CheckExact(object)) return false;
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)object)) {
        *value = PyUnstable_Long_CompactValue((PyLongObject *)object);
        return true;
    }
#endif
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* 1, 0, or -1: ask Python. */
static inline int equal(const GTables *tables, PyObject *a, PyObject *b) {
    long long x, y;
    if (small(a, &x) && small(b, &y)) return x == y;
    if (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b)) return a == b || PyUnicode_Compare(a, b) == 0;
    if (a == tables->undefined || b == tables->undefined) return -1;
    if (Py_TYPE(a) != Py_TYPE(b)) {
        bool numbers = PyLong_CheckExact(a) ? PyFloat_CheckExact(b) : PyFloat_CheckExact(a) && PyLong_CheckExact(b);
        return numbers ? -1 : 0;
    }
    return a == Py_None || PyBool_Check(a) ? a == b : -1;
}

static inline int compare(GOp op, PyObject *a, PyObject *b) {
    long long x, y;
    if (!small(a, &x) || !small(b, &y)) return -1;
    switch (op) {
    case G_LESS: return x < y;
    case G_LESS_EQUAL: return x <= y;
    case G_GREATER: return x > y;
    default: return x >= y;
    }
}

/* A new reference; NULL without an error: ask Python. */
static PyObject *arithmetic(GOp op, PyObject *a, PyObject *b) {
    long long x, y, result;
    if (!small(a, &x) || !small(b, &y)) return NULL;
    const long long most = 1LL << 30; /* no product of these is too large */
    if (x > most || x < -most || y > most || y < -most) {
        if (op == G_MULTIPLY || x > (1LL << 60) || x < -(1LL << 60) || y > (1LL << 60) || y < -(1LL << 60)) return NULL;
    }
    result = op == G_ADD ? x + y : op == G_SUBTRACT ? x - y : x * y;
    return PyLong_FromLongLong(result);
}

static Py_ssize_t size_of(PyObject *object) {
    if (PyList_CheckExact(object)) return PyList_GET_SIZE(object);
    if (PyUnicode_CheckExact(object)) return PyUnicode_GET_LENGTH(object);
    return PyDict_CheckExact(object) ? PyDict_GET_SIZE(object) : -1;
}

/* The stack of operands. Those computed here are owned; the others are borrowed. */
typedef struct {
    PyObject *values[DEEPEST];
    uint64_t owned;
    int depth;
} Operands;

static inline void push(Operands *operands, PyObject *value, bool owned) {
    operands->owned |= (uint64_t)owned << operands->depth;
    operands->values[operands->depth++] = value;
}

static inline void drop(Operands *operands) {
    uint64_t bit = UINT64_C(1) << --operands->depth;
    if (!(operands->owned & bit)) return;
    operands->owned &= ~bit;
    Py_XDECREF(operands->values[operands->depth]);
}

/* Replace the topmost operands by a value; steals it if it is owned. */
static inline void put(Operands *operands, int count, PyObject *value, bool owned) {
    if (operands->owned) while (count--) drop(operands);
    else operands->depth -= count; /* the usual case */
    push(operands, value, owned);
}

static inline PyObject *truth(bool value) { return value ? Py_True : Py_False; }

/* The result of an operation on two operands, a new reference; NULL: ask Python. */
static inline PyObject *binary(const GTables *tables, GOp op, PyObject *a, PyObject *b) {
    if (op >= G_ADD) return arithmetic(op, a, b);
    int answer = op <= G_UNEQUAL ? equal(tables, a, b) : compare(op, a, b);
    return answer < 0 ? NULL : Py_NewRef(truth((answer == 1) == (op != G_UNEQUAL)));
}

/* The result of an operation on one operand, a new reference; NULL: ask Python. */
static PyObject *unary(GOp op, PyObject *operand) {
    long long number;
    if (op == G_NOT) return PyBool_Check(operand) ? Py_NewRef(truth(operand != Py_True)) : NULL;
    if (op == G_NEGATE) return small(operand, &number) && number >= -(1LL << 60) ? PyLong_FromLongLong(-number) : NULL;
    Py_ssize_t size = size_of(operand);
    return size < 0 ? NULL : PyLong_FromSsize_t(size);
}

/* The result of a function, a new reference; NULL: ask Python, which meets the same exception and knows what it means. */
static PyObject *call(const GTables *tables, PyObject *function, PyObject *const *operands, int count) {
    for (int i = 0; i < count; i++)
        if (operands[i] == tables->undefined) return NULL;
    PyObject *value = PyObject_Vectorcall(function, operands, (size_t)count, NULL);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
    return value;
}

/* The value of an expression, a new reference; NULL without an error: ask Python. Functions are called only if it
   `calls`: they may be the user's. */
static PyObject *evaluate(const GTables *tables, const int *code, int count, PyObject **registers, bool calls) {
    Operands operands; /* not cleared: most expressions need little of it */
    PyObject **stack = operands.values, *value;
    operands.owned = 0;
    operands.depth = 0;
    stack[0] = tables->undefined;
    int at = 0;
    while (at < count) {
        GOp op = code[at++];
        switch (op) {
        case G_REGISTER:
            push(&operands, registers[code[at++]], false);
            continue;
        case G_CONSTANT:
            push(&operands, PyTuple_GET_ITEM(tables->constants, code[at++]), false);
            continue;
        case G_AND_THEN:
        case G_OR_ELSE: {
            PyObject *left = stack[operands.depth - 1];
            int target = code[at++];
            if (!PyBool_Check(left)) goto elsewhere;
            if ((left == Py_True) == (op == G_OR_ELSE)) at = target;
            else drop(&operands);
            continue;
        }
        case G_CONDITION:
            if (!PyBool_Check(stack[operands.depth - 1])) goto elsewhere;
            continue;
        case G_CALL: {
            if (!calls) goto elsewhere;
            PyObject *function = PyTuple_GET_ITEM(tables->functions, code[at++]);
            int given = code[at++];
            value = call(tables, function, stack + operands.depth - given, given);
            if (value == NULL) goto elsewhere;
            put(&operands, given, value, true);
            continue;
        }
        case G_ELSEWHERE:
            goto elsewhere;
        default: { /* operations on one or two operands */
            PyObject **top = stack + operands.depth - 1;
            int taken = op < G_NEGATE ? 2 : 1;
            value = taken == 2 ? binary(tables, op, top[-1], top[0]) : unary(op, top[0]);
            if (value == NULL) goto elsewhere;
            put(&operands, taken, value, true);
        }
        }
    }
    value = Py_NewRef(stack[0]);
    drop(&operands);
    return value;
elsewhere:
    while (operands.depth) drop(&operands);
    return NULL;
}

/* A comparison of two values and nothing else, which most assertions are: does it hold? -1: it is not that simple. */
static int compares(const GTables *tables, const GInstruction *instruction, PyObject **registers) {
    const int *code = instruction->code;
    if (instruction->count != 5 && (instruction->count != 6 || code[5] != G_CONDITION)) return -1;
    if (code[0] > G_CONSTANT || code[2] > G_CONSTANT || code[4] < G_EQUAL || code[4] > G_GREATER_EQUAL) return -1;
    PyObject *left = code[0] == G_REGISTER ? registers[code[1]] : PyTuple_GET_ITEM(tables->constants, code[1]);
    PyObject *right = code[2] == G_REGISTER ? registers[code[3]] : PyTuple_GET_ITEM(tables->constants, code[3]);
    int answer = code[4] <= G_UNEQUAL ? equal(tables, left, right) : compare((GOp)code[4], left, right);
    return answer < 0 || code[4] != G_UNEQUAL ? answer : !answer;
}

static PyObject *slow(GMachine *machine, int number, int index, PyObject **registers, int filled, PyObject *event) {
    PyObject *list = PyList_New(filled);
    if (list == NULL) return NULL;
    for (int i = 0; i < filled; i++) PyList_SET_ITEM(list, i, Py_NewRef(registers[i]));
    PyObject *warn = machine->silent ? Py_None : machine->warn;
    return PyObject_CallFunction(machine->tables->slow, "iiNOO", number, index, list, event, warn);
}

/* Run the code of a transition, whose first registers are filled. 1; 0: an assertion fails; -1: error, or NEEDS_EVENT.
   The registers hold references, also where it fails; NULL ends them. */
int grammar_run(GMachine *machine, int number, PyObject **registers, const GSource *source) {
    const GTables *tables = machine->tables;
    const GTransition *transition = tables->transition + number;
    int filled = transition->frame_size + transition->results_size;
    int result = 1;
    for (int i = 0; i < transition->count; i++) {
        const GInstruction *instruction = transition->instructions + i;
        bool asserts = instruction->kind == G_ASSERT;
        if (asserts && (result = compares(tables, instruction, registers)) >= 0) {
            if (result) continue;
            break;
        }
        PyObject *value;
        result = 1;
        if (instruction->kind == G_LOAD)
            value = Py_XNewRef(load(tables->attribute + instruction->attribute, source));
        else
            value = evaluate(tables, instruction->code, instruction->count, registers, source->event != NULL);
        if (value == NULL || (asserts && !PyBool_Check(value))) {
            Py_XDECREF(value);
            value = NULL;
            if (!PyErr_Occurred()) {
                if (source->event == NULL) {
                    result = NEEDS_EVENT;
                    break;
                }
                value = slow(machine, number, i, registers, filled, source->event);
            }
            if (value == NULL) {
                result = -1;
                break;
            }
        }
        if (!asserts) {
            registers[filled++] = value;
            continue;
        }
        result = value == Py_True;
        Py_DECREF(value);
        if (!result) break;
    }
    registers[filled] = NULL; /* the end of the registers */
    return result;
}

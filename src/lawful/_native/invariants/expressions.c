/* Expressions of invariants over the values that are usual: small integers, floats, truth values, None, text, objects.

   Called by tracker.c. Matches lawful/laws/invariants/expressions.py; tests/laws/invariants/test_invariants_cores.py
   compares the two. Everything else - a number beyond 64 bits, an expression that raises - is answered by ASK_PYTHON:
   expressions have no effects, so Python can evaluate them again, and all faults are worded in one place. */
#include "invariants/invariants.h"

typedef enum {
    V_ASK, V_NOT_YET, V_NONE, V_BOOL, V_INT, V_FLOAT, V_TEXT, V_ID, /* an object, by its id */
} Tag;

typedef struct {
    Tag tag;
    union {
        int64_t i;
        double d;
        PyObject *o; /* borrowed */
    };
} Value;

typedef enum {
    X_CONSTANT, X_NEW, X_OLD, X_KEY, X_RESULT, X_ARGUMENT, X_NAMED, X_ALL, X_ANY, X_NOT, X_IF, X_COMPARE, X_CHOICES,
    X_MINUS, X_PLUS, X_ADD, X_SUBTRACT, X_MULTIPLY, X_DIVIDE, X_FLOOR_DIVIDE, X_MODULO, X_ABS, X_LEN, X_MIN, X_MAX,
} Kind;

static const char *const EXPRESSION_KINDS[] = {
    "constant", "new", "old", "key", "result", "argument", "named", "all", "any", "not", "if", "compare", "choices",
    "minus", "plus", "+", "-", "*", "/", "//", "%", "abs", "len", "min", "max",
};

typedef enum { S_EQ, S_NE, S_LT, S_LE, S_GT, S_GE, S_IS, S_IS_NOT, S_IN, S_NOT_IN } Sign;
static const char *const SIGNS[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};

struct Expression {
    Kind kind;
    int count;
    Expression **parts;
    uint8_t *signs;      /* COMPARE: between the parts */
    Value constant;      /* CONSTANT */
    int64_t number;      /* NEW, OLD: the field; ARGUMENT: its place */
    uint64_t keys;       /* KEY: a bit for each */
    PyObject *name;      /* NAMED */
};

#define EXACT (INT64_C(1) << 53) /* integers up to here are floats as well */

PyObject *key_event, *key_name, *key_target, *key_result_id, *key_res, *key_time;
static PyObject *key_args, *key_arg_ids, *key_kwargs, *key_kwarg_ids;

int expression_setup(void) {
    if (key_kwarg_ids != NULL) return 0;
    struct { PyObject **place; const char *text; } keys[] = {
        {&key_event, "event"}, {&key_name, "name"}, {&key_target, "targetId"}, {&key_result_id, "resultId"},
        {&key_res, "res"}, {&key_time, "time"}, {&key_args, "args"}, {&key_arg_ids, "argIds"},
        {&key_kwargs, "kwargs"}, {&key_kwarg_ids, "kwargIds"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (*keys[i].place == NULL && (*keys[i].place = PyUnicode_InternFromString(keys[i].text)) == NULL) return -1;
    return 0;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static const Value ASK = {V_ASK, {0}}, LATER = {V_NOT_YET, {0}};

static inline Value truth_value(bool b) { return (Value){V_BOOL, {.i = b}}; }
static inline Value int_value(int64_t i) { return (Value){V_INT, {.i = i}}; }
static inline Value float_value(double d) { return (Value){V_FLOAT, {.d = d}}; }
static inline bool is_open(Value v) { return v.tag <= V_NOT_YET; }
static inline bool is_whole(Value v) { return v.tag == V_INT || v.tag == V_BOOL; }
static inline bool is_number(Value v) { return is_whole(v) || v.tag == V_FLOAT; }

static Value value_of_object(PyObject *object) {
    if (PyLong_CheckExact(object)) {
        int overflow;
        int64_t i = PyLong_AsLongLongAndOverflow(object, &overflow);
        return overflow ? ASK : int_value(i);
    }
    if (object == Py_None) return (Value){V_NONE, {0}};
    if (PyBool_Check(object)) return truth_value(object == Py_True);
    if (PyFloat_CheckExact(object)) return float_value(PyFloat_AS_DOUBLE(object));
    if (PyUnicode_CheckExact(object)) return (Value){V_TEXT, {.o = object}};
    return ASK;
}

static inline Value value_of_field(Field field) {
    if (field == UNKNOWN_FIELD) return LATER;
    return field_is_id(field) ? (Value){V_ID, {.o = field_object(field)}} : value_of_object(field_object(field));
}

static inline bool is_id(PyObject *object) { return PyLong_Check(object) || PyUnicode_Check(object); }
static inline bool is_compound(PyObject *object) { return PyDict_Check(object) || PyList_Check(object); }

Field event_value(PyObject *event) {
    PyObject *alone = is_lazy_event(event) ? lazy_event_result((LazyEvent *)event) : NULL;
    if (alone != NULL) return (Field)alone;
    PyObject *id = event_part(event, key_result_id);
    if (id != NULL && id != Py_None) return is_id(id) ? (Field)id | 1 : UNKNOWN_FIELD;
    PyObject *value = event_part(event, key_res);
    return value == NULL || is_compound(value) ? UNKNOWN_FIELD : (Field)value;
}

/* 1, 0, or -1: ask. */
static int true_of(Value v) {
    switch (v.tag) {
    case V_NONE: return 0;
    case V_BOOL:
    case V_INT: return v.i != 0;
    case V_FLOAT: return v.d != 0;
    case V_TEXT: return PyUnicode_GET_LENGTH(v.o) != 0;
    default: return -1;
    }
}

/* Two numbers as floats, if nothing is lost by that. */
static bool as_floats(Value a, Value b, double *x, double *y) {
    if (is_whole(a) && (a.i > EXACT || a.i < -EXACT)) return false;
    if (is_whole(b) && (b.i > EXACT || b.i < -EXACT)) return false;
    *x = is_whole(a) ? (double)a.i : a.d;
    *y = is_whole(b) ? (double)b.i : b.d;
    return true;
}

/* ---- comparisons: 1, 0, or -1: ask ------------------------------------------------------------------------------- */

static int equal(Value a, Value b) {
    if (is_whole(a) && is_whole(b)) return a.i == b.i;
    if (is_number(a) && is_number(b)) {
        double x, y;
        return as_floats(a, b, &x, &y) ? x == y : -1;
    }
    if (a.tag != b.tag) return 0;
    if (a.tag == V_NONE) return 1;
    if (a.tag == V_TEXT) return a.o == b.o || PyUnicode_Compare(a.o, b.o) == 0;
    int same = PyObject_RichCompareBool(a.o, b.o, Py_EQ); /* two ids */
    if (same < 0) PyErr_Clear();
    return same;
}

static int ordered(Sign sign, Value a, Value b) {
    int less, more;
    if (is_whole(a) && is_whole(b)) {
        less = a.i < b.i, more = a.i > b.i;
    } else if (is_number(a) && is_number(b)) {
        double x, y;
        if (!as_floats(a, b, &x, &y)) return -1;
        if (x != x || y != y) return 0;
        less = x < y, more = x > y;
    } else if (a.tag == V_TEXT && b.tag == V_TEXT) {
        int order = PyUnicode_Compare(a.o, b.o);
        less = order < 0, more = order > 0;
    } else {
        return -1;
    }
    switch (sign) {
    case S_LT: return less;
    case S_LE: return !more;
    case S_GT: return more;
    default: return !less;
    }
}

static int same(Value a, Value b) { /* b: None, True or False */
    return a.tag == b.tag && (a.tag == V_NONE || (a.tag == V_BOOL && a.i == b.i));
}

static Value evaluate(const Expression *x, const Step *step);

/* `left in (a, b)`: all of them have a value first. */
static int among(Value left, const Expression *choices, const Step *step, bool *later) {
    int found = 0;
    if (left.tag == V_FLOAT && left.d != left.d) return -1; /* equal to itself only if it is the same object */
    for (int i = 0; i < choices->count; i++) {
        Value each = evaluate(choices->parts[i], step);
        if (each.tag == V_NOT_YET) *later = true;
        if (is_open(each)) return -1;
        if (!found && (found = equal(left, each)) < 0) return -1;
    }
    return found;
}

static Value compare(const Expression *x, const Step *step) {
    Value left = evaluate(x->parts[0], step);
    if (is_open(left)) return left;
    for (int i = 1; i < x->count; i++) {
        Sign sign = x->signs[i - 1];
        const Expression *operand = x->parts[i];
        Value right = ASK;
        int holds;
        if (operand->kind == X_CHOICES) {
            bool later = false;
            holds = among(left, operand, step, &later);
            if (later) return LATER;
            if (i + 1 < x->count) return ASK; /* a tuple on the left side of what follows */
        } else {
            right = evaluate(operand, step);
            if (is_open(right)) return right;
            switch (sign) {
            case S_EQ: holds = equal(left, right); break;
            case S_NE:
                holds = equal(left, right);
                if (holds >= 0) holds = !holds;
                break;
            case S_IS: holds = same(left, right); break;
            case S_IS_NOT: holds = !same(left, right); break;
            case S_IN:
            case S_NOT_IN:
                holds = left.tag == V_TEXT && right.tag == V_TEXT ? PyUnicode_Contains(right.o, left.o) : -1;
                if (PyErr_Occurred()) PyErr_Clear();
                break;
            default: holds = ordered(sign, left, right);
            }
        }
        if (holds < 0) return ASK;
        if (sign == S_NOT_IN) holds = !holds;
        if (!holds) return truth_value(false);
        left = right;
    }
    return truth_value(true);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static int64_t floor_divided(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static Value whole(Kind kind, int64_t a, int64_t b) {
    int64_t result;
    switch (kind) {
    case X_ADD: return __builtin_add_overflow(a, b, &result) ? ASK : int_value(result);
    case X_SUBTRACT: return __builtin_sub_overflow(a, b, &result) ? ASK : int_value(result);
    case X_MULTIPLY: return __builtin_mul_overflow(a, b, &result) ? ASK : int_value(result);
    case X_FLOOR_DIVIDE: return b == 0 || b == -1 ? ASK : int_value(floor_divided(a, b));
    case X_MODULO: return b == 0 || b == -1 ? ASK : int_value(a - floor_divided(a, b) * b);
    default: return ASK;
    }
}

static Value arithmetic(const Expression *x, const Step *step) {
    Value left = evaluate(x->parts[0], step);
    if (is_open(left)) return left;
    if (!is_number(left)) return ASK;
    Value right = evaluate(x->parts[1], step);
    if (is_open(right)) return right;
    if (!is_number(right)) return ASK;
    if (is_whole(left) && is_whole(right) && x->kind != X_DIVIDE) return whole(x->kind, left.i, right.i);
    double a, b;
    if (!as_floats(left, right, &a, &b)) return ASK;
    switch (x->kind) {
    case X_ADD: return float_value(a + b);
    case X_SUBTRACT: return float_value(a - b);
    case X_MULTIPLY: return float_value(a * b);
    case X_DIVIDE: return b == 0 ? ASK : float_value(a / b);
    default: return ASK;
    }
}

static Value of_one(const Expression *x, const Step *step) {
    Value v = evaluate(x->parts[0], step);
    if (is_open(v)) return v;
    if (x->kind == X_LEN) return v.tag == V_TEXT ? int_value(PyUnicode_GET_LENGTH(v.o)) : ASK;
    if (!is_number(v)) return ASK;
    if (x->kind == X_PLUS) return v;
    if (v.tag == V_FLOAT) {
        bool negated = x->kind == X_MINUS || v.d < 0;
        if (x->kind == X_ABS && v.d == 0) return float_value(0.0);
        return float_value(negated ? -v.d : v.d);
    }
    if (v.i == INT64_MIN) return ASK;
    return int_value(x->kind == X_MINUS || v.i < 0 ? -v.i : v.i);
}

static Value extreme(const Expression *x, const Step *step) {
    Value best = ASK;
    for (int i = 0; i < x->count; i++) {
        Value v = evaluate(x->parts[i], step);
        if (is_open(v)) return v;
        if (!is_number(v)) return ASK;
        int better = i == 0 ? 1 : ordered(x->kind == X_MIN ? S_LT : S_GT, v, best);
        if (better < 0) return ASK;
        if (better) best = v;
    }
    return best;
}

/* `and`, `or`: an unknown part does not matter if another decides. */
static Value connected(const Expression *x, const Step *step) {
    int decides = x->kind == X_ANY;
    bool later = false;
    Value v = truth_value(!decides);
    for (int i = 0; i < x->count; i++) {
        Value part = evaluate(x->parts[i], step);
        if (part.tag == V_NOT_YET) {
            later = true;
            continue;
        }
        int holds = true_of(part);
        if (holds < 0) return ASK;
        if (holds == decides) return part;
        v = part;
    }
    return later ? LATER : v;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static inline Value old_value(const Expression *x, const Step *step) {
    if (step->snapshot != NULL) {
        PyObject *value = look_up(step->snapshot, step->names[x->number]);
        return value == NULL ? LATER : value_of_object(value);
    }
    if (step->plan->writes == x->number) return value_of_field(step->replaced);
    return value_of_field(step->object->values[x->number]);
}

static Value argument(const Expression *x, const Step *step) {
    if (!step->plan->calls) return LATER;
    PyObject *value, *id = NULL;
    if (x->kind == X_NAMED) {
        PyObject *values = event_part(step->event, key_kwargs), *ids = event_part(step->event, key_kwarg_ids);
        if (values == NULL || !PyDict_CheckExact(values)) return ASK;
        if (ids != NULL && PyDict_Check(ids) && (id = look_up(ids, x->name)) == NULL) return ASK;
        value = look_up(values, x->name);
    } else {
        PyObject *values = event_part(step->event, key_args), *ids = event_part(step->event, key_arg_ids);
        if (values == NULL || !PyList_CheckExact(values) || x->number >= PyList_GET_SIZE(values)) return ASK;
        if (ids != NULL && PyList_Check(ids)) {
            if (x->number >= PyList_GET_SIZE(ids)) return ASK;
            id = PyList_GET_ITEM(ids, x->number);
        }
        value = PyList_GET_ITEM(values, x->number);
    }
    if (value == NULL || is_compound(value)) return ASK;
    return id != NULL && is_id(id) ? (Value){V_ID, {.o = id}} : value_of_object(value);
}

static Value evaluate(const Expression *x, const Step *step) {
    switch (x->kind) {
    case X_CONSTANT: return x->constant;
    case X_NEW: return value_of_field(step->object->values[x->number]);
    case X_OLD: return old_value(x, step);
    case X_KEY: return truth_value(x->keys >> step->plan->number & 1);
    case X_RESULT: {
        if (!step->plan->returns) return LATER;
        Field value = event_value(step->event);
        return value == UNKNOWN_FIELD ? ASK : value_of_field(value);
    }
    case X_ARGUMENT:
    case X_NAMED: return argument(x, step);
    case X_ALL:
    case X_ANY: return connected(x, step);
    case X_NOT: {
        Value v = evaluate(x->parts[0], step);
        if (is_open(v)) return v;
        int holds = true_of(v);
        return holds < 0 ? ASK : truth_value(!holds);
    }
    case X_IF: {
        Value test = evaluate(x->parts[0], step);
        if (is_open(test)) return test;
        int holds = true_of(test);
        return holds < 0 ? ASK : evaluate(x->parts[holds ? 1 : 2], step);
    }
    case X_COMPARE: return compare(x, step);
    case X_MINUS:
    case X_PLUS:
    case X_ABS:
    case X_LEN: return of_one(x, step);
    case X_MIN:
    case X_MAX: return extreme(x, step);
    case X_CHOICES: return ASK;
    default: return arithmetic(x, step);
    }
}

Truth expression_truth(const Expression *x, const Step *step) {
    Value v = evaluate(x, step);
    if (v.tag == V_NOT_YET) return NOT_YET;
    int holds = true_of(v);
    return holds < 0 ? ASK_PYTHON : holds ? IS_TRUE : IS_FALSE;
}

/* ---- from trees -------------------------------------------------------------------------------------------------- */

static int find(const char *const *words, size_t count, PyObject *word) {
    for (size_t i = 0; i < count; i++)
        if (PyUnicode_CompareWithASCIIString(word, words[i]) == 0) return (int)i;
    PyErr_Format(PyExc_ValueError, "there is no %R in expressions", word);
    return -1;
}

static int parse_parts(Arena *arena, Expression *x, PyObject *trees, int fields) {
    x->count = (int)PyTuple_GET_SIZE(trees);
    x->parts = arena_alloc(arena, sizeof *x->parts * (size_t)(x->count + 1));
    if (x->parts == NULL) return -1;
    for (int i = 0; i < x->count; i++)
        if ((x->parts[i] = expression_parse(arena, PyTuple_GET_ITEM(trees, i), fields)) == NULL) return -1;
    return 0;
}

static int parse_signs(Arena *arena, Expression *x, PyObject *signs) {
    if (!PyTuple_Check(signs) || PyTuple_GET_SIZE(signs) != x->count - 1) {
        PyErr_SetString(PyExc_ValueError, "a comparison has a sign between each two operands");
        return -1;
    }
    x->signs = arena_alloc(arena, (size_t)x->count);
    if (x->signs == NULL) return -1;
    for (int i = 0; i < x->count - 1; i++) {
        int sign = find(SIGNS, sizeof SIGNS / sizeof *SIGNS, PyTuple_GET_ITEM(signs, i));
        if (sign < 0) return -1;
        x->signs[i] = (uint8_t)sign;
    }
    return 0;
}

/* A tree is (kind, parts, what else there is to say). */
Expression *expression_parse(Arena *arena, PyObject *tree, int fields) {
    PyObject *kind, *parts, *more;
    if (!PyTuple_Check(tree) || !PyArg_ParseTuple(tree, "UO!O", &kind, &PyTuple_Type, &parts, &more)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an expression is a tuple");
        return NULL;
    }
    int number = find(EXPRESSION_KINDS, sizeof EXPRESSION_KINDS / sizeof *EXPRESSION_KINDS, kind);
    Expression *x = number < 0 ? NULL : arena_alloc(arena, sizeof *x);
    if (x == NULL || PyList_Append(arena->keep, more) < 0) return NULL;
    x->kind = (Kind)number;
    if (parse_parts(arena, x, parts, fields) < 0) return NULL;
    switch (x->kind) {
    case X_CONSTANT: x->constant = value_of_object(more); break;
    case X_NAMED: x->name = more; break;
    case X_KEY: x->keys = PyLong_AsUnsignedLongLong(more); break;
    case X_NEW:
    case X_OLD:
        x->number = PyLong_AsLongLong(more);
        if (!PyErr_Occurred() && (x->number < 0 || x->number >= fields))
            PyErr_SetString(PyExc_ValueError, "there is no such field");
        break;
    case X_ARGUMENT: {
        int overflow;
        x->number = PyLong_AsLongLongAndOverflow(more, &overflow);
        if (overflow) x->number = INT64_MAX;
        break;
    }
    case X_COMPARE: return parse_signs(arena, x, more) < 0 ? NULL : x;
    default: break;
    }
    return PyErr_Occurred() ? NULL : x;
}

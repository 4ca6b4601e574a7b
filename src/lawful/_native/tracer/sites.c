/* The walk over the instructions of a code object that finds where on the stack their operands lie, and makes the probes
   there. lawful/sources/python/sites.py calls `walk_code`. It must match `StackWalk` in stack_walk.py and `_probes` in
   sites.py, which say what they do; what instructions do comes from there in tables.
   tests/sources/python/test_sites_native.py compares both. */
#include "tracer/tracer.h"

typedef enum {
    R_PLAIN, R_EXTENDED, R_CALL, R_CALL_KW, R_CALL_EX, R_KW_NAMES, R_COPY, R_SWAP, R_GLOBAL, R_ATTR, R_METHOD, R_SUPER_ATTR,
    R_PUSH_NULL, R_WITH, R_ASYNC_WITH, R_WITH_RAISED, R_BUILD_CLASS, R_ASSERTION, R_NAME, R_CONST, R_WRITTEN_ATTR, R_BINARY,
    R_COMPARE, R_INTRINSIC, R_CONTAINS,
} Role;

/* What is known of a value on the stack: twice the number of the name that it was loaded by, one more if that is a global;
   or one of these. */
enum { UNKNOWN = -1, NOTHING = -2, EXIT = -3, AEXIT = -4, BUILD_CLASS = -5, ASSERTION = -6 };

#define BY_ARGUMENT 255 /* an instruction's shape depends on its argument */
#define BACKWARD 2

typedef struct { int size; int *values; } Stack;
typedef struct { int unit; Stack stack; } Path;
typedef struct { int start, end, target, depth, pushed; } Handler;
typedef struct { int op, arg, depth, name, keywords; bool found; } Site;

typedef struct {
    const unsigned char *code;        /* operations and arguments in turn */
    int units, most;                  /* how large the stack may be */
    const unsigned char *roles, *takes, *puts, *directions, *ends, *wanted, *operands;
    PyObject *shape;
    int null_first, attr_flag;
    Handler *handlers;
    int handler_count;
    Site *sites;
    char *meets;                      /* do ways meet here? */
    Stack *met;                       /* what was known there; size -1: nothing yet */
    Path *ways;
    int way_count, way_room;
} Walk;

static signed char caches[256]; /* code units of inline cache after an instruction, and one; 0: not met yet */

static int op_at(const Walk *walk, int unit) { return walk->code[2 * unit]; }
static int arg_at(const Walk *walk, int unit) { return walk->code[2 * unit + 1]; }

static int next_of(const Walk *walk, int unit) {
    int op = op_at(walk, unit);
    if (caches[op] == 0) {
        int end = unit + 1;
        while (end < walk->units && op_at(walk, end) == 0 && end - unit < 100) end++;
        caches[op] = (signed char)(end - unit);
    }
    return unit + caches[op];
}

static int odd(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return -1;
}

#define KNOWN_ARGUMENTS 16
static struct {
    unsigned char known, takes, puts;
} shapes[256][KNOWN_ARGUMENTS][2]; /* what Python has said of instructions with small arguments, that go on and that jump */

static int shape_of(Walk *walk, int op, int arg, bool jump, int *takes, int *puts) {
    if (!jump && walk->takes[op] != BY_ARGUMENT) {
        *takes = walk->takes[op];
        *puts = walk->puts[op];
        return 0;
    }
    bool small = arg >= 0 && arg < KNOWN_ARGUMENTS;
    if (small && shapes[op][arg][jump].known) {
        *takes = shapes[op][arg][jump].takes;
        *puts = shapes[op][arg][jump].puts;
        return 0;
    }
    PyObject *shape = PyObject_CallFunction(walk->shape, "iiO", op, arg, jump ? Py_True : Py_False);
    int result = shape != NULL && PyArg_ParseTuple(shape, "ii", takes, puts) ? 0 : -1;
    Py_XDECREF(shape);
    if (result == 0 && small && *takes >= 0 && *takes < 256 && *puts >= 0 && *puts < 256) {
        shapes[op][arg][jump].takes = (unsigned char)*takes;
        shapes[op][arg][jump].puts = (unsigned char)*puts;
        shapes[op][arg][jump].known = 1;
    }
    return result;
}

static int stack_copy(Stack *to, const int *values, int size, int more) {
    int *copy = malloc(sizeof(int) * (size_t)(size + more + 1));
    if (copy == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (size) memcpy(copy, values, sizeof(int) * (size_t)size);
    for (int i = 0; i < more; i++) copy[size + i] = UNKNOWN;
    *to = (Stack){size + more, copy};
    return 0;
}

/* Another way to follow later: the lowest of these values, and some that are unknown. */
static int add_way(Walk *walk, int unit, const int *values, int size, int more) {
    if (unit < 0 || unit >= walk->units || size < 0) return odd("a jump leads nowhere");
    if (walk->way_count == walk->way_room) {
        int room = walk->way_room ? 2 * walk->way_room : 16;
        Path *ways = realloc(walk->ways, sizeof(Path) * (size_t)room);
        if (ways == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        walk->ways = ways;
        walk->way_room = room;
    }
    Path *way = walk->ways + walk->way_count;
    way->unit = unit;
    if (stack_copy(&way->stack, values, size, more) < 0) return -1;
    walk->way_count++;
    return 0;
}

/* Where ways meet: 1 if this one brings nothing new, 0 if it goes on with what is known by all. */
static int meet(Walk *walk, int unit, int *stack, int size) {
    Stack *known = walk->met + unit;
    if (known->size >= 0) {
        if (known->size != size) return odd("the stack has two depths");
        bool news = false;
        for (int i = 0; i < size; i++) {
            if (known->values[i] == stack[i]) continue;
            if (known->values[i] != UNKNOWN) news = true;
            stack[i] = UNKNOWN;
        }
        if (!news) return 1;
        memcpy(known->values, stack, sizeof(int) * (size_t)size);
    } else if (stack_copy(known, stack, size, 0) < 0) {
        return -1;
    }
    const Handler *around = NULL;
    for (int i = 0; i < walk->handler_count && walk->handlers[i].start <= unit; i++) around = walk->handlers + i;
    if (around == NULL || unit >= around->end) return 0;
    if (size < around->depth) return odd("a handler keeps more than there is");
    return add_way(walk, around->target, stack, around->depth, around->pushed);
}

static void note_name(Walk *walk, int op, int arg, int *top) { /* top[-1] is the uppermost value */
    switch ((Role)walk->roles[op]) {
    case R_GLOBAL:
        top[-1] = (arg >> 1) * 2 + 1;
        if (arg & 1) {
            int name = top[-1];
            top[-2] = walk->null_first ? NOTHING : name;
            top[-1] = walk->null_first ? name : NOTHING;
        }
        break;
    case R_ATTR:
        if (walk->attr_flag)
            top[arg & 1 ? -2 : -1] = (arg >> 1) * 2;
        else
            top[-1] = arg * 2;
        break;
    case R_METHOD: top[-2] = arg * 2; break;
    case R_SUPER_ATTR: top[arg & 1 ? -2 : -1] = (arg >> 2) * 2; break;
    case R_PUSH_NULL: top[-1] = NOTHING; break;
    case R_WITH: top[-2] = EXIT; break;
    case R_ASYNC_WITH: top[-2] = AEXIT; break;
    case R_BUILD_CLASS: top[-1] = BUILD_CLASS; break;
    case R_ASSERTION: top[-1] = ASSERTION; break;
    case R_NAME: top[-1] = arg * 2 + 1; break;
    default: break;
    }
}

static int note_site(Walk *walk, int unit, int op, int arg, const int *stack, int size, int keywords) {
    int operands = 0, name = UNKNOWN;
    switch ((Role)walk->roles[op]) {
    case R_CALL: operands = 2 + arg; break;
    case R_CALL_KW: operands = 3 + arg; break;
    case R_CALL_EX: operands = 3 + (arg & 1); break;
    case R_WITH_RAISED: operands = 4; break;
    default: break;
    }
    if (operands > size) return odd("the stack is too small");
    if (operands) {
        name = stack[size - operands];
        if (name == NOTHING && walk->roles[op] != R_WITH_RAISED) name = stack[size - operands + 1];
    }
    walk->sites[unit] = (Site){op, arg, size, name, keywords, true};
    return 0;
}

/* Follow one way to its end, or to where it brings nothing new. */
static int follow(Walk *walk, int unit, int *stack, int size) {
    int prefix = 0, keywords = -1;
    while (unit < walk->units) {
        if (walk->meets[unit]) {
            int over = meet(walk, unit, stack, size);
            if (over) return over < 0 ? -1 : 0;
        }
        int op = op_at(walk, unit), arg = prefix | arg_at(walk, unit);
        Role role = (Role)walk->roles[op];
        if (role == R_EXTENDED) {
            prefix = arg << 8;
            unit++;
            continue;
        }
        prefix = 0;
        int takes, puts;
        if (shape_of(walk, op, arg, false, &takes, &puts) < 0) return -1;
        if (takes > size || size > walk->most || size - takes + puts > walk->most + 8)
            return odd("the stack is too small");
        if (walk->wanted[op]) {
            if (note_site(walk, unit, op, arg, stack, size, keywords) < 0) return -1;
            keywords = -1;
        } else if (role == R_KW_NAMES) {
            keywords = arg;
        }
        int following = next_of(walk, unit);
        if (walk->directions[op]) {
            int jump_takes, jump_puts;
            if (shape_of(walk, op, 0, true, &jump_takes, &jump_puts) < 0) return -1;
            int target = following + (walk->directions[op] == BACKWARD ? -arg : arg);
            if (add_way(walk, target, stack, size - jump_takes, jump_puts) < 0) return -1;
        }
        if (walk->ends[op]) return 0;
        if (role == R_COPY || role == R_SWAP) {
            if (arg < 1 || arg > size) return odd("the stack is too small");
            int deep = stack[size - arg];
            if (role == R_SWAP) {
                stack[size - arg] = stack[size - 1];
                stack[size - 1] = deep;
            } else {
                stack[size++] = deep;
            }
        } else {
            size -= takes;
            for (int i = 0; i < puts; i++) stack[size++] = UNKNOWN;
            if (puts) note_name(walk, op, arg, stack + size);
        }
        unit = following;
    }
    return odd("the code has no end");
}

/* The exception table: four numbers to an entry, six bits to a byte; bit 6 says that a number goes on. */
static int read_handlers(Walk *walk, const unsigned char *table, Py_ssize_t size) {
    walk->handlers = malloc(sizeof(Handler) * (size_t)(size / 4 + 1));
    if (walk->handlers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int value = 0, count = 0, numbers[4];
    for (Py_ssize_t i = 0; i < size; i++) {
        value = (value << 6 | (table[i] & 63)) & 0xFFFFFF;
        if (table[i] & 64) continue;
        numbers[count++] = value;
        value = 0;
        if (count < 4) continue;
        count = 0;
        Handler found = {numbers[0], numbers[0] + numbers[1], numbers[2], numbers[3] >> 1, 1 + (numbers[3] & 1)};
        if (found.start >= walk->units || found.target >= walk->units) return odd("a handler lies nowhere");
        walk->handlers[walk->handler_count++] = found;
        walk->meets[found.start] = walk->meets[found.target] = 1;
    }
    return count ? odd("the exception table breaks off") : 0;
}

static int find_jumps(Walk *walk) {
    int prefix = 0;
    for (int unit = 0; unit < walk->units; unit++) {
        int op = op_at(walk, unit), arg = prefix | arg_at(walk, unit);
        prefix = walk->roles[op] == R_EXTENDED ? arg << 8 : 0;
        if (!walk->directions[op]) continue;
        int target = next_of(walk, unit) + (walk->directions[op] == BACKWARD ? -arg : arg);
        if (target < 0 || target >= walk->units) return odd("a jump leads nowhere");
        walk->meets[target] = 1;
    }
    return 0;
}

static int walk_all(Walk *walk) {
    int room = walk->most + 16;
    int *stack = malloc(sizeof(int) * (size_t)room);
    if (stack == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int result = add_way(walk, 0, NULL, 0, 0);
    while (result == 0 && walk->way_count) {
        Path way = walk->ways[--walk->way_count];
        if (way.stack.size > walk->most + 8) {
            result = odd("the stack is too small");
        } else {
            memcpy(stack, way.stack.values, sizeof(int) * (size_t)way.stack.size);
            result = follow(walk, way.unit, stack, way.stack.size);
        }
        free(way.stack.values);
    }
    free(stack);
    return result;
}

/* ---- probes --------------------------------------------------------------------------------------------------------------- */

/* What a `Probe` of model.py is made from. All references are borrowed. */
typedef struct {
    PyTypeObject *type;                  /* Probe */
    PyObject *operations, *methods;      /* by instruction: an Operation or None; the name of its special method or None */
    PyObject *binaries, *comparisons;    /* by argument: names of special methods */
    int comparison_shift, event_at_prefix;
    PyObject *callers;                   /* a set: under which names something is called that is wanted */
    int name_unwanted, learner_only;                    /* can calls be so? */
    PyObject *names, *constants;         /* of the code */
} Making;

enum { P_OFFSET, P_OPERATION, P_BASE, P_COUNT, P_NAME, P_KEYWORDS, P_RESULT, P_LINE, P_QUIET, P_HABIT, P_GROUPS, P_BEARS, P_EARLY,
       P_BY_GLOBAL, P_STEPS, P_FIELDS };

/* Borrowed, or NULL with an exception. */
static PyObject *item(PyObject *tuple, int at) {
    if (at >= 0 && at < PyTuple_GET_SIZE(tuple)) return PyTuple_GET_ITEM(tuple, at);
    odd("an argument leads nowhere");
    return NULL;
}

/* The name that a value was loaded by: borrowed; None if that is not known. */
static PyObject *name_of(const Making *making, int value) {
    static PyObject *exit, *aexit, *build_class, *assertion;
    if (assertion == NULL) {
        exit = PyUnicode_InternFromString("__exit__");
        aexit = PyUnicode_InternFromString("__aexit__");
        build_class = PyUnicode_InternFromString("__build_class__");
        assertion = PyUnicode_InternFromString("AssertionError");
        if (!exit || !aexit || !build_class || !assertion) return NULL;
    }
    switch (value) {
    case UNKNOWN: case NOTHING: return Py_None;
    case EXIT: return exit;
    case AEXIT: return aexit;
    case BUILD_CLASS: return build_class;
    case ASSERTION: return assertion;
    default: return item(making->names, value >> 1);
    }
}

static bool is_global(int value) { return value == BUILD_CLASS || value == ASSERTION || (value >= 0 && value & 1); }

/* The keywords of a call by keywords: a constant. */
static PyObject *keywords_of(const Walk *walk, const Making *making, int unit, const Site *site) {
    static PyObject *none;
    if (none == NULL && (none = PyTuple_New(0)) == NULL) return NULL;
    PyObject *found = site->keywords >= 0 ? item(making->constants, site->keywords) : none;
    if (walk->roles[site->op] == R_CALL_KW && unit > 0 && walk->roles[op_at(walk, unit - 1)] == R_CONST) {
        int arg = arg_at(walk, unit - 1);
        for (int at = unit - 2, shift = 8; at >= 0 && walk->roles[op_at(walk, at)] == R_EXTENDED && shift < 32; at--, shift += 8)
            arg |= arg_at(walk, at) << shift;
        found = item(making->constants, arg);
    }
    if (found != NULL && !PyTuple_Check(found)) {
        odd("keywords are no names");
        return NULL;
    }
    return walk->roles[site->op] == R_CALL_EX ? none : found;
}

/* The name of what is done at a site that is no call; borrowed. NULL without an exception: it is not what is wanted. */
static PyObject *method_of(const Walk *walk, const Making *making, const Site *site) {
    int arg = site->arg;
    switch ((Role)walk->roles[site->op]) {
    case R_ATTR: return !walk->attr_flag ? item(making->names, arg) : arg & 1 ? NULL : item(making->names, arg >> 1);
    case R_WRITTEN_ATTR: return item(making->names, arg);
    case R_BINARY: return item(making->binaries, arg);
    case R_COMPARE: return item(making->comparisons, arg >> making->comparison_shift);
    case R_WITH_RAISED: if (site->name != UNKNOWN && site->name != NOTHING) return name_of(making, site->name); break;
    case R_INTRINSIC: if (arg != 5) return NULL; break; /* but a plus sign */
    default: break;
    }
    return PyTuple_GET_ITEM(making->methods, site->op);
}

static PyObject *new_probe(const Walk *walk, const Making *making, int unit, int operands, PyObject *name, int line) {
    const Site *site = walk->sites + unit;
    Role role = (Role)walk->roles[site->op];
    bool call = role == R_CALL || role == R_CALL_KW || role == R_CALL_EX;
    int wanted = call ? PySet_Contains(making->callers, name) : 0;
    PyObject *keywords = keywords_of(walk, making, unit, site);
    if (wanted < 0 || keywords == NULL) return NULL;
    int count = role == R_CALL_EX || role == R_CONTAINS ? site->arg & 1 : call ? site->arg : 0, start = unit;
    while (making->event_at_prefix && start && walk->roles[op_at(walk, start - 1)] == R_EXTENDED) start--;
    PyObject *probe = making->type->tp_alloc(making->type, P_FIELDS); /* as `tuple.__new__` does */
    if (probe == NULL) return NULL;
    bool global = is_global(site->name) && (call || role == R_WITH_RAISED);
#define SET(field, value) PyTuple_SET_ITEM(probe, field, value)
    SET(P_OFFSET, PyLong_FromLong(2L * start));
    SET(P_OPERATION, Py_NewRef(PyTuple_GET_ITEM(making->operations, site->op)));
    SET(P_BASE, PyLong_FromLong(site->depth - operands));
    SET(P_COUNT, PyLong_FromLong(count));
    SET(P_NAME, Py_NewRef(name));
    SET(P_KEYWORDS, call ? Py_NewRef(keywords) : PyTuple_New(0));
    SET(P_RESULT, PyLong_FromLong(2L * next_of(walk, unit)));
    SET(P_LINE, PyLong_FromLong(line));
    SET(P_QUIET, PyBool_FromLong(call && making->name_unwanted && !wanted));
    SET(P_HABIT, PyBool_FromLong(call && making->learner_only && name != Py_None && !wanted));
    SET(P_GROUPS, PyTuple_New(0));
    SET(P_BEARS, Py_NewRef(Py_False));
    SET(P_EARLY, PyTuple_New(0));
    SET(P_BY_GLOBAL, PyBool_FromLong(global && !wanted));
    SET(P_STEPS, Py_NewRef(Py_False));
#undef SET
    for (int i = 0; probe != NULL && i < P_FIELDS; i++)
        if (PyTuple_GET_ITEM(probe, i) == NULL) Py_CLEAR(probe);
    return probe;
}

/* 1: the site is none of those that are wanted; -1: an exception. */
static int add_probe(const Walk *walk, const Making *making, PyObject *probes, int unit, int line) {
    const Site *site = walk->sites + unit;
    int operands;
    PyObject *name;
    switch ((Role)walk->roles[site->op]) {
    case R_CALL: operands = 2 + site->arg; name = name_of(making, site->name); break;
    case R_CALL_KW: operands = 3 + site->arg; name = name_of(making, site->name); break;
    case R_CALL_EX: operands = 3 + (site->arg & 1); name = name_of(making, site->name); break;
    default:
        operands = walk->operands[site->op];
        name = method_of(walk, making, site);
        if (name == NULL && !PyErr_Occurred()) return 1;
    }
    PyObject *probe = name == NULL ? NULL : new_probe(walk, making, unit, operands, name, line);
    int failed = probe == NULL || PyList_Append(probes, probe) < 0;
    Py_XDECREF(probe);
    return failed ? -1 : 0;
}

static PyObject *found_probes(const Walk *walk, const Making *making, PyObject *code) {
    PyObject *probes = PyList_New(0), *lines = PyObject_CallMethod(code, "co_lines", NULL), *entry;
    int end = 0, line = 0, failed = probes == NULL || lines == NULL;
    for (int unit = 0; !failed && unit < walk->units; unit++) {
        if (!walk->sites[unit].found) continue;
        while (!failed && end <= 2 * unit) {
            PyObject *number;
            int start;
            if ((entry = PyIter_Next(lines)) == NULL) {
                failed = PyErr_Occurred() != NULL;
                end = 2 * walk->units;
                line = 0;
                break;
            }
            failed = !PyArg_ParseTuple(entry, "iiO", &start, &end, &number);
            line = failed || number == Py_None ? 0 : (int)PyLong_AsLong(number);
            Py_DECREF(entry);
        }
        failed = failed || add_probe(walk, making, probes, unit, line) < 0;
    }
    Py_XDECREF(lines);
    if (failed) Py_CLEAR(probes);
    return probes;
}

/* ---- the function ----------------------------------------------------------------------------------------------------------- */

static PyObject *walked(Walk *walk, const Making *making, PyObject *code, PyObject *exceptions) {
    walk->sites = calloc((size_t)walk->units + 1, sizeof(Site));
    walk->meets = calloc((size_t)walk->units + 1, 1);
    walk->met = malloc(sizeof(Stack) * ((size_t)walk->units + 1));
    PyObject *probes = NULL, *found = NULL;
    if (walk->sites == NULL || walk->meets == NULL || walk->met == NULL) {
        PyErr_NoMemory();
    } else {
        for (int i = 0; i <= walk->units; i++) walk->met[i] = (Stack){-1, NULL};
        const unsigned char *table = (const unsigned char *)PyBytes_AS_STRING(exceptions);
        if (find_jumps(walk) == 0 && read_handlers(walk, table, PyBytes_GET_SIZE(exceptions)) == 0 && walk_all(walk) == 0)
            probes = found_probes(walk, making, code);
        if (probes != NULL) found = Py_BuildValue("(Oy#)", probes, walk->meets, (Py_ssize_t)walk->units);
        for (int i = 0; i <= walk->units; i++) free(walk->met[i].values);
    }
    Py_XDECREF(probes);
    for (int i = 0; i < walk->way_count; i++) free(walk->ways[i].stack.values);
    free(walk->ways);
    free(walk->handlers);
    free(walk->sites);
    free(walk->meets);
    free(walk->met);
    return found;
}

PyObject *walk_code(PyObject *Py_UNUSED(module), PyObject *args) {
    Walk walk = {0};
    Making making = {0};
    const char *tables[7];
    Py_ssize_t sizes[7];
    PyObject *code, *bytecode;
    if (!PyArg_ParseTuple(args, "O!O!y#(y#y#y#y#y#y#Oii)(O!O!O!O!O!ii)(O!pp):walk_code", &PyCode_Type, &code, &PyBytes_Type, &bytecode,
                          tables, sizes, tables + 1, sizes + 1, tables + 2, sizes + 2, tables + 3, sizes + 3, tables + 4, sizes + 4,
                          tables + 5, sizes + 5, tables + 6, sizes + 6, &walk.shape, &walk.null_first, &walk.attr_flag,
                          &PyType_Type, &making.type, &PyTuple_Type, &making.operations, &PyTuple_Type, &making.methods,
                          &PyTuple_Type, &making.binaries, &PyTuple_Type, &making.comparisons, &making.comparison_shift,
                          &making.event_at_prefix, &PyFrozenSet_Type, &making.callers, &making.name_unwanted, &making.learner_only))
        return NULL;
    for (int i = 0; i < 7; i++)
        if (sizes[i] != 256) return PyErr_Format(PyExc_ValueError, "a table has an entry for each instruction");
    if (PyTuple_GET_SIZE(making.operations) != 256 || PyTuple_GET_SIZE(making.methods) != 256 ||
        !PyType_IsSubtype(making.type, &PyTuple_Type))
        return PyErr_Format(PyExc_ValueError, "a table has an entry for each instruction");
    if (PyBytes_GET_SIZE(bytecode) % 2 || PyBytes_GET_SIZE(bytecode) > INT32_MAX) return PyErr_Format(PyExc_ValueError, "this is no code");
    PyCodeObject *known = (PyCodeObject *)code;
    walk.code = (const unsigned char *)PyBytes_AS_STRING(bytecode);
    walk.units = (int)(PyBytes_GET_SIZE(bytecode) / 2);
    walk.most = known->co_stacksize;
    making.names = known->co_names;
    making.constants = known->co_consts;
    walk.wanted = (const unsigned char *)tables[0];
    walk.roles = (const unsigned char *)tables[1];
    walk.takes = (const unsigned char *)tables[2];
    walk.puts = (const unsigned char *)tables[3];
    walk.directions = (const unsigned char *)tables[4];
    walk.ends = (const unsigned char *)tables[5];
    walk.operands = (const unsigned char *)tables[6];
    return walked(&walk, &making, code, known->co_exceptiontable);
}

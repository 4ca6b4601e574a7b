/* The walk over the instructions of a code object that finds where on the stack the operands of wanted instructions lie.
   lawful/sources/python/sites.py calls `walk_code`. It must match `StackWalk` in stack_walk.py, which says what it does; what
   instructions do comes from there in tables. tests/sources/python/test_sites_native.py compares both. */
#include "tracer/tracer.h"

typedef enum {
    R_PLAIN, R_EXTENDED, R_CALL, R_CALL_KW, R_CALL_EX, R_KW_NAMES, R_COPY, R_SWAP, R_GLOBAL, R_ATTR, R_METHOD, R_SUPER_ATTR,
    R_PUSH_NULL, R_WITH, R_ASYNC_WITH, R_WITH_RAISED, R_BUILD_CLASS, R_ASSERTION, R_NAME,
} Role;

/* A value on the stack: twice the number of the name that it was loaded by, one more if that is a global; or one of these. The
   last four have names in `Walk.fixed_names`, in this order. */
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
    const unsigned char *wanted, *roles, *takes, *puts, *directions, *ends; /* by instruction, 256 each */
    PyObject *names, *constants;      /* of the code; borrowed, like the next two */
    PyObject *fixed_names, *shape;
    int null_first, attr_flag;
    Handler *handlers;
    int handler_count;
    Site *sites;
    char *meets;                      /* do ways meet here? */
    Stack *met;                       /* the stack there; size -1: not reached yet */
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

static int odd(const char *why) { return failed_with(PyExc_ValueError, why); }

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
    if (copy == NULL) return out_of_memory();
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
        if (ways == NULL) return out_of_memory();
        walk->ways = ways;
        walk->way_room = room;
    }
    Path *way = walk->ways + walk->way_count;
    way->unit = unit;
    if (stack_copy(&way->stack, values, size, more) < 0) return -1;
    walk->way_count++;
    return 0;
}

/* Where ways meet: 1 if this one brings nothing new, 0 if it goes on with the values that all ways agree on. */
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
    if (walk->handlers == NULL) return out_of_memory();
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
    if (stack == NULL) return out_of_memory();
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

/* ---- what was found ---------------------------------------------------------------------------------------------------- */

/* Borrowed, or NULL with an exception. */
static PyObject *item(PyObject *tuple, int at) {
    if (at >= 0 && at < PyTuple_GET_SIZE(tuple)) return PyTuple_GET_ITEM(tuple, at);
    odd("an argument leads nowhere");
    return NULL;
}

/* The name that a value was loaded by: borrowed; None if that is not known. */
static PyObject *name_of(const Walk *walk, int value) {
    if (value == UNKNOWN || value == NOTHING) return Py_None;
    return value >= 0 ? item(walk->names, value >> 1) : item(walk->fixed_names, EXIT - value);
}

static bool is_global(int value) { return value == BUILD_CLASS || value == ASSERTION || (value >= 0 && value & 1); }

/* A list of `Site`, as stack_walk.py has it. */
static PyObject *found_sites(const Walk *walk) {
    PyObject *sites = PyList_New(0);
    for (int unit = 0; sites != NULL && unit < walk->units; unit++) {
        const Site *site = &walk->sites[unit];
        if (!site->found) continue;
        PyObject *name = name_of(walk, site->name), *keywords = site->keywords < 0 ? Py_None : item(walk->constants, site->keywords);
        PyObject *made = name == NULL || keywords == NULL ? NULL
                         : Py_BuildValue("(iiiiOOO)", unit, site->op, site->arg, site->depth, name,
                                         is_global(site->name) ? Py_True : Py_False, keywords);
        if (made == NULL || PyList_Append(sites, made) < 0) Py_CLEAR(sites);
        Py_XDECREF(made);
    }
    return sites;
}

static PyObject *walked(Walk *walk, PyObject *exceptions) {
    walk->sites = calloc((size_t)walk->units + 1, sizeof(Site));
    walk->meets = calloc((size_t)walk->units + 1, 1);
    walk->met = malloc(sizeof(Stack) * ((size_t)walk->units + 1));
    PyObject *sites = NULL, *found = NULL;
    if (walk->sites == NULL || walk->meets == NULL || walk->met == NULL) {
        PyErr_NoMemory();
    } else {
        for (int i = 0; i <= walk->units; i++) walk->met[i] = (Stack){-1, NULL};
        const unsigned char *table = (const unsigned char *)PyBytes_AS_STRING(exceptions);
        if (find_jumps(walk) == 0 && read_handlers(walk, table, PyBytes_GET_SIZE(exceptions)) == 0 && walk_all(walk) == 0)
            sites = found_sites(walk);
        if (sites != NULL) found = Py_BuildValue("(Ny#)", sites, walk->meets, (Py_ssize_t)walk->units);
        for (int i = 0; i <= walk->units; i++) free(walk->met[i].values);
    }
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
    const unsigned char **tables[] = {&walk.wanted, &walk.roles, &walk.takes, &walk.puts, &walk.directions, &walk.ends};
    Py_ssize_t sizes[6];
    PyObject *object, *bytecode;
    if (!PyArg_ParseTuple(args, "O!O!y#(y#y#y#y#y#O!Oii):walk_code", &PyCode_Type, &object, &PyBytes_Type, &bytecode, tables[0],
                          &sizes[0], tables[1], &sizes[1], tables[2], &sizes[2], tables[3], &sizes[3], tables[4], &sizes[4],
                          tables[5], &sizes[5], &PyTuple_Type, &walk.fixed_names, &walk.shape, &walk.null_first, &walk.attr_flag))
        return NULL;
    for (int i = 0; i < 6; i++)
        if (sizes[i] != 256) return PyErr_Format(PyExc_ValueError, "a table has an entry for each instruction");
    if (PyBytes_GET_SIZE(bytecode) % 2 || PyBytes_GET_SIZE(bytecode) > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "not bytecode: its size is odd, or too large");
    PyCodeObject *code = (PyCodeObject *)object;
    walk.code = (const unsigned char *)PyBytes_AS_STRING(bytecode);
    walk.units = (int)(PyBytes_GET_SIZE(bytecode) / 2);
    walk.most = code->co_stacksize;
    walk.names = code->co_names;
    walk.constants = code->co_consts;
    return walked(&walk, code->co_exceptiontable);
}

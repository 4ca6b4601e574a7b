/* Automata as integer tables: minimisation (Hopcroft), products of two, and the shortest word of a product.

   Called by lawful/explain/automata/tables.py: `minimal`, `product` and `search`. It must give what `python_minimal`,
   `python_product` and `python_search` there give, state numbers included: breadth-first from the initial state, letter
   by letter. tests/explain/automata/test_tables.py compares them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "automata/automata.h"

#define SIGNALS_EVERY 0x3ffff /* states between two looks at Ctrl-C: a power of two less one */

/* A complete deterministic automaton; next[state * letters + letter]. */
typedef struct {
    int32_t initial, states, letters;
    int32_t *next;
    unsigned char *accepting;
} Automaton;

static void automaton_clear(Automaton *a) {
    PyMem_Free(a->next);
    PyMem_Free(a->accepting);
    memset(a, 0, sizeof *a);
}

/* `count` places of `size` bytes, or NULL and an error. */
static void *places(size_t count, size_t size) {
    void *made = count > PY_SSIZE_T_MAX / size ? NULL : PyMem_Malloc(count ? count * size : 1);
    if (made == NULL) PyErr_NoMemory();
    return made;
}

static int state_of(PyObject *number, int32_t states, int32_t *state) {
    int overflow;
    long value = PyLong_AsLongAndOverflow(number, &overflow);
    if (value == -1 && PyErr_Occurred()) return -1;
    if (overflow || value < 0 || value >= states) {
        PyErr_Format(PyExc_ValueError, "unknown state %R", number);
        return -1;
    }
    *state = (int32_t)value;
    return 0;
}

static int read_row(Automaton *a, int32_t state, PyObject *row) {
    if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != a->letters) {
        PyErr_SetString(PyExc_ValueError, "a row of transitions must have one state for each letter");
        return -1;
    }
    for (int32_t letter = 0; letter < a->letters; letter++)
        if (state_of(PyTuple_GET_ITEM(row, letter), a->states, &a->next[(size_t)state * a->letters + letter]) < 0)
            return -1;
    return 0;
}

static int read_accepting(Automaton *a, PyObject *accepting) {
    PyObject *each = PyObject_GetIter(accepting), *number;
    if (each == NULL) return -1;
    while ((number = PyIter_Next(each)) != NULL) {
        int32_t state;
        int bad = state_of(number, a->states, &state);
        Py_DECREF(number);
        if (bad < 0) break;
        a->accepting[state] = 1;
    }
    Py_DECREF(each);
    return PyErr_Occurred() ? -1 : 0;
}

/* Reads tables; after an error the caller clears what there is. */
static int automaton_read(Automaton *a, PyObject *initial, PyObject *transitions, PyObject *accepting) {
    memset(a, 0, sizeof *a);
    if (!PyTuple_Check(transitions) || PyTuple_GET_SIZE(transitions) == 0 ||
        !PyTuple_Check(PyTuple_GET_ITEM(transitions, 0)) || PyTuple_GET_SIZE(transitions) > INT32_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "transitions are a tuple of rows");
        return -1;
    }
    a->states = (int32_t)PyTuple_GET_SIZE(transitions);
    a->letters = (int32_t)PyTuple_GET_SIZE(PyTuple_GET_ITEM(transitions, 0));
    if ((a->next = places((size_t)a->states * a->letters, sizeof *a->next)) == NULL) return -1;
    if ((a->accepting = places(a->states, 1)) == NULL) return -1;
    memset(a->accepting, 0, a->states);
    for (int32_t state = 0; state < a->states; state++)
        if (read_row(a, state, PyTuple_GET_ITEM(transitions, state)) < 0) return -1;
    return state_of(initial, a->states, &a->initial) < 0 || read_accepting(a, accepting) < 0 ? -1 : 0;
}

static PyObject *row_of(const Automaton *a, int32_t state, PyObject **numbers) {
    PyObject *row = PyTuple_New(a->letters);
    for (int32_t letter = 0; row != NULL && letter < a->letters; letter++)
        PyTuple_SET_ITEM(row, letter, Py_NewRef(numbers[a->next[(size_t)state * a->letters + letter]]));
    return row;
}

/* Transitions and accepting states for Python; one number object stands for a state everywhere. */
static PyObject *automaton_written(const Automaton *a) {
    PyObject *rows = PyTuple_New(a->states), *list = PyList_New(0), *set = NULL, *made = NULL;
    PyObject **numbers = places(a->states, sizeof *numbers);
    int32_t ready = 0;
    if (rows == NULL || list == NULL || numbers == NULL) goto done;
    for (; ready < a->states; ready++) {
        if ((numbers[ready] = PyLong_FromLong(ready)) == NULL) goto done;
        if (a->accepting[ready] && PyList_Append(list, numbers[ready]) < 0) {
            ready++;
            goto done;
        }
    }
    for (int32_t state = 0; state < a->states; state++) {
        PyObject *row = row_of(a, state, numbers);
        if (row == NULL) goto done;
        PyTuple_SET_ITEM(rows, state, row);
    }
    if ((set = PyFrozenSet_New(list)) != NULL) made = PyTuple_Pack(2, rows, set);
done:
    for (int32_t i = 0; numbers != NULL && i < ready; i++) Py_DECREF(numbers[i]);
    PyMem_Free(numbers);
    Py_XDECREF(rows);
    Py_XDECREF(list);
    Py_XDECREF(set);
    return made;
}

/* --- Hopcroft's partition --- */

/* States stand in `order` block by block; the marked ones of a block stand first in it. */
typedef struct {
    int32_t blocks;
    int32_t *order, *place, *block; /* of states */
    int32_t *start, *end, *marked;  /* of blocks */
    int32_t *waiting, *touched, *splitter;
    int32_t waiters;
    int32_t *sources, *source_start; /* who leads to a state by a letter: letter by letter, state by state */
} Partition;

static void partition_clear(Partition *p) {
    int32_t *all[] = {p->order, p->place, p->block, p->start, p->end, p->marked,
                      p->waiting, p->touched, p->splitter, p->sources, p->source_start};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyMem_Free(all[i]);
}

static int partition_make(Partition *p, const Automaton *a) {
    size_t n = a->states, edges = n * a->letters;
    int32_t **all[] = {&p->order, &p->place, &p->block, &p->start, &p->end, &p->marked,
                       &p->waiting, &p->touched, &p->splitter};
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((*all[i] = places(n, sizeof(int32_t))) == NULL) return -1;
    if ((p->sources = places(edges, sizeof(int32_t))) == NULL ||
        (p->source_start = places((n + 1) * a->letters, sizeof(int32_t))) == NULL)
        return -1;
    memset(p->source_start, 0, (n + 1) * a->letters * sizeof(int32_t));
    for (int32_t letter = 0; letter < a->letters; letter++) {
        int32_t *start = p->source_start + letter * (n + 1), *sources = p->sources + letter * n;
        for (size_t s = 0; s < n; s++) start[a->next[s * a->letters + letter]]++;
        for (size_t s = 1; s <= n; s++) start[s] += start[s - 1];
        /* Each start is now the end of its states, and moves to their beginning as they are put in. */
        for (size_t s = n; s-- > 0;) sources[--start[a->next[s * a->letters + letter]]] = (int32_t)s;
    }
    int32_t at = 0;
    for (int kind = 0; kind < 2; kind++) {
        int32_t first = at;
        for (int32_t s = 0; s < a->states; s++) {
            if (a->accepting[s] != kind) continue;
            p->order[at] = s, p->place[s] = at++, p->block[s] = p->blocks;
        }
        if (at == first) continue;
        p->start[p->blocks] = first, p->end[p->blocks] = at, p->marked[p->blocks++] = 0;
    }
    int32_t smaller = p->blocks == 2 && p->end[1] - p->start[1] < p->end[0] - p->start[0];
    p->waiting[p->waiters++] = smaller;
    return 0;
}

static void mark(Partition *p, int32_t state, int32_t *touched) {
    int32_t block = p->block[state], to = p->start[block] + p->marked[block], at = p->place[state];
    if (at < to) return;
    if (p->marked[block] == 0) p->touched[(*touched)++] = block;
    int32_t other = p->order[to];
    p->order[to] = state, p->order[at] = other;
    p->place[state] = to, p->place[other] = at;
    p->marked[block]++;
}

/* Parts the marked states of a block from the others; the smaller part becomes a new block. */
static void part(Partition *p, int32_t block) {
    int32_t middle = p->start[block] + p->marked[block], new = p->blocks;
    p->marked[block] = 0;
    if (middle == p->end[block]) return;
    p->blocks++;
    p->marked[new] = 0;
    if (middle - p->start[block] <= p->end[block] - middle) {
        p->start[new] = p->start[block], p->end[new] = middle, p->start[block] = middle;
    } else {
        p->start[new] = middle, p->end[new] = p->end[block], p->end[block] = middle;
    }
    for (int32_t i = p->start[new]; i < p->end[new]; i++) p->block[p->order[i]] = new;
    /* If the old block waits, both parts do now; if not, the smaller part is enough. */
    p->waiting[p->waiters++] = new;
}

static int refine(Partition *p, const Automaton *a) {
    size_t n = a->states, worked = 0;
    while (p->waiters) {
        int32_t block = p->waiting[--p->waiters], size = p->end[block] - p->start[block];
        /* The block itself may be parted on the way. */
        memcpy(p->splitter, p->order + p->start[block], size * sizeof(int32_t));
        for (int32_t letter = 0; letter < a->letters; letter++) {
            const int32_t *start = p->source_start + letter * (n + 1), *sources = p->sources + letter * n;
            int32_t touched = 0;
            for (int32_t i = 0; i < size; i++)
                for (int32_t j = start[p->splitter[i]]; j < start[p->splitter[i] + 1]; j++)
                    mark(p, sources[j], &touched);
            while (touched) part(p, p->touched[--touched]);
        }
        if ((worked += size) > SIGNALS_EVERY) {
            worked = 0;
            if (PyErr_CheckSignals() < 0) return -1;
        }
    }
    return 0;
}

/* Blocks as states, numbered breadth-first from that of the initial state. */
static int quotient(const Partition *p, const Automaton *a, Automaton *result) {
    int32_t *number = places(p->blocks, sizeof *number), *order = places(p->blocks, sizeof *order), met = 0;
    int failed = -1;
    memset(result, 0, sizeof *result);
    result->letters = a->letters;
    if (number == NULL || order == NULL) goto done;
    if ((result->next = places((size_t)p->blocks * a->letters, sizeof(int32_t))) == NULL) goto done;
    if ((result->accepting = places(p->blocks, 1)) == NULL) goto done;
    memset(number, -1, p->blocks * sizeof *number);
    order[met] = p->block[a->initial], number[order[0]] = met++;
    for (int32_t at = 0; at < met; at++) {
        int32_t state = p->order[p->start[order[at]]];
        for (int32_t letter = 0; letter < a->letters; letter++) {
            int32_t block = p->block[a->next[(size_t)state * a->letters + letter]];
            if (number[block] < 0) order[met] = block, number[block] = met++;
            result->next[(size_t)at * a->letters + letter] = number[block];
        }
        result->accepting[at] = a->accepting[state];
    }
    result->states = met;
    failed = 0;
done:
    PyMem_Free(number);
    PyMem_Free(order);
    return failed;
}

/* The smallest automaton for Python, of one of which all states can be reached. */
static PyObject *smallest(const Automaton *a) {
    Partition p;
    Automaton result = {0};
    PyObject *made = NULL;
    if (partition_make(&p, a) == 0 && refine(&p, a) == 0 && quotient(&p, a, &result) == 0)
        made = automaton_written(&result);
    partition_clear(&p);
    automaton_clear(&result);
    return made;
}

/* --- pairs of states --- */

/* Pairs in the order in which they were met, each as left * states of right + right, with a hash table over them. */
typedef struct {
    const Automaton *left, *right;
    uint64_t *pairs;
    int32_t count, room;
    int32_t *slots; /* place in pairs plus 1; 0: free */
    size_t mask;
} Pairs;

static void pairs_clear(Pairs *p) {
    PyMem_Free(p->pairs);
    PyMem_Free(p->slots);
}

static size_t slot_of(const Pairs *p, uint64_t pair) {
    uint64_t hash = pair * 0x9E3779B97F4A7C15u;
    size_t slot = (size_t)(hash ^ hash >> 32) & p->mask;
    while (p->slots[slot] != 0 && p->pairs[p->slots[slot] - 1] != pair) slot = (slot + 1) & p->mask;
    return slot;
}

static int pairs_grow(Pairs *p) {
    if (p->room > INT32_MAX / 4) {
        PyErr_SetString(PyExc_MemoryError, "too many states");
        return -1;
    }
    int32_t room = p->room ? p->room * 2 : 1024;
    uint64_t *pairs = PyMem_Realloc(p->pairs, (size_t)room * sizeof *pairs);
    if (pairs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    p->pairs = pairs, p->room = room;
    PyMem_Free(p->slots);
    p->mask = (size_t)room * 2 - 1;
    if ((p->slots = places(p->mask + 1, sizeof *p->slots)) == NULL) return -1;
    memset(p->slots, 0, (p->mask + 1) * sizeof *p->slots);
    for (int32_t i = 0; i < p->count; i++) p->slots[slot_of(p, p->pairs[i])] = i + 1;
    return 0;
}

/* The number of a pair, a new one if it was not met; -1 after an error. */
static int32_t pair_number(Pairs *p, int32_t left, int32_t right) {
    uint64_t pair = (uint64_t)left * (uint32_t)p->right->states + (uint32_t)right;
    if (p->count == p->room && pairs_grow(p) < 0) return -1;
    size_t slot = slot_of(p, pair);
    if (p->slots[slot] == 0) {
        p->pairs[p->count] = pair;
        p->slots[slot] = ++p->count;
    }
    return p->slots[slot] - 1;
}

static int is_taken(const Pairs *p, int32_t number, int taken) {
    uint64_t width = (uint32_t)p->right->states, pair = p->pairs[number];
    return taken >> (2 * p->left->accepting[pair / width] + p->right->accepting[pair % width]) & 1;
}

/* Follows all letters from a pair; the numbers of the next pairs go to `row`. */
static int pair_steps(Pairs *p, int32_t number, int32_t *row) {
    uint64_t width = (uint32_t)p->right->states, pair = p->pairs[number];
    size_t letters = p->left->letters;
    const int32_t *ours = p->left->next + (pair / width) * letters, *theirs = p->right->next + (pair % width) * letters;
    for (size_t letter = 0; letter < letters; letter++)
        if ((row[letter] = pair_number(p, ours[letter], theirs[letter])) < 0) return -1;
    return 0;
}

/* All pairs that can be reached, as an automaton. */
static int multiply(const Automaton *left, const Automaton *right, int taken, Automaton *result) {
    Pairs p = {.left = left, .right = right};
    int32_t room = 0;
    int failed = -1;
    memset(result, 0, sizeof *result);
    result->letters = left->letters;
    if (pair_number(&p, left->initial, right->initial) < 0) goto done;
    for (int32_t at = 0; at < p.count; at++) {
        if (at == room) {
            room = p.room;
            int32_t *next = PyMem_Realloc(result->next, (size_t)room * (left->letters + 1) * sizeof *next);
            if (next == NULL) {
                PyErr_NoMemory();
                goto done;
            }
            result->next = next;
        }
        if (pair_steps(&p, at, result->next + (size_t)at * left->letters) < 0) goto done;
        if ((at & SIGNALS_EVERY) == SIGNALS_EVERY && PyErr_CheckSignals() < 0) goto done;
    }
    if ((result->accepting = places(p.count, 1)) == NULL) goto done;
    for (int32_t at = 0; at < p.count; at++) result->accepting[at] = (unsigned char)is_taken(&p, at, taken);
    result->states = p.count;
    failed = 0;
done:
    pairs_clear(&p);
    return failed;
}

/* --- for Python --- */

static int same_letters(const Automaton *left, const Automaton *right) {
    if (left->letters == right->letters) return 0;
    PyErr_SetString(PyExc_ValueError, "two automata must have the same letters");
    return -1;
}

static int read_two(Automaton *left, Automaton *right, PyObject **given) {
    memset(right, 0, sizeof *right);
    if (automaton_read(left, given[0], given[1], given[2]) < 0) return -1;
    if (automaton_read(right, given[3], given[4], given[5]) < 0) return -1;
    return same_letters(left, right);
}

PyObject *automaton_minimal(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *initial, *transitions, *accepting, *made = NULL;
    /* A product with an automaton of one state leaves out what cannot be reached. */
    Automaton a, all = {.states = 1}, reached = {0};
    if (!PyArg_ParseTuple(args, "OOO", &initial, &transitions, &accepting)) return NULL;
    if (automaton_read(&a, initial, transitions, accepting) == 0) {
        all.letters = a.letters;
        all.next = places(a.letters, sizeof *all.next);
        all.accepting = places(1, 1);
        if (all.next != NULL && all.accepting != NULL) {
            memset(all.next, 0, a.letters * sizeof *all.next);
            all.accepting[0] = 1;
            if (multiply(&a, &all, 8, &reached) == 0) made = smallest(&reached);
        }
    }
    automaton_clear(&a);
    automaton_clear(&all);
    automaton_clear(&reached);
    return made;
}

PyObject *automaton_product(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *given[6], *made = NULL;
    Automaton left, right, both = {0};
    int taken;
    if (!PyArg_ParseTuple(args, "OOOOOOi", &given[0], &given[1], &given[2], &given[3], &given[4], &given[5], &taken))
        return NULL;
    if (read_two(&left, &right, given) == 0 && multiply(&left, &right, taken, &both) == 0) made = smallest(&both);
    automaton_clear(&left);
    automaton_clear(&right);
    automaton_clear(&both);
    return made;
}

/* A step by which a pair was met first. */
typedef struct {
    int32_t from, letter;
} Step;

static PyObject *word_to(const Step *came, int32_t place) {
    Py_ssize_t length = 0;
    for (int32_t at = place; at != 0; at = came[at].from) length++;
    PyObject *word = PyTuple_New(length);
    for (int32_t at = place; word != NULL && at != 0; at = came[at].from) {
        PyObject *letter = PyLong_FromLong(came[at].letter);
        if (letter == NULL) Py_CLEAR(word);
        else PyTuple_SET_ITEM(word, --length, letter);
    }
    return word;
}

/* Breadth-first over pairs, up to the first taken pair. */
static PyObject *first_word(Pairs *p, int taken, Py_ssize_t longest) {
    int32_t letters = p->left->letters, room = 0, level_end = 1;
    int32_t *row = places(letters, sizeof *row);
    Step *came = NULL;
    PyObject *found = NULL;
    Py_ssize_t length = 0;
    if (row == NULL || pair_number(p, p->left->initial, p->right->initial) < 0) goto done;
    for (int32_t at = 0; at < p->count; at++) {
        if (at == level_end) length++, level_end = p->count;
        if (longest >= 0 && length > longest) break;
        if (is_taken(p, at, taken)) {
            found = word_to(came, at);
            goto done;
        }
        int32_t known = p->count;
        if (pair_steps(p, at, row) < 0) goto done;
        if (p->room > room || came == NULL) {
            Step *more = PyMem_Realloc(came, (size_t)p->room * sizeof *more);
            if (more == NULL) {
                PyErr_NoMemory();
                goto done;
            }
            came = more, room = p->room;
        }
        for (int32_t letter = 0; letter < letters; letter++)
            if (row[letter] == known) came[known++] = (Step){at, letter};
        if ((at & SIGNALS_EVERY) == SIGNALS_EVERY && PyErr_CheckSignals() < 0) goto done;
    }
    found = Py_NewRef(Py_None);
done:
    PyMem_Free(row);
    PyMem_Free(came);
    return found;
}

PyObject *automaton_search(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *given[6], *made = NULL;
    Automaton left, right;
    Py_ssize_t longest;
    int taken;
    if (!PyArg_ParseTuple(args, "OOOOOOin", &given[0], &given[1], &given[2], &given[3], &given[4], &given[5], &taken,
                          &longest))
        return NULL;
    if (read_two(&left, &right, given) == 0) {
        Pairs p = {.left = &left, .right = &right};
        made = first_word(&p, taken, longest);
        pairs_clear(&p);
    }
    automaton_clear(&left);
    automaton_clear(&right);
    return made;
}

/* The Python type `Window`: arguments and results of its methods, and the stream from a running program.

   Called by: Python, through lawful/learning/window.py (make) and lawful/engine/live_learning.py.
   Must match: `Window` in lawful/learning/window.py, as lawful/learning/window_protocol.py describes it.
   Compared by: tests/learning/test_window.py (test_both_cores_agree_on_everything). */
#include "learner/learner.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Python objects are made without the window's lock: that can run the program's finalisers, whose events may have
   to wait for the thread that waits for the lock. */
static void enter(Window *window) {
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&window->lock);
    Py_END_ALLOW_THREADS
}

static void leave(Window *window) { pthread_mutex_unlock(&window->lock); }

/* A statement under the window's lock, while other threads run Python code. */
#define LOCKED(window, statement) do { \
    Py_BEGIN_ALLOW_THREADS \
    pthread_mutex_lock(&(window)->lock); \
    statement; \
    pthread_mutex_unlock(&(window)->lock); \
    Py_END_ALLOW_THREADS \
} while (0)

/* A new tuple or list of items, each an expression of `i`. NULL: one of them could not be made. */
#define FILLED(Kind, length, item) __extension__({ \
    Py_ssize_t length_ = (Py_ssize_t)(length); \
    PyObject *filled_ = Py##Kind##_New(length_); \
    for (Py_ssize_t i = 0; filled_ != NULL && i < length_; i++) { \
        PyObject *item_ = (item); \
        if (item_ == NULL) Py_CLEAR(filled_); \
        else Py##Kind##_SET_ITEM(filled_, i, item_); \
    } \
    filled_; \
})

/* ---- the automaton ------------------------------------------------------------------------------------------------------- */

static void automaton_free(Automaton *automaton) {
    free(automaton->step);
    free(automaton->kind);
    free(automaton->satisfied);
    free(automaton->letters);
    free(automaton->next);
    free(automaton->alone);
    free(automaton->alone_at);
}

/* The numbers of a tuple into an array of numbers of `width` bytes (1, 2 or 8). -1: an exception. */
static int numbers(PyObject *tuple, void *into, size_t width, uint64_t most) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        uint64_t number = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tuple, i));
        if (PyErr_Occurred()) return -1;
        if (number > most) {
            PyErr_SetString(PyExc_ValueError, "a product with a number out of range");
            return -1;
        }
        if (width == 1) ((uint8_t *)into)[i] = (uint8_t)number;
        else if (width == 2) ((uint16_t *)into)[i] = (uint16_t)number;
        else ((uint64_t *)into)[i] = number;
    }
    return 0;
}

/* The states that runs of one event alone go through. */
static int automaton_runs(Automaton *automaton) {
    int room = automaton->states * automaton->states + 1;
    room = room > 4096 ? 4096 : room;
    automaton->next = malloc(room * sizeof *automaton->next);
    automaton->alone = malloc(room * sizeof *automaton->alone);
    automaton->alone_at = calloc(automaton->kinds, sizeof *automaton->alone_at);
    if (automaton->next == NULL || automaton->alone == NULL || automaton->alone_at == NULL) return -1;
    uint16_t state[2] = {automaton->start, automaton->start};
    for (automaton->positions = 0;; automaton->positions++) {
        int at = automaton->positions, known = 0;
        for (int i = 0; i < 2; i++) state[i] = automaton->step[state[i]][i];
        while (known < at && (automaton->alone[known][0] != state[0] || automaton->alone[known][1] != state[1])) known++;
        if (at) automaton->next[at - 1] = known;
        if (known < at) return 0;
        if (at == room) {
            PyErr_SetString(PyExc_ValueError, "a product whose runs are too long");
            return -1;
        }
        for (int i = 0; i < 2; i++) {
            automaton->alone[at][i] = state[i];
            automaton->alone_at[automaton->kind[state[i]]][i] = at;
        }
    }
}

static int automaton_fill(Automaton *automaton, PyObject *product) {
    PyObject *step, *kind, *satisfied, *letters, *size;
    if (!PyArg_ParseTuple(product, "iO!O!O!O!O!", &automaton->start, &PyTuple_Type, &step, &PyTuple_Type, &kind,
                          &PyTuple_Type, &satisfied, &PyTuple_Type, &letters, &PyTuple_Type, &size))
        return -1;
    Py_ssize_t states = PyTuple_GET_SIZE(step), kinds = PyTuple_GET_SIZE(satisfied), rules = PyTuple_GET_SIZE(size);
    if (states < 1 || states > UINT16_MAX || kinds < 1 || kinds > states || rules < 2 || rules > MOST_RULES ||
        automaton->start < 0 || automaton->start >= states || PyTuple_GET_SIZE(kind) != states ||
        PyTuple_GET_SIZE(letters) != kinds) {
        PyErr_SetString(PyExc_ValueError, "not the product of templates");
        return -1;
    }
    automaton->states = (int)states;
    automaton->kinds = (int)kinds;
    automaton->rules = (int)rules;
    automaton->step = malloc(states * sizeof *automaton->step);
    automaton->kind = malloc(states * sizeof *automaton->kind);
    automaton->satisfied = malloc(kinds * sizeof *automaton->satisfied);
    automaton->letters = malloc(kinds);
    if (!automaton->step || !automaton->kind || !automaton->satisfied || !automaton->letters) {
        PyErr_NoMemory();
        return -1;
    }
    if (numbers(kind, automaton->kind, sizeof *automaton->kind, kinds - 1) < 0 ||
        numbers(satisfied, automaton->satisfied, sizeof *automaton->satisfied, UINT64_MAX) < 0 ||
        numbers(size, automaton->size, sizeof *automaton->size, UINT64_MAX) < 0 ||
        numbers(letters, automaton->letters, sizeof *automaton->letters, 3) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < states; i++) {
        PyObject *two = PyTuple_GET_ITEM(step, i);
        if (!PyTuple_Check(two) || PyTuple_GET_SIZE(two) != 2) {
            PyErr_SetString(PyExc_ValueError, "not the product of templates");
            return -1;
        }
        if (numbers(two, automaton->step[i], sizeof **automaton->step, states - 1) < 0) return -1;
    }
    if (automaton_runs(automaton) == 0) return 0;
    if (!PyErr_Occurred()) PyErr_NoMemory();
    return -1;
}

/* ---- lifetime ------------------------------------------------------------------------------------------------------------- */

static PyObject *window_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"product", "size", "most_pairs", NULL};
    PyObject *product;
    Py_ssize_t size;
    unsigned long long most_pairs = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!n|K", names, &PyTuple_Type, &product, &size, &most_pairs)) return NULL;
    if (size < 0) {
        PyErr_SetString(PyExc_ValueError, "a window has no negative size");
        return NULL;
    }
    Window *window = (Window *)type->tp_alloc(type, 0);
    if (window == NULL) return NULL;
    window->size = size;
    window->most_pairs = most_pairs;
    window->process = getpid();
    window->cache.credit = -1; /* it begins as after a rest */
    pthread_mutex_init(&window->lock, NULL);
    pthread_mutex_init(&window->gate, NULL);
    pthread_cond_init(&window->arrived, NULL);
    pthread_cond_init(&window->taken_away, NULL);
    if (automaton_fill(&window->automaton, product) < 0) Py_CLEAR(window);
    else if ((window->by_kind = malloc(2 * window->automaton.kinds * sizeof *window->by_kind)) == NULL) {
        Py_CLEAR(window);
        PyErr_NoMemory();
    } else {
        window->firsts = window->by_kind + window->automaton.kinds;
    }
    return (PyObject *)window;
}

static void window_dealloc(Window *window) {
    Py_CLEAR(window->wake);
    /* After a fork the locks are as they were, and may never be let go: the memory is left alone then. */
    if (window->process == getpid()) {
        stream_stop(window);
        stream_free(window);
        pairs_free(window);
        window_free(window);
        automaton_free(&window->automaton);
        free(window->by_kind);
        pthread_mutex_destroy(&window->lock);
        pthread_mutex_destroy(&window->gate);
        pthread_cond_destroy(&window->arrived);
        pthread_cond_destroy(&window->taken_away);
    }
    Py_TYPE(window)->tp_free((PyObject *)window);
}

/* ---- events --------------------------------------------------------------------------------------------------------------- */

static PyObject *finished(Window *window, int failed) {
    if (failed || window->broken) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

#define FED_AT_ONCE 512

static int take_columns(Window *window, const uint32_t *names, const uint32_t *sites, const uint64_t *objects, Py_ssize_t count) {
    int failed = 0;
    LearnEvent events[FED_AT_ONCE];
    cache_settle_in_time(window);
    for (Py_ssize_t i = 0; i < count && !failed;) {
        size_t some = 0;
        for (; some < FED_AT_ONCE && i < count; some++, i++) events[some] = (LearnEvent){names[i], sites[i], objects[i]};
        failed = window_take(window, events, some, some);
    }
    return failed;
}

static PyObject *window_feed(Window *window, PyObject *args) {
    Py_buffer names, sites, objects;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*", &names, &sites, &objects)) return NULL;
    Py_ssize_t count = names.len / 4;
    if (names.len % 4 || sites.len != names.len || objects.len != 2 * names.len) {
        PyErr_SetString(PyExc_ValueError, "names, sites and objects are as many numbers of 4, 4 and 8 bytes");
    } else {
        int failed;
        LOCKED(window, failed = take_columns(window, names.buf, sites.buf, objects.buf, count));
        result = finished(window, failed);
    }
    PyBuffer_Release(&names);
    PyBuffer_Release(&sites);
    PyBuffer_Release(&objects);
    return result;
}

static PyObject *window_drain_method(Window *window, PyObject *Py_UNUSED(unused)) {
    int failed;
    LOCKED(window, failed = window_drain(window));
    return finished(window, failed);
}

/* ---- results ---------------------------------------------------------------------------------------------------------------- */

static PyObject *made_survey, *made_candidate, *made_pair, *made_ending, *made_example, *made_counts;
static PyObject *made_history, *made_history_example;

static int model_types(void) {
    if (made_survey != NULL) return 0;
    PyObject *model = PyImport_ImportModule("lawful.learning.window_protocol");
    if (model == NULL) return -1;
#define TYPE(variable, name) if ((variable = PyObject_GetAttrString(model, name)) == NULL) goto failed;
    TYPE(made_candidate, "Candidate") TYPE(made_pair, "Pair") TYPE(made_ending, "Ending") TYPE(made_example, "Example")
    TYPE(made_counts, "Counts") TYPE(made_history, "History") TYPE(made_history_example, "HistoryExample") TYPE(made_survey, "Survey")
#undef TYPE
failed:
    Py_DECREF(model);
    return made_survey == NULL ? -1 : 0;
}

static int instructions(PyObject *given, Instruction *program, int *length) {
    PyObject *list = PySequence_Fast(given, "a program is a sequence of instructions");
    if (list == NULL) return -1;
    int depth = 0;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        Instruction *each = &program[i];
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        if (i == 64 || !PyTuple_Check(item) || !PyArg_ParseTuple(item, "iddd", &each->op, &each->x, &each->y, &each->z)) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not a program of at most 64 instructions");
            Py_DECREF(list);
            return -1;
        }
        depth += each->op < OP_JOIN ? 1 : depth >= 2 ? -1 : -128;
        if (each->op < OP_COUNT || each->op > OP_MEET) depth = -128;
    }
    Py_DECREF(list);
    *length = (int)count;
    if (depth == 1) return 0;
    PyErr_SetString(PyExc_ValueError, "a program that does not leave one state");
    return -1;
}

static PyObject *window_survey(Window *window, PyObject *args) {
    PyObject *given;
    int prune, length, failed;
    Instruction program[64];
    if (!PyArg_ParseTuple(args, "Op", &given, &prune) || instructions(given, program, &length) < 0 || model_types() < 0)
        return NULL;
    Survey survey = {0};
    LOCKED(window, failed = survey_all(window, program, length, prune, &survey));
    const Candidate *each = survey.candidates;
    PyObject *list = failed ? PyErr_NoMemory() : FILLED(List, survey.count, PyObject_CallFunction(
        made_candidate, "IIii", each[i].first, each[i].second, each[i].rule, each[i].kind));
    free(survey.candidates);
    if (list == NULL) return NULL;
    return PyObject_CallFunction(made_survey, "KKKNK", survey.enforcing, survey.learning, survey.dead, list, survey.pairs);
}

static PyObject *window_known(Window *window, PyObject *Py_UNUSED(unused)) {
    enter(window);
    size_t count = window->pair_count;
    uint32_t(*names)[2] = malloc((count + 1) * sizeof *names);
    for (size_t i = 0; i < count && names != NULL; i++) {
        names[i][0] = window->pairs[i]->first;
        names[i][1] = window->pairs[i]->second;
    }
    leave(window);
    if (names == NULL) return PyErr_NoMemory();
    PyObject *list = FILLED(List, count, Py_BuildValue("II", names[i][0], names[i][1]));
    free(names);
    return list;
}

/* A copy of an ending, to be turned into Python objects without the lock. */
typedef struct {
    uint64_t count, first;
    int kind, examples;
    Example example[MOST_EXAMPLES];
    Trail trail[MOST_EXAMPLES];
} EndingCopy;

static void copy_example(Window *window, EndingCopy *copy, const Example *example) {
    Trail *trail = &copy->trail[copy->examples];
    copy->example[copy->examples++] = *example;
    trail->count = 0;
    if (example->trail) *trail = window->trails[example->trail - 1];
}

static void copy_ending(Window *window, const Pair *pair, int kind, uint64_t count, EndingCopy *copy) {
    *copy = (EndingCopy){.kind = kind, .count = count, .first = survey_first(window, pair, kind)};
    int letters = window->automaton.letters[kind], letter = letters >> 1;
    if (letters == 3) {
        for (int i = 0; i < pair->ending_count; i++) {
            if (pair->endings[i].kind != kind) continue;
            ending_settle(&pair->endings[i]);
            for (int j = 0; j < pair->endings[i].example_count; j++) copy_example(window, copy, &pair->endings[i].examples[j]);
        }
        return;
    }
    const Name *name = &window->names[letter ? pair->second : pair->first];
    usages_settle(window, letter ? pair->second : pair->first);
    for (int i = 0; i < name->usage_count && copy->examples < MOST_EXAMPLES; i++) {
        const Usage *usage = &name->usages[i];
        if (usage->last > pair->created && alone_kind(&window->automaton, letter, usage->position) == kind &&
            !usage_touched(usage, letter ? pair->first : pair->second))
            copy_example(window, copy, &usage->example);
    }
}

static PyObject *example_made(const Example *example, const Trail *trail) {
    PyObject *events = FILLED(Tuple, trail->count, Py_BuildValue("II", trail->events[i][0], trail->events[i][1]));
    if (events == NULL) return NULL;
    return PyObject_CallFunction(made_example, "IIKKKON", example->site, example->last_site, example->object, example->seq,
                                 example->count, example->at_end ? Py_True : Py_False, events);
}

static PyObject *ending_made(const EndingCopy *copy) {
    PyObject *examples = FILLED(Tuple, copy->examples, example_made(&copy->example[i], &copy->trail[i]));
    if (examples == NULL) return NULL;
    return PyObject_CallFunction(made_ending, "iKKN", copy->kind, copy->count, copy->first, examples);
}

static PyObject *window_pair(Window *window, PyObject *args) {
    unsigned first, second;
    if (!PyArg_ParseTuple(args, "II", &first, &second) || model_types() < 0) return NULL;
    int kinds = window->automaton.kinds, count = 0, contexts = 0;
    uint64_t created = 0;
    EndingCopy *endings = malloc(kinds * sizeof *endings);
    Context places[MOST_CONTEXTS];
    if (endings == NULL) return PyErr_NoMemory();
    enter(window);
    cache_settle(window);
    const Pair *pair = pair_find(window, first, second);
    bool found = pair != NULL;
    if (found) {
        created = pair->created;
        pair_counts(window, pair);
        for (int kind = 0; kind < kinds; kind++)
            if (window->by_kind[kind]) copy_ending(window, pair, kind, window->by_kind[kind], &endings[count++]);
        contexts = pair->context_count;
        for (int i = 0; i < contexts; i++) places[i] = pair->contexts[i];
    }
    leave(window);
    PyObject *result = NULL, *list = FILLED(Tuple, count, ending_made(&endings[i]));
    PyObject *sites = list ? FILLED(Tuple, contexts, Py_BuildValue("IK", places[i].site, places[i].satisfied)) : NULL;
    free(endings);
    if (list != NULL && sites != NULL)
        result = found ? PyObject_CallFunction(made_pair, "IIKOO", first, second, created, list, sites) : Py_NewRef(Py_None);
    Py_XDECREF(list);
    Py_XDECREF(sites);
    return result;
}

static PyObject *tuple_of(const uint64_t *numbers, int count) {
    return FILLED(Tuple, count, PyLong_FromUnsignedLongLong(numbers[i]));
}

static PyObject *window_counts(Window *window, PyObject *args) {
    unsigned first, second;
    uint64_t total = 0, satisfied[MOST_RULES], contexts[MOST_RULES];
    if (!PyArg_ParseTuple(args, "II", &first, &second) || model_types() < 0) return NULL;
    enter(window);
    cache_settle(window);
    const Pair *pair = pair_find(window, first, second);
    bool found = pair != NULL;
    if (found) survey_rules(window, pair, &total, satisfied, contexts);
    leave(window);
    if (!found) Py_RETURN_NONE;
    PyObject *result = NULL, *kept = tuple_of(satisfied, window->automaton.rules), *places = tuple_of(contexts, window->automaton.rules);
    if (kept != NULL && places != NULL) result = PyObject_CallFunction(made_counts, "KOO", total, kept, places);
    Py_XDECREF(kept);
    Py_XDECREF(places);
    return result;
}

/* All histories in one piece of memory: for each its count, names, examples, and order; for each example object, number
   of the last event, count and sites. */
static uint64_t *histories_copy(const Histories *histories, size_t *length) {
    size_t size = 0;
    for (uint32_t i = 0; i < histories->ended_count; i++)
        size += 3 + 2 * histories->ended[i].names + histories->ended[i].example_count * (3 + 2 * (size_t)histories->ended[i].names);
    uint64_t *copy = malloc((size + 1) * sizeof *copy), *to = copy;
    if (copy == NULL) return NULL;
    for (uint32_t i = 0; i < histories->ended_count; i++) {
        const EndedHistory *ended = &histories->ended[i];
        *to++ = ended->count;
        *to++ = ended->names;
        *to++ = ended->example_count;
        for (int j = 0; j < 2 * ended->names; j++) *to++ = ended->order[j];
        for (int k = 0; k < ended->example_count; k++) {
            *to++ = ended->examples[k].object;
            *to++ = ended->examples[k].seq;
            *to++ = ended->examples[k].count;
            for (int j = 0; j < 2 * ended->names; j++) *to++ = ended->examples[k].sites[j];
        }
    }
    *length = size;
    return copy;
}

static PyObject *history_example_made(const uint64_t *from, int names) {
    PyObject *sites = tuple_of(from + 3, 2 * names);
    return sites ? PyObject_CallFunction(made_history_example, "KKKN", from[0], from[1], from[2], sites) : NULL;
}

static PyObject *history_made(const uint64_t **from) {
    uint64_t count = (*from)[0];
    int names = (int)(*from)[1], examples = (int)(*from)[2], each = 3 + 2 * names;
    const uint64_t *first = *from + each;
    PyObject *order = tuple_of(*from + 3, 2 * names);
    PyObject *list = order ? FILLED(Tuple, examples, history_example_made(first + i * each, names)) : NULL;
    *from = first + examples * each;
    PyObject *history = list ? PyObject_CallFunction(made_history, "OKO", order, count, list) : NULL;
    Py_XDECREF(order);
    Py_XDECREF(list);
    return history;
}

static PyObject *window_histories(Window *window, PyObject *Py_UNUSED(unused)) {
    size_t length = 0;
    if (model_types() < 0) return NULL;
    enter(window);
    uint64_t *copy = histories_copy(&window->histories, &length);
    leave(window);
    if (copy == NULL) return PyErr_NoMemory();
    PyObject *list = PyList_New(0);
    for (const uint64_t *from = copy; list != NULL && from < copy + length;) {
        PyObject *history = history_made(&from);
        if (history == NULL || PyList_Append(list, history) < 0) Py_CLEAR(list);
        Py_XDECREF(history);
    }
    free(copy);
    return list;
}

static PyObject *window_remember(Window *window, PyObject *args) {
    unsigned first, second;
    PyObject *endings, *contexts;
    if (!PyArg_ParseTuple(args, "IIOO", &first, &second, &endings, &contexts)) return NULL;
    int kinds = window->automaton.kinds, given = 0, failed = -1;
    uint64_t *counts = calloc(kinds, sizeof *counts);
    Context places[MOST_CONTEXTS];
    PyObject *ended = PySequence_Tuple(endings), *list = PySequence_Tuple(contexts);
    if (ended == NULL || list == NULL || counts == NULL) goto done;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ended); i++) {
        int kind;
        long long count;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(ended, i), "iL", &kind, &count)) goto done;
        if (kind < 0 || kind >= kinds || count < 0) first = second;
        else counts[kind] += count;
    }
    if (first >= second) {
        PyErr_SetString(PyExc_ValueError, "not the endings of a pair");
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list) && given < MOST_CONTEXTS; i++, given++) {
        unsigned long long rules;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(list, i), "IK", &places[given].site, &rules)) goto done;
        places[given].satisfied = rules;
    }
    enter(window);
    bool created = false;
    Pair *pair = pair_for(window, first, second, &created);
    failed = 0;
    if (pair != NULL && pair != &pair_pruned) {
        if (created) failed = window_interrupt_runs(window, pair);
        if (pair->remembered == NULL) pair->remembered = calloc(kinds, sizeof *counts);
        if (pair->remembered == NULL) {
            failed = -1;
        } else {
            for (int i = 0; i < kinds; i++) pair->remembered[i] += counts[i];
            for (int i = 0; i < given && !failed; i++) failed = pair_context(pair, places[i].site, places[i].satisfied);
        }
    }
    leave(window);
done:
    free(counts);
    Py_XDECREF(ended);
    Py_XDECREF(list);
    if (failed) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    return finished(window, 0);
}

/* ---- the stream ------------------------------------------------------------------------------------------------------------- */

static PyObject *window_start(Window *window, PyObject *Py_UNUSED(unused)) {
    if (stream_start(window) < 0) return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *window_push(Window *window, PyObject *args) {
    unsigned name, site;
    unsigned long long object;
    if (!PyArg_ParseTuple(args, "IIK", &name, &site, &object)) return NULL;
    return finished(window, stream_push(window, name, site, object));
}

static PyObject *window_wait(Window *window, PyObject *args) {
    double seconds;
    int idle = 1;
    if (!PyArg_ParseTuple(args, "d|p", &seconds, &idle)) return NULL;
    stream_hand_over(window, false);
    return PyLong_FromLong(stream_wait(window, seconds, idle));
}

static PyObject *window_resume(Window *window, PyObject *Py_UNUSED(unused)) {
    stream_resume(window);
    Py_RETURN_NONE;
}

static PyObject *window_stop(Window *window, PyObject *Py_UNUSED(unused)) {
    stream_hand_over(window, false);
    stream_stop(window);
    return finished(window, 0);
}

/* ---- attributes ----------------------------------------------------------------------------------------------------------------- */

/* The offset is that of a number of 64 bits. */
static PyObject *window_get(Window *window, void *offset) {
    enter(window);
    uint64_t value = *(uint64_t *)((char *)window + (size_t)offset);
    leave(window);
    return PyLong_FromUnsignedLongLong(value);
}

static PyObject *window_get_worked(Window *window, void *Py_UNUSED(unused)) { return PyLong_FromUnsignedLongLong(stream_worked(window)); }

static int window_set(Window *window, PyObject *value, void *which) {
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "it cannot be deleted");
        return -1;
    }
    Py_ssize_t number = PyLong_AsSsize_t(value);
    if (number < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "it cannot be negative");
        return -1;
    }
    int failed = 0;
    if ((size_t)which == offsetof(Window, size)) LOCKED(window, failed = window_resize(window, number));
    else LOCKED(window, window->tick_every = number);
    if (failed) PyErr_NoMemory();
    return failed;
}

static PyObject *window_get_wake(Window *window, void *Py_UNUSED(unused)) { return Py_NewRef(window->wake ? window->wake : Py_None); }

static int window_set_wake(Window *window, PyObject *value, void *Py_UNUSED(unused)) {
    Py_XSETREF(window->wake, value == NULL || value == Py_None ? NULL : Py_NewRef(value));
    return 0;
}

#define AT(field) (void *)offsetof(Window, field)
static PyGetSetDef attributes[] = {
    {"wake", (getter)window_get_wake, (setter)window_set_wake,
     "Called once, when much was pushed and the thread is not at work; or None.", NULL},
    {"size", (getter)window_get, (setter)window_set, "Events that one which leaves still sees.", AT(size)},
    {"events", (getter)window_get, NULL, "Events taken in.", AT(taken)},
    {"pairs", (getter)window_get, NULL, "Pairs that are kept.", AT(pair_count)},
    {"pruned", (getter)window_get, NULL, "Pairs all of whose rules were dead.", AT(pruned)},
    {"given_up", (getter)window_get, NULL, "Times when a pair found no room.", AT(given_up)},
    {"given_up_histories", (getter)window_get, NULL, "Histories that had too many events, or were too different from others.",
     AT(histories.given_up)},
    {"pushed", (getter)window_get, NULL, "Events that came by the stream.", AT(pushed)},
    {"worked", (getter)window_get_worked, NULL, "Those of them that were taken in, with the ticks that were due before them.",
     NULL},
    {"thread", (getter)window_get, NULL, "The system's number of its thread, if it had one.", AT(native)},
    {"tick_every", (getter)window_get, (setter)window_set, "After so many events the stream waits for `resume`; 0: never.",
     AT(tick_every)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"feed", (PyCFunction)window_feed, METH_VARARGS, "feed(names, sites, objects)\n--\n\nTake events in."},
    {"drain", (PyCFunction)window_drain_method, METH_NOARGS, "drain()\n--\n\nLet everything leave the window."},
    {"survey", (PyCFunction)window_survey, METH_VARARGS, "survey(program, prune)\n--\n\nJudge all rules."},
    {"known", (PyCFunction)window_known, METH_NOARGS, "known()\n--\n\nAll pairs."},
    {"pair", (PyCFunction)window_pair, METH_VARARGS, "pair(first, second)\n--\n\nHow its scenarios ended."},
    {"counts", (PyCFunction)window_counts, METH_VARARGS, "counts(first, second)\n--\n\nThe counts of all its rules."},
    {"histories", (PyCFunction)window_histories, METH_NOARGS, "histories()\n--\n\nAll histories that have ended."},
    {"remember", (PyCFunction)window_remember, METH_VARARGS,
     "remember(first, second, endings, contexts)\n--\n\nAdd what earlier runs have counted."},
    {"start", (PyCFunction)window_start, METH_NOARGS, "start()\n--\n\nTake pushed events in, in a thread of its own."},
    {"push", (PyCFunction)window_push, METH_VARARGS, "push(name, site, object)\n--\n\nAppend an event to the stream."},
    {"wait", (PyCFunction)window_wait, METH_VARARGS,
     "wait(seconds, idle=True)\n--\n\nHand the pushed events over, and wait until a tick is due (1), all is worked off (0; not "
     "without `idle`), or the time is over (-1)."},
    {"resume", (PyCFunction)window_resume, METH_NOARGS, "resume()\n--\n\nGo on after a tick."},
    {"stop", (PyCFunction)window_stop, METH_NOARGS, "stop()\n--\n\nWork everything off, and end the thread."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject WindowType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Window",
    .tp_basicsize = sizeof(Window),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The window of the learner.",
    .tp_new = window_new,
    .tp_dealloc = (destructor)window_dealloc,
    .tp_methods = methods,
    .tp_getset = attributes,
};

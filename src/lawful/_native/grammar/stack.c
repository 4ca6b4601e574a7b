/* Stacks of frames: the state of a group.

   Called by: machine.c.
   Must match: `Cell` in laws/grammar/steps.py.
   Compared by: tests/laws/grammar/test_machines.py. */
#include "grammar/grammar.h"

static int grow(void **array, int *capacity, int wanted, size_t size) {
    if (wanted <= *capacity) return 0;
    int larger = *capacity ? *capacity * 2 : 4;
    if (larger < wanted) larger = wanted;
    void *moved = PyMem_Realloc(*array, (size_t)larger * size);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *array = moved;
    *capacity = larger;
    return 0;
}

static int room(GStack *stack, int frames, int values) {
    if (grow((void **)&stack->frames, &stack->capacity, stack->count + frames, sizeof(GFrame)) < 0) return -1;
    return grow((void **)&stack->values, &stack->value_capacity, stack->value_count + values, sizeof(PyObject *));
}

/* Put a frame on top, whose values are those of `values` that `which` names (all, if it is NULL). */
int stack_push(GStack *stack, const GTables *tables, int state, PyObject **values, const int *which) {
    int size = tables->state[state].size;
    if (room(stack, 1, size) < 0) return -1;
    GEnding own = tables->state[state].ending, below = stack_ending(stack);
    stack->frames[stack->count++] = (GFrame){state, stack->value_count, own < below ? own : below};
    for (int i = 0; i < size; i++)
        stack->values[stack->value_count++] = Py_NewRef(values[which == NULL ? i : which[i]]);
    return 0;
}

void stack_pop(GStack *stack) {
    int first = stack->frames[--stack->count].first;
    while (stack->value_count > first) Py_DECREF(stack->values[--stack->value_count]);
}

void stack_clear(GStack *stack) {
    while (stack->count) stack_pop(stack);
}

void stack_free(GStack *stack) {
    stack_clear(stack);
    PyMem_Free(stack->frames);
    PyMem_Free(stack->values);
    *stack = (GStack){0};
}

/* Keep so many of the lowest frames, and put those of another stack on top, which loses them. What was there before
   goes to a third. */
int stack_commit(GStack *stack, int kept, GStack *above, GStack *taken, const GTables *tables) {
    int frames = stack->count - kept;
    int first = frames ? stack->frames[kept].first : stack->value_count;
    int values = stack->value_count - first;
    stack_clear(taken);
    if (room(stack, above->count, above->value_count) < 0 || room(taken, frames, values) < 0) return -1;
    for (int i = 0; i < frames; i++) {
        taken->frames[i] = stack->frames[kept + i];
        taken->frames[i].first -= first;
    }
    for (int i = 0; i < values; i++) taken->values[i] = stack->values[first + i];
    taken->count = frames;
    taken->value_count = values;
    stack->count = kept;
    stack->value_count = first;
    for (int i = 0; i < above->count; i++) {
        GFrame frame = above->frames[i];
        GEnding own = tables->state[frame.state].ending, below = stack_ending(stack);
        stack->frames[stack->count++] =
            (GFrame){frame.state, stack->value_count + frame.first, own < below ? own : below};
    }
    for (int i = 0; i < above->value_count; i++) stack->values[stack->value_count + i] = above->values[i];
    stack->value_count += above->value_count;
    above->count = above->value_count = 0;
    return 0;
}

/* Put a frame in the place of the topmost one, which goes to another stack. The same as a commit, where that is all. */
int stack_replace(GStack *stack, GStack *taken, const GTables *tables, int state, PyObject **values, const int *which) {
    GFrame *top = stack->frames + stack->count - 1;
    int size = tables->state[state].size, old = stack->value_count - top->first;
    stack_clear(taken);
    if (taken->capacity < 1 || taken->value_capacity < old) {
        if (room(taken, 1, old) < 0) return -1;
    }
    if (stack->value_capacity < top->first + size && room(stack, 0, size) < 0) return -1;
    GEnding own = tables->state[state].ending, below = stack->count > 1 ? top[-1].ending : G_ALWAYS;
    taken->frames[0] = (GFrame){top->state, 0, top->ending};
    taken->count = 1;
    for (int i = 0; i < old; i++) taken->values[i] = stack->values[top->first + i];
    taken->value_count = old;
    *top = (GFrame){state, top->first, own < below ? own : below};
    for (int i = 0; i < size; i++) stack->values[top->first + i] = Py_NewRef(values[which[i]]);
    stack->value_count = top->first + size;
    return 0;
}

/* As Python has them: a list of (state, values), lowest first. */
PyObject *stack_frames(const GStack *stack, const GTables *tables) {
    PyObject *list = PyList_New(stack->count);
    if (list == NULL) return NULL;
    for (int i = 0; i < stack->count; i++) {
        const GFrame *frame = stack->frames + i;
        int size = tables->state[frame->state].size;
        PyObject *values = PyTuple_New(size);
        for (int j = 0; values != NULL && j < size; j++)
            PyTuple_SET_ITEM(values, j, Py_NewRef(stack->values[frame->first + j]));
        PyObject *pair = values == NULL ? NULL : Py_BuildValue("(iN)", frame->state, values);
        if (pair == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, i, pair);
    }
    return list;
}

int stack_load(GStack *stack, PyObject *frames, const GTables *tables) {
    PyObject *fast = PySequence_Fast(frames, "frames are a list");
    if (fast == NULL) return -1;
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PySequence_Fast_GET_SIZE(fast); i++) {
        int state;
        PyObject *values;
        result = -1;
        if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(fast, i), "iO!", &state, &PyTuple_Type, &values)) break;
        if (state < 0 || state >= tables->states || PyTuple_GET_SIZE(values) != tables->state[state].size) {
            PyErr_SetString(PyExc_ValueError, "these frames belong to another grammar");
            break;
        }
        result = stack_push(stack, tables, state, ((PyTupleObject *)values)->ob_item, NULL);
    }
    Py_DECREF(fast);
    return result;
}

/* Calls that have begun and not ended, one stack for each thread: what their ends must know of their beginnings. Both paths
   use it. Its twin is in lawful/sources/python/call_events.py; tests/sources/python/test_tracer_behaviour.py runs on both. */
#include "tracer/probe.h"
#include "events/record_values.h"

_Thread_local ThreadData lawful_threads[MOST_TRACERS];
static pthread_key_t thread_key;
static bool has_thread_key;

static void thread_ends(void *data) {
    ThreadData *all = data;
    for (int i = 0; i < MOST_TRACERS; i++) {
        PyMem_RawFree(all[i].stack);
        PyMem_RawFree(all[i].task_cache);
        memset(&all[i], 0, sizeof all[i]);
    }
}

void pending_setup(void) {
    if (!has_thread_key && pthread_key_create(&thread_key, thread_ends) == 0) has_thread_key = true;
}

ThreadData *thread_data_reset(Tracer *tracer) {
    ThreadData *data = &lawful_threads[tracer->slot];
    data->serial = tracer->serial;
    data->depth = 0;
    data->suspended = false;
    thread_forget_task(data);
    ThreadData *before = tracer->previous_slot < 0 ? NULL : &lawful_threads[tracer->previous_slot];
    data->number = before && before->serial == tracer->previous_serial ? before->number : ++tracer->threads;
    data->word = data->number >> THREAD_BITS ? 0 : (uint64_t)data->number << THREAD_BIT;
    return data;
}

/* What it has is freed when the thread ends. */
static void free_at_thread_end(void) {
    if (has_thread_key) pthread_setspecific(thread_key, lawful_threads);
}

TaskCache *thread_task_cache(ThreadData *thread) {
    if (thread->task_cache == NULL && (thread->task_cache = PyMem_RawMalloc(sizeof(TaskCache))) != NULL) {
        free_at_thread_end();
        thread_forget_task(thread);
    }
    return thread->task_cache;
}

void thread_forget_task(ThreadData *thread) {
    if (thread->task_cache != NULL) *thread->task_cache = (TaskCache){.of_loop = UINT64_MAX, .of_task = UINT64_MAX};
}

void pending_release(Tracer *tracer, Pending *pending) {
    values_release(pending->values);
    Py_XDECREF(pending->payload);
    Py_XDECREF(pending->token);
    if (pending->gone == NULL) return;
    record_gone(tracer, pending->target, pending->gone, pending->gone_group);
    Py_DECREF(pending->gone);
}

/* What is to end in the long way has its values as that wants them. */
static void expand_values(Tracer *tracer, Pending *pending) {
    if (pending->values[0] == 0) return;
    PyObject *raised = PyErr_GetRaisedException(); /* it may end by an exception */
    pending->payload = values_payload(pending->values, NULL);
    if (pending->payload == NULL && PyErr_Occurred()) tracer_fault(tracer);
    values_release(pending->values);
    pending->values[0] = 0;
    PyErr_SetRaisedException(raised);
}

/* Greenlets leave the thread's stack in the middle of a call, and others go on there: then calls do not end in the order in
   which they have begun, and frames that are not below the current one may live. */
static bool greenlets;

static bool has_greenlets(void) {
    static PyObject *name;
    if (greenlets || (name == NULL && (name = PyUnicode_InternFromString("greenlet")) == NULL)) return greenlets;
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    greenlets = PyDict_Check(modules) && PyDict_GetItemWithError(modules, name) != NULL;
    return greenlets;
}

#define MOST_PENDING (1 << 16) /* of greenlets: of those that ended unseen nobody knows */

static void take_out(ThreadData *data, int i) {
    memmove(&data->stack[i], &data->stack[i + 1], (data->depth - i - 1) * sizeof(Pending));
    data->depth--;
}

/* A frame is in the middle of one instruction only. */
static void drop_of_frame(Tracer *tracer, ThreadData *data, const RunFrame *frame) {
    for (int i = data->depth - 1; i >= 0; i--) {
        if (data->stack[i].frame != frame || data->stack[i].offset < 0) continue;
        Pending pending = data->stack[i];
        take_out(data, i);
        pending_release(tracer, &pending);
    }
}

/* Not every end is seen: that of a loop, for one. Such calls are found out by their frames, which run no more. */
static void drop_dead(Tracer *tracer, ThreadData *data) {
    RunFrame *first = frame_current(PyThreadState_Get());
    int live = data->depth;
    for (int i = data->depth - 1; i >= 0; i--) {
        RunFrame *frame = first;
        while (frame != NULL && frame != data->stack[i].frame) frame = frame_caller(frame);
        if (frame != NULL) {
            first = frame; /* what lies below is of this frame or its callers */
            data->stack[--live] = data->stack[i];
        } else {
            pending_release(tracer, &data->stack[i]);
            memset(&data->stack[i], 0, sizeof(Pending)); /* another death must not find it */
        }
    }
    data->depth -= live;
    memmove(data->stack, data->stack + live, data->depth * sizeof(Pending));
}

Pending *pending_push(Tracer *tracer, Callee *callee, RunFrame *frame, int offset, Id target, PyObject *payload) {
    static Pending nobody; /* the tracer has stopped, and has no stack for it */
    ThreadData *data = thread_data(tracer);
    if (data == NULL) return &nobody;
    /* A frame is in the middle of one instruction only. */
    while (offset >= 0 && data->depth && data->stack[data->depth - 1].frame == frame && data->stack[data->depth - 1].offset >= 0)
        pending_release(tracer, &data->stack[--data->depth]);
    if (greenlets && offset >= 0) drop_of_frame(tracer, data, frame);
    if (data->depth == data->room && data->room && (data->room >= MOST_PENDING || !has_greenlets())) drop_dead(tracer, data);
    if (data->depth == data->room) {
        int room = data->room ? 2 * data->room : 64;
        Pending *stack = PyMem_RawRealloc(data->stack, room * sizeof(Pending));
        if (stack == NULL) return (void *)PyErr_NoMemory();
        if (data->stack == NULL) free_at_thread_end();
        data->stack = stack;
        data->room = room;
    }
    Pending *pending = &data->stack[data->depth++];
    pending_clear(pending, callee, frame, target, offset);
    pending->payload = Py_XNewRef(payload);
    return pending;
}

bool pending_pop(Tracer *tracer, RunFrame *frame, int offset, Pending *found) {
    ThreadData *data = thread_data(tracer);
    if (data == NULL) return false;
    for (int i = data->depth - 1; i >= 0; i--) {
        Pending *pending = &data->stack[i];
        if (pending->frame != frame || pending->offset != offset) continue;
        *found = *pending;
        if (i + 1 < data->depth && has_greenlets()) {
            take_out(data, i);
        } else {
            int depth = data->depth;
            data->depth = i;
            for (int j = i + 1; j < depth; j++) pending_release(tracer, &data->stack[j]);
        }
        expand_values(tracer, found);
        return true;
    }
    return false;
}

int pending_offset(Tracer *tracer, RunFrame *frame) {
    ThreadData *data = thread_data(tracer);
    for (int i = data ? data->depth - 1 : -1; i >= 0; i--)
        if (data->stack[i].frame == frame) return data->stack[i].offset;
    return -1;
}

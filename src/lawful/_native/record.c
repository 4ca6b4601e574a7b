/* The buffer of compact records, and the events that are made from them when somebody wants them. */
#include "tracer.h"

#ifndef LAWFUL_NO_TRACER

#include <time.h>

static PyObject *kinds[KINDS];
static PyObject *text_event, *text_name, *text_class, *text_targetId, *text_file, *text_line, *text_thread, *text_task,
    *text_time, *text_process;

int record_setup(void) {
    static const char *const names[KINDS] = {"func_pre", "func_post", "func_raise", "new", "gone", "field_write",
                                             "field_read", "iter_next", "yield", "resume", "emit"};
    if (text_event != NULL) return 0;
    for (int i = 0; i < KINDS; i++)
        if ((kinds[i] = PyUnicode_InternFromString(names[i])) == NULL) return -1;
#define TEXT(name) if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    TEXT(name) TEXT(class) TEXT(targetId) TEXT(file) TEXT(line) TEXT(thread) TEXT(task) TEXT(time) TEXT(process)
    TEXT(event)
#undef TEXT
    return 0;
}

/* ---- time ---------------------------------------------------------------------------------------------------------- */

int64_t tracer_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Asking for the time is a good part of the cost of a record. Where the processor counts at a constant rate, that count is
   taken, and its rate is measured against the clock whenever records are delivered. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <x86intrin.h>

static bool constant_rate(void) {
    static int known = -1;
    unsigned a, b, c, d = 0;
    if (known < 0) known = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8);
    return known;
}

int64_t ticks(void) { return constant_rate() ? (int64_t)__rdtsc() : tracer_now(); }
#else
int64_t ticks(void) { return tracer_now(); }
#endif

void measure_ticks(Tracer *tracer) {
    int64_t passed = ticks() - tracer->first_tick;
    if (passed > 0) tracer->tick = (double)(tracer_now() - tracer->began - tracer->first_time) / (double)passed;
}

/* ---- in ------------------------------------------------------------------------------------------------------------ */

static RecordChunk *room(Tracer *tracer) {
    RecordChunk *chunk = tracer->spare ? tracer->spare : malloc(sizeof(RecordChunk) + CHUNK_RECORDS * sizeof(Record));
    if (chunk == NULL) return NULL;
    tracer->spare = NULL;
    chunk->next = NULL;
    chunk->count = 0;
    if (tracer->chunks == NULL) tracer->chunks = chunk;
    else tracer->last_chunk->next = chunk;
    return tracer->last_chunk = chunk;
}

static inline Record *push(Tracer *tracer) {
    RecordChunk *chunk = tracer->last_chunk;
    if ((tracer->limit && tracer->count >= tracer->limit) ||
        ((chunk == NULL || chunk->count == CHUNK_RECORDS) && (chunk = room(tracer)) == NULL)) {
        tracer->dropped++;
        return NULL;
    }
    tracer->events++;
    tracer->count++;
    return &chunk->records[chunk->count++];
}

/* The id of the asyncio task that is running in this thread, or 0. */
static Id current_task(Tracer *tracer) {
    if (tracer->get_loop == NULL) {
        PyObject *modules = PyImport_GetModuleDict();
        PyObject *asyncio = PyDict_GetItemString(modules, "asyncio");
        if (asyncio == NULL) return 0;
        tracer->get_loop = PyObject_GetAttrString(asyncio, "_get_running_loop");
        tracer->get_task = PyObject_GetAttrString(asyncio, "current_task");
        if (tracer->get_loop == NULL || tracer->get_task == NULL) {
            PyErr_Clear(); /* it is still being imported */
            Py_CLEAR(tracer->get_loop);
            Py_CLEAR(tracer->get_task);
            return 0;
        }
    }
    Id id = 0;
    PyObject *loop = PyObject_CallNoArgs(tracer->get_loop);
    if (loop != NULL && loop != Py_None) {
        PyObject *task = PyObject_CallOneArg(tracer->get_task, loop);
        if (task != NULL && task != Py_None) id = identity_of(tracer, task);
        Py_XDECREF(task);
    }
    Py_XDECREF(loop);
    if (PyErr_Occurred()) PyErr_Clear();
    return id;
}

static inline void fill(Tracer *tracer, Record *record, int kind) {
    ThreadData *thread = thread_data(tracer);
    *record = (Record){.kind = kind, .time = ticks(), .thread = thread ? thread->number : 0};
}

/* The payload with the task. */
static PyObject *with_task(Tracer *tracer, PyObject *payload) {
    Id task = current_task(tracer);
    if (task == 0) return payload;
    PyObject *number = PyLong_FromUnsignedLongLong(task), *extended = payload ? PyDict_Copy(payload) : PyDict_New();
    if (number == NULL || extended == NULL || PyDict_SetItem(extended, text_task, number) < 0) {
        PyErr_Clear();
        Py_CLEAR(extended);
    }
    Py_XDECREF(number);
    if (extended == NULL) return payload;
    Py_XDECREF(payload);
    return extended;
}

int record_add(Tracer *tracer, int kind, Callee *callee, Id target, PyObject *payload, PyCodeObject *code, int offset) {
    if (tracer->tasks) payload = with_task(tracer, payload);
    Record *record = push(tracer);
    if (record == NULL) {
        Py_XDECREF(payload);
        return 0;
    }
    fill(tracer, record, kind);
    record->callee = callee;
    record->target = target;
    record->payload = payload;
    record->code = (PyCodeObject *)Py_XNewRef((PyObject *)code);
    record->offset = offset;
    if (tracer->synchronous || tracer->count >= tracer->flush_at) return record_flush(tracer, false);
    return 0;
}

int record_gone(Tracer *tracer, Id id, PyObject *class_name) {
    /* The receiver of a call may die with the call's arguments: it is told after the call's end. */
    ThreadData *thread = thread_data(tracer);
    for (int i = thread ? thread->depth - 1 : -1, j = 0; i >= 0 && j < 4; i--, j++) {
        Pending *pending = &thread->stack[i];
        if (pending->target != id || pending->gone != NULL) continue;
        pending->gone = Py_NewRef(class_name);
        return 0;
    }
    Record *record = push(tracer);
    if (record == NULL) return 0;
    fill(tracer, record, KIND_GONE);
    record->target = id;
    record->payload = Py_NewRef(class_name);
    return 0;
}

int record_emit(Tracer *tracer, PyObject *event) {
    PyObject *payload = tracer->tasks ? with_task(tracer, Py_NewRef(event)) : Py_NewRef(event);
    Record *record = push(tracer);
    if (record == NULL) {
        Py_DECREF(payload);
        return 0;
    }
    fill(tracer, record, KIND_EMIT);
    record->payload = payload;
    if (tracer->synchronous || tracer->count >= tracer->flush_at) return record_flush(tracer, false);
    return 0;
}

static void release(Record *record) {
    Py_XDECREF(record->payload);
    Py_XDECREF((PyObject *)record->code);
}

/* Takes all records out of the tracer. */
static RecordChunk *take(Tracer *tracer) {
    RecordChunk *chunks = tracer->chunks;
    tracer->chunks = tracer->last_chunk = NULL;
    tracer->count = 0;
    return chunks;
}

static void give_back(Tracer *tracer, RecordChunk *chunk) {
    if (tracer->spare == NULL) tracer->spare = chunk;
    else free(chunk);
}

void record_discard(Tracer *tracer) {
    for (RecordChunk *chunk = take(tracer), *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        for (size_t i = 0; i < chunk->count; i++) release(&chunk->records[i]);
        free(chunk);
    }
    free(tracer->spare);
    tracer->spare = NULL;
}

/* ---- out ------------------------------------------------------------------------------------------------------------- */

static int set_taken(PyObject *event, PyObject *key, PyObject *value) {
    if (value == NULL) return -1;
    int failed = PyDict_SetItem(event, key, value);
    Py_DECREF(value);
    return failed;
}

static int set_place(Tracer *tracer, PyObject *event, Record *record) {
    CodeInfo *info = plan_find(tracer, record->code);
    PyObject *file = info && info->file ? info->file : record->code->co_filename;
    if (PyDict_SetItem(event, text_file, file) < 0) return -1;
    int line = PyCode_Addr2Line(record->code, (int)record->offset);
    return line < 0 ? 0 : set_taken(event, text_line, PyLong_FromLong(line));
}

static PyObject *event_of(Tracer *tracer, Record *record) {
    PyObject *event = record->kind == KIND_EMIT ? PyDict_Copy(record->payload) : PyDict_New();
    if (event == NULL) return NULL;
    int failed = 0;
    if (record->kind == KIND_GONE) {
        failed = PyDict_SetItem(event, text_event, kinds[KIND_GONE]) || PyDict_SetItem(event, text_name, record->payload) ||
                 set_taken(event, text_targetId, PyLong_FromUnsignedLongLong(record->target));
    } else if (record->kind != KIND_EMIT) {
        Callee *callee = record->callee;
        failed = PyDict_SetItem(event, text_event, kinds[record->kind]) || PyDict_SetItem(event, text_name, callee->name);
        if (!failed && record->target) {
            failed = (callee->class_name != NULL && PyDict_SetItem(event, text_class, callee->class_name)) ||
                     set_taken(event, text_targetId, PyLong_FromUnsignedLongLong(record->target));
        }
        if (!failed && record->payload != NULL) {
            PyObject *target = PyDict_GetItemWithError(record->payload, text_target);
            failed = (target != NULL && PyDict_SetItem(event, text_target, target)) || PyDict_Update(event, record->payload);
        }
    }
    if (!failed && record->code != NULL) failed = set_place(tracer, event, record);
    if (!failed) failed = set_taken(event, text_thread, PyLong_FromLong(record->thread));
    if (!failed) {
        double passed = (double)tracer->first_time + (double)(record->time - tracer->first_tick) * tracer->tick;
        failed = set_taken(event, text_time, PyFloat_FromDouble(passed < 0 ? 0 : passed * 1e-9));
    }
    if (!failed && tracer->process) failed = set_taken(event, text_process, PyLong_FromLong(tracer->process));
    if (failed) Py_CLEAR(event);
    return event;
}

static PyObject *events_of(Tracer *tracer, Record *records, Py_ssize_t count) {
    PyObject *events = PyList_New(count);
    for (Py_ssize_t i = 0; events != NULL && i < count; i++) {
        PyObject *event = event_of(tracer, &records[i]);
        if (event == NULL) Py_CLEAR(events);
        else PyList_SET_ITEM(events, i, event);
    }
    return events;
}

static int deliver(Tracer *tracer, Record *records, Py_ssize_t count) {
    /* A collection would run finalisers of the program inside Lawful, where they are not watched. */
    int collecting = PyGC_Disable();
    PyThreadState *thread = PyThreadState_Get();
    int depth = frame_depth(thread, 0); /* the program may be at the end of its recursion limit */
    Held held = hold_signals();
    measure_ticks(tracer);
    PyObject *events = events_of(tracer, records, count);
    for (Py_ssize_t i = 0; i < count; i++) release(&records[i]);
    PyObject *result = events == NULL ? NULL : PyObject_CallOneArg(tracer->deliver, events);
    Py_XDECREF(events);
    Py_XDECREF(result);
    let_signals(held);
    frame_depth(thread, depth);
    if (collecting) PyGC_Enable();
    if (result != NULL) return 0;
    if (tracer->synchronous || !PyErr_ExceptionMatches(PyExc_Exception)) {
        /* It goes on into the program, whose traceback begins there. */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        if (value != NULL) PyException_SetTraceback(value, Py_None);
        Py_XDECREF(trace);
        PyErr_Restore(type, value, NULL);
        return -1;
    }
    tracer_fault(tracer);
    return 0;
}

int record_flush(Tracer *tracer, bool wait) {
    unsigned long me = PyThread_get_thread_ident();
    if (tracer->deliverer == me || tracer->count == 0) return 0; /* from inside a delivery */
    if (!PyThread_acquire_lock(tracer->delivering, NOWAIT_LOCK)) {
        /* Another thread delivers: batches keep their order, and a full buffer makes its producers wait. */
        if (!wait && !tracer->synchronous && tracer->count < 8 * tracer->flush_at) return 0;
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(tracer->delivering, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    tracer->deliverer = me;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* some callbacks run while an exception is on its way */
    int failed = 0;
    if (tracer->count && !tracer->broken) {
        for (RecordChunk *chunk = take(tracer), *next; chunk != NULL; chunk = next) {
            next = chunk->next;
            if (failed || tracer->broken)
                for (size_t i = 0; i < chunk->count; i++) release(&chunk->records[i]);
            else failed = deliver(tracer, chunk->records, (Py_ssize_t)chunk->count);
            give_back(tracer, chunk);
        }
    }
    if (failed) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    } else {
        PyErr_Restore(type, value, trace);
    }
    tracer->deliverer = 0;
    PyThread_release_lock(tracer->delivering);
    return failed;
}

#endif

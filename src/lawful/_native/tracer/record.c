/* The buffer of compact records (events/record.h), their delivery, and the events that are made from them then. Both paths
   call it to write records; flusher.py and full buffers deliver them. tests/sources/python/test_tracer_behaviour.py and
   tests/engine/test_lazy_events.py test it; the events must be those of lawful/sources/python/pytracer.py. */
#include "events/lazy_event.h"
#include "tracer/tracer.h"
#include "events/record_values.h"

#include <math.h>
#include <sys/mman.h>
#include <time.h>

/* ---- time ---------------------------------------------------------------------------------------------------------- */

int64_t tracer_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Asking for the time is a good part of the cost of a record. Where the processor counts at a constant rate, that count is
   taken, and its rate is measured against the clock whenever records are delivered. */
bool ticks_counted;

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

static bool constant_rate(void) {
    unsigned a, b, c, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8);
}
#else
static bool constant_rate(void) { return false; }
#endif

void record_setup(void) { ticks_counted = constant_rate(); }

void measure_ticks(Tracer *tracer) {
    int64_t passed = ticks() - tracer->first_tick;
    if (passed > 0) tracer->tick = (double)(tracer_now() - tracer->began - tracer->first_time) / (double)passed;
}

/* ---- in ------------------------------------------------------------------------------------------------------------ */

#define SMALL_CHUNK 8192                /* words */
#define LARGE_CHUNK ((size_t)2 << 20)   /* bytes */
#define SPARE_CHUNKS 32

static RecordChunk *spare_chunks; /* large ones, for the next watch */
static int spare_count;

/* Where records are not delivered for long, memory that was never used before is a good part of their cost: it is taken in
   pieces of the size of the processor's large pages. */
static RecordChunk *large_chunk(void) {
    RecordChunk *chunk = spare_chunks;
    if (chunk != NULL) {
        spare_chunks = chunk->next;
        spare_count--;
        return chunk;
    }
#if defined(MADV_HUGEPAGE)
    char *mapping = mmap(NULL, 2 * LARGE_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)mapping + LARGE_CHUNK - 1) & ~(uintptr_t)(LARGE_CHUNK - 1));
    if (start > mapping) munmap(mapping, start - mapping);
    if (start < mapping + LARGE_CHUNK) munmap(start + LARGE_CHUNK, mapping + LARGE_CHUNK - start);
    madvise(start, LARGE_CHUNK, MADV_HUGEPAGE); /* if not, not */
    chunk = (RecordChunk *)start;
#else
    chunk = calloc(1, LARGE_CHUNK);
    if (chunk == NULL) return NULL;
#endif
    chunk->large = true;
    chunk->room = (LARGE_CHUNK - sizeof(RecordChunk)) / sizeof(uint64_t);
    return chunk;
}

static RecordChunk *small_chunk(void) {
    RecordChunk *chunk = malloc(sizeof(RecordChunk) + SMALL_CHUNK * sizeof(uint64_t));
    if (chunk == NULL) return NULL;
    memset(chunk, 0, sizeof *chunk);
    chunk->room = SMALL_CHUNK;
    return chunk;
}

static RecordChunk *next_chunk(Tracer *tracer, int64_t tick) {
    RecordChunk *chunk = tracer->spare;
    if (chunk == NULL) chunk = tracer->chunks == NULL ? small_chunk() : large_chunk();
    if (chunk == NULL) return NULL;
    tracer->spare = NULL;
    chunk->next = NULL;
    chunk->count = chunk->payload_count = chunk->held_count = 0;
    chunk->first = chunk->epoch = tick;
    chunk->start = ++tracer->position;
    chunk->high = identity_high();
    tracer->position += chunk->room;
    if (tracer->chunks == NULL) tracer->chunks = chunk;
    else tracer->last_chunk->next = chunk;
    return tracer->last_chunk = chunk;
}

static int add_payload(RecordChunk *chunk, PyObject *payload) {
    if (chunk->payload_count == chunk->payload_room) {
        size_t room = chunk->payload_room ? 2 * chunk->payload_room : 256;
        PyObject **payloads = realloc(chunk->payloads, room * sizeof(PyObject *));
        if (payloads == NULL) return -1;
        chunk->payloads = payloads;
        chunk->payload_room = room;
    }
    chunk->payloads[chunk->payload_count++] = payload;
    return 0;
}

/* In which task it happened stands in the chunk, once for all records of a thread that follow. Ends of objects have none, and
   events from elsewhere have their own. */
static inline bool kind_has_task(int kind) { return kind != KIND_GONE && kind != KIND_EMIT; }

static inline void write_task(RecordChunk *chunk, ThreadData *thread) {
    TaskCache *task_cache = thread->task_cache;
    if (task_cache == NULL || task_cache->noted == chunk->start) return;
    chunk->words[chunk->count++] = record_word(WORDS_TASK, false, false, thread->number, 0);
    chunk->words[chunk->count++] = task_cache->task;
    task_cache->noted = chunk->start;
}

void record_prepare(Tracer *tracer) {
    tasks_here(tracer);
    ThreadData *thread = thread_data(tracer);
    RecordChunk *chunk = tracer->last_chunk;
    if (thread != NULL && chunk != NULL && chunk->count + TASK_WORDS <= chunk->room) write_task(chunk, thread);
}

/* Takes over the reference to payload. */
static inline void push(Tracer *tracer, int kind, uint32_t callee, Id target, PyObject *payload, uint32_t place) {
    int64_t tick = ticks();
    RecordChunk *chunk = tracer->last_chunk;
    if ((tracer->limit && tracer->count >= tracer->limit) ||
        ((chunk == NULL || chunk->count + TASK_WORDS + MOST_WORDS > chunk->room) && (chunk = next_chunk(tracer, tick)) == NULL))
        goto dropped;
    uint64_t passed = tick < chunk->epoch ? 0 : (uint64_t)(tick - chunk->epoch) / TICKS;
    if (passed > UINT32_MAX) {
        chunk->words[chunk->count++] = WORDS_EPOCH;
        chunk->words[chunk->count++] = (uint64_t)tick;
        chunk->epoch = tick;
        passed = 0;
        if (chunk->count + TASK_WORDS + MOST_WORDS > chunk->room && (chunk = next_chunk(tracer, tick)) == NULL) goto dropped;
    }
    if (payload != NULL && add_payload(chunk, payload) < 0) goto dropped;
    ThreadData *thread = thread_data(tracer);
    if (tracer->tasks && thread != NULL && kind_has_task(kind)) write_task(chunk, thread);
    tracer->count++;
    Record record = {.target = target, .callee = callee, .place = place, .time = (uint32_t)passed,
                     .thread = thread ? thread->number : 0, .kind = kind, .has_payload = payload != NULL};
    chunk->count += record_pack(&chunk->words[chunk->count], &record, chunk->high);
    return;
dropped:
    tracer->dropped++;
    Py_XDECREF(payload);
}

/* An event with the task. Takes over the reference, and gives another one. */
static PyObject *with_task(Tracer *tracer, PyObject *event) {
    Id task = tracer->tasks ? tasks_here(tracer) : 0;
    if (task == 0) return event;
    PyObject *number = PyLong_FromUnsignedLongLong(task), *extended = PyDict_Copy(event);
    if (number == NULL || extended == NULL || PyDict_SetItem(extended, text_task, number) < 0) {
        PyErr_Clear();
        Py_CLEAR(extended);
    }
    Py_XDECREF(number);
    if (extended == NULL) return event;
    Py_DECREF(event);
    return extended;
}

static bool become_deliverer(Tracer *tracer, bool wait);
static int deliver_all(Tracer *tracer);

/* Where each event is judged at once, a thread takes its turn first: otherwise another thread could find the event, and what
   comes of it would be raised there. */
#define BEGIN_ADDING bool turn = tracer->synchronous && become_deliverer(tracer, true);
#define END_ADDING \
    if (turn) return deliver_all(tracer); \
    return !tracer->synchronous && tracer->count >= tracer->flush_at ? record_flush(tracer, false) : 0;

int record_add(Tracer *tracer, int kind, Callee *callee, Id target, PyObject *payload, uint32_t place) {
    if (tracer->tasks) tasks_here(tracer);
    BEGIN_ADDING
    push(tracer, kind, callee->number, target, payload, place);
    END_ADDING
}

void record_keep(Tracer *tracer, int kind, Callee *callee, Id target, PyObject *payload, uint32_t place) {
    push(tracer, kind, callee->number, target, payload, place);
}

int record_gone(Tracer *tracer, Id id, PyObject *class_name, Group *group) {
    /* The receiver of a call may die with the call's arguments: its death is reported after the call's end. */
    ThreadData *thread = thread_data(tracer);
    for (int i = thread ? thread->depth - 1 : -1, j = 0; i >= 0 && j < 4; i--, j++) {
        Pending *pending = &thread->stack[i];
        if (pending->target != id || pending->gone != NULL) continue;
        pending->gone = Py_NewRef(class_name);
        pending->gone_group = group;
        if (pending->fast == PENDING_PLAIN) pending->fast = PENDING_GENERAL;
        return 0;
    }
    push(tracer, KIND_GONE, 0, id, Py_NewRef(class_name), 0);
    if (group != NULL) sample_gone(tracer, group);
    return 0;
}

int record_emit(Tracer *tracer, PyObject *event) {
    BEGIN_ADDING
    push(tracer, KIND_EMIT, 0, 0, with_task(tracer, Py_NewRef(event)), 0);
    END_ADDING
}

int record_emit_all(Tracer *tracer, PyObject *events, uint32_t place) {
    if (PyList_GET_SIZE(events) == 0) return 0;
    BEGIN_ADDING
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(events); i++) {
        PyObject *event = Py_NewRef(PyList_GET_ITEM(events, i));
        int placed = PyDict_Contains(event, text_file);
        if (placed < 0) PyErr_Clear();
        push(tracer, KIND_EMIT, 0, 0, with_task(tracer, event), placed ? 0 : place);
    }
    END_ADDING
}

int record_messages(Tracer *tracer, PyObject **events, int count) {
    BEGIN_ADDING
    for (int i = 0; i < count; i++) push(tracer, KIND_EMIT, 0, 0, events[i], 0);
    END_ADDING
}

/* Takes all records out of the tracer. */
static RecordChunk *take(Tracer *tracer) {
    RecordChunk *chunks = tracer->chunks;
    tracer->chunks = tracer->last_chunk = NULL;
    tracer->taken += (uint64_t)tracer->count;
    tracer->count = 0;
    return chunks;
}

static void release(RecordChunk *chunk) {
    for (size_t i = 0; i < chunk->payload_count; i++) Py_DECREF(chunk->payloads[i]);
    for (size_t i = 0; i < chunk->held_count; i++) Py_DECREF(chunk->held[i]);
    chunk->payload_count = chunk->held_count = 0;
}

static void free_chunk(RecordChunk *chunk) {
    if (chunk == NULL) return;
    if (chunk->large && spare_count < SPARE_CHUNKS) {
        chunk->next = spare_chunks;
        spare_chunks = chunk;
        spare_count++;
        return;
    }
    free(chunk->payloads);
    free(chunk->held);
#if defined(MADV_HUGEPAGE)
    if (chunk->large) {
        munmap(chunk, LARGE_CHUNK);
        return;
    }
#endif
    free(chunk);
}

static void give_back(Tracer *tracer, RecordChunk *chunk) {
    release(chunk);
    if (tracer->spare == NULL && !chunk->large) tracer->spare = chunk;
    else free_chunk(chunk);
}

void record_discard(Tracer *tracer) {
    for (RecordChunk *chunk = take(tracer), *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        release(chunk);
        free_chunk(chunk);
    }
    free_chunk(tracer->spare);
    tracer->spare = NULL;
}

/* ---- out ------------------------------------------------------------------------------------------------------------- */

static int set_place(Tracer *tracer, PyObject *event, uint32_t place) {
    if (PyDict_SetItem(event, text_file, tracer->place_list[place - 1].file) < 0) return -1;
    int line = tracer->place_list[place - 1].line;
    return line < 0 ? 0 : set_taken(event, text_line, PyLong_FromLong(line));
}

/* Seconds since the beginning, of whole nanoseconds: as decimals they are short. */
static double time_of(Tracer *tracer, int64_t tick) {
    double passed = (double)tracer->first_time + (double)(tick - tracer->first_tick) * tracer->tick;
    /* The length of a tick is measured again and again. */
    if (passed < tracer->last_time) passed = tracer->last_time;
    tracer->last_time = passed;
    return floor(passed) / 1e9;
}

/* One that was made elsewhere gets what it lacks. */
static PyObject *emitted(Tracer *tracer, const Record *record, PyObject *payload, int64_t tick) {
    PyObject *event = Py_REFCNT(payload) == 1 ? Py_NewRef(payload) : PyDict_Copy(payload); /* is it ours alone? */
    if (event == NULL) return NULL;
    int failed = record->place ? set_place(tracer, event, record->place) : 0;
    if (!failed) failed = set_taken(event, text_thread, PyLong_FromLong(record->thread));
    if (!failed) failed = set_taken(event, text_time, PyFloat_FromDouble(time_of(tracer, tick)));
    if (!failed && tracer->process) failed = set_taken(event, text_process, PyLong_FromLong(tracer->process));
    if (failed) Py_CLEAR(event);
    return event;
}

static PyObject *event_of(Tracer *tracer, const Record *record, PyObject *payload, Id task, int64_t tick) {
    if (record->kind == KIND_EMIT) return emitted(tracer, record, payload, tick);
    LazyEvent lazy = {.kind = record->kind, .target = record->target, .thread = record->thread, .process = tracer->process,
                   .time = time_of(tracer, tick), .line = -1};
    if (record->kind == KIND_GONE) {
        lazy.name = payload;
    } else {
        const Callee *callee = tracer->callee_list[record->callee - 1];
        /* A birth has the name of its class, whoever reports it. */
        lazy.name = record->kind == KIND_BORN ? callee->class_name : callee->name;
        lazy.class_name = record->target ? callee->class_name : NULL;
        lazy.payload = payload;
        lazy.task = task;
        lazy.values = record->values;
        lazy.result = record->result;
    }
    if (record->place) {
        lazy.file = tracer->place_list[record->place - 1].file;
        lazy.line = tracer->place_list[record->place - 1].line;
    }
    return tracer->lazy_events ? lazy_event_new(&lazy) : lazy_event_dict(&lazy);
}

/* How far a chunk has been delivered. */
typedef struct {
    size_t word, payload;
    int64_t epoch;
    Id *tasks;             /* by threads, as far as the chunk says */
    size_t threads;
} Progress;

static int move_to_task(Progress *at, size_t thread, Id task) {
    if (thread >= at->threads) {
        Id *tasks = realloc(at->tasks, (thread + 1) * sizeof *tasks);
        if (tasks == NULL) return out_of_memory();
        memset(tasks + at->threads, 0, (thread + 1 - at->threads) * sizeof *tasks);
        at->tasks = tasks;
        at->threads = thread + 1;
    }
    at->tasks[thread] = task;
    return 0;
}

#define BATCH 8192

static PyObject *some_events(Tracer *tracer, const RecordChunk *chunk, Progress *at) {
    PyObject *events = PyList_New(0);
    while (events != NULL && at->word < chunk->count && PyList_GET_SIZE(events) < BATCH) {
        const uint64_t *words = &chunk->words[at->word];
        if (words[0] == WORDS_EPOCH) {
            at->epoch = (int64_t)words[1];
            at->word += 2;
            continue;
        }
        if ((words[0] & ((1 << PAYLOAD_BIT) - 1)) == WORDS_TASK) {
            if (move_to_task(at, words[0] >> CALLEE_BIT, words[1]) < 0) Py_CLEAR(events);
            at->word += TASK_WORDS;
            continue;
        }
        Record record;
        at->word += record_unpack(words, &record, chunk->high);
        PyObject *payload = record.has_payload ? chunk->payloads[at->payload++] : NULL;
        Id task = record.thread < at->threads ? at->tasks[record.thread] : 0;
        PyObject *event = event_of(tracer, &record, payload, task, at->epoch + (int64_t)record.time * TICKS);
        if (event == NULL || PyList_Append(events, event) < 0) Py_CLEAR(events);
        Py_XDECREF(event);
    }
    return events;
}

static int deliver(Tracer *tracer, const RecordChunk *chunk, Progress *at) {
    OwnWork work = own_work_begin();
    measure_ticks(tracer);
    PyObject *events = some_events(tracer, chunk, at);
    PyObject *result = events == NULL ? NULL : PyObject_CallOneArg(tracer->deliver, events);
    Py_XDECREF(events);
    Py_XDECREF(result);
    own_work_end(&work);
    if (result != NULL) return 0;
    if (tracer->synchronous || !PyErr_ExceptionMatches(PyExc_Exception)) {
        /* It goes on into the program, whose traceback begins there. */
        PyObject *raised = PyErr_GetRaisedException();
        PyException_SetTraceback(raised, Py_None);
        PyErr_SetRaisedException(raised);
        return -1;
    }
    tracer_fault(tracer);
    return 0;
}

#if PY_VERSION_HEX >= 0x030D0000
#define IS_FINALIZING() Py_IsFinalizing()
#else
#define IS_FINALIZING() _Py_IsFinalizing()
#endif

/* Is this thread the one that delivers now? Not if it does already, or if another does and it need not wait for that. */
static bool become_deliverer(Tracer *tracer, bool wait) {
    unsigned long me = PyThread_get_thread_ident();
    if (tracer->deliverer == me) return false;
    if (!PyThread_acquire_lock(tracer->delivering, NOWAIT_LOCK)) {
        /* Batches keep their order, and a full buffer makes its producers wait. When the interpreter ends, other threads are
           gone with what they held. */
        if ((!wait && tracer->count < 8 * tracer->flush_at) || IS_FINALIZING()) return false;
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(tracer->delivering, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    tracer->deliverer = me;
    return true;
}

int record_flush(Tracer *tracer, bool wait) {
    /* Who waits wants all to be judged, also what another thread has taken out and delivers just now. */
    if ((tracer->count == 0 && !wait) || !become_deliverer(tracer, wait || tracer->synchronous)) return 0;
    return deliver_all(tracer);
}

static int deliver_all(Tracer *tracer) {
    int64_t began = cpu_time();
    PyObject *raised = PyErr_GetRaisedException(); /* some callbacks run while an exception is on its way */
    int failed = 0;
    /* A thread may be in the middle of a call while another stops the tracer: nobody hears what it has to say after that. */
    if (tracer->count && tracer->running && !tracer->broken) {
        for (RecordChunk *chunk = take(tracer), *next; chunk != NULL; chunk = next) {
            next = chunk->next;
            Progress at = {.epoch = chunk->first};
            while (!failed && !tracer->broken && at.word < chunk->count) failed = deliver(tracer, chunk, &at);
            free(at.tasks);
            give_back(tracer, chunk);
        }
    }
    if (failed) Py_XDECREF(raised);
    else PyErr_SetRaisedException(raised);
    tracer->measured += cpu_time() - began;
    tracer->measurements++;
    tracer->deliverer = 0;
    PyThread_release_lock(tracer->delivering);
    return failed;
}

/* Events from a running program to the thread of the learner. The program only appends to a chunk, under the interpreter lock;
   full chunks wait in a queue; the thread takes them through the window without that lock.

   Called by: tracer/learner_feed.h and the tracer's fast path (stream_push); learner.c for lawful/engine/live_learning.py.
   Must match: nothing in Python; without the C core events are delivered to `LiveLearner.feed`.
   Compared by: tests/engine/test_live_learning.py, with learning from a recorded trace. */
#include "learner/learner.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

LearnChunk *stream_chunk(Window *window) {
    pthread_mutex_lock(&window->gate);
    LearnChunk *chunk = window->spare_chunks;
    if (chunk != NULL) window->spare_chunks = chunk->next;
    pthread_mutex_unlock(&window->gate);
    if (chunk == NULL) chunk = malloc(sizeof *chunk + CHUNK_EVENTS * sizeof *chunk->events);
    if (chunk == NULL) {
        window->broken = true;
        return NULL;
    }
    chunk->next = NULL;
    chunk->count = chunk->done = 0;
    return window->chunk = chunk;
}

/* After a fork the thread starts again when there is work, not at once: the interpreter warns of forks with threads a
   moment later. */
static void call_wake(Window *window) {
    PyObject *wake = window->wake, *type, *value, *trace;
    window->wake = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *result = PyObject_CallNoArgs(wake);
    if (result == NULL) PyErr_Clear(); /* then all waits in memory for the end */
    Py_XDECREF(result);
    Py_DECREF(wake);
    PyErr_Restore(type, value, trace);
}

int stream_hand_over(Window *window, bool patient) {
    LearnChunk *chunk = window->chunk;
    if (chunk == NULL || !chunk->count) return 0;
    window->chunk = NULL; /* other threads go on with another one while this one waits */
    pthread_mutex_lock(&window->gate);
    if (window->waiting == NULL) window->waiting = chunk;
    else window->last_waiting->next = chunk;
    window->last_waiting = chunk;
    window->handed += chunk->count;
    bool full = ++window->waiting_count > MOST_CHUNKS;
    /* To wake a thread costs as much as some hundred events: it is woken for several chunks at a time. */
    if (!patient || window->waiting_count >= CHUNKS_AT_ONCE) pthread_cond_broadcast(&window->arrived);
    if (window->wake != NULL && !window->threaded) {
        pthread_mutex_unlock(&window->gate);
        call_wake(window);
        return 0;
    }
    if (full && patient && window->threaded) {
        pthread_mutex_unlock(&window->gate); /* never wait for one lock while holding the other */
        Py_BEGIN_ALLOW_THREADS
        pthread_mutex_lock(&window->gate);
        window->patient++;
        while (window->waiting_count > MOST_CHUNKS && window->threaded && !window->stopping)
            pthread_cond_wait(&window->taken_away, &window->gate);
        window->patient--;
        pthread_mutex_unlock(&window->gate);
        Py_END_ALLOW_THREADS
        return 0;
    }
    pthread_mutex_unlock(&window->gate);
    return 0;
}

/* Takes the chunk into the window, up to the next tick; true: that is due. */
static bool work(Window *window, LearnChunk *chunk) {
    bool due = false;
    pthread_mutex_lock(&window->lock);
    cache_settle_in_time(window);
    /* Up to the next tick. */
    uint64_t every = window->tick_every, left = every ? every - window->taken % every : UINT64_MAX;
    uint32_t from = chunk->done, count = chunk->count - from < left ? chunk->count - from : (uint32_t)left;
    window_take(window, &chunk->events[from], count, chunk->count - from);
    chunk->done += count;
    due = count == left;
    pthread_mutex_unlock(&window->lock);
    return due;
}

static void *run(void *argument) {
    Window *window = argument;
    pthread_mutex_lock(&window->gate);
#ifdef SYS_gettid
    window->native = (long)syscall(SYS_gettid);
    pthread_cond_broadcast(&window->taken_away);
#endif
    for (;;) {
        while (window->waiting == NULL && !window->stopping) pthread_cond_wait(&window->arrived, &window->gate);
        LearnChunk *chunk = window->waiting;
        if (chunk == NULL) break;
        pthread_mutex_unlock(&window->gate);
        uint32_t before = chunk->done;
        bool due = work(window, chunk);
        pthread_mutex_lock(&window->gate);
        window->worked += chunk->done - before;
        if (chunk->done == chunk->count) {
            if ((window->waiting = chunk->next) == NULL) window->last_waiting = NULL;
            window->waiting_count--;
            chunk->next = window->spare_chunks;
            window->spare_chunks = chunk;
        }
        window->tick_due = due;
        /* Most who wait do so for a tick: they are not woken for each chunk. */
        if (due || window->patient || (window->idlers && window->worked == window->handed))
            pthread_cond_broadcast(&window->taken_away);
        while (window->tick_due && !window->stopping) pthread_cond_wait(&window->arrived, &window->gate);
    }
    pthread_mutex_unlock(&window->gate);
    return NULL;
}

int stream_start(Window *window) {
    if (window->threaded) return 0;
    sigset_t all, before;
    sigfillset(&all);
    window->stopping = window->tick_due = false;
    window->process = getpid();
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's business */
    int failed = pthread_create(&window->thread, NULL, run, window);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    window->threaded = !failed;
    errno = failed;
    return failed ? -1 : 0;
}

/* Until a tick is due (1), all that was handed over is worked off (0; if `idle`), or the time is over (-1; negative:
   never). With the interpreter lock. */
int stream_wait(Window *window, double seconds, bool idle) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    double nanoseconds = (double)until.tv_nsec + (seconds - (double)(time_t)seconds) * 1e9;
    until.tv_sec += (time_t)seconds + (nanoseconds >= 1e9);
    until.tv_nsec = (long)(nanoseconds >= 1e9 ? nanoseconds - 1e9 : nanoseconds);
    int answer, late = 0;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&window->gate);
    if (window->waiting != NULL) pthread_cond_broadcast(&window->arrived);
    window->idlers += idle;
    while (!window->tick_due && (!idle || window->worked < window->handed) && window->threaded && !window->stopping && !late) {
        if (seconds < 0) pthread_cond_wait(&window->taken_away, &window->gate);
        else late = pthread_cond_timedwait(&window->taken_away, &window->gate, &until);
    }
    window->idlers -= idle;
    answer = window->tick_due ? 1 : late ? -1 : 0;
    pthread_mutex_unlock(&window->gate);
    Py_END_ALLOW_THREADS
    return answer;
}

/* A tick that is due with the last of them is marked as due. */
uint64_t stream_worked(Window *window) {
    pthread_mutex_lock(&window->gate);
    uint64_t worked = window->worked;
    pthread_mutex_unlock(&window->gate);
    return worked;
}

void stream_resume(Window *window) {
    pthread_mutex_lock(&window->gate);
    window->tick_due = false;
    pthread_cond_broadcast(&window->arrived);
    pthread_mutex_unlock(&window->gate);
}

/* The thread ends when everything is worked off; ticks that are due then are passed over. */
void stream_stop(Window *window) {
    if (!window->threaded) return;
    if (window->process != getpid()) { /* a fork has left the thread behind */
        window->threaded = false;
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&window->gate);
    window->stopping = true;
    window->tick_due = false;
    pthread_cond_broadcast(&window->arrived);
    pthread_cond_broadcast(&window->taken_away);
    pthread_mutex_unlock(&window->gate);
    pthread_join(window->thread, NULL);
    window->threaded = false;
    Py_END_ALLOW_THREADS
}

static void chunks_free(LearnChunk *chunk) {
    while (chunk != NULL) {
        LearnChunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void stream_free(Window *window) {
    free(window->chunk);
    chunks_free(window->waiting);
    chunks_free(window->spare_chunks);
}

/* `Timer`: a thread of ours sleeps until a time has come, or until it is told to stop. lawful/sources/python/flusher.py uses
   it and has its twin `_Timer`; tests/sources/python/test_flusher.py runs on both.

   After the sleep the thread needs the interpreter's lock. A program that releases the lock again and again for a moment, as
   an event loop does, takes it back before another thread has woken up: that thread would wake and sleep for nothing, and the
   program would pay for it each time. So the main thread is asked to wait, for a moment, until the lock was taken. */
#include "tracer/tracer.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define LONGEST_YIELD 0.001 /* seconds that the main thread waits at the most */

#if defined(__linux__)
#  define CLOCK CLOCK_MONOTONIC
#else
#  define CLOCK CLOCK_REALTIME /* that of conditions, where no other can be chosen */
#endif

static void make_condition(pthread_cond_t *condition) {
#if defined(__linux__)
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
#else
    pthread_cond_init(condition, NULL);
#endif
}

static struct timespec seconds_from_now(double seconds) {
    struct timespec moment;
    clock_gettime(CLOCK, &moment);
    int64_t nanoseconds = moment.tv_nsec + (int64_t)(seconds * 1e9);
    moment.tv_sec += (time_t)(nanoseconds / 1000000000);
    moment.tv_nsec = (long)(nanoseconds % 1000000000);
    return moment;
}

/* ---- the interpreter's lock ------------------------------------------------------------------------------------------- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t taken;
static int wanting;  /* threads that want the lock */
static bool asked;   /* the main thread will give way: it is asked once at a time, there is not much room for such wishes */

/* The main thread does that, between two instructions. */
static int yield_lock(void *Py_UNUSED(unused)) {
    struct timespec until = seconds_from_now(LONGEST_YIELD);
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&gate);
    asked = false;
    while (wanting && pthread_cond_timedwait(&taken, &gate, &until) == 0) continue;
    pthread_mutex_unlock(&gate);
    Py_END_ALLOW_THREADS
    return 0;
}

static void ask_for_lock(void) {
    pthread_mutex_lock(&gate);
    wanting++;
    if (!asked) asked = Py_AddPendingCall(yield_lock, NULL) == 0;
    pthread_mutex_unlock(&gate);
}

static void have_lock(void) {
    pthread_mutex_lock(&gate);
    if (--wanting == 0) pthread_cond_broadcast(&taken);
    pthread_mutex_unlock(&gate);
}

/* A child process has no such threads, and what was asked for is forgotten there. */
static void reset_after_fork(void) {
    pthread_mutex_init(&gate, NULL);
    make_condition(&taken);
    wanting = 0;
    asked = false;
}

/* ---- the object -------------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    pthread_mutex_t mutex;
    pthread_cond_t rang;
    bool ringing;
} Timer;

static PyObject *timer_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(named)) {
    static bool prepared;
    if (!prepared) {
        prepared = true;
        make_condition(&taken);
        pthread_atfork(NULL, NULL, reset_after_fork);
    }
    Timer *self = (Timer *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    pthread_mutex_init(&self->mutex, NULL);
    make_condition(&self->rang);
    return (PyObject *)self;
}

static PyObject *timer_wait(Timer *self, PyObject *number) {
    double seconds = PyFloat_AsDouble(number);
    if (seconds == -1 && PyErr_Occurred()) return NULL;
    struct timespec until = seconds_from_now(seconds);
    bool ringing;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&self->mutex);
    while (!self->ringing && pthread_cond_timedwait(&self->rang, &self->mutex, &until) == 0) continue;
    ringing = self->ringing;
    pthread_mutex_unlock(&self->mutex);
    ask_for_lock();
    Py_END_ALLOW_THREADS
    have_lock();
    return PyBool_FromLong(ringing);
}

static PyObject *timer_stop(Timer *self, PyObject *Py_UNUSED(unused)) {
    pthread_mutex_lock(&self->mutex);
    self->ringing = true;
    pthread_cond_broadcast(&self->rang);
    pthread_mutex_unlock(&self->mutex);
    Py_RETURN_NONE;
}

static PyMethodDef timer_methods[] = {
    {"wait", (PyCFunction)timer_wait, METH_O, "wait(seconds)\n--\n\nSleep for so long; true at once if it was stopped."},
    {"stop", (PyCFunction)timer_stop, METH_NOARGS, "stop()\n--\n\nWake whoever waits, now and later."},
    {NULL, NULL, 0, NULL},
};

/* Neither mutex nor condition is destroyed: after a fork somebody may seem to wait for them, and they hold nothing. */
PyTypeObject TimerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Timer",
    .tp_basicsize = sizeof(Timer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Timer()\n--\n\nWakes a thread after a while, or at once.",
    .tp_new = timer_new,
    .tp_methods = timer_methods,
};

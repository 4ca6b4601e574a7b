/* The Python type `Tracer`: the protocol of the same name in lawful/sources/python/tracer_protocol.py. tracer_choice.py makes
   it, and engine/session.py uses it. Its twin is `PythonTracer` in pytracer.py; tests/sources/python/test_tracer_*.py run on
   both. */
#include "messages/messages.h"
#include "tracer/learner_feed.h"

static unsigned long serials;

bool signals_waited = false;

void tracer_fault(Tracer *tracer) {
    PyObject *raised = PyErr_GetRaisedException();
    if (tracer->fault == NULL) tracer->fault = raised;
    else Py_XDECREF(raised);
    tracer->broken = true;
}

/* ---- methods --------------------------------------------------------------------------------------------------------------- */

/* Code that is running already will not start again. */
int tracer_plan_frames(Tracer *tracer) {
    PyObject *get = PySys_GetObject("_current_frames");
    PyObject *frames = get ? PyObject_CallNoArgs(get) : NULL;
    if (frames == NULL) return get ? -1 : 0;
    PyObject *frame;
    int failed = 0;
    for (Py_ssize_t at = 0; !failed && PyDict_Next(frames, &at, NULL, &frame);) {
        Py_INCREF(frame);
        while (frame != NULL && !failed) {
            PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
            PyObject *globals = PyFrame_GetGlobals((PyFrameObject *)frame);
            if (plan_find(tracer, code) == NULL) {
                CodeInfo *info = plan_make(tracer, code, globals);
                failed = info == NULL ? PyErr_Occurred() != NULL : delivery_plan(tracer, info) < 0;
                if (failed && info == NULL) {
                    tracer_fault(tracer); /* of the plan */
                    failed = 0;
                }
                if (info != NULL && info->report_start && plan_report_start(tracer, info) < 0) tracer_fault(tracer);
            }
            Py_DECREF(code);
            Py_DECREF(globals);
            PyObject *back = (PyObject *)PyFrame_GetBack((PyFrameObject *)frame);
            Py_DECREF(frame);
            frame = back;
        }
        Py_XDECREF(frame);
    }
    Py_DECREF(frames);
    return failed ? -1 : 0;
}

static PyObject *tracer_stop(Tracer *self, PyObject *unused);

static PyObject *tracer_start(Tracer *self, PyObject *Py_UNUSED(unused)) {
    if (self->running) return PyErr_Format(PyExc_RuntimeError, "this tracer is running already");
    if (self->previous_slot < 0) self->threads = 0;
    if (self->slot < 0 && identity_watch(self) < 0) return NULL;
    self->serial = ++serials;
    self->running = true;
    PyObject *on_seen = PyObject_GetAttrString(self->wanted, "on_seen");
    if (on_seen == NULL) PyErr_Clear();
    self->reports_starts = on_seen != NULL && on_seen != Py_None;
    Py_XDECREF(on_seen);
    sample_clear(self);
    if (delivery_begin(self) < 0 || tracer_plan_frames(self) < 0 || delivery_start(self) < 0) {
        PyObject *raised = PyErr_GetRaisedException();
        Py_XDECREF(tracer_stop(self, NULL));
        PyErr_SetRaisedException(raised);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *tracer_stop(Tracer *self, PyObject *Py_UNUSED(unused)) {
    if (!self->running) Py_RETURN_NONE;
    int failed = delivery_stop(self);
    failed |= record_flush(self, true);
    self->running = false;
    identity_unwatch(self);
    sample_clear(self);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* Objects keep their ids as long as one tracer knows them: this one does from now on. */
static PyObject *tracer_take_over(Tracer *self, PyObject *other) {
    if (!PyObject_TypeCheck(other, &TracerType) || self->running || self->slot >= 0 || !((Tracer *)other)->running)
        return PyErr_Format(PyExc_ValueError, "a tracer that has not begun can follow one that runs");
    Tracer *before = (Tracer *)other;
    if (identity_watch(self) < 0) return NULL;
    self->previous_slot = before->slot;
    self->previous_serial = before->serial;
    self->threads = before->threads;
    self->process = before->process;
    self->began = before->began;
    self->first_tick = ticks();
    self->first_time = tracer_now() - self->began;
    self->last_time = before->last_time;
    Py_RETURN_NONE;
}

static PyObject *tracer_flush(Tracer *self, PyObject *Py_UNUSED(unused)) {
    if (record_flush(self, true) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *tracer_emit(Tracer *self, PyObject *event) {
    if (!PyDict_Check(event)) return PyErr_Format(PyExc_TypeError, "an event is a dict");
    if (self->running && !self->broken && record_emit(self, event) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *tracer_identify(Tracer *self, PyObject *value) {
    Id id = identity_of(self, value);
    return id ? PyLong_FromUnsignedLongLong(id) : NULL;
}

static PyObject *tracer_after_fork(Tracer *self, PyObject *process) {
    long number = PyLong_AsLong(process);
    if (number == -1 && PyErr_Occurred()) return NULL;
    self->process = (int)number;
    identity_base((Id)number << 32);
    record_discard(self);
    sample_fork(self, (uint64_t)number);
    /* The thread that held the lock may not exist here. The old lock cannot be given back safely. */
    self->delivering = PyThread_allocate_lock();
    self->deliverer = 0;
    if (self->delivering == NULL) return PyErr_NoMemory();
    ThreadData *data = thread_data(self);
    if (data != NULL) thread_forget_task(data); /* asyncio has no loop that runs here */
    self->suspended_threads = data != NULL && data->suspended;
    Py_RETURN_NONE;
}

static PyObject *set_suspended(Tracer *self, bool suspended) {
    ThreadData *data = thread_data(self);
    if (data != NULL && data->suspended != suspended) {
        data->suspended = suspended;
        self->suspended_threads += suspended ? 1 : -1;
    }
    Py_RETURN_NONE;
}

static PyObject *tracer_suspend(Tracer *self, PyObject *Py_UNUSED(unused)) { return set_suspended(self, true); }
static PyObject *tracer_resume(Tracer *self, PyObject *Py_UNUSED(unused)) { return set_suspended(self, false); }

/* ---- samples --------------------------------------------------------------------------------------------------------------- */

/* Nanoseconds, about: that the interpreter takes to call us, and that an instruction takes longer because it cannot be
   specialised. */
#define PER_CALLBACK 20
#define PER_SLOW 45

static PyObject *tracer_sample(Tracer *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"group", "rate", "budget", NULL};
    long number;
    double rate;
    long long budget = -1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ld|L:sample", names, &number, &rate, &budget)) return NULL;
    Group *group = sample_group(self, number);
    if (group == NULL || sample_set(self, group, rate, budget) < 0) return NULL;
    Py_RETURN_NONE;
}

static Group *group_of(Tracer *self, PyObject *number) {
    long value = PyLong_AsLong(number);
    return value == -1 && PyErr_Occurred() ? NULL : sample_group(self, value);
}

static PyObject *tracer_samples(Tracer *self, PyObject *number) {
    Group *group = group_of(self, number);
    if (group == NULL) return NULL;
    return Py_BuildValue("KKL", (unsigned long long)group->born, (unsigned long long)group->taken, (long long)group->alive);
}

static PyObject *tracer_release(Tracer *self, PyObject *number) {
    Group *group = group_of(self, number);
    if (group == NULL) return NULL;
    sample_release(self, group);
    Py_RETURN_NONE;
}

static PyObject *tracer_seed(Tracer *self, PyObject *number) {
    unsigned long long seed = PyLong_AsUnsignedLongLongMask(number);
    if (PyErr_Occurred()) return NULL;
    sample_seed(self, seed);
    Py_RETURN_NONE;
}

static PyObject *tracer_rearm(Tracer *self, PyObject *Py_UNUSED(unused)) {
    if (!self->reports_starts) Py_RETURN_NONE;
    for (CodeInfo *info = self->infos; info != NULL; info = info->after) {
        if (!info->own || info->report_start) continue;
        info->report_start = true;
        if (self->running && delivery_rearm(self, info) < 0) return NULL;
    }
    Py_RETURN_NONE;
}

static uint64_t callbacks(const Tracer *self) { return self->callbacks + self->timing_period - self->until_timed; }

static PyObject *get_callbacks(Tracer *self, void *Py_UNUSED(unused)) { return PyLong_FromUnsignedLongLong(callbacks(self)); }

static PyObject *get_cost(Tracer *self, void *Py_UNUSED(unused)) {
    measure_ticks(self);
    double nanoseconds = (double)self->measured + self->timed_ticks * self->tick + (double)callbacks(self) * PER_CALLBACK +
                         (double)self->slow_callbacks * PER_SLOW;
    return PyFloat_FromDouble(nanoseconds * 1e-9);
}

/* ---- the learner ----------------------------------------------------------------------------------------------------------- */

static PyObject *get_learner(Tracer *self, void *Py_UNUSED(unused)) { return Py_NewRef(self->learner ? self->learner : Py_None); }
static PyObject *get_learns(Tracer *self, void *Py_UNUSED(unused)) { return PyBool_FromLong(self->window != NULL); }

/* A learner whose window is not ours gets events like everybody else. */
static int take_learner(Tracer *self, PyObject *learner) {
    PyObject *window = PyObject_GetAttrString(learner, "window");
    if (window == NULL) return -1;
    if (PyObject_TypeCheck(window, &WindowType)) {
        plan_forget_numbers(self);
        Py_XSETREF(self->learner, Py_NewRef(learner));
        Py_XSETREF(self->window, (Window *)Py_NewRef(window));
    }
    Py_DECREF(window);
    return 0;
}

static int set_learner(Tracer *self, PyObject *learner, void *Py_UNUSED(unused)) {
    if (learner != NULL && self->window != NULL) return take_learner(self, learner);
    return failed_with(PyExc_AttributeError, "a tracer has a learner from the beginning, or never");
}

/* ---- messages -------------------------------------------------------------------------------------------------------------- */

static PyObject *get_message_cache(Tracer *self, void *Py_UNUSED(unused)) { return Py_NewRef(self->message_cache ? (PyObject *)self->message_cache : Py_None); }

static int set_message_cache(Tracer *self, PyObject *cache, void *Py_UNUSED(unused)) {
    if (cache == NULL || !PyObject_TypeCheck(cache, &MessageCacheType))
        return failed_with(PyExc_TypeError, "message_cache must be a MessageCache");
    Py_XSETREF(self->message_cache, (MessageCache *)Py_NewRef(cache));
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------------------------------------- */

static PyObject *tracer_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"wanted", "deliver", "flush_at", "synchronous", "gone", "limit", "began", "learner", NULL};
    PyObject *wanted, *deliver, *learner = Py_None;
    Py_ssize_t flush_at = 4096, limit = 0;
    int synchronous = 0, gone = 0;
    double began = -1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|$nppndO:Tracer", names, &wanted, &deliver, &flush_at, &synchronous,
                                     &gone, &limit, &began, &learner))
        return NULL;
    if (identity_setup() < 0 || plan_setup() < 0 || delivery_setup() < 0) return NULL;
    pending_setup();
    record_setup();
    Tracer *self = (Tracer *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->wanted = Py_NewRef(wanted);
    self->deliver = Py_NewRef(deliver);
    self->flush_at = flush_at < 1 ? 1 : flush_at;
    self->limit = limit;
    self->synchronous = synchronous;
    self->gone = gone;
    self->buffers = !synchronous && !limit;
    self->slot = self->previous_slot = self->tool = self->second_tool = -1;
    self->timing_period = self->until_timed = 64;
    self->steps_off = synchronous;
    self->by_place = self->steps_off ? ~UINT64_C(0) : 0;
    self->began = began < 0 ? tracer_now() : (int64_t)(began * 1e9);
    self->first_tick = ticks();
    self->first_time = tracer_now() - self->began;
    self->tick = 1;
    self->delivering = PyThread_allocate_lock();
    if (self->delivering == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (learner != Py_None && take_learner(self, learner) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static int tracer_traverse(Tracer *self, visitproc visit, void *arg) {
    Py_VISIT(self->wanted);
    Py_VISIT(self->deliver);
    Py_VISIT(self->fault);
    Py_VISIT(self->learner);
    Py_VISIT(self->window);
    Py_VISIT(self->message_cache);
    return 0;
}

static int tracer_clear(Tracer *self) {
    Py_CLEAR(self->wanted);
    Py_CLEAR(self->deliver);
    Py_CLEAR(self->fault);
    Py_CLEAR(self->learner);
    Py_CLEAR(self->window);
    Py_CLEAR(self->message_cache);
    return 0;
}

static void tracer_dealloc(Tracer *self) {
    PyObject_GC_UnTrack(self);
    if (self->running) {
        delivery_stop(self);
        PyErr_Clear();
    }
    identity_unwatch(self);
    record_discard(self);
    plan_forget(self);
    sample_forget(self);
    for (int i = 0; i < self->step_count; i++) Py_CLEAR(self->step_names[i]);
    Py_CLEAR(self->get_loop);
    Py_CLEAR(self->get_task);
    Py_CLEAR(self->running_tasks);
    Py_CLEAR(self->task_switches);
    Py_CLEAR(self->generator_payloads);
    Py_CLEAR(self->generator_tokens);
    tracer_clear(self);
    if (self->delivering != NULL) PyThread_free_lock(self->delivering);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* ---- a call on an empty stack ------------------------------------------------------------------------------------------- */

/* Hides the frames below, and frees the whole recursion depth: a program that Lawful runs looks at its stack, counts frames for
   warnings, and recurses as far as it can. cli/run_host.py calls it. tests/sources/python/test_tracer_unseen.py tests it. */
PyObject *call_without_frames(PyObject *Py_UNUSED(module), PyObject *callable) {
    PyThreadState *thread = PyThreadState_Get();
    RunFrame **current = frame_slot(thread), *below = *current;
    Depth depth = frame_depth(thread, EMPTY_STACK_DEPTH);
    *current = NULL;
    PyObject *result = PyObject_CallNoArgs(callable);
    *frame_slot(thread) = below;
    frame_depth(thread, depth);
    return result;
}

/* ---- the type ------------------------------------------------------------------------------------------------------------ */

static PyObject *get_name(Tracer *Py_UNUSED(self), void *Py_UNUSED(unused)) { return PyUnicode_FromString("monitoring"); }
static PyObject *get_events(Tracer *self, void *Py_UNUSED(unused)) { return PyLong_FromUnsignedLongLong(self->taken + (uint64_t)self->count); }

static PyMethodDef methods[] = {
    {"start", (PyCFunction)tracer_start, METH_NOARGS, "start()\n--\n\nWatch all threads."},
    {"stop", (PyCFunction)tracer_stop, METH_NOARGS, "stop()\n--\n\nLeave the interpreter as it was."},
    {"take_over", (PyCFunction)tracer_take_over, METH_O, "take_over(other)\n--\n\nGo on with the ids of objects and threads of another one."},
    {"flush", (PyCFunction)tracer_flush, METH_NOARGS, "flush()\n--\n\nDeliver the events gathered so far."},
    {"emit", (PyCFunction)tracer_emit, METH_O, "emit(event)\n--\n\nPut an event of one's own into the stream."},
    {"identify", (PyCFunction)tracer_identify, METH_O, "identify(value)\n--\n\nThe id of an object."},
    {"sample", (PyCFunction)(void (*)(void))tracer_sample, METH_VARARGS | METH_KEYWORDS,
     "sample(group, rate, budget=-1)\n--\n\nSet the share of a group's objects that is reported."},
    {"samples", (PyCFunction)tracer_samples, METH_O, "samples(group)\n--\n\nBorn, taken and alive."},
    {"release", (PyCFunction)tracer_release, METH_O, "release(group)\n--\n\nNone of its objects is a sample any more."},
    {"seed", (PyCFunction)tracer_seed, METH_O, "seed(number)\n--\n\nThe coins begin anew."},
    {"rearm", (PyCFunction)tracer_rearm, METH_NOARGS, "rearm()\n--\n\nTell of all own code that starts, once more."},
    {"suspend", (PyCFunction)tracer_suspend, METH_NOARGS, "suspend()\n--\n\nThis thread does Lawful's own work now."},
    {"resume", (PyCFunction)tracer_resume, METH_NOARGS, "resume()\n--\n\nIt does the program's again."},
    {"after_fork", (PyCFunction)tracer_after_fork, METH_O, "after_fork(process)\n--\n\nGo on in a child process."},
    {NULL, NULL, 0, NULL},
};

static PyObject *get_flush_at(Tracer *self, void *Py_UNUSED(unused)) { return PyLong_FromSsize_t(self->flush_at); }
static int set_flush_at(Tracer *self, PyObject *value, void *Py_UNUSED(unused)) {
    Py_ssize_t number = value ? PyLong_AsSsize_t(value) : -1;
    if (number == -1 && PyErr_Occurred()) return -1;
    self->flush_at = number < 1 ? 1 : number;
    return 0;
}

static PyMemberDef members[] = {
    {"lazy_events", Py_T_BOOL, offsetof(Tracer, lazy_events), 0, "Are events delivered as objects that make their dicts when asked?"},
    {"fault", _Py_T_OBJECT, offsetof(Tracer, fault), Py_READONLY, "What stopped it, if something inside Lawful failed."},
    {"dropped", Py_T_ULONGLONG, offsetof(Tracer, dropped), Py_READONLY, "Events that found the buffer full."},
    {"pending", Py_T_PYSSIZET, offsetof(Tracer, count), Py_READONLY, "How many are not delivered yet."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"flush_at", (getter)get_flush_at, (setter)set_flush_at, "How many events are gathered before they are delivered.", NULL},
    {"name", (getter)get_name, NULL, "Which core this is.", NULL},
    {"events", (getter)get_events, NULL, "How many there were.", NULL},
    {"callbacks", (getter)get_callbacks, NULL, "How often the interpreter has called the tracer.", NULL},
    {"cost", (getter)get_cost, NULL, "Seconds that the watching took, about.", NULL},
    {"learner", (getter)get_learner, (setter)set_learner, "Who gives numbers to names and places. Set: take its window anew.", NULL},
    {"message_cache", (getter)get_message_cache, (setter)set_message_cache, "The cache of messages in queues, or None.", NULL},
    {"learns", (getter)get_learns, NULL, "Do events for the learner go to its window, and not to `deliver`?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject TracerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Tracer",
    .tp_basicsize = sizeof(Tracer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Tracer(wanted, deliver, *, flush_at=4096, synchronous=False, gone=False, limit=0, began=-1, learner=None)\n--\n\n"
              "Makes events out of what the program does.",
    .tp_new = tracer_new,
    .tp_dealloc = (destructor)tracer_dealloc,
    .tp_traverse = (traverseproc)tracer_traverse,
    .tp_clear = (inquiry)tracer_clear,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = properties,
};

/* asyncio's tasks: which one runs in this thread, its id, its name and its coroutine, with as little Python code as possible.
   record.c asks for each event in an asyncio program, and messages/ for each message.
   tests/sources/python/test_tracer_tasks.py runs on both cores. */
#include "tracer/tasks.h"

/* ---- which one runs --------------------------------------------------------------------------------------------------- */

/* Where asyncio keeps the tasks that run, by their loops; a new reference, or NULL if that is not known. */
static PyObject *running_tasks(PyObject *asyncio) {
    PyObject *tasks = PyObject_GetAttrString(asyncio, "tasks");
    PyObject *running = tasks ? PyObject_GetAttrString(tasks, "_current_tasks") : NULL;
    Py_XDECREF(tasks);
    if (running != NULL && !PyDict_CheckExact(running)) Py_CLEAR(running);
    PyErr_Clear();
    return running;
}

/* false: it is not there yet. */
static bool meet_asyncio(Tracer *tracer) {
    PyObject *modules = PyImport_GetModuleDict(), *asyncio = PyDict_GetItemString(modules, "asyncio");
    if (asyncio != NULL) {
        tracer->get_loop = PyObject_GetAttrString(asyncio, "_get_running_loop");
        tracer->get_task = PyObject_GetAttrString(asyncio, "current_task");
        if (tracer->get_loop == NULL || tracer->get_task == NULL) {
            PyErr_Clear(); /* it is still being imported */
            Py_CLEAR(tracer->get_loop);
            Py_CLEAR(tracer->get_task);
        }
    }
    if (tracer->get_loop == NULL) {
        Py_XSETREF(tracer->task_switches, asyncio == NULL ? Py_NewRef(modules) : NULL);
        return false;
    }
    tracer->running_tasks = running_tasks(asyncio);
    /* Only the function that is made in C leaves a mark. */
    bool known = tracer->running_tasks != NULL && PyCFunction_CheckExact(tracer->get_loop);
    Py_XSETREF(tracer->task_switches, known ? Py_NewRef(tracer->running_tasks) : NULL);
    return true;
}

/* The loop that runs in this thread, a new reference, or NULL. It is not asked for again as long as that must be the same:
   some versions ask the system for the number of the process each time. */
static PyObject *loop_here(Tracer *tracer) {
    ThreadData *thread = tracer->task_switches ? thread_data(tracer) : NULL;
    TaskCache *task_cache = thread ? thread_task_cache(thread) : NULL;
    uint64_t mark = loop_mark(PyThreadState_Get());
    if (task_cache != NULL && task_cache->of_loop == mark) return Py_XNewRef(task_cache->loop);
    PyObject *loop = PyObject_CallNoArgs(tracer->get_loop);
    if (loop == Py_None) Py_CLEAR(loop);
    if (task_cache != NULL) {
        task_cache->loop = loop;
        task_cache->of_loop = mark;
    }
    return loop;
}

PyObject *tasks_current(Tracer *tracer) {
    if (tracer->get_loop == NULL && !meet_asyncio(tracer)) return NULL;
    PyObject *loop = loop_here(tracer), *running = tracer->running_tasks, *task = NULL;
    if (loop != NULL && running != NULL) {
        task = dict_newest(running, loop);
        task = Py_XNewRef(task ? task : PyDict_GetItemWithError(running, loop));
    } else if (loop != NULL) {
        task = PyObject_CallOneArg(tracer->get_task, loop);
    }
    if (task == Py_None) Py_CLEAR(task);
    Py_XDECREF(loop);
    if (PyErr_Occurred()) PyErr_Clear();
    return task;
}

Id tasks_here(Tracer *tracer) {
    ThreadData *thread = thread_data(tracer);
    if (thread != NULL && task_is_same(tracer, thread->task_cache)) return thread->task_cache->task;
    PyObject *task = tasks_current(tracer);
    uint64_t of_task = dict_version(tracer->task_switches), of_loop = loop_mark(PyThreadState_Get());
    Id id = task ? identity_of(tracer, task) : 0;
    Py_XDECREF(task);
    if (PyErr_Occurred()) PyErr_Clear();
    thread = thread_data(tracer); /* another one may have stopped the tracer meanwhile */
    TaskCache *task_cache = thread ? thread_task_cache(thread) : NULL;
    if (task_cache == NULL) return id;
    if (task_cache->task != id) task_cache->noted = 0;
    task_cache->task = id;
    task_cache->of_task = of_task;
    task_cache->of_loop = of_loop;
    return id;
}

/* ---- what a task made in C has ---------------------------------------------------------------------------------------- */

/* Where tasks of this class keep what a method of theirs returns. Nobody says where that is, but a task in which it lies at one
   place only shows it. A name that nobody has asked for is still a number there: to ask for it would make a text of it. */
typedef struct {
    PyTypeObject *type; /* a strong reference, or NULL */
    Py_ssize_t offset;  /* 0: nobody knows */
} Field;

static Field names, coroutines;

static Py_ssize_t find(PyObject *task, PyObject *value) {
    Py_ssize_t found = 0;
    for (Py_ssize_t at = sizeof(PyObject); at + (Py_ssize_t)sizeof(PyObject *) <= Py_TYPE(task)->tp_basicsize; at += sizeof(PyObject *)) {
        if (*(PyObject **)((char *)task + at) != value) continue;
        if (found) return 0;
        found = at;
    }
    return found;
}

/* Is the method the class's own, and made in C? */
static bool is_own(PyTypeObject *type, PyObject *method) {
    PyObject *found = _PyType_Lookup(type, method);
    return found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type) && PyDescr_TYPE(found) == type;
}

/* What lies there, borrowed; NULL: it must be asked for. */
static PyObject *look(const Field *field, PyObject *task) {
    if (field->type != Py_TYPE(task) || field->offset == 0) return NULL;
    return *(PyObject **)((char *)task + field->offset);
}

static PyObject *ask(Field *field, PyObject *task, PyObject *method) {
    PyObject *value = PyObject_CallMethodNoArgs(task, method);
    PyTypeObject *type = Py_TYPE(task);
    if (value == NULL || (field->type == type && field->offset) || !is_own(type, method)) return value;
    Py_XSETREF(field->type, (PyTypeObject *)Py_NewRef((PyObject *)type));
    field->offset = value == Py_None ? 0 : find(task, value);
    return value;
}

PyObject *tasks_coroutine(PyObject *task) {
    PyObject *found = look(&coroutines, task);
    return found != NULL ? Py_NewRef(found) : ask(&coroutines, task, text_get_coro);
}

PyObject *tasks_name(PyObject *task) {
    PyObject *found = look(&names, task);
    if (found != NULL && PyUnicode_CheckExact(found)) return Py_NewRef(found);
    if (found != NULL && PyLong_CheckExact(found)) return Py_NewRef(Py_None);
    return ask(&names, task, text_get_name);
}

/* ---- ids ---------------------------------------------------------------------------------------------------------------- */

/* Many a task sends one message and is gone. To be told of its end costs more than to see, when another one lies where it was, that it
   is gone: a weak reference says so. Open addressing, by where tasks lie. */
typedef struct {
    PyObject *task; /* only compared; NULL: free */
    PyObject *weak; /* a strong reference */
    Id id;
} TaskId;

static TaskId *task_ids;
static size_t task_id_mask, task_id_count;

static bool is_of(const TaskId *brief, const PyObject *task) { return ((PyWeakReference *)brief->weak)->wr_object == task; }

/* Where a task is, or could be. */
static TaskId *task_id_at(const PyObject *task) {
    size_t i = identity_slot(task, task_id_mask);
    while (task_ids[i].task != NULL && task_ids[i].task != task) i = (i + 1) & task_id_mask;
    return &task_ids[i];
}

/* Room for more, and those that are gone are thrown away. */
static int task_id_room(void) {
    if (task_ids != NULL && 2 * (task_id_count + 1) <= task_id_mask + 1) return 0;
    TaskId *old = task_ids;
    size_t size = old ? task_id_mask + 1 : 0, alive = 0;
    for (size_t i = 0; i < size; i++) alive += old[i].task != NULL && is_of(&old[i], old[i].task);
    size_t room = 256;
    while (room < 4 * (alive + 1)) room *= 2;
    TaskId *made = PyMem_Calloc(room, sizeof(TaskId));
    if (made == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    task_ids = made;
    task_id_mask = room - 1;
    task_id_count = alive;
    for (size_t i = 0; i < size; i++) {
        if (old[i].task == NULL) continue;
        if (is_of(&old[i], old[i].task)) *task_id_at(old[i].task) = old[i];
        else Py_DECREF(old[i].weak);
    }
    PyMem_Free(old);
    return 0;
}

Id identity_of_task(const PyObject *object) {
    const TaskId *brief = task_ids ? task_id_at(object) : NULL;
    return brief != NULL && brief->task != NULL && is_of(brief, object) ? brief->id : 0;
}

void identity_forget_tasks(void) {
    TaskId *old = task_ids;
    size_t size = old ? task_id_mask + 1 : 0;
    task_ids = NULL;
    task_id_mask = task_id_count = 0;
    for (size_t i = 0; i < size; i++) Py_XDECREF(old[i].weak);
    PyMem_Free(old);
}

/* Objects of classes made in Python must not get a weak reference: it would show. */
Id tasks_id(Tracer *tracer, PyObject *task) {
    Id id = identity_known(task);
    if (id == 0) id = identity_of_task(task);
    if (id) return id;
    if (tracer->gone || coroutines.type != Py_TYPE(task)) return identity_of(tracer, task);
    PyObject *weak = PyWeakref_NewRef(task, NULL);
    if (weak == NULL || task_id_room() < 0) {
        Py_XDECREF(weak);
        return 0;
    }
    TaskId *brief = task_id_at(task);
    PyObject *before = brief->weak; /* of one that is gone */
    task_id_count += brief->task == NULL;
    *brief = (TaskId){task, weak, identity_next()};
    id = brief->id;
    Py_XDECREF(before);
    return id;
}

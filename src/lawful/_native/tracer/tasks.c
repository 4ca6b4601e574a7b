/* asyncio's tasks: which one runs in this thread, and its id, with as little Python code as possible. record.c asks for each
   event in an asyncio program, and messages/ for each message. tests/sources/python/test_tracer_tasks.py runs on both cores. */
#include "tracer/tracer.h"

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
        task = Py_XNewRef(PyDict_GetItemWithError(running, loop));
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
    thread = thread_data(tracer); /* another thread may have stopped the tracer meanwhile */
    TaskCache *task_cache = thread ? thread_task_cache(thread) : NULL;
    if (task_cache == NULL) return id;
    if (task_cache->task != id) task_cache->noted = 0;
    task_cache->task = id;
    task_cache->of_task = of_task;
    task_cache->of_loop = of_loop;
    return id;
}

/* asyncio's tasks (tasks.c). */
#ifndef LAWFUL_TASKS_H
#define LAWFUL_TASKS_H

#include "tracer/tracer.h"

PyObject *tasks_current(Tracer *tracer);     /* that runs in this thread, a new reference, or NULL without an exception */
Id tasks_here(Tracer *tracer);               /* its id, or 0 without an exception */
/* The id of a task that may be gone soon: the same as identity_of gives, but nobody is told of its end. 0 with an exception set. */
Id tasks_id(Tracer *tracer, PyObject *task);
PyObject *tasks_coroutine(PyObject *task);   /* a new reference, or NULL with an exception */
/* Its name, a new reference; NULL with an exception; None: it has the one that asyncio gives, as `Task-7`. */
PyObject *tasks_name(PyObject *task);

#endif

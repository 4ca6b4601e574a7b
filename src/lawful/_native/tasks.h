/* asyncio's tasks, without asking more of it than need be (tasks.c). */
#ifndef LAWFUL_TASKS_H
#define LAWFUL_TASKS_H

#include "tracer.h"

#ifndef LAWFUL_NO_TRACER

PyObject *tasks_current(Tracer *tracer);     /* as record_task */
PyObject *tasks_coroutine(PyObject *task);   /* a new reference, or NULL with an exception */
/* Its name, a new reference; NULL with an exception; None: it has the one that asyncio gives, as `Task-7`. */
PyObject *tasks_name(PyObject *task);

#endif
#endif

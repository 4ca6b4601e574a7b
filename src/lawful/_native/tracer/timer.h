/* When threads of ours wake up (timer.c). */
#ifndef LAWFUL_TIMER_H
#define LAWFUL_TIMER_H

#include <Python.h>

extern PyTypeObject TimerType;

#endif

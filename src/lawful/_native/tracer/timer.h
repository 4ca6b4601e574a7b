/* When threads of ours wake up (timer.c). */
#ifndef LAWFUL_ALARM_H
#define LAWFUL_ALARM_H

#include <Python.h>

extern PyTypeObject AlarmType;

#endif

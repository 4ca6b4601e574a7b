/* The filter of library code (library_filter.c). */
#ifndef LAWFUL_LIBRARY_FILTER_H
#define LAWFUL_LIBRARY_FILTER_H

#include "rml/rml.h"

extern PyTypeObject LibraryFilterType;

/* Is it known, without asking Python, that a function that starts for the first time is of no interest? Then that is noted. */
bool library_filter_dismisses(PyObject *library_filter, PyCodeObject *code, PyObject *module);

#endif

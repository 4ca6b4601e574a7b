/* Code of libraries in which nothing can be seen (library_filter.c). */
#ifndef LAWFUL_SIEVE_H
#define LAWFUL_SIEVE_H

#include "rml/rml.h"

extern PyTypeObject SieveType;

/* Is it known, without asking Python, that a function that starts for the first time is of no interest? Then that is noted. */
bool sieve_dismisses(PyObject *sieve, PyCodeObject *code, PyObject *module);

#endif

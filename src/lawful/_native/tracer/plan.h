/* What the files have in common that say what is known about code objects, callees and places.

   plan.c       code objects, and Python that is asked
   callee.c     callees, in a hash table by what is called and the type of the receiver
   place.c      places in the source, as numbers */
#ifndef LAWFUL_PLAN_H
#define LAWFUL_PLAN_H

#include "tracer/tracer.h"

/* Asks `WatchPlanner`. The further argument may be NULL. */
PyObject *plan_ask_wanted(Tracer *tracer, PyObject *method, PyObject *subject, PyObject *further);

int callee_setup(void);
/* From a model.Callee or None. The receiver is the type of one, or NULL. */
Callee *callee_read(Tracer *tracer, PyObject *answer, PyTypeObject *receiver);
void callee_forget(Tracer *tracer);   /* all of them */

void place_forget(Tracer *tracer);    /* all of them */

/* For one more. -1: there is none. */
static inline int make_room(void **items, uint32_t *room, uint32_t count, size_t size) {
    if (count < *room) return 0;
    uint32_t more = *room ? 2 * *room : 64;
    void *grown = PyMem_RawRealloc(*items, more * size);
    if (grown == NULL) return -1;
    *items = grown;
    *room = more;
    return 0;
}

#endif

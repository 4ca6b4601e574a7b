/* Whether names still stand for what they stood for (name_resolution.c). */
#ifndef LAWFUL_STANDING_H
#define LAWFUL_STANDING_H

extern PyTypeObject VigilType;

/* Is it certain that nothing has changed since it was last asked? */
bool vigil_same(PyObject *vigil);

#endif

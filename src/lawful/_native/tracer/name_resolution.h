/* Whether names still stand for what they stood for (name_resolution.c). */
#ifndef LAWFUL_NAME_RESOLUTION_H
#define LAWFUL_NAME_RESOLUTION_H

extern PyTypeObject ChangeWatchType;

/* Is it certain that nothing has changed since it was last asked? */
bool change_watch_unchanged(PyObject *change_watch);

#endif

/* Notes that can be left on code objects: the functions for it have got other names. */
#ifndef LAWFUL_NOTES_H
#define LAWFUL_NOTES_H

#include <Python.h>

#if PY_VERSION_HEX >= 0x030C0000
#  define get_extra PyUnstable_Code_GetExtra
#  define set_extra PyUnstable_Code_SetExtra
#  define request_extra PyUnstable_Eval_RequestCodeExtraIndex
#else
#  define get_extra _PyCode_GetExtra
#  define set_extra _PyCode_SetExtra
#  define request_extra _PyEval_RequestCodeExtraIndex
#endif

#endif

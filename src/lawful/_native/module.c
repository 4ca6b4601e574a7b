/* The module lawful._native._core. */
#include "rml/rml.h"
#include "tracer/timer.h"
#include "automata/automata.h"
#include "engine/dispatch.h"
#include "tracer/lazy_event.h"
#include "messages/inline_check.h"
#include "messages/messages.h"
#include "grammar/grammar.h"
#include "invariants/invariants.h"
#include "learner/learner.h"
#include "tracer/json_lines.h"
#include "tracer/library_filter.h"
#include "tracer/sites.h"
#include "tracer/name_resolution.h"
#include "tracer/tracer.h"

static PyObject *abi(PyObject *module, PyObject *unused) { return PyLong_FromLong(ABI); }

#ifndef LAWFUL_NO_TRACER
PyObject *call_bare(PyObject *module, PyObject *callable);
#endif

static PyMethodDef methods[] = {
#ifndef LAWFUL_NO_TRACER
    {"call_bare", call_bare, METH_O,
     "call_bare(callable)\n--\n\nCall a function with an empty stack below it, and the whole depth of recursion."},
#endif
    AUTOMATA_METHODS
    DISPATCH_METHODS
    LINES_METHODS
    SITES_METHODS
    {"abi", abi, METH_NOARGS, "abi()\n--\n\nThe version of what Python and C expect of each other."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_core", .m_doc = "The compiled core of Lawful.", .m_size = -1, .m_methods = methods,
};

/* The tracer's delivery, or the reason why there is none, and the type. */
static int add_tracer(PyObject *module) {
#if defined(LAWFUL_NO_TRACER)
    return PyModule_AddStringConstant(module, "no_tracer", LAWFUL_NO_TRACER);
#else
    PyObject *nothing = delivery_nothing();
    int failed = PyModule_AddObjectRef(module, "nothing", nothing);
    Py_XDECREF(nothing);
    if (failed < 0 || PyModule_AddStringConstant(module, "tracer_core", delivery_name) < 0) return -1;
    if (PyModule_AddType(module, &QueueReaderType) < 0 || PyModule_AddType(module, &WayType) < 0) return -1;
    return PyModule_AddType(module, &PostType) < 0 ? -1 : PyModule_AddType(module, &TracerType);
#endif
}

PyMODINIT_FUNC PyInit__core(void) {
    if (PyType_Ready(&DecisionTreesType) < 0 || PyType_Ready(&GrammarGroupType) < 0 || PyType_Ready(&TrackedObjectType) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || PyModule_AddType(module, &RmlMachineType) < 0 || PyModule_AddType(module, &LawQueueType) < 0 ||
        PyModule_AddType(module, &WindowType) < 0 || PyModule_AddType(module, &InvariantTrackerType) < 0 ||
        PyModule_AddType(module, &GrammarTablesType) < 0 || PyModule_AddType(module, &VigilType) < 0 ||
        PyModule_AddType(module, &SieveType) < 0 || PyModule_AddType(module, &AlarmType) < 0 ||
        PyModule_AddType(module, &GrammarMachineType) < 0 || PyModule_AddType(module, &CourtType) < 0 ||
        PyModule_AddType(module, &LetterType) < 0 || PyModule_AddType(module, &BriefType) < 0 || add_tracer(module) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}

/* The module lawful._native._core: its functions and types. lawful/core.py loads it, and _core.pyi declares what it has.

   Where setup.py leaves the C tracer out (LAWFUL_TRACER is not defined), the module has none of the parts that belong to it:
   Tracer, message types, walk_code, call_without_frames. Their Python twins are used then.
   tests/test_core.py tests the choice. */
#include "rml/rml.h"

#include "automata/automata.h"
#include "engine/dispatch.h"
#include "events/fields.h"
#include "events/lazy_event.h"
#include "grammar/grammar.h"
#include "invariants/invariants.h"
#include "learner/learner.h"
#include "messages/inline_check.h"
#include "tracer/change_watch.h"
#ifdef LAWFUL_TRACER
#  include "messages/messages.h"
#  include "tracer/tracer.h"
#endif

static PyObject *abi(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) { return PyLong_FromLong(ABI); }

static PyMethodDef methods[] = {
#ifdef LAWFUL_TRACER
    TRACER_METHODS
#endif
    AUTOMATA_METHODS
    DISPATCH_METHODS
    JSON_LINES_METHODS
    {"abi", abi, METH_NOARGS, "abi()\n--\n\nThe version of what Python and C expect of each other."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_core", .m_doc = "The compiled core of Lawful.", .m_size = -1, .m_methods = methods,
};

static PyTypeObject *const types[] = {
    &RmlMachineType, &LawQueueType, &WindowType, &InvariantTrackerType, &GrammarTablesType, &GrammarMachineType, &InlineCheckType, &DeferredEventType, &LazyEventType, &ChangeWatchType,
#ifdef LAWFUL_TRACER
    &TracerType, &QueueReaderType, &RouteType, &MessageCacheType,
#endif
};

static int fill(PyObject *module) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (PyModule_AddType(module, types[i]) < 0) return -1;
#ifdef LAWFUL_TRACER
    PyObject *callback = delivery_empty_callback();
    int failed = PyModule_AddObjectRef(module, "empty_callback", callback);
    Py_XDECREF(callback);
    return failed;
#else
    return 0;
#endif
}

PyMODINIT_FUNC PyInit__core(void) {
    if (PyType_Ready(&DecisionTreesType) < 0 || PyType_Ready(&GrammarGroupType) < 0 || PyType_Ready(&TrackedObjectType) < 0) return NULL;
    PyObject *module = fields_setup() < 0 ? NULL : PyModule_Create(&definition);
    if (module != NULL && fill(module) < 0) Py_CLEAR(module);
    return module;
}

/* The names of event fields, of event kinds and of the Python methods that C calls, as interned strings: made once when the
   module is loaded (module.c), used by events/, tracer/, messages/, grammar/ and engine/. The names are those of docs/traces.md. */
#ifndef LAWFUL_FIELDS_H
#define LAWFUL_FIELDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define EACH_TEXT(TEXT)                                                                                                \
    TEXT(event, "event") TEXT(name, "name") TEXT(class, "class") TEXT(targetId, "targetId") TEXT(target, "target")     \
    TEXT(args, "args") TEXT(argIds, "argIds") TEXT(kwargs, "kwargs") TEXT(kwargIds, "kwargIds") TEXT(res, "res")       \
    TEXT(resultId, "resultId") TEXT(exception, "exception") TEXT(excId, "excId") TEXT(file, "file") TEXT(line, "line") \
    TEXT(thread, "thread") TEXT(task, "task") TEXT(time, "time") TEXT(process, "process")                              \
    TEXT(group, "group") TEXT(groupId, "groupId") TEXT(callerId, "callerId") TEXT(reply, "reply") TEXT(send, "send")   \
    TEXT(receive, "receive")                                                                                           \
    /* methods of `WatchPlanner` and `Learner` in tracer_protocol.py */                                                \
    TEXT(plan, "plan") TEXT(callee, "callee") TEXT(receiver_callee, "receiver_callee") TEXT(operation, "operation")    \
    TEXT(field, "field") TEXT(class_name, "class_name") TEXT(on_seen, "on_seen") TEXT(on_call, "on_call")              \
    TEXT(on_return, "on_return") TEXT(word, "word") TEXT(site, "site")                                                 \
    /* and others */                                                                                                   \
    TEXT(call, "__call__") TEXT(del, "__del__") TEXT(dunder_name, "__name__") TEXT(get_coro, "get_coro")               \
    TEXT(get_name, "get_name") TEXT(self, "self") TEXT(alias, "alias") TEXT(maxsize, "_maxsize")                       \
    TEXT(inner_queue, "_queue") TEXT(queue, "queue") TEXT(find, "find")

#define DECLARE_TEXT(name, text) extern PyObject *text_##name;
EACH_TEXT(DECLARE_TEXT)

int fields_setup(void);

/* Takes over the reference to the value; NULL: there is an exception. */
static inline int set_taken(PyObject *event, PyObject *key, PyObject *value) {
    int failed = value == NULL ? -1 : PyDict_SetItem(event, key, value);
    Py_XDECREF(value);
    return failed;
}

#endif

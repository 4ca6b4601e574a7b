/* Calls from one group to another, where classes or modules are groups.

   Handles a call if Python has seen one like it: the same method, called by such an object on such an object. The caller is
   looked for on the stack.
   Called by: messages.c, where a function of the program starts.
   Must match: sources/actors/group_calls.py and `Groups.current` in sources/actors/groups.py.
   Compared by: tests/sources/actors/test_group_calls.py.
   Pays because Python otherwise looks at each call: 13 instead of 225 thousand instructions for two messages. */
#include "messages/message_cache.h"
#include "tracer/probe.h"

#define DEEPEST_CALL 200 /* frames that are searched for the caller */
#define KEPT 256         /* a power of two */

/* Recently used results. All are strong references. */
struct GroupCalls {
    struct {
        PyObject *code, *type; /* entries of tables: of the code, and of the class of its object */
    } roles[KEPT];
    struct {
        PyObject *pattern;
        Id sender, target;
        Route *route;
    } routes[KEPT];
};

void group_calls_clear(MessageCache *cache) {
    struct GroupCalls *all = cache->group_calls;
    cache->group_calls = NULL;
    for (int i = 0; all != NULL && i < KEPT; i++) {
        Py_XDECREF(all->roles[i].code);
        Py_XDECREF(all->roles[i].type);
        Py_XDECREF(all->routes[i].pattern);
        Py_XDECREF(all->routes[i].route);
    }
    PyMem_Free(all);
}

/* ---- the caller --------------------------------------------------------------------------------------------------------- */

static PyObject *variable(RunFrame *frame, int index) {
    PyObject *value = frame->localsplus[index];
    return value != NULL && PyCell_Check(value) ? PyCell_GET(value) : value;
}

/* The object whose method this may be: the first argument, or a closed-over `self`; borrowed, or NULL. */
static PyObject *candidate(RunFrame *frame) {
    PyCodeObject *code = frame_code(frame);
    if (code->co_argcount) return variable(frame, 0);
    for (int i = code->co_nlocalsplus - code->co_nfreevars; i < code->co_nlocalsplus; i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
        if (name == text_self || PyUnicode_Compare(name, text_self) == 0) return variable(frame, i);
    }
    return NULL;
}

/* The entry of an object in an inner table; borrowed, or NULL. */
static PyObject *inner_entry(PyObject *table, const void *key) {
    if (table == NULL || !PyDict_CheckExact(table)) return NULL;
    PyObject *number = PyLong_FromVoidPtr((void *)key);
    PyObject *entry = number ? PyDict_GetItemWithError(table, number) : NULL;
    Py_XDECREF(number);
    return entry != NULL && PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2 && is_entry_of(entry, key) ? entry : NULL;
}

/* The role of code with such an object: None, or a tuple that begins with a kind. Borrowed; NULL: ask Python. */
static PyObject *role_of(MessageCache *cache, PyCodeObject *code, const PyTypeObject *type) {
    size_t home = ((uintptr_t)code >> 4 ^ (uintptr_t)type >> 5 ^ (uintptr_t)code >> 12) & (KEPT - 1);
    PyObject **codes = &cache->group_calls->roles[home].code, **types = &cache->group_calls->roles[home].type;
    if (*codes != NULL && is_entry_of(*codes, code) && is_entry_of(*types, type)) return PyTuple_GET_ITEM(*types, 1);
    PyObject *entry = inner_entry(cache_lookup(cache, CALLER_ROLES, (PyObject *)code), type);
    if (entry == NULL) return NULL;
    PyObject *number = PyLong_FromVoidPtr(code), *outer = number ? PyDict_GetItemWithError(cache->refs.tables[CALLER_ROLES], number) : NULL;
    Py_XDECREF(number);
    if (outer == NULL) return NULL;
    Py_XSETREF(*codes, Py_NewRef(outer));
    Py_XSETREF(*types, Py_NewRef(entry));
    return PyTuple_GET_ITEM(entry, 1);
}

enum { SOMEBODY, OBJECT, OUTSIDE, MODULE }; /* kinds of roles, as in group_calls.py */

static long kind_of(PyObject *role) { return PyTuple_CheckExact(role) ? PyLong_AsLong(PyTuple_GET_ITEM(role, 0)) : -1; }

typedef struct {
    PyObject *role;   /* borrowed */
    PyObject *object; /* the calling object, borrowed, or NULL */
    Id task;          /* 0: not in a task */
} Caller;

/* The current task; and its object, if no frame on the stack has a role. */
static bool find_task(Tracer *tracer, MessageCache *cache, Caller *caller) {
    PyObject *task = tracer->tasks ? tasks_current(tracer) : NULL;
    if (task == NULL) return true;
    bool found = (caller->task = identity_of(tracer, task)) != 0;
    if (found && caller->role == Py_None) {
        PyObject *coroutine = PyObject_CallMethodNoArgs(task, text_get_coro);
        PyGenObject *inside = coroutine != NULL && PyCoro_CheckExact(coroutine) ? (PyGenObject *)coroutine : NULL;
        found = inside != NULL && inside->gi_frame_state < FRAME_COMPLETED;
        RunFrame *frame = found ? (RunFrame *)inside->gi_iframe : NULL;
        PyObject *object = found ? candidate(frame) : NULL;
        PyObject *role = found ? role_of(cache, frame_code(frame), Py_TYPE(object ? object : Py_None)) : NULL;
        found = role != NULL;
        if (found && role != Py_None) caller->object = object;
        Py_XDECREF(coroutine);
    }
    Py_DECREF(task);
    return found;
}

static bool find_caller(Tracer *tracer, MessageCache *cache, RunFrame *frame, Caller *caller) {
    *caller = (Caller){.role = Py_None};
    frame = frame_caller(frame);
    for (int i = 0; frame != NULL && i < DEEPEST_CALL; frame = frame_caller(frame), i++) {
        PyObject *object = candidate(frame), *role = role_of(cache, frame_code(frame), Py_TYPE(object ? object : Py_None));
        if (role == NULL) return false;
        long kind = role == Py_None ? SOMEBODY : kind_of(role);
        if (kind == SOMEBODY) continue;
        caller->role = role;
        /* A function of a module may belong to no object: then its first argument is just an argument. */
        caller->object = kind == MODULE && PyTuple_GET_ITEM(role, 3) != Py_True ? NULL : object;
        break;
    }
    return find_task(tracer, cache, caller);
}

/* ---- the message --------------------------------------------------------------------------------------------------------- */

static int set_id(PyObject *header, PyObject *key, Id id) {
    return set_taken(header, key, PyLong_FromUnsignedLongLong(id));
}

enum { OF_CALLER, OF_TARGET, OF_ALL }; /* whose id a group has */

/* The header of an event, with its ids in the order that Python uses. */
static PyObject *new_head(PyObject *given, Id sender, Id target) {
    PyObject *header = PyDict_Copy(PyTuple_GET_ITEM(given, 0));
    long whose = PyLong_AsLong(PyTuple_GET_ITEM(given, 1));
    if (header == NULL) return NULL;
    if ((whose != OF_ALL && set_id(header, text_groupId, whose == OF_CALLER ? sender : target) < 0) ||
        (target && set_id(header, text_targetId, target) < 0) || (sender && set_id(header, text_callerId, sender) < 0))
        Py_CLEAR(header);
    return header;
}

/* A new reference, or NULL. */
static Route *new_route(PyObject *pattern, Id sender, Id target) {
    PyObject *given = PyTuple_GET_ITEM(pattern, 0), *headers = PyTuple_New(PyTuple_GET_SIZE(given));
    for (Py_ssize_t i = 0; headers != NULL && i < PyTuple_GET_SIZE(given); i++) {
        PyObject *header = new_head(PyTuple_GET_ITEM(given, i), sender, target);
        if (header != NULL) PyTuple_SET_ITEM(headers, i, header);
        else Py_CLEAR(headers);
    }
    if (headers == NULL) return NULL;
    return (Route *)PyObject_CallFunction((PyObject *)&RouteType, "NO()OO", headers, Py_None, PyTuple_GET_ITEM(pattern, 1),
                                        PyTuple_GET_ITEM(pattern, 2));
}

/* Borrowed, or NULL. */
static Route *route_of(MessageCache *cache, PyObject *pattern, Id sender, Id target) {
    size_t home = ((uintptr_t)pattern >> 4 ^ (size_t)sender * 31 ^ (size_t)target * 7) & (KEPT - 1);
    PyObject **known = &cache->group_calls->routes[home].pattern;
    Route **route = &cache->group_calls->routes[home].route;
    if (*known == pattern && cache->group_calls->routes[home].sender == sender && cache->group_calls->routes[home].target == target) return *route;
    Route *made = new_route(pattern, sender, target);
    if (made == NULL) return NULL;
    Py_XSETREF(*known, Py_NewRef(pattern));
    Py_XSETREF(*route, made);
    cache->group_calls->routes[home].sender = sender;
    cache->group_calls->routes[home].target = target;
    return made;
}

/* The arguments from `first` on, a new tuple; NULL: ask Python. */
static PyObject *call_arguments(RunFrame *frame, int first) {
    int count = frame_code(frame)->co_argcount;
    PyObject *values = PyTuple_New(count - first);
    for (int i = first; values != NULL && i < count; i++) {
        PyObject *value = variable(frame, i);
        if (value == NULL) Py_CLEAR(values);
        else PyTuple_SET_ITEM(values, i - first, Py_NewRef(value));
    }
    if (values != NULL && PyObject_GC_IsTracked(values)) PyObject_GC_UnTrack(values); /* it is in no reference cycle */
    return values;
}

/* The pattern of such a call: headers, inline steps and the version of the laws; borrowed; NULL: ask Python. */
static PyObject *pattern_of(MessageCache *cache, PyObject *entry_point, PyObject *role, PyObject *target) {
    PyObject *types = PyDict_GetItemWithError(PyTuple_GET_ITEM(entry_point, 1), role);
    PyObject *entry = types ? inner_entry(types, Py_TYPE(target ? target : Py_None)) : NULL;
    PyObject *pattern = entry ? PyTuple_GET_ITEM(entry, 1) : NULL;
    if (pattern == NULL || !PyTuple_CheckExact(pattern) || PyTuple_GET_SIZE(pattern) != 3) return NULL;
    return cache_is_outdated(cache, PyLong_AsUnsignedLong(PyTuple_GET_ITEM(pattern, 2))) ? NULL : pattern;
}

static int report(Tracer *tracer, MessageCache *cache, RunFrame *frame, PyObject *pattern, const Caller *caller, PyObject *target) {
    Id sender = caller->object ? identity_of(tracer, caller->object) : 0, called = target ? identity_of(tracer, target) : 0;
    Route *route = PyErr_Occurred() ? NULL : route_of(cache, pattern, sender, called);
    MessageData message = {.task = caller->task};
    if (route != NULL && route->steps != NULL) message.values = call_arguments(frame, target != NULL);
    if (message.values == NULL) return ASK_PYTHON;
    Py_INCREF(route);
    int checked = 0, flushed = 0;
    if (message_fill(tracer, cache, &message, route, message_place(tracer, frame), false)) {
        checked = message_check_inline(tracer, cache, route, &message);
        if (checked == 0 && tracer->count) {
            flushed = message_flush_soon(tracer, cache, 1);
            if (flushed > 0 && tracer->count == 0 && !tracer->broken) checked = message_check_inline(tracer, cache, route, &message);
        }
    }
    Py_DECREF(route);
    Py_DECREF(message.values);
    if (flushed < 0) return -1;
    return checked < 0 ? message_fault(tracer) : checked ? 1 : ASK_PYTHON;
}

/* Are calls of it on such objects messages, and does nobody else watch them? */
static bool is_plain(Tracer *tracer, CodeInfo *info, PyObject *first) {
    Callee *callee = first ? plan_receiver(tracer, info, Py_TYPE(first)) : info->callee;
    return callee != NULL && callee->name != NULL && callee->wants & WANT_ON_CALL && !(callee->wants & NOTHING_ELSE) &&
           callee->group == NULL;
}

static int check_call(Tracer *tracer, MessageCache *cache, CodeInfo *info, RunFrame *frame, PyObject *entry_point) {
    bool method = PyTuple_GET_ITEM(entry_point, 0) == Py_True;
    PyObject *first = info->code->co_argcount ? variable(frame, 0) : NULL, *target = method ? first : NULL;
    if ((method && first == NULL) || (first != NULL && PyType_Check(first)) || !is_plain(tracer, info, first)) return ASK_PYTHON;
    if (target != NULL && !identity_needed(target)) return ASK_PYTHON;
    if (cache->group_calls == NULL && (cache->group_calls = PyMem_Calloc(1, sizeof(struct GroupCalls))) == NULL) return ASK_PYTHON;
    Caller caller;
    if (!find_caller(tracer, cache, frame, &caller)) return ASK_PYTHON;
    long kind = caller.role == Py_None ? SOMEBODY : kind_of(caller.role);
    if (kind == OBJECT && caller.object == target) return 1; /* an object that calls itself sends no message */
    PyObject *pattern = pattern_of(cache, entry_point, caller.role, target);
    if (pattern == NULL) return ASK_PYTHON;
    if (PyTuple_GET_SIZE(PyTuple_GET_ITEM(pattern, 0)) == 0) return 1;
    Py_INCREF(pattern);
    int answer = report(tracer, cache, frame, pattern, &caller, target);
    Py_DECREF(pattern);
    return answer;
}

int group_call_start(Tracer *tracer, MessageCache *cache, CodeInfo *info, RunFrame *frame) {
    if (cache->inline_check == Py_None || cache->disabled || info->groups) return ASK_PYTHON;
    PyObject *entry_point = cache_lookup(cache, ENTRY_POINTS, (PyObject *)info->code);
    if (entry_point == NULL || !PyTuple_CheckExact(entry_point) || PyTuple_GET_SIZE(entry_point) != 2) return ASK_PYTHON;
    int answer = check_call(tracer, cache, info, frame, entry_point);
    if (answer == ASK_PYTHON && PyErr_Occurred()) PyErr_Clear(); /* Python will meet the same error */
    return answer;
}

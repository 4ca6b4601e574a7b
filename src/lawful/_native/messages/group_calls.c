/* Calls from one group to another, where classes or modules are groups: as far as Python has found out what a method is, called
   by such an object on such another one. The specification is lawful/sources/actors/group_calls.py. Who calls is looked for on the
   stack, as groups.py does it. */
#include "messages/message_cache.h"
#include "tracer/probe.h"
#include "tracer/tasks.h"

#define DEEPEST_CALL 200 /* frames among which who calls is looked for */
#define KEPT 256         /* a power of two */

static PyObject *text_self, *text_groupId, *text_targetId, *text_callerId;

static int setup(void) {
    if (text_callerId != NULL) return 0;
#define TEXT(name) if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    TEXT(self) TEXT(groupId) TEXT(targetId) TEXT(callerId)
#undef TEXT
    return 0;
}

/* What was found out last. All are strong references. */
struct Crossings {
    struct {
        PyObject *code, *type; /* entries of tables: of the code, and of the class of who may be its object */
    } sides[KEPT];
    struct {
        PyObject *pattern;
        Id sender, target;
        Way *way;
    } ways[KEPT];
};

void crossings_clear(Post *post) {
    struct Crossings *all = post->crossings;
    post->crossings = NULL;
    for (int i = 0; all != NULL && i < KEPT; i++) {
        Py_XDECREF(all->sides[i].code);
        Py_XDECREF(all->sides[i].type);
        Py_XDECREF(all->ways[i].pattern);
        Py_XDECREF(all->ways[i].way);
    }
    PyMem_Free(all);
}

/* ---- who calls ---------------------------------------------------------------------------------------------------------- */

static PyObject *variable(RunFrame *frame, int index) {
    PyObject *value = frame->localsplus[index];
    return value != NULL && PyCell_Check(value) ? PyCell_GET(value) : value;
}

/* Whose method it may be: its first argument, or a `self` that it closes over; borrowed, or NULL. */
static PyObject *candidate(RunFrame *frame) {
    PyCodeObject *code = frame_code(frame);
    if (code->co_argcount) return variable(frame, 0);
    for (int i = code->co_nlocalsplus - code->co_nfreevars; i < code->co_nlocalsplus; i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
        if (name == text_self || PyUnicode_Compare(name, text_self) == 0) return variable(frame, i);
    }
    return NULL;
}

/* The entry of an object in a table that is an entry itself; borrowed, or NULL. */
static PyObject *inner_entry(PyObject *table, const void *key) {
    if (table == NULL || !PyDict_CheckExact(table)) return NULL;
    PyObject *number = PyLong_FromVoidPtr((void *)key);
    PyObject *entry = number ? PyDict_GetItemWithError(table, number) : NULL;
    Py_XDECREF(number);
    return entry != NULL && PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2 && is_entry_of(entry, key) ? entry : NULL;
}

/* What code with such an object is: None, nobody; or a tuple that begins with a kind. Borrowed; NULL: Python must look. */
static PyObject *side_of(Post *post, PyCodeObject *code, const PyTypeObject *type) {
    size_t home = ((uintptr_t)code >> 4 ^ (uintptr_t)type >> 5 ^ (uintptr_t)code >> 12) & (KEPT - 1);
    PyObject **codes = &post->crossings->sides[home].code, **types = &post->crossings->sides[home].type;
    if (*codes != NULL && is_entry_of(*codes, code) && is_entry_of(*types, type)) return PyTuple_GET_ITEM(*types, 1);
    PyObject *entry = inner_entry(post_known(post, OWNERS, (PyObject *)code), type);
    if (entry == NULL) return NULL;
    PyObject *number = PyLong_FromVoidPtr(code), *outer = number ? PyDict_GetItemWithError(post->tables[OWNERS], number) : NULL;
    Py_XDECREF(number);
    if (outer == NULL) return NULL;
    Py_XSETREF(*codes, Py_NewRef(outer));
    Py_XSETREF(*types, Py_NewRef(entry));
    return PyTuple_GET_ITEM(entry, 1);
}

enum { SOMEBODY, OBJECT, OUTSIDE, MODULE }; /* kinds of sides */

static long kind_of(PyObject *side) { return PyTuple_CheckExact(side) ? PyLong_AsLong(PyTuple_GET_ITEM(side, 0)) : -1; }

typedef struct {
    PyObject *side;   /* borrowed */
    PyObject *object; /* who calls, borrowed, or NULL */
    Id task;          /* 0: there is none */
} Caller;

/* The task in which this happens, and if nobody on the stack calls, its object. */
static bool find_task(Tracer *tracer, Post *post, Caller *caller) {
    PyObject *task = tracer->tasks ? tasks_current(tracer) : NULL;
    if (task == NULL) return true;
    bool found = (caller->task = identity_of(tracer, task)) != 0;
    if (found && caller->side == Py_None) {
        PyObject *coroutine = tasks_coroutine(task);
        PyGenObject *inside = coroutine != NULL && PyCoro_CheckExact(coroutine) ? (PyGenObject *)coroutine : NULL;
        found = inside != NULL && inside->gi_frame_state < FRAME_COMPLETED;
        RunFrame *frame = found ? (RunFrame *)inside->gi_iframe : NULL;
        PyObject *object = found ? candidate(frame) : NULL;
        PyObject *side = found ? side_of(post, frame_code(frame), Py_TYPE(object ? object : Py_None)) : NULL;
        found = side != NULL;
        if (found && side != Py_None) caller->object = object;
        Py_XDECREF(coroutine);
    }
    Py_DECREF(task);
    return found;
}

static bool find_caller(Tracer *tracer, Post *post, RunFrame *frame, Caller *caller) {
    *caller = (Caller){.side = Py_None};
    frame = frame_caller(frame);
    for (int i = 0; frame != NULL && i < DEEPEST_CALL; frame = frame_caller(frame), i++) {
        PyObject *object = candidate(frame), *side = side_of(post, frame_code(frame), Py_TYPE(object ? object : Py_None));
        if (side == NULL) return false;
        long kind = side == Py_None ? SOMEBODY : kind_of(side);
        if (kind == SOMEBODY) continue;
        caller->side = side;
        /* Code of a module may belong to nobody; then its first argument is something else. */
        caller->object = kind == MODULE && PyTuple_GET_ITEM(side, 3) != Py_True ? NULL : object;
        break;
    }
    return find_task(tracer, post, caller);
}

/* ---- what is told --------------------------------------------------------------------------------------------------------- */

static int set_id(PyObject *head, PyObject *key, Id id) {
    PyObject *number = PyLong_FromUnsignedLongLong(id);
    int failed = number == NULL ? -1 : PyDict_SetItem(head, key, number);
    Py_XDECREF(number);
    return failed;
}

enum { OF_CALLER, OF_TARGET, OF_ALL }; /* whose id a group has */

/* How an event begins: with the ids, in the order in which Python has them. */
static PyObject *new_head(PyObject *given, Id sender, Id target) {
    PyObject *head = PyDict_Copy(PyTuple_GET_ITEM(given, 0));
    long whose = PyLong_AsLong(PyTuple_GET_ITEM(given, 1));
    if (head == NULL) return NULL;
    if ((whose != OF_ALL && set_id(head, text_groupId, whose == OF_CALLER ? sender : target) < 0) ||
        (target && set_id(head, text_targetId, target) < 0) || (sender && set_id(head, text_callerId, sender) < 0))
        Py_CLEAR(head);
    return head;
}

/* A new reference, or NULL. */
static Way *new_way(PyObject *pattern, Id sender, Id target) {
    PyObject *given = PyTuple_GET_ITEM(pattern, 0), *heads = PyTuple_New(PyTuple_GET_SIZE(given));
    for (Py_ssize_t i = 0; heads != NULL && i < PyTuple_GET_SIZE(given); i++) {
        PyObject *head = new_head(PyTuple_GET_ITEM(given, i), sender, target);
        if (head != NULL) PyTuple_SET_ITEM(heads, i, head);
        else Py_CLEAR(heads);
    }
    if (heads == NULL) return NULL;
    return (Way *)PyObject_CallFunction((PyObject *)&WayType, "NO()OO", heads, Py_None, PyTuple_GET_ITEM(pattern, 1),
                                        PyTuple_GET_ITEM(pattern, 2));
}

/* Borrowed, or NULL. */
static Way *way_of(Post *post, PyObject *pattern, Id sender, Id target) {
    size_t home = ((uintptr_t)pattern >> 4 ^ (size_t)sender * 31 ^ (size_t)target * 7) & (KEPT - 1);
    PyObject **known = &post->crossings->ways[home].pattern;
    Way **way = &post->crossings->ways[home].way;
    if (*known == pattern && post->crossings->ways[home].sender == sender && post->crossings->ways[home].target == target) return *way;
    Way *made = new_way(pattern, sender, target);
    if (made == NULL) return NULL;
    Py_XSETREF(*known, Py_NewRef(pattern));
    Py_XSETREF(*way, made);
    post->crossings->ways[home].sender = sender;
    post->crossings->ways[home].target = target;
    return made;
}

/* The arguments behind the first ones, a new tuple; NULL: Python must look. */
static PyObject *arguments(RunFrame *frame, int first) {
    int count = frame_code(frame)->co_argcount;
    PyObject *values = PyTuple_New(count - first);
    for (int i = first; values != NULL && i < count; i++) {
        PyObject *value = variable(frame, i);
        if (value == NULL) Py_CLEAR(values);
        else PyTuple_SET_ITEM(values, i - first, Py_NewRef(value));
    }
    if (values != NULL && PyObject_GC_IsTracked(values)) PyObject_GC_UnTrack(values); /* nothing leads back to it */
    return values;
}

/* What such a call is: a tuple of what events begin with, turns and a version; borrowed; NULL: Python must look. */
static PyObject *pattern_of(Post *post, PyObject *door, PyObject *side, PyObject *target) {
    PyObject *types = PyDict_GetItemWithError(PyTuple_GET_ITEM(door, 1), side);
    PyObject *entry = types ? inner_entry(types, Py_TYPE(target ? target : Py_None)) : NULL;
    PyObject *pattern = entry ? PyTuple_GET_ITEM(entry, 1) : NULL;
    if (pattern == NULL || !PyTuple_CheckExact(pattern) || PyTuple_GET_SIZE(pattern) != 3) return NULL;
    return post_is_old(post, PyLong_AsUnsignedLong(PyTuple_GET_ITEM(pattern, 2))) ? NULL : pattern;
}

static int tell(Tracer *tracer, Post *post, RunFrame *frame, PyObject *pattern, const Caller *caller, PyObject *target) {
    Id sender = caller->object ? identity_of(tracer, caller->object) : 0, called = target ? identity_of(tracer, target) : 0;
    Way *way = PyErr_Occurred() ? NULL : way_of(post, pattern, sender, called);
    PyObject *said = way == NULL || way->turns == NULL ? NULL : arguments(frame, target != NULL);
    if (said == NULL) return POST_UNKNOWN;
    Py_INCREF(way);
    Py_ssize_t first = 0;
    uint64_t objects;
    int judged = 0;
    uint32_t place = post_read(post, &said, &first, &objects, false) ? post_place(tracer, frame) : 0;
    if (place && !tracer->broken && tracer->place_list[place - 1].line >= 0) {
        judged = post_judge(tracer, post, way, said, first, objects, place, caller->task);
        if (judged == 0 && tracer->count && post_hasten(tracer, post, 1) < 0) judged = -2;
        else if (judged == 0 && tracer->count == 0 && !tracer->broken)
            judged = post_judge(tracer, post, way, said, first, objects, place, caller->task);
    }
    Py_DECREF(way);
    Py_DECREF(said);
    if (judged == -2) return -1;
    return judged < 0 ? post_fault(tracer) : judged ? 1 : POST_UNKNOWN;
}

/* Is it a method that is told of for objects like its receiver, and nothing else wanted of it? */
static bool is_plain(Tracer *tracer, CodeInfo *info, PyObject *first) {
    Callee *callee = first ? plan_receiver(tracer, info, Py_TYPE(first)) : info->callee;
    return callee != NULL && callee->name != NULL && callee->wants & WANT_ON_CALL && !(callee->wants & NOTHING_ELSE) &&
           callee->group == NULL;
}

static int cross(Tracer *tracer, Post *post, CodeInfo *info, RunFrame *frame, PyObject *door) {
    bool method = PyTuple_GET_ITEM(door, 0) == Py_True;
    PyObject *first = info->code->co_argcount ? variable(frame, 0) : NULL, *target = method ? first : NULL;
    if ((method && first == NULL) || (first != NULL && PyType_Check(first)) || !is_plain(tracer, info, first)) return POST_UNKNOWN;
    if (target != NULL && !identity_needed(target)) return POST_UNKNOWN;
    if (post->crossings == NULL && (post->crossings = PyMem_Calloc(1, sizeof(struct Crossings))) == NULL) return POST_UNKNOWN;
    Caller caller;
    if (!find_caller(tracer, post, frame, &caller)) return POST_UNKNOWN;
    long kind = caller.side == Py_None ? SOMEBODY : kind_of(caller.side);
    if (kind == OBJECT && caller.object == target) return 1; /* its own business */
    PyObject *pattern = pattern_of(post, door, caller.side, target);
    if (pattern == NULL) return POST_UNKNOWN;
    if (PyTuple_GET_SIZE(PyTuple_GET_ITEM(pattern, 0)) == 0) return 1;
    Py_INCREF(pattern);
    int answer = tell(tracer, post, frame, pattern, &caller, target);
    Py_DECREF(pattern);
    return answer;
}

int crossing_start(Tracer *tracer, Post *post, CodeInfo *info, RunFrame *frame) {
    if (post->court == Py_None || post->rests || info->groups || setup() < 0) return POST_UNKNOWN;
    PyObject *door = post_known(post, DOORS, (PyObject *)info->code);
    if (door == NULL || !PyTuple_CheckExact(door) || PyTuple_GET_SIZE(door) != 2) return POST_UNKNOWN;
    int answer = cross(tracer, post, info, frame, door);
    if (answer == POST_UNKNOWN && PyErr_Occurred()) PyErr_Clear(); /* whatever it was, Python meets it again */
    return answer;
}

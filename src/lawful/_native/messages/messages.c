/* Messages that asyncio tasks put into queues and take out of them.

   Handles a message if its queue, its sender and its name are in the message cache. Otherwise it asks Python.
   Called by: tracer/function.c and tracer/monitoring.c, where a watched function starts.
   Must match: sources/actors/tasks.py, which handles every message; the events are the same.
   Compared by: tests/sources/actors/test_message_cache.py. */
#include "messages/messages.h"

#include "messages/message_cache.h"
#include "tracer/fast_path.h"

#include <structmember.h>

static bool has_surrogates(PyObject *text) {
    int kind = PyUnicode_KIND(text);
    if (kind == PyUnicode_1BYTE_KIND) return false;
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++)
        if (Py_UNICODE_IS_SURROGATE(PyUnicode_READ(kind, data, i))) return true;
    return false;
}

/* Do events show a value as it is? */
static bool is_plain(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyLong_Type) {
        int overflow;
        if (PyUnstable_Long_IsCompact((PyLongObject *)value)) return true;
        PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow;
    }
    if (type == &PyUnicode_Type) return PyUnicode_GET_LENGTH(value) <= LONGEST_TEXT && !has_surrogates(value);
    if (type == &PyFloat_Type) return PyFloat_AS_DOUBLE(value) - PyFloat_AS_DOUBLE(value) == 0.0;
    return value == Py_None || type == &PyBool_Type;
}

#define DEEPEST_DATA 8 /* as in sources/actors/values.py */

static PyObject *as_data(PyObject *value, int depth);

static PyObject *mapping_as_data(PyObject *mapping, int depth) {
    PyObject *data = PyDict_New(), *key, *value;
    Py_ssize_t place = 0;
    while (data != NULL && PyDict_Next(mapping, &place, &key, &value)) {
        PyObject *found = PyUnicode_CheckExact(key) && is_plain(key) ? as_data(value, depth + 1) : NULL;
        if (found == NULL || PyDict_SetItem(data, key, found) < 0) Py_CLEAR(data);
        Py_XDECREF(found);
    }
    return data;
}

/* A copy of a value in JSON's types, if it has only data in it; a new reference; NULL: ask Python. */
static PyObject *as_data(PyObject *value, int depth) {
    if (!identity_needed(value)) return is_plain(value) ? Py_NewRef(value) : NULL;
    if (depth > DEEPEST_DATA) return NULL;
    if (PyDict_CheckExact(value)) return mapping_as_data(value, depth);
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return NULL;
    PyObject *data = PyList_New(PySequence_Fast_GET_SIZE(value));
    for (Py_ssize_t i = 0; data != NULL && i < PyList_GET_SIZE(data); i++) {
        PyObject *found = as_data(PySequence_Fast_GET_ITEM(value, i), depth + 1);
        if (found == NULL) Py_CLEAR(data);
        else PyList_SET_ITEM(data, i, found);
    }
    return data;
}

/* A copy of the arguments as events have them: data as JSON's types, objects by their ids. NULL: ask Python. */
static PyObject *copy_as_data(Tracer *tracer, MessageCache *cache, PyObject *const *values, Py_ssize_t count, uint64_t *objects,
                              bool spreads) {
    PyObject *tuple = count > MAX_MARKED ? NULL : PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *value = NULL;
        if (identity_needed(values[i]) && cache_lookup(cache, CLASSES, (PyObject *)Py_TYPE(values[i])) == Py_True) {
            Id id = identity_of(tracer, values[i]);
            value = id ? PyLong_FromUnsignedLongLong(id) : NULL;
            *objects |= UINT64_C(1) << i;
        } else if (!spreads || !PyTuple_CheckExact(values[i])) { /* a tuple holds the arguments */
            value = as_data(values[i], 0);
        }
        if (value == NULL) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, i, value);
    }
    if (tuple != NULL && PyObject_GC_IsTracked(tuple)) PyObject_GC_UnTrack(tuple); /* it is in no reference cycle */
    return tuple;
}

bool message_fill(Tracer *tracer, MessageCache *cache, MessageData *message, const Route *route, uint32_t place, bool spreads) {
    PyObject **values = ((PyTupleObject *)message->values)->ob_item + message->first;
    Py_ssize_t count = PyTuple_GET_SIZE(message->values) - message->first, plain = 0;
    if (place == 0 || tracer->broken || tracer->place_list[place - 1].line < 0) return false;
    while (plain < count && !identity_needed(values[plain]) && is_plain(values[plain])) plain++;
    if (plain < count) {
        PyObject *data = copy_as_data(tracer, cache, values, count, &message->objects, spreads);
        if (data == NULL) return false;
        Py_SETREF(message->values, data);
        message->first = 0;
    }
    message->headers = route->headers;
    message->file = tracer->place_list[place - 1].file;
    message->line = tracer->place_list[place - 1].line;
    return true;
}

int message_fault(Tracer *tracer) {
    tracer_fault(tracer);
    return 0;
}

/* Make the events of a message, and record them. */
static int report(Tracer *tracer, const MessageData *message) {
    PyObject *events[MAX_EVENTS];
    int count = (int)PyTuple_GET_SIZE(message->headers), made = 0;
    if (count == 0) return 1; /* no view is about it */
    while (made < count && (events[made] = message_event(message, made)) != NULL) made++;
    if (made == count) return record_messages(tracer, events, made) < 0 ? -1 : 1;
    while (made) Py_DECREF(events[--made]);
    return message_fault(tracer);
}

/* ---- inline checks -------------------------------------------------------------------------------------------------------- */

#define MAX_PATIENCE 256 /* most missed messages before waiting events are delivered */
#define CALM_AFTER 1000  /* after so many inline checks without a flush, patience is reset */
#define TIMED 64         /* one message of so many is timed */

static double seconds(Tracer *tracer, int64_t tick) {
    double passed = (double)tracer->first_time + (double)(tick - tracer->first_tick) * tracer->tick;
    if (passed > tracer->last_time) tracer->last_time = passed; /* as for events */
    return tracer->last_time * 1e-9;
}

int message_check_inline(Tracer *tracer, MessageCache *cache, Route *route, MessageData *message) {
    InlineCheck *inline_check = (InlineCheck *)cache->inline_check;
    if (route->steps == NULL || !inline_check->enabled || tracer->deliverer) return 0;
    if (tracer->count) { /* waiting events are judged first */
        if (cache->judged - cache->flushed_at >= CALM_AFTER) cache->patience = 1;
        cache->missed++;
        return 0;
    }
    bool timed = cache->judged++ % TIMED == 0;
    if (timed) measure_ticks(tracer);
    int64_t tick = ticks();
    ThreadData *thread = thread_data(tracer);
    message->thread = thread ? thread->number : 0;
    message->process = tracer->process;
    message->time = seconds(tracer, tick);
    int result = inline_check_message(inline_check, route->steps, route->step_count, message);
    if (result == 0 && inline_check->used > MAX_DEFERRED - MAX_EVENTS) cache->missed = cache->patience;
    if (timed) inline_check->seconds += (double)(ticks() - tick) * tracer->tick * 1e-9 * TIMED;
    return result;
}

int message_flush_soon(Tracer *tracer, MessageCache *cache, int answer) {
    if (answer != 1 || cache->missed < cache->patience || tracer->synchronous) return answer;
    if (cache->patience < MAX_PATIENCE) cache->patience *= 2;
    cache->flushed_at = cache->judged;
    cache->missed = 0;
    return record_flush(tracer, false) < 0 ? -1 : 1;
}

/* ---- queues and tasks ------------------------------------------------------------------------------------------------------ */

/* Is it known that a queue has no limit? */
static bool is_boundless(MessageCache *cache, PyObject *queue) {
    PyTypeObject *type = Py_TYPE(queue);
    if (cache->bound.version == 0 || cache->bound.version != type->tp_version_tag) return false;
    PyObject *most = object_field(queue, cache->bound.index);
    return most != NULL && PyLong_CheckExact(most) && PyUnstable_Long_IsCompact((PyLongObject *)most) &&
           PyUnstable_Long_CompactValue((PyLongObject *)most) == 0;
}

/* Remember where queues of this class keep their limit. */
static void learn_bound(MessageCache *cache, QueueReader *reader, PyTypeObject *type) {
    int index = reader->standard && _PyType_Lookup(type, text_maxsize) == NULL ? object_field_index(type, text_maxsize) : -1;
    if (index < 0) return;
    cache->bound.version = type->tp_version_tag;
    cache->bound.index = index;
}

/* Is a queue full? -1: ask Python. */
static NOT_INLINE int is_full_slowly(MessageCache *cache, QueueReader *reader, PyObject *queue) {
    learn_bound(cache, reader, Py_TYPE(queue));
    PyObject *size = PyObject_GetAttr(queue, text_maxsize), *inside = NULL;
    Py_ssize_t most = size != NULL && PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
    bool known = most >= 0 || (size != NULL && !PyErr_Occurred() && PyLong_CheckExact(size));
    Py_XDECREF(size);
    if (known && most > 0) {
        inside = reader->standard ? PyObject_GetAttr(queue, text_inner_queue) : NULL;
        Py_ssize_t count = inside == NULL ? -1 : PyObject_Size(inside);
        Py_XDECREF(inside);
        if (count >= 0) return count >= most;
        known = false;
    }
    PyErr_Clear();
    return known ? 0 : -1;
}

static int is_full(MessageCache *cache, QueueReader *reader, PyObject *queue) {
    return is_boundless(cache, queue) ? 0 : is_full_slowly(cache, reader, queue);
}

/* Does a method of the receiver put the message? Then Python has to find the place of the caller. */
static bool passes_on(Tracer *tracer, RunFrame *frame, const void *target) {
    if (target == NULL) return false;
    for (frame = frame_caller(frame); frame != NULL; frame = frame_caller(frame)) {
        PyCodeObject *code = frame_code(frame);
        CodeInfo *info = plan_find(tracer, code);
        if (info == NULL || !info->own) continue;
        if (code->co_argcount == 0) return code->co_nfreevars > 0;
        PyObject *first = frame->localsplus[0];
        return first == NULL || first == target || PyCell_Check(first);
    }
    return false;
}

/* Is it a name like `Task-7`? */
static bool is_given(PyObject *name) {
    static const char begin[] = "Task-";
    if (!PyUnicode_IS_ASCII(name) || PyUnicode_GET_LENGTH(name) < (Py_ssize_t)sizeof begin) return false;
    const char *text = (const char *)PyUnicode_1BYTE_DATA(name);
    if (memcmp(text, begin, sizeof begin - 1) != 0) return false;
    for (text += sizeof begin - 1; *text; text++)
        if (*text < '0' || *text > '9') return false;
    return true;
}

/* May the name of a task put it into a group? */
static bool has_telling_name(MessageCache *cache, PyObject *task) {
    PyObject *name = PyObject_CallMethodNoArgs(task, text_get_name);
    if (name != NULL && PyUnicode_CheckExact(name) && is_given(name) && cache->plain_names) {
        Py_DECREF(name);
        return false;
    }
    bool telling = name == NULL || !PyUnicode_CheckExact(name);
    for (Py_ssize_t i = 0; !telling && i < PyTuple_GET_SIZE(cache->refs.matches); i++) {
        PyObject *found = PyObject_CallOneArg(PyTuple_GET_ITEM(cache->refs.matches, i), name);
        telling = found != Py_None;
        Py_XDECREF(found);
    }
    Py_XDECREF(name);
    return telling;
}

static PyCodeObject *coroutine_code(PyObject *coroutine) { /* a new reference */
    return PyGen_GetCode((PyGenObject *)coroutine);
}

/* An id as a number, mostly the same object as last time; a new reference, or NULL. */
static PyObject *id_number(MessageCache *cache, Id id) {
    PyObject **known = &cache->refs.ids[id & (RECENT_IDS - 1)];
    if (*known == NULL || PyLong_AsUnsignedLongLong(*known) != id) {
        PyObject *number = PyLong_FromUnsignedLongLong(id);
        if (number == NULL) return NULL;
        Py_XSETREF(*known, number);
    }
    return Py_NewRef(*known);
}

/* The key of the routes of a new task, if it is outside of groups: None, or the id of the object whose method it runs. A new
   reference; NULL: ask Python. */
static PyObject *ungrouped_alias(Tracer *tracer, MessageCache *cache, PyObject *task) {
    PyObject *coroutine = PyObject_CallMethodNoArgs(task, text_get_coro), *kind = NULL, *alias = NULL;
    if (coroutine != NULL && PyCoro_CheckExact(coroutine)) {
        PyCodeObject *code = coroutine_code(coroutine);
        kind = cache_lookup(cache, UNGROUPED_CODE, (PyObject *)code);
        Py_DECREF(code);
    }
    if (kind == Py_None) {
        if (!has_telling_name(cache, task)) alias = Py_NewRef(Py_None);
    } else if (kind != NULL && ((PyGenObject *)coroutine)->gi_frame_state < FRAME_COMPLETED) {
        PyObject *first = ((RunFrame *)((PyGenObject *)coroutine)->gi_iframe)->localsplus[0];
        bool nobodys = PyTuple_CheckExact(kind) && PyTuple_GET_SIZE(kind) == 1;
        if (nobodys) kind = PyTuple_GET_ITEM(kind, 0);
        if (first != NULL && (PyObject *)Py_TYPE(first) == kind && !has_telling_name(cache, task)) {
            Id id = nobodys ? 0 : identity_of(tracer, first);
            alias = nobodys ? Py_NewRef(Py_None) : id ? id_number(cache, id) : NULL;
        }
    }
    Py_XDECREF(coroutine);
    return alias;
}

bool cache_is_outdated(MessageCache *cache, unsigned long version) {
    return cache->inline_check != Py_None && ((InlineCheck *)cache->inline_check)->version != version;
}

/* The route of a message of this name, from a dict of dicts; a new reference, or NULL. */
static Route *find_route(MessageCache *cache, QueueReader *reader, PyObject *all, PyObject *name, PyObject *party) {
    size_t home = ((uintptr_t)all >> 5 ^ (uintptr_t)name >> 4 ^ (uintptr_t)party >> 4 ^ (uintptr_t)party >> 10) & (HITS - 1);
    RouteHit *hit = &cache->refs.hits[home];
    const Route *known = (Route *)hit->route;
    if (hit->routes == all && hit->name == name && hit->party == party && known->shared == reader->shared &&
        !cache_is_outdated(cache, known->version))
        return (Route *)Py_NewRef(hit->route);
    PyObject *routes = PyDict_GetItemWithError(all, name);
    if (routes == NULL || !PyDict_CheckExact(routes)) return NULL;
    PyObject *alias = party == Py_None || PyLong_CheckExact(party) ? Py_NewRef(party) : PyObject_GetAttr(party, text_alias);
    if (alias == Py_False) Py_SETREF(alias, Py_NewRef(party));
    PyObject *route = alias == NULL || alias == Py_Ellipsis ? NULL : PyDict_GetItemWithError(routes, alias);
    Py_XDECREF(alias);
    if (route == NULL || !Py_IS_TYPE(route, &RouteType) || cache_is_outdated(cache, ((Route *)route)->version)) return NULL;
    ((Route *)route)->shared = reader->shared;
    Py_XSETREF(hit->routes, Py_NewRef(all));
    Py_XSETREF(hit->name, Py_NewRef(name));
    Py_XSETREF(hit->party, Py_NewRef(party));
    Py_XSETREF(hit->route, Py_NewRef(route));
    return (Route *)Py_NewRef(route);
}

/* A new reference, or NULL. */
static Route *route_of(Tracer *tracer, MessageCache *cache, QueueReader *reader, PyObject *name, PyObject *task) {
    PyObject *sender = cache_lookup(cache, PARTIES, task);
    if (sender != NULL) return sender == reader->party && !reader->shared ? NULL : find_route(cache, reader, reader->routes, name, sender);
    PyObject *alias = ungrouped_alias(tracer, cache, task);
    Route *route = alias == NULL ? NULL : find_route(cache, reader, reader->routes, name, alias);
    Py_XDECREF(alias);
    return route;
}

static QueueReader *reader_of(MessageCache *cache, PyObject *queue) {
    PyObject *reader = cache_lookup(cache, READERS, queue);
    return reader != NULL && Py_IS_TYPE(reader, &QueueReaderType) ? (QueueReader *)reader : NULL;
}

/* ---- what a message says ------------------------------------------------------------------------------------------------- */

/* The name of a message, borrowed; NULL: ask Python. Of a dict the key that says it, of an object its fields. */
static PyObject *name_of(MessageCache *cache, PyObject *item, PyObject **name_source) {
    PyObject *name = NULL;
    *name_source = NULL;
    if (PyTuple_CheckExact(item)) {
        name = PyTuple_GET_SIZE(item) ? PyTuple_GET_ITEM(item, 0) : NULL;
    } else if (PyUnicode_CheckExact(item)) {
        name = item;
    } else if (PyDict_CheckExact(item)) {
        for (Py_ssize_t i = 0; name == NULL && i < PyTuple_GET_SIZE(cache->refs.keys); i++) {
            name = PyDict_GetItemWithError(item, *name_source = PyTuple_GET_ITEM(cache->refs.keys, i));
            if (name != NULL && !PyUnicode_Check(name)) name = NULL;
        }
    } else {
        PyObject *shape = cache_lookup(cache, SHAPES, (PyObject *)Py_TYPE(item));
        if (shape == NULL || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 2) return NULL;
        name = PyTuple_GET_ITEM(shape, 0);
        *name_source = PyTuple_GET_ITEM(shape, 1);
    }
    return name != NULL && PyUnicode_CheckExact(name) ? name : NULL;
}

/* Is it certain that this is not a future for the reply? */
static bool is_no_future(MessageCache *cache, PyObject *value) {
    return !identity_needed(value) || PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value) ||
           cache_lookup(cache, CLASSES, (PyObject *)Py_TYPE(value)) == Py_True;
}

/* By the names of the view's parameters, if it has all of them; a new reference; NULL: ask Python. */
static PyObject *values_of_dict(MessageCache *cache, PyObject *item, PyObject *name_source, PyObject *parameters) {
    PyObject *key, *value;
    Py_ssize_t place = 0, others = 0;
    while (PyDict_Next(item, &place, &key, &value)) {
        if (!PyUnicode_CheckExact(key)) return NULL;
        if (key == name_source || PyUnicode_Compare(key, name_source) == 0) continue;
        if (!is_no_future(cache, value) || PyUnicode_Compare(key, text_args) == 0 || PyUnicode_Compare(key, text_kwargs) == 0)
            return NULL;
        others++;
    }
    PyObject *values = PyTuple_New(others ? PyTuple_GET_SIZE(parameters) : 0);
    for (Py_ssize_t i = 0; values != NULL && i < PyTuple_GET_SIZE(values); i++) {
        key = PyTuple_GET_ITEM(parameters, i);
        value = PyUnicode_Compare(key, name_source) ? PyDict_GetItemWithError(item, key) : NULL;
        if (value == NULL) Py_CLEAR(values);
        else PyTuple_SET_ITEM(values, i, Py_NewRef(value));
    }
    return values;
}

static PyObject *field_of(PyObject *item, PyObject *fields, Py_ssize_t place) {
    if (!PyTuple_Check(item)) return PyObject_GetAttr(item, PyTuple_GET_ITEM(fields, place));
    return PyTuple_GET_SIZE(item) == PyTuple_GET_SIZE(fields) ? Py_NewRef(PyTuple_GET_ITEM(item, place)) : NULL;
}

static Py_ssize_t field_place(PyObject *fields, PyObject *name) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *field = PyTuple_GET_ITEM(fields, i);
        if (field == name || PyUnicode_Compare(field, name) == 0) return i;
    }
    return -1;
}

/* The same, of an object. If it does not have all parameters, its fields count by their order. */
static PyObject *values_of_object(MessageCache *cache, PyObject *item, PyObject *fields, PyObject *parameters) {
    Py_ssize_t count = PyTuple_GET_SIZE(fields), wanted = PyTuple_GET_SIZE(parameters);
    PyObject *all = PyTuple_New(count);
    for (Py_ssize_t i = 0; all != NULL && i < count; i++) {
        PyObject *value = field_of(item, fields, i);
        if (value != NULL) PyTuple_SET_ITEM(all, i, value);
        if (value == NULL || !is_no_future(cache, value)) Py_CLEAR(all);
    }
    if (all == NULL || count == 0) return all;
    PyObject *values = PyTuple_New(wanted);
    for (Py_ssize_t i = 0; values != NULL && i < wanted; i++) {
        Py_ssize_t place = field_place(fields, PyTuple_GET_ITEM(parameters, i));
        if (place < 0) Py_CLEAR(values);
        else PyTuple_SET_ITEM(values, i, Py_NewRef(PyTuple_GET_ITEM(all, place)));
    }
    if (values == NULL) return PyErr_Occurred() ? (Py_DECREF(all), NULL) : all;
    Py_DECREF(all);
    return values;
}

/* A tuple with the arguments, from its place `first` on; a new reference; NULL: ask Python. */
static PyObject *values_of(MessageCache *cache, PyObject *item, PyObject *name_source, Route *route, Py_ssize_t *first) {
    *first = 0;
    if (PyUnicode_CheckExact(item)) return PyTuple_New(0);
    if (PyDict_CheckExact(item)) return values_of_dict(cache, item, name_source, route->parameters);
    if (!PyTuple_CheckExact(item)) return values_of_object(cache, item, name_source, route->parameters);
    *first = 1;
    return Py_NewRef(item);
}

uint32_t message_place(Tracer *tracer, RunFrame *frame) {
    RunFrame *caller = frame_caller(frame);
    for (int i = 0; caller != NULL && i < 10; caller = frame_caller(caller), i++) {
        uint32_t place = fast_caller_place(tracer, caller);
        if (place) return place;
        const CodeInfo *info = plan_find(tracer, frame_code(caller));
        if (info != NULL && info->own) break;
    }
    return function_place(tracer, frame);
}

#define NEAR 6 /* frames, as in sources/actors/messages.py */

/* May the call of a method that puts this have been reported as the same message? */
static bool may_be_reported(Tracer *tracer, RunFrame *frame) {
    for (int i = 1; i < NEAR && (frame = frame_caller(frame)) != NULL; i++) {
        const CodeInfo *info = plan_find(tracer, frame_code(frame));
        if (info != NULL && info->callee != NULL && info->callee->wants & WANT_ON_CALL) return true;
    }
    return false;
}

/* Check or report a message on a route. `late`: it was sent already, so it cannot be prevented any more. */
static int send(Tracer *tracer, MessageCache *cache, RunFrame *frame, Route *route, PyObject *item, PyObject *name_source, PyObject *task, bool late) {
    MessageData message = {0};
    message.values = values_of(cache, item, name_source, route, &message.first);
    if (message.values == NULL) return ASK_PYTHON;
    int answer = ASK_PYTHON;
    message.task = !late && passes_on(tracer, frame, route->target) ? 0 : identity_of(tracer, task);
    if (message.task && message_fill(tracer, cache, &message, route, message_place(tracer, frame), PyTuple_CheckExact(item))) {
        int checked = cache->inline_check == Py_None ? 0 : message_check_inline(tracer, cache, route, &message);
        if (checked < 0) answer = message_fault(tracer);
        else if (checked) answer = 1;
        else if (!late || !tracer->synchronous) answer = message_flush_soon(tracer, cache, report(tracer, &message));
    }
    Py_DECREF(message.values);
    return answer;
}

static Py_hash_t text_hash(PyObject *text) {
    Py_hash_t hash = ((PyASCIIObject *)text)->hash;
    return hash == -1 ? PyObject_Hash(text) : hash;
}

/* What messages of this name may be; borrowed; NULL: ask Python. That never changes. Texts that say the same are one from here
   on, however many of them a program makes. */
static PyObject *specs_of(MessageCache *cache, PyObject **name) {
    if (*name == NULL) return NULL;
    Py_hash_t hash = text_hash(*name);
    size_t home = (size_t)hash & (RECENT_NAMES - 1);
    PyObject *known = cache->refs.names[home].name;
    if (known == *name || (known != NULL && text_hash(known) == hash && PyUnicode_Compare(known, *name) == 0)) {
        *name = known;
        return cache->refs.names[home].specs;
    }
    PyObject *specs = PyDict_GetItemWithError(cache->refs.specs, *name);
    if (specs == NULL || !PyTuple_CheckExact(specs)) return NULL;
    Py_XSETREF(cache->refs.names[home].name, Py_NewRef(*name));
    Py_XSETREF(cache->refs.names[home].specs, Py_NewRef(specs));
    return specs;
}

/* A message that a view names. */
static NOT_INLINE int put_known(Tracer *tracer, MessageCache *cache, RunFrame *frame, PyObject *queue, PyObject *item, PyObject *name, PyObject *name_source) {
    QueueReader *reader = reader_of(cache, queue);
    int full = reader == NULL || !tracer->tasks ? -1 : is_full(cache, reader, queue);
    if (full) return full < 0 ? ASK_PYTHON : 1; /* the put will fail */
    if (cache->has_entries && may_be_reported(tracer, frame)) return ASK_PYTHON;
    PyObject *task = tasks_current(tracer);
    Route *route = task == NULL ? NULL : route_of(tracer, cache, reader, name, task);
    int answer = route == NULL ? ASK_PYTHON : send(tracer, cache, frame, route, item, name_source, task, false);
    Py_XDECREF(route);
    Py_XDECREF(task);
    return answer;
}

static int on_put(Tracer *tracer, MessageCache *cache, RunFrame *frame, PyObject *queue, PyObject *item) {
    PyObject *name_source, *name = item == NULL ? NULL : name_of(cache, item, &name_source), *specs = specs_of(cache, &name);
    if (specs == NULL) return ASK_PYTHON;
    if (PyTuple_GET_SIZE(specs) == 0) return 1; /* no view names it */
    Py_INCREF(name);
    int answer = put_known(tracer, cache, frame, queue, item, name, name_source);
    Py_DECREF(name);
    return answer;
}

/* The next message in a queue, a new reference; NULL: none, or ask Python. */
static PyObject *next_of(QueueReader *reader, PyObject *queue) {
    PyObject *inside = reader->next == UNKNOWN_NEXT ? NULL : PyObject_GetAttr(queue, text_inner_queue);
    PyObject *item = inside == NULL ? NULL : PySequence_GetItem(inside, reader->next == FIRST ? 0 : -1);
    Py_XDECREF(inside);
    return item;
}

/* One of several readers takes a message. It is reported afterwards, or already now if no law can prevent it. */
static NOT_INLINE int on_shared_take(Tracer *tracer, MessageCache *cache, RunFrame *frame, QueueReader *reader, PyObject *queue) {
    PyObject *item = next_of(reader, queue), *name_source, *name = item == NULL ? NULL : name_of(cache, item, &name_source);
    PyObject *specs = specs_of(cache, &name), *task = NULL;
    Route *route = NULL;
    int answer = ASK_PYTHON;
    Py_XINCREF(name);
    if (specs != NULL && PyTuple_GET_SIZE(specs) == 0) {
        answer = 1;
    } else if (specs != NULL && PySet_GET_SIZE(reader->reported) == 0 && (task = tasks_current(tracer)) != NULL) {
        PyObject *party = cache_lookup(cache, PARTIES, task);
        route = party == NULL ? NULL : find_route(cache, reader, reader->shared_routes, name, party);
        if (route != NULL) answer = send(tracer, cache, frame, route, item, name_source, task, true);
    }
    Py_XDECREF(route);
    Py_XDECREF(task);
    Py_XDECREF(name);
    Py_XDECREF(item);
    return answer;
}

/* A task takes a message, or waits for one. Is it the known reader? */
static int on_take(Tracer *tracer, MessageCache *cache, RunFrame *frame, PyObject *queue, bool waits) {
    bool by_get = !waits && cache_is_called_by_get(cache, frame);
    if (by_get && !cache->has_shared_queues) return 1;
    QueueReader *reader = reader_of(cache, queue);
    if (reader == NULL) return ASK_PYTHON;
    if (reader->shared) return waits ? 1 : on_shared_take(tracer, cache, frame, reader, queue);
    if (!PyWeakref_Check(reader->task)) return ASK_PYTHON;
    if (by_get) return 1;
    PyObject *task = tasks_current(tracer);
    bool same = task != NULL && ((PyWeakReference *)reader->task)->wr_object == task;
    Py_XDECREF(task);
    return same ? 1 : ASK_PYTHON;
}

static int which_of(const MessageCache *cache, const PyCodeObject *code) {
    const PyObject *known = (const PyObject *)code;
    return known == cache->put ? PUT : known == cache->get ? GET : known == cache->take ? TAKE : NONE_OF_THEM;
}

/* 1: nobody else watches this function on such queues; 0: ask Python; -1: internal error. */
static int is_plain_function(Tracer *tracer, MessageCache *cache, int which, CodeInfo *info, PyTypeObject *type) {
    if (cache_is_plain(cache, which, type)) return 1;
    Callee *callee = plan_receiver(tracer, info, type);
    if (callee == NULL) return -1;
    if (callee->name == NULL || callee->wants & NOTHING_ELSE || callee->group != NULL) return 0;
    if (info->own) return 1; /* its start is watched in itself */
    cache->plain[which].type = type;
    cache->plain[which].deaths = plan_deaths;
    return 1;
}

static NOT_INLINE int see(Tracer *tracer, MessageCache *cache, int which, RunFrame *frame, PyObject *queue) {
    int answer = which == PUT ? on_put(tracer, cache, frame, queue, frame->localsplus[1])
                              : on_take(tracer, cache, frame, queue, which == GET);
    if (answer == ASK_PYTHON && PyErr_Occurred()) PyErr_Clear(); /* Python will meet the same error */
    return answer;
}

static int look_at(Tracer *tracer, int which, CodeInfo *info, RunFrame *frame) {
    MessageCache *cache = tracer->message_cache;
    PyObject *queue = frame->localsplus[0];
    if (queue == NULL || info->groups || cache->disabled) return ASK_PYTHON;
    int plain = is_plain_function(tracer, cache, which, info, Py_TYPE(queue));
    if (plain <= 0) return plain < 0 ? message_fault(tracer) : ASK_PYTHON;
    return see(tracer, cache, which, frame, queue);
}

/* Python needs the result of `take`. Ends are watched from the first time that is needed. */
static int see_ends(Tracer *tracer, CodeInfo *info, PyObject *queue) {
    if (info->callee->wants & WANT_ON_RETURN) return ASK_PYTHON;
    Callee *callee = queue == NULL ? NULL : plan_receiver(tracer, info, Py_TYPE(queue));
    if (queue == NULL) return ASK_PYTHON;
    if (callee == NULL) return message_fault(tracer);
    if (!(callee->wants & WANT_ON_RETURN)) return ASK_PYTHON;
    info->callee = callee;
    return delivery_plan(tracer, info) < 0 ? message_fault(tracer) : ASK_PYTHON;
}

int message_start(Tracer *tracer, CodeInfo *info, RunFrame *frame) {
    MessageCache *cache = tracer->message_cache;
    int which = which_of(cache, info->code);
    if (which == NONE_OF_THEM) return cache->has_group_calls ? group_call_start(tracer, cache, info, frame) : ASK_PYTHON;
    int answer = look_at(tracer, which, info, frame);
    return answer == ASK_PYTHON && which == TAKE ? see_ends(tracer, info, frame->localsplus[0]) : answer;
}

/* A message function that Python has to handle. */
static NOT_INLINE int begin_slowly(Tracer *tracer, PyCodeObject *code, int which, RunFrame *frame) {
    CodeInfo *info = plan_find(tracer, code);
    if (info == NULL) return NOT_A_MESSAGE;
    int answer = which == TAKE ? see_ends(tracer, info, frame->localsplus[0]) : ASK_PYTHON;
    return answer == ASK_PYTHON ? function_begin(tracer, info, frame) : answer;
}

int message_begin(Tracer *tracer, PyCodeObject *code, RunFrame *frame) {
    MessageCache *cache = tracer->message_cache;
    int which = which_of(cache, code);
    if (which == NONE_OF_THEM || !tracer->running || tracer->broken || cache->disabled || is_suspended(tracer)) return NOT_A_MESSAGE;
    PyObject *queue = frame->localsplus[0];
    if (queue == NULL || !cache_is_plain(cache, which, Py_TYPE(queue))) return NOT_A_MESSAGE;
    int answer = see(tracer, cache, which, frame, queue);
    return answer == ASK_PYTHON ? begin_slowly(tracer, code, which, frame) : answer;
}

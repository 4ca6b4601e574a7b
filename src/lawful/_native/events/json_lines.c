/* Lazy events as lines of JSON, for traces: lawful/engine calls `json_lines` where only a trace wants the events. Python
   writes the dict of an event that has something unusual in it. The lines must be those of `TraceWriter` in
   lawful/events/writer.py; tests/sources/python/test_fast_paths.py compares both. */
#include "events/fields.h"
#include "events/lazy_event.h"
#include "events/record_values.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    char *bytes;
    size_t size, room;
    bool failed;  /* out of memory */
} Text;

static const char hexadecimal[] = "0123456789abcdef";

/* ---- text --------------------------------------------------------------------------------------------------------------- */

/* Where so many bytes can be put; NULL: nowhere. */
static inline char *room_for(Text *text, size_t size) {
    if (text->size + size > text->room) {
        size_t room = 2 * (text->room + size);
        char *bytes = text->failed ? NULL : realloc(text->bytes, room);
        if (bytes == NULL) {
            text->failed = true;
            return NULL;
        }
        text->bytes = bytes;
        text->room = room;
    }
    return text->bytes + text->size;
}

static inline void put(Text *text, const char *bytes, size_t size) {
    char *to = room_for(text, size);
    if (to == NULL) return;
    memcpy(to, bytes, size);
    text->size += size;
}

#define PUT(literal) put(text, literal, sizeof(literal) - 1)

static inline void put_natural(Text *text, uint64_t number) {
    char digits[20], *first = digits + sizeof digits;
    do *--first = (char)('0' + number % 10); while (number /= 10);
    put(text, first, (size_t)(digits + sizeof digits - first));
}

static inline void put_integer(Text *text, int64_t number) {
    if (number < 0) PUT("-");
    put_natural(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* false: an exception. */
static bool put_double(Text *text, double number) {
    char *digits = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (digits == NULL) return false;
    put(text, digits, strlen(digits));
    PyMem_Free(digits);
    return true;
}

/* Times are whole nanoseconds, up to 15 digits of which a double can tell apart. */
static bool put_time(Text *text, double seconds) {
    if (!(seconds >= 0 && seconds < 1e6)) return put_double(text, seconds);
    uint64_t nanoseconds = (uint64_t)llround(seconds * 1e9), left = nanoseconds % 1000000000;
    if ((double)nanoseconds / 1e9 != seconds) return put_double(text, seconds);
    put_natural(text, nanoseconds / 1000000000);
    char digits[10] = ".000000000";
    for (int i = 9; i > 0; i--, left /= 10) digits[i] = (char)('0' + left % 10);
    size_t size = 10;
    while (size > 2 && digits[size - 1] == '0') size--;
    put(text, digits, size);
    return true;
}

static inline char *escaped(char *to, unsigned char c) {
    static const char letters[] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['"'] = '"', ['\\'] = '\\'};
    *to++ = '\\';
    if (c < sizeof letters && letters[c]) {
        *to++ = letters[c];
        return to;
    }
    memcpy(to, "u00", 3);
    to[3] = hexadecimal[c >> 4];
    to[4] = hexadecimal[c & 15];
    return to + 5;
}

static inline bool is_plain(unsigned char c) { return c >= ' ' && c != '"' && c != '\\'; }

static void put_ascii(Text *text, const unsigned char *from, size_t size) {
    char *to = room_for(text, 6 * size + 2), *begin = to;
    if (to == NULL) return;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        if (is_plain(from[i])) *to++ = (char)from[i];
        else to = escaped(to, from[i]);
    }
    *to++ = '"';
    text->size += (size_t)(to - begin);
}

static inline char *encoded(char *to, Py_UCS4 c) {
    if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xE0 | c >> 12);
        } else {
            *to++ = (char)(0xF0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 63));
        }
        *to++ = (char)(0x80 | (c >> 6 & 63));
    }
    *to++ = (char)(0x80 | (c & 63));
    return to;
}

/* false: UTF-8 has no word for it. The interpreter could do that, but would keep the bytes with the program's string. */
static bool put_string(Text *text, PyObject *string) {
    size_t size = (size_t)PyUnicode_GET_LENGTH(string);
    if (PyUnicode_IS_ASCII(string)) {
        put_ascii(text, PyUnicode_1BYTE_DATA(string), size);
        return true;
    }
    int kind = PyUnicode_KIND(string);
    const void *data = PyUnicode_DATA(string);
    char *to = room_for(text, 6 * size + 2), *begin = to;
    if (to == NULL) return true;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c >= 0xD800 && c < 0xE000) return false;
        if (c >= 128) to = encoded(to, c);
        else if (is_plain((unsigned char)c)) *to++ = (char)c;
        else to = escaped(to, (unsigned char)c);
    }
    *to++ = '"';
    text->size += (size_t)(to - begin);
    return true;
}

/* ---- values -------------------------------------------------------------------------------------------------------------- */

/* false: it is unusual, or an exception. */
static bool put_object(Text *text, PyObject *object) {
    if (object == Py_None) PUT("null");
    else if (object == Py_True) PUT("true");
    else if (object == Py_False) PUT("false");
    else if (PyUnicode_CheckExact(object)) return put_string(text, object);
    else if (PyFloat_CheckExact(object) && isfinite(PyFloat_AS_DOUBLE(object))) return put_double(text, PyFloat_AS_DOUBLE(object));
    else if (PyLong_CheckExact(object)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow) return false;
        put_integer(text, number);
    } else {
        return false;
    }
    return true;
}

static bool put_value(Text *text, const uint64_t *word) {
    double number;
    switch (*word & VALUE_MASK) {
    case VALUE_ID:
        put_natural(text, *word >> VALUE_BITS);
        return true;
    case VALUE_INT:
        put_integer(text, (int64_t)*word >> VALUE_BITS);
        return true;
    case VALUE_FLOAT:
        memcpy(&number, &word[1], sizeof number);
        return put_double(text, number);
    default:
        return put_object(text, value_held(*word));
    }
}

/* Arguments: all in brackets, or those by keyword with their names; the values, or the ids, and null for the others. */
static bool put_arguments(Text *text, const uint64_t *values, size_t count, PyObject *names, bool ids) {
    put(text, names ? "{" : "[", 1);
    for (size_t i = 0; i < count; i++, values += value_size(*values)) {
        if (i) PUT(",");
        if (names != NULL) {
            if (!put_object(text, PyTuple_GET_ITEM(names, (Py_ssize_t)i))) return false;
            PUT(":");
        }
        if (value_is_id(*values) != ids) PUT("null");
        else if (!put_value(text, values)) return false;
    }
    put(text, names ? "}" : "]", 1);
    return true;
}

/* Arguments with their key, and then the ids among them, if there are some, with theirs. */
static bool put_both(Text *text, const char *key, const char *ids, const uint64_t *values, size_t count, PyObject *names) {
    put(text, key, strlen(key));
    if (!put_arguments(text, values, count, names, false)) return false;
    if (!values_have_ids(values, count)) return true;
    put(text, ids, strlen(ids));
    return put_arguments(text, values, count, names, true);
}

static bool put_values(Text *text, const uint64_t *values, const uint64_t *result) {
    uint64_t shape = values ? *values++ : 0;
    if (shape & SHAPE_TARGET) {
        PUT(",\"target\":");
        if (!put_value(text, values)) return false;
        values = values_after(values, 1);
    }
    size_t count = shape >> SHAPE_ARGS_BIT & SHAPE_MASK, by_name = shape >> SHAPE_KEYWORDS_BIT & SHAPE_MASK;
    if (count--) {
        if (!put_both(text, ",\"args\":", ",\"argIds\":", values, count, NULL)) return false;
        values = values_after(values, count);
    }
    if (by_name) {
        PyObject *names = value_held(*values++);
        if (!put_both(text, ",\"kwargs\":", ",\"kwargIds\":", values, by_name, names)) return false;
        values = values_after(values, by_name);
    }
    if (shape & SHAPE_RESULT) result = values;
    if (result == NULL) return true;
    if (value_is_id(*result)) PUT(",\"resultId\":");
    else PUT(",\"res\":");
    return put_value(text, result);
}

/* ---- events -------------------------------------------------------------------------------------------------------------- */

static bool put_payload(Text *text, const LazyEvent *lazy) {
    if (lazy->values != NULL || lazy->result != NULL) return put_values(text, lazy->values, lazy->result);
    if (lazy->payload == NULL) return true;
    if (lazy->target) PUT(",\"res\":");
    else PUT(",\"target\":");
    return put_object(text, lazy->payload);
}

/* false: it is unusual, or an exception. */
static bool put_lazy_event(Text *text, const LazyEvent *lazy) {
    PUT("{\"event\":");
    if (!put_string(text, event_kinds[lazy->kind])) return false;
    PUT(",\"name\":");
    if (!put_string(text, lazy->name)) return false;
    if (lazy->class_name != NULL) {
        PUT(",\"class\":");
        if (!put_string(text, lazy->class_name)) return false;
    }
    if (lazy->target) {
        PUT(",\"targetId\":");
        put_natural(text, lazy->target);
    }
    if (!put_payload(text, lazy)) return false;
    if (lazy->file != NULL) {
        PUT(",\"file\":");
        if (!put_string(text, lazy->file)) return false;
        if (lazy->line >= 0) {
            PUT(",\"line\":");
            put_natural(text, (uint64_t)lazy->line);
        }
    }
    PUT(",\"thread\":");
    put_natural(text, (uint64_t)lazy->thread);
    if (lazy->task) {
        PUT(",\"task\":");
        put_natural(text, lazy->task);
    }
    PUT(",\"time\":");
    if (!put_time(text, lazy->time)) return false;
    if (lazy->process) {
        PUT(",\"process\":");
        put_natural(text, (uint64_t)lazy->process);
    }
    PUT("}\n");
    return true;
}

/* What Python makes of those that have come together. */
static int put_asked(Text *text, PyObject *unusual, PyObject *ask) {
    if (PyList_GET_SIZE(unusual) == 0) return 0;
    PyObject *lines = PyObject_CallOneArg(ask, unusual);
    if (lines == NULL || PyList_SetSlice(unusual, 0, PyList_GET_SIZE(unusual), NULL) < 0) {
        Py_XDECREF(lines);
        return -1;
    }
    int failed = !PyBytes_Check(lines);
    if (failed) PyErr_SetString(PyExc_TypeError, "lines are bytes");
    else put(text, PyBytes_AS_STRING(lines), (size_t)PyBytes_GET_SIZE(lines));
    Py_DECREF(lines);
    return -failed;
}

static int add_unusual(PyObject *unusual, PyObject *event) {
    PyObject *dict = event_to_dict(event);
    int failed = dict == NULL ? -1 : PyList_Append(unusual, dict);
    Py_XDECREF(dict);
    return failed;
}

static int put_event(Text *text, PyObject *event, PyObject *unusual, PyObject *ask) {
    if (!is_lazy_event(event)) return add_unusual(unusual, event);
    size_t before = text->size;
    if (PyList_GET_SIZE(unusual) == 0) {
        if (put_lazy_event(text, (LazyEvent *)event)) return 0;
        text->size = before;
        return PyErr_Occurred() ? -1 : add_unusual(unusual, event);
    }
    /* Only if its own text can be had, that of those before it must come now. */
    Text own = {NULL, 0, 0, false};
    int failed = 0;
    if (!put_lazy_event(&own, (LazyEvent *)event)) failed = PyErr_Occurred() ? -1 : add_unusual(unusual, event);
    else if ((failed = put_asked(text, unusual, ask)) == 0) put(text, own.bytes, own.size);
    text->failed |= own.failed;
    free(own.bytes);
    return failed;
}

PyObject *json_lines(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *events, *ask, *all = NULL;
    if (!PyArg_ParseTuple(args, "O!O:json_lines", &PyList_Type, &events, &ask)) return NULL;
    Text text = {NULL, 0, 0, false};
    PyObject *unusual = PyList_New(0);
    int failed = unusual == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(events) && !failed && !text.failed; i++)
        failed = put_event(&text, PyList_GET_ITEM(events, i), unusual, ask);
    if (!failed) failed = put_asked(&text, unusual, ask);
    if (!failed) all = text.failed ? PyErr_NoMemory() : PyBytes_FromStringAndSize(text.bytes, (Py_ssize_t)text.size);
    Py_XDECREF(unusual);
    free(text.bytes);
    return all;
}

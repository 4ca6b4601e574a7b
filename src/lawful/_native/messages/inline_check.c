/* Messages that are judged where they are sent. As long as a view has nothing to say against a message, nobody wants to see
   its event: so the machine of the grammar takes its step from the values themselves. What an event would have said is kept
   as a letter, which is opened if a violation is to be explained. The event of everything else is made, and is judged as all
   events are: lawful/engine/run.py. Nothing here runs code of Python. */
#include "messages/inline_check.h"

#include "grammar/grammar.h"

#include <structmember.h>

static PyObject *text_args, *text_argIds, *text_task, *text_file, *text_line, *text_thread, *text_time, *text_process,
    *text_group;

static int setup(void) {
    if (text_group != NULL) return 0;
#define TEXT(name) if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    TEXT(args) TEXT(argIds) TEXT(task) TEXT(file) TEXT(line) TEXT(thread) TEXT(time) TEXT(process)
#undef TEXT
    return (text_group = PyUnicode_InternFromString("groupId")) == NULL ? -1 : 0;
}

/* ---- turns ------------------------------------------------------------------------------------------------------------- */

void turns_free(Turn *turns, int count) {
    for (int i = 0; i < count; i++) {
        Py_XDECREF(turns[i].machine);
        Py_XDECREF(turns[i].group);
    }
    PyMem_Free(turns);
}

static int turn_fill(Turn *turn, PyObject *given, PyObject *heads) {
    PyObject *machine;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a turn is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "iO!i", &turn->event, &GrammarMachineType, &machine, &turn->terminal)) return -1;
    bool fits = turn->event >= 0 && turn->event < PyTuple_GET_SIZE(heads) && turn->terminal >= 0 &&
                turn->terminal < ((GMachine *)machine)->tables->columns - 1;
    turn->key = fits ? PyDict_GetItemWithError(PyTuple_GET_ITEM(heads, turn->event), text_group) : NULL;
    if (turn->key == NULL || !(PyLong_CheckExact(turn->key) || PyUnicode_CheckExact(turn->key))) {
        PyErr_SetString(PyExc_ValueError, "no turn of this message");
        return -1;
    }
    turn->machine = Py_NewRef(machine);
    return 0;
}

int turns_new(PyObject *given, PyObject *heads, Turn **turns) {
    *turns = NULL;
    if (given == Py_None) return 0;
    if (setup() < 0) return -1;
    Py_ssize_t count = PyTuple_Check(given) ? PyTuple_GET_SIZE(given) : 0;
    if (count < 1 || count > MOST_TURNS) {
        PyErr_Format(PyExc_ValueError, "turns are a tuple of 1 to %d", MOST_TURNS);
        return -1;
    }
    Turn *made = PyMem_Calloc((size_t)count, sizeof(Turn));
    if (made == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (turn_fill(made + i, PyTuple_GET_ITEM(given, i), heads) < 0) {
            turns_free(made, (int)count);
            return -1;
        }
    }
    *turns = made;
    return (int)count;
}

/* ---- letters ------------------------------------------------------------------------------------------------------------ */

/* What a letter is made of. There are many more of these. */
typedef struct Note {
    Matter matter;
    PyObject *key; /* of the group; the event's beginning keeps it alive */
    int event;     /* -1: it is thrown away */
    int number;    /* among those that came, from 0 */
} Note;

typedef struct {
    PyObject_HEAD
    Note note;
} Letter;

static void note_drop(Note *note) {
    Py_DECREF(note->matter.heads);
    Py_DECREF(note->matter.values);
    Py_DECREF(note->matter.file);
}

/* Takes the note over, also where it fails. */
static PyObject *letter_new(Note *note) {
    Letter *letter = PyObject_New(Letter, &LetterType);
    if (letter == NULL) note_drop(note);
    else letter->note = *note;
    return (PyObject *)letter;
}

static void letter_dealloc(Letter *letter) {
    note_drop(&letter->note);
    PyObject_Free(letter);
}

PyObject *letter_group(PyObject *letter) { return ((Letter *)letter)->note.key; }

/* The arguments as events have them: objects are in a list of their own. */
static PyObject *list_of(const Matter *matter, bool objects) {
    Py_ssize_t count = PyTuple_GET_SIZE(matter->values) - matter->first;
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        bool shown = (i < MOST_MARKED && (matter->objects >> i & 1)) == objects;
        PyList_SET_ITEM(list, i, Py_NewRef(shown ? PyTuple_GET_ITEM(matter->values, matter->first + i) : Py_None));
    }
    return list;
}

static int set_taken(PyObject *event, PyObject *key, PyObject *value) {
    int failed = value == NULL ? -1 : PyDict_SetItem(event, key, value);
    Py_XDECREF(value);
    return failed;
}

/* In the order in which events have it that are made elsewhere. */
static PyObject *letter_open(Letter *letter, PyObject *unused) {
    const Matter *matter = &letter->note.matter;
    PyObject *event = PyDict_Copy(PyTuple_GET_ITEM(matter->heads, letter->note.event));
    if (event == NULL) return NULL;
    if (set_taken(event, text_args, list_of(matter, false)) < 0 ||
        (matter->objects && set_taken(event, text_argIds, list_of(matter, true)) < 0) ||
        (matter->task && set_taken(event, text_task, PyLong_FromUnsignedLongLong(matter->task)) < 0) ||
        PyDict_SetItem(event, text_file, matter->file) < 0 ||
        set_taken(event, text_line, PyLong_FromLong(matter->line)) < 0 ||
        set_taken(event, text_thread, PyLong_FromLong(matter->thread)) < 0 ||
        set_taken(event, text_time, PyFloat_FromDouble(matter->time)) < 0 ||
        (matter->process && set_taken(event, text_process, PyLong_FromLong(matter->process)) < 0))
        Py_CLEAR(event);
    return event;
}

static PyMethodDef letter_methods[] = {
    {"to_dict", (PyCFunction)letter_open, METH_NOARGS, "to_dict()\n--\n\nThe event."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject LetterType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Letter",
    .tp_basicsize = sizeof(Letter),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A message that was judged without an event.",
    .tp_dealloc = (destructor)letter_dealloc,
    .tp_methods = letter_methods,
};

/* ---- the court ---------------------------------------------------------------------------------------------------------- */

#define SEEN 256 /* groups that are told apart when letters are sorted out: a power of two */

/* How many letters of a group were met. */
typedef struct {
    const PyObject *key[SEEN];
    int count[SEEN];
} Seen;

/* 0: it is the first one. What finds no place is taken for one of a new group. */
static int seen_before(Seen *seen, const PyObject *key) {
    size_t home = ((uintptr_t)key >> 4) * 0x9E3779B1u;
    for (size_t i = 0; i < 8; i++) {
        size_t at = (home + i) & (SEEN - 1);
        if (seen->key[at] == NULL) seen->key[at] = key;
        if (seen->key[at] == key) return seen->count[at]++;
    }
    return 0;
}

/* Throw away what nobody can ask for: of each group the first note and so many of the last ones are kept, and so many of
   the last ones of all. How many that are. */
static int sort_out(Note *notes, int count, int most, int others) {
    Seen ahead = {0}, back = {0};
    bool first[MOST_NOTES];
    for (int i = 0; i < count - others; i++) first[i] = seen_before(&ahead, notes[i].key) == 0;
    for (int i = count; i--;) {
        bool late = seen_before(&back, notes[i].key) < most;
        if (i < count - others && !late && !first[i]) notes[i].event = -1;
    }
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (notes[i].event < 0) note_drop(&notes[i]);
        else if (kept++ != i) notes[kept - 1] = notes[i];
    }
    return kept;
}

static void keep(Court *court, const Turn *turns, int count, const Matter *matter) {
    for (int i = 0; i < count; i++) {
        if (i && turns[i].event == turns[i - 1].event) continue;
        Note *note = &court->notes[court->used++];
        note->matter = *matter;
        note->key = turns[i].key;
        note->event = turns[i].event;
        note->number = court->count++;
        Py_INCREF(matter->heads);
        Py_INCREF(matter->values);
        Py_INCREF(matter->file);
    }
    if (matter->thread > court->thread) court->thread = matter->thread;
    if (court->used < court->sort_at) return;
    court->used = sort_out(court->notes, court->used, court->most, court->others);
    court->sort_at = court->used < MANY_NOTES / 2 ? MANY_NOTES : 2 * court->used;
}

int court_judge(Court *court, Turn *turns, int count, const Matter *matter) {
    if (court->used > MOST_NOTES - MOST_EVENTS) return 0;
    GSource source = {.values = &PyTuple_GET_ITEM(matter->values, matter->first),
                      .count = PyTuple_GET_SIZE(matter->values) - matter->first};
    int taken = 0, result = 1;
    for (; result == 1 && taken < count; taken += result == 1) {
        Turn *turn = turns + taken;
        source.head = PyTuple_GET_ITEM(matter->heads, turn->event);
        result = grammar_message((GMachine *)turn->machine, turn->key, &turn->group, turn->terminal, &source);
    }
    if (result == 1) {
        keep(court, turns, count, matter);
        return 1;
    }
    while (taken)
        if (grammar_take_back((GMachine *)turns[--taken].machine) < 0) result = -1;
    if (result < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "a message could not be taken back");
    return result;
}

static PyObject *court_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (setup() < 0) return NULL;
    Court *court = (Court *)type->tp_alloc(type, 0);
    if (court == NULL) return NULL;
    court->notes = PyMem_Malloc(MOST_NOTES * sizeof(Note));
    court->sort_at = MANY_NOTES;
    if (court->notes != NULL) return (PyObject *)court;
    Py_DECREF(court);
    return PyErr_NoMemory();
}

static void court_dealloc(Court *court) {
    while (court->used) note_drop(&court->notes[--court->used]);
    PyMem_Free(court->notes);
    PyMem_Free(court->spare);
    Py_TYPE(court)->tp_free((PyObject *)court);
}

static PyObject *entry_of(long long number, Note *note) { /* takes the note over */
    PyObject *letter = letter_new(note), *entry = PyTuple_New(2), *at = PyLong_FromLongLong(number);
    if (letter == NULL || entry == NULL || at == NULL) {
        Py_XDECREF(letter);
        Py_XDECREF(entry);
        Py_XDECREF(at);
        return NULL;
    }
    PyTuple_SET_ITEM(entry, 0, at);
    PyTuple_SET_ITEM(entry, 1, letter);
    PyObject_GC_UnTrack(entry); /* nothing leads back to it, and many are kept for long */
    return entry;
}

/* Others may be judged while the letters are made: so there are other notes then. */
static PyObject *court_take(Court *court, PyObject *argument) {
    long long first = PyLong_AsLongLong(argument);
    if (first == -1 && PyErr_Occurred()) return NULL;
    Note *more = court->spare ? court->spare : PyMem_Malloc(MOST_NOTES * sizeof(Note)), *notes = court->notes;
    if (more == NULL) return PyErr_NoMemory();
    int count = court->count, kept = sort_out(notes, court->used, court->most, court->others);
    court->notes = more;
    court->spare = NULL;
    court->count = court->used = 0;
    court->sort_at = MANY_NOTES;
    PyObject *entries = PyList_New(kept);
    for (int i = 0; i < kept; i++) {
        PyObject *entry = entries == NULL ? (note_drop(&notes[i]), NULL) : entry_of(first + notes[i].number, &notes[i]);
        if (entry != NULL) PyList_SET_ITEM(entries, i, entry);
        else Py_CLEAR(entries);
    }
    if (court->spare == NULL) court->spare = notes;
    else PyMem_Free(notes);
    return entries == NULL ? NULL : Py_BuildValue("iN", count, entries);
}

static PyMethodDef court_methods[] = {
    {"take", (PyCFunction)court_take, METH_O,
     "take(first)\n--\n\nHow many messages came since this was last asked, and letters of those that may be asked for, with "
     "their numbers from the first one's on: the first of each group and `most` of its last, and the last `others` of all."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef court_members[] = {
    {"open", T_BOOL, offsetof(Court, open), 0, "May messages be judged here now?"},
    {"version", T_ULONG, offsetof(Court, version), 0, "Of the laws."},
    {"count", T_INT, offsetof(Court, count), READONLY, "Of messages that nobody has taken yet."},
    {"thread", T_INT, offsetof(Court, thread), READONLY, "The highest number of a thread that has sent something."},
    {"most", T_INT, offsetof(Court, most), 0, "How many of the last messages of a group may be asked for."},
    {"others", T_INT, offsetof(Court, others), 0, "The same, of all groups together."},
    {"spent", T_DOUBLE, offsetof(Court, spent), 0, "Seconds that judging took."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject CourtType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lawful._native._core.Court",
    .tp_basicsize = sizeof(Court),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Court()\n--\n\nJudges messages where they are sent, without an event.",
    .tp_new = court_new,
    .tp_dealloc = (destructor)court_dealloc,
    .tp_methods = court_methods,
    .tp_members = court_members,
};

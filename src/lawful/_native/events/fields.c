/* Makes the strings that fields.h declares. module.c calls it. They are the keys of lawful/events/event_kinds.py;
   tests/engine/test_lazy_events.py compares events of both cores. */
#include "events/fields.h"

#include "events/lazy_event.h"

#define DEFINE_TEXT(name, text) PyObject *text_##name;
EACH_TEXT(DEFINE_TEXT)

PyObject *event_kinds[KINDS];

int fields_setup(void) {
    static const char *const kinds[KINDS] = {"func_pre", "func_post", "func_raise", "new", "gone", "field_write",
                                             "field_read", "iter_next", "yield", "resume", "born", "emit"};
    for (int i = 0; i < KINDS; i++)
        if ((event_kinds[i] = PyUnicode_InternFromString(kinds[i])) == NULL) return -1;
#define MAKE_TEXT(name, text) if ((text_##name = PyUnicode_InternFromString(text)) == NULL) return -1;
    EACH_TEXT(MAKE_TEXT)
    return 0;
}

/* Gives events to the learner as numbers: of the event, the place and the object. The learner gives out the numbers, and is
   asked for each once. Both paths call it. Elsewhere the learner gets events (lawful/learning/event_numbering.py);
   tests/sources/python/test_learner_feed.py compares both. */
#include "tracer/learner_feed.h"

#include "events/lazy_event.h"

static const int word_kinds[] = {KIND_PRE, KIND_NEW, KIND_WRITE, KIND_READ}; /* by WORD_PRE and so on */

/* Numbers are kept from 1: 0 means unknown. */
static int ask_number(Tracer *tracer, PyObject *method, PyObject *first, PyObject *second, uint32_t *number) {
    PyObject *answer = plan_ask(tracer->learner, method, first, second);
    unsigned long value = answer ? PyLong_AsUnsignedLong(answer) : 0;
    Py_XDECREF(answer);
    if (answer == NULL || PyErr_Occurred()) return -1;
    if (value >= UINT32_MAX) return failed_with(PyExc_OverflowError, "more names or places than there are numbers");
    *number = (uint32_t)value + 1;
    return 0;
}

static int ask_site(Tracer *tracer, uint32_t place, uint32_t *site) {
    if (place == 0) return out_of_memory();
    int number = tracer->place_list[place - 1].line;
    PyObject *line = number < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(number);
    if (line == NULL) return -1;
    int failed = ask_number(tracer, text_site, tracer->place_list[place - 1].file, line, site);
    Py_DECREF(line);
    return failed;
}

int learner_feed_numbers(Tracer *tracer, int word, Callee *callee, PlaceNumbers *spot, PyCodeObject *code, int offset) {
    if (!callee->words[word] && ask_number(tracer, text_word, event_kinds[word_kinds[word]], callee->name, &callee->words[word]) < 0) return -1;
    return spot->site ? 0 : ask_site(tracer, plan_place(tracer, spot, code, offset), &spot->site);
}

int learn_at(Tracer *tracer, int word, Callee *callee, PyCodeObject *code, int offset, Id object) {
    PlaceNumbers *spot = plan_place_numbers(tracer, code, offset);
    if (spot == NULL) return -1;
    PlaceNumbers own = *spot;
    if (learn(tracer, word, callee, &own, code, offset, object) < 0) return -1;
    if (spot->site || tracer->window == NULL) return 0;
    if ((spot = plan_place_numbers(tracer, code, offset)) == NULL) return -1;
    *spot = own;
    return 0;
}

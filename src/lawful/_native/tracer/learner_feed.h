/* Events as numbers for the learner (learner_feed.c). */
#ifndef LAWFUL_LEARNER_FEED_H
#define LAWFUL_LEARNER_FEED_H

#include "learner/learner.h"
#include "tracer/tracer.h"

enum { WORD_PRE, WORD_NEW, WORD_WRITE, WORD_READ }; /* of a callee */

/* Numbers that are not known yet. -1: a fault. */
int learner_feed_numbers(Tracer *tracer, int word, Callee *callee, PlaceNumbers *spot, PyCodeObject *code, int offset);

/* Of code that may have no plan, and may lose its numbers while others run. -1: a fault. */
int learn_at(Tracer *tracer, int word, Callee *callee, PyCodeObject *code, int offset, Id object);

/* What comes after it must not need the tracer: the program may have to wait here, and others go on. -1: a fault. */
static inline int learn(Tracer *tracer, int word, Callee *callee, PlaceNumbers *spot, PyCodeObject *code, int offset, Id object) {
    if ((!callee->words[word] || !spot->site) && learner_feed_numbers(tracer, word, callee, spot, code, offset) < 0) return -1;
    stream_push(tracer->window, callee->words[word] - 1, spot->site - 1, object); /* if it fails, the window says so itself */
    return 0;
}

#endif

/* Events as numbers: what the learner is told. See learner_feed.c. */
#ifndef LAWFUL_SINK_H
#define LAWFUL_SINK_H

#include "learner/learner.h"
#include "tracer/tracer.h"

#ifndef LAWFUL_NO_TRACER

enum { WORD_PRE, WORD_NEW, WORD_WRITE, WORD_READ }; /* of a callee */

int sink_setup(void);
/* Numbers that are not known yet. -1: a fault. */
int sink_ask(Tracer *tracer, int word, Callee *callee, Spot *spot, PyCodeObject *code, int offset);

/* Of code that may have no plan, and may lose its numbers while others run. -1: a fault. */
int sink_learn_at(Tracer *tracer, int word, Callee *callee, PyCodeObject *code, int offset, Id object);

/* What comes after it must not need the tracer: the program may have to wait here, and others go on. -1: a fault. */
static inline int learn(Tracer *tracer, int word, Callee *callee, Spot *spot, PyCodeObject *code, int offset, Id object) {
    if ((!callee->words[word] || !spot->site) && sink_ask(tracer, word, callee, spot, code, offset) < 0) return -1;
    stream_push(tracer->window, callee->words[word] - 1, spot->site - 1, object); /* if it fails, the window says so itself */
    return 0;
}

#endif
#endif

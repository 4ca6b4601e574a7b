/* Messages that tasks put into asyncio's queues. */
#ifndef LAWFUL_EXCHANGE_H
#define LAWFUL_EXCHANGE_H

#include "tracer/tracer.h"

typedef struct Post Post;
extern PyTypeObject PostType, QueueReaderType, WayType;

/* A function of asyncio's queues starts. As in tracer/probe.c; POST_UNKNOWN: Python must look at it. */
#define POST_UNKNOWN 2
#define NOTHING_ELSE (~(WANT_ON_CALL | WANT_ON_RETURN | WANT_SITE)) /* what may be wanted of a function that carries messages */
int post_start(Tracer *tracer, CodeInfo *info, RunFrame *frame);
/* The same, where nothing was found out about the function yet. POST_OTHER: it is none of those, or something is new. */
#define POST_OTHER 3
int post_begin(Tracer *tracer, PyCodeObject *code, RunFrame *frame);

#endif

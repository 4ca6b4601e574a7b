/* Messages that tasks put into asyncio's queues. */
#ifndef LAWFUL_MESSAGES_H
#define LAWFUL_MESSAGES_H

#include "tracer/tracer.h"

typedef struct MessageCache MessageCache;
extern PyTypeObject MessageCacheType, QueueReaderType, RouteType;

/* A function of asyncio's queues starts. As in tracer/probe.c; POST_UNKNOWN: Python must look at it. */
#define ASK_PYTHON 2
#define NOTHING_ELSE (~(WANT_ON_CALL | WANT_ON_RETURN | WANT_SITE)) /* what may be wanted of a function that carries messages */
int message_start(Tracer *tracer, CodeInfo *info, RunFrame *frame);
/* The same, where nothing was found out about the function yet. POST_OTHER: it is none of those, or something is new. */
#define NOT_A_MESSAGE 3
int message_begin(Tracer *tracer, PyCodeObject *code, RunFrame *frame);

#endif

/* Messages between asyncio tasks: what the tracer calls (messages.c). */
#ifndef LAWFUL_MESSAGES_H
#define LAWFUL_MESSAGES_H

#include "tracer/tracer.h"

typedef struct MessageCache MessageCache;
extern PyTypeObject MessageCacheType, QueueReaderType, RouteType;

/* A function that carries messages starts. Answers as in tracer/probe.c; ASK_PYTHON: Python has to handle it. */
#define ASK_PYTHON 2
#define NOTHING_ELSE (~(WANT_ON_CALL | WANT_ON_RETURN | WANT_SITE)) /* what others may want of such a function */
int message_start(Tracer *tracer, CodeInfo *info, RunFrame *frame);
/* The same, before the function's plan is known. NOT_A_MESSAGE: it carries none, or something is new. */
#define NOT_A_MESSAGE 3
int message_begin(Tracer *tracer, PyCodeObject *code, RunFrame *frame);

#endif

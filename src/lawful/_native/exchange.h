/* Messages that tasks put into asyncio's queues. */
#ifndef LAWFUL_EXCHANGE_H
#define LAWFUL_EXCHANGE_H

#include "tracer.h"

#ifndef LAWFUL_NO_TRACER

typedef struct Post Post;
extern PyTypeObject PostType, QueueReaderType, WayType;

/* A function of asyncio's queues starts. As in probe.c; POST_UNKNOWN: Python must look at it. */
#define POST_UNKNOWN 2
int post_start(Tracer *tracer, CodeInfo *info, RunFrame *frame);

#endif
#endif

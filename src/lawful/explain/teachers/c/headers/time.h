#ifndef LAWFUL_TIME_H
#define LAWFUL_TIME_H
#include <stddef.h>
typedef long time_t;
typedef long clock_t;
#define CLOCKS_PER_SEC 1000000L
/* The system's own headers define the same under these names, before or after. */
#define __time_t_defined 1
#define __clock_t_defined 1
#ifndef __struct_tm_defined
#define __struct_tm_defined 1
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
};
#endif
#ifndef _STRUCT_TIMESPEC
#define _STRUCT_TIMESPEC 1
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
#endif
time_t time(time_t *result);
clock_t clock(void);
double difftime(time_t later, time_t earlier);
time_t mktime(struct tm *parts);
struct tm *localtime(const time_t *moment);
struct tm *gmtime(const time_t *moment);
#endif

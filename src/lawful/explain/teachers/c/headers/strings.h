#ifndef LAWFUL_STRINGS_H
#define LAWFUL_STRINGS_H
#include <stddef.h>
int strcasecmp(const char *left, const char *right);
int strncasecmp(const char *left, const char *right, size_t count);
void bzero(void *to, size_t count);
#endif

#ifndef LAWFUL_STRING_H
#define LAWFUL_STRING_H
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
void *memchr(const void *in, int byte, size_t count);
int memcmp(const void *left, const void *right, size_t count);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t most);
char *strcpy(char *to, const char *from);
char *strncpy(char *to, const char *from, size_t count);
char *strcat(char *to, const char *from);
char *strncat(char *to, const char *from, size_t count);
int strcmp(const char *left, const char *right);
int strncmp(const char *left, const char *right, size_t count);
char *strchr(const char *in, int byte);
char *strrchr(const char *in, int byte);
char *strstr(const char *in, const char *part);
char *strpbrk(const char *in, const char *any);
size_t strspn(const char *in, const char *any);
size_t strcspn(const char *in, const char *any);
char *strtok(char *text, const char *separators);
char *strdup(const char *text);
char *strndup(const char *text, size_t count);
char *strerror(int number);
#endif

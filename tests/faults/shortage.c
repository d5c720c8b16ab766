/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.c - see shortage.h. */
#include "shortage.h"
#include "moments.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

bool shortage_refuses(void)
{
	if (!moments_pass())
		return false;
	errno = ENOMEM;
	return true;
}

/* ---- The calls that are turned aside --------------------------------------------------------- */

#define REFUSED(result, name, parameters, arguments, refusal)                                      \
	result __real_##name parameters;                                                           \
	result __wrap_##name parameters;                                                           \
	result __wrap_##name parameters                                                            \
	{                                                                                          \
		return shortage_refuses() ? refusal : __real_##name arguments;                     \
	}

REFUSED(void *, malloc, (size_t bytes), (bytes), NULL)
REFUSED(void *, calloc, (size_t count, size_t bytes), (count, bytes), NULL)
REFUSED(void *, realloc, (void *memory, size_t bytes), (memory, bytes), NULL)
REFUSED(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), NULL)
REFUSED(char *, strdup, (const char *text), (text), NULL)
REFUSED(void *, mmap, (void *at, size_t bytes, int access, int flags, int file, off_t offset),
	(at, bytes, access, flags, file, offset), MAP_FAILED)
REFUSED(int, pthread_create,
	(pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg),
	(thread, attributes, start, arg), EAGAIN)

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...)
{
	va_list arguments;
	if (shortage_refuses())
		return -1;
	va_start(arguments, format);
	int bytes = vasprintf(out, format, arguments);
	va_end(arguments);
	return bytes;
}

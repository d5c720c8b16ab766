/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - a file of a recorder: created with mode 0600, locked, written whole pieces at a time.
 */
#ifndef CANCEL_RECORDER_FILE_H
#define CANCEL_RECORDER_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* A descriptor, or -1 and errno; EWOULDBLOCK: another recorder writes it. */
int file_create(const char *path);
bool file_write(int file, const void *bytes, size_t count);
/* PATH becomes PATH.1, PATH.1 PATH.2 …; of `count` files in all the oldest is removed. */
void file_rotate(const char *path, unsigned count);
/* Is there a file with something in it that nobody writes? */
bool file_is_left(const char *path);

#endif

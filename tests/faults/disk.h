/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - a disk that fails once, at the chosen moment (moments.h), and one that tells of each
 * write. It stands between the C library and both the engine and SQLite: the executable's own
 * pread, pwrite and so on come before the C library's.
 */
#ifndef FAULTS_DISK_H
#define FAULTS_DISK_H

#include <stdbool.h>

enum disk_fault {
	DISK_EIO,    /* any operation */
	DISK_ENOSPC, /* writes */
	DISK_SHORT,  /* reads and writes: half is done, and said so */
	DISK_FAULTS,
};
/* How the next moment fails; only what can fail so is a moment. */
void disk_fails_with(enum disk_fault fault);

/* NULL: nobody. Otherwise called when a write, a sync or a change of size has been done and, of a
 * write, also when its first half has. */
void disk_tell(void (*changed)(void));

#endif

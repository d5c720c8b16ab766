/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - counts the bytes SQLite allocates for each statement. */
#ifndef DEMO_DB_MEMORY_H
#define DEMO_DB_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Written by the thread it is charged on; read by anybody, relaxed. Freed memory is credited to
 * whoever frees it, so `bytes` may fall below zero. */
struct memory_account {
	_Atomic int64_t bytes, peak;
	/* of that thread: */
	uint64_t limit;	  /* a large allocation beyond it is refused; 0: none is */
	uint64_t refused; /* what the statement would have had with the last such one */
};

/* Puts the counting allocator under SQLite, once a process and before its first use. False: SQLite
 * was already in use, nothing is counted. */
bool memory_install(void);
/* From now on this thread's allocations go to `account` (NULL: nowhere). Returns the former one. */
struct memory_account *memory_charge(struct memory_account *account);
/* Where they go now; NULL: nowhere. */
struct memory_account *memory_charged(void);
void memory_reset(struct memory_account *account, uint64_t limit);
uint64_t memory_peak(const struct memory_account *account);
uint64_t memory_bytes(const struct memory_account *account);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ghost.h - which task evicted which page, for the last `capacity` evictions of a shard.
 * Not thread-safe: the shard's lock guards it.
 */
#ifndef DEMO_DB_GHOST_H
#define DEMO_DB_GHOST_H

#include <cancel/cancel.h>

#include <stdbool.h>
#include <stdint.h>

struct ghost;

struct ghost_directory {
	struct ghost *entries; /* a ring: the oldest is overwritten */
	uint32_t *buckets;
	uint32_t capacity, oldest, count;
	uint32_t bucket_shift;
};

int ghost_init(struct ghost_directory *ghosts, uint32_t capacity) CANCEL_MUST_CHECK;
void ghost_destroy(struct ghost_directory *ghosts);
/* The page was evicted by this task (0: by none). A page must not be remembered twice. */
void ghost_remember(struct ghost_directory *ghosts, uint64_t page_key, struct cancel_task evictor);
/* The page is loaded again: forgets it. False: unknown, a cold miss. */
bool ghost_take(struct ghost_directory *ghosts, uint64_t page_key, struct cancel_task *evictor);

#endif

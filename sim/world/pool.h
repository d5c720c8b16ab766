/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - an LRU page pool that remembers who evicted what.
 *
 * Pages are named by a 64-bit key; each resident page has an owner (a task id). The ghost directory
 * is as large as the pool and holds, for the pages evicted last, the task that evicted them.
 */
#ifndef SIM_WORLD_POOL_H
#define SIM_WORLD_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* A fixed number of (key, value) pairs in order of use; the oldest makes room. */
struct world_directory {
	uint64_t *keys, *values;
	uint32_t *newer, *older, *chain, *buckets;
	uint32_t capacity, count, bucket_count;
	uint32_t newest, oldest, free;
};

struct world_pool {
	struct world_directory resident, ghost;
};

void world_pool_init(struct world_pool *pool, uint32_t capacity);
void world_pool_free(struct world_pool *pool);
/* True: the page is resident and now the most recently used. */
bool world_pool_touch(struct world_pool *pool, uint64_t key);
/* Who evicted this page, while the ghost directory remembers; 0: unknown. */
uint64_t world_pool_evictor(const struct world_pool *pool, uint64_t key);
/* Makes the page resident for `owner`. Returns true when another page had to go; its owner is then
 * in *victim_owner and, if it is another, the ghost directory names `owner` as its evictor. */
bool world_pool_insert(
	struct world_pool *pool, uint64_t key, uint64_t owner, uint64_t *victim_owner);
/* Resident pages of one owner: O(capacity), for checks. */
uint64_t world_pool_owned(const struct world_pool *pool, uint64_t owner);

#endif

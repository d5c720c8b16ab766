/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - two directories: what is resident, and what was evicted by whom. */
#include "sim/world/pool.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/base/rng.h"

#define NONE UINT32_MAX

static void directory_init(struct world_directory *d, uint32_t capacity)
{
	uint32_t buckets = 16;
	while (buckets < capacity)
		buckets *= 2;
	*d = (struct world_directory){
		.capacity = capacity, .bucket_count = buckets, .newest = NONE, .oldest = NONE
	};
	d->keys = sim_alloc(capacity, sizeof *d->keys);
	d->values = sim_alloc(capacity, sizeof *d->values);
	d->newer = sim_alloc(capacity, sizeof *d->newer);
	d->older = sim_alloc(capacity, sizeof *d->older);
	d->chain = sim_alloc(capacity, sizeof *d->chain);
	d->buckets = sim_alloc(buckets, sizeof *d->buckets);
	for (uint32_t i = 0; i < buckets; i++)
		d->buckets[i] = NONE;
	for (uint32_t i = 0; i < capacity; i++)
		d->chain[i] = i + 1 < capacity ? i + 1 : NONE;
}

static void directory_free(struct world_directory *d)
{
	free(d->keys);
	free(d->values);
	free(d->newer);
	free(d->older);
	free(d->chain);
	free(d->buckets);
}

static uint32_t *bucket_of(const struct world_directory *d, uint64_t key)
{
	return &d->buckets[sim_hash(key) & (d->bucket_count - 1)];
}

static uint32_t directory_find(const struct world_directory *d, uint64_t key)
{
	uint32_t i = *bucket_of(d, key);
	while (i != NONE && d->keys[i] != key)
		i = d->chain[i];
	return i;
}

static void detach(struct world_directory *d, uint32_t i)
{
	if (d->newer[i] == NONE)
		d->newest = d->older[i];
	else
		d->older[d->newer[i]] = d->older[i];
	if (d->older[i] == NONE)
		d->oldest = d->newer[i];
	else
		d->newer[d->older[i]] = d->newer[i];
}

static void attach_newest(struct world_directory *d, uint32_t i)
{
	d->newer[i] = NONE;
	d->older[i] = d->newest;
	if (d->newest == NONE)
		d->oldest = i;
	else
		d->newer[d->newest] = i;
	d->newest = i;
}

static void directory_remove(struct world_directory *d, uint32_t i)
{
	uint32_t *link = bucket_of(d, d->keys[i]);
	while (*link != i)
		link = &d->chain[*link];
	*link = d->chain[i];
	detach(d, i);
	d->chain[i] = d->free;
	d->free = i;
	d->count--;
}

static void directory_add(struct world_directory *d, uint64_t key, uint64_t value)
{
	uint32_t i = d->free;
	d->free = d->chain[i];
	d->keys[i] = key;
	d->values[i] = value;
	uint32_t *bucket = bucket_of(d, key);
	d->chain[i] = *bucket;
	*bucket = i;
	attach_newest(d, i);
	d->count++;
}

static void remember(struct world_directory *ghost, uint64_t key, uint64_t evictor)
{
	uint32_t i = directory_find(ghost, key);
	if (i != NONE)
		directory_remove(ghost, i);
	if (ghost->count == ghost->capacity)
		directory_remove(ghost, ghost->oldest);
	directory_add(ghost, key, evictor);
}

void world_pool_init(struct world_pool *pool, uint32_t capacity)
{
	directory_init(&pool->resident, capacity);
	directory_init(&pool->ghost, capacity);
}

void world_pool_free(struct world_pool *pool)
{
	directory_free(&pool->resident);
	directory_free(&pool->ghost);
}

bool world_pool_touch(struct world_pool *pool, uint64_t key)
{
	uint32_t i = directory_find(&pool->resident, key);
	if (i == NONE)
		return false;
	detach(&pool->resident, i);
	attach_newest(&pool->resident, i);
	return true;
}

uint64_t world_pool_evictor(const struct world_pool *pool, uint64_t key)
{
	uint32_t i = directory_find(&pool->ghost, key);
	return i == NONE ? 0 : pool->ghost.values[i];
}

bool world_pool_insert(
	struct world_pool *pool, uint64_t key, uint64_t owner, uint64_t *victim_owner)
{
	struct world_directory *d = &pool->resident;
	bool evicts = d->count == d->capacity;
	if (evicts) {
		uint32_t victim = d->oldest;
		*victim_owner = d->values[victim];
		if (*victim_owner != owner)
			remember(&pool->ghost, d->keys[victim], owner);
		directory_remove(d, victim);
	}
	directory_add(d, key, owner);
	return evicts;
}

uint64_t world_pool_owned(const struct world_pool *pool, uint64_t owner)
{
	uint64_t pages = 0;
	for (uint32_t i = pool->resident.newest; i != NONE; i = pool->resident.older[i])
		pages += pool->resident.values[i] == owner;
	return pages;
}

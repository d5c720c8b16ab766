/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ghost.c - owns the memory of evictions: a ring of entries with a chained hash over it, so the
 * oldest is forgotten when the ring is full. Knows pages by key and tasks by id, nothing of frames
 * or files.
 */
#include "demo-db/engine/storage/ghost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct ghost {
	uint64_t page_key; /* 0: empty */
	struct cancel_task evictor;
	uint32_t next;
};

static uint32_t *bucket_of(const struct ghost_directory *ghosts, uint64_t page_key)
{
	/* Fibonacci hashing (Knuth, TAOCP 6.4): the top bits of key times 2^64 / golden ratio. */
	return &ghosts->buckets[(page_key * 0x9e3779b97f4a7c15u) >> ghosts->bucket_shift];
}

int ghost_init(struct ghost_directory *ghosts, uint32_t capacity)
{
	*ghosts = (struct ghost_directory){ .capacity = capacity };
	if (capacity == 0)
		return 0;
	uint32_t bits = 1;
	while ((UINT64_C(1) << bits) < capacity)
		bits++;
	ghosts->bucket_shift = 64 - bits;
	ghosts->entries = calloc(capacity, sizeof(*ghosts->entries));
	ghosts->buckets = malloc(sizeof(*ghosts->buckets) << bits);
	if (ghosts->entries == NULL || ghosts->buckets == NULL) {
		ghost_destroy(ghosts);
		return -ENOMEM;
	}
	memset(ghosts->buckets, 0xff, sizeof(*ghosts->buckets) << bits);
	return 0;
}

void ghost_destroy(struct ghost_directory *ghosts)
{
	free(ghosts->entries);
	free(ghosts->buckets);
	*ghosts = (struct ghost_directory){ 0 };
}

/* The link that names the page's entry, or the NONE that ends its chain. */
static uint32_t *link_to(const struct ghost_directory *ghosts, uint64_t page_key)
{
	uint32_t *link = bucket_of(ghosts, page_key);
	while (*link != NONE && ghosts->entries[*link].page_key != page_key)
		link = &ghosts->entries[*link].next;
	return link;
}

static void forget(struct ghost_directory *ghosts, uint32_t *link)
{
	struct ghost *ghost = &ghosts->entries[*link];
	*link = ghost->next;
	ghost->page_key = 0;
	ghosts->count--;
}

void ghost_remember(struct ghost_directory *ghosts, uint64_t page_key, struct cancel_task evictor)
{
	if (ghosts->capacity == 0)
		return;
	uint32_t index = ghosts->oldest;
	ghosts->oldest = index + 1 == ghosts->capacity ? 0 : index + 1;
	struct ghost *ghost = &ghosts->entries[index];
	if (ghost->page_key != 0)
		forget(ghosts, link_to(ghosts, ghost->page_key));
	uint32_t *bucket = bucket_of(ghosts, page_key);
	*ghost = (struct ghost){ .page_key = page_key, .evictor = evictor, .next = *bucket };
	*bucket = index;
	ghosts->count++;
}

bool ghost_take(struct ghost_directory *ghosts, uint64_t page_key, struct cancel_task *evictor)
{
	*evictor = (struct cancel_task){ 0 };
	if (ghosts->count == 0)
		return false;
	uint32_t *link = link_to(ghosts, page_key);
	if (*link == NONE)
		return false;
	*evictor = ghosts->entries[*link].evictor;
	forget(ghosts, link);
	return true;
}

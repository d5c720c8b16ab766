/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation. */
#include "sim/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(size_t count, size_t size_bytes)
{
	fprintf(stderr, "cancel-sim: out of memory asking for %zu elements of %zu bytes\n", count,
		size_bytes);
	exit(1);
}

void *sim_alloc(size_t count, size_t size_bytes)
{
	void *block = calloc(count > 0 ? count : 1, size_bytes);
	if (!block)
		out_of_memory(count, size_bytes);
	return block;
}

void *sim_grow(void *array, size_t *capacity, size_t wanted, size_t size_bytes)
{
	size_t next = *capacity > 0 ? *capacity : 16;
	if (wanted <= *capacity)
		return array;
	if (wanted > SIZE_MAX / 2 / size_bytes)
		out_of_memory(wanted, size_bytes);
	while (next < wanted)
		next *= 2;
	void *moved = realloc(array, next * size_bytes);
	if (!moved)
		out_of_memory(next, size_bytes);
	*capacity = next;
	return moved;
}

void *sim_slab_take(struct sim_slab *slab, void *array, size_t size_bytes, uint32_t *place)
{
	if (slab->free_count > 0) {
		*place = slab->free[--slab->free_count];
		return array;
	}
	array = sim_grow(array, &slab->capacity, slab->count + 1, size_bytes);
	*place = (uint32_t)slab->count++;
	memset((char *)array + *place * size_bytes, 0, size_bytes);
	return array;
}

void sim_slab_give(struct sim_slab *slab, uint32_t place)
{
	slab->free = sim_grow(
		slab->free, &slab->free_capacity, slab->free_count + 1, sizeof(*slab->free));
	slab->free[slab->free_count++] = place;
}

char *sim_copy_text(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = sim_alloc(bytes, 1);
	memcpy(copy, text, bytes);
	return copy;
}

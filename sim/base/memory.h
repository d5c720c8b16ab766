/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - allocation of the simulator: growing arrays, and one answer to exhaustion.
 * Running out of memory ends the tool with one line and status 1; nothing was written by then.
 */
#ifndef SIM_BASE_MEMORY_H
#define SIM_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed; never NULL. Free with free(). */
void *sim_alloc(size_t count, size_t size_bytes);
/* Room for at least `wanted` elements: doubles `*capacity`; returns the (moved) array. */
void *sim_grow(void *array, size_t *capacity, size_t wanted, size_t size_bytes);

/* Which places of an array are in use: the one freed last is given out first. */
struct sim_slab {
	size_t count, capacity; /* places that were ever given out; room */
	uint32_t *free;
	size_t free_count, free_capacity;
};

/* A place of `array`, zeroed when it is new; returns the (moved) array. */
void *sim_slab_take(struct sim_slab *slab, void *array, size_t size_bytes, uint32_t *place);
void sim_slab_give(struct sim_slab *slab, uint32_t place);

char *sim_copy_text(const char *text);

#endif

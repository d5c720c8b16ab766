/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - allocation of the simulator: growing arrays, and one answer to exhaustion.
 * Running out of memory ends the tool with one line and status 1; nothing was written by then.
 */
#ifndef SIM_BASE_MEMORY_H
#define SIM_BASE_MEMORY_H

#include <stddef.h>

/* Zeroed; never NULL. Free with free(). */
void *sim_alloc(size_t count, size_t size_bytes);
/* Room for at least `wanted` elements: doubles `*capacity`; returns the (moved) array. */
void *sim_grow(void *array, size_t *capacity, size_t wanted, size_t size_bytes);
char *sim_copy_text(const char *text);

#endif

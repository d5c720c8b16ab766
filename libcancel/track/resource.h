/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.h - the table of resources, and what a resource's id says about it.
 *
 * The id carries all a hot call needs: bits 0-7 index + 1, 8-9 type, 10-12 log2 of the width of a
 * lock mode's nesting count, 13-16 number of lock modes (1 where there are none), 17-31 the age:
 * how often the table has been emptied (modulo 2^15). An id kept over a stop and a start is of
 * another age than the table and is refused: its index may be another resource by now.
 */
#ifndef CANCEL_TRACK_RESOURCE_H
#define CANCEL_TRACK_RESOURCE_H

#include <cancel/observe.h>

#include "libcancel/sys/order.h"

static inline uint32_t resource_index(struct cancel_resource r)
{
	return (r.id & 0xff) - 1;
}

static inline uint32_t resource_type(struct cancel_resource r)
{
	return r.id >> 8 & 3;
}

static inline uint32_t resource_width_log2(struct cancel_resource r)
{
	return r.id >> 10 & 7;
}

static inline uint32_t resource_modes(struct cancel_resource r)
{
	return r.id >> 13 & 15;
}

#define RESOURCE_AGE_SHIFT 17

static inline uint32_t resource_age(struct cancel_resource r)
{
	return r.id >> RESOURCE_AGE_SHIFT;
}

/* Of the table. Written while no task is alive; whoever begins one has seen library_state.phase
 * since. */
extern internal _Atomic uint32_t resource_table_age;

static inline bool resource_valid(struct cancel_resource r)
{
	return resource_index(r) < CANCEL_RESOURCES_MAX && resource_type(r) &&
	       resource_age(r) == load_relaxed(&resource_table_age);
}

struct resource { /* written before the count that covers it is released; then constant */
	char name[CANCEL_NAME_MAX]; /* read under the lock, or by the controller */
	_Atomic uint32_t id; /* of struct cancel_resource; a task begun before a stop may read it
				after the next start */
	uint64_t capacity;
	uint8_t conflicts[CANCEL_LOCK_MODES_MAX];
};

extern internal struct resource resource_table[CANCEL_RESOURCES_MAX];

uint32_t resource_count(void);

/* index < resource_count(), as of any earlier call. */
static inline const struct resource *resource_at(uint32_t index)
{
	return &resource_table[index];
}

static inline struct cancel_resource resource_id(uint32_t index)
{
	struct cancel_resource r = { .id = load_relaxed(&resource_table[index].id) };
	return r;
}

/* Start only, with no task alive. */
void resources_forget(void);

/* Around reads of names by other threads than the controller's. Leaf. */
void resources_lock(void);
void resources_unlock(void);

#endif

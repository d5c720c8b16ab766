/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contested.h - an index of the resource instances somebody waited for in the present window, with
 * those who used them. Only these are looked at again; a healthy server has few.
 */
#ifndef CANCEL_CORE_CONTESTED_H
#define CANCEL_CORE_CONTESTED_H

#include "libcancel/core/window.h"

/* A task's use of a contested instance in the window. */
struct holding {
	uint64_t overlap_ns;  /* how long it was used; QUEUE: slot time; MEMORY: stalls caused */
	uint64_t held_ns;     /* the same as plain time, at most the window */
	uint64_t since_ns;    /* start of the present hold, 0 = holds nothing now */
	uint64_t blame_ns;    /* delay that ends here */
	uint32_t task, entry; /* indices in the ledger */
	uint32_t site;
	uint32_t next_of_site, next_of_task;
	uint8_t modes;	  /* LOCK */
	uint8_t position; /* of the entry in its task's table */
};

struct site {
	uint64_t start_ns; /* the earliest instant in the window at which somebody waited */
	uint64_t use_ns;   /* all use of it in the window */
	uint64_t delay_ns; /* of SLO-bearing tasks still in the ledger */
	uint64_t first_since_ns[CANCEL_LOCK_MODES_MAX]; /* LOCK: first waiter by mode */
	uint8_t bars[CANCEL_LOCK_MODES_MAX]; /* modes (bits) whose holders keep that waiter, and
						 hence all behind it, waiting */
	uint32_t first_holding, first_front;
	uint32_t bucket;
	uint32_t instance;
	uint8_t resource;
	uint8_t held_modes;    /* LOCK: held by anybody in the window */
	uint32_t holder_count; /* who hold it now … */
	uint32_t holder_task;  /* … one of them */
	uint32_t blockers;     /* … those with blame: the k sharers of the gain */
};

struct contested {
	uint32_t site_limit, holding_limit, bucket_count; /* bucket_count: a power of two */
	struct site *sites;
	struct holding *holdings;
	uint32_t *buckets; /* site index + 1, 0 = empty */
	uint32_t site_count, holding_count;
	bool overflow; /* something did not fit: nobody is blamed in this window */
	uint8_t conflicts[CANCEL_RESOURCES_MAX][CANCEL_LOCK_MODES_MAX];
	enum cancel_resource_type types[CANCEL_RESOURCES_MAX];
};

/* Builds the index from the window's waits. */
void contested_build(struct contested *contested, struct history *history,
	const struct cancel_ledger *ledger, const struct window *window);
void contested_clear(struct contested *contested);

/* Modes (bits) that cannot be held beside `mode`; of an unknown mode (0): all. */
static inline uint8_t contested_blockers(const struct contested *c, uint8_t resource, uint8_t mode)
{
	return mode ? c->conflicts[resource][mode - 1] : UINT8_MAX;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contended.h - an index of the resource instances somebody waited for in the present window, with
 * those who used them. Only these are looked at again; a healthy server has few.
 */
#ifndef CANCEL_CORE_CONTENDED_H
#define CANCEL_CORE_CONTENDED_H

#include "libcancel/core/window.h"

/* A task's use of a contended instance in the window. */
struct use {
	uint64_t overlap_ns;  /* how long it was used; QUEUE: slot time; MEMORY: stalls caused */
	uint64_t held_ns;     /* the same as plain time, at most the window */
	uint64_t since_ns;    /* start of the present hold, 0 = holds nothing now */
	uint64_t blame_ns;    /* delay that ends here */
	uint32_t task, entry; /* indices in the ledger */
	uint32_t instance;
	uint32_t next_of_instance, next_of_task;
	uint8_t modes;	  /* LOCK */
	uint8_t position; /* of the entry in its task's table */
	bool bars;	  /* it holds nothing: it waits, and bars those behind it */
};

/* LOCK: waiters that bar others, against the holders they wait for. */
struct barring {
	uint64_t free_ns;	  /* delay of those whom no holder keeps out … */
	uint64_t last_free_ns;	  /* … and since when the last of them waits */
	uint64_t own_ns, loss_ns; /* of the barring waiters: delay, wait so far */
	uint32_t count;
	uint32_t longest;	   /* use of the holder in their way that has held longest */
	uint8_t free_modes, modes; /* modes of those kept out; modes the barring wait for */
	uint8_t rank;
	bool stays; /* one of them must not go */
	bool go;    /* they go, and not the holders */
};

struct instance {
	uint64_t start_ns; /* the earliest instant in the window at which somebody waited */
	uint64_t use_ns;   /* all use of it in the window */
	uint64_t delay_ns; /* of SLO-bearing tasks still in the ledger */
	uint64_t held;	   /* slots or units held now */
	/* Blame of its users over three windows, and the part of those who may not be cancelled. */
	uint64_t blame_us, blocked_us;
	uint64_t first_since_ns[CANCEL_LOCK_MODES_MAX]; /* LOCK: first waiter by mode */
	/* By mode: the modes (bits) whose holders keep that waiter, and so all behind it,
	 * waiting. */
	uint8_t blocked_by[CANCEL_LOCK_MODES_MAX];
	uint32_t first_use, first_group;
	uint32_t bucket;
	uint32_t number; /* of the instance: table 17, queue 3 */
	uint8_t resource;
	uint8_t held_modes;    /* LOCK: held by anybody in the window … */
	uint8_t present_modes; /* … or now */
	uint32_t holder_count; /* who hold it now … */
	uint32_t holder_task;  /* … one of them */
	uint32_t sharers;      /* … those with blame: the k sharers of the gain */
	bool awaited;	       /* what was given back here does not show yet */
	bool barred;	       /* nobody is a candidate for what is lost here */
	struct barring barring;
};

struct contended {
	uint32_t instance_limit, use_limit, bucket_count; /* bucket_count: a power of two */
	struct instance *instances;
	struct use *uses;
	uint32_t *buckets; /* index of an instance + 1, 0 = empty */
	uint32_t instance_count, use_count;
	bool overflow; /* something did not fit: nobody is blamed in this window */
	uint8_t conflicts[CANCEL_RESOURCES_MAX][CANCEL_LOCK_MODES_MAX];
	/* A pool from which nobody ever evicted and that is nearly full is given out by grants: it
	 * is judged as a QUEUE of units, in which who holds is in the way. */
	enum cancel_resource_type types[CANCEL_RESOURCES_MAX];
};

/* Builds the index from the window's waits. */
void contended_build(struct contended *contended, struct history *history,
	const struct cancel_ledger *ledger, const struct window *window);
void contended_clear(struct contended *contended);
/* The index of an instance, or NONE when nobody waits for it. */
uint32_t contended_find(const struct contended *contended, uint8_t resource, uint32_t number);

/* Modes (bits) that cannot be held beside `mode`; of an unknown mode (0): all. */
static inline uint8_t contended_conflicts(const struct contended *c, uint8_t resource, uint8_t mode)
{
	return mode ? c->conflicts[resource][mode - 1] : UINT8_MAX;
}

#endif

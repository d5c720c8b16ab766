/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.h - FIFO locks with modes: what table locks, the global lock and the write lock are made of.
 *
 * All locks of an engine live in one space under one mutex, so a set of locks is taken, and the
 * graph of waits is read, at one instant. Grants are re-entrant and last until lock_release_all.
 */
#ifndef DEMO_DB_LOCK_H
#define DEMO_DB_LOCK_H

#include "demo-db/engine/engine.h"

#include <pthread.h>

#define LOCK_MODES_MAX	   4
#define LOCK_GRANTS_INLINE 12 /* of an owner, before it allocates */

enum lock_kind_index { LOCK_KIND_GLOBAL, LOCK_KIND_TABLE, LOCK_KIND_WRITE, LOCK_KIND_COUNT };

struct lock_kind {
	enum lock_kind_index index;
	const char *name;
	const char *mode_names[LOCK_MODES_MAX]; /* by mode - 1 */
	uint8_t conflicts[LOCK_MODES_MAX];	/* bit (j-1) of [i-1]: mode i bars mode j */
};

struct lock_owner;

struct lock { /* all under the space's mutex */
	const struct lock_kind *kind;
	const char *name;
	uint32_t instance;
	uint32_t held[LOCK_MODES_MAX]; /* grants that include mode i + 1 */
	struct lock_grant *grants;
	struct lock_owner *first_waiter, *last_waiter;
};

struct lock_grant {
	struct lock *lock;
	struct lock_owner *owner;
	uint8_t modes;			    /* bit (mode - 1) */
	uint8_t told;			    /* of those, what the library knows of */
	struct lock_grant *previous, *next; /* of the lock */
	struct lock_grant *next_of_owner;   /* of the owner, newest first; or its free list */
};

struct lock_wait {	   /* an owner waits for one lock at a time */
	struct lock *lock; /* NULL: it does not wait */
	uint8_t mode;
	bool upgrade;
	int outcome; /* LOCK_PENDING, 0 or a negative db_error */
	uint64_t since_ns;
	struct lock_grant *grant; /* reserved for the moment of success */
	struct lock_owner *previous, *next;
};
#define LOCK_PENDING 1

struct lock_space {
	pthread_mutex_t mutex;
	struct cancel_resource resources[LOCK_KIND_COUNT]; /* set before the first use */
	struct lock_owner *owners;			   /* all, for the deadlock graph */
	uint32_t waiting;				   /* owners that wait now */
	uint64_t waits[LOCK_KIND_COUNT], wait_ns[LOCK_KIND_COUNT];
	uint32_t waiters[LOCK_KIND_COUNT];
	uint64_t timeouts, deadlocks;
	void (*on_wait)(void *arg); /* before a wait; under the mutex. Set before the first use */
	void *on_wait_arg;
};

struct lock_owner {
	struct lock_space *space;
	pthread_cond_t woken;
	struct lock_wait wait; /* under the mutex */
	bool untracked;	       /* grants are not told before it waits, or lock_speak */
	void (*before_wait)(struct lock_owner *owner); /* of an untracked owner's first wait */
	int cancelled;		   /* under the mutex; a negative db_error ends its waits */
	uint64_t age;		   /* start of its transaction: the youngest is the victim */
	uint64_t number;	   /* for messages */
	struct lock_grant *grants; /* under the mutex */
	struct lock_grant *free_grants;
	struct lock_grant inline_grants[LOCK_GRANTS_INLINE];
	struct lock_owner *previous_owner, *next_owner;
	uint32_t node;	     /* scratch of the deadlock search */
	char wait_text[160]; /* why its last wait failed */
};

struct lock_request {
	struct lock *lock;
	uint8_t mode;
};

struct lock_waited { /* time spent, added to */
	uint64_t ns[LOCK_KIND_COUNT];
};

int lock_space_init(struct lock_space *space);
void lock_space_destroy(struct lock_space *space);
void lock_init(
	struct lock *lock, const struct lock_kind *kind, const char *name, uint32_t instance);
int lock_owner_init(struct lock_owner *owner, struct lock_space *space, uint64_t number);
void lock_owner_destroy(struct lock_owner *owner);

/* Takes the locks in the order given, waiting for each at most timeout_ns (0: not at all). 0,
 * DB_ELOCKTIMEOUT, DB_EDEADLOCK, DB_ENOMEM, or what lock_cancel gave. What was granted stays
 * granted. The owner's task is the thread's current one. */
int lock_acquire(struct lock_owner *owner, const struct lock_request *requests, uint32_t count,
	uint64_t timeout_ns, struct lock_waited *waited);
/* Gives up `from` of a lock held in it, keeping or adding the weaker `to`; never waits. */
void lock_downgrade(struct lock_owner *owner, struct lock *lock, uint8_t from, uint8_t to);
void lock_release_all(struct lock_owner *owner);
/* Tells the library of what an untracked owner holds, and of what it takes from now on. */
void lock_speak(struct lock_owner *owner);
/* Ends the owner's wait, and every later one until lock_cancel_clear, with `status`. Any thread. */
void lock_cancel(struct lock_owner *owner, int status);
void lock_cancel_clear(struct lock_owner *owner);
bool lock_holds_any(struct lock_owner *owner);
bool lock_holds(struct lock_owner *owner, const struct lock *lock, uint8_t mode);

/* For the deadlock search; the space's mutex is held. */
bool lock_bars(const struct lock *lock, uint8_t held_modes, uint8_t wanted);
void lock_end_wait(struct lock_owner *owner, int outcome);

/* pthread_cond_t on the monotonic clock, and the time `ns` from now on it. */
int cond_init_monotonic(pthread_cond_t *cond);
struct timespec deadline_after(uint64_t ns);

#endif

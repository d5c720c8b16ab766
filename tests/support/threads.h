/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - a race test's threads: each runs a body until the test says stop; what they find
 * wrong is counted, and asserted on the main thread, because cmocka cannot do it elsewhere.
 */
#ifndef SUPPORT_THREADS_H
#define SUPPORT_THREADS_H

#include "runtime.h"

#include <pthread.h>

#define RACE_MS		 700 /* each race runs at least so long; a shorter one misses more */
#define RACE_THREADS_MAX 16

static _Atomic bool race_over;
static _Atomic uint32_t race_wrong; /* things that must never be seen, and were */

struct race {
	pthread_t threads[RACE_THREADS_MAX];
	int count;
};

static UNUSED void race_begin(struct race *r)
{
	r->count = 0;
	store_relaxed(&race_over, false);
	store_relaxed(&race_wrong, 0);
}

static UNUSED void race_add(struct race *r, void *(*body)(void *), void *arg)
{
	assert_true(r->count < RACE_THREADS_MAX);
	assert_int_equal(pthread_create(&r->threads[r->count++], NULL, body, arg), 0);
}

static UNUSED void race_join(struct race *r)
{
	store_relaxed(&race_over, true);
	for (int i = 0; i < r->count; i++)
		pthread_join(r->threads[i], NULL);
	assert_int_equal(load_relaxed(&race_wrong), 0);
}

/* For RACE_MS, and on until each thing that the race is about has happened. */
static UNUSED void race_run(struct race *r, bool (*enough)(void))
{
	struct timespec length = { .tv_nsec = RACE_MS * 1000000 };
	nanosleep(&length, NULL);
	WAIT_UNTIL(enough());
	race_join(r);
}

static inline void race_expect(bool right)
{
	if (!right)
		add_relaxed(&race_wrong, 1);
}

#endif

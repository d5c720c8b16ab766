/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread-safe DAGOR gate: atomic counters in front of the pure one. It owns who closes a
 * window: that thread hands the counts to the pure gate and publishes the new cursor.
 *
 * Why it is safe: every request adds once to one counter, and the closer takes counters by
 * exchange, so each is judged exactly once, in this window or the next. The closer holds the lock,
 * tested again under it, so a window closes once. Nothing depends on seeing two counters at the
 * same instant: a mean over 2000 observations does not mind one delay counted a window early. Hence
 * relaxed order everywhere; the lock orders the pure gate.
 */
#include <cancel/admission_shared.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libcancel/admission/dagor.h"
#include "libcancel/base/fixed.h"
#include "libcancel/sys/order.h"

/* Cursor and serial in one word, so that a reply never carries one of each window. */
#define CURSOR_BITS 16u
#define CURSOR_MASK ((UINT64_C(1) << CURSOR_BITS) - 1)

struct cancel_dagor_shared {
	/* Constant after create; read by all. */
	uint32_t levels, window_requests;
	uint64_t window_ns;
	/* The closer writes, all read. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t serial_cursor;
	_Atomic uint64_t window_start_ns;
	/* All add, the closer takes. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t observed;
	_Atomic uint64_t delay_sum_ns;
	_Atomic uint64_t missed;
	_Alignas(CACHE_LINE_BYTES) _Atomic uint32_t histogram[CANCEL_DAGOR_LEVELS_MAX];
	/* Under the lock. */
	_Alignas(CACHE_LINE_BYTES) pthread_mutex_t lock;
	struct cancel_dagor gate;
	uint64_t requests, refused, mean_delay_ns;
};

static void publish(struct cancel_dagor_shared *shared)
{
	const struct cancel_dagor *gate = &shared->gate;
	store_relaxed(&shared->serial_cursor, gate->windows << CURSOR_BITS | gate->cursor);
	store_relaxed(&shared->window_start_ns, gate->window_start_ns);
}

struct cancel_dagor_shared *cancel_dagor_shared_create(const struct cancel_dagor_options *options)
{
	struct cancel_dagor_shared *shared =
		aligned_alloc(CACHE_LINE_BYTES, sizeof(struct cancel_dagor_shared));

	if (!shared)
		return NULL;
	memset(shared, 0, sizeof *shared);
	if (cancel_dagor_init(&shared->gate, options)) {
		free(shared);
		return NULL;
	}
	pthread_mutex_init(&shared->lock, NULL);
	shared->levels = shared->gate.levels;
	shared->window_requests = shared->gate.window_requests;
	shared->window_ns = shared->gate.window_ns;
	publish(shared);
	return shared;
}

void cancel_dagor_shared_free(struct cancel_dagor_shared *shared)
{
	if (!shared)
		return;
	pthread_mutex_destroy(&shared->lock);
	free(shared);
}

uint32_t cancel_dagor_shared_priority(
	const struct cancel_dagor_shared *shared, uint64_t now_ns, uint32_t business, uint64_t user)
{
	/* Reads only what cancel_dagor_init wrote and nothing changes later. */
	return cancel_dagor_priority(&shared->gate, now_ns, business, user);
}

static void take_counts(struct cancel_dagor_shared *shared)
{
	struct cancel_dagor *gate = &shared->gate;
	for (uint32_t level = 0; level < shared->levels; level++) {
		_Atomic uint32_t *const counter = &shared->histogram[level];
		/* Most levels of a quiet window are zero: a load is cheaper than an exchange. */
		const uint32_t count = load_relaxed(counter) ? exchange_relaxed(counter, 0) : 0;

		gate->histogram[level] = count;
		gate->requests += count;
		gate->admitted += level < gate->cursor ? count : 0;
	}
	gate->observed = exchange_relaxed(&shared->observed, 0);
	gate->delay_sum_ns = exchange_relaxed(&shared->delay_sum_ns, 0);
	gate->missed = exchange_relaxed(&shared->missed, 0);
	shared->requests += gate->requests;
	shared->refused += gate->requests - gate->admitted;
	if (gate->observed)
		shared->mean_delay_ns = gate->delay_sum_ns / gate->observed;
}

static bool time_is_up(const struct cancel_dagor_shared *shared, uint64_t now_ns)
{
	return fixed_minus(now_ns, load_relaxed(&shared->window_start_ns)) >= shared->window_ns;
}

static void close_window(struct cancel_dagor_shared *shared, uint64_t now_ns)
{
	if (pthread_mutex_trylock(&shared->lock))
		return; /* someone else is at it */
	if (time_is_up(shared, now_ns) ||
		load_relaxed(&shared->observed) >= shared->window_requests) {
		take_counts(shared);
		dagor_close_window(&shared->gate, now_ns);
		publish(shared);
	}
	pthread_mutex_unlock(&shared->lock);
}

bool cancel_dagor_shared_admit(
	struct cancel_dagor_shared *shared, uint64_t now_ns, uint32_t priority)
{
	const uint32_t level = priority < shared->levels ? priority : shared->levels - 1;
	if (unlikely(time_is_up(shared, now_ns)))
		close_window(shared, now_ns);
	add_relaxed(&shared->histogram[level], 1);
	return level < (load_relaxed(&shared->serial_cursor) & CURSOR_MASK);
}

void cancel_dagor_shared_observe(
	struct cancel_dagor_shared *shared, uint64_t now_ns, uint64_t delay_ns)
{
	if (unlikely(time_is_up(shared, now_ns)))
		close_window(shared, now_ns);
	add_relaxed(&shared->delay_sum_ns, delay_ns);
	if (unlikely(add_relaxed(&shared->observed, 1) + 1 >= shared->window_requests))
		close_window(shared, now_ns);
}

void cancel_dagor_shared_missed(struct cancel_dagor_shared *shared, uint64_t now_ns, uint64_t count)
{
	if (unlikely(time_is_up(shared, now_ns)))
		close_window(shared, now_ns);
	if (count)
		add_relaxed(&shared->missed, count);
}

struct cancel_dagor_level cancel_dagor_shared_level(
	const struct cancel_dagor_shared *shared, uint64_t now_ns)
{
	const uint64_t word = load_relaxed(&shared->serial_cursor);
	return (struct cancel_dagor_level){
		.cursor = (uint32_t)(word & CURSOR_MASK),
		.serial = word >> CURSOR_BITS,
		.age_ns = fixed_minus(now_ns, load_relaxed(&shared->window_start_ns)),
	};
}

void cancel_dagor_shared_stats(struct cancel_dagor_shared *shared, struct cancel_dagor_stats *stats)
{
	pthread_mutex_lock(&shared->lock);
	*stats = (struct cancel_dagor_stats){
		.levels = shared->levels,
		.cursor = shared->gate.cursor,
		.windows = shared->gate.windows,
		.overloaded = shared->gate.overloaded,
		.expected = shared->gate.expected_micro / CANCEL_PPM,
		.mean_delay_ns = shared->mean_delay_ns,
		.requests = shared->requests,
		.refused = shared->refused,
	};
	pthread_mutex_unlock(&shared->lock);
}

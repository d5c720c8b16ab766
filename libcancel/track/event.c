/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - owns the table of events of cancelled tasks.
 *
 * Only cancelled tasks post, a handful each; so a lock is cheap enough. It is a leaf: nothing is
 * called while it is held.
 */
#include "libcancel/track/event.h"

#include <pthread.h>
#include <string.h>

#include "libcancel/track/count.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cancel_event events[EVENTS_MAX];
static uint32_t event_count;

void event_post(enum cancel_event_kind kind, uint64_t task, uint64_t at_ns, uint64_t wasted_ns)
{
	pthread_mutex_lock(&lock);
	if (event_count < EVENTS_MAX)
		events[event_count++] = (struct cancel_event){
			.kind = kind,
			.task = task,
			.at_ns = at_ns,
			.wasted_ns = wasted_ns,
		};
	else
		count(CANCEL_COUNT_events_dropped);
	pthread_mutex_unlock(&lock);
}

/* Insertion sort: stable, and nearly sorted already. */
static void sort_by_time(struct cancel_event *e, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct cancel_event moving = e[i];
		uint32_t at = i;
		for (; at > 0 && e[at - 1].at_ns > moving.at_ns; at--)
			e[at] = e[at - 1];
		e[at] = moving;
	}
}

uint32_t events_take(struct cancel_event out[EVENTS_MAX])
{
	pthread_mutex_lock(&lock);
	uint32_t n = event_count;
	memcpy(out, events, n * sizeof events[0]);
	event_count = 0;
	pthread_mutex_unlock(&lock);
	sort_by_time(out, n);
	return n;
}

void events_forget(void)
{
	pthread_mutex_lock(&lock);
	event_count = 0;
	pthread_mutex_unlock(&lock);
}

void events_lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

void events_unlock_after_fork(bool child)
{
	if (child)
		event_count = 0;
	pthread_mutex_unlock(&lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.c - owns the list of origins in quarantine. A host asks for each request, so while
 * nobody is in quarantine the answer is one load.
 */
#include "libcancel/control/quarantine.h"

#include <pthread.h>
#include <string.h>

#include "libcancel/sys/order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; of all below */
static struct cancel_quarantine list[CANCEL_QUARANTINE_MAX];
static uint32_t next;		   /* a ring: a full one forgets the oldest */
static _Atomic uint64_t latest_ns; /* when the last of those kept out for real is let in again */

static struct cancel_quarantine *find(uint64_t origin)
{
	for (uint32_t i = 0; i < CANCEL_QUARANTINE_MAX; i++) {
		if (list[i].origin == origin)
			return &list[i];
	}
	return NULL;
}

void quarantine_take(const struct cancel_decision *d)
{
	struct cancel_quarantine *q;
	if (d->quarantine_until_ns == 0 || d->target.origin == 0)
		return;
	pthread_mutex_lock(&lock);
	q = find(d->target.origin);
	if (!q)
		q = &list[next++ % CANCEL_QUARANTINE_MAX];
	*q = (struct cancel_quarantine){
		.origin = d->target.origin,
		.signature = d->target.signature,
		/* an adapter's looks have a clock of their own */
		.until_ns = cancel_now_ns() + (d->quarantine_until_ns - d->decided_ns),
		.serial = d->serial,
		.acted = d->acted,
	};
	if (d->acted && q->until_ns > load_relaxed(&latest_ns))
		store_relaxed(&latest_ns, q->until_ns);
	pthread_mutex_unlock(&lock);
}

void quarantine_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(list, 0, sizeof list);
	next = 0;
	store_relaxed(&latest_ns, 0);
	pthread_mutex_unlock(&lock);
}

uint64_t cancel_quarantined(uint64_t origin)
{
	const struct cancel_quarantine *q;
	uint64_t latest = load_relaxed(&latest_ns), until_ns = 0, now_ns;
	if (latest == 0 || origin == 0)
		return 0;
	now_ns = cancel_now_ns();
	if (latest <= now_ns)
		return 0;
	pthread_mutex_lock(&lock);
	q = find(origin);
	if (q && q->acted && q->until_ns > now_ns)
		until_ns = q->until_ns;
	pthread_mutex_unlock(&lock);
	return until_ns;
}

size_t cancel_snapshot_quarantine(struct cancel_quarantine *out, size_t capacity)
{
	uint64_t now_ns = cancel_now_ns();
	size_t count = 0;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < CANCEL_QUARANTINE_MAX && count < capacity; i++) {
		if (list[i].origin && list[i].until_ns > now_ns)
			out[count++] = list[i];
	}
	pthread_mutex_unlock(&lock);
	return count;
}

void quarantine_lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

void quarantine_unlock_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

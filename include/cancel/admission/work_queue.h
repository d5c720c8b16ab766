/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - waiting work, ordered by priority and tenant.
 *
 * Purpose: the queue in front of slots or tokens. Within a tenant the highest priority goes first
 * (0 the highest), then the oldest. Among tenants either the one that has used the least for its
 * weight goes first (tenant first, as CockroachDB), or the highest priority goes first and tenants
 * break ties (priority first, for a server whose priorities are trusted). Strict priorities can
 * starve the lowest: that is what a gate in front (dagor.h) is for.
 * Memory: the caller embeds one struct cancel_work in each request; the queue allocates nothing,
 * holds at most `limit` of them and says when it is full.
 * Thread safety: none. Cost: push O(1); pop and remove O(log n) amortised, plus O(tenants).
 * Source: CockroachDB, util/admission, WorkQueue (tenant heap, priority, age).
 */
#ifndef CANCEL_ADMISSION_WORK_QUEUE_H
#define CANCEL_ADMISSION_WORK_QUEUE_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_WORK_TENANTS_MAX 64u

enum cancel_work_order {
	CANCEL_WORK_TENANT_FIRST,
	CANCEL_WORK_PRIORITY_FIRST,
};

struct cancel_work_queue_options { /* zero = default, in brackets */
	size_t struct_size;
	enum cancel_work_order order;
	uint32_t tenants;			   /* [1], at most 64 */
	uint16_t weights[CANCEL_WORK_TENANTS_MAX]; /* [1] */
	uint32_t limit;				   /* [65536] waiting at once */
};

/* A place in the queue. Set tenant and priority before pushing; the rest is the queue's. Must not
 * move or go while queued. */
struct cancel_work {
	uint32_t tenant;
	uint32_t priority;
	bool queued;
	uint64_t sequence, pushed_ns;
	struct cancel_work *child, *next, *previous;
};

struct cancel_work_queue {
	enum cancel_work_order order;
	uint32_t tenants, limit, waiting;
	uint64_t sequence;
	struct cancel_work *first[CANCEL_WORK_TENANTS_MAX]; /* of each tenant, NULL: none */
	uint64_t used[CANCEL_WORK_TENANTS_MAX];
	uint16_t weights[CANCEL_WORK_TENANTS_MAX];
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, too many tenants). */
CANCEL_MUST_CHECK int cancel_work_queue_init(
	struct cancel_work_queue *queue, const struct cancel_work_queue_options *options);
/* Adds `work`. False if the queue is full, the tenant unknown, or the work already queued. */
bool cancel_work_queue_push(
	struct cancel_work_queue *queue, uint64_t now_ns, struct cancel_work *work);
/* Takes out the next one, NULL if none waits. How long it waited: now_ns - pushed_ns. */
struct cancel_work *cancel_work_queue_pop(struct cancel_work_queue *queue, uint64_t now_ns);
/* Takes `work` out wherever it is: its client left, or it was cancelled. No-op if not queued. */
void cancel_work_queue_remove(struct cancel_work_queue *queue, struct cancel_work *work);
/* `tenant` has used so much (slots taken, bytes, ns), or gave it back. */
void cancel_work_queue_charge(struct cancel_work_queue *queue, uint32_t tenant, uint64_t amount);
void cancel_work_queue_refund(struct cancel_work_queue *queue, uint32_t tenant, uint64_t amount);
/* Forgets what was used: call each second where use is tokens, never where it is slots. */
void cancel_work_queue_forget(struct cancel_work_queue *queue);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work queue: a pairing heap a tenant (Fredman, Sedgewick, Sleator, Tarjan 1986), whose nodes
 * lie in the caller's requests, and the choice among the tenants' first. No recursion: the two
 * passes of a pairing heap are loops over lists.
 */
#include <cancel/admission/work_queue.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define LIMIT_DEFAULT 65536u
#define USED_MAX      (UINT64_C(1) << 47) /* times a weight of 16 bits stays in 64 */

int cancel_work_queue_init(
	struct cancel_work_queue *queue, const struct cancel_work_queue_options *options)
{
	struct cancel_work_queue_options o;
	if (!struct_size_read(&o, sizeof o, options) || o.tenants > CANCEL_WORK_TENANTS_MAX ||
		o.order > CANCEL_WORK_PRIORITY_FIRST)
		return CANCEL_EINVAL;
	*queue = (struct cancel_work_queue){
		.order = o.order,
		.tenants = o.tenants ? o.tenants : 1,
		.limit = o.limit ? o.limit : LIMIT_DEFAULT,
	};
	for (uint32_t t = 0; t < CANCEL_WORK_TENANTS_MAX; t++)
		queue->weights[t] = o.weights[t] ? o.weights[t] : 1;
	return 0;
}

/* Strict and total: sequences differ. */
static bool before(const struct cancel_work *a, const struct cancel_work *b)
{
	return a->priority != b->priority ? a->priority < b->priority : a->sequence < b->sequence;
}

/* Joins two heaps whose roots have no siblings. */
static struct cancel_work *join(struct cancel_work *a, struct cancel_work *b)
{
	if (!a || !b)
		return a ? a : b;
	struct cancel_work *const root = before(a, b) ? a : b;
	struct cancel_work *const under = root == a ? b : a;

	under->previous = root;
	under->next = root->child;
	if (root->child)
		root->child->previous = under;
	root->child = under;
	return root;
}

/* Joins a list of siblings into one heap: in pairs from the left, then all from the right. */
static struct cancel_work *join_siblings(struct cancel_work *list)
{
	struct cancel_work *pairs = NULL, *root = NULL;
	while (list) {
		struct cancel_work *a = list, *b = a->next;
		list = b ? b->next : NULL;
		a->next = a->previous = NULL;
		if (b)
			b->next = b->previous = NULL;
		a = join(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct cancel_work *const a = pairs;
		pairs = a->next;
		a->next = NULL;
		root = join(root, a);
	}
	return root;
}

bool cancel_work_queue_push(
	struct cancel_work_queue *queue, uint64_t now_ns, struct cancel_work *work)
{
	if (queue->waiting >= queue->limit || work->tenant >= queue->tenants || work->queued)
		return false;
	work->child = work->next = work->previous = NULL;
	work->sequence = queue->sequence++;
	work->pushed_ns = now_ns;
	work->queued = true;
	queue->waiting++;
	queue->first[work->tenant] = join(queue->first[work->tenant], work);
	return true;
}

void cancel_work_queue_remove(struct cancel_work_queue *queue, struct cancel_work *work)
{
	struct cancel_work **const first = &queue->first[work->tenant];
	if (!work->queued)
		return;
	struct cancel_work *const below = join_siblings(work->child);
	if (*first == work) {
		*first = below;
	} else {
		if (work->previous->child == work)
			work->previous->child = work->next;
		else
			work->previous->next = work->next;
		if (work->next)
			work->next->previous = work->previous;
		*first = join(*first, below);
	}
	work->child = work->next = work->previous = NULL;
	work->queued = false;
	queue->waiting--;
}

/* Has tenant `a` used less for its weight than `b`? Equal use: the one whose first is older. */
static bool poorer(const struct cancel_work_queue *queue, uint32_t a, uint32_t b)
{
	const uint64_t of_a = queue->used[a] * queue->weights[b];
	const uint64_t of_b = queue->used[b] * queue->weights[a];
	return of_a != of_b ? of_a < of_b : queue->first[a]->sequence < queue->first[b]->sequence;
}

static bool goes_first(const struct cancel_work_queue *queue, uint32_t a, uint32_t b)
{
	const uint32_t of_a = queue->first[a]->priority, of_b = queue->first[b]->priority;
	if (queue->order == CANCEL_WORK_PRIORITY_FIRST && of_a != of_b)
		return of_a < of_b;
	return poorer(queue, a, b);
}

struct cancel_work *cancel_work_queue_pop(struct cancel_work_queue *queue, uint64_t now_ns)
{
	int best = -1;
	(void)now_ns;
	for (uint32_t t = 0; t < queue->tenants; t++)
		if (queue->first[t] && (best < 0 || goes_first(queue, t, (uint32_t)best)))
			best = (int)t;
	if (best < 0)
		return NULL;
	struct cancel_work *const work = queue->first[best];
	cancel_work_queue_remove(queue, work);
	return work;
}

void cancel_work_queue_charge(struct cancel_work_queue *queue, uint32_t tenant, uint64_t amount)
{
	if (tenant >= queue->tenants)
		return;
	const uint64_t used = fixed_plus(queue->used[tenant], amount);
	queue->used[tenant] = used < USED_MAX ? used : USED_MAX;
}

void cancel_work_queue_refund(struct cancel_work_queue *queue, uint32_t tenant, uint64_t amount)
{
	if (tenant < queue->tenants)
		queue->used[tenant] = fixed_minus(queue->used[tenant], amount);
}

void cancel_work_queue_forget(struct cancel_work_queue *queue)
{
	memset(queue->used, 0, sizeof queue->used);
}

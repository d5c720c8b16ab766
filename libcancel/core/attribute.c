/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the flow of blame. The delay of every waiter flows to those who held what it waited for, in
 * proportion to how long they held it while somebody waited; a holder that itself waited meanwhile
 * passes that part on. Delay is conserved: what cannot be laid at a task's door (tasks that ended,
 * holds nobody saw) is rooted at the resource and blamed on nobody.
 *
 * Waiters of an instance that wait for the same holders form a group, which one of their waits
 * stands for. So the work is holders x groups, not holders x waiters.
 */
#include "libcancel/core/attribute.h"

#include "libcancel/core/barring.h"

#include "libcancel/base/fixed.h"

#include <string.h>

#define NESTED_QUARTERS 5u /* waits may exceed the slot time they lie in by a quarter: stamps */
#define QUIET_PERCENT	1u /* less of the time lost than this: nobody needs to be blamed */

#define BARRED 0u /* in place of modes: whom only waiters bar that give way */

struct flow {
	struct attribution *a;
	struct contended *c;
	struct history *h;
	const struct cancel_ledger *ledger;
	const struct window *w;
	bool last;   /* the last hop: nothing is passed on */
	bool second; /* the second time around: what nobody is blamed for stays where it is */
	uint64_t ended_ns[CANCEL_RESOURCES_MAX];  /* delay of ended tasks, to be shared out */
	uint64_t nobody_ns[CANCEL_RESOURCES_MAX]; /* QUEUE: due to slots held by ended tasks */
};

/* As judged; where nobody looked closer, as declared. */
static enum cancel_resource_type type_of(const struct flow *f, uint32_t r)
{
	return f->a->blamed ? f->c->types[r] : f->ledger->resources[r].type;
}

/* Delay of r that counts: all of it, but of a pool only the stalls some evictor is charged with. A
 * task's own cold misses are its work. */
static uint64_t charged_ns(const struct flow *f, uint32_t r)
{
	const struct window_resource *res = &f->w->resources[r];
	if (type_of(f, r) == CANCEL_MEMORY)
		return fixed_min(res->wait_ns, res->use_ns);
	return res->wait_ns;
}

static bool blocks(const struct flow *f, const struct use *use, uint8_t resource, uint8_t mask)
{
	if (f->c->types[resource] != CANCEL_LOCK)
		return true;
	return mask == BARRED ? use->bars : (use->modes & mask) != 0;
}

/* Use of the instance within the last `span_ns`, in which somebody waited: a slot held all along is
 * blamed for that part of its time only. */
static uint64_t use_within(const struct flow *f, const struct use *use, uint64_t span_ns)
{
	if (f->c->types[f->c->instances[use->instance].resource] != CANCEL_QUEUE ||
		use->held_ns <= span_ns)
		return use->overlap_ns;
	return fixed_scale(span_ns, use->overlap_ns, use->held_ns);
}

/* What the shares of an instance's users are parts of: the whole use there could have been over
 * `span_ns`, or was. So a task that held it for a tenth of the time is blamed for a tenth, and k
 * sharers for 1/k each. */
static uint64_t divisor_of(
	const struct flow *f, const struct instance *instance, uint8_t mask, uint64_t span_ns)
{
	const struct cancel_ledger_resource *res = &f->ledger->resources[instance->resource];
	uint64_t use_ns = 0, whole_ns = span_ns;
	switch (f->c->types[instance->resource]) {
	case CANCEL_MEMORY:
		return fixed_max(f->w->resources[instance->resource].use_ns, instance->use_ns);
	case CANCEL_QUEUE:
		whole_ns = fixed_times(span_ns, fixed_max(res->capacity, 1));
		break;
	case CANCEL_LOCK:
		break;
	}
	for (uint32_t i = instance->first_use; i != NONE; i = f->c->uses[i].next_of_instance) {
		if (blocks(f, &f->c->uses[i], instance->resource, mask))
			use_ns += use_within(f, &f->c->uses[i], span_ns);
	}
	return fixed_max(use_ns, whole_ns);
}

/* How long somebody waited for the instance, up to now. */
static uint64_t span_of(const struct flow *f, const struct instance *instance)
{
	return f->w->now_ns - instance->start_ns;
}

/* The modes whose holders keep this waiter waiting: those that conflict with its own, and those the
 * waiters ahead wait for, where they block it. */
static uint8_t blocked_by(
	const struct flow *f, const struct instance *instance, const struct waiting *wait)
{
	uint8_t mask = contended_conflicts(f->c, wait->resource, wait->mode), all = 0;
	uint8_t own = mask;
	if (wait->mode == 0 || wait->since_ns == 0)
		return mask;
	for (uint32_t a = 0; a < CANCEL_LOCK_MODES_MAX; a++) {
		if (instance->first_since_ns[a] > wait->since_ns)
			continue;
		all |= instance->blocked_by[a];
		if (own >> a & 1)
			mask |= instance->blocked_by[a];
	}
	/* Held by nobody in its way: first come, first served, and everyone ahead blocks it. */
	return (instance->held_modes & mask) ? mask : (uint8_t)(mask | all);
}

static void join_group(const struct flow *f, uint32_t index)
{
	struct waiting *wait = &f->h->waits[index];
	struct instance *instance = &f->c->instances[wait->instance];
	if (f->c->types[wait->resource] == CANCEL_LOCK)
		wait->blocked_by = wait->way == WAY_FREE ? BARRED : blocked_by(f, instance, wait);
	for (uint32_t i = instance->first_group; i != NONE; i = f->h->waits[i].next_group) {
		if (f->h->waits[i].blocked_by == wait->blocked_by &&
			f->h->waits[i].way == wait->way) {
			wait->group = i;
			return;
		}
	}
	wait->group = index;
	wait->next_group = instance->first_group;
	wait->divisor_ns = divisor_of(f, instance, wait->blocked_by, span_of(f, instance));
	instance->first_group = index;
}

/* How much of the time of this use its task spent in this wait. */
static uint64_t concurrent_ns(
	const struct flow *f, const struct waiting *wait, const struct use *use)
{
	const struct window_resource *res = &f->w->resources[wait->resource];
	uint64_t delta_ns = fixed_min(wait->delta_ns, use->held_ns);
	if (f->c->types[wait->resource] == CANCEL_MEMORY) {
		/* Stalls are strewn over the window; without an SLO their cause is not known. */
		if (!wait->bears_slo || res->wait_ns == 0)
			return 0;
		delta_ns = fixed_scale(wait->delta_ns, use->held_ns, f->w->length_ns);
		return fixed_scale(delta_ns, charged_ns(f, wait->resource), res->wait_ns);
	}
	if (wait->since_ns)
		return delta_ns;
	if (wait->instance == use->instance || use->since_ns == 0)
		return 0; /* it waited first and held then */
	if (wait->acquired_ns)
		return fixed_min(delta_ns, fixed_minus(wait->acquired_ns, use->since_ns));
	return fixed_scale(wait->delta_ns, use->held_ns, f->w->length_ns);
}

/* Passes on what the holder lost to its own waits; returns what stays with it. */
static uint64_t pass_on(const struct flow *f, const struct use *use, uint64_t blame_ns)
{
	uint32_t slot = f->ledger->tasks[use->task].slot, first = f->h->tasks[slot].first_wait;
	uint64_t waited_ns = 0, passed_ns, kept_ns = blame_ns;
	if (first == NONE)
		return blame_ns;
	for (uint32_t i = first; i != NONE; i = f->h->waits[i].next_of_task)
		waited_ns += concurrent_ns(f, &f->h->waits[i], use);
	if (waited_ns == 0)
		return blame_ns;
	passed_ns = fixed_scale(blame_ns, fixed_min(waited_ns, use->held_ns), use->held_ns);
	for (uint32_t i = first; i != NONE; i = f->h->waits[i].next_of_task) {
		const struct waiting *wait = &f->h->waits[i];
		uint64_t part_ns = fixed_scale(passed_ns, concurrent_ns(f, wait, use), waited_ns);
		f->h->waits[wait->group].next_ns += part_ns;
		kept_ns -= part_ns;
	}
	return kept_ns;
}

/* What no task in the ledger is to blame for is rooted where it is; of a worker queue only after
 * hand_on() has asked what the workers that are gone were waiting for. */
static void blame_nobody(struct flow *f, uint32_t r, uint64_t delay_ns)
{
	if (f->c->types[r] == CANCEL_QUEUE && !f->second)
		f->nobody_ns[r] += delay_ns;
	else
		f->a->rooted_ns[r] += delay_ns;
}

/* Shares `delay_ns` of the instance out to its users that block `mask`; `divisor_ns` is that of
 * `span_ns`. */
static void spread(struct flow *f, const struct instance *instance, uint8_t mask, uint64_t span_ns,
	uint64_t divisor_ns, uint64_t delay_ns)
{
	uint64_t *rooted_ns = &f->a->rooted_ns[instance->resource];
	bool passes = !f->last && f->c->types[instance->resource] != CANCEL_MEMORY;
	uint64_t nobody_ns = delay_ns;
	for (uint32_t i = instance->first_use; i != NONE; i = f->c->uses[i].next_of_instance) {
		struct use *use = &f->c->uses[i];
		uint64_t blame_ns, kept_ns;
		if (use->overlap_ns == 0 || !blocks(f, use, instance->resource, mask))
			continue;
		blame_ns = fixed_scale(delay_ns, use_within(f, use, span_ns), divisor_ns);
		nobody_ns -= blame_ns;
		kept_ns = passes && !use->bars ? pass_on(f, use, blame_ns) : blame_ns;
		use->blame_ns += kept_ns;
		*rooted_ns += kept_ns;
	}
	blame_nobody(f, instance->resource, nobody_ns);
}

static void inject(const struct flow *f)
{
	for (uint32_t i = 0; i < f->w->wait_count; i++) {
		struct waiting *wait = &f->h->waits[i];
		uint64_t delay_ns = wait->delta_ns;
		if (!wait->bears_slo)
			continue;
		if (f->c->types[wait->resource] == CANCEL_MEMORY)
			delay_ns = fixed_scale(delay_ns, charged_ns(f, wait->resource),
				f->w->resources[wait->resource].wait_ns);
		f->h->waits[wait->group].blame_ns += delay_ns;
	}
}

static void find_ended(struct flow *f)
{
	for (uint32_t r = 0; r < f->w->resource_count; r++) {
		const struct window_resource *res = &f->w->resources[r];
		uint64_t ended_ns = res->wait_ns - res->active_wait_ns;
		f->ended_ns[r] =
			ended_ns ? fixed_scale(ended_ns, charged_ns(f, r), res->wait_ns) : 0;
	}
}

/* The part of the ended tasks' delay at the resource that is shared out at this instance. */
static uint64_t ended_share_ns(const struct flow *f, const struct instance *instance)
{
	uint64_t active_wait_ns = f->w->resources[instance->resource].active_wait_ns;
	if (f->c->types[instance->resource] == CANCEL_MEMORY)
		return f->ended_ns[instance->resource]; /* its only instance */
	if (active_wait_ns == 0)
		return 0;
	return fixed_scale(f->ended_ns[instance->resource], instance->delay_ns, active_wait_ns);
}

/* Waits of tasks that ended in the window: where is known by resource only, so they go to the
 * instances where others still wait, in proportion, and there by time held over the whole window.
 * What was held by tasks that ended too dilutes the shares. */
static void spread_ended(struct flow *f)
{
	uint64_t left_ns[CANCEL_RESOURCES_MAX];
	memcpy(left_ns, f->ended_ns, sizeof left_ns);
	for (uint32_t i = 0; i < f->c->instance_count; i++) {
		const struct instance *instance = &f->c->instances[i];
		uint64_t delay_ns = ended_share_ns(f, instance);
		uint8_t mask = 0;
		if (delay_ns == 0)
			continue;
		for (uint32_t k = instance->first_group; k != NONE; k = f->h->waits[k].next_group)
			mask |= f->h->waits[k].blocked_by;
		if (instance->barring.go)
			mask = BARRED;
		left_ns[instance->resource] -= delay_ns;
		spread(f, instance, mask, f->w->length_ns,
			divisor_of(f, instance, mask, f->w->length_ns), delay_ns);
	}
	for (uint32_t r = 0; r < f->w->resource_count; r++)
		blame_nobody(f, r, left_ns[r]);
}

/* One hop: what lies at each group goes to the holders, and what those pass on to the next groups.
 * False when nothing moves any more. */
static bool hop(struct flow *f)
{
	bool more = false;
	for (uint32_t i = 0; i < f->w->wait_count; i++) {
		struct waiting *group = &f->h->waits[i];
		const struct instance *instance = &f->c->instances[group->instance];
		if (group->blame_ns && group->way == WAY_BARS)
			blame_nobody(f, group->resource, group->blame_ns);
		else if (group->blame_ns)
			spread(f, instance, group->blocked_by, span_of(f, instance),
				group->divisor_ns, group->blame_ns);
	}
	for (uint32_t i = 0; i < f->w->wait_count; i++) {
		struct waiting *group = &f->h->waits[i];
		group->blame_ns = group->next_ns;
		group->next_ns = 0;
		more |= group->blame_ns != 0;
	}
	return more;
}

static void follow(struct flow *f)
{
	bool more = true;
	f->last = false;
	spread_ended(f);
	for (uint32_t hops = 1; more && hops <= HOPS_MAX; hops++) {
		f->last = hops == HOPS_MAX;
		more = hop(f);
	}
}

/* Slot time of a queue used by tasks that are gone. */
static uint64_t unseen_use_ns(const struct flow *f, uint32_t r)
{
	uint64_t seen_ns = 0;
	for (uint32_t i = 0; i < f->c->instance_count; i++) {
		if (f->c->instances[i].resource == r)
			seen_ns += f->c->instances[i].use_ns;
	}
	return fixed_minus(f->w->resources[r].use_ns, seen_ns);
}

/* Passes on nobody's part of queue r: of each slot-second, what tasks that are gone waited for
 * locks and pages. Returns what stays. */
static uint64_t hand_on_from(const struct flow *f, uint32_t r, uint64_t waited_ns,
	uint64_t ended_ns[CANCEL_RESOURCES_MAX])
{
	uint64_t unseen_ns = unseen_use_ns(f, r), kept_ns = f->nobody_ns[r];
	if (waited_ns > unseen_ns / 4 * NESTED_QUARTERS)
		return kept_ns;
	for (uint32_t q = 0; q < f->w->resource_count; q++) {
		uint64_t part_ns;
		if (f->c->types[q] == CANCEL_QUEUE)
			continue;
		part_ns = fixed_scale(
			f->nobody_ns[r], f->ended_ns[q], fixed_max(unseen_ns, waited_ns));
		ended_ns[q] += part_ns;
		kept_ns -= part_ns;
	}
	return kept_ns;
}

/* Short tasks sit on a worker slot, wait there for a lock or a page, and are gone before anybody
 * looks. Their slots' part of the queue's delay is passed on as a seen holder's would be. Where the
 * waits do not fit into the slot time (slots of a disk, held within a stall), they were not made
 * there. False when nothing is passed on. */
static bool hand_on(struct flow *f)
{
	uint64_t ended_ns[CANCEL_RESOURCES_MAX] = { 0 }, waited_ns = 0;
	bool more = false;
	for (uint32_t r = 0; r < f->w->resource_count; r++)
		waited_ns += f->c->types[r] == CANCEL_QUEUE ? 0 : f->ended_ns[r];
	for (uint32_t r = 0; r < f->w->resource_count; r++) {
		uint64_t kept_ns = f->nobody_ns[r];
		if (kept_ns && waited_ns)
			kept_ns = hand_on_from(f, r, waited_ns, ended_ns);
		more |= kept_ns != f->nobody_ns[r];
		f->a->rooted_ns[r] += kept_ns;
	}
	memcpy(f->ended_ns, ended_ns, sizeof ended_ns);
	return more;
}

static void flow_all(struct flow *f)
{
	barring_find(f->c, f->h, f->ledger, f->w);
	for (uint32_t i = 0; i < f->w->wait_count; i++)
		join_group(f, i);
	inject(f);
	find_ended(f);
	follow(f);
	f->second = true;
	if (hand_on(f))
		follow(f);
}

static void remember(const struct flow *f)
{
	for (uint32_t i = 0; i < f->c->use_count; i++) {
		struct use *use = &f->c->uses[i];
		uint32_t slot = f->ledger->tasks[use->task].slot;
		struct past_usage *usage = &past_usages(f->h, slot)[use->position];
		uint32_t age;
		if (use->blame_ns == 0)
			continue;
		if (use->since_ns)
			f->c->instances[use->instance].sharers++;
		age = f->w->number - usage->blamed_window;
		for (uint32_t k = BLAME_WINDOWS; k-- > 0;)
			usage->blame_us[k] = k >= age ? usage->blame_us[k - age] : 0;
		usage->blamed_window = f->w->number;
		usage->blame_us[0] += (uint32_t)fixed_min(use->blame_ns / 1000, UINT32_MAX);
	}
}

static bool find_stuck(const struct flow *f)
{
	for (uint32_t i = 0; i < f->w->wait_count; i++) {
		const struct waiting *wait = &f->h->waits[i];
		const struct instance *instance;
		if (!wait->overdue || f->c->types[wait->resource] == CANCEL_MEMORY)
			continue;
		instance = &f->c->instances[wait->instance];
		if (instance->holder_count > 1 ||
			(instance->holder_count == 1 && instance->holder_task != wait->task))
			return true;
	}
	return false;
}

void attribute_step(struct attribution *a, struct contended *c, struct history *h,
	const struct cancel_ledger *ledger, const struct window *w, bool thorough)
{
	struct flow f = { .a = a, .c = c, .h = h, .ledger = ledger, .w = w };
	a->stuck = a->blamed = false;
	memset(a->rooted_ns, 0, sizeof a->rooted_ns);
	contended_clear(c);
	if (w->wait_ns &&
		(thorough || w->overdue || w->wait_ns >= w->active_ns / 100 * QUIET_PERCENT)) {
		contended_build(c, h, ledger, w);
		a->blamed = !c->overflow;
		a->overflows += c->overflow;
	}
	if (a->blamed) {
		flow_all(&f);
		remember(&f);
		a->stuck = find_stuck(&f);
	} else {
		for (uint32_t r = 0; r < w->resource_count; r++)
			a->rooted_ns[r] = charged_ns(&f, r);
	}
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		memmove(&a->rooted_us[r][1], &a->rooted_us[r][0],
			(BLAME_WINDOWS - 1) * sizeof a->rooted_us[r][0]);
		a->rooted_us[r][0] = a->rooted_ns[r] / 1000;
	}
}

uint64_t attribute_blame_us(const struct past_usage *usage, uint32_t window_number)
{
	uint32_t age = window_number - usage->blamed_window;
	uint64_t sum_us = 0;
	if (age >= BLAME_WINDOWS)
		return 0;
	for (uint32_t k = 0; k + age < BLAME_WINDOWS; k++)
		sum_us += usage->blame_us[k];
	return sum_us;
}

uint64_t attribute_rooted_us(const struct attribution *a, uint32_t r)
{
	uint64_t sum_us = 0;
	for (uint32_t k = 0; k < BLAME_WINDOWS; k++)
		sum_us += a->rooted_us[r][k];
	return sum_us;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the choice between a waiter that bars others and the holders it waits for: the side goes
 * whose end frees the others at the smaller loss. Holders lose what they have done, a waiter only
 * its wait so far. It stays where its class ranks above theirs or its host calls it maintenance: a
 * backup that waits for an update is not to be given up for it.
 */
#include "libcancel/core/barring.h"

#include "libcancel/base/fixed.h"

/* Whether a wait is one for a lock that goes on, by a task that holds none of it. One that holds it
 * already is known as its holder. */
static bool is_plain(
	const struct contended *c, const struct cancel_ledger *ledger, const struct waiting *wait)
{
	return c->types[wait->resource] == CANCEL_LOCK && wait->since_ns && wait->mode &&
	       ledger->entries[wait->entry].held == 0;
}

static bool waits_for_holders(
	const struct contended *c, const struct instance *instance, const struct waiting *wait)
{
	return contended_conflicts(c, wait->resource, wait->mode) & instance->present_modes;
}

static uint64_t waited_ns(const struct window *w, const struct waiting *wait)
{
	return fixed_minus(w->now_ns, wait->since_ns);
}

/* Those whom no holder keeps out. */
static void find_free(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	for (uint32_t i = 0; i < w->wait_count; i++) {
		struct waiting *wait = &h->waits[i];
		struct barring *b = &c->instances[wait->instance].barring;
		if (!is_plain(c, ledger, wait) ||
			waits_for_holders(c, &c->instances[wait->instance], wait))
			continue;
		wait->way = WAY_FREE;
		b->free_modes |= (uint8_t)(1u << (wait->mode - 1));
		b->free_ns += wait->bears_slo ? wait->delta_ns : 0;
		b->last_free_ns = fixed_max(b->last_free_ns, wait->since_ns);
	}
}

/* A cancel on its way changes nothing here: until it works, the waiter is the one to wait for. */
static bool may_go(const struct history *h, const struct cancel_ledger_task *t)
{
	const uint8_t never = CANCEL_EXEMPT | CANCEL_RERUNNING | CANCEL_MAINTENANCE;
	return t->flags & CANCEL_CANCELLABLE && !(t->flags & never) && t->state != CANCEL_BLOCKED &&
	       !(h->tasks[t->slot].marks & MARK_EXCLUDED);
}

static void find_barring(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	for (uint32_t i = 0; i < w->wait_count; i++) {
		struct waiting *wait = &h->waits[i];
		const struct cancel_ledger_task *t = &ledger->tasks[wait->task];
		struct barring *b = &c->instances[wait->instance].barring;
		uint8_t conflicts = contended_conflicts(c, wait->resource, wait->mode);
		if (!is_plain(c, ledger, wait) || wait->way == WAY_FREE ||
			!(conflicts & b->free_modes) || wait->since_ns > b->last_free_ns)
			continue;
		wait->way = WAY_BARS;
		b->count++;
		b->modes |= conflicts;
		b->loss_ns = fixed_plus(b->loss_ns, waited_ns(w, wait));
		b->own_ns += wait->bears_slo ? wait->delta_ns : 0;
		b->rank = (uint8_t)fixed_max(b->rank, t->rank);
		b->stays |= !may_go(h, t);
	}
}

/* What a holder would lose: the time of its episode, or of its hold if that is more. */
static uint64_t loss_ns(
	const struct window *w, const struct cancel_ledger_task *t, const struct use *use)
{
	uint64_t age_ns = t->episode_start_ns ? fixed_minus(w->now_ns, t->episode_start_ns) : 0;
	return fixed_max(age_ns, fixed_minus(w->now_ns, use->since_ns));
}

/* The holders in the way: how many, what they would lose, and who of them has held longest. */
struct holders {
	uint64_t loss_ns, longest_ns;
	uint32_t count, longest;
	uint8_t rank;
	bool one_stays;
};

static struct holders holders_of(const struct contended *c, const struct history *h,
	const struct cancel_ledger *ledger, const struct window *w, const struct instance *instance)
{
	struct holders found = { .longest = NONE };
	for (uint32_t i = instance->first_use; i != NONE; i = c->uses[i].next_of_instance) {
		const struct use *use = &c->uses[i];
		const struct cancel_ledger_task *t = &ledger->tasks[use->task];
		const uint8_t never = CANCEL_EXEMPT | CANCEL_RERUNNING;
		uint64_t held_ns;
		if (use->since_ns == 0 || !(use->modes & instance->barring.modes))
			continue;
		held_ns = fixed_minus(w->now_ns, use->since_ns);
		found.count++;
		found.loss_ns = fixed_plus(found.loss_ns, loss_ns(w, t, use));
		found.rank = (uint8_t)fixed_max(found.rank, t->rank);
		found.one_stays |= !(t->flags & CANCEL_CANCELLABLE) || t->flags & never ||
				   h->tasks[t->slot].marks & MARK_EXCLUDED;
		if (found.longest == NONE || held_ns > found.longest_ns ||
			(held_ns == found.longest_ns &&
				t->sequence < ledger->tasks[c->uses[found.longest].task].sequence))
			found.longest = i;
		found.longest_ns = fixed_max(found.longest_ns, held_ns);
	}
	return found;
}

/* The waiters go where that frees most of the others, takes no more ends than on the other side and
 * loses less; or where a holder in the way stays whatever happens. */
static bool waiters_go(const struct instance *instance, const struct holders *holders)
{
	const struct barring *b = &instance->barring;
	uint64_t others_ns = fixed_minus(instance->delay_ns, b->own_ns);
	if (b->count == 0 || b->stays || holders->count == 0 || b->rank > holders->rank ||
		b->free_ns < others_ns - b->free_ns || b->free_ns == 0)
		return false;
	return holders->one_stays || (b->count <= holders->count && b->loss_ns <= holders->loss_ns);
}

static void enlist(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w, const struct waiting *wait)
{
	const struct cancel_ledger_task *t = &ledger->tasks[wait->task];
	struct instance *instance = &c->instances[wait->instance];
	struct past_task *past = &h->tasks[t->slot];
	uint64_t barred_ns = fixed_min(waited_ns(w, wait), w->length_ns);
	c->uses[c->use_count] = (struct use){
		.overlap_ns = barred_ns,
		.held_ns = barred_ns,
		.task = wait->task,
		.entry = wait->entry,
		.instance = wait->instance,
		.next_of_instance = instance->first_use,
		.next_of_task = past->first_use,
		.position = (uint8_t)(wait->entry - t->first_entry),
		.bars = true,
	};
	instance->first_use = past->first_use = c->use_count++;
}

/* Where nobody gives way, all is as it was. */
static void settle_waits(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	for (uint32_t i = 0; i < w->wait_count; i++) {
		struct waiting *wait = &h->waits[i];
		if (!c->instances[wait->instance].barring.go)
			wait->way = WAY_HELD;
		else if (wait->way == WAY_BARS)
			enlist(c, h, ledger, w, wait);
	}
}

void barring_find(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	uint32_t room = c->use_limit - c->use_count;
	find_free(c, h, ledger, w);
	find_barring(c, h, ledger, w);
	for (uint32_t i = 0; i < c->instance_count; i++) {
		struct instance *instance = &c->instances[i];
		struct barring *b = &instance->barring;
		struct holders holders;
		if (b->count == 0 || b->count > room)
			continue;
		holders = holders_of(c, h, ledger, w, instance);
		b->go = waiters_go(instance, &holders);
		room -= b->go ? b->count : 0;
		b->longest = holders.longest;
	}
	settle_waits(c, h, ledger, w);
}

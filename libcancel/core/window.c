/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the difference of two ledgers: one linear pass over tasks and entries that finds who waited,
 * for how long, and what every resource was used for meanwhile.
 */
#include "libcancel/core/window.h"

#include "libcancel/base/fixed.h"

#include <string.h>

#define NS_PER_S	   1000000000ull
#define STALE_NS	   NS_PER_S /* late for so long and running: no news */
#define OVERDUE_SLOS	   3u	    /* a wait this many times the SLO is a sign of its own */
#define DECAY_STEPS_PER_S  1024u
#define DECAY_HALVINGS_MAX 32u
#define FALLS_MAX	   2u /* ledgers in a row */
#define SEEN_GONE	   8u /* ended, or a ledger could not read it */
#define SEEN_REPLACED	   4u /* beside the epoch: the slot held another task before */

/* One task of the pass, and where its findings go. */
struct pass {
	struct history *h;
	const struct cancel_ledger *ledger;
	struct window *w;
	const struct cancel_ledger_task *task;
	struct past_task *past;
	uint32_t task_index;
	bool bears_slo;
	uint64_t slo_mask;   /* all ones when it does: its waits count */
	uint64_t blocked_ns; /* it stood in queues of locks and slots for so long in the window */
	struct window_totals totals[CANCEL_RESOURCES_MAX];
	bool is_memory[CANCEL_RESOURCES_MAX];
};

/* 2^(-length / 1 s) in 32-bit fixed point. The factors are 2^(-2^k / 1024). */
static uint32_t decay_of(uint64_t length_ns)
{
	static const uint32_t factors[] = { 0xffd3a752, 0xffa75652, 0xff4ecb59, 0xfe9e115c,
		0xfd3e0c0d, 0xfa83b2db, 0xf5257d15, 0xeac0c6e8, 0xd744fccb, 0xb504f334 };
	uint64_t halvings = length_ns / NS_PER_S;
	uint64_t steps = length_ns % NS_PER_S * DECAY_STEPS_PER_S / NS_PER_S;
	uint64_t decay = UINT32_MAX;
	if (halvings >= DECAY_HALVINGS_MAX)
		return 0;
	for (uint32_t k = 0; k < sizeof factors / sizeof factors[0]; k++) {
		if (steps >> k & 1)
			decay = decay * factors[k] >> 32;
	}
	return (uint32_t)(decay >> halvings);
}

static uint64_t decayed(uint64_t value, uint32_t decay_q32)
{
	return (value >> 32) * decay_q32 + ((value & UINT32_MAX) * decay_q32 >> 32);
}

uint64_t window_decayed(uint64_t value, uint64_t elapsed_ns)
{
	return decayed(value, decay_of(elapsed_ns));
}

/* A counter that went back began anew. */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* How much a cumulative time grew; remembers it. One that went back a little met a coarse stamp
 * after a precise one: no time passed. */
static inline uint64_t elapsed(uint64_t now_ns, uint64_t *before_ns)
{
	uint64_t then_ns = *before_ns;
	if (now_ns < then_ns && then_ns - now_ns <= STAMP_ERROR_NS)
		return 0;
	*before_ns = now_ns;
	return grown(now_ns, then_ns);
}

/* How much a total grew above its highest; remembers it. One that stays below begins anew. */
static uint64_t risen(uint64_t now, struct total *total)
{
	uint64_t growth = fixed_minus(now, total->highest);
	if (now < total->highest && total->falls++ < FALLS_MAX)
		return 0;
	*total = (struct total){ .highest = now };
	return growth;
}

static bool same_entry(const struct past_entry *p, const struct cancel_ledger_entry *e)
{
	return p->instance == e->instance && p->resource == e->resource;
}

/* Entries moved within the task's table: put what is known of each beside it again. Those that did
 * not move keep what they have. */
static void realign(struct history *h, uint32_t slot, const struct cancel_ledger_entry *entries,
	uint32_t count, uint32_t old_count)
{
	struct past_entry *known = past_entries(h, slot), old[CANCEL_ENTRIES_MAX];
	struct past_usage *usage = past_usages(h, slot), old_usage[CANCEL_ENTRIES_MAX];
	memcpy(old, known, old_count * sizeof old[0]);
	memcpy(old_usage, usage, old_count * sizeof old_usage[0]);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = 0;
		while (j < old_count && !same_entry(&old[j], &entries[i]))
			j++;
		known[i] = j < old_count ? old[j]
					 : (struct past_entry){ .instance = entries[i].instance,
						   .resource = entries[i].resource };
		usage[i] = j < old_count ? old_usage[j] : (struct past_usage){ 0 };
	}
}

static void note_wait(struct pass *p, const struct cancel_ledger_entry *e, uint64_t delta_ns)
{
	struct window *w = p->w;
	struct waiting *wait = &p->h->waits[w->wait_count];
	/* What a task first seen in this window waited before it counts as wait of ended tasks. */
	delta_ns = fixed_min(delta_ns, w->length_ns);
	if (!p->is_memory[e->resource])
		p->blocked_ns += delta_ns;
	if (p->bears_slo) {
		w->resources[e->resource].active_wait_ns += delta_ns;
		if (w->slo_ns == 0 || p->task->slo_ns < w->slo_ns)
			w->slo_ns = p->task->slo_ns;
	}
	if (w->wait_count == p->h->wait_limit) {
		w->overflow = true;
		return;
	}
	*wait = (struct waiting){
		.delta_ns = delta_ns,
		.since_ns = e->waiting_since_ns,
		.acquired_ns = e->held_since_ns,
		.task = p->task_index,
		.entry = (uint32_t)(e - p->ledger->entries),
		.next_of_task = p->past->first_wait,
		.resource = e->resource,
		.bears_slo = p->bears_slo,
		.overdue = p->bears_slo && e->waiting_since_ns &&
			   fixed_minus(w->now_ns, e->waiting_since_ns) / OVERDUE_SLOS >
				   p->task->slo_ns,
	};
	w->overdue |= wait->overdue;
	p->past->first_wait = w->wait_count++;
}

static void note_evictions(
	struct pass *p, const struct cancel_ledger_entry *e, struct past_usage *usage)
{
	uint64_t fresh = grown(e->evicted, usage->evicted);
	usage->recent_milli = decayed(usage->recent_milli, p->h->decay_q32) + fresh * 1000;
	usage->evicted = e->evicted;
	p->totals[e->resource].evicted += e->evicted;
}

static inline void take_entry(struct pass *p, const struct cancel_ledger_entry *e,
	struct past_entry *known, struct past_usage *usage)
{
	uint8_t r = e->resource;
	uint64_t delta_ns = elapsed(e->wait_ns, &known->wait_ns);
	if (p->is_memory[r]) {
		known->use_delta_ns = elapsed(e->stall_caused_ns, &known->use_ns);
		p->w->resources[r].use_ns += known->use_delta_ns;
		note_evictions(p, e, usage);
	} else {
		known->use_delta_ns = elapsed(e->hold_ns, &known->use_ns);
		p->totals[r].use_ns += e->hold_ns;
	}
	p->totals[r].wait_ns += e->wait_ns & p->slo_mask;
	if (e->held_modes)
		known->modes = e->held_modes;
	if (delta_ns)
		note_wait(p, e, delta_ns);
}

/* What a task holds while it stands in another queue is not its use of it: once the queue moves, a
 * worker that waited for a lock must not look as if it had sat on its slot. (Stalls count as use:
 * they may be the task's own reads.) */
static void note_idle(struct pass *p, const struct cancel_ledger_entry *e, struct past_usage *usage)
{
	uint64_t held_ns = fixed_min(fixed_minus(p->w->now_ns, e->held_since_ns), p->w->length_ns);
	uint64_t idle_ns = 0;
	for (uint32_t i = p->past->first_wait; i != NONE; i = p->h->waits[i].next_of_task) {
		const struct waiting *wait = &p->h->waits[i];
		if (&p->ledger->entries[wait->entry] != e && !p->is_memory[wait->resource])
			idle_ns += wait->delta_ns;
	}
	if (usage->idle_since_ns != e->held_since_ns)
		usage->idle_ns = 0;
	usage->idle_since_ns = e->held_since_ns;
	usage->idle_ns = fixed_plus(usage->idle_ns, fixed_min(idle_ns, held_ns));
}

/* The inner loop of the core: once an entry, however quiet the server. */
static void take_entries(struct pass *p)
{
	uint32_t slot = p->task->slot, count = window_entry_count(p->ledger, p->task);
	uint32_t known_count = p->past->entry_count, resource_count = p->w->resource_count;
	const struct cancel_ledger_entry *entries = &p->ledger->entries[p->task->first_entry];
	struct past_entry *known = past_entries(p->h, slot);
	struct past_usage *usage = past_usages(p->h, slot);
	for (uint32_t i = 0; i < count; i++) {
		if (i >= known_count || !same_entry(&known[i], &entries[i])) {
			realign(p->h, slot, entries, count, known_count);
			known_count = count;
		}
		if (entries[i].resource < resource_count)
			take_entry(p, &entries[i], &known[i], &usage[i]);
	}
	p->past->entry_count = (uint8_t)count;
	if (p->past->first_wait == NONE)
		return;
	for (uint32_t i = 0; i < count; i++) {
		if (entries[i].held && entries[i].held_since_ns)
			note_idle(p, &entries[i], &usage[i]);
	}
}

static void note_late(struct window *w, uint64_t task, uint64_t late_ns)
{
	if (w->first_late_ns == 0 || late_ns < w->first_late_ns) {
		w->other_late_ns = w->first_late_ns;
		w->first_late_ns = late_ns;
		w->first_late_task = task;
	} else if (w->other_late_ns == 0 || late_ns < w->other_late_ns) {
		w->other_late_ns = late_ns;
	}
}

/* An episode over its SLO counts as late while it is held up, or has only just become late. A task
 * that merely keeps running has an SLO that is too short for it. It is counted apart, so that three
 * reports are not an overload of everything else. */
static void take_episode(struct pass *p, uint64_t *open_ns)
{
	const struct cancel_ledger_task *t = p->task;
	uint64_t age_ns = fixed_minus(p->w->now_ns, t->episode_start_ns), late_ns;
	p->w->in_flight++;
	*open_ns += age_ns;
	if (age_ns <= t->slo_ns)
		return;
	late_ns = age_ns - t->slo_ns;
	if (late_ns >= STALE_NS && p->blocked_ns < p->w->length_ns / 2) {
		p->w->stale_in_flight++;
		return;
	}
	p->w->late_in_flight++;
	note_late(p->w, t->id, p->w->now_ns - late_ns);
}

static void take_task(struct pass *p)
{
	const struct cancel_ledger_task *t = p->task;
	uint8_t *seen = &p->h->seen[t->slot];
	struct past_task *past = p->past;
	uint8_t mark = p->h->epoch;
	if (*seen == 0 || past->id != t->id) {
		struct past_end replaced = { 0 };
		if (*seen && *seen != SEEN_GONE) {
			replaced = past->end;
			mark |= SEEN_REPLACED;
		}
		*past = (struct past_task){ .id = t->id,
			.seen_since_ns = p->w->now_ns,
			.advanced_ns = p->w->now_ns,
			.replaced = replaced };
	}
	*seen = mark;
	past->first_wait = past->first_use = NONE;
	past->listed = false;
	past->idle = t->episode_start_ns == 0;
	past->end.signature = t->signature;
	past->end.active_ns = t->active_ns;
	past->end.class_index = t->class_index;
	past->end.cancelled |= t->state >= CANCEL_DELIVERING;
	past->restarted |= t->progress_done < past->done;
	if (t->progress_done != past->done) {
		past->done = t->progress_done;
		past->advanced_ns = p->w->now_ns;
	}
}

/* What is known of a task that is gone stays until its slot is used again: it may come back. */
static void forget_ended(struct history *h, window_ended_fn ended, void *arg)
{
	for (uint32_t slot = 0; slot < h->task_limit; slot++) {
		uint8_t seen = h->seen[slot];
		if (seen == h->epoch || seen == 0 || seen == SEEN_GONE)
			continue;
		if (seen == (h->epoch | SEEN_REPLACED)) {
			ended(arg, &h->tasks[slot].replaced);
			h->seen[slot] = h->epoch;
		} else {
			ended(arg, &h->tasks[slot].end);
			h->seen[slot] = SEEN_GONE;
		}
	}
}

bool window_has(const struct history *h, uint32_t slot, uint64_t id)
{
	return h->seen[slot] == h->epoch && h->tasks[slot].id == id;
}

/* Totals of resources: what has ended plus what is still in the ledger, against the same before.
 * They fall when a task could not be read, or was ending just then, and is in neither; it is back
 * in the next ledger or the one after, and what it did before must not look like that window's. */
static void close_resources(struct pass *p)
{
	struct window *w = p->w;
	for (uint32_t r = 0; r < w->resource_count; r++) {
		const struct cancel_ledger_resource *res = &p->ledger->resources[r];
		struct window_totals *now = &p->totals[r];
		struct history_totals *before = &p->h->totals[r];
		struct window_resource *out = &w->resources[r];
		now->wait_ns += res->ended_wait_ns;
		/* Stalls charged to a task are gone with it: only what is charged later is here. */
		now->use_ns += p->is_memory[r] ? res->orphan_stall_ns : res->ended_hold_ns;
		now->evicted += res->ended_evicted;
		out->wait_ns = fixed_max(risen(now->wait_ns, &before->wait), out->active_wait_ns);
		out->use_ns += risen(now->use_ns, &before->use);
		out->evicted = risen(now->evicted, &before->evicted);
		p->h->recent_milli[r] =
			decayed(p->h->recent_milli[r], p->h->decay_q32) + out->evicted * 1000;
		w->wait_ns += out->wait_ns;
	}
}

static void close_episodes(
	struct history *h, const struct cancel_ledger *ledger, struct window *w, uint64_t open_ns)
{
	w->completed = fixed_minus(ledger->completed, h->completed);
	w->late = fixed_min(fixed_minus(ledger->late, h->late), w->completed);
	w->active_ns = risen(ledger->ended_active_ns + open_ns, &h->active);
	h->completed = ledger->completed;
	h->late = ledger->late;
}

static void begin(struct history *h, const struct cancel_ledger *ledger, struct window *w)
{
	uint32_t count = ledger->resource_count;
	h->epoch = h->epoch == 1 ? 2 : 1;
	*w = (struct window){
		.start_ns = h->started ? h->now_ns : ledger->now_ns,
		.now_ns = ledger->now_ns,
		.length_ns = h->started ? ledger->now_ns - h->now_ns : 0,
		.number = ++h->number,
		.resource_count = count < CANCEL_RESOURCES_MAX ? count : CANCEL_RESOURCES_MAX,
	};
	h->decay_q32 = decay_of(w->length_ns);
}

bool window_take(struct history *h, const struct cancel_ledger *ledger, struct window *w,
	window_ended_fn ended, void *arg)
{
	struct pass pass = { .h = h, .ledger = ledger, .w = w };
	bool first = !h->started;
	uint64_t open_ns = 0;
	if (h->started && ledger->now_ns <= h->now_ns)
		return false;
	begin(h, ledger, w);
	for (uint32_t r = 0; r < w->resource_count; r++)
		pass.is_memory[r] = ledger->resources[r].type == CANCEL_MEMORY;
	for (uint32_t i = 0; i < ledger->task_count; i++) {
		pass.task = &ledger->tasks[i];
		if (pass.task->slot >= h->task_limit)
			continue;
		pass.task_index = i;
		pass.past = &h->tasks[pass.task->slot];
		pass.bears_slo = pass.task->slo_ns != 0;
		pass.slo_mask = pass.bears_slo ? UINT64_MAX : 0;
		take_task(&pass);
		pass.blocked_ns = 0;
		take_entries(&pass);
		if (pass.bears_slo && pass.task->episode_start_ns)
			take_episode(&pass, &open_ns);
	}
	forget_ended(h, ended, arg);
	close_resources(&pass);
	close_episodes(h, ledger, w, open_ns);
	h->now_ns = ledger->now_ns;
	h->started = true;
	return !first;
}

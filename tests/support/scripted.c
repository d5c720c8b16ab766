/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the scripted world of the core's tests. It keeps the ledger's contract by hand: cumulative
 * times include the present hold and wait, ended tasks leave their totals behind.
 */
#include "scripted.h"

#include "libcancel/base/histogram.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return memory;
}

struct scripted *scripted_new(const struct cancel_pipeline_config *config)
{
	const struct cancel_pipeline_config act = { .struct_size = sizeof act, .act = true };
	const struct cancel_pipeline_config *c = config ? config : &act;
	struct scripted *s = must(calloc(1, sizeof *s));
	size_t bytes = cancel_pipeline_bytes(c);
	/* Not zeroed: the pipeline must not rely on that. */
	s->pipeline = must(malloc(bytes));
	memset(s->pipeline, 0xa5, bytes);
	if (cancel_pipeline_init(s->pipeline, bytes, c)) {
		fprintf(stderr, "cannot make a pipeline of %zu bytes\n", bytes);
		exit(2);
	}
	s->now_ns = 1000 * S;
	s->window_ns = 50 * MS;
	return s;
}

void scripted_free(struct scripted *s)
{
	free(s->pipeline);
	free(s);
}

uint32_t scripted_resource(struct scripted *s, enum cancel_resource_type type, uint64_t capacity)
{
	uint32_t r = s->ledger.resource_count++;
	s->resources[r] = (struct cancel_ledger_resource){ .type = type, .capacity = capacity };
	return r;
}

struct scripted_task *scripted_task(struct scripted *s, uint64_t slo_ns)
{
	uint32_t slot = 0;
	while (slot < SCRIPTED_TASKS && s->tasks[slot].live)
		slot++;
	if (slot == SCRIPTED_TASKS) {
		fprintf(stderr, "more than %u tasks\n", SCRIPTED_TASKS);
		exit(2);
	}
	s->tasks[slot] = (struct scripted_task){ .live = true,
		.t = { .id = ++s->next_sequence << 32 | slot,
			.sequence = s->next_sequence,
			.key = s->next_sequence,
			.episode_start_ns = s->now_ns,
			.slo_ns = slo_ns,
			.slot = slot,
			.state = CANCEL_RUNNING,
			.flags = CANCEL_CANCELLABLE } };
	return &s->tasks[slot];
}

struct cancel_ledger_entry *scripted_entry(
	struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance)
{
	(void)s;
	for (uint32_t i = 0; i < t->entry_count; i++) {
		if (t->entries[i].resource == r && t->entries[i].instance == instance)
			return &t->entries[i];
	}
	if (t->entry_count == CANCEL_ENTRIES_MAX) {
		fprintf(stderr, "more than %u entries\n", CANCEL_ENTRIES_MAX);
		exit(2);
	}
	t->entries[t->entry_count] =
		(struct cancel_ledger_entry){ .resource = (uint8_t)r, .instance = instance };
	return &t->entries[t->entry_count++];
}

/* The entry as a ledger shows it now. */
static struct cancel_ledger_entry shown(
	const struct scripted *s, const struct cancel_ledger_entry *entry)
{
	struct cancel_ledger_entry e = *entry;
	uint64_t slots = s->resources[e.resource].type == CANCEL_QUEUE ? e.held : 1;
	if (e.held_since_ns)
		e.hold_ns += (s->now_ns - e.held_since_ns) * slots;
	if (e.waiting_since_ns)
		e.wait_ns += s->now_ns - e.waiting_since_ns;
	return e;
}

void scripted_stop_waiting(
	struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance)
{
	struct cancel_ledger_entry *entry = scripted_entry(s, t, r, instance);
	entry->wait_ns = shown(s, entry).wait_ns;
	entry->waiting_since_ns = 0;
	entry->wanted_mode = 0;
}

void scripted_hold(
	struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance, uint64_t amount)
{
	struct cancel_ledger_entry *entry = scripted_entry(s, t, r, instance);
	scripted_stop_waiting(s, t, r, instance);
	entry->held_since_ns = s->now_ns;
	if (s->resources[r].type == CANCEL_LOCK) {
		entry->held = 1;
		entry->held_modes = (uint8_t)(1u << (amount - 1));
	} else {
		entry->held = amount;
	}
}

void scripted_wait(
	struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance, uint64_t mode)
{
	struct cancel_ledger_entry *entry = scripted_entry(s, t, r, instance);
	entry->waiting_since_ns = s->now_ns;
	entry->wanted_mode = (uint8_t)mode;
}

void scripted_release(struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance)
{
	struct cancel_ledger_entry *entry = scripted_entry(s, t, r, instance);
	entry->hold_ns = shown(s, entry).hold_ns;
	entry->held = entry->held_since_ns = 0;
	entry->held_modes = 0;
}

static void count_episode(struct scripted *s, uint64_t latency_ns, bool late, uint64_t count)
{
	s->ledger.completed += count;
	s->ledger.late += late ? count : 0;
	s->ledger.ended_active_ns += latency_ns * count;
	s->latency[histogram_index(latency_ns)] += count;
}

void scripted_end(struct scripted *s, struct scripted_task *t)
{
	uint64_t age_ns = s->now_ns - t->t.episode_start_ns;
	if (t->t.slo_ns && t->t.episode_start_ns)
		count_episode(s, age_ns, age_ns > t->t.slo_ns, 1);
	for (uint32_t i = 0; i < t->entry_count; i++) {
		struct cancel_ledger_entry e = shown(s, &t->entries[i]);
		struct cancel_ledger_resource *res = &s->resources[e.resource];
		if (t->t.slo_ns)
			res->ended_wait_ns += e.wait_ns;
		res->ended_hold_ns += e.hold_ns;
		res->ended_evicted += e.evicted;
	}
	t->live = false;
}

void scripted_complete(struct scripted *s, uint64_t count, uint64_t latency_ns, bool late)
{
	count_episode(s, latency_ns, late, count);
}

void scripted_event(
	struct scripted *s, enum cancel_event_kind kind, uint64_t task, uint64_t wasted_ns)
{
	if (s->ledger.event_count < SCRIPTED_EVENTS)
		s->events[s->ledger.event_count++] = (struct cancel_event){
			.kind = kind, .task = task, .at_ns = s->now_ns, .wasted_ns = wasted_ns
		};
}

/* Fisher and Yates, driven by a linear congruential generator. */
static void shuffle(struct scripted *s)
{
	uint64_t state = s->shuffle;
	for (uint32_t i = s->ledger.task_count; i > 1; i--) {
		struct cancel_ledger_task swap = s->ledger_tasks[i - 1];
		uint32_t j;
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		j = (uint32_t)(state >> 33) % i;
		s->ledger_tasks[i - 1] = s->ledger_tasks[j];
		s->ledger_tasks[j] = swap;
	}
	s->shuffle = (uint32_t)(state >> 32) | 1;
}

static void make_ledger(struct scripted *s)
{
	uint32_t tasks = 0, entries = 0;
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
		struct scripted_task *t = &s->tasks[i];
		if (!t->live)
			continue;
		t->t.first_entry = entries;
		t->t.entry_count = (uint8_t)t->entry_count;
		t->t.active_ns = t->active_ns;
		if (t->t.episode_start_ns)
			t->t.active_ns += s->now_ns - t->t.episode_start_ns;
		for (uint32_t k = 0; k < t->entry_count; k++)
			s->ledger_entries[entries++] = shown(s, &t->entries[k]);
		s->ledger_tasks[tasks++] = t->t;
	}
	s->ledger.now_ns = s->now_ns;
	s->ledger.resources = s->resources;
	s->ledger.tasks = s->ledger_tasks;
	s->ledger.entries = s->ledger_entries;
	s->ledger.events = s->events;
	s->ledger.latency = s->latency;
	s->ledger.task_count = tasks;
	s->ledger.entry_count = entries;
	if (s->shuffle)
		shuffle(s);
}

void scripted_judge(struct scripted *s)
{
	make_ledger(s);
	cancel_pipeline_step(s->pipeline, &s->ledger, &s->verdict);
	s->ledger.event_count = 0;
	s->steps++;
	s->cancels += s->verdict.cancel;
	if (s->verdict.decided) {
		s->decisions++;
		s->last = s->verdict.decision;
	}
	if (s->verdict.outcome_count)
		s->last_outcome = s->verdict.outcomes[s->verdict.outcome_count - 1];
}

void scripted_step(struct scripted *s)
{
	s->now_ns += s->window_ns;
	scripted_judge(s);
}

void scripted_healthy(struct scripted *s, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		scripted_complete(s, 50, MS, false);
		scripted_step(s);
	}
}

void scripted_arrive(
	struct scripted *s, uint32_t count, uint32_t r, uint32_t instance, uint64_t mode)
{
	for (uint32_t i = 0; i < count; i++)
		scripted_wait(s, scripted_task(s, SCRIPTED_SLO_NS), r, instance, mode);
}

void scripted_crowd(struct scripted *s, uint32_t lock, uint64_t mode, uint32_t windows)
{
	for (uint32_t i = 0; i < windows; i++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, mode);
		scripted_step(s);
	}
}

struct scripted_task *scripted_culprit(struct scripted *s, uint32_t lock)
{
	scripted_healthy(s, SCRIPTED_START);
	struct scripted_task *culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	return culprit;
}

void scripted_end_all_but(struct scripted *s, const struct scripted_task *kept)
{
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
		if (s->tasks[i].live && &s->tasks[i] != kept)
			scripted_end(s, &s->tasks[i]);
	}
}

void scripted_until_decided(struct scripted *s, uint32_t r, uint64_t mode, uint32_t windows)
{
	for (uint32_t i = 0; i < windows && s->decisions == 0; i++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, r, 0, mode);
		scripted_step(s);
	}
}

void scripted_dump(struct scripted *s, uint32_t pool, struct scripted_task *dump,
	struct scripted_task *other, bool charged)
{
	struct cancel_ledger_entry *d = scripted_entry(s, dump, pool, 0);
	struct cancel_ledger_entry *o = scripted_entry(s, other, pool, 0);
	scripted_complete(s, 20, 30 * MS, true);
	s->resources[pool].ended_wait_ns += 20 * 25 * MS;
	d->evicted += 500;
	o->evicted += 10;
	if (charged) {
		d->stall_caused_ns += 19 * 25 * MS;
		o->stall_caused_ns += 25 * MS;
	}
	scripted_step(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.c - owns the tasks and entries of the last look, and what they add up to.
 *
 * Cumulative times grow with each look: a hold or wait that goes on by the whole time between two
 * looks, one that has vanished by half of it.
 */
#include "libcancel/feed/look.h"

#include <string.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/hash.h"
#include "libcancel/base/lock_modes.h"
#include "libcancel/base/struct_size.h"

#define NONE		   UINT32_MAX
#define INSTANCES_PER_TASK 4u
#define INSTANCES_AT_LEAST 64u

/* A lock or queue that somebody reported. It lives as long as entries name it. */
struct instance {
	uint64_t key;
	uint32_t resource, number, next, references;
	uint64_t look, look_before;		       /* the last two in which it was reported */
	uint64_t first_wait_ns[CANCEL_LOCK_MODES_MAX]; /* by mode, of this look */
};

struct entry {
	uint32_t instance;
	uint64_t wait_look, hold_look; /* last seen to wait, to hold */
	uint64_t told_wait_ns, told_hold_ns;
	uint8_t told_wanted, told_modes;
	uint64_t told_held;
	struct cancel_ledger_entry shown; /* its times are those of the last look that ended */
};

struct record {
	struct cancel_feed_task told;
	uint64_t id, sequence, look, closed_ns;
	uint64_t serial, blamed_mask; /* of the order, 0: none */
	uint32_t next, entry_count;
	uint8_t state;
	bool live, released;
	struct entry entries[CANCEL_ENTRIES_MAX];
};

struct order_kept {
	uint64_t serial, task;
};

struct done { /* of a class */
	uint64_t count, late, active_ns;
	bool has_latency;
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
};

struct look {
	uint32_t task_limit, instance_limit, bucket_mask;
	uint32_t high, free_record, free_instance, instance_high;
	bool open;
	uint64_t look, now_ns, last_ns, sequence;
	uint32_t instance_number;
	struct look_refused refused;
	struct done done[CANCEL_CLASSES_MAX];
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
	struct order_kept orders[LOOK_ORDERS_MAX];
	uint32_t order_count;
	struct cancel_event events[LOOK_EVENTS_MAX];
	struct cancel_ledger_resource *resources;
	uint64_t ended_wait_ns[CANCEL_RESOURCES_MAX], ended_hold_ns[CANCEL_RESOURCES_MAX];
	struct cancel_ledger ledger;
	uint32_t *record_buckets, *instance_buckets;
	struct record *records;
	struct instance *instances;
	struct cancel_ledger_task *tasks;
	struct cancel_ledger_entry *entries;
};

/* ---- Memory ---------------------------------------------------------------------------------- */

static uint32_t buckets_for(uint32_t limit)
{
	uint32_t buckets = 64;
	while (buckets < limit)
		buckets *= 2;
	return buckets;
}

static uint32_t instances_for(uint32_t task_limit)
{
	return task_limit * INSTANCES_PER_TASK + INSTANCES_AT_LEAST;
}

/* Every part is a multiple of its alignment, the strictest first. */
size_t look_bytes(uint32_t task_limit)
{
	size_t tasks = task_limit;
	return sizeof(struct look) + tasks * sizeof(struct record) +
	       (size_t)instances_for(task_limit) * sizeof(struct instance) +
	       tasks * sizeof(struct cancel_ledger_task) +
	       tasks * CANCEL_ENTRIES_MAX * sizeof(struct cancel_ledger_entry) +
	       2 * (size_t)buckets_for(instances_for(task_limit)) * sizeof(uint32_t);
}

void look_init(struct look *l, uint32_t task_limit)
{
	uint32_t buckets = buckets_for(instances_for(task_limit));
	l->task_limit = task_limit;
	l->instance_limit = instances_for(task_limit);
	l->bucket_mask = buckets - 1;
	l->free_record = l->free_instance = NONE;
	l->records = (struct record *)(l + 1);
	l->instances = (struct instance *)(l->records + task_limit);
	l->tasks = (struct cancel_ledger_task *)(l->instances + l->instance_limit);
	l->entries = (struct cancel_ledger_entry *)(l->tasks + task_limit);
	l->record_buckets = (uint32_t *)(l->entries + (size_t)task_limit * CANCEL_ENTRIES_MAX);
	l->instance_buckets = l->record_buckets + buckets;
	memset(l->record_buckets, 0xff, 2 * (size_t)buckets * sizeof(uint32_t));
}

/* ---- Instances ------------------------------------------------------------------------------- */

static uint32_t *instance_bucket(struct look *l, uint32_t resource, uint64_t key)
{
	return &l->instance_buckets[hash_mix(hash_mix(key) + resource) & l->bucket_mask];
}

static uint32_t instance_find(struct look *l, uint32_t resource, uint64_t key)
{
	uint32_t i = *instance_bucket(l, resource, key);
	while (i != NONE && (l->instances[i].key != key || l->instances[i].resource != resource))
		i = l->instances[i].next;
	return i;
}

/* NONE: the table is full. */
static uint32_t instance_add(struct look *l, uint32_t resource, uint64_t key)
{
	uint32_t *bucket = instance_bucket(l, resource, key);
	uint32_t i = l->free_instance;
	if (i != NONE)
		l->free_instance = l->instances[i].next;
	else if (l->instance_high < l->instance_limit)
		i = l->instance_high++;
	else
		return NONE;
	l->instances[i] = (struct instance){
		.key = key, .resource = resource, .number = l->instance_number++, .next = *bucket
	};
	*bucket = i;
	return i;
}

static void instance_drop(struct look *l, uint32_t i)
{
	struct instance *x = &l->instances[i];
	if (--x->references)
		return;
	uint32_t *at = instance_bucket(l, x->resource, x->key);
	while (*at != i)
		at = &l->instances[*at].next;
	*at = x->next;
	x->next = l->free_instance;
	l->free_instance = i;
}

static void instance_seen(struct look *l, struct instance *x)
{
	if (x->look == l->look)
		return;
	x->look_before = x->look;
	x->look = l->look;
	memset(x->first_wait_ns, 0, sizeof x->first_wait_ns);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void post(struct look *l, enum cancel_event_kind kind, uint64_t task, uint64_t at_ns,
	uint64_t wasted_ns)
{
	if (l->ledger.event_count == LOOK_EVENTS_MAX) {
		l->refused.events++;
		return;
	}
	l->events[l->ledger.event_count++] = (struct cancel_event){
		.kind = kind, .task = task, .at_ns = at_ns, .wasted_ns = wasted_ns
	};
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static uint32_t *record_bucket(struct look *l, uint64_t subject)
{
	return &l->record_buckets[hash_mix(subject) & l->bucket_mask];
}

static void entry_fold(struct look *l, struct record *t, uint32_t index)
{
	struct cancel_ledger_entry *e = &t->entries[index].shown;
	if (t->told.slo_ns)
		l->ended_wait_ns[e->resource] += e->wait_ns;
	l->ended_hold_ns[e->resource] += e->hold_ns;
	instance_drop(l, t->entries[index].instance);
	t->entries[index] = t->entries[--t->entry_count];
}

static uint64_t slots_of(const struct look *l, const struct cancel_ledger_entry *e)
{
	return l->resources && l->resources[e->resource].type == CANCEL_QUEUE ? e->held : 1;
}

static void stop_wait(const struct look *l, struct cancel_ledger_entry *e)
{
	if (e->waiting_since_ns)
		e->wait_ns += (l->now_ns - l->last_ns) / 2;
	e->waiting_since_ns = 0;
	e->wanted_mode = 0;
}

static void stop_hold(const struct look *l, struct cancel_ledger_entry *e)
{
	if (e->held_since_ns)
		e->hold_ns += (l->now_ns - l->last_ns) / 2 * slots_of(l, e);
	e->held_since_ns = e->held = 0;
	e->held_modes = 0;
}

static uint64_t active_ns(const struct record *t, uint64_t until_ns)
{
	uint64_t open_ns = t->told.episode_start_ns;
	return t->closed_ns + (open_ns ? fixed_minus(until_ns, open_ns) : 0);
}

/* The task is over: its totals stay, its events go out. */
static void record_close(struct look *l, struct record *t)
{
	while (t->entry_count) {
		struct cancel_ledger_entry *e = &t->entries[t->entry_count - 1].shown;
		stop_wait(l, e);
		stop_hold(l, e);
		entry_fold(l, t, t->entry_count - 1);
	}
	if (t->serial && !t->released)
		post(l, CANCEL_EVENT_RELEASED, t->id, l->now_ns, 0);
	if (t->serial)
		post(l, CANCEL_EVENT_ENDED, t->id, l->now_ns, active_ns(t, l->last_ns));
}

static void record_free(struct look *l, uint32_t i)
{
	uint32_t *at = record_bucket(l, l->records[i].told.subject);
	while (*at != i)
		at = &l->records[*at].next;
	*at = l->records[i].next;
	l->records[i] = (struct record){ .next = l->free_record };
	l->free_record = i;
}

static uint32_t record_find(struct look *l, uint64_t subject)
{
	uint32_t i = *record_bucket(l, subject);
	while (i != NONE && l->records[i].told.subject != subject)
		i = l->records[i].next;
	return i;
}

static uint32_t record_add(struct look *l, uint64_t subject)
{
	uint32_t *bucket = record_bucket(l, subject), i = l->free_record;
	if (i != NONE)
		l->free_record = l->records[i].next;
	else if (l->high < l->task_limit)
		i = l->high++;
	else
		return NONE;
	l->records[i] = (struct record){ .next = *bucket };
	*bucket = i;
	return i;
}

static void record_start(struct look *l, uint32_t i)
{
	struct record *t = &l->records[i];
	uint32_t next = t->next;
	*t = (struct record){ .next = next, .live = true, .sequence = ++l->sequence };
	t->id = t->sequence << 32 | i;
}

void look_begin(struct look *l, uint64_t now_ns)
{
	if (!l->open)
		l->last_ns = l->now_ns;
	l->now_ns = now_ns > l->last_ns ? now_ns : l->last_ns;
	if (!l->last_ns)
		l->last_ns = l->now_ns;
	l->look++;
	l->open = true;
}

int look_task(struct look *l, const struct cancel_feed_task *task)
{
	if (!l->open)
		return CANCEL_ESTATE;
	uint32_t i = record_find(l, task->subject);
	if (i != NONE && l->records[i].look == l->look)
		return CANCEL_EINVAL;
	if (i == NONE) {
		i = record_add(l, task->subject);
		if (i == NONE) {
			l->refused.tasks++;
			return CANCEL_ENOMEM;
		}
		record_start(l, i);
	} else if (l->records[i].told.generation != task->generation) {
		record_close(l, &l->records[i]);
		record_start(l, i);
	}
	struct record *t = &l->records[i];
	if (t->told.episode_start_ns && t->told.episode_start_ns != task->episode_start_ns)
		t->closed_ns = active_ns(t, l->last_ns);
	t->told = *task;
	t->look = l->look;
	return (int)i;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static struct entry *entry_of(
	struct look *l, struct record *t, uint32_t resource, uint64_t instance)
{
	uint32_t at = instance_find(l, resource, instance);
	for (uint32_t i = 0; i < t->entry_count; i++)
		if (t->entries[i].instance == at)
			return &t->entries[i];
	if (t->entry_count == CANCEL_ENTRIES_MAX)
		return NULL;
	if (at == NONE)
		at = instance_add(l, resource, instance);
	if (at == NONE)
		return NULL;
	struct entry *e = &t->entries[t->entry_count++];
	*e = (struct entry){ .instance = at,
		.shown = { .resource = (uint8_t)resource, .instance = l->instances[at].number } };
	l->instances[at].references++;
	return e;
}

/* The entry an adapter speaks of; NULL, and counted, where there is none. */
static struct entry *told_entry(struct look *l, int task, uint32_t resource,
	const struct cancel_ledger_resource *r, uint64_t instance, uint64_t amount)
{
	if (!l->open || task < 0 || (uint32_t)task >= l->high || l->records[task].look != l->look)
		return NULL;
	const uint8_t *conflicts = lock_modes_in_force(r->conflicts);
	if (!amount || (r->type == CANCEL_LOCK && amount > lock_modes_count(conflicts))) {
		l->refused.modes++;
		return NULL;
	}
	struct entry *e = entry_of(l, &l->records[task], resource, instance);
	if (e)
		instance_seen(l, &l->instances[e->instance]);
	else
		l->refused.entries++;
	return e;
}

void look_hold(struct look *l, int task, uint32_t resource, const struct cancel_ledger_resource *r,
	uint64_t instance, uint64_t amount, uint64_t since_ns)
{
	struct entry *e = told_entry(l, task, resource, r, instance, amount);
	if (!e)
		return;
	if (e->hold_look != l->look) {
		e->hold_look = l->look;
		e->told_modes = 0;
		e->told_held = e->told_hold_ns = 0;
	}
	if (r->type == CANCEL_LOCK) {
		e->told_modes |= (uint8_t)(1u << (amount - 1));
		e->told_held = 1;
	} else {
		e->told_held += amount;
	}
	if (since_ns && (!e->told_hold_ns || since_ns < e->told_hold_ns))
		e->told_hold_ns = fixed_min(since_ns, l->now_ns);
}

void look_wait(struct look *l, int task, uint32_t resource, const struct cancel_ledger_resource *r,
	uint64_t instance, uint64_t amount, uint64_t since_ns)
{
	struct entry *e = told_entry(l, task, resource, r, instance, amount);
	if (!e)
		return;
	e->wait_look = l->look;
	e->told_wanted = r->type == CANCEL_LOCK ? (uint8_t)amount : 0;
	e->told_wait_ns = fixed_min(since_ns ? since_ns : l->now_ns, l->now_ns);
}

/* A start told a little differently in each look is still the same wait: a new one began after the
 * last look. */
static void settle_wait(struct look *l, struct entry *e)
{
	struct cancel_ledger_entry *shown = &e->shown;
	if (e->wait_look != l->look) {
		stop_wait(l, shown);
		return;
	}
	if (shown->waiting_since_ns && e->told_wait_ns > l->last_ns &&
		shown->waiting_since_ns <= l->last_ns && e->told_wait_ns != l->now_ns)
		stop_wait(l, shown);
	shown->wanted_mode = e->told_wanted;
	if (shown->waiting_since_ns) {
		shown->wait_ns += l->now_ns - l->last_ns;
	} else {
		shown->waiting_since_ns = e->told_wait_ns;
		shown->wait_ns += l->now_ns - e->told_wait_ns;
	}
	struct instance *x = &l->instances[e->instance];
	uint64_t *first = &x->first_wait_ns[e->told_wanted ? e->told_wanted - 1 : 0];
	if (!*first || shown->waiting_since_ns < *first)
		*first = shown->waiting_since_ns;
}

/* The start of a hold nobody told: see cancel_feed_hold. */
static uint64_t guess_since(const struct look *l, const struct record *t, const struct entry *e)
{
	const struct instance *x = &l->instances[e->instance];
	const struct cancel_ledger_resource *r = &l->resources[x->resource];
	const uint8_t *conflicts = lock_modes_in_force(r->conflicts);
	uint64_t since_ns = l->now_ns;
	for (uint32_t mode = 0; mode < CANCEL_LOCK_MODES_MAX; mode++) {
		bool barred = r->type != CANCEL_LOCK || (conflicts[mode] & e->told_modes);
		if (barred && x->first_wait_ns[mode])
			since_ns = fixed_min(since_ns, x->first_wait_ns[mode]);
	}
	if (since_ns < t->told.start_ns)
		since_ns = t->told.start_ns;
	if (x->look_before && x->look_before == l->look - 1 && since_ns < l->last_ns)
		since_ns = l->last_ns;
	return fixed_min(since_ns, l->now_ns);
}

static void settle_hold(struct look *l, const struct record *t, struct entry *e)
{
	struct cancel_ledger_entry *shown = &e->shown;
	if (e->hold_look != l->look) {
		stop_hold(l, shown);
		return;
	}
	uint64_t told_ns = e->told_hold_ns;
	if (shown->held_since_ns && told_ns > l->last_ns && shown->held_since_ns <= l->last_ns)
		stop_hold(l, shown);
	uint64_t from_ns = l->last_ns;
	if (!shown->held_since_ns) {
		shown->held_since_ns = told_ns ? told_ns : guess_since(l, t, e);
		from_ns = shown->held_since_ns;
	}
	shown->held = e->told_held;
	shown->held_modes = e->told_modes;
	shown->hold_ns += (l->now_ns - from_ns) * slots_of(l, shown);
}

static void note_release(struct look *l, struct record *t)
{
	if (!t->serial || t->released)
		return;
	for (uint32_t i = 0; i < t->entry_count; i++) {
		const struct cancel_ledger_entry *e = &t->entries[i].shown;
		bool bars = e->held || e->waiting_since_ns; /* a waiter, too, may bar others */
		if (bars && (t->blamed_mask >> e->resource & 1))
			return;
	}
	t->released = true;
	post(l, CANCEL_EVENT_RELEASED, t->id, l->now_ns, 0);
}

/* ---- The ledger ------------------------------------------------------------------------------ */

static void settle(struct look *l)
{
	for (uint32_t i = 0; i < l->high; i++) {
		struct record *t = &l->records[i];
		for (uint32_t k = 0; t->look == l->look && k < t->entry_count; k++)
			settle_wait(l, &t->entries[k]);
	}
	for (uint32_t i = 0; i < l->high; i++) {
		struct record *t = &l->records[i];
		if (!t->live)
			continue;
		if (t->look != l->look) {
			record_close(l, t);
			record_free(l, i);
			continue;
		}
		for (uint32_t k = 0; k < t->entry_count; k++)
			settle_hold(l, t, &t->entries[k]);
		for (uint32_t k = t->entry_count; k-- > 0;)
			if (!t->entries[k].shown.held && !t->entries[k].shown.waiting_since_ns)
				entry_fold(l, t, k);
		note_release(l, t);
	}
}

static void show_task(struct look *l, uint32_t i)
{
	const struct record *t = &l->records[i];
	struct cancel_ledger *ledger = &l->ledger;
	l->tasks[ledger->task_count++] = (struct cancel_ledger_task){
		.id = t->id,
		.sequence = t->sequence,
		.key = t->told.key,
		.signature = t->told.signature,
		.origin = t->told.origin,
		.episode_start_ns = t->told.episode_start_ns,
		.slo_ns = t->told.slo_ns,
		.active_ns = active_ns(t, l->now_ns),
		.progress_done = t->told.progress_done,
		.progress_expected = t->told.progress_expected,
		.rollback_ns = t->told.rollback_ns,
		.slot = i,
		.first_entry = ledger->entry_count,
		.entry_count = (uint8_t)t->entry_count,
		.class_index = t->told.class_index,
		.rank = t->told.rank,
		.state = t->state,
		.flags = t->told.flags,
	};
	for (uint32_t k = 0; k < t->entry_count; k++)
		l->entries[ledger->entry_count++] = t->entries[k].shown;
}

static void show_done(struct look *l)
{
	struct cancel_ledger *ledger = &l->ledger;
	ledger->completed = ledger->late = ledger->ended_active_ns = 0;
	memset(l->latency, 0, sizeof l->latency);
	for (uint32_t i = 0; i < CANCEL_CLASSES_MAX; i++) {
		const struct done *d = &l->done[i];
		ledger->completed += d->count;
		ledger->late += d->late;
		ledger->ended_active_ns += d->active_ns;
		for (uint32_t k = 0; d->has_latency && k < CANCEL_HISTOGRAM_MAX; k++)
			l->latency[k] += d->latency[k];
	}
}

struct cancel_ledger *look_end(
	struct look *l, struct cancel_ledger_resource *resources, uint32_t resource_count)
{
	struct cancel_ledger *ledger = &l->ledger;
	if (!l->open)
		return NULL;
	l->open = false;
	l->resources = resources;
	settle(l);
	ledger->now_ns = l->now_ns;
	ledger->task_count = ledger->entry_count = 0;
	for (uint32_t i = 0; i < l->high; i++)
		if (l->records[i].live)
			show_task(l, i);
	show_done(l);
	for (uint32_t i = 0; i < resource_count; i++) {
		resources[i].ended_wait_ns = l->ended_wait_ns[i];
		resources[i].ended_hold_ns = l->ended_hold_ns[i];
	}
	ledger->resources = resources;
	ledger->resource_count = resource_count;
	ledger->tasks = l->tasks;
	ledger->entries = l->entries;
	ledger->events = l->events;
	ledger->latency = l->latency;
	ledger->dropped_events = l->refused.events;
	return ledger;
}

void look_completed(struct look *l, uint8_t class_index, uint64_t count, uint64_t late,
	uint64_t active, const uint64_t *latency)
{
	struct done *d = &l->done[class_index % CANCEL_CLASSES_MAX];
	d->count = count > d->count ? count : d->count;
	d->late = late > d->late ? late : d->late;
	d->active_ns = active > d->active_ns ? active : d->active_ns;
	for (uint32_t k = 0; latency && k < CANCEL_HISTOGRAM_MAX; k++)
		d->latency[k] = latency[k] > d->latency[k] ? latency[k] : d->latency[k];
	d->has_latency |= latency != NULL;
}

const uint64_t *look_latency(const struct look *l, uint8_t class_index)
{
	const struct done *d = &l->done[class_index % CANCEL_CLASSES_MAX];
	return d->has_latency ? d->latency : NULL;
}

/* ---- Orders ---------------------------------------------------------------------------------- */

static struct record *record_of(struct look *l, uint64_t id)
{
	uint32_t i = (uint32_t)id;
	return i < l->high && l->records[i].live && l->records[i].id == id ? &l->records[i] : NULL;
}

bool look_order(struct look *l, const struct cancel_decision *d, struct cancel_order *order)
{
	struct record *t = record_of(l, d->target.task);
	if (!t)
		return false;
	t->serial = d->serial;
	t->blamed_mask = d->blamed_mask;
	t->released = false;
	t->state = CANCEL_DELIVERING;
	l->orders[l->order_count++ % LOOK_ORDERS_MAX] =
		(struct order_kept){ .serial = d->serial, .task = t->id };
	*order = (struct cancel_order){
		.struct_size = sizeof *order,
		.serial = d->serial,
		.subject = t->told.subject,
		.generation = t->told.generation,
		.statement = t->told.statement,
		.key = t->told.key,
		.reason = d->escalation ? CANCEL_REASON_ESCALATION : CANCEL_REASON_CULPRIT,
	};
	return true;
}

void look_answer(struct look *l, uint64_t serial, enum cancel_event_kind what, uint64_t at_ns)
{
	for (uint32_t i = 0; serial && i < LOOK_ORDERS_MAX; i++) {
		if (l->orders[i].serial != serial)
			continue;
		struct record *t = record_of(l, l->orders[i].task);
		if (t && what == CANCEL_EVENT_DELIVERED)
			t->state = CANCEL_DELIVERED;
		else if (t && what == CANCEL_EVENT_IGNORED)
			t->state = CANCEL_RUNNING;
		post(l, what, l->orders[i].task, at_ns, 0);
		return;
	}
}

const struct look_refused *look_refused(const struct look *l)
{
	return &l->refused;
}

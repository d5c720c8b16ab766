/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes looks: looks.h has the order of things.
 */
#include "libcancel/record/looks.h"

#define PREFETCH_AHEAD 2u
#define PREFETCH_LINES 6u /* a task and its first entries */

static void put_difference(struct byte_writer *out, enum record_kind kind, uint64_t value,
	uint64_t expected, uint64_t now)
{
	switch (kind) {
	case RECORD_ID:
		put_scaled(out, value - expected);
		break;
	case RECORD_STAMP: /* its age; the ages of now and of never change places */
		put_time(out, value == 0 ? 0 : value == now ? now : now - value);
		break;
	case RECORD_TIME:
	case RECORD_GROWS:
	case RECORD_HOLDS:
		put_time(out, value - expected);
		break;
	default:
		put_signed(out, value - expected);
	}
}

/* The fields of a table that are not as expected, as a mask, and what was expected. A function a
 * table, with all kinds known to the compiler: most of what is recorded is as expected. */
#define COMPARE(table, field, kind_of, place)                                                      \
	expected[RECORD_##table##_##field] =                                                       \
		record_expect(&(const struct record_field){ .kind = RECORD_##kind_of,              \
				      .since = RECORD_##table##_##place },                         \
			RECORD_##table##_##field, past, values);                                   \
	mask |= (uint32_t)(expected[RECORD_##table##_##field] != values[RECORD_##table##_##field]) \
		<< RECORD_##table##_##field;

#define X(field, kind, since) COMPARE(task, field, kind, since)
static uint32_t compare_task(
	const struct record_past *past, const uint64_t *values, uint64_t *expected)
{
	uint32_t mask = 0;
	RECORD_TASK_FIELDS(X)
	return mask;
}
#undef X

#define X(field, kind, since) COMPARE(entry, field, kind, since)
static uint32_t compare_entry(
	const struct record_past *past, const uint64_t *values, uint64_t *expected)
{
	uint32_t mask = 0;
	RECORD_ENTRY_FIELDS(X)
	return mask;
}
#undef X

#define X(field, kind, since) values[RECORD_task_##field] = t->field;
static void load_task(const struct cancel_ledger_task *t, uint64_t *values)
{
	RECORD_TASK_FIELDS(X)
}
#undef X

#define X(field, kind, since) values[RECORD_entry_##field] = e->field;
static void load_entry(const struct cancel_ledger_entry *e, uint64_t *values)
{
	RECORD_ENTRY_FIELDS(X)
}
#undef X

static void put_fields(struct byte_writer *out, enum record_table_index index, uint32_t mask,
	const uint64_t *values, const uint64_t *expected, uint64_t now_ns)
{
	put_varint(out, mask);
	for (uint32_t left = mask; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		put_difference(
			out, record_tables[index].fields[i].kind, values[i], expected[i], now_ns);
	}
}

static void write_fields(struct byte_writer *out, enum record_table_index index,
	const struct record_past *past, const uint64_t *values)
{
	const struct record_table *table = &record_tables[index];
	uint64_t expected[RECORD_FIELDS_MAX];
	uint32_t mask = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		expected[i] = record_expect(&table->fields[i], i, past, values);
		mask |= (uint32_t)(expected[i] != values[i]) << i;
	}
	put_fields(out, index, mask, values, expected, past->now_ns);
}

static void write_ledger(
	struct record_state *s, struct byte_writer *out, const struct cancel_ledger *l)
{
	uint64_t values[RECORD_ledger_count], step_ns = l->now_ns - s->now_ns;
	const struct record_past past = { .same = true, .values = s->ledger, .now_ns = l->now_ns };
	put_time(out, step_ns - s->step_ns);
	record_load(&record_tables[RECORD_LEDGER], l, values);
	write_fields(out, RECORD_LEDGER, &past, values);
	memcpy(s->ledger, values, sizeof values);
	s->now_ns = l->now_ns;
	s->step_ns = step_ns;
}

static void write_resources(
	struct record_state *s, struct byte_writer *out, const struct cancel_ledger *l)
{
	uint64_t values[CANCEL_RESOURCES_MAX][RECORD_resource_count], changed = 0;
	uint32_t count =
		l->resource_count < CANCEL_RESOURCES_MAX ? l->resource_count : CANCEL_RESOURCES_MAX;
	for (uint32_t r = 0; r < count; r++) {
		record_load(&record_tables[RECORD_RESOURCE], &l->resources[r], values[r]);
		if (memcmp(values[r], s->resources[r], sizeof values[r]) != 0)
			changed |= (uint64_t)1 << r;
	}
	put_varint(out, count);
	put_varint(out, changed);
	for (uint64_t left = changed; left; left &= left - 1) {
		uint32_t r = (uint32_t)__builtin_ctzll(left);
		const struct record_past past = { .same = true, .values = s->resources[r] };
		write_fields(out, RECORD_RESOURCE, &past, values[r]);
		memcpy(s->resources[r], values[r], sizeof values[r]);
		s->queues[r] = l->resources[r].type == CANCEL_QUEUE;
	}
}

static void write_latency(
	struct record_state *s, struct byte_writer *out, const struct cancel_ledger *l)
{
	uint32_t changed[CANCEL_HISTOGRAM_MAX], count = 0, next = 0;
	if (memcmp(s->latency, l->latency, sizeof s->latency) != 0)
		for (uint32_t i = 0; i < CANCEL_HISTOGRAM_MAX; i++)
			if (s->latency[i] != l->latency[i])
				changed[count++] = i;
	put_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bucket = changed[i];
		put_varint(out, bucket - next);
		put_signed(out, l->latency[bucket] - s->latency[bucket]);
		s->latency[bucket] = l->latency[bucket];
		next = bucket + 1;
	}
}

static void write_events(
	struct record_state *s, struct byte_writer *out, const struct cancel_ledger *l)
{
	static const uint64_t none[RECORD_event_count];
	const struct record_past past = { .values = none, .now_ns = s->now_ns };
	uint32_t count = l->event_count < RECORD_EVENTS_MAX ? l->event_count : RECORD_EVENTS_MAX;
	put_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t values[RECORD_event_count];
		record_load(&record_tables[RECORD_EVENT], &l->events[i], values);
		write_fields(out, RECORD_EVENT, &past, values);
	}
}

/* True: something was not as expected. */
static bool write_entry(struct record_state *s, struct byte_writer *out, struct record_slot *at,
	uint64_t *before, const struct cancel_ledger_entry *entry, bool same_task)
{
	uint64_t values[RECORD_entry_count], expected[RECORD_entry_count];
	load_entry(entry, values);
	const struct record_past past = {
		.same = same_task &&
			before[RECORD_entry_resource] == values[RECORD_entry_resource] &&
			before[RECORD_entry_instance] == values[RECORD_entry_instance],
		.now_ns = s->now_ns,
		.past_ns = at->now_ns,
		.values = before,
		.queues = s->queues,
	};
	uint32_t mask = compare_entry(&past, values, expected);
	put_fields(out, RECORD_ENTRY, mask, values, expected, s->now_ns);
	memcpy(before, values, sizeof values);
	return mask != 0;
}

/* True: it was as expected in every way. */
static bool write_task(struct record_state *s, struct byte_writer *out,
	const struct cancel_ledger *l, const struct cancel_ledger_task *t)
{
	uint64_t values[RECORD_task_count], expected[RECORD_task_count];
	uint32_t expected_slot;
	bool fresh, known = record_state_expected(s, &expected_slot);
	struct record_slot *at = record_state_slot(s, t->slot, &fresh);
	load_task(t, values);
	const struct record_past past = {
		.same = !fresh && at->task[RECORD_task_id] == values[RECORD_task_id],
		.now_ns = s->now_ns,
		.past_ns = at->now_ns,
		.values = at->task,
		.last = s->last,
	};
	uint32_t mask = compare_task(&past, values, expected);
	bool changed = !known || expected_slot != t->slot || mask;
	put_signed(out, (uint64_t)t->slot - expected_slot);
	put_fields(out, RECORD_TASK, mask, values, expected, s->now_ns);
	for (uint32_t i = 0; i < t->entry_count; i++)
		changed |= write_entry(
			s, out, at, at->entries[i], &l->entries[t->first_entry + i], past.same);
	memcpy(at->task, values, sizeof values);
	if (!past.same)
		memcpy(s->last + record_kind_of(values), values, sizeof values);
	if (changed) {
		s->model = t->slot;
		s->has_model = true;
	}
	record_state_passed(s, at, t->slot);
	return !changed;
}

/* Since the last look all of it has left the caches. */
static void prefetch(const struct record_state *s, const struct cancel_ledger_task *t)
{
	if (t->slot >= s->task_limit)
		return;
	const char *at = (const char *)&s->slots[t->slot];
	for (size_t line = 0; line < PREFETCH_LINES; line++)
		__builtin_prefetch(at + 64 * line, 1);
}

static bool task_counts(const struct record_state *s, const struct cancel_ledger *l,
	const struct cancel_ledger_task *t)
{
	return t->slot < s->task_limit && t->entry_count <= CANCEL_ENTRIES_MAX &&
	       t->first_entry <= l->entry_count &&
	       t->entry_count <= l->entry_count - t->first_entry;
}

static void write_tasks(
	struct record_state *s, struct byte_writer *out, const struct cancel_ledger *l)
{
	uint32_t count = 0, as_expected = 0;
	for (uint32_t i = 0; i < l->task_count; i++)
		count += task_counts(s, l, &l->tasks[i]);
	put_varint(out, count);
	for (uint32_t i = 0; i < l->task_count; i++) {
		size_t before = out->used;
		if (i + PREFETCH_AHEAD < l->task_count)
			prefetch(s, &l->tasks[i + PREFETCH_AHEAD]);
		if (!task_counts(s, l, &l->tasks[i]))
			continue;
		put_varint(out, as_expected);
		if (write_task(s, out, l, &l->tasks[i])) {
			out->used = before;
			as_expected++;
		} else {
			as_expected = 0;
		}
	}
	if (as_expected)
		put_varint(out, as_expected);
}

static void write_note(struct byte_writer *out, const struct record_note *note)
{
	put_byte(out, !note->has_digest ? 0 : note->text_bytes ? 2 : 1);
	if (!note->has_digest)
		return;
	put_u32(out, note->digest);
	if (note->text_bytes) {
		put_varint(out, note->text_bytes);
		put_bytes(out, note->text, note->text_bytes);
	}
}

size_t record_look_bytes(uint32_t task_count, uint32_t event_count, uint32_t text_bytes)
{
	const size_t mask = 5, fields = NUMBER_BYTES;
	size_t task = 3 * fields + mask + RECORD_task_count * fields +
		      CANCEL_ENTRIES_MAX * (mask + RECORD_entry_count * fields);
	return 16 * fields + RECORD_ledger_count * fields +
	       CANCEL_RESOURCES_MAX * (mask + RECORD_resource_count * fields) +
	       CANCEL_HISTOGRAM_MAX * 2 * fields +
	       event_count * (mask + RECORD_event_count * fields) + task_count * task + text_bytes;
}

bool record_write_look(struct record_state *s, struct byte_writer *out,
	const struct cancel_ledger *ledger, const struct record_note *note)
{
	s->look++;
	s->cursor = 0;
	s->next_count = 0;
	write_ledger(s, out, ledger);
	write_resources(s, out, ledger);
	write_latency(s, out, ledger);
	write_events(s, out, ledger);
	write_tasks(s, out, ledger);
	write_note(out, note);
	uint32_t *order = s->order;
	s->order = s->next_order;
	s->order_count = s->next_count;
	s->next_order = order;
	return !out->full;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes looks: looks.h has the order of things.
 */
#include "libcancel/record/looks.h"

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

/* True: something was not as expected. */
static bool write_fields(struct byte_writer *out, enum record_table_index index,
	const struct record_past *past, const uint64_t *values)
{
	const struct record_table *table = &record_tables[index];
	uint64_t expected[RECORD_FIELDS_MAX];
	uint32_t mask = 0;
	for (uint32_t i = 0; i < table->count; i++) {
		expected[i] = record_expect(&table->fields[i], i, past, values);
		mask |= (uint32_t)(expected[i] != values[i]) << i;
	}
	put_varint(out, mask);
	for (uint32_t left = mask; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		put_difference(out, table->fields[i].kind, values[i], expected[i], past->now_ns);
	}
	return mask != 0;
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

static bool write_entries(struct record_state *s, struct byte_writer *out, struct record_slot *at,
	const struct cancel_ledger_entry *entries, uint32_t count, bool same_task)
{
	bool changed = false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t values[RECORD_entry_count], *before = at->entries[i];
		record_load(&record_tables[RECORD_ENTRY], &entries[i], values);
		const struct record_past past = {
			.same = same_task &&
				before[RECORD_entry_resource] == values[RECORD_entry_resource] &&
				before[RECORD_entry_instance] == values[RECORD_entry_instance],
			.now_ns = s->now_ns,
			.past_ns = at->now_ns,
			.values = before,
			.queues = s->queues,
		};
		changed |= write_fields(out, RECORD_ENTRY, &past, values);
		memcpy(before, values, sizeof values);
	}
	return changed;
}

/* True: it was as expected in every way. */
static bool write_task(struct record_state *s, struct byte_writer *out,
	const struct cancel_ledger *l, const struct cancel_ledger_task *t)
{
	uint64_t values[RECORD_task_count];
	uint32_t expected_slot;
	bool fresh, known = record_state_expected(s, &expected_slot);
	struct record_slot *at = record_state_slot(s, t->slot, &fresh);
	record_load(&record_tables[RECORD_TASK], t, values);
	const struct record_past past = {
		.same = !fresh && at->task[RECORD_task_id] == values[RECORD_task_id],
		.now_ns = s->now_ns,
		.past_ns = at->now_ns,
		.values = at->task,
		.last = s->last,
	};
	bool changed = !known || expected_slot != t->slot;
	put_signed(out, (uint64_t)t->slot - expected_slot);
	changed |= write_fields(out, RECORD_TASK, &past, values);
	changed |=
		write_entries(s, out, at, &l->entries[t->first_entry], t->entry_count, past.same);
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

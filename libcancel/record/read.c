/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads looks: looks.h has the order of things. The bytes may be anything: every count is checked
 * against its table before it is used.
 */
#include "libcancel/record/looks.h"

#define UNKNOWN 255u

static uint64_t get_difference(struct byte_reader *in, uint32_t kind)
{
	switch (kind) {
	case RECORD_ID:
		return get_scaled(in);
	case RECORD_STAMP:
	case RECORD_TIME:
	case RECORD_GROWS:
	case RECORD_HOLDS:
		return get_time(in);
	default:
		return get_signed(in);
	}
}

static uint64_t value_of(uint32_t kind, uint64_t difference, uint64_t expected, uint64_t now_ns)
{
	if (kind != RECORD_STAMP)
		return expected + difference;
	return difference == 0 ? 0 : difference == now_ns ? now_ns : now_ns - difference;
}

/* The differences of a mask by their places in our table; those of unknown fields are dropped. */
static uint32_t read_differences(struct byte_reader *in, const struct record_layout *layout,
	enum record_table_index index, uint64_t *differences)
{
	uint64_t mask = get_varint(in);
	uint32_t known = 0;
	if (mask >> layout->tables[index].count)
		in->bad = true;
	for (uint32_t i = 0; i < layout->tables[index].count && !in->bad; i++) {
		uint32_t place = layout->tables[index].place[i];
		if (!(mask >> i & 1))
			continue;
		uint64_t difference = get_difference(in, layout->tables[index].kind[i]);
		if (place == UNKNOWN)
			continue;
		differences[place] = difference;
		known |= 1u << place;
	}
	return known;
}

static void read_from(enum record_table_index index, uint32_t first, uint32_t end,
	const struct record_past *past, const uint64_t *differences, uint32_t mask,
	uint64_t *values)
{
	const struct record_table *table = &record_tables[index];
	for (uint32_t i = first; i < end; i++) {
		const struct record_field *f = &table->fields[i];
		values[i] = record_expect(f, i, past, values);
		if (mask >> i & 1)
			values[i] = value_of(f->kind, differences[i], values[i], past->now_ns);
	}
}

static void read_fields(struct byte_reader *in, const struct record_layout *layout,
	enum record_table_index index, const struct record_past *past, uint64_t *values)
{
	uint64_t differences[RECORD_FIELDS_MAX];
	uint32_t mask = read_differences(in, layout, index, differences);
	read_from(index, 0, record_tables[index].count, past, differences, mask, values);
}

static const char *read_ledger(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct cancel_ledger *l)
{
	uint64_t values[RECORD_ledger_count];
	s->step_ns += get_time(in);
	s->now_ns += s->step_ns;
	const struct record_past past = { .same = true, .values = s->ledger, .now_ns = s->now_ns };
	read_fields(in, layout, RECORD_LEDGER, &past, values);
	if (values[RECORD_ledger_action_stuck] > 1)
		return "a flag is neither 0 nor 1";
	memcpy(s->ledger, values, sizeof values);
	record_store(&record_tables[RECORD_LEDGER], values, l);
	l->now_ns = s->now_ns;
	return NULL;
}

static void read_resource(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, uint32_t index)
{
	uint64_t values[RECORD_resource_count];
	const struct record_past past = { .same = true, .values = s->resources[index] };
	read_fields(in, layout, RECORD_RESOURCE, &past, values);
	memcpy(s->resources[index], values, sizeof values);
	s->queues[index] = values[RECORD_resource_type] == CANCEL_QUEUE;
}

static const char *read_resources(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct record_look *look)
{
	uint64_t count = get_varint(in), changed = get_varint(in);
	if (count > CANCEL_RESOURCES_MAX || (count < 64 && changed >> count))
		return "more resources than there can be";
	for (uint32_t r = 0; r < count; r++) {
		if (changed >> r & 1)
			read_resource(s, in, layout, r);
		uint64_t type = s->resources[r][RECORD_resource_type];
		if (type < CANCEL_LOCK || type > CANCEL_QUEUE)
			return "a resource of no known type";
		record_store(&record_tables[RECORD_RESOURCE], s->resources[r], &look->resources[r]);
	}
	look->ledger.resource_count = (uint32_t)count;
	return NULL;
}

static const char *read_latency(struct record_state *s, struct byte_reader *in)
{
	uint64_t count = get_varint(in), bucket = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t gap = get_varint(in), difference = get_signed(in);
		if (in->bad || gap >= CANCEL_HISTOGRAM_MAX || bucket + gap >= CANCEL_HISTOGRAM_MAX)
			return "a bucket of latencies outside the table";
		bucket += gap;
		s->latency[bucket++] += difference;
	}
	return NULL;
}

static const char *read_events(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct record_look *look)
{
	static const uint64_t none[RECORD_event_count];
	const struct record_past past = { .values = none, .now_ns = s->now_ns };
	uint64_t count = get_varint(in);
	if (count > look->event_room)
		return "more events than there can be";
	for (uint32_t i = 0; i < count; i++) {
		uint64_t values[RECORD_event_count];
		read_fields(in, layout, RECORD_EVENT, &past, values);
		record_store(&record_tables[RECORD_EVENT], values, &look->events[i]);
	}
	look->ledger.event_count = (uint32_t)count;
	return NULL;
}

static void take_entry(struct record_look *look, const uint64_t *values)
{
	record_store(
		&record_tables[RECORD_ENTRY], values, &look->entries[look->ledger.entry_count++]);
}

/* One entry's bytes, or none: all is as expected. */
static void read_entry(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct record_slot *at, uint64_t *before,
	bool same_task, uint64_t *values)
{
	uint64_t differences[RECORD_FIELDS_MAX];
	uint32_t mask = in ? read_differences(in, layout, RECORD_ENTRY, differences) : 0;
	struct record_past past = {
		.now_ns = s->now_ns, .past_ns = at->now_ns, .values = before, .queues = s->queues
	};
	_Static_assert(RECORD_entry_resource < 2 && RECORD_entry_instance < 2,
		"what tells an entry from another comes first");
	read_from(RECORD_ENTRY, 0, 2, &past, differences, mask, values);
	past.same = same_task && before[RECORD_entry_resource] == values[RECORD_entry_resource] &&
		    before[RECORD_entry_instance] == values[RECORD_entry_instance];
	read_from(RECORD_ENTRY, 2, RECORD_entry_count, &past, differences, mask, values);
}

/* A task's bytes, or (`in` NULL) a task that is all as expected. */
static const char *read_task_at(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, uint32_t slot, struct record_look *look)
{
	uint64_t differences[RECORD_FIELDS_MAX], values[RECORD_task_count];
	bool fresh;
	struct record_slot *at = record_state_slot(s, slot, &fresh);
	struct record_past past = {
		.now_ns = s->now_ns, .past_ns = at->now_ns, .values = at->task, .last = s->last
	};
	uint32_t mask = in ? read_differences(in, layout, RECORD_TASK, differences) : 0;
	_Static_assert(RECORD_task_id == 0, "what tells a task from another comes first");
	read_from(RECORD_TASK, 0, 1, &past, differences, mask, values);
	past.same = !fresh && at->task[RECORD_task_id] == values[RECORD_task_id];
	read_from(RECORD_TASK, 1, RECORD_task_count, &past, differences, mask, values);
	if (values[RECORD_task_entry_count] > CANCEL_ENTRIES_MAX)
		return "a task with more entries than there can be";
	struct cancel_ledger_task *task = &look->tasks[look->ledger.task_count++];
	record_store(&record_tables[RECORD_TASK], values, task);
	task->slot = slot;
	task->first_entry = look->ledger.entry_count;
	for (uint32_t i = 0; i < values[RECORD_task_entry_count]; i++) {
		uint64_t entry[RECORD_entry_count];
		read_entry(s, in, layout, at, at->entries[i], past.same, entry);
		memcpy(at->entries[i], entry, sizeof entry);
		take_entry(look, entry);
	}
	memcpy(at->task, values, sizeof values);
	if (!past.same)
		memcpy(s->last + record_kind_of(values), values, sizeof values);
	if (in) {
		s->model = slot;
		s->has_model = true;
	}
	record_state_passed(s, at, slot);
	return NULL;
}

static const char *read_as_expected(struct record_state *s, const struct record_layout *layout,
	uint64_t count, struct record_look *look)
{
	for (uint64_t i = 0; i < count; i++) {
		uint32_t slot;
		if (!record_state_expected(s, &slot))
			return "a task as before that was not there before";
		const char *error = read_task_at(s, NULL, layout, slot, look);
		if (error)
			return error;
	}
	return NULL;
}

static const char *read_one_task(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct record_look *look)
{
	uint32_t expected;
	record_state_expected(s, &expected);
	uint64_t slot = expected + get_signed(in);
	if (in->bad || slot >= s->task_limit)
		return "a task in a slot beyond the limit";
	return read_task_at(s, in, layout, (uint32_t)slot, look);
}

static const char *read_tasks(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct record_look *look)
{
	uint64_t count = get_varint(in);
	struct cancel_ledger *l = &look->ledger;
	if (count > s->task_limit)
		return "more tasks than the limit";
	while (l->task_count < count && !in->bad) {
		uint64_t as_expected = get_varint(in);
		const char *error = as_expected > count - l->task_count
					    ? "more tasks than were announced"
					    : read_as_expected(s, layout, as_expected, look);
		if (!error && l->task_count < count)
			error = read_one_task(s, in, layout, look);
		if (error)
			return error;
	}
	return NULL;
}

static const char *read_note(struct byte_reader *in, struct record_note *note)
{
	unsigned form = get_byte(in);
	*note = (struct record_note){ .has_digest = form > 0 };
	if (form > 2)
		return "a verdict of no known form";
	if (form > 0)
		note->digest = get_u32(in);
	if (form < 2)
		return NULL;
	uint64_t bytes = get_varint(in);
	if (bytes > in->size - in->at)
		return "a text that is longer than what holds it";
	note->text = (const char *)in->from + in->at;
	note->text_bytes = (uint32_t)bytes;
	in->at += bytes;
	return NULL;
}

static void begin(struct record_state *s, struct record_look *look)
{
	s->look++;
	s->cursor = 0;
	s->next_count = 0;
	look->ledger = (struct cancel_ledger){ .resources = look->resources,
		.tasks = look->tasks,
		.entries = look->entries,
		.events = look->events,
		.latency = s->latency };
}

const char *record_read_look(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct record_look *look)
{
	begin(s, look);
	const char *error = read_ledger(s, in, layout, &look->ledger);
	if (!error)
		error = read_resources(s, in, layout, look);
	if (!error)
		error = read_latency(s, in);
	if (!error)
		error = read_events(s, in, layout, look);
	if (!error)
		error = read_tasks(s, in, layout, look);
	if (!error)
		error = read_note(in, &look->note);
	if (!error && in->bad)
		error = "it ends in the middle of a look";
	uint32_t *order = s->order;
	s->order = s->next_order;
	s->order_count = s->next_count;
	s->next_order = order;
	return error;
}

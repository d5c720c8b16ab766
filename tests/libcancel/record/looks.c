/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written of a ledger is read again, whatever is in it.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "libcancel/record/record.h"
#include "random_world.h"

#define SEED	     20261201ull
#define WORLDS	     12u
#define WINDOWS	     120u
#define FILE_BYTES   (4u << 20)
#define WILD_TASKS   40u
#define WILD_LEDGERS 60u

struct file {
	struct byte_writer out;
	struct record_state *state;
	size_t piece;
};

static struct file file_begin(uint32_t task_limit)
{
	struct record_config config = { .pipeline.task_limit = task_limit,
		.pipeline.act = true,
		.policy = "relief",
		.estimator = "undo-aware",
		.first_look = 1 };
	struct file f = { .out = { .to = malloc(FILE_BYTES), .size = FILE_BYTES } };
	assert_non_null(f.out.to);
	f.state = calloc(1, record_state_bytes(task_limit));
	assert_non_null(f.state);
	record_state_init(f.state, task_limit);
	record_write_header(&f.out, &config);
	f.piece = record_begin_piece(&f.out);
	return f;
}

static void file_end(struct file *f)
{
	record_end_piece(&f->out, f->piece, RECORD_RESTART);
	assert_false(f->out.full);
}

static void file_free(struct file *f)
{
	free(f->out.to);
	free(f->state);
}

static void write_look(struct file *f, const struct cancel_ledger *l, const char *text)
{
	const struct record_note note = { .has_digest = true,
		.digest = l->task_count,
		.text = text,
		.text_bytes = (uint32_t)strlen(text) };
	assert_true(record_write_look(f->state, &f->out, l, &note));
}

static struct record_reader *open_reader(const void *bytes, size_t size)
{
	struct record_reader *r = malloc(sizeof *r);
	assert_non_null(r);
	assert_int_equal(record_open(r, bytes, size), 0);
	void *block = calloc(1, record_reader_bytes(r));
	assert_non_null(block);
	record_attach(r, block);
	return r;
}

static void close_reader(struct record_reader *r)
{
	free(r->state);
	free(r);
}

static bool same_task(const struct cancel_ledger_task *a, const struct cancel_ledger_task *b)
{
	uint64_t left[RECORD_task_count], right[RECORD_task_count];
	record_load(&record_tables[RECORD_TASK], a, left);
	record_load(&record_tables[RECORD_TASK], b, right);
	return memcmp(left, right, sizeof left) == 0 && a->slot == b->slot;
}

static bool same_entry(const struct cancel_ledger_entry *a, const struct cancel_ledger_entry *b)
{
	uint64_t left[RECORD_entry_count], right[RECORD_entry_count];
	record_load(&record_tables[RECORD_ENTRY], a, left);
	record_load(&record_tables[RECORD_ENTRY], b, right);
	return memcmp(left, right, sizeof left) == 0;
}

static void assert_same_event(const struct cancel_event *a, const struct cancel_event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->task, b->task);
	assert_int_equal(a->at_ns, b->at_ns);
	assert_int_equal(a->wasted_ns, b->wasted_ns);
}

static void assert_same_ledger(const struct cancel_ledger *a, const struct cancel_ledger *b)
{
	assert_int_equal(a->now_ns, b->now_ns);
	assert_int_equal(a->completed, b->completed);
	assert_int_equal(a->late, b->late);
	assert_int_equal(a->ended_active_ns, b->ended_active_ns);
	assert_int_equal(a->dropped_events, b->dropped_events);
	assert_int_equal(a->action_stuck, b->action_stuck);
	assert_memory_equal(a->latency, b->latency, CANCEL_HISTOGRAM_MAX * sizeof *a->latency);
	assert_int_equal(a->resource_count, b->resource_count);
	assert_int_equal(a->event_count, b->event_count);
	assert_int_equal(a->task_count, b->task_count);
	for (uint32_t i = 0; i < a->resource_count; i++) {
		assert_int_equal(a->resources[i].type, b->resources[i].type);
		assert_int_equal(a->resources[i].capacity, b->resources[i].capacity);
		assert_int_equal(a->resources[i].ended_wait_ns, b->resources[i].ended_wait_ns);
		assert_int_equal(a->resources[i].ended_hold_ns, b->resources[i].ended_hold_ns);
		assert_memory_equal(a->resources[i].conflicts, b->resources[i].conflicts,
			CANCEL_LOCK_MODES_MAX);
	}
	for (uint32_t i = 0; i < a->event_count; i++)
		assert_same_event(&a->events[i], &b->events[i]);
	for (uint32_t i = 0; i < a->task_count; i++) {
		const struct cancel_ledger_task *left = &a->tasks[i], *right = &b->tasks[i];
		assert_true(same_task(left, right));
		for (uint32_t e = 0; e < left->entry_count; e++)
			assert_true(same_entry(&a->entries[left->first_entry + e],
				&b->entries[right->first_entry + e]));
	}
}

/* ---- Worlds ---------------------------------------------------------------------------------- */

/* Runs a world twice from its seed: once written, once compared with what is read. */
static void try_world(uint64_t seed)
{
	struct random_world w;
	struct file f = file_begin(SCRIPTED_TASKS);
	random_world_begin(&w, seed, true);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		random_world_step(&w);
		write_look(&f, &w.s->ledger, i % 7 ? "" : "a decision");
	}
	random_world_end(&w);
	file_end(&f);
	struct record_reader *r = open_reader(f.out.to, f.out.used);
	random_world_begin(&w, seed, true);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		random_world_step(&w);
		assert_int_equal(record_next(r), RECORD_ITEM_LOOK);
		assert_same_ledger(&w.s->ledger, &r->look.ledger);
		assert_int_equal(r->look_number, i + 1);
		assert_int_equal(r->look.note.digest, w.s->ledger.task_count);
		assert_int_equal(r->look.note.text_bytes, i % 7 ? 0 : 10);
	}
	assert_int_equal(record_next(r), RECORD_ITEM_END);
	random_world_end(&w);
	close_reader(r);
	file_free(&f);
}

static void random_worlds_are_read_as_they_were(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < WORLDS; i++)
		try_world(SEED + i);
}

/* ---- Fields with anything in them ------------------------------------------------------------ */

struct wild {
	struct cancel_ledger ledger;
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
	struct cancel_ledger_task tasks[WILD_TASKS];
	struct cancel_ledger_entry entries[WILD_TASKS * CANCEL_ENTRIES_MAX];
	struct cancel_event events[4];
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
};

/* Small, huge, with many zeros at its end, or one of those that codes could trip over. */
static uint64_t wild_number(uint64_t *seed)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, INT64_MAX, 1ull << 63, TENTH_NS,
		0 - (uint64_t)TENTH_NS, 127, 128 };
	uint64_t high = random_draw(seed, 1u << 31), low = random_draw(seed, 1u << 31);
	switch (random_draw(seed, 5)) {
	case 0:
		return odd[low % (sizeof odd / sizeof odd[0])];
	case 1:
		return low;
	case 2:
		return high << 33;
	case 3:
		return low * TENTH_NS;
	default:
		return high << 33 ^ low << 2 ^ 3;
	}
}

static void fill(uint64_t *seed, enum record_table_index index, void *to)
{
	uint64_t values[RECORD_FIELDS_MAX];
	for (uint32_t i = 0; i < record_tables[index].count; i++)
		values[i] = wild_number(seed);
	if (index == RECORD_RESOURCE)
		values[RECORD_resource_type] = 1 + random_draw(seed, 3);
	if (index == RECORD_LEDGER)
		values[RECORD_ledger_action_stuck] = random_draw(seed, 2);
	if (index == RECORD_TASK)
		values[RECORD_task_entry_count] = random_draw(seed, CANCEL_ENTRIES_MAX + 1);
	record_store(&record_tables[index], values, to);
}

static void make_wild(struct wild *w, uint64_t *seed)
{
	struct cancel_ledger *l = &w->ledger;
	fill(seed, RECORD_LEDGER, l);
	l->now_ns = wild_number(seed);
	l->resource_count = (uint32_t)random_draw(seed, CANCEL_RESOURCES_MAX + 1);
	l->event_count = (uint32_t)random_draw(seed, 5);
	l->task_count = (uint32_t)random_draw(seed, WILD_TASKS + 1);
	l->entry_count = 0;
	for (uint32_t i = 0; i < l->resource_count; i++)
		fill(seed, RECORD_RESOURCE, &w->resources[i]);
	for (uint32_t i = 0; i < l->event_count; i++)
		fill(seed, RECORD_EVENT, &w->events[i]);
	for (uint32_t i = 0; i < 9; i++)
		w->latency[random_draw(seed, CANCEL_HISTOGRAM_MAX)] = wild_number(seed);
	uint32_t turn = (uint32_t)random_draw(seed, WILD_TASKS);
	for (uint32_t i = 0; i < l->task_count; i++) {
		struct cancel_ledger_task *t = &w->tasks[i];
		uint64_t id = t->id;
		fill(seed, RECORD_TASK, t);
		if (random_draw(seed, 2)) /* it goes on */
			t->id = id;
		t->slot = (i * 7 + turn) % WILD_TASKS;
		t->first_entry = l->entry_count;
		for (uint32_t e = 0; e < t->entry_count; e++)
			fill(seed, RECORD_ENTRY, &w->entries[l->entry_count++]);
	}
}

static void point_to_tables(struct wild *w)
{
	w->ledger.resources = w->resources;
	w->ledger.tasks = w->tasks;
	w->ledger.entries = w->entries;
	w->ledger.events = w->events;
	w->ledger.latency = w->latency;
}

static void any_number_in_any_field_is_read_as_it_was(void **state)
{
	struct wild *w = calloc(1, sizeof *w);
	struct file f = file_begin(WILD_TASKS);
	uint64_t seed = SEED;
	(void)state;
	assert_non_null(w);
	for (uint32_t i = 0; i < WILD_LEDGERS; i++) {
		make_wild(w, &seed);
		point_to_tables(w);
		write_look(&f, &w->ledger, "");
	}
	file_end(&f);
	struct record_reader *r = open_reader(f.out.to, f.out.used);
	memset(w, 0, sizeof *w);
	seed = SEED;
	for (uint32_t i = 0; i < WILD_LEDGERS; i++) {
		make_wild(w, &seed);
		point_to_tables(w);
		assert_int_equal(record_next(r), RECORD_ITEM_LOOK);
		assert_same_ledger(&w->ledger, &r->look.ledger);
	}
	close_reader(r);
	file_free(&f);
	free(w);
}

static void a_look_fits_the_room_that_was_computed_for_it(void **state)
{
	struct wild *w = calloc(1, sizeof *w);
	struct file f = file_begin(WILD_TASKS);
	uint64_t seed = SEED + 1;
	(void)state;
	assert_non_null(w);
	for (uint32_t i = 0; i < WILD_LEDGERS; i++) {
		size_t before = f.out.used;
		make_wild(w, &seed);
		point_to_tables(w);
		write_look(&f, &w->ledger, "");
		assert_in_range(f.out.used - before, 1,
			record_look_bytes(w->ledger.task_count, w->ledger.event_count, 0));
	}
	file_free(&f);
	free(w);
}

/* ---- The tables ------------------------------------------------------------------------------ */

static void every_field_of_the_ledger_is_in_a_table(void **state)
{
	size_t task = sizeof(struct cancel_ledger_task), in_rows = 0;
	(void)state;
	for (uint32_t i = 0; i < record_tables[RECORD_TASK].count; i++)
		in_rows += record_tables[RECORD_TASK].fields[i].size;
	/* slot and first_entry are the look's own; the rest is padding of less than a word */
	assert_in_range(task - in_rows, 8, 15);
	in_rows = 0;
	for (uint32_t i = 0; i < record_tables[RECORD_ENTRY].count; i++)
		in_rows += record_tables[RECORD_ENTRY].fields[i].size;
	assert_in_range(sizeof(struct cancel_ledger_entry) - in_rows, 0, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_worlds_are_read_as_they_were),
		cmocka_unit_test(any_number_in_any_field_is_read_as_it_was),
		cmocka_unit_test(a_look_fits_the_room_that_was_computed_for_it),
		cmocka_unit_test(every_field_of_the_ledger_is_in_a_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

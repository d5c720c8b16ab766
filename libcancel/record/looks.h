/* SPDX-License-Identifier: Apache-2.0 */
/*
 * looks.h - ledgers as bytes and back, each as the difference from the one before.
 *
 * A look is one ledger and what was said of it. Writer and reader keep the same state: what they
 * last saw in each slot. After a restart they know nothing, so reading can begin there. The state
 * is one block that the caller brings, zeroed; nothing is allocated. The bytes of a look:
 *
 *	time	 since the look before, less that look's own
 *	ledger	 the fields of the ledger
 *	count, a bit for each resource that is not as expected, each of those: its fields
 *	count, each bucket of latencies that changed: how many were passed over, by how much
 *	count, each event: its fields
 *	count, then in turn: a number of tasks that are all as expected, and a task that is not: its
 *		 slot, its fields, each entry's fields
 *	0, 1 or 2: nothing, the verdict's digest, or its digest, a length and a line of text
 *
 * Fields are a mask with a bit for each that is not as expected (fields.h), and the differences of
 * those.
 */
#ifndef CANCEL_RECORD_LOOKS_H
#define CANCEL_RECORD_LOOKS_H

#include "libcancel/record/bytes.h"
#include "libcancel/record/fields.h"

#define RECORD_EVENTS_MAX 4096u /* of one look; more are left out */

struct record_slot {
	uint64_t restart;  /* that it was last used after */
	uint64_t look;	   /* that it was last in */
	uint64_t now_ns;   /* of that look */
	uint32_t position; /* among its tasks */
	uint64_t task[RECORD_task_count];
	uint64_t entries[CANCEL_ENTRIES_MAX][RECORD_entry_count];
};

struct record_state {
	uint32_t task_limit;
	uint64_t restart, look; /* how many there were */
	uint64_t now_ns, step_ns;
	uint64_t ledger[RECORD_ledger_count];
	uint64_t resources[CANCEL_RESOURCES_MAX][RECORD_resource_count];
	uint8_t queues[CANCEL_RESOURCES_MAX];
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
	uint64_t last[RECORD_LAST * RECORD_task_count];
	/* Slots of the tasks of the last look, in its order, and the next one's; the next task of
	 * the last look that a task may be as expected of. */
	uint32_t *order, *next_order, order_count, next_count, cursor;
	uint32_t model; /* slot of the last task written out: what a new slot's task is like */
	bool has_model;
	struct record_slot *slots;
};

struct record_note { /* what was said of a look */
	bool has_digest;
	uint32_t digest;
	uint32_t text_bytes; /* 0: no text */
	const char *text;
};

/* How the fields of a file follow its mask. A writer's are those of the tables. */
struct record_layout {
	struct {
		uint32_t count;
		uint8_t kind[RECORD_FIELDS_MAX];
		uint8_t place[RECORD_FIELDS_MAX]; /* in our table; 255: unknown */
	} tables[RECORD_TABLE_COUNT];
};

size_t record_state_bytes(uint32_t task_limit);
void record_state_init(struct record_state *s, uint32_t task_limit);
void record_state_restart(struct record_state *s);
/* The slot a task is in, ready for use. `fresh`: nothing is known of it. */
struct record_slot *record_state_slot(struct record_state *s, uint32_t slot, bool *fresh);
/* The slot that comes next if all is as expected; true: a task of the last look is in it. */
bool record_state_expected(const struct record_state *s, uint32_t *slot);
void record_state_passed(struct record_state *s, struct record_slot *at, uint32_t slot);

/* The largest number of bytes a look of so many tasks and events takes. */
size_t record_look_bytes(uint32_t task_count, uint32_t event_count, uint32_t text_bytes);
/* Appends a look. Tasks outside the tables, which the core ignores, are left out. False: there was
 * no room; the state is of no use until a restart. */
bool record_write_look(struct record_state *s, struct byte_writer *out,
	const struct cancel_ledger *ledger, const struct record_note *note);

/* Where a look is put. The arrays have room for the state's task_limit. */
struct record_look {
	struct cancel_ledger ledger; /* points to the arrays below */
	struct cancel_ledger_task *tasks;
	struct cancel_ledger_entry *entries;
	uint32_t event_room;
	struct cancel_event *events;
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
	struct record_note note; /* the text stays in the bytes read */
};

/* NULL, or what is wrong with the bytes. */
const char *record_read_look(struct record_state *s, struct byte_reader *in,
	const struct record_layout *layout, struct record_look *look);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h - what is recorded of a ledger: one row a field. A new field of the ledger is one row
 * here, the last of its table; files carry the names of their fields, so that a reader of another
 * version skips what it does not know and takes 0 for what a file has not.
 *
 * A kind says what a field most likely is, given what was recorded before. Only fields that are
 * something else are written, as the difference.
 *
 *	VALUE	 as of the slot's last task or entry
 *	COUNT	 unchanged within a task, else 0
 *	TIME	 a duration in ns, unchanged within a task, else 0
 *	NEXT	 unchanged within a task, else as of the last new task of its kind: one whose
 *		 signature has the same lowest bits
 *	ID	 of the slot's last task, some generations on
 *	STAMP	 a point in time, unchanged within a task, else none; written as its age
 *	GROWS	 a duration in ns that grows with time while the field `since` is not 0, from that
 *		 stamp on
 *	HOLDS	 the same of an entry; in a queue it grows with each slot held
 */
#ifndef CANCEL_RECORD_FIELDS_H
#define CANCEL_RECORD_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <cancel/policy.h>

/* X(field, kind, since). `since` is a field of a row above it; `none` where there is none. */
#define RECORD_TASK_FIELDS(X)                                                                      \
	X(id, ID, none)                                                                            \
	X(signature, VALUE, none)                                                                  \
	X(sequence, NEXT, none)                                                                    \
	X(key, NEXT, none)                                                                         \
	X(episode_start_ns, STAMP, none)                                                           \
	X(active_ns, GROWS, episode_start_ns)                                                      \
	X(entry_count, VALUE, none)                                                                \
	X(progress_done, COUNT, none)                                                              \
	X(progress_expected, COUNT, none)                                                          \
	X(rollback_ns, TIME, none)                                                                 \
	X(slo_ns, VALUE, none)                                                                     \
	X(class_index, VALUE, none)                                                                \
	X(state, VALUE, none)                                                                      \
	X(flags, VALUE, none)                                                                      \
	X(rank, VALUE, none)                                                                       \
	X(origin, VALUE, none)

#define RECORD_ENTRY_FIELDS(X)                                                                     \
	X(resource, VALUE, none)                                                                   \
	X(instance, VALUE, none)                                                                   \
	X(held, VALUE, none)                                                                       \
	X(held_since_ns, STAMP, none)                                                              \
	X(hold_ns, HOLDS, held_since_ns)                                                           \
	X(waiting_since_ns, STAMP, none)                                                           \
	X(wait_ns, GROWS, waiting_since_ns)                                                        \
	X(held_modes, VALUE, none)                                                                 \
	X(wanted_mode, VALUE, none)                                                                \
	X(evicted, COUNT, none)                                                                    \
	X(stall_caused_ns, TIME, none)

#define RECORD_RESOURCE_FIELDS(X)                                                                  \
	X(ended_hold_ns, TIME, none)                                                               \
	X(ended_wait_ns, TIME, none)                                                               \
	X(acquires, COUNT, none)                                                                   \
	X(waits, COUNT, none)                                                                      \
	X(ended_evicted, COUNT, none)                                                              \
	X(orphan_stall_ns, TIME, none)                                                             \
	X(type, VALUE, none)                                                                       \
	X(capacity, VALUE, none)                                                                   \
	X(conflicts, VALUE, none)

#define RECORD_EVENT_FIELDS(X)                                                                     \
	X(kind, VALUE, none)                                                                       \
	X(task, VALUE, none)                                                                       \
	X(at_ns, STAMP, none)                                                                      \
	X(wasted_ns, TIME, none)

#define RECORD_LEDGER_FIELDS(X)                                                                    \
	X(completed, COUNT, none)                                                                  \
	X(ended_active_ns, TIME, none)                                                             \
	X(late, COUNT, none)                                                                       \
	X(dropped_events, COUNT, none)                                                             \
	X(action_stuck, VALUE, none)

#define RECORD_LAST	  16u /* kinds of new tasks that are told apart */
#define RECORD_FIELDS_MAX 32u /* of one table, a newer writer's included */

enum record_kind {
	RECORD_VALUE,
	RECORD_COUNT,
	RECORD_TIME,
	RECORD_NEXT,
	RECORD_ID,
	RECORD_STAMP,
	RECORD_GROWS,
	RECORD_HOLDS,
	RECORD_KINDS,
};

/* The place of each field in its table: RECORD_task_id, RECORD_entry_held … */
#define X(field, kind, since) RECORD_ledger_##field,
enum { RECORD_LEDGER_FIELDS(X) RECORD_ledger_count, RECORD_ledger_none = 255 };
#undef X
#define X(field, kind, since) RECORD_resource_##field,
enum { RECORD_RESOURCE_FIELDS(X) RECORD_resource_count, RECORD_resource_none = 255 };
#undef X
#define X(field, kind, since) RECORD_event_##field,
enum { RECORD_EVENT_FIELDS(X) RECORD_event_count, RECORD_event_none = 255 };
#undef X
#define X(field, kind, since) RECORD_task_##field,
enum { RECORD_TASK_FIELDS(X) RECORD_task_count, RECORD_task_none = 255 };
#undef X
#define X(field, kind, since) RECORD_entry_##field,
enum { RECORD_ENTRY_FIELDS(X) RECORD_entry_count, RECORD_entry_none = 255 };
#undef X

struct record_field {
	const char *name;
	enum record_kind kind;
	uint8_t since; /* GROWS, HOLDS: place of that field */
	uint8_t size;  /* bytes */
	uint16_t offset;
};

struct record_table {
	const char *name;
	const struct record_field *fields;
	uint32_t count;
};

enum record_table_index {
	RECORD_LEDGER,
	RECORD_RESOURCE,
	RECORD_EVENT,
	RECORD_TASK,
	RECORD_ENTRY,
	RECORD_TABLE_COUNT
};

extern const struct record_table record_tables[RECORD_TABLE_COUNT];
extern const char record_kind_letters[RECORD_KINDS + 1]; /* each kind in the file */

/* The fields of a structure as numbers, in the order of its table; and back. */
void record_load(const struct record_table *table, const void *from, uint64_t *values);
void record_store(const struct record_table *table, const uint64_t *values, void *to);

/* ---- What a field most likely is ------------------------------------------------------------- */

struct record_past {	  /* of one task, entry … */
	bool same;	  /* it is still the same one */
	uint64_t now_ns;  /* of this look */
	uint64_t past_ns; /* of the look that `values` are from */
	const uint64_t *values;
	const uint64_t *last;  /* NEXT: of the last new ones, by kind */
	const uint8_t *queues; /* by resource: is it a queue? */
};

/* Where the row of a task's kind begins in `last`. */
static inline uint32_t record_kind_of(const uint64_t *task)
{
	return (uint32_t)(task[RECORD_task_signature] % RECORD_LAST) * RECORD_task_count;
}

/* What has been added to a duration that grows since `since_ns`. */
static inline uint64_t record_growth(const struct record_past *p, uint64_t since_ns)
{
	uint64_t from_ns = p->same && p->past_ns > since_ns ? p->past_ns : since_ns;
	return since_ns && p->now_ns > from_ns ? p->now_ns - from_ns : 0;
}

/* `now` has the fields of the rows above this one as they are now. */
static inline uint64_t record_expect(const struct record_field *field, uint32_t index,
	const struct record_past *p, const uint64_t *now)
{
	uint64_t kept = p->same ? p->values[index] : 0, slots;
	switch (field->kind) {
	case RECORD_VALUE:
	case RECORD_ID:
		return p->values[index];
	case RECORD_NEXT:
		return p->same ? kept : p->last[record_kind_of(now) + index];
	case RECORD_GROWS:
		return kept + record_growth(p, now[field->since]);
	case RECORD_HOLDS:
		slots = p->queues[now[RECORD_entry_resource] % CANCEL_RESOURCES_MAX]
				? now[RECORD_entry_held]
				: 1;
		return kept + slots * record_growth(p, now[field->since]);
	default:
		return kept;
	}
}

#endif

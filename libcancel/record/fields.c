/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the tables of recorded fields, made from the rows of fields.h.
 */
#include "libcancel/record/fields.h"

#include <stddef.h>
#include <string.h>

#define MEMBER_SIZE(type, field) sizeof(((type *)0)->field)
#define ROW(table, type, field, kind, since)                                                       \
	{ #field, RECORD_##kind, RECORD_##table##_##since, MEMBER_SIZE(type, field),               \
		offsetof(type, field) },

#define X(field, kind, since) ROW(ledger, struct cancel_ledger, field, kind, since)
static const struct record_field ledger_fields[] = { RECORD_LEDGER_FIELDS(X) };
#undef X
#define X(field, kind, since) ROW(resource, struct cancel_ledger_resource, field, kind, since)
static const struct record_field resource_fields[] = { RECORD_RESOURCE_FIELDS(X) };
#undef X
#define X(field, kind, since) ROW(event, struct cancel_event, field, kind, since)
static const struct record_field event_fields[] = { RECORD_EVENT_FIELDS(X) };
#undef X
#define X(field, kind, since) ROW(task, struct cancel_ledger_task, field, kind, since)
static const struct record_field task_fields[] = { RECORD_TASK_FIELDS(X) };
#undef X
#define X(field, kind, since) ROW(entry, struct cancel_ledger_entry, field, kind, since)
static const struct record_field entry_fields[] = { RECORD_ENTRY_FIELDS(X) };
#undef X

const struct record_table record_tables[RECORD_TABLE_COUNT] = {
	[RECORD_LEDGER] = { "ledger", ledger_fields, RECORD_ledger_count },
	[RECORD_RESOURCE] = { "resource", resource_fields, RECORD_resource_count },
	[RECORD_EVENT] = { "event", event_fields, RECORD_event_count },
	[RECORD_TASK] = { "task", task_fields, RECORD_task_count },
	[RECORD_ENTRY] = { "entry", entry_fields, RECORD_entry_count },
};
_Static_assert(RECORD_task_count <= RECORD_FIELDS_MAX && RECORD_entry_count <= RECORD_FIELDS_MAX &&
		       RECORD_resource_count <= RECORD_FIELDS_MAX,
	"a table has more fields than a mask of 32 bits");

const char record_kind_letters[RECORD_KINDS + 1] = {
	[RECORD_VALUE] = 'v',
	[RECORD_COUNT] = 'c',
	[RECORD_TIME] = 't',
	[RECORD_NEXT] = 'n',
	[RECORD_ID] = 'i',
	[RECORD_STAMP] = 's',
	[RECORD_GROWS] = 'g',
	[RECORD_HOLDS] = 'h',
};

void record_load(const struct record_table *table, const void *from, uint64_t *values)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const struct record_field *f = &table->fields[i];
		const unsigned char *at = (const unsigned char *)from + f->offset;
		uint32_t word;
		uint16_t half;
		switch (f->size) {
		case 8:
			memcpy(&values[i], at, sizeof values[i]);
			break;
		case 4:
			memcpy(&word, at, sizeof word);
			values[i] = word;
			break;
		case 2:
			memcpy(&half, at, sizeof half);
			values[i] = half;
			break;
		default:
			values[i] = *at;
		}
	}
}

void record_store(const struct record_table *table, const uint64_t *values, void *to)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const struct record_field *f = &table->fields[i];
		unsigned char *at = (unsigned char *)to + f->offset;
		uint32_t word = (uint32_t)values[i];
		uint16_t half = (uint16_t)values[i];
		switch (f->size) {
		case 8:
			memcpy(at, &values[i], sizeof values[i]);
			break;
		case 4:
			memcpy(at, &word, sizeof word);
			break;
		case 2:
			memcpy(at, &half, sizeof half);
			break;
		default:
			*at = (unsigned char)values[i];
		}
	}
}

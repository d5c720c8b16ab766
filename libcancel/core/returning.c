/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of signatures that were cancelled. */
#include "libcancel/core/returning.h"

static struct returning_record *find(struct returning *r, const struct cancel_candidate *target)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (r->records[i].signature == target->signature &&
			r->records[i].class_index == target->class_index)
			return &r->records[i];
	}
	return NULL;
}

static struct returning_record *make_room(struct returning *r)
{
	struct returning_record *oldest = &r->records[0];
	if (r->count < RETURNING_MAX)
		return &r->records[r->count++];
	for (uint32_t i = 1; i < RETURNING_MAX; i++) {
		if (r->records[i].serial < oldest->serial)
			oldest = &r->records[i];
	}
	return oldest;
}

bool returning_note(struct returning *r, const struct cancel_candidate *target, uint64_t serial)
{
	struct returning_record *record;
	bool known;
	if (target->signature == 0)
		return false;
	record = find(r, target);
	known = record && record->task != target->task;
	if (!record)
		record = make_room(r);
	*record = (struct returning_record){
		.signature = target->signature,
		.serial = serial,
		.task = target->task,
		.class_index = target->class_index,
	};
	return known;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of origins that were cancelled. */
#include "libcancel/core/returning.h"

#include "libcancel/base/fixed.h"

#define HORIZON_NS 60000000000ull /* who stays away for so long has not come back */

static struct returning_record *find(struct returning *r, uint64_t origin, uint8_t class_index)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (r->records[i].origin == origin && r->records[i].class_index == class_index)
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

/* Its last cancel is not long ago, and has not made all well. */
static bool is_recent(
	const struct returning *r, const struct returning_record *record, uint64_t now_ns)
{
	return record->decided_ns > r->recovered_ns &&
	       fixed_minus(now_ns, record->decided_ns) < HORIZON_NS;
}

/* It was not there yet when the last one was cancelled. */
static bool came_back(const struct returning *r, const struct returning_record *record,
	uint64_t since_ns, uint64_t now_ns)
{
	return since_ns > record->decided_ns && is_recent(r, record, now_ns);
}

void returning_note_recovery(struct returning *r, uint64_t now_ns)
{
	r->recovered_ns = now_ns;
	r->helpless_count = 0;
}

void returning_note_helpless(struct returning *r, uint64_t now_ns)
{
	r->helpless_ns[r->helpless_count++ % HELPLESS_MAX] = now_ns;
}

bool returning_note(struct returning *r, const struct cancel_decision *d, uint64_t since_ns)
{
	const struct cancel_candidate *target = &d->target;
	struct returning_record *record;
	uint32_t cancels = d->acted;
	bool known, again;
	if (target->origin == 0)
		return false;
	record = find(r, target->origin, target->class_index);
	known = record && record->task != target->task;
	again = record && d->acted && record->cancels &&
		came_back(r, record, since_ns, d->decided_ns);
	if (record && is_recent(r, record, d->decided_ns))
		cancels = record->cancels + again;
	if (again)
		returning_note_helpless(r, d->decided_ns);
	if (!record)
		record = make_room(r);
	*record = (struct returning_record){
		.origin = target->origin,
		.serial = d->serial,
		.task = target->task,
		.decided_ns = d->decided_ns,
		.cancels = cancels ? cancels : d->acted,
		.class_index = target->class_index,
	};
	return known;
}

bool returning_is_spent(const struct returning *r, const struct settings *s, uint64_t origin,
	uint8_t class_index, uint64_t since_ns, uint64_t now_ns)
{
	for (uint32_t i = 0; i < r->count && origin; i++) {
		const struct returning_record *record = &r->records[i];
		if (record->origin == origin && record->class_index == class_index)
			return record->cancels >= s->origin_cancels &&
			       came_back(r, record, since_ns, now_ns);
	}
	return false;
}

bool returning_is_helpless(const struct returning *r, const struct settings *s, uint64_t now_ns)
{
	uint32_t recent = 0;
	for (uint32_t i = 0; i < HELPLESS_MAX && i < r->helpless_count; i++)
		recent += now_ns - r->helpless_ns[i] < HORIZON_NS;
	return recent >= s->helpless_cancels;
}

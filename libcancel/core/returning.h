/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returning.h - remembers what was cancelled, by class and origin, to know it when it comes again;
 * and counts the cancels that do not help: what they ended came back, or nobody got on.
 */
#ifndef CANCEL_CORE_RETURNING_H
#define CANCEL_CORE_RETURNING_H

#include "libcancel/core/settings.h"

#define RETURNING_MAX 64u
#define HELPLESS_MAX  64u

struct returning_record {
	uint64_t origin, serial;
	uint64_t task; /* the last one of that origin */
	uint64_t decided_ns;
	uint32_t cancels; /* since all was well, or it stayed away for a minute */
	uint8_t class_index;
};

struct returning {
	struct returning_record records[RETURNING_MAX]; /* a full table forgets the oldest */
	uint32_t count;
	uint64_t recovered_ns; /* when a suspicion last ended: the cancels before helped */
	uint64_t helpless_ns[HELPLESS_MAX]; /* when cancels turned out not to help; a ring */
	uint32_t helpless_count;
};

/* Of a ledger's task or a candidate: what its cancels are counted by. */
static inline uint64_t returning_origin(uint64_t origin, uint64_t signature)
{
	return origin ? origin : signature;
}

/* Whether another task of this class and origin was decided before; then remembers this one.
 * `since_ns`: when the task was first seen; `acted`: it is cancelled. Origin 0 is unknown and never
 * returns. */
bool returning_note(
	struct returning *returning, const struct cancel_decision *decision, uint64_t since_ns);
void returning_note_recovery(struct returning *returning, uint64_t now_ns);
/* A cancel that nobody got on by. */
void returning_note_helpless(struct returning *returning, uint64_t now_ns);
/* Whether a task first seen then comes from an origin that has come back too often. */
bool returning_is_spent(const struct returning *returning, const struct settings *settings,
	uint64_t origin, uint8_t class_index, uint64_t since_ns, uint64_t now_ns);
/* Whether too many cancels of the last minute did not help. */
bool returning_is_helpless(
	const struct returning *returning, const struct settings *settings, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returning.h - remembers what was cancelled, by class and signature, to know it when it comes
 * again.
 */
#ifndef CANCEL_CORE_RETURNING_H
#define CANCEL_CORE_RETURNING_H

#include <cancel/policy.h>

#define RETURNING_MAX 64u

struct returning_record {
	uint64_t signature, serial;
	uint64_t task; /* the last one of that signature */
	uint8_t class_index;
};

struct returning {
	struct returning_record records[RETURNING_MAX]; /* a full table forgets the oldest */
	uint32_t count;
};

/* Whether another task of this class and signature was decided before; then remembers this one.
 * Signature 0 is unknown and never returns. */
bool returning_note(
	struct returning *returning, const struct cancel_candidate *target, uint64_t serial);

#endif

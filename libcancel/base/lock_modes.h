/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_modes.h - which modes of a lock exclude each other.
 *
 * A table has a row a mode: bit (j-1) of conflicts[i-1] is set when mode i cannot be held beside
 * mode j. Its modes are 1 to the last row with a bit; a table without a bit declares nothing.
 */
#ifndef CANCEL_BASE_LOCK_MODES_H
#define CANCEL_BASE_LOCK_MODES_H

#include <cancel/policy.h>

/* How many modes the table declares; 0: none. */
uint32_t lock_modes_count(const uint8_t conflicts[CANCEL_LOCK_MODES_MAX]);
bool lock_modes_are_symmetric(const uint8_t conflicts[CANCEL_LOCK_MODES_MAX]);
/* The table that is in force: the declared one, or else that of CANCEL_SHARED and
 * CANCEL_EXCLUSIVE. */
const uint8_t *lock_modes_in_force(const uint8_t conflicts[CANCEL_LOCK_MODES_MAX]);

#endif

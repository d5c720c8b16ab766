/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_modes.c - owns the table of the two usual modes, and what can be asked of any table.
 */
#include "libcancel/base/lock_modes.h"

static const uint8_t shared_exclusive[CANCEL_LOCK_MODES_MAX] = {
	[CANCEL_SHARED - 1] = 1u << (CANCEL_EXCLUSIVE - 1),
	[CANCEL_EXCLUSIVE - 1] = 1u << (CANCEL_SHARED - 1) | 1u << (CANCEL_EXCLUSIVE - 1),
};

uint32_t lock_modes_count(const uint8_t conflicts[CANCEL_LOCK_MODES_MAX])
{
	uint32_t modes = 0;
	for (uint32_t i = 0; i < CANCEL_LOCK_MODES_MAX; i++) {
		if (conflicts[i])
			modes = i + 1;
	}
	return modes;
}

bool lock_modes_are_symmetric(const uint8_t conflicts[CANCEL_LOCK_MODES_MAX])
{
	for (uint32_t i = 0; i < CANCEL_LOCK_MODES_MAX; i++) {
		for (uint32_t j = 0; j < CANCEL_LOCK_MODES_MAX; j++) {
			if ((conflicts[i] >> j & 1) != (conflicts[j] >> i & 1))
				return false;
		}
	}
	return true;
}

const uint8_t *lock_modes_in_force(const uint8_t conflicts[CANCEL_LOCK_MODES_MAX])
{
	return lock_modes_count(conflicts) ? conflicts : shared_exclusive;
}

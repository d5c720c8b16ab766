/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global_lock.c - shared by every transaction, exclusive for a moment to a backup.
 *
 * Owns the lock's two modes.
 */
#include "demo-db/engine/locks/global_lock.h"

#define SHARED	  (1u << (CANCEL_SHARED - 1))
#define EXCLUSIVE (1u << (CANCEL_EXCLUSIVE - 1))

const struct lock_kind global_lock_kind = {
	.index = LOCK_KIND_GLOBAL,
	.name = "global lock",
	.mode_names = { "SHARED", "EXCLUSIVE" },
	.conflicts = { EXCLUSIVE, SHARED | EXCLUSIVE },
};

int global_lock_exclusive(struct lock_owner *owner, struct lock *global, uint64_t timeout_ns)
{
	const struct lock_request request = { .lock = global, .mode = CANCEL_EXCLUSIVE };
	return lock_acquire(owner, &request, 1, timeout_ns, NULL);
}

void global_lock_downgrade(struct lock_owner *owner, struct lock *global)
{
	lock_downgrade(owner, global, CANCEL_EXCLUSIVE, CANCEL_SHARED);
}

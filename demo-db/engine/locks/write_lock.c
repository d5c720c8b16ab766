/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_lock.c - one writer at a time, first come, first served, its waiters wakeable.
 *
 * Owns the write lock's one mode. It is left with the transaction's other locks
 * (lock_release_all), after COMMIT or ROLLBACK.
 */
#include "demo-db/engine/locks/write_lock.h"

#define SHARED	  (1u << (CANCEL_SHARED - 1))
#define EXCLUSIVE (1u << (CANCEL_EXCLUSIVE - 1))

const struct lock_kind write_lock_kind = {
	.index = LOCK_KIND_WRITE,
	.name = "write lock",
	.mode_names = { "SHARED", "EXCLUSIVE" },
	.conflicts = { EXCLUSIVE, SHARED | EXCLUSIVE },
};

int write_lock_enter(struct lock_owner *owner, struct lock *write_lock, uint64_t timeout_ns,
	struct lock_waited *waited)
{
	const struct lock_request request = { .lock = write_lock, .mode = CANCEL_EXCLUSIVE };
	return lock_acquire(owner, &request, 1, timeout_ns, waited);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_gate.c - one writer at a time, first come, first served, its waiters wakeable.
 *
 * Owns the gate's one mode. It is left with the transaction's other locks (lock_release_all), after
 * COMMIT or ROLLBACK. Must not know what the writer writes.
 */
#include "demo-db/engine/write_gate.h"

#define SHARED	  (1u << (CANCEL_SHARED - 1))
#define EXCLUSIVE (1u << (CANCEL_EXCLUSIVE - 1))

const struct lock_kind write_gate_kind = {
	.index = LOCK_KIND_GATE,
	.name = "write gate",
	.mode_names = { "SHARED", "EXCLUSIVE" },
	.conflicts = { EXCLUSIVE, SHARED | EXCLUSIVE },
};

int write_gate_enter(struct lock_owner *owner, struct lock *gate, uint64_t timeout_ns,
	struct lock_waited *waited)
{
	const struct lock_request request = { .lock = gate, .mode = CANCEL_EXCLUSIVE };
	return lock_acquire(owner, &request, 1, timeout_ns, waited);
}

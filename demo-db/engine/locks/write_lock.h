/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_lock.h - SQLite's single writer, as a FIFO lock outside SQLite.
 *
 * Whoever is inside is the only one that may begin a write transaction or reset the log, so SQLite
 * itself never answers "busy" and nobody waits inside it, where a cancel could not reach them.
 * Taken after the table locks and before the snapshot; kept to the end of the transaction.
 */
#ifndef DEMO_DB_WRITE_LOCK_H
#define DEMO_DB_WRITE_LOCK_H

#include "demo-db/engine/locks/lock.h"

extern const struct lock_kind write_lock_kind;

int write_lock_enter(struct lock_owner *owner, struct lock *write_lock, uint64_t timeout_ns,
	struct lock_waited *waited);

#endif

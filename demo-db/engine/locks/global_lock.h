/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global_lock.h - the lock of the whole database, a model of FLUSH TABLES WITH READ LOCK.
 *
 * Every statement holds it shared to the end of its transaction; a backup takes it exclusively to
 * reach a quiet instant, opens its snapshot there, and downgrades. WAL snapshots would need no such
 * lock; it is here because real engines have it, and because of what waits behind it.
 */
#ifndef DEMO_DB_GLOBAL_LOCK_H
#define DEMO_DB_GLOBAL_LOCK_H

#include "demo-db/engine/locks/lock.h"

extern const struct lock_kind global_lock_kind;

int global_lock_exclusive(struct lock_owner *owner, struct lock *global, uint64_t timeout_ns);
void global_lock_downgrade(struct lock_owner *owner, struct lock *global);

#endif

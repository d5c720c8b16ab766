/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks.c - reads the lock table: all holders and waiters of each lock that somebody waits for.
 *
 * One partition is locked at a time, shared, and only where a waiter was seen. Which partition that
 * is, is read without a lock from shared memory that is never unmapped; under the lock it is read
 * again, and a waiter that has gone on is left out.
 */
#include "pg_culprit.h"

#include "common/hashfn.h"
#include "storage/lock.h"
#include "storage/proc.h"

#define LOCKS_MAX 256

static void add_row(struct pg_culprit_row *rows, int capacity, int *count, uint64 *lost,
	const LOCK *lock, const PROCLOCK *link)
{
	PGPROC *proc = link->tag.myProc;
	PGPROC *leader = proc->lockGroupLeader ? proc->lockGroupLeader : proc;
	bool waits = proc->waitLock == lock;
	if (!waits && !link->holdMask)
		return;
	if (*count == capacity) {
		(*lost)++;
		return;
	}
	rows[(*count)++] = (struct pg_culprit_row){
		.instance =
			hash_bytes_extended((const unsigned char *)&lock->tag, sizeof lock->tag, 0),
		.owner = leader->pgprocno,
		.type = lock->tag.locktag_type,
		.held = (uint8)(link->holdMask >> 1),
		.wanted = waits ? (uint8)proc->waitLockMode : 0,
		.wait_start = waits ? (TimestampTz)pg_atomic_read_u64(&proc->waitStart) : 0,
	};
}

int pg_culprit_read_locks(struct pg_culprit_row *rows, int capacity, uint64 *lost)
{
	LOCK *seen[LOCKS_MAX];
	int seen_count = 0, count = 0;
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++) {
		PGPROC *proc = &ProcGlobal->allProcs[i];
		LOCK *lock = *(LOCK *volatile *)&proc->waitLock;
		int known = 0;
		while (known < seen_count && seen[known] != lock)
			known++;
		if (!lock || known < seen_count)
			continue;
		if (seen_count == LOCKS_MAX) {
			(*lost)++;
			continue;
		}
		LOCKTAG tag = lock->tag;
		uint32 hash = LockTagHashCode(&tag);
		LWLock *partition = LockHashPartitionLock(hash);
		LWLockAcquire(partition, LW_SHARED);
		if (proc->waitLock == lock && LockTagHashCode(&lock->tag) == hash) {
			seen[seen_count++] = lock;
			PROCLOCK *link = (PROCLOCK *)SHMQueueNext(
				&lock->procLocks, &lock->procLocks, offsetof(PROCLOCK, lockLink));
			while (link) {
				add_row(rows, capacity, &count, lost, lock, link);
				link = (PROCLOCK *)SHMQueueNext(&lock->procLocks, &link->lockLink,
					offsetof(PROCLOCK, lockLink));
			}
		}
		LWLockRelease(partition);
	}
	return count;
}

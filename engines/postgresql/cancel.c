/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - asks a session to cancel one statement; backend.c says what the session does then. */
#include "pg_culprit.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The pidfd names one process for good; that it is still the slot's is asked after it is open. */
static bool send_signal(struct pg_culprit_slot *slot, int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return false;
	bool sent = pg_atomic_read_u64(&slot->pid) == (uint64)pid &&
		    syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0) == 0;
	close(fd);
	return sent;
}

bool pg_culprit_cancel_statement(struct pg_culprit_slot *slot, int pid, uint64 statement,
	enum pg_culprit_strength strength, const char *why)
{
	LWLockAcquire(pg_culprit_shared->lock, LW_EXCLUSIVE);
	strlcpy(slot->why, why, sizeof slot->why);
	pg_atomic_write_u64(&slot->strength, strength);
	pg_write_barrier();
	pg_atomic_write_u64(&slot->wanted, statement);
	pg_memory_barrier();
	bool sent = send_signal(slot, pid);
	LWLockRelease(pg_culprit_shared->lock);
	return sent;
}

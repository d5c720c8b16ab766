/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pg_culprit.h - what backends, the worker and SQL functions share.
 *
 * A slot belongs to one PGPROC. Its backend alone writes the first group of members and
 * whoever cancels the second, so no hook takes a lock. The last decisions and the status are read under a
 * lightweight lock that no hook knows.
 */
#ifndef CANCEL_PG_CULPRIT_H
#define CANCEL_PG_CULPRIT_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/lwlock.h"

#define PG_CULPRIT_WHY_MAX   256
#define PG_CULPRIT_DECISIONS 64

enum pg_culprit_mode { PG_CULPRIT_MONITOR, PG_CULPRIT_ACT };
enum pg_culprit_strength { PG_CULPRIT_CANCEL = 1, PG_CULPRIT_END_IDLE };

#define PG_CULPRIT_SPARED_SUPERUSER 1u
#define PG_CULPRIT_SPARED_DEAF	    2u /* SIGUSR2 is somebody else's there */

struct pg_culprit_slot {
	pg_atomic_uint64 pid;	     /* of the client backend that listens here, 0: none */
	pg_atomic_uint64 generation; /* of its statement: moves when one ends */
	pg_atomic_uint64 transaction;
	pg_atomic_uint64 taken;			     /* the generation whose cancel was taken */
	pg_atomic_uint64 stale;			     /* signals that came for another generation */
	pg_atomic_uint64 completed, late, active_us; /* statements that bear an SLO */
	pg_atomic_uint64 slo_ms, exempt;
	pg_atomic_uint64 spared; /* PG_CULPRIT_SPARED_…, for the life of the session */

	pg_atomic_uint64 wanted pg_attribute_aligned(PG_CACHE_LINE_SIZE); /* to be cancelled */
	pg_atomic_uint64 strength;
	pg_atomic_uint64 holds, waits; /* contended locks, as of the last look */
	char why[PG_CULPRIT_WHY_MAX];
} pg_attribute_aligned(PG_CACHE_LINE_SIZE);

struct pg_culprit_decision {
	uint64 serial;
	TimestampTz decided_at;
	int pid;
	bool acted;
	char lock[32];
	double lost, blame; /* shares, 0 to 1 */
	double held_ms, late_ms;
	double delivered_ms, released_ms, recovered_ms; /* after the decision; negative: not yet */
	char text[PG_CULPRIT_WHY_MAX];
};

struct pg_culprit_status {
	int worker_pid;
	uint64 looks, lock_looks, lost_rows, decisions, delivered, ignored, acknowledged;
	uint64 completed, late;
	double late_share, last_look_us, worst_look_us;
	char overload[16], held_back[PG_CULPRIT_WHY_MAX];
};

struct pg_culprit_shared {
	LWLock *lock; /* of the next three, and of cancelling */
	struct pg_culprit_status status;
	struct pg_culprit_decision decisions[PG_CULPRIT_DECISIONS];
	uint64 decision_count;
	int slot_count;
	struct pg_culprit_slot slots[FLEXIBLE_ARRAY_MEMBER];
};

extern struct pg_culprit_shared *pg_culprit_shared; /* NULL: not preloaded */
extern bool pg_culprit_enabled, pg_culprit_end_idle, pg_culprit_exempt;
extern int pg_culprit_mode, pg_culprit_window_ms, pg_culprit_slo_ms;

/* backend.c */
void pg_culprit_install_hooks(void);
void pg_culprit_publish_settings(int slo_ms, bool exempt);

/* cancel.c: true when the signal was sent. It hits this statement of this process or nobody. */
bool pg_culprit_cancel_statement(struct pg_culprit_slot *slot, int pid, uint64 statement,
	enum pg_culprit_strength strength, const char *why);

/* locks.c: who holds or waits for a lock that somebody waits for. */
struct pg_culprit_row {
	uint64 instance;
	int owner; /* number of its PGPROC, or of its lock group's leader */
	uint8 type;
	uint8 held; /* bit (mode - 1) */
	uint8 wanted;
	TimestampTz wait_start; /* 0: unknown */
};
/* Copies up to `capacity` rows; `lost` counts those that did not fit. */
int pg_culprit_read_locks(struct pg_culprit_row *rows, int capacity, uint64 *lost);

static inline void pg_culprit_add(pg_atomic_uint64 *counter, uint64 by)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + by); /* one writer */
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c - the thread that copies the log into the database, and writers who do it
 * themselves.
 *
 * The log should stay below its limit. From a quarter of it on a PASSIVE checkpoint
 * copies what no reader needs; it disturbs nobody. Under steady writing it cannot catch up with the
 * last commit, so the log is never begun anew: when the log would outgrow half its limit meanwhile,
 * the checkpointer takes the write lock, in its turn, and checkpoints with RESTART. Now everything
 * is copied and the next writer starts at the front. RESTART and TRUNCATE without the write lock
 * would hand SQLITE_BUSY to writers. Should the checkpointer come too late, the next writer that
 * gets the gate copies the log itself before it begins, as SQLite's own automatic checkpoint would.
 * What a reader pins stays; that shows in wal_bytes. A log beyond its limit is copied beside the
 * writers, and the write lock is taken for the rest, so that nobody waits for a long copy. Until
 * then each writer pays for what the last one added: it waits as long as that takes to copy, so the
 * debt grows no faster than it can be worked off.
 *
 * A checkpoint cannot be interrupted usefully, so it is a blocked phase of a background task.
 */
#include "demo-db/engine/background/checkpoint.h"

#include "demo-db/engine/locks/write_lock.h"

#define PINNED_GAP_NS	   200000000ull /* after a checkpoint that a reader kept from finishing */
#define PASSIVE_PART	   4		/* of the limit: checkpoints begin */
#define GATED_PART	   2		/* of the limit: writers are held for one */
#define FORCED_PART	   8		/* all but this part of the limit: the next writer copies */
#define COPY_NS		   100000ull	/* a page, before one was measured: a slow O_DIRECT write */
#define THROTTLE_MAX_NS	   100000000ull /* that a writer waits before it begins */
#define FRAME_BYTES	   (DB_PAGE_BYTES + 24)
#define WAL_HEADER	   32
#define WRITE_LOCK_WAIT_NS 10000000000ull

/* Sleeps until the time is up; false: stop. */
static bool rest(struct checkpoints *checkpoints, uint64_t ns)
{
	struct timespec deadline = deadline_after(ns);
	pthread_mutex_lock(&checkpoints->mutex);
	int rc = 0;
	while (!checkpoints->stopping && rc == 0)
		rc = pthread_cond_timedwait(&checkpoints->wake, &checkpoints->mutex, &deadline);
	bool go = !checkpoints->stopping;
	pthread_mutex_unlock(&checkpoints->mutex);
	return go;
}

static uint64_t left_to_copy(const struct checkpoints *checkpoints)
{
	uint64_t bytes = checkpoints->wal_bytes, copied = checkpoints->copied_bytes;
	return bytes > copied ? bytes - copied : 0;
}

/* The log has grown from `before`: the next writer waits for as long as that takes to copy. */
static void note_debt(struct checkpoints *checkpoints, uint64_t before)
{
	uint64_t bytes = checkpoints->wal_bytes;
	if (bytes < before)
		checkpoints->copied_bytes = 0; /* it was begun anew */
	uint64_t added = bytes < before ? bytes : bytes - before;
	uint64_t owed_ns = added / FRAME_BYTES * checkpoints->copy_page_ns;
	bool long_debt =
		checkpoints->running && left_to_copy(checkpoints) > checkpoints->limit_bytes;
	checkpoints->owed_ns = !long_debt		   ? 0
			       : owed_ns < THROTTLE_MAX_NS ? owed_ns
							   : THROTTLE_MAX_NS;
}

void checkpoints_on_commit(void *arg, uint32_t wal_pages)
{
	struct checkpoints *checkpoints = arg;
	uint64_t before = checkpoints->wal_bytes;
	uint64_t bytes = WAL_HEADER + (uint64_t)wal_pages * FRAME_BYTES;
	if (checkpoints->uncopied_bytes == 0)
		checkpoints->growing_since_ns = cancel_now_ns();
	checkpoints->wal_bytes = bytes;
	checkpoints->uncopied_bytes = bytes;
	if (bytes > checkpoints->wal_bytes_peak)
		checkpoints->wal_bytes_peak = bytes;
	note_debt(checkpoints, before);
	if (bytes < checkpoints->limit_bytes / PASSIVE_PART || !checkpoints->asleep)
		return;
	pthread_mutex_lock(&checkpoints->mutex);
	pthread_cond_broadcast(&checkpoints->wake);
	pthread_mutex_unlock(&checkpoints->mutex);
}

/* Would the log outgrow its middle while it is copied beside the writers? From how fast it grew and
 * how long a page took last time. */
static bool will_outgrow(const struct checkpoints *checkpoints)
{
	uint64_t bytes = checkpoints->uncopied_bytes;
	uint64_t age_ns = cancel_now_ns() - checkpoints->growing_since_ns + 1;
	uint64_t copy_ns = bytes / FRAME_BYTES * checkpoints->copy_page_ns;
	double growth = (double)bytes * (double)copy_ns / (double)age_ns;
	return (double)checkpoints->wal_bytes + growth >=
	       (double)(checkpoints->limit_bytes / GATED_PART);
}

struct outcome { /* of one checkpoint */
	int rc;
	bool complete; /* everything in the log has been copied */
};

static struct outcome checkpoint(struct checkpoints *checkpoints, int mode)
{
	int frames = 0, copied = 0;
	uint64_t pages = checkpoints->uncopied_bytes / FRAME_BYTES;
	uint64_t start_ns = cancel_now_ns(), left = left_to_copy(checkpoints);
	if (mode != SQLITE_CHECKPOINT_PASSIVE && left > checkpoints->gated_bytes_peak)
		checkpoints->gated_bytes_peak = left; /* the write lock is held */
	bool blocked =
		blockCancel() == 0; /* nobody may cancel it; but were it so, no allow is owed */
	pthread_mutex_lock(&checkpoints->one_at_a_time);
	int rc = sqlite3_wal_checkpoint_v2(
		checkpoints->connection->db, NULL, mode, &frames, &copied);
	pthread_mutex_unlock(&checkpoints->one_at_a_time);
	if (blocked)
		allowCancel();
	checkpoints->count++;
	uint64_t took_ns = cancel_now_ns() - start_ns;
	checkpoints->total_ns += took_ns;
	if (pages)
		checkpoints->copy_page_ns = took_ns / pages;
	struct outcome outcome = { .rc = rc, .complete = rc == SQLITE_OK && frames == copied };
	if (outcome.complete)
		checkpoints->uncopied_bytes = 0;
	if (rc == SQLITE_OK || rc == SQLITE_BUSY)
		checkpoints->copied_bytes =
			copied > 0 ? (uint64_t)copied * FRAME_BYTES + WAL_HEADER : 0;
	if (outcome.complete && mode != SQLITE_CHECKPOINT_PASSIVE) {
		checkpoints->wal_bytes = 0;
		checkpoints->copied_bytes = 0;
	}
	return outcome;
}

/* Copies a long log beside the writers, until what is left is short. False: it stays long, because
 * a reader pins it or writers add more than is copied. */
static bool copy_beside(struct checkpoints *checkpoints)
{
	uint64_t before, left = UINT64_MAX;
	if (checkpoints->wal_bytes <= checkpoints->limit_bytes)
		return true;
	do {
		before = left;
		if (checkpoint(checkpoints, SQLITE_CHECKPOINT_PASSIVE).rc != SQLITE_OK)
			return false;
		left = left_to_copy(checkpoints);
	} while (left > checkpoints->limit_bytes && left < before - before / 4);
	return left <= checkpoints->limit_bytes;
}

/* A log that a reader pins is not tried again by writers before it has grown as much once more. */
void checkpoints_before_write(struct checkpoints *checkpoints)
{
	uint64_t limit = checkpoints->limit_bytes;
	uint64_t bytes = checkpoints->wal_bytes;
	if (checkpoints->owed_ns) {
		const struct timespec owed = { .tv_nsec = (long)checkpoints->owed_ns };
		checkpoints->throttle_ns += checkpoints->owed_ns;
		checkpoints->owed_ns = 0;
		nanosleep(&owed, NULL);
	}
	if (left_to_copy(checkpoints) > limit)
		return; /* it would keep all writers for long: the checkpointer copies beside them */
	if (bytes < limit / FORCED_PART * (FORCED_PART - 1) || !checkpoints->running ||
		bytes < checkpoints->forced_bytes + limit / GATED_PART)
		return;
	struct outcome outcome = checkpoint(checkpoints, SQLITE_CHECKPOINT_RESTART);
	checkpoints->gated_count++;
	checkpoints->forced_bytes = outcome.complete ? 0 : bytes;
}

static int status_of(const struct checkpoints *checkpoints, struct outcome outcome)
{
	struct failure failure;
	if (outcome.rc == SQLITE_BUSY) /* readers of an older snapshot: copied as far as it goes */
		return 0;
	return outcome.rc == SQLITE_OK
		       ? 0
		       : failure_sqlite(&failure, checkpoints->connection->db, outcome.rc);
}

/* With the write lock no writer is inside and none can come. */
static int gated_checkpoint(struct checkpoints *checkpoints, struct lock_owner *owner, int mode)
{
	int rc = write_lock_enter(owner, checkpoints->write_lock, WRITE_LOCK_WAIT_NS, NULL);
	if (rc)
		return rc;
	struct outcome outcome = checkpoint(checkpoints, mode);
	checkpoints->gated_count++;
	if (outcome.complete)
		checkpoints->forced_bytes = 0;
	lock_release_all(owner);
	return status_of(checkpoints, outcome);
}

static struct cancel_task begin_task(const char *what)
{
	const struct cancel_task_options options = { .struct_size = sizeof(options),
		.signature = statement_hash(what),
		.flags = CANCEL_BACKGROUND | CANCEL_MAINTENANCE };
	return createCancel(&options);
}

/* One turn; returns how long to rest. */
static uint64_t shorten_log(struct checkpoints *checkpoints)
{
	uint64_t limit = checkpoints->limit_bytes;
	struct cancel_task task = begin_task("checkpoint");
	if (!copy_beside(checkpoints)) {
		freeCancel(task);
		return PINNED_GAP_NS;
	}
	bool gated = will_outgrow(checkpoints);
	if (!gated)
		(void)checkpoint(checkpoints, SQLITE_CHECKPOINT_PASSIVE);
	if (gated || checkpoints->wal_bytes >= limit / GATED_PART)
		(void)gated_checkpoint(checkpoints, &checkpoints->owner, SQLITE_CHECKPOINT_RESTART);
	freeCancel(task);
	return checkpoints->uncopied_bytes >= limit / GATED_PART ? PINNED_GAP_NS : 0;
}

static bool await_growth(struct checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->mutex);
	checkpoints->asleep = true;
	while (!checkpoints->stopping &&
		checkpoints->uncopied_bytes < checkpoints->limit_bytes / PASSIVE_PART)
		pthread_cond_wait(&checkpoints->wake, &checkpoints->mutex);
	checkpoints->asleep = false;
	bool go = !checkpoints->stopping;
	pthread_mutex_unlock(&checkpoints->mutex);
	return go;
}

static void *checkpointer(void *arg)
{
	struct checkpoints *checkpoints = arg;
	while (await_growth(checkpoints) && rest(checkpoints, shorten_log(checkpoints)))
		;
	return NULL;
}

int checkpoints_run(struct checkpoints *checkpoints, enum db_checkpoint_mode mode)
{
	static const int modes[] = { [DB_CHECKPOINT_PASSIVE] = SQLITE_CHECKPOINT_PASSIVE,
		[DB_CHECKPOINT_RESTART] = SQLITE_CHECKPOINT_RESTART,
		[DB_CHECKPOINT_TRUNCATE] = SQLITE_CHECKPOINT_TRUNCATE };
	struct lock_owner owner;
	int rc = lock_owner_init(&owner, checkpoints->locks, 0);
	if (rc)
		return rc;
	struct cancel_task task = begin_task("checkpoint");
	if (mode == DB_CHECKPOINT_PASSIVE) {
		rc = status_of(checkpoints, checkpoint(checkpoints, modes[mode]));
	} else {
		(void)copy_beside(checkpoints);
		rc = gated_checkpoint(checkpoints, &owner, modes[mode]);
	}
	freeCancel(task);
	lock_owner_destroy(&owner);
	return rc;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

int checkpoints_start(
	struct checkpoints *checkpoints, struct connections *connections, struct failure *failure)
{
	checkpoints->copy_page_ns = COPY_NS;
	pthread_mutex_init(&checkpoints->mutex, NULL);
	pthread_mutex_init(&checkpoints->one_at_a_time, NULL);
	if (cond_init_monotonic(&checkpoints->wake))
		return failure_set(failure, DB_ENOMEM, NULL);
	int rc = lock_owner_init(&checkpoints->owner, checkpoints->locks, 0);
	if (rc)
		return failure_set(failure, rc, NULL);
	rc = connection_open(connections, &checkpoints->connection, failure);
	if (rc || checkpoints->on_request_only)
		return rc;
	checkpoints->running =
		pthread_create(&checkpoints->thread, NULL, checkpointer, checkpoints) == 0;
	return checkpoints->running ? 0 : failure_set(failure, DB_ETHREAD, NULL);
}

void checkpoints_stop(struct checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->mutex);
	checkpoints->stopping = true;
	pthread_cond_broadcast(&checkpoints->wake);
	pthread_mutex_unlock(&checkpoints->mutex);
	lock_cancel(&checkpoints->owner, DB_ESHUTDOWN);
	if (checkpoints->running)
		pthread_join(checkpoints->thread, NULL);
	if (checkpoints->connection)
		connection_close(checkpoints->connection);
	lock_owner_destroy(&checkpoints->owner);
	pthread_cond_destroy(&checkpoints->wake);
	pthread_mutex_destroy(&checkpoints->one_at_a_time);
	pthread_mutex_destroy(&checkpoints->mutex);
}

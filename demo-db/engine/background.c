/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.c - two threads: one looks for deadlocks and reruns, one checkpoints.
 *
 * Checkpoints. The log should stay below its limit. From a quarter of it on a PASSIVE checkpoint
 * copies what no reader needs; it disturbs nobody. Under steady writing it cannot catch up with the
 * last commit, so the log is never begun anew: when the log would outgrow half its limit meanwhile,
 * the checkpointer takes the write gate, in its turn, and checkpoints with RESTART. Now everything
 * is copied and the next writer starts at the front. RESTART and TRUNCATE without the gate would
 * hand SQLITE_BUSY to writers. Should the checkpointer come too late, the next writer that gets the
 * gate copies the log itself before it begins, as SQLite's own automatic checkpoint would. What a
 * reader pins stays; that shows in wal_bytes.
 *
 * A checkpoint cannot be interrupted usefully, so it is a blocked phase of a background task.
 *
 * Owns both threads and the checkpoint connection. Must not know statements.
 */
#include "demo-db/engine/state.h"

#define TICK_NS	      20000000ull  /* housekeeper */
#define PINNED_GAP_NS 200000000ull /* after a checkpoint that a reader kept from finishing */
#define PASSIVE_PART  4		   /* of the limit: checkpoints begin */
#define GATED_PART    2		   /* of the limit: writers are held for one */
#define FORCED_PART   8		   /* all but this part of the limit: the next writer copies */
#define COPY_NS	      100000ull	   /* a page, before one was measured: a slow O_DIRECT write */
#define FRAME_BYTES   (DB_PAGE_BYTES + 24)
#define WAL_HEADER    32
#define GATE_WAIT_NS  10000000000ull

/* ---- The housekeeper ---------------------------------------------------------------------------
 */

/* Sleeps until the time is up; false: stop. */
static bool rest(struct background *background, uint64_t ns)
{
	struct timespec deadline = deadline_after(ns);
	pthread_mutex_lock(&background->mutex);
	int rc = 0;
	while (!background->stopping && rc == 0)
		rc = pthread_cond_timedwait(&background->wake, &background->mutex, &deadline);
	bool go = !background->stopping;
	pthread_mutex_unlock(&background->mutex);
	return go;
}

static void *housekeeper(void *arg)
{
	struct db_engine *engine = arg;
	while (rest(&engine->background, TICK_NS)) {
		while (deadlock_resolve(&engine->deadlock, &engine->locks, &engine->workers))
			;
		reruns_poll(engine);
	}
	return NULL;
}

/* ---- Checkpoints
 * --------------------------------------------------------------------------------- */

void background_on_commit(void *arg, uint32_t wal_pages)
{
	struct db_engine *engine = arg;
	struct background *background = &engine->background;
	uint64_t bytes = WAL_HEADER + (uint64_t)wal_pages * FRAME_BYTES;
	if (background->uncopied_bytes == 0)
		background->growing_since_ns = cancel_now_ns();
	background->wal_bytes = bytes;
	background->uncopied_bytes = bytes;
	if (bytes > background->wal_bytes_peak)
		background->wal_bytes_peak = bytes;
	if (bytes < engine->options.wal_limit_bytes / PASSIVE_PART || !background->asleep)
		return;
	pthread_mutex_lock(&background->mutex);
	pthread_cond_broadcast(&background->wake);
	pthread_mutex_unlock(&background->mutex);
}

/* Would the log outgrow its middle while it is copied beside the writers? From how fast it grew and
 * how long a page took last time. */
static bool will_outgrow(const struct db_engine *engine)
{
	const struct background *background = &engine->background;
	uint64_t bytes = background->uncopied_bytes;
	uint64_t age_ns = cancel_now_ns() - background->growing_since_ns + 1;
	uint64_t copy_ns = bytes / FRAME_BYTES * background->copy_page_ns;
	double growth = (double)bytes * (double)copy_ns / (double)age_ns;
	return (double)background->wal_bytes + growth >=
	       (double)(engine->options.wal_limit_bytes / GATED_PART);
}

struct outcome { /* of one checkpoint */
	int rc;
	bool complete; /* everything in the log has been copied */
};

static struct outcome checkpoint(struct db_engine *engine, int mode)
{
	struct background *background = &engine->background;
	int frames = 0, copied = 0;
	uint64_t pages = background->uncopied_bytes / FRAME_BYTES;
	uint64_t start_ns = cancel_now_ns();
	bool blocked =
		blockCancel() == 0; /* nobody may cancel it; but were it so, no allow is owed */
	pthread_mutex_lock(&background->one_at_a_time);
	int rc =
		sqlite3_wal_checkpoint_v2(background->connection->db, NULL, mode, &frames, &copied);
	pthread_mutex_unlock(&background->one_at_a_time);
	if (blocked)
		allowCancel();
	background->checkpoints++;
	uint64_t took_ns = cancel_now_ns() - start_ns;
	background->checkpoint_ns += took_ns;
	if (pages)
		background->copy_page_ns = took_ns / pages;
	struct outcome outcome = { .rc = rc, .complete = rc == SQLITE_OK && frames == copied };
	if (outcome.complete)
		background->uncopied_bytes = 0;
	if (outcome.complete && mode != SQLITE_CHECKPOINT_PASSIVE)
		background->wal_bytes = 0;
	return outcome;
}

/* A log that a reader pins is not tried again by writers before it has grown as much once more. */
void background_before_write(struct db_engine *engine)
{
	struct background *background = &engine->background;
	uint64_t limit = engine->options.wal_limit_bytes;
	uint64_t bytes = background->wal_bytes;
	if (bytes < limit / FORCED_PART * (FORCED_PART - 1) || !background->checkpointing ||
		bytes < background->forced_bytes + limit / GATED_PART)
		return;
	struct outcome outcome = checkpoint(engine, SQLITE_CHECKPOINT_RESTART);
	background->checkpoints_gated++;
	background->forced_bytes = outcome.complete ? 0 : bytes;
}

/* With the gate no writer is inside and none can come. */
static int gated_checkpoint(struct db_engine *engine, struct lock_owner *owner, int mode)
{
	int rc = write_gate_enter(owner, &engine->gate, GATE_WAIT_NS, NULL);
	if (rc)
		return rc;
	struct outcome outcome = checkpoint(engine, mode);
	engine->background.checkpoints_gated++;
	if (outcome.complete)
		engine->background.forced_bytes = 0;
	lock_release_all(owner);
	if (outcome.rc == SQLITE_BUSY) /* readers of an older snapshot: copied as far as it goes */
		return 0;
	struct failure failure;
	return outcome.rc == SQLITE_OK
		       ? 0
		       : failure_sqlite(&failure, engine->background.connection->db, outcome.rc);
}

static struct cancel_task begin_task(const char *what)
{
	const struct cancel_task_options options = { .struct_size = sizeof(options),
		.signature = statement_hash(what),
		.flags = CANCEL_BACKGROUND };
	return createCancel(&options);
}

/* One turn; returns how long to rest. */
static uint64_t shorten_log(struct db_engine *engine)
{
	struct background *background = &engine->background;
	uint64_t limit = engine->options.wal_limit_bytes;
	struct cancel_task task = begin_task("checkpoint");
	bool gated = will_outgrow(engine);
	if (!gated)
		(void)checkpoint(engine, SQLITE_CHECKPOINT_PASSIVE);
	if (gated || background->wal_bytes >= limit / GATED_PART)
		(void)gated_checkpoint(engine, &background->owner, SQLITE_CHECKPOINT_RESTART);
	freeCancel(task);
	return background->uncopied_bytes >= limit / GATED_PART ? PINNED_GAP_NS : 0;
}

static bool await_growth(struct db_engine *engine)
{
	struct background *background = &engine->background;
	pthread_mutex_lock(&background->mutex);
	background->asleep = true;
	while (!background->stopping &&
		background->uncopied_bytes < engine->options.wal_limit_bytes / PASSIVE_PART)
		pthread_cond_wait(&background->wake, &background->mutex);
	background->asleep = false;
	bool go = !background->stopping;
	pthread_mutex_unlock(&background->mutex);
	return go;
}

static void *checkpointer(void *arg)
{
	struct db_engine *engine = arg;
	while (await_growth(engine) && rest(&engine->background, shorten_log(engine)))
		;
	return NULL;
}

int db_checkpoint(struct db_engine *engine, enum db_checkpoint_mode mode)
{
	static const int modes[] = { [DB_CHECKPOINT_PASSIVE] = SQLITE_CHECKPOINT_PASSIVE,
		[DB_CHECKPOINT_RESTART] = SQLITE_CHECKPOINT_RESTART,
		[DB_CHECKPOINT_TRUNCATE] = SQLITE_CHECKPOINT_TRUNCATE };
	if (!engine || (unsigned)mode > DB_CHECKPOINT_TRUNCATE)
		return DB_EINVAL;
	struct lock_owner owner;
	int rc = lock_owner_init(&owner, &engine->locks, 0);
	if (rc)
		return rc;
	struct cancel_task task = begin_task("checkpoint");
	if (mode == DB_CHECKPOINT_PASSIVE)
		rc = checkpoint(engine, modes[mode]).rc == SQLITE_OK ? 0 : DB_EIO;
	else
		rc = gated_checkpoint(engine, &owner, modes[mode]);
	freeCancel(task);
	lock_owner_destroy(&owner);
	return rc;
}

/* ---- Start and stop
 * -------------------------------------------------------------------------------- */

int background_start(struct db_engine *engine, struct failure *failure)
{
	struct background *background = &engine->background;
	background->copy_page_ns = COPY_NS;
	pthread_mutex_init(&background->mutex, NULL);
	pthread_mutex_init(&background->one_at_a_time, NULL);
	if (cond_init_monotonic(&background->wake))
		return failure_set(failure, DB_ENOMEM, NULL);
	int rc = lock_owner_init(&background->owner, &engine->locks, 0);
	if (rc)
		return failure_set(failure, rc, NULL);
	rc = connection_open(&engine->connections, &background->connection, failure);
	if (rc)
		return rc;
	background->housekeeping =
		pthread_create(&background->housekeeper, NULL, housekeeper, engine) == 0;
	if (!background->housekeeping)
		return failure_set(failure, DB_ETHREAD, NULL);
	if (engine->options.no_checkpoint || engine->options.read_only)
		return 0;
	background->checkpointing =
		pthread_create(&background->checkpointer, NULL, checkpointer, engine) == 0;
	return background->checkpointing ? 0 : failure_set(failure, DB_ETHREAD, NULL);
}

void background_stop(struct db_engine *engine)
{
	struct background *background = &engine->background;
	pthread_mutex_lock(&background->mutex);
	background->stopping = true;
	pthread_cond_broadcast(&background->wake);
	pthread_mutex_unlock(&background->mutex);
	lock_cancel(&background->owner, DB_ESHUTDOWN);
	if (background->housekeeping)
		pthread_join(background->housekeeper, NULL);
	if (background->checkpointing)
		pthread_join(background->checkpointer, NULL);
	if (background->connection)
		connection_close(background->connection);
	lock_owner_destroy(&background->owner);
	pthread_cond_destroy(&background->wake);
	pthread_mutex_destroy(&background->one_at_a_time);
	pthread_mutex_destroy(&background->mutex);
}

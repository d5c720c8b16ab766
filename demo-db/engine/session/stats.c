/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - what the engine shows of itself: counters, and who runs what now.
 *
 * Owns the reading of other parts' counters, each under its own lock, never two figures at exactly
 * one instant. Must not change anything.
 */
#include "demo-db/engine/session/state.h"

#include <string.h>

static uint64_t value_of(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_counters(struct db_stats *stats, const struct session_counters *counters)
{
	stats->statements += value_of(&counters->statements);
	stats->commits += value_of(&counters->commits);
	stats->rollbacks += value_of(&counters->rollbacks);
	stats->errors += value_of(&counters->errors);
	stats->cancelled += value_of(&counters->cancelled);
	stats->reruns += value_of(&counters->reruns);
	stats->rerun_drops += value_of(&counters->rerun_drops);
	stats->serialization_failures += value_of(&counters->serialization_failures);
	stats->lock_set_retries += value_of(&counters->lock_set_retries);
}

static void read_sessions(struct db_engine *engine, struct db_stats *stats)
{
	struct session_list *list = &engine->sessions;
	pthread_mutex_lock(&list->mutex);
	add_counters(stats, &list->closed);
	for (struct db_session *session = list->first; session; session = session->next) {
		add_counters(stats, &session->counters);
		pthread_mutex_lock(&session->cancel_mutex);
		bool running =
			session->phase == PHASE_RUNNING || session->phase == PHASE_COMMITTING;
		stats->idle_in_transaction +=
			session->phase == PHASE_IDLE && session->idle_in_block;
		pthread_mutex_unlock(&session->cancel_mutex);
		stats->statement_bytes += running ? memory_bytes(&session->memory) : 0;
	}
	stats->sessions = list->count;
	pthread_mutex_unlock(&list->mutex);
}

static void read_locks(struct lock_space *space, struct db_stats *stats)
{
	pthread_mutex_lock(&space->mutex);
	stats->lock_waiters = space->waiters[LOCK_KIND_TABLE] + space->waiters[LOCK_KIND_GLOBAL];
	stats->gate_waiters = space->waiters[LOCK_KIND_WRITE];
	stats->lock_waits = space->waits[LOCK_KIND_TABLE];
	stats->lock_wait_ns = space->wait_ns[LOCK_KIND_TABLE];
	stats->gate_waits = space->waits[LOCK_KIND_WRITE];
	stats->gate_wait_ns = space->wait_ns[LOCK_KIND_WRITE];
	stats->global_waits = space->waits[LOCK_KIND_GLOBAL];
	stats->global_wait_ns = space->wait_ns[LOCK_KIND_GLOBAL];
	stats->lock_timeouts = space->timeouts;
	stats->deadlocks = space->deadlocks;
	pthread_mutex_unlock(&space->mutex);
}

static void read_workers(struct workers *workers, struct db_stats *stats)
{
	pthread_mutex_lock(&workers->mutex);
	stats->workers = workers->slots;
	stats->slots_used = workers->used;
	stats->queued = workers->normal.waiting;
	stats->resume_queued = workers->waiting - workers->normal.waiting;
	pthread_mutex_unlock(&workers->mutex);
}

static void read_pool(struct db_pool *pool, struct db_stats *stats)
{
	struct db_pool_stats from;
	if (!pool)
		return;
	db_pool_stats(pool, &from);
	stats->pool_frames = from.frames;
	stats->pool_used = from.resident;
	stats->pool_hits = from.hits;
	stats->pool_misses = from.misses;
	stats->pool_evictions = from.evictions;
	stats->pool_read_ahead = from.read_ahead;
	stats->pool_ghost_hits = from.ghost_hits;
	stats->pool_bypasses = from.bypasses;
	stats->wal_page_reads = from.wal_reads;
	stats->io_direct = from.direct_io;
	memcpy(stats->io, from.io, sizeof(stats->io));
	_Static_assert(sizeof(stats->io) == sizeof(from.io), "one text");
}

static void read_budget(struct budget *budget, struct db_stats *stats)
{
	struct budget_figures figures;
	budget_read(budget, &figures);
	stats->memory_budget_bytes = figures.limit_bytes;
	stats->memory_granted_bytes = figures.granted_bytes;
	stats->memory_evicted_bytes = figures.evicted_bytes;
	stats->memory_refused = figures.refused;
	stats->memory_cancelled = figures.cancelled;
}

void db_stats(struct db_engine *engine, struct db_stats *stats)
{
	struct checkpoints *checkpoints = &engine->checkpoints;
	memset(stats, 0, sizeof(*stats));
	memcpy(stats->io, "none", 5);
	read_sessions(engine, stats);
	read_locks(&engine->locks, stats);
	read_workers(&engine->workers, stats);
	read_pool(engine->storage.pool, stats);
	pthread_mutex_lock(&engine->reruns.mutex);
	stats->waiting_rerun = engine->reruns.count;
	pthread_mutex_unlock(&engine->reruns.mutex);
	stats->connections = engine->connections.count;
	read_budget(&engine->budget, stats);
	stats->wal_bytes = checkpoints->wal_bytes;
	stats->wal_bytes_peak = checkpoints->wal_bytes_peak;
	stats->checkpoints = checkpoints->count;
	stats->checkpoints_gated = checkpoints->gated_count;
	stats->checkpoint_ns = checkpoints->total_ns;
	stats->checkpoint_gated_bytes_peak = checkpoints->gated_bytes_peak;
	stats->log_throttle_ns = checkpoints->throttle_ns;
	stats->backups = engine->backup.done;
	stats->backup_failures = engine->backup.failed;
}

/* ---- Activities ------------------------------------------------------------------------------ */

static enum db_wait wait_of_lock(const struct lock *lock)
{
	switch (lock->kind->index) {
	case LOCK_KIND_GLOBAL:
		return DB_WAIT_GLOBAL;
	case LOCK_KIND_TABLE:
		return DB_WAIT_TABLE;
	default:
		return DB_WAIT_GATE;
	}
}

static void read_wait(struct db_session *session, struct db_activity *activity)
{
	struct lock_space *space = &session->engine->locks;
	if (session->phase == PHASE_QUEUED)
		activity->waiting = DB_WAIT_QUEUE;
	if (session->phase == PHASE_AWAITING_RERUN)
		activity->waiting = DB_WAIT_RERUN;
	if (session->phase != PHASE_RUNNING)
		return;
	pthread_mutex_lock(&space->mutex);
	const struct lock *lock = session->owner.wait.lock;
	if (lock) {
		activity->waiting = wait_of_lock(lock);
		activity->waiting_table = activity->waiting == DB_WAIT_TABLE ? lock->instance : 0;
	}
	pthread_mutex_unlock(&space->mutex);
}

static bool read_activity(struct db_session *session, struct db_activity *activity)
{
	bool active;
	*activity = (struct db_activity){ .session_number = session->number, .session = session };
	pthread_mutex_lock(&session->cancel_mutex);
	const struct shown *shown = &session->shown;
	activity->running = session->phase != PHASE_IDLE;
	activity->in_transaction = shown->transaction_start_ns != 0;
	activity->transaction_start_ns = shown->transaction_start_ns;
	activity->key = shown->key;
	if (activity->running) {
		activity->statement_start_ns = shown->arrival_ns;
		activity->signature = shown->signature;
		activity->class_index = shown->class_index;
		activity->gentle = shown->gentle;
		activity->background = shown->background;
		read_wait(session, activity);
	}
	active = activity->running || activity->in_transaction;
	pthread_mutex_unlock(&session->cancel_mutex);
	return active;
}

uint32_t db_activities(struct db_engine *engine, struct db_activity *activities, uint32_t limit)
{
	struct session_list *list = &engine->sessions;
	uint32_t count = 0;
	pthread_mutex_lock(&list->mutex);
	for (struct db_session *session = list->first; session; session = session->next) {
		struct db_activity activity;
		if (!read_activity(session, &activity))
			continue;
		if (count < limit)
			activities[count] = activity;
		count++;
	}
	pthread_mutex_unlock(&list->mutex);
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup.c - copies the database, page by page, from one snapshot.
 *
 * As FLUSH TABLES WITH READ LOCK and a copy would: it takes the global lock exclusively, which
 * waits for every open transaction and bars every new one, opens its snapshot at that quiet
 * instant, and downgrades to shared. Then it copies in steps, and each step is a point where it can
 * be cancelled. The copy is made under a temporary name in the target's folder, synced, and
 * renamed: a half-made backup is never seen. What the target is, and whether its folder can be
 * written, is looked at first: nobody waits for a backup that cannot be.
 *
 * Owns the backup's thread and task.
 */
#include "demo-db/engine/background/backup.h"

#include "demo-db/engine/locks/global_lock.h"
#include "demo-db/engine/storage/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RERUN_ASK_NS 50000000ull
#define LOCK_WAIT_NS 3600000000000ull /* an hour: a cancel ends it, not a timeout */
#define SHOWN_PATH   "%.160s"	      /* leaves room for the reason */

int backup_init(struct backup *backup)
{
	return pthread_mutex_init(&backup->mutex, NULL) ? DB_ENOMEM : 0;
}

static void join_finished(struct backup *backup)
{
	if (backup->joinable)
		pthread_join(backup->thread, NULL);
	backup->joinable = false;
}

void backup_destroy(struct backup *backup)
{
	join_finished(backup);
	pthread_mutex_destroy(&backup->mutex);
}

/* ---- Cancel ---------------------------------------------------------------------------------- */

static bool cancel_it(struct backup *backup, _Atomic bool *flag)
{
	pthread_mutex_lock(&backup->mutex);
	bool running = backup->running;
	if (running) {
		*flag = true;
		lock_cancel(&backup->owner, DB_ECANCELLED);
	}
	pthread_mutex_unlock(&backup->mutex);
	return running;
}

static void backup_action(const struct cancel_request *request, void *arg)
{
	(void)request;
	struct backup *backup = arg;
	cancel_it(backup, &backup->requested);
}

bool backup_abort(struct backup *backup)
{
	return cancel_it(backup, &backup->cancelled);
}

static bool is_cancelled(const struct backup *backup)
{
	return cancelRequested() || backup->requested || backup->cancelled;
}

/* ---- The target ------------------------------------------------------------------------------ */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A name SQLite or the engine may want in the folder, also when there is no such file now. */
static bool is_own_name(const struct storage *storage, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *own = strrchr(storage->path, '/') + 1;
	size_t bytes = strlen(own);
	char folder[PATH_MAX];
	struct stat theirs, ours;
	bool log = strncmp(name, own, bytes) == 0 && (!name[bytes] || name[bytes] == '-');
	if (!log && strcmp(name, "lock") != 0)
		return false;
	snprintf(folder, sizeof(folder), "%.*s/.", (int)(name - path), path);
	return stat(slash ? folder : ".", &theirs) == 0 && stat(storage->folder, &ours) == 0 &&
	       is_same_file(&theirs, &ours);
}

/* The database or its lock by another name. */
static bool is_own_file(const struct storage *storage, const struct stat *target)
{
	struct stat info;
	return (stat(storage->path, &info) == 0 && is_same_file(&info, target)) ||
	       (fstat(storage->lock_file, &info) == 0 && is_same_file(&info, target));
}

/* SQLite would take it for the new copy's own and play it into it. */
static bool has_leftover(const char *path, const char *suffix)
{
	char beside[PATH_MAX];
	struct stat info;
	snprintf(beside, sizeof(beside), "%s%s", path, suffix);
	return stat(beside, &info) == 0 && info.st_size > 0;
}

static int check_target(const struct storage *storage, const char *path, struct failure *failure)
{
	struct stat info;
	bool found = stat(path, &info) == 0; /* what is wrong with its folder, a file there tells */
	if (is_own_name(storage, path) || (found && is_own_file(storage, &info)))
		return failure_set(failure, DB_EINVAL,
			SHOWN_PATH " belongs to the database that is to be copied", path);
	if (found && !S_ISREG(info.st_mode))
		return failure_set(failure, DB_EINVAL, SHOWN_PATH " is not a file", path);
	if (has_leftover(path, "-wal") || has_leftover(path, "-journal"))
		return failure_set(failure, DB_EINUSE,
			SHOWN_PATH " has a log beside it: somebody uses it, or died with it", path);
	return 0;
}

static int target_error(int error, const char *path, struct failure *failure)
{
	bool denied = error == EACCES || error == EPERM || error == EROFS;
	bool full = error == ENOSPC || error == EDQUOT;
	return failure_set(failure,
		denied ? DB_EDENIED
		: full ? DB_EFULL
		       : DB_EOPEN,
		"cannot write the backup " SHOWN_PATH ": %s", path, strerrordesc_np(error));
}

/* An empty file for SQLite to fill, as private as the database. */
static int make_temporary(
	const struct storage *storage, const char *temporary, struct failure *failure)
{
	struct stat info;
	mode_t mode = stat(storage->path, &info) ? 0600 : info.st_mode & 0666;
	unlink(temporary);
	int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (file < 0)
		return target_error(errno, temporary, failure);
	close(file);
	return 0;
}

/* ---- The copy -------------------------------------------------------------------------------- */

static int run_sql(sqlite3 *db, const char *sql, struct failure *failure)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : failure_sqlite(failure, db, rc);
}

static void pause_for(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000) };
	if (ns)
		nanosleep(&time, NULL);
}

static int copy_pages(
	struct backup *backup, sqlite3_backup *copy, sqlite3 *target, struct failure *failure)
{
	for (;;) {
		if (is_cancelled(backup))
			return failure_set(failure, DB_ECANCELLED, "backup cancelled");
		int rc = sqlite3_backup_step(copy, (int)backup->options.pages_per_step);
		if (rc == SQLITE_DONE)
			return 0;
		if (rc != SQLITE_OK)
			return failure_sqlite(failure, target, rc);
		uint64_t total = (uint64_t)sqlite3_backup_pagecount(copy);
		setProgress(total - (uint64_t)sqlite3_backup_remaining(copy), total);
		pause_for(backup->options.step_pause_ns);
	}
}

static int copy_database(
	struct backup *backup, sqlite3 *source, const char *path, struct failure *failure)
{
	sqlite3 *target = NULL;
	int status;
	int rc = sqlite3_open_v2(path, &target,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, "unix");
	if (rc == SQLITE_OK && sqlite3_db_readonly(target, "main") == 1)
		rc = SQLITE_CANTOPEN; /* what cannot be opened for writing is opened for reading */
	sqlite3_backup *copy =
		rc == SQLITE_OK ? sqlite3_backup_init(target, "main", source, "main") : NULL;
	if (copy) {
		status = copy_pages(backup, copy, target, failure);
		rc = sqlite3_backup_finish(copy);
		if (status == 0 && rc != SQLITE_OK)
			status = failure_sqlite(failure, target, rc);
	} else {
		status = failure_sqlite(failure, target, rc ? rc : sqlite3_errcode(target));
	}
	sqlite3_close(target);
	return status;
}

static int sync_file(const char *path, struct failure *failure)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int failed = file < 0 || fsync(file) ? errno : 0;
	if (file >= 0)
		close(file);
	return failed ? failure_set(failure, DB_EIO, "cannot sync %s: %s", path,
				strerrordesc_np(failed))
		      : 0;
}

static int copy_to(
	struct backup *backup, sqlite3 *source, const char *temporary, struct failure *failure)
{
	const char *path = backup->options.path;
	int status = copy_database(backup, source, temporary, failure);
	if (status == 0)
		status = sync_file(temporary, failure);
	if (status == 0 && rename(temporary, path))
		status = target_error(errno, path, failure);
	return status;
}

/* ---- The task -------------------------------------------------------------------------------- */

static int lock_everything(struct backup *backup, struct failure *failure)
{
	int rc = global_lock_exclusive(&backup->owner, backup->global, LOCK_WAIT_NS);
	uint32_t tables = backup->options.table_locks ? backup->tables->count : 0;
	for (uint32_t i = 0; i < tables && rc == 0; i++) {
		const struct lock_request request = { .lock = &backup->tables->tables[i]->lock,
			.mode = TABLE_ACCESS_SHARE };
		rc = lock_acquire(&backup->owner, &request, 1, LOCK_WAIT_NS, NULL);
	}
	if (rc == DB_ECANCELLED)
		return failure_set(failure, rc, "backup cancelled while it waited for a lock");
	return rc ? failure_set(failure, rc, "%s", backup->owner.wait_text) : 0;
}

static int copy_from_snapshot(struct backup *backup, struct connection *connection,
	const char *temporary, struct failure *failure)
{
	int status = lock_everything(backup, failure);
	if (status)
		return status;
	status = run_sql(connection->db, "BEGIN; SELECT count(*) FROM sqlite_schema", failure);
	if (!backup->options.keep_exclusive)
		global_lock_downgrade(&backup->owner, backup->global);
	if (status == 0)
		status = copy_to(backup, connection->db, temporary, failure);
	if (connection_in_transaction(connection))
		sqlite3_exec(connection->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

static struct cancel_task begin_task(struct backup *backup)
{
	const struct db_backup_options *wanted = &backup->options;
	bool cancellable = !wanted->exempt && !backup->no_action;
	const struct cancel_task_options options = { .struct_size = sizeof(options),
		.key = wanted->key,
		.signature = wanted->signature ? wanted->signature : statement_hash("backup"),
		.class_index = wanted->class_index,
		.flags = (uint8_t)(CANCEL_BACKGROUND | CANCEL_MAINTENANCE |
				   (cancellable ? CANCEL_CANCELLABLE : 0)),
		.action = backup_action,
		.action_arg = backup };
	return createCancel(&options);
}

/* Leaves nothing behind when it fails. */
static int attempt_with(struct backup *backup, const char *temporary, struct failure *failure)
{
	struct connection *connection = NULL;
	int status = make_temporary(backup->storage, temporary, failure);
	if (status)
		return status;
	status = connection_open(backup->connections, &connection, failure);
	if (status == 0)
		status = copy_from_snapshot(backup, connection, temporary, failure);
	if (connection)
		connection_close(connection);
	lock_release_all(&backup->owner);
	if (status)
		unlink(temporary);
	return status;
}

static int attempt(struct backup *backup, struct failure *failure)
{
	const char *path = backup->options.path;
	char *temporary = NULL;
	failure_clear(failure);
	int status = check_target(backup->storage, path, failure);
	if (status == 0 && asprintf(&temporary, "%s.partial", path) < 0)
		status = failure_set(failure, DB_ENOMEM, NULL);
	if (status == 0)
		status = attempt_with(backup, temporary, failure);
	free(temporary);
	return status;
}

/* Cancelled by the library: once it is calm, or has waited its longest, the backup starts again. It
 * holds nothing meanwhile. */
static bool runs_again(struct backup *backup, struct cancel_task task)
{
	struct cancel_ticket ticket = { 0 };
	if (backup->options.no_rerun || !cancelRequested())
		return false;
	while (!backup->cancelled) {
		enum cancel_rerun_answer answer = rerunCancel(task, &ticket);
		if (answer == CANCEL_DROP)
			return false;
		if (answer == CANCEL_RERUN) {
			backup->requested = false;
			lock_cancel_clear(&backup->owner);
			return !backup->cancelled;
		}
		pause_for(RERUN_ASK_NS);
	}
	return false;
}

static void run_one(struct backup *backup)
{
	struct failure failure;
	backup->owner.age = cancel_now_ns();
	struct cancel_task task = begin_task(backup);
	int status = attempt(backup, &failure);
	while (status == DB_ECANCELLED && runs_again(backup, task))
		status = attempt(backup, &failure);
	freeCancel(task);
	struct db_backup_options options = backup->options;
	if (status)
		backup->failed++;
	else
		backup->done++;
	pthread_mutex_lock(&backup->mutex);
	backup->running = false;
	lock_owner_destroy(&backup->owner);
	pthread_mutex_unlock(&backup->mutex);
	if (options.on_done)
		options.on_done(options.arg, status, failure.message);
	free((char *)options.path);
}

/* One backup after the other, as long as the next is asked for before this thread has left: by
 * on_done, or by anybody while that runs. Nobody ever waits for this thread under the mutex. */
static void *run_backups(void *arg)
{
	struct backup *backup = arg;
	bool more = true;
	db_pool_gentle(true); /* it reads every page once: none of them is worth a hot one */
	while (more) {
		run_one(backup);
		pthread_mutex_lock(&backup->mutex);
		more = backup->living = backup->running;
		pthread_mutex_unlock(&backup->mutex);
	}
	return NULL;
}

static int start_thread(struct backup *backup)
{
	if (backup->living)
		return 0;
	join_finished(backup);
	if (pthread_create(&backup->thread, NULL, run_backups, backup))
		return DB_ETHREAD;
	backup->living = backup->joinable = true;
	return 0;
}

static int start(struct backup *backup, const struct db_backup_options *options)
{
	if (backup->running)
		return DB_EBUSY;
	char *path = strdup(options->path);
	if (!path)
		return DB_ENOMEM;
	backup->options = *options;
	backup->options.path = path;
	if (!backup->options.pages_per_step)
		backup->options.pages_per_step = 256;
	backup->cancelled = backup->requested = false;
	int rc = lock_owner_init(&backup->owner, backup->locks, 0);
	if (rc == 0) {
		rc = start_thread(backup);
		if (rc)
			lock_owner_destroy(&backup->owner);
	}
	backup->running = rc == 0;
	if (rc)
		free(path);
	return rc;
}

int backup_begin(struct backup *backup, const struct db_backup_options *options)
{
	pthread_mutex_lock(&backup->mutex);
	int rc = start(backup, options);
	pthread_mutex_unlock(&backup->mutex);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns whose backup the engine makes, so that a cancel ends its own session's and no other.
 */
#include "demo-db/server/session/backup.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"
#include "demo-db/server/dialect/signatures.h"

#include <limits.h>
#include <stdio.h>

#define SIGNATURE 0x6261636b7570u /* "backup": all of them are the same kind of work */

/* On the engine's thread, which is done with the client when this returns. */
static void on_done(void *arg, int status, const char *message)
{
	struct backend *backend = arg;
	struct backup_turn *turn = &backend->services->backup;
	struct db_result result = { .status = status,
		.message = message,
		.error_offset = -1,
		.tag = "BACKUP",
		.cancelled = status == DB_ECANCELLED,
		.transaction = 'I',
		.done_ns = cancel_now_ns() };
	snprintf(result.sqlstate, sizeof result.sqlstate, "%s", db_error_sqlstate(status));
	pthread_mutex_lock(&turn->lock);
	result.by_library = result.cancelled && !turn->cancelled;
	turn->backend = NULL;
	pthread_mutex_unlock(&turn->lock);
	query_ended(backend, &result);
}

/* The engine has its own copy of it. */
static int start(struct backend *backend, const char *path)
{
	const struct statement *s = backend->query.statement;
	const struct db_backup_options options = { .struct_size = sizeof options,
		.path = path,
		.class_index = (uint8_t)backend->query.priority,
		.key = backend->process,
		.signature = SIGNATURE,
		.on_done = on_done,
		.arg = backend };
	signatures_note(SIGNATURE, s->source, s->source_bytes);
	return db_backup(backend->services->engine, &options);
}

int backup_start(struct backend *backend)
{
	struct backup_turn *turn = &backend->services->backup;
	const char *wanted = backend->query.statement->dialect.sql;
	char path[PATH_MAX];
	int bytes = *wanted == '/' ? snprintf(path, sizeof path, "%s", wanted)
				   : snprintf(path, sizeof path, "%s/%s",
					     backend->services->config.data_dir, wanted);
	if (!*wanted || bytes < 0 || (size_t)bytes >= sizeof path)
		return DB_EINVAL;
	pthread_mutex_lock(&turn->lock);
	int rc = turn->backend ? DB_EBUSY : start(backend, path);
	if (rc == 0)
		turn->backend = backend;
	if (rc == 0)
		turn->cancelled = false;
	pthread_mutex_unlock(&turn->lock);
	return rc;
}

bool backup_cancel(struct backend *backend)
{
	struct backup_turn *turn = &backend->services->backup;
	pthread_mutex_lock(&turn->lock);
	bool own = turn->backend == backend && db_cancel_backup(backend->services->engine);
	turn->cancelled |= own;
	pthread_mutex_unlock(&turn->lock);
	return own;
}

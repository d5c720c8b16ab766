/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns whose backup the engine makes, so that a cancel ends its own session's and no other.
 */
#include "demo-db/server/session/backup.h"
#include "demo-db/server/server.h"
#include "demo-db/server/dialect/signatures.h"

#include <limits.h>
#include <stdio.h>

#define SIGNATURE 0x6261636b7570u /* "backup": all of them are the same kind of work */

/* On the engine's thread, which is done with the client when this returns. */
static void on_done(void *arg, int status, const char *message)
{
	struct client *client = arg;
	struct backup_turn *turn = &client->server->backup;
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
	turn->client = NULL;
	pthread_mutex_unlock(&turn->lock);
	query_ended(client, &result);
}

/* The engine has its own copy of it. */
static int start(struct client *client, const char *path)
{
	const struct statement *s = client->query.statement;
	const struct db_backup_options options = { .struct_size = sizeof options,
		.path = path,
		.class_index = (uint8_t)client->query.business,
		.key = client->process,
		.signature = SIGNATURE,
		.on_done = on_done,
		.arg = client };
	signatures_note(SIGNATURE, s->source, s->source_bytes);
	return db_backup(client->server->engine, &options);
}

int backup_start(struct client *client)
{
	struct backup_turn *turn = &client->server->backup;
	const char *wanted = client->query.statement->dialect.sql;
	char path[PATH_MAX];
	int bytes = *wanted == '/' ? snprintf(path, sizeof path, "%s", wanted)
				   : snprintf(path, sizeof path, "%s/%s",
					     client->server->config.data_dir, wanted);
	if (!*wanted || bytes < 0 || (size_t)bytes >= sizeof path)
		return DB_EINVAL;
	pthread_mutex_lock(&turn->lock);
	int rc = turn->client ? DB_EBUSY : start(client, path);
	if (rc == 0)
		turn->client = client;
	if (rc == 0)
		turn->cancelled = false;
	pthread_mutex_unlock(&turn->lock);
	return rc;
}

bool backup_cancel(struct client *client)
{
	struct backup_turn *turn = &client->server->backup;
	pthread_mutex_lock(&turn->lock);
	bool own = turn->client == client && db_cancel_backup(client->server->engine);
	turn->cancelled |= own;
	pthread_mutex_unlock(&turn->lock);
	return own;
}

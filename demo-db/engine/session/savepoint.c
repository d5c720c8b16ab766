/* SPDX-License-Identifier: Apache-2.0 */
/*
 * savepoint.c - a block's savepoints, as PostgreSQL means them.
 *
 * An error fails the block; ROLLBACK TO brings it back to where the savepoint was set, and the
 * savepoint stays. Locks stay too, as SQLite's transaction does. What SQLite has rolled
 * back by itself (an interrupted write, a full disk) cannot come back: its savepoints are gone.
 *
 * SQLite's savepoints are named by their place, because the same name may be set twice. Owns that
 * stack.
 */
#include "demo-db/engine/session/savepoint.h"
#include "demo-db/engine/session/session.h"
#include "demo-db/engine/session/transaction.h"

#include <string.h>

#define NOWHERE SAVEPOINTS_MAX

static bool is_open(const struct db_session *session)
{
	return session->transaction.wrote || session->transaction.snapshot;
}

bool savepoints_stand(const struct db_session *session)
{
	if (session->savepoints.count == 0)
		return false;
	return !is_open(session) ||
	       (session->connection && connection_in_transaction(session->connection));
}

/* The newest of that name. */
static uint32_t find(const struct savepoints *savepoints, const char *name)
{
	for (uint32_t i = savepoints->count; i-- > 0;)
		if (strcmp(savepoints->names[i], name) == 0)
			return i;
	return NOWHERE;
}

static int tell_sqlite(struct db_session *session, const char *verb, uint32_t place)
{
	int rc = transaction_stands(session);
	if (rc || !is_open(session))
		return rc;
	return connection_savepoint(session->connection, verb, place, &session->run.failure);
}

int savepoints_open(struct db_session *session)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < session->savepoints.count; i++)
		rc = tell_sqlite(session, "SAVEPOINT", i);
	return rc;
}

static int set(struct db_session *session, const char *name)
{
	struct savepoints *savepoints = &session->savepoints;
	if (savepoints->count == SAVEPOINTS_MAX)
		return failure_set(&session->run.failure, DB_ETOOBIG,
			"more than %d savepoints in one block", SAVEPOINTS_MAX);
	int rc = tell_sqlite(session, "SAVEPOINT", savepoints->count);
	if (rc == 0)
		strcpy(savepoints->names[savepoints->count++], name);
	return rc;
}

static int roll_back_to(struct db_session *session, uint32_t place)
{
	int rc = tell_sqlite(session, "ROLLBACK TO", place);
	if (rc)
		return rc;
	session->savepoints.count = place + 1;
	session->transaction.state = TX_BLOCK;
	return 0;
}

static int let_go(struct db_session *session, uint32_t place)
{
	int rc = tell_sqlite(session, "RELEASE", place);
	if (rc == 0)
		session->savepoints.count = place;
	return rc;
}

int savepoint_execute(struct db_session *session)
{
	struct failure *failure = &session->run.failure;
	struct savepoint_verb verb;
	if (!verb_parse_savepoint(session->run.sql, &verb))
		return failure_set(failure, DB_ESYNTAX, "syntax error in SAVEPOINT");
	if (session->transaction.state == TX_NONE)
		return failure_set(failure, DB_ENOBLOCK,
			"%s can only be used in transaction blocks", verb.words);
	session->run.tag = verb.tag;
	if (verb.what == SAVEPOINT_SET)
		return set(session, verb.name);
	uint32_t place = find(&session->savepoints, verb.name);
	if (place == NOWHERE)
		return failure_set(
			failure, DB_ENOSAVEPOINT, "savepoint \"%s\" does not exist", verb.name);
	return verb.what == SAVEPOINT_RELEASE ? let_go(session, place)
					      : roll_back_to(session, place);
}

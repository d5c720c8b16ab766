/* SPDX-License-Identifier: Apache-2.0 */
/*
 * savepoint.h - SAVEPOINT, ROLLBACK TO and RELEASE inside a block.
 *
 * The stack is the engine's own. SQLite gets its savepoints when its transaction opens, which may
 * be long after: from then on both stacks are the same.
 */
#ifndef DEMO_DB_SAVEPOINT_H
#define DEMO_DB_SAVEPOINT_H

#include "demo-db/engine/statement/verb.h"

#define SAVEPOINTS_MAX 32 /* open at once in a block */

struct savepoints {
	uint32_t count;
	char names[SAVEPOINTS_MAX][SAVEPOINT_NAME_MAX];
};

struct db_session;

/* The statement in hand, which is one of the three. */
int savepoint_execute(struct db_session *session);
/* SQLite's transaction has just opened: it gets the block's savepoints. */
int savepoints_open(struct db_session *session);
/* Can ROLLBACK TO still bring the block back? Not once SQLite has rolled it back by itself. */
bool savepoints_stand(const struct db_session *session);

#endif

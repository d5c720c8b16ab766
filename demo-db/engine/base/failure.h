/* SPDX-License-Identifier: Apache-2.0 */
/* failure.h - one failure on its way to the client: status, SQLSTATE, one line of text. */
#ifndef DEMO_DB_FAILURE_H
#define DEMO_DB_FAILURE_H

#include "demo-db/engine/base/errors.h"

#include <sqlite3.h>

struct failure {
	int status; /* 0 = none, or a negative db_error */
	char sqlstate[6];
	int offset; /* byte of the SQL text, -1 unknown */
	char message[DB_MESSAGE_MAX];
};

void failure_clear(struct failure *failure);
/* Records status and message, and returns status. The format NULL takes the error's own text. */
int failure_set(struct failure *failure, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same from what SQLite reported on `db` (may be NULL: the code alone is told). */
int failure_sqlite(struct failure *failure, sqlite3 *db, int rc);
/* Copies at most DB_MESSAGE_MAX bytes; `message` may be NULL. Returns the failure's status. */
int failure_tell(const struct failure *failure, char *message);

#endif

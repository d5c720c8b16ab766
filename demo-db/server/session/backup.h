/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup.h - BACKUP TO 'path': the engine's backup as a session's statement.
 *
 * There is one at a time in the server. It runs on the engine's thread for it; the session waits as
 * for a statement that a worker has, and a cancel of that session ends it: nobody else's does, and
 * it never lasts beyond the statement.
 */
#ifndef DEMO_DB_SERVER_BACKUP_H
#define DEMO_DB_SERVER_BACKUP_H

#include <pthread.h>
#include <stdbool.h>

struct backend;

struct backup_turn {
	pthread_mutex_t lock;	 /* behind the server's, before the engine's */
	struct backend *backend; /* whose backup runs; NULL: none does */
	bool cancelled;		 /* by its session */
};

/* The statement in hand, its query PENDING. 0: query_ended follows, from the engine's thread. A
 * negative db_error: it was not begun. */
int backup_start(struct backend *backend);
/* Any thread, while the client exists. True: its backup is being cancelled. */
bool backup_cancel(struct backend *backend);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pgbench.h - makes pgbench's four tables, with the rows `pgbench -i` makes in PostgreSQL.
 *
 * pgbench's own initialisation uses COPY and is not supported over the wire.
 * Source of the shapes: PostgreSQL documentation, pgbench, "What Is the Transaction Actually
 * Performed in pgbench?".
 */
#ifndef DEMO_DB_PGBENCH_H
#define DEMO_DB_PGBENCH_H

#include "demo-db/engine/engine.h"

#define PGBENCH_SCALE_MAX 10000
#define PGBENCH_ACCOUNTS  100000 /* a unit of scale */

/* Replaces the tables in data_dir's database. `on_progress` counts rows. On an error they are gone.
 * 0 or a negative db_error with one line in `message`. */
int pgbench_make(const char *data_dir, uint32_t scale,
	void (*on_progress)(void *arg, uint64_t done, uint64_t total), void *arg,
	char message[DB_MESSAGE_MAX]) CANCEL_MUST_CHECK;

#endif

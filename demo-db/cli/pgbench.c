/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns pgbench's tables. It works through the engine like any client, in chunks, so that the log
 * stays small.
 */
#include "demo-db/cli/pgbench.h"

#include <stdio.h>
#include <string.h>

#define CHUNK_ROWS 10000

struct maker {
	struct db_session *session;
	char *message;
	void (*on_progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t done, total;
};

static int run(struct maker *maker, const char *sql)
{
	const struct db_request request = { .struct_size = sizeof request, .sql = sql };
	struct db_result result;
	int rc = db_execute(maker->session, &request, &result);
	if (rc)
		snprintf(maker->message, DB_MESSAGE_MAX, "%s", result.message);
	return rc;
}

static int run_all(struct maker *maker, const char *const *statements)
{
	int rc = 0;
	for (; *statements && rc == 0; statements++)
		rc = run(maker, *statements);
	return rc;
}

static const char *const drop[] = { "DROP TABLE IF EXISTS pgbench_history",
	"DROP TABLE IF EXISTS pgbench_tellers", "DROP TABLE IF EXISTS pgbench_accounts",
	"DROP TABLE IF EXISTS pgbench_branches", NULL };

static const char *const create[] = {
	"CREATE TABLE pgbench_branches(bid INTEGER NOT NULL PRIMARY KEY, bbalance INT, "
	"filler CHAR(88))",
	"CREATE TABLE pgbench_tellers(tid INTEGER NOT NULL PRIMARY KEY, bid INT, tbalance INT, "
	"filler CHAR(84))",
	"CREATE TABLE pgbench_accounts(aid INTEGER NOT NULL PRIMARY KEY, bid INT, abalance INT, "
	"filler CHAR(84))",
	"CREATE TABLE pgbench_history(tid INT, bid INT, aid INT, delta INT, mtime TIMESTAMP, "
	"filler CHAR(22))",
	NULL
};

/* Rows first … last of one table; `columns` are expressions of i. */
static int fill(struct maker *maker, const char *table, const char *columns, uint64_t rows)
{
	char sql[320];
	int rc = 0;
	for (uint64_t first = 1; first <= rows && rc == 0; first += CHUNK_ROWS) {
		uint64_t last = first + CHUNK_ROWS - 1 < rows ? first + CHUNK_ROWS - 1 : rows;
		snprintf(sql, sizeof sql,
			"INSERT INTO %s WITH RECURSIVE n(i) AS (SELECT %llu UNION ALL SELECT i+1 "
			"FROM "
			"n WHERE i<%llu) SELECT %s FROM n",
			table, (unsigned long long)first, (unsigned long long)last, columns);
		rc = run(maker, sql);
		maker->done += last - first + 1;
		if (maker->on_progress)
			maker->on_progress(maker->arg, maker->done, maker->total);
	}
	return rc;
}

static int make(struct maker *maker, uint32_t scale)
{
	int rc = run_all(maker, drop);
	if (rc == 0)
		rc = run_all(maker, create);
	if (rc == 0)
		rc = fill(maker, "pgbench_branches", "i,0,NULL", scale);
	if (rc == 0)
		rc = fill(maker, "pgbench_tellers", "i,(i-1)/10+1,0,NULL", 10ull * scale);
	if (rc == 0)
		rc = fill(maker, "pgbench_accounts", "i,(i-1)/100000+1,0,printf('%84s','')",
			(uint64_t)PGBENCH_ACCOUNTS * scale);
	return rc;
}

int pgbench_make(const char *data_dir, uint32_t scale,
	void (*on_progress)(void *arg, uint64_t done, uint64_t total), void *arg,
	char message[DB_MESSAGE_MAX])
{
	const struct db_options options = {
		.struct_size = sizeof options, .data_dir = data_dir, .workers = 1
	};
	struct db_engine *engine;
	struct maker maker = { .message = message,
		.on_progress = on_progress,
		.arg = arg,
		.total = (PGBENCH_ACCOUNTS + 11ull) * scale };
	char ignored[DB_MESSAGE_MAX];
	int rc = db_open(&engine, &options, message);
	if (rc)
		return rc;
	rc = db_session_open(engine, NULL, &maker.session);
	if (rc == 0) {
		rc = make(&maker, scale);
		maker.message = ignored;
		if (rc && run_all(&maker, drop))
			snprintf(message, DB_MESSAGE_MAX, "%s", ignored);
		db_session_close(maker.session);
	}
	db_close(engine);
	return rc;
}

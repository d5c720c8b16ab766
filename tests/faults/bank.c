/* SPDX-License-Identifier: Apache-2.0 */
/* bank.c - see bank.h. */
#include "bank.h"

#include "demo-db/engine/session/session.h"

#include <stdio.h>
#include <string.h>

#define STATEMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char *const schema[] = {
	"CREATE TABLE accounts(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, "
	"note TEXT NOT NULL)",
	"CREATE INDEX accounts_note ON accounts(note)",
	"CREATE TABLE transfers(id INTEGER PRIMARY KEY, source INTEGER, target INTEGER, "
	"amount INTEGER)",
	"CREATE TABLE totals(id INTEGER PRIMARY KEY, n INTEGER)",
	"CREATE TABLE parents(id INTEGER PRIMARY KEY)",
	"CREATE TABLE children(id INTEGER PRIMARY KEY, parent INTEGER "
	"REFERENCES parents(id) ON DELETE CASCADE)",
	"CREATE TABLE gone(id INTEGER PRIMARY KEY, parent INTEGER)",
	"CREATE TRIGGER keep AFTER DELETE ON children BEGIN "
	"INSERT INTO gone VALUES (OLD.id, OLD.parent); END",
	"INSERT INTO accounts WITH RECURSIVE n(i) AS "
	"(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
	"SELECT i, 1000, 'n' || (i % 7) || hex(zeroblob(150)) FROM n",
	"INSERT INTO totals SELECT id, 5 FROM accounts WHERE id % 2 = 0",
	"INSERT INTO parents SELECT id FROM accounts WHERE id <= 8",
	"INSERT INTO children SELECT id, id % 8 + 1 FROM accounts",
	NULL,
};

const struct work works[] = {
	{ "transfer",
		STATEMENTS("BEGIN", "UPDATE accounts SET balance = balance - 7 WHERE id = 3",
			"UPDATE accounts SET balance = balance + 7 WHERE id = 9",
			"INSERT INTO transfers(source, target, amount) VALUES (3, 9, 7)", "COMMIT"),
		STATEMENTS("BEGIN", "UPDATE accounts SET balance = balance + 7 WHERE id = 3",
			"UPDATE accounts SET balance = balance - 7 WHERE id = 9",
			"DELETE FROM transfers WHERE id = (SELECT max(id) FROM transfers)",
			"COMMIT") },
	{ "update", STATEMENTS("UPDATE accounts SET note = '+' || note"),
		STATEMENTS("UPDATE accounts SET note = substr(note, 2)") },
	{ "insert", STATEMENTS("INSERT INTO gone SELECT id, 0 FROM accounts"),
		STATEMENTS("DELETE FROM gone") },
	{ "upsert",
		STATEMENTS("INSERT INTO totals SELECT id, 1 FROM accounts WHERE true "
			   "ON CONFLICT(id) DO UPDATE SET n = n + 1"),
		STATEMENTS("BEGIN", "DELETE FROM totals WHERE n = 1", "UPDATE totals SET n = n - 1",
			"COMMIT") },
	{ "delete with a cascade and a trigger", STATEMENTS("DELETE FROM parents WHERE id <= 4"),
		STATEMENTS("BEGIN", "INSERT INTO parents VALUES (1), (2), (3), (4)",
			"INSERT INTO children SELECT * FROM gone", "DELETE FROM gone", "COMMIT") },
	{ "savepoints",
		STATEMENTS("BEGIN", "INSERT INTO gone VALUES (1, 1)", "SAVEPOINT a",
			"UPDATE totals SET n = n + 1", "ROLLBACK TO a", "SAVEPOINT b",
			"INSERT INTO gone VALUES (2, 2)", "RELEASE b", "COMMIT"),
		STATEMENTS("DELETE FROM gone") },
	{ "a snapshot that writes",
		STATEMENTS("BEGIN ISOLATION LEVEL REPEATABLE READ",
			"SELECT sum(balance) FROM accounts",
			"UPDATE accounts SET note = 'x' WHERE id = 7", "COMMIT"),
		STATEMENTS("UPDATE accounts SET note = (SELECT note FROM accounts WHERE id = 14) "
			   "WHERE id = 7") },
	{ "a locked table",
		STATEMENTS("BEGIN", "LOCK TABLE totals IN ACCESS EXCLUSIVE MODE",
			"UPDATE totals SET n = n + 1 WHERE id < 9", "COMMIT"),
		STATEMENTS("UPDATE totals SET n = n - 1 WHERE id < 9") },
	{ "sorted read",
		STATEMENTS("SELECT a.note, b.id FROM accounts a, accounts b WHERE b.id < 4 "
			   "ORDER BY a.note || b.note, b.id"),
		STATEMENTS("SELECT 1") },
	{ "create a table", STATEMENTS("CREATE TABLE copy AS SELECT * FROM accounts"),
		STATEMENTS("DROP TABLE copy") },
	{ "change a table",
		STATEMENTS("BEGIN", "ALTER TABLE totals ADD COLUMN more TEXT",
			"UPDATE totals SET more = 'm'", "COMMIT"),
		STATEMENTS("ALTER TABLE totals DROP COLUMN more") },
	{ "drop a table", STATEMENTS("DROP TABLE gone"),
		STATEMENTS("CREATE TABLE gone(id INTEGER PRIMARY KEY, parent INTEGER)") },
	{ "create an index", STATEMENTS("CREATE INDEX by_balance ON accounts(balance, note)"),
		STATEMENTS("DROP INDEX by_balance") },
	{ "a temporary table",
		STATEMENTS("BEGIN", "CREATE TEMP TABLE t AS SELECT id FROM accounts",
			"INSERT INTO gone SELECT id, 0 FROM t", "DROP TABLE t", "COMMIT"),
		STATEMENTS("DELETE FROM gone") },
	{ "vacuum", STATEMENTS("VACUUM"), STATEMENTS("SELECT 1") },
	{ "integrity check", STATEMENTS("PRAGMA integrity_check"), STATEMENTS("SELECT 1") },
};
const uint32_t work_count = sizeof(works) / sizeof(works[0]);

/* ---- Open and close -------------------------------------------------------------------------- */

void bank_open_sessions(struct bank *bank)
{
	bank->session = open_session(&bank->fixture);
	bank->other = open_session(&bank->fixture);
}

void bank_close_sessions(struct bank *bank)
{
	db_session_close(bank->session);
	db_session_close(bank->other);
}

void bank_open(struct bank *bank, const struct db_options *options)
{
	fixture_open(&bank->fixture, options);
	bank_open_sessions(bank);
	bank_run(bank->session, schema);
	bank_check(bank->other);
}

void bank_close(struct bank *bank)
{
	bank_close_sessions(bank);
	fixture_close(&bank->fixture);
}

void bank_run(struct db_session *session, const char *const *statements)
{
	for (; *statements; statements++)
		if (run_sql(session, *statements))
			fail_msg("%s: %d %s", *statements, last_result.status, last_result.message);
}

/* ---- What is there --------------------------------------------------------------------------- */

#define NAMES_MAX 32

struct look {
	uint64_t hash;
	char names[NAMES_MAX][64];
	uint32_t count;
};

static void mix(struct look *look, const char *text)
{
	for (const char *at = text ? text : "NULL"; *at; at++)
		look->hash = (look->hash ^ (unsigned char)*at) * 1099511628211ull;
	look->hash = (look->hash ^ 0xff) * 1099511628211ull;
}

static int on_row(void *arg, const struct db_row *row)
{
	for (uint32_t i = 0; i < db_row_columns(row); i++)
		mix(arg, db_row_text(row, i));
	return 0;
}

static int on_object(void *arg, const struct db_row *row)
{
	struct look *look = arg;
	if (strcmp(db_row_text(row, 0), "table") == 0 && look->count < NAMES_MAX)
		snprintf(look->names[look->count++], sizeof(look->names[0]), "%s",
			db_row_text(row, 1));
	return on_row(arg, row);
}

static void read_rows(
	struct db_session *session, const char *sql, db_row_callback each, struct look *look)
{
	struct db_result result;
	const struct db_request request = {
		.struct_size = sizeof(request), .sql = sql, .on_row = each, .arg = look
	};
	if (db_execute(session, &request, &result))
		fail_msg("%s: %d %s", sql, result.status, result.message);
}

uint64_t bank_state(struct db_session *session)
{
	struct look look = { .hash = 14695981039346656037ull };
	read_rows(session, "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name",
		on_object, &look);
	for (uint32_t i = 0; i < look.count; i++) {
		char sql[128];
		snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\" ORDER BY 1", look.names[i]);
		read_rows(session, sql, on_row, &look);
	}
	return look.hash;
}

/* ---- Is it right? ---------------------------------------------------------------------------- */

void bank_check(struct db_session *session)
{
	assert_string_equal(ask_text(session, "PRAGMA integrity_check"), "ok");
	assert_int_equal(ask(session, "SELECT sum(balance) - 1000 * count(*) FROM accounts"), 0);
	assert_int_equal(
		ask(session, "SELECT count(*) FROM accounts a WHERE balance <> 1000 "
			     "+ (SELECT total(amount) FROM transfers WHERE target = a.id) "
			     "- (SELECT total(amount) FROM transfers WHERE source = a.id)"),
		0);
}

static bool is_quiet(void *arg)
{
	struct db_stats stats;
	db_stats(((struct bank *)arg)->fixture.engine, &stats);
	return stats.slots_used + stats.queued + stats.resume_queued + stats.waiting_rerun +
			       stats.lock_waiters + stats.gate_waiters +
			       stats.idle_in_transaction ==
		       0 &&
	       stats.statement_bytes == 0;
}

void bank_check_quiet(struct bank *bank)
{
	assert_int_equal(db_session_transaction(bank->session), 'I');
	await_true(is_quiet, bank);
	assert_null(bank->session->owner.grants);
	assert_null(bank->other->owner.grants);
	bank_run(bank->other, STATEMENTS("BEGIN", "LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE",
				      "UPDATE accounts SET balance = balance + 1 WHERE id = 1",
				      "INSERT INTO transfers VALUES (NULL, 2, 1, 1)",
				      "UPDATE accounts SET balance = balance - 1 WHERE id = 2"));
	bank_check(bank->other);
	bank_run(bank->other, STATEMENTS("ROLLBACK"));
}

static _Atomic bool backup_ended;
static int backup_status;

static void on_backup(void *arg, int status, const char *message)
{
	(void)arg;
	(void)message;
	backup_status = status;
	backup_ended = true;
}

static bool is_over(void *arg)
{
	(void)arg;
	return backup_ended;
}

int bank_back_up(struct bank *bank, struct db_backup_options options)
{
	options.struct_size = sizeof(options);
	options.on_done = on_backup;
	backup_ended = false;
	int rc = db_backup(bank->fixture.engine, &options);
	if (rc)
		return rc;
	await_true(is_over, NULL);
	return backup_status;
}

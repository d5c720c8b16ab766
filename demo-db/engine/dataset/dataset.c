/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.c - makes the demo data set.
 *
 * Built in one transaction without a journal under demo.db.partial, synced and renamed: whoever
 * finds demo.db finds it whole. The table "dataset" with the parameters is filled last, and tells
 * a later run whether what is there is what it wants.
 *
 * Owns the tables' shapes and contents.
 */
#include "demo-db/engine/dataset/dataset.h"
#include "demo-db/engine/statement/memory.h"
#include "demo-db/engine/storage/storage.h"
#include "common/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION	      1
#define ITEM_BYTES    200 /* of a row in its page, about */
#define ARCHIVE_BYTES 400
#define ITEM_PAYLOAD  144
#define ARCHIVE_FILL  376
#define GROUPS	      1000
#define REPORT_ROWS   4096 /* between two calls of on_progress */
#define MIB	      (1024ull * 1024ull)

struct maker {
	struct db_dataset *wanted;
	struct failure *failure;
	sqlite3 *db;
	uint64_t random;
	uint64_t done_bytes, total_bytes;
};

static void fill_text(struct maker *maker, char *text, size_t length)
{
	for (size_t at = 0; at < length; at += 8) {
		uint64_t bits = random_mix(&maker->random);
		for (size_t i = at; i < length && i < at + 8; i++, bits >>= 8)
			text[i] = (char)('a' + (bits & 0xff) % 26);
	}
}

/* ---- SQL ------------------------------------------------------------------------------------- */

static int run_sql(struct maker *maker, const char *sql)
{
	int rc = sqlite3_exec(maker->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : failure_sqlite(maker->failure, maker->db, rc);
}

static int prepare(struct maker *maker, const char *sql, sqlite3_stmt **stmt)
{
	int rc = sqlite3_prepare_v2(maker->db, sql, -1, stmt, NULL);
	return rc == SQLITE_OK ? 0 : failure_sqlite(maker->failure, maker->db, rc);
}

static int put_row(struct maker *maker, sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);
	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? 0 : failure_sqlite(maker->failure, maker->db, rc);
}

static void report(struct maker *maker, uint64_t row, uint64_t row_bytes)
{
	maker->done_bytes += row_bytes;
	if (row % REPORT_ROWS == 0 && maker->wanted->on_progress)
		maker->wanted->on_progress(
			maker->wanted->progress_arg, maker->done_bytes, maker->total_bytes);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static int make_items(struct maker *maker)
{
	char payload[ITEM_PAYLOAD], name[32];
	sqlite3_stmt *stmt = NULL;
	int rc = run_sql(maker, "CREATE TABLE items(id INTEGER PRIMARY KEY, group_id INTEGER "
				"NOT NULL, price INTEGER NOT NULL, stock INTEGER NOT NULL, "
				"name TEXT NOT NULL, payload TEXT NOT NULL)");
	if (rc == 0)
		rc = prepare(maker, "INSERT INTO items VALUES(?1,?2,?3,?4,?5,?6)", &stmt);
	for (uint64_t id = 1; rc == 0 && id <= maker->wanted->items; id++) {
		uint64_t random = random_mix(&maker->random);
		fill_text(maker, payload, sizeof(payload));
		int length = snprintf(name, sizeof(name), "item %llu", (unsigned long long)id);
		sqlite3_bind_int64(stmt, 1, (int64_t)id);
		sqlite3_bind_int64(stmt, 2, (int64_t)(random % GROUPS));
		sqlite3_bind_int64(stmt, 3, (int64_t)(random >> 16) % 10000);
		sqlite3_bind_int64(stmt, 4, (int64_t)(random >> 40) % 1000);
		sqlite3_bind_text(stmt, 5, name, length, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 6, payload, sizeof(payload), SQLITE_STATIC);
		rc = put_row(maker, stmt);
		report(maker, id, ITEM_BYTES);
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int make_archive(struct maker *maker, uint32_t number)
{
	char payload[ARCHIVE_FILL], sql[160];
	sqlite3_stmt *stmt = NULL;
	snprintf(sql, sizeof(sql),
		"CREATE TABLE archive_%u(id INTEGER PRIMARY KEY, day INTEGER NOT NULL, "
		"amount INTEGER NOT NULL, payload TEXT NOT NULL)",
		number);
	int rc = run_sql(maker, sql);
	snprintf(sql, sizeof(sql), "INSERT INTO archive_%u VALUES(?1,?2,?3,?4)", number);
	if (rc == 0)
		rc = prepare(maker, sql, &stmt);
	for (uint64_t id = 1; rc == 0 && id <= maker->wanted->rows_per_archive; id++) {
		uint64_t random = random_mix(&maker->random);
		fill_text(maker, payload, sizeof(payload));
		sqlite3_bind_int64(stmt, 1, (int64_t)id);
		sqlite3_bind_int64(stmt, 2, (int64_t)(random % 3650));
		sqlite3_bind_int64(stmt, 3, (int64_t)(random >> 16) % 100000);
		sqlite3_bind_text(stmt, 4, payload, sizeof(payload), SQLITE_STATIC);
		rc = put_row(maker, stmt);
		report(maker, id, ARCHIVE_BYTES);
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int make_ledger(struct maker *maker)
{
	sqlite3_stmt *stmt = NULL;
	int rc = run_sql(maker,
		"CREATE TABLE accounts(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);"
		"CREATE TABLE transfers(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, "
		"target INTEGER NOT NULL, amount INTEGER NOT NULL)");
	if (rc == 0)
		rc = prepare(maker, "INSERT INTO accounts VALUES(?1,?2)", &stmt);
	for (uint32_t id = 1; rc == 0 && id <= maker->wanted->accounts; id++) {
		sqlite3_bind_int64(stmt, 1, id);
		sqlite3_bind_int64(stmt, 2, DB_DATASET_BALANCE);
		rc = put_row(maker, stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

/* ---- The marker ------------------------------------------------------------------------------ */

struct mark {
	const char *name;
	uint64_t value;
};
#define MARKS 6

static void marks_of(const struct db_dataset *wanted, struct mark marks[MARKS])
{
	marks[0] = (struct mark){ "version", VERSION };
	marks[1] = (struct mark){ "seed", wanted->seed };
	marks[2] = (struct mark){ "items_bytes", wanted->items_bytes };
	marks[3] = (struct mark){ "archive_bytes", wanted->archive_bytes };
	marks[4] = (struct mark){ "archives", wanted->archives };
	marks[5] = (struct mark){ "accounts", wanted->accounts };
}

static int make_marker(struct maker *maker)
{
	struct mark marks[MARKS];
	sqlite3_stmt *stmt = NULL;
	marks_of(maker->wanted, marks);
	int rc = run_sql(maker, "CREATE TABLE dataset(name TEXT PRIMARY KEY, value INTEGER)");
	if (rc == 0)
		rc = prepare(maker, "INSERT INTO dataset VALUES(?1,?2)", &stmt);
	for (int i = 0; rc == 0 && i < MARKS; i++) {
		sqlite3_bind_text(stmt, 1, marks[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 2, (int64_t)marks[i].value);
		rc = put_row(maker, stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

/* What demo.db is: missing or empty, what is wanted, another data set, or somebody else's. */
enum present { PRESENT_NOTHING, PRESENT_WANTED, PRESENT_OTHER, PRESENT_FOREIGN };

static int count_marks(sqlite3_stmt *stmt, const struct db_dataset *wanted)
{
	struct mark marks[MARKS];
	int found = 0;
	marks_of(wanted, marks);
	for (int i = 0; i < MARKS; i++) {
		sqlite3_bind_text(stmt, 1, marks[i].name, -1, SQLITE_STATIC);
		found += sqlite3_step(stmt) == SQLITE_ROW &&
			 (uint64_t)sqlite3_column_int64(stmt, 0) == marks[i].value;
		sqlite3_reset(stmt);
	}
	return found;
}

static enum present look_at(const char *path, const struct db_dataset *wanted)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	struct stat about;
	enum present present = PRESENT_FOREIGN;
	if (stat(path, &about) != 0 || about.st_size == 0)
		return PRESENT_NOTHING;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "unix") == SQLITE_OK &&
		sqlite3_prepare_v2(db, "SELECT value FROM dataset WHERE name=?1", -1, &stmt,
			NULL) == SQLITE_OK)
		present = count_marks(stmt, wanted) == MARKS ? PRESENT_WANTED : PRESENT_OTHER;
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return present;
}

/* ---- Making it ------------------------------------------------------------------------------- */

static int make_tables(struct maker *maker)
{
	int rc = run_sql(maker, "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; "
				"PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; "
				"PRAGMA cache_size=-16000; BEGIN");
	if (rc == 0)
		rc = make_items(maker);
	for (uint32_t i = 1; rc == 0 && i <= maker->wanted->archives; i++)
		rc = make_archive(maker, i);
	if (rc == 0)
		rc = make_ledger(maker);
	if (rc == 0)
		rc = make_marker(maker);
	return rc ? rc : run_sql(maker, "COMMIT");
}

static int make_file(struct maker *maker, const char *partial)
{
	int rc = sqlite3_open_v2(partial, &maker->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, "unix");
	int status = rc == SQLITE_OK ? make_tables(maker)
				     : failure_sqlite(maker->failure, maker->db, rc);
	sqlite3_close(maker->db);
	return status;
}

static int sync_and_rename(const char *partial, const char *path, struct failure *failure)
{
	char log[4096];
	int file = open(partial, O_RDONLY | O_CLOEXEC);
	bool synced = file >= 0 && fsync(file) == 0;
	if (file >= 0)
		close(file);
	/* The old database's log must not be replayed over the new one. */
	snprintf(log, sizeof(log), "%s-wal", path);
	if (!synced || (unlink(log) && errno != ENOENT) || rename(partial, path))
		return failure_set(
			failure, DB_EIO, "cannot finish %s: %s", path, strerrordesc_np(errno));
	return 0;
}

static int make(struct storage *storage, struct db_dataset *wanted, struct failure *failure)
{
	struct maker maker = { .wanted = wanted,
		.failure = failure,
		.random = wanted->seed,
		.total_bytes = wanted->items * ITEM_BYTES +
			       wanted->rows_per_archive * ARCHIVE_BYTES * wanted->archives };
	char *partial = NULL;
	if (asprintf(&partial, "%s.partial", storage->path) < 0)
		return failure_set(failure, DB_ENOMEM, NULL);
	unlink(partial);
	int status = make_file(&maker, partial);
	if (status == 0)
		status = sync_and_rename(partial, storage->path, failure);
	if (status)
		unlink(partial);
	else if (wanted->on_progress)
		wanted->on_progress(wanted->progress_arg, maker.total_bytes, maker.total_bytes);
	free(partial);
	return status;
}

static int fill_defaults(struct db_dataset *wanted, struct failure *failure)
{
	if (wanted->struct_size != sizeof(*wanted) || !wanted->data_dir || !*wanted->data_dir)
		return failure_set(failure, DB_EINVAL, "a data folder must be given");
	if (wanted->archives > 16)
		return failure_set(
			failure, DB_EINVAL, "%u archive tables, at most 16", wanted->archives);
	wanted->seed = wanted->seed ? wanted->seed : 1;
	wanted->items_bytes = wanted->items_bytes ? wanted->items_bytes : 64 * MIB;
	wanted->archive_bytes = wanted->archive_bytes ? wanted->archive_bytes : 192 * MIB;
	wanted->archives = wanted->archives ? wanted->archives : 4;
	wanted->accounts = wanted->accounts ? wanted->accounts : 1000;
	wanted->items = wanted->items_bytes / ITEM_BYTES;
	wanted->rows_per_archive = wanted->archive_bytes / ARCHIVE_BYTES / wanted->archives;
	if (!wanted->items || !wanted->rows_per_archive)
		return failure_set(failure, DB_EINVAL, "tables of less than one row");
	return 0;
}

int db_dataset_make(struct db_dataset *wanted, char *message)
{
	struct failure failure;
	struct storage storage = { .lock_file = -1 };
	failure_clear(&failure);
	memory_install();
	if (!wanted)
		return DB_EINVAL;
	wanted->reused = false;
	int status = fill_defaults(wanted, &failure);
	if (status == 0)
		status = storage_lock_folder(&storage, wanted->data_dir, &failure);
	if (status)
		return failure_tell(&failure, message);
	if (asprintf(&storage.path, "%s/demo.db", wanted->data_dir) < 0) {
		storage.path = NULL;
		status = failure_set(&failure, DB_ENOMEM, NULL);
	}
	if (status == 0)
		status = storage_check_header(storage.path, &failure);
	enum present present = status ? PRESENT_NOTHING : look_at(storage.path, wanted);
	if (present == PRESENT_FOREIGN)
		status = failure_set(&failure, DB_EEXISTS,
			"%s is no data set made here and is left alone", storage.path);
	else if (present == PRESENT_WANTED && !wanted->remake)
		wanted->reused = true;
	else if (status == 0)
		status = make(&storage, wanted, &failure);
	storage_close(&storage);
	return status ? failure_tell(&failure, message) : 0;
}

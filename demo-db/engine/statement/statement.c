/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statement.c - from SQL text to something that can be run: compiled, with its set of locks.
 *
 * Owns registered texts, compilation, and the explicit lock sets of statements SQLite's authorizer
 * says nothing about (VACUUM, REINDEX, the integrity checks).
 */
#include "demo-db/engine/statement/statement.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/hash.h"

#define SCHEMA_TRIES 3

/* ---- Registered texts ------------------------------------------------------------------------ */

uint64_t statement_hash(const char *sql)
{
	uint64_t hash = hash_text(sql);
	return hash ? hash : 1;
}

int registry_init(struct statement_registry *registry)
{
	memset(registry, 0, sizeof(*registry));
	return pthread_mutex_init(&registry->mutex, NULL) ? DB_ENOMEM : 0;
}

void registry_destroy(struct statement_registry *registry)
{
	for (uint32_t i = 0; i < registry->count; i++)
		free(registry->texts[i].sql);
	pthread_mutex_destroy(&registry->mutex);
}

static int add_text(
	struct statement_registry *registry, const char *sql, bool fast_path, uint64_t hash)
{
	if (registry->count == DB_STATEMENTS_MAX)
		return DB_ETOOBIG;
	char *copy = strdup(sql);
	if (!copy)
		return DB_ENOMEM;
	registry->texts[registry->count] = (struct statement_text){
		.sql = copy, .hash = hash, .verb = verb_of(sql), .fast_path = fast_path
	};
	registry->count++;
	return 0;
}

int registry_add(struct statement_registry *registry, const char *sql, bool fast_path, uint32_t *id)
{
	uint64_t hash = statement_hash(sql);
	int rc = 0;
	pthread_mutex_lock(&registry->mutex);
	uint32_t at = 0;
	while (at < registry->count &&
		(registry->texts[at].hash != hash || strcmp(registry->texts[at].sql, sql) != 0))
		at++;
	if (at == registry->count)
		rc = add_text(registry, sql, fast_path, hash);
	pthread_mutex_unlock(&registry->mutex);
	*id = at + 1;
	return rc;
}

const struct statement_text *registry_get(struct statement_registry *registry, uint32_t id)
{
	return id && id <= registry->count ? &registry->texts[id - 1] : NULL;
}

/* ---- Explicit lock sets ---------------------------------------------------------------------- */

static int lock_one(
	struct authorizer *authorizer, struct lock_set *set, const char *name, enum table_mode mode)
{
	struct table *table = table_find(authorizer->catalog, name);
	return table ? lock_set_add(set, table, (uint8_t)mode) : DB_ETABLES;
}

/* One that is missing would let others in: whatever keeps it from being found is an error. */
static int lock_all_tables(struct authorizer *authorizer, sqlite3 *db, struct lock_set *set,
	enum table_mode mode, const char *sql, const char *name)
{
	sqlite3_stmt *stmt = NULL;
	struct failure failure;
	int status = 0;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	if (rc == SQLITE_OK && name)
		rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	while (status == 0 && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
		rc = sqlite3_step(stmt);
		const char *found =
			rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
		if (rc == SQLITE_ROW && !found)
			status = DB_ENOMEM;
		else if (found && strncasecmp(found, "sqlite_", 7) != 0)
			status = lock_one(authorizer, set, found, mode);
	}
	if (status == 0 && rc != SQLITE_DONE)
		status = failure_sqlite(&failure, db, rc);
	sqlite3_finalize(stmt);
	return status;
}

/* REINDEX name: the table of that name, or the table of the index of that name. */
static int lock_reindexed(
	struct authorizer *authorizer, sqlite3 *db, struct lock_set *set, const char *sql)
{
	const char *at = sql + strspn(sql, " \t\r\n");
	at += strlen("reindex");
	at += strspn(at, " \t\r\n");
	size_t length = strcspn(at, "; \t\r\n");
	char name[TABLE_NAME_MAX] = "";
	if (length && length < sizeof(name))
		memcpy(name, at, length);
	int rc = lock_all_tables(authorizer, db, set, TABLE_ACCESS_EXCLUSIVE,
		"SELECT tbl_name FROM sqlite_schema WHERE name=?1 COLLATE NOCASE", name);
	if (rc || set->count)
		return rc;
	return lock_all_tables(authorizer, db, set, TABLE_ACCESS_EXCLUSIVE,
		"SELECT name FROM sqlite_schema WHERE type='table'", NULL);
}

static int lock_explicitly(struct compiled *compiled, struct authorizer *authorizer, sqlite3 *db)
{
	const char *all = "SELECT name FROM sqlite_schema WHERE type='table'";
	if (authorizer->reads_all) {
		compiled->whole = true;
		return lock_all_tables(
			authorizer, db, &compiled->locks, TABLE_ACCESS_SHARE, all, NULL);
	}
	switch (compiled->verb) {
	case VERB_VACUUM:
		compiled->whole = true;
		return lock_all_tables(
			authorizer, db, &compiled->locks, TABLE_ACCESS_EXCLUSIVE, all, NULL);
	case VERB_REINDEX:
		compiled->whole = true;
		return lock_reindexed(authorizer, db, &compiled->locks, compiled->sql);
	case VERB_PRAGMA: /* integrity_check, quick_check, foreign_key_check read all */
		if (!strcasestr(compiled->sql, "_check"))
			return 0;
		compiled->whole = true;
		return lock_all_tables(
			authorizer, db, &compiled->locks, TABLE_ACCESS_SHARE, all, NULL);
	default:
		return 0;
	}
}

/* ---- Compilation ----------------------------------------------------------------------------- */

static void only_read(struct lock_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		set->wants[i].modes = 1u << (TABLE_ACCESS_SHARE - 1);
}

static int make_requests(struct compiled *compiled, struct lock_space_refs locks)
{
	const struct lock_set *set = &compiled->locks;
	size_t limit = (size_t)set->count * LOCK_MODES_MAX + 2;
	compiled->requests = calloc(limit, sizeof(struct lock_request));
	if (!compiled->requests)
		return DB_ENOMEM;
	uint32_t count = 0;
	compiled->requests[count++] =
		(struct lock_request){ .lock = locks.global, .mode = CANCEL_SHARED };
	for (uint32_t i = 0; i < set->count; i++)
		for (uint8_t mode = 1; mode <= LOCK_MODES_MAX; mode++)
			if (set->wants[i].modes & (1u << (mode - 1)))
				compiled->requests[count++] =
					(struct lock_request){ .lock = &set->wants[i].table->lock,
						.mode = mode };
	compiled->request_count = count;
	compiled->requests[count] =
		(struct lock_request){ .lock = locks.write_lock, .mode = CANCEL_EXCLUSIVE };
	return 0;
}

static int prepare(struct compiled *compiled, sqlite3 *db, struct authorizer *authorizer,
	struct failure *failure)
{
	const char *tail = NULL;
	int rc = SQLITE_SCHEMA; /* SQLite itself looks twice at a schema that changes meanwhile */
	for (int tries = 0; rc == SQLITE_SCHEMA && tries < SCHEMA_TRIES; tries++) {
		authorizer_collect(authorizer, &compiled->locks);
		rc = sqlite3_prepare_v3(
			db, compiled->sql, -1, SQLITE_PREPARE_PERSISTENT, &compiled->stmt, &tail);
		authorizer_internal(authorizer);
	}
	if (authorizer->failed)
		return failure_set(failure, authorizer->failed, NULL);
	if (rc != SQLITE_OK && authorizer->denied)
		return failure_set(failure, authorizer->denied, "%s", authorizer->what);
	if (rc != SQLITE_OK)
		return failure_sqlite(failure, db, rc);
	if (tail && !verb_is_blank(tail))
		return failure_set(failure, DB_ESYNTAX, "more than one statement in one request");
	if (compiled->verb == VERB_VACUUM && verb_is_vacuum_into(compiled->sql))
		return failure_set(failure, DB_EUNSUPPORTED, "VACUUM INTO is not supported");
	return 0;
}

/* Nothing is recorded of them: they are not run. */
static int compile_checks(sqlite3 *db, const char *checks, struct failure *failure)
{
	int rc = SQLITE_OK;
	while (rc == SQLITE_OK && *checks) {
		sqlite3_stmt *stmt = NULL;
		const char *next = checks;
		for (int tries = 0; tries < SCHEMA_TRIES; tries++) {
			rc = sqlite3_prepare_v2(db, checks, -1, &stmt, &next);
			if (rc != SQLITE_SCHEMA)
				break;
		}
		sqlite3_finalize(stmt);
		checks = next;
	}
	if (rc == SQLITE_OK)
		return 0;
	int status = failure_sqlite(failure, db, rc);
	failure->offset = -1; /* it is one of the check */
	return status;
}

static void read_findings(struct compiled *compiled, const struct authorizer *authorizer)
{
	bool explain = sqlite3_stmt_isexplain(compiled->stmt) != 0;
	compiled->writes = !explain && !sqlite3_stmt_readonly(compiled->stmt);
	compiled->temp_only =
		compiled->writes && authorizer->writes_temp && !authorizer->writes_main;
	compiled->makes_temp = !explain && authorizer->makes_temp;
	compiled->guarded = !explain && authorizer->guarded;
	if (explain)
		only_read(&compiled->locks);
	if (compiled->verb == VERB_OTHER)
		compiled->verb = VERB_SELECT;
}

struct compiled *compile(sqlite3 *db, struct authorizer *authorizer,
	const struct compile_source *source, struct lock_space_refs locks, struct failure *failure)
{
	struct compiled *compiled = calloc(1, sizeof(*compiled));
	if (!compiled) {
		failure_set(failure, DB_ENOMEM, NULL);
		return NULL;
	}
	lock_set_init(&compiled->locks);
	compiled->sql = strdup(source->sql);
	compiled->hash = source->hash;
	compiled->verb = source->verb;
	compiled->checked =
		source->checks && source->verb != VERB_ALTER; /* that compiles its own */
	int rc = compiled->sql ? prepare(compiled, db, authorizer, failure)
			       : failure_set(failure, DB_ENOMEM, NULL);
	if (rc == 0 && source->checks)
		rc = compile_checks(db, source->checks, failure);
	if (rc == 0 && compiled->stmt) {
		read_findings(compiled, authorizer);
		rc = lock_explicitly(compiled, authorizer, db);
		if (rc == 0)
			rc = make_requests(compiled, locks);
		if (rc)
			failure_set(failure, rc, NULL);
	}
	if (rc == 0)
		return compiled;
	compiled_free(compiled);
	return NULL;
}

void compiled_free(struct compiled *compiled)
{
	if (!compiled)
		return;
	sqlite3_finalize(compiled->stmt);
	lock_set_free(&compiled->locks);
	free(compiled->requests);
	free(compiled->sql);
	free(compiled);
}

bool compiled_returns_rows(const struct compiled *compiled)
{
	return compiled->verb != VERB_ALTER && sqlite3_column_count(compiled->stmt) > 0;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

bool compiled_wants_plan(const struct compiled *compiled)
{
	static const char *const words[] = { "order", "group", "distinct", "union", "intersect",
		"except", "over", "join", "create", "with" };
	if (compiled->plan.made || !compiled->stmt)
		return false;
	if (compiled->verb == VERB_INSERT && !strcasestr(compiled->sql, "select"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(compiled->sql, words[i]))
			return true;
	if (compiled->verb == VERB_SELECT) /* without WHERE it reads a whole table, or a range */
		return strcasestr(compiled->sql, "from") &&
		       (!strcasestr(compiled->sql, "where") || strpbrk(compiled->sql, "<>") ||
			       strcasestr(compiled->sql, "between"));
	return compiled->verb == VERB_UPDATE || compiled->verb == VERB_DELETE;
}

void compiled_plan(struct compiled *compiled, sqlite3 *db, struct authorizer *authorizer)
{
	authorizer_internal(authorizer);
	if (compiled->stmt && sqlite3_stmt_isexplain(compiled->stmt) == 0)
		plan_make(&compiled->plan, db, compiled->sql);
	compiled->plan.made = true;
}

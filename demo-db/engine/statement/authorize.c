/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authorize.c - the one callback SQLite asks before it compiles an access.
 *
 * Owns the table from SQLite's action codes to lock modes, the allow-list of PRAGMAs, the finding
 * that a statement uses what the host guards, and the refusals (ATTACH, loading code). The
 * callbacks cover views, triggers and foreign keys. They do not cover VACUUM, REINDEX and what FTS5
 * does inside: statement.c gives those an explicit set.
 *
 * While a statement runs SQLite may compile it again, because the schema changed. Then a table
 * outside the held set is denied and `missed` is set, and the caller retries with the new set. So
 * is everything of a statement with checks, which must compile again, too.
 */
#include "demo-db/engine/statement/authorize.h"
#include "demo-db/engine/engine.h"

#include <string.h>
#include <strings.h>

struct pragma_rule {
	const char *name;
	bool argument; /* may be given one; else it can only be read */
};

static const struct pragma_rule pragma_allowed[] = {
	{ "application_id", false },
	{ "collation_list", false },
	{ "compile_options", false },
	{ "data_version", false },
	{ "database_list", false },
	{ "encoding", false },
	{ "foreign_key_check", true },
	{ "foreign_key_list", true },
	{ "foreign_keys", false },
	{ "freelist_count", false },
	{ "function_list", false },
	{ "index_info", true },
	{ "index_list", true },
	{ "index_xinfo", true },
	{ "integrity_check", true },
	{ "journal_mode", false },
	{ "page_count", false },
	{ "page_size", false },
	{ "quick_check", true },
	{ "schema_version", false },
	{ "synchronous", false },
	{ "table_info", true },
	{ "table_list", true },
	{ "table_xinfo", true },
	{ "user_version", false },
};

static bool pragma_is_allowed(const char *name, const char *argument)
{
	for (size_t i = 0; i < sizeof(pragma_allowed) / sizeof(pragma_allowed[0]); i++)
		if (strcasecmp(name, pragma_allowed[i].name) == 0)
			return !argument || pragma_allowed[i].argument;
	return false;
}

static int deny(struct authorizer *authorizer, int status, const char *what)
{
	if (!authorizer->denied) {
		authorizer->denied = status;
		authorizer->what = what;
	}
	return SQLITE_DENY;
}

static bool is_internal_name(const char *name)
{
	return strncasecmp(name, "sqlite_", 7) == 0;
}

/* Virtual tables that read every table, and of which SQLite says no more than their names. */
static bool reads_everything(const char *name)
{
	static const char *const names[] = { "pragma_integrity_check", "pragma_quick_check",
		"pragma_foreign_key_check", "dbstat" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool is_temporary(const char *database)
{
	return database && strcmp(database, "temp") == 0;
}

static int touch(
	struct authorizer *authorizer, const char *name, const char *database, enum table_mode mode)
{
	if (!name || is_internal_name(name) || is_temporary(database))
		return SQLITE_OK;
	authorizer->reads_all = authorizer->reads_all || reads_everything(name);
	struct table *table = table_find(authorizer->catalog, name);
	if (!table) {
		authorizer->failed = DB_ETABLES;
		return deny(authorizer, DB_ETABLES, "too many different table names");
	}
	if (authorizer->mode == AUTHORIZE_CHECK) {
		if (lock_set_covers(authorizer->set, table, (uint8_t)mode))
			return SQLITE_OK;
		authorizer->missed = true;
		return SQLITE_DENY;
	}
	int rc = lock_set_add(authorizer->set, table, (uint8_t)mode);
	if (rc)
		authorizer->failed = rc;
	return rc ? SQLITE_DENY : SQLITE_OK;
}

static bool guards(const struct authorizer *authorizer, const char *name)
{
	return name && authorizer->is_guarded && authorizer->is_guarded(name);
}

static void note_guarded(struct authorizer *authorizer, const char *name)
{
	authorizer->guarded = authorizer->guarded || guards(authorizer, name);
}

static int call(struct authorizer *authorizer, const char *name)
{
	note_guarded(authorizer, name);
	return name && strcasecmp(name, "load_extension") == 0
		       ? deny(authorizer, DB_EUNSUPPORTED, "extensions are not supported")
		       : SQLITE_OK;
}

static int write(struct authorizer *authorizer, const char *name, const char *database)
{
	note_guarded(authorizer, name);
	if (is_temporary(database))
		authorizer->writes_temp = true;
	else
		authorizer->writes_main = true;
	return touch(authorizer, name, database, TABLE_ROW_EXCLUSIVE);
}

/* For a DELETE, IGNORE means: allowed, but not by dropping the whole tree in one step, which
 * nothing could interrupt (sqlite3_set_authorizer's documentation). A DROP asks for a DELETE too,
 * first of its row in the schema and then of the table, and takes IGNORE for a refusal. */
static int delete (struct authorizer *authorizer, const char *name, const char *database)
{
	authorizer->drops = authorizer->drops || is_internal_name(name);
	int answer = write(authorizer, name, database);
	return answer == SQLITE_OK && !authorizer->drops ? SQLITE_IGNORE : answer;
}

static int define(
	struct authorizer *authorizer, const char *name, const char *database, enum table_mode mode)
{
	authorizer->writes_main = true;
	if (guards(authorizer, name))
		return deny(authorizer, DB_EDENIED, "what the server shows cannot be redefined");
	return touch(authorizer, name, database, mode);
}

static int define_virtual(struct authorizer *authorizer, const char *name, const char *database)
{
	table_mark_virtual(authorizer->catalog, name);
	return define(authorizer, name, database, TABLE_ACCESS_EXCLUSIVE);
}

static int define_temporary(struct authorizer *authorizer)
{
	authorizer->makes_temp = true;
	authorizer->writes_temp = true;
	return SQLITE_OK;
}

/* The arguments mean what sqlite3.h says beside each action code. */
static int decide(struct authorizer *authorizer, int action, const char *first, const char *second,
	const char *database)
{
	switch (action) {
	case SQLITE_READ:
		return touch(authorizer, first, database, TABLE_ACCESS_SHARE);
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
		return write(authorizer, first, database);
	case SQLITE_DELETE:
		return delete (authorizer, first, database);
	case SQLITE_CREATE_TABLE:
	case SQLITE_DROP_TABLE:
	case SQLITE_CREATE_VIEW:
	case SQLITE_DROP_VIEW:
		return define(authorizer, first, database, TABLE_ACCESS_EXCLUSIVE);
	case SQLITE_CREATE_VTABLE: /* what the host guards goes by its own name only */
		if (guards(authorizer, second))
			return deny(
				authorizer, DB_EDENIED, "what the server shows has no other name");
		return define_virtual(authorizer, first, database);
	case SQLITE_DROP_VTABLE:
		return define_virtual(authorizer, first, database);
	case SQLITE_CREATE_INDEX:
		return define(authorizer, second, database, TABLE_SHARE);
	case SQLITE_DROP_INDEX:
	case SQLITE_CREATE_TRIGGER:
	case SQLITE_DROP_TRIGGER:
		return define(authorizer, second, database, TABLE_ACCESS_EXCLUSIVE);
	case SQLITE_ALTER_TABLE: /* (database, table) */
		return define(authorizer, second, first, TABLE_ACCESS_EXCLUSIVE);
	case SQLITE_ANALYZE:
		return define(authorizer, first, database, TABLE_ACCESS_SHARE);
	case SQLITE_REINDEX:
		authorizer->reindexes = true;
		authorizer->writes_main = true;
		return SQLITE_OK;
	case SQLITE_CREATE_TEMP_INDEX:
	case SQLITE_CREATE_TEMP_TABLE:
	case SQLITE_CREATE_TEMP_TRIGGER:
	case SQLITE_CREATE_TEMP_VIEW:
	case SQLITE_DROP_TEMP_INDEX:
	case SQLITE_DROP_TEMP_TABLE:
	case SQLITE_DROP_TEMP_TRIGGER:
	case SQLITE_DROP_TEMP_VIEW:
		return define_temporary(authorizer);
	case SQLITE_PRAGMA:
		return pragma_is_allowed(first, second)
			       ? SQLITE_OK
			       : deny(authorizer, DB_EUNSUPPORTED, "this PRAGMA is not supported");
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return deny(authorizer, DB_EUNSUPPORTED, "ATTACH is not supported");
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return deny(authorizer, DB_EUNSUPPORTED, "transactions are the engine's");
	case SQLITE_FUNCTION:
		return call(authorizer, second);
	default: /* SELECT, RECURSIVE */
		return SQLITE_OK;
	}
}

static _Thread_local int reads_schema; /* how deep */

void db_reads_schema(bool on)
{
	reads_schema += on ? 1 : -1;
}

static int on_access(void *context, int action, const char *first, const char *second,
	const char *database, const char *source)
{
	(void)source;
	struct authorizer *authorizer = context;
	authorizer->calls++;
	if (authorizer->mode == AUTHORIZE_VACUUM)
		return SQLITE_OK;
	if (reads_schema) /* a text of the host's own */
		return SQLITE_OK;
	if (authorizer->mode == AUTHORIZE_INTERNAL) /* EXPLAIN must see the plan that will run */
		return action == SQLITE_DELETE && !is_internal_name(first) ? SQLITE_IGNORE
									   : SQLITE_OK;
	if (authorizer->compiled) {
		authorizer->missed = true;
		return SQLITE_DENY;
	}
	return decide(authorizer, action, first, second, database);
}

void authorizer_install(struct authorizer *authorizer, sqlite3 *db, struct table_catalog *catalog,
	bool (*is_guarded)(const char *name))
{
	memset(authorizer, 0, sizeof(*authorizer));
	authorizer->catalog = catalog;
	authorizer->is_guarded = is_guarded;
	sqlite3_set_authorizer(db, on_access, authorizer);
}

static void forget(struct authorizer *authorizer, enum authorize_mode mode, struct lock_set *set)
{
	*authorizer = (struct authorizer){ .mode = mode,
		.catalog = authorizer->catalog,
		.is_guarded = authorizer->is_guarded,
		.set = set,
		.calls = authorizer->calls };
}

void authorizer_collect(struct authorizer *authorizer, struct lock_set *set)
{
	forget(authorizer, AUTHORIZE_COLLECT, set);
}

void authorizer_check(struct authorizer *authorizer, struct lock_set *held, bool vacuum)
{
	forget(authorizer, vacuum ? AUTHORIZE_VACUUM : AUTHORIZE_CHECK, held);
}

void authorizer_internal(struct authorizer *authorizer)
{
	authorizer->mode = AUTHORIZE_INTERNAL;
}

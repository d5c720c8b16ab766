/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.c - turns SQLite's result codes and our own into db_error, SQLSTATE and one line of text.
 *
 * Owns the mapping and nothing else. SQLite gives one code, SQLITE_ERROR, to most mistakes in SQL;
 * only its text tells them apart, so the beginnings of its messages are compared here and nowhere
 * else.
 */
#include "demo-db/engine/base/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *db_error_text(int error)
{
	switch (error) {
	case DB_OK:
		return "ok";
#define X(name, number, sqlstate, text)                                                            \
	case name:                                                                                 \
		return text;
		DB_ERRORS(X)
#undef X
	default:
		return "unknown error";
	}
}

const char *db_error_sqlstate(int error)
{
	switch (error) {
	case DB_OK:
		return "00000";
#define X(name, number, sqlstate, text)                                                            \
	case name:                                                                                 \
		return sqlstate;
		DB_ERRORS(X)
#undef X
	default:
		return "XX000";
	}
}

void failure_clear(struct failure *failure)
{
	failure->status = 0;
	failure->offset = -1;
	failure->message[0] = '\0';
	memcpy(failure->sqlstate, "00000", sizeof(failure->sqlstate));
}

int failure_set(struct failure *failure, int status, const char *format, ...)
{
	failure->status = status;
	failure->offset = -1;
	memcpy(failure->sqlstate, db_error_sqlstate(status), sizeof(failure->sqlstate));
	if (!format) {
		snprintf(failure->message, sizeof(failure->message), "%s", db_error_text(status));
		return status;
	}
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(failure->message, sizeof(failure->message), format, arguments);
	va_end(arguments);
	return status;
}

struct text_rule {
	const char *part;
	int status;
	bool anywhere; /* else only at the start */
};

static const struct text_rule text_rules[] = {
	{ "near \"", DB_ESYNTAX, false },
	{ "incomplete input", DB_ESYNTAX, false },
	{ "unrecognized token", DB_ESYNTAX, false },
	{ "no such table", DB_ENOTABLE, false },
	{ "no such view", DB_ENOTABLE, false },
	{ "no such index", DB_ENOTABLE, false },
	{ "no such trigger", DB_ENOTABLE, false },
	{ "no such column", DB_ENOCOLUMN, false },
	{ "cannot join using column", DB_ENOCOLUMN, false },
	{ "unknown column", DB_ENOCOLUMN, false }, /* in foreign key definition */
	{ "has no column named", DB_ENOCOLUMN, true },
	{ "ambiguous column name", DB_EAMBIGUOUS, false },
	{ "misuse of aggregate", DB_EGROUPING, false },
	{ "misuse of window function", DB_EGROUPING, false },
	{ "sub-select returns", DB_ESYNTAX, false },
	{ "SELECTs to the left and right", DB_ESYNTAX, false },
	{ "all VALUES must have the same number", DB_ESYNTAX, false },
	{ "ORDER BY term out of range", DB_EREFERENCE, true },
	{ "GROUP BY term out of range", DB_EREFERENCE, true },
	{ "no such function", DB_ENOFUNCTION, false },
	{ "wrong number of arguments", DB_ENOFUNCTION, false },
	{ "parser stack overflow", DB_ETOOBIG, false },
	{ "Expression tree is too large", DB_ETOOBIG, false },
	{ "too many ", DB_ETOOBIG, false }, /* columns, terms, arguments … */
	{ "duplicate column name", DB_ECOLUMNTWICE, false },
	{ "default value of column", DB_EUNSUPPORTED, false },
	{ "division by zero", DB_EDIVISION, false },
	{ "a stored numeric of more than", DB_EUNSUPPORTED, false },
	{ "invalid input syntax for type date", DB_EDATETIME, false },
	{ "invalid input syntax for type time", DB_EDATETIME, false }, /* timestamp, too */
	{ "invalid input syntax for type", DB_EREPRESENTATION, false },
	{ "date/time field value out of range", DB_EDATERANGE, false },
	{ "value too long for type", DB_ETRUNCATION, false },
	{ "numeric field overflow", DB_ERANGE, false },
	{ "out of range", DB_ERANGE, true },
	{ "invalid regular expression", DB_EREGEX, false },
	{ "integer overflow", DB_ERANGE, false },
	{ "already exists", DB_EEXISTS, true },
	{ "there is already", DB_EEXISTS, false },
	{ "not authorized", DB_EDENIED, false },
	{ "interrupted", DB_ECANCELLED, false },
};

static int status_of_text(const char *text)
{
	for (size_t i = 0; i < sizeof(text_rules) / sizeof(text_rules[0]); i++) {
		const struct text_rule *rule = &text_rules[i];
		const char *found = strstr(text, rule->part);
		if (found && (rule->anywhere || found == text))
			return rule->status;
	}
	return DB_ESQL;
}

static int status_of_constraint(int extended)
{
	switch (extended) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
	case SQLITE_CONSTRAINT_ROWID:
		return DB_EUNIQUE;
	case SQLITE_CONSTRAINT_NOTNULL:
		return DB_ENOTNULL;
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return DB_EFOREIGNKEY;
	case SQLITE_CONSTRAINT_CHECK:
		return DB_ECHECK;
	case SQLITE_CONSTRAINT_VTAB: /* a host's table refused the value */
		return DB_EINVAL;
	default:
		return DB_ECONSTRAINT;
	}
}

static bool no_space_left(int system_error)
{
	return system_error == ENOSPC || system_error == EFBIG || system_error == EDQUOT;
}

static int status_of_code(int extended, int system_error, const char *text)
{
	switch (extended & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return DB_OK;
	case SQLITE_BUSY:
		return extended == SQLITE_BUSY_SNAPSHOT ? DB_ESERIALIZE : DB_EINUSE;
	case SQLITE_LOCKED:
		return DB_EINUSE;
	case SQLITE_NOMEM:
		return DB_ENOMEM;
	case SQLITE_READONLY:
		return DB_EREADONLY;
	case SQLITE_INTERRUPT:
		return DB_ECANCELLED;
	case SQLITE_IOERR:
		if (extended == SQLITE_IOERR_NOMEM)
			return DB_ENOMEM;
		return no_space_left(system_error) ? DB_EFULL : DB_EIO;
	case SQLITE_FULL:
		return DB_EFULL;
	case SQLITE_CORRUPT:
		return DB_ECORRUPT;
	case SQLITE_NOTADB:
		return DB_ENOTADB;
	case SQLITE_CANTOPEN:
		return DB_EOPEN;
	case SQLITE_TOOBIG:
		return DB_ETOOBIG;
	case SQLITE_CONSTRAINT:
		return status_of_constraint(extended);
	case SQLITE_MISMATCH:
		return DB_EMISMATCH;
	case SQLITE_AUTH:
		return DB_EDENIED;
	case SQLITE_RANGE:
		return DB_EINVAL;
	case SQLITE_SCHEMA: /* it changed each time SQLite looked */
		return DB_ESERIALIZE;
	case SQLITE_ERROR:
		return status_of_text(text);
	default:
		return DB_EINTERNAL;
	}
}

/* SQLite reads errno when it reports, which may be some system calls later; the database file
 * remembers its own. */
static int errno_of(sqlite3 *db)
{
	int of_report = sqlite3_system_errno(db);
	int of_file = 0;
	if (no_space_left(of_report) ||
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &of_file) != SQLITE_OK)
		return of_report;
	return no_space_left(of_file) ? of_file : of_report;
}

int failure_sqlite(struct failure *failure, sqlite3 *db, int rc)
{
	int extended = rc;
	int system_error = 0;
	const char *text = sqlite3_errstr(rc);
	if (db && (sqlite3_errcode(db) & 0xff) == (rc & 0xff)) {
		extended = sqlite3_extended_errcode(db);
		text = sqlite3_errmsg(db);
		if ((rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN)
			system_error = errno_of(db);
	}
	int status = status_of_code(extended, system_error, text);
	if (status == DB_EFULL)
		return failure_set(failure, status, "disk full: %s (SQLite %d, errno %d)", text,
			extended, system_error);
	if (status == DB_EIO || status == DB_EOPEN)
		return failure_set(failure, status, "%s (SQLite %d, errno %d: %s)", text, extended,
			system_error, strerrordesc_np(system_error));
	if (status == DB_ECANCELLED || status == DB_ESERIALIZE)
		return failure_set(failure, status, NULL);
	failure_set(failure, status, "%s", text);
	if (extended == SQLITE_CONSTRAINT_PRIMARYKEY && strncmp(text, "UNIQUE ", 7) == 0)
		failure_set(failure, status, "PRIMARY KEY %s", text + 7);
	if (db && (rc & 0xff) == SQLITE_ERROR)
		failure->offset = sqlite3_error_offset(db);
	return status;
}

int failure_tell(const struct failure *failure, char *message)
{
	if (message)
		snprintf(message, DB_MESSAGE_MAX, "%s", failure->message);
	return failure->status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h - what PostgreSQL clients write and SQLite does not read, translated in one place.
 *
 *   expr::type, CAST(expr AS type)  a function that refuses what is none (functions.h); in CREATE
 *                                  TABLE and ALTER, SQLite's CAST
 *   date '2024-02-29', timestamp …  the same
 *   a / b, a % b                   a / pg_divisor(b): zero is an error
 *   $1                             ?1
 *   $tag$text$tag$, E'a\nb'        'text' with quotes doubled, escapes resolved
 *   now(), version(), current_user, current_database() …   an SQLite expression or a literal
 *   INSERT … VALUES (x), UPDATE … SET a = x   x is pg_assign(x, 't.a'); assign.h
 *   an expression without an alias   PostgreSQL's name for it: AS "count"
 *   INSERT … several rows          SELECT pg_assign(column1, 't.a'), … FROM (VALUES …)
 *   INSERT … SELECT                WITH pg_source(c1, …) AS (SELECT …) SELECT pg_assign(c1, …), …
 *   DEFAULT as a value             pg_default('t.a')
 *   DELETE FROM t USING u WHERE …  DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE …)
 *   int of CREATE and ALTER        int4: INT is what CREATE TABLE AS makes of every integer
 *   serial, bigserial, GENERATED … AS IDENTITY   INTEGER (rowid alias when it is the primary key)
 *   DEFAULT a || b                 DEFAULT (a || b)
 *   PRIMARY KEY of one column      PRIMARY KEY NOT NULL
 *   '\x0a1b'::bytea                X'0a1b'
 *   random()                       between 0 and 1
 *   EXPLAIN statement              EXPLAIN QUERY PLAN statement
 *   a ~ b, a ~* b, ILIKE, OPERATOR(pg_catalog.~)           REGEXP, see functions.h
 *   substring(a FROM b FOR c), position(a IN b), extract(f FROM d), left, right, string_agg
 *                                  calls with commas
 *   (VALUES …) v (a, b)            (SELECT column1 AS a, column2 AS b FROM (VALUES …)) v
 *   FROM generate_series(a, b, c) t                        a recursive query
 *   TABLE t, FETCH FIRST n ROWS ONLY, LIMIT ALL            SELECT * FROM t, LIMIT n, LIMIT -1
 *   ORDER BY a, b DESC             ORDER BY a NULLS LAST, b DESC NULLS FIRST
 *   COLLATE "C", "default"         dropped: bytes are compared anyway
 *   pg_catalog. and public.        dropped; pg_catalog tables are the server's views
 *   … FROM pg_catalog.pg_policy, pg_trigger, pg_statistic_ext, pg_publication …   no rows
 *   'name'::regclass, id::regclass pg_regclass_id('name'), pg_regclass_name(id)
 *   FOR UPDATE, FOR SHARE          dropped: one writer at a time makes them void
 *   rowid, oid, _rowid_            what somebody declared or named so, never SQLite's own: hidden.h
 *   CASCADE, RESTRICT of DROP      dropped: what refers to the table stays
 *   USING btree, WITH (…) of CREATE, TABLESPACE name       dropped
 *   START TRANSACTION …, BEGIN WORK …, ABORT, END          BEGIN / COMMIT / ROLLBACK
 *   SAVEPOINT a, RELEASE a, ROLLBACK TO a                  recognised; the engine's
 *   TRUNCATE [TABLE] t             DELETE FROM t
 *   DROP TABLE a, b; TRUNCATE a, b the first, and the same of the others as its rest
 *   SET, SHOW, RESET, DISCARD      recognised, for the session to answer
 *   PREPARE, EXECUTE (with constants), DEALLOCATE          recognised, for the session to answer
 *   CHECKPOINT, PAUSE, RESUME, BACKUP TO 'path'            demo-db's own, for the operator
 *   VACUUM t, ANALYZE t            recognised: the table form is a no-op here
 *   COPY, LISTEN, NOTIFY, DECLARE, CREATE FUNCTION/ROLE/…  refused with 0A000 and a hint
 *
 * Queries, changes of rows, CREATE VIEW and CREATE TABLE AS are read by PostgreSQL's grammar
 * (tree.h), which also finds their syntax errors. What the writer does not know is 0A000. The other
 * definitions are read token by token (rewrite.h); what is not named above passes through there.
 * Pure; not thread-safe per result, no globals.
 */
#ifndef DEMO_DB_DIALECT_H
#define DEMO_DB_DIALECT_H

#include "demo-db/server/types/pg_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dialect_kind {
	DIALECT_EMPTY,	 /* white space and comments only */
	DIALECT_SQL,	 /* `sql` is for the engine */
	DIALECT_BEGIN,	 /* `sql` is for the engine; isolation and read_only are set */
	DIALECT_SET,	 /* name, value (NULL: DEFAULT); local: until the transaction's end */
	DIALECT_SHOW,	 /* name ("all") */
	DIALECT_RESET,	 /* name ("all") */
	DIALECT_DISCARD, /* everything the session keeps */
	DIALECT_NO_WORK, /* nothing to do; answer `tag` */
	DIALECT_REFUSED, /* sqlstate, message, hint */
	DIALECT_INTAKE,	 /* PAUSE or RESUME, in `name` */
	DIALECT_CHECKPOINT,
	DIALECT_BACKUP,	    /* `sql` is the path as it was written, quotes resolved */
	DIALECT_PREPARE,    /* name; `sql` is the client's, untranslated; types in `value` */
	DIALECT_EXECUTE,    /* name; `sql` is what stands in the parentheses, untranslated */
	DIALECT_DEALLOCATE, /* name; "" all */
};

#define DIALECT_NAME_MAX	  128
#define DIALECT_TEXT_MAX	  256
#define DIALECT_COLUMNS_TYPED_MAX 64 /* result columns whose type can be noted */

struct dialect_column {
	const char *name;
	enum pg_type type; /* PG_UNKNOWN: only a value tells it */
	int scale;	   /* of numeric(p, s); -1: any */
	bool wide;	   /* an integer that may be a bigserial: of 64 bits */
};

struct dialect_table {
	uint32_t count;
	struct dialect_column *columns;
	const char *view; /* its CREATE VIEW as it was translated; NULL: it is none */
};

struct dialect_schema {
	void *arg;
	uint64_t version; /* another one: what was known of tables may not be so any more */
	/* NULL: there is no such table, or none is known. Good until the next call. */
	const struct dialect_table *(*find)(void *arg, const char *name);
};

struct dialect_context { /* what literals stand for */
	const char *user, *database, *version;
	uint32_t process;
	const struct dialect_schema *schema; /* NULL: no types of columns are known */
	const enum pg_type *parameter_types; /* as they were declared; PG_UNKNOWN: not */
	uint16_t parameter_count;
	uint16_t literal_count;	    /* of the first parameters, which are integers of the text */
	const char *insert_columns; /* of an INSERT that has no list: "(a, b)"; NULL: none */
};

struct dialect {
	enum dialect_kind kind;
	char *sql;     /* owned: dialect_free */
	char *rest;    /* owned: another statement, untranslated, that belongs to it; NULL: none */
	char *plain;   /* owned: of which `sql` was made to hide hidden columns; NULL: it is it */
	char *checks;  /* owned: queries that must compile, too, or it does not; NULL: none */
	bool unlisted; /* an INSERT of rows without a list of columns */
	bool assigns;  /* an INSERT or UPDATE */
	bool stores_last; /* when a row is refused, its values were the last to be assigned */
	enum pg_type *parameter_types; /* owned: what the statement tells of them */
	uint16_t parameter_count;
	uint32_t column_count;
	enum pg_type
		column_types[DIALECT_COLUMNS_TYPED_MAX]; /* PG_UNKNOWN: the form does not tell */
	char name[DIALECT_NAME_MAX], value[DIALECT_TEXT_MAX];
	bool value_default, local;
	char tag[32];
	char sqlstate[6];
	char message[DIALECT_TEXT_MAX], hint[DIALECT_TEXT_MAX];
	size_t place; /* byte of the text the message is about, from 1; 0 unknown */
	bool repeatable_read, serializable, read_only; /* BEGIN's modes … */
	const char *block_only; /* SAVEPOINT and its like: their name in PostgreSQL's words */
	bool revives;		/* ROLLBACK TO: allowed in a failed block */
	bool level, read_write; /* … and which of them were said */
};

/* Translates one statement (no more than one; a trailing semicolon is fine). Returns 0, or -1 when
 * memory is out. Bad input is DIALECT_REFUSED. O(bytes). */
int dialect_translate(const char *sql, size_t bytes, const struct dialect_context *context,
	struct dialect *result);
void dialect_free(struct dialect *result);

#endif

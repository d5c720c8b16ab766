/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the statements of PostgreSQL clients that the server answers itself or refuses: settings,
 * transaction forms, maintenance. What is left goes to rewrite.c.
 */
#include "demo-db/server/dialect/dialect.h"
#include "demo-db/server/dialect/checks.h"
#include "demo-db/server/dialect/dialect_cursor.h"
#include "demo-db/server/dialect/hidden.h"
#include "demo-db/server/dialect/lexer.h"
#include "demo-db/server/dialect/rewrite.h"
#include "demo-db/server/dialect/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX       256   /* objects of one DROP or TRUNCATE … */
#define LIST_MAX_BYTES 65536 /* … and of their names */

/* ---- Reading --------------------------------------------------------------------------------- */

void cursor_step(struct cursor *c)
{
	c->token = lexer_next(&c->lexer);
}

bool cursor_accept(struct cursor *c, const char *word)
{
	if (!token_is(&c->token, word))
		return false;
	cursor_step(c);
	return true;
}

bool cursor_at_end(const struct cursor *c)
{
	return c->token.kind == TOKEN_END || token_is_symbol(&c->token, ";");
}

void dialect_refuse(struct dialect *d, const char *sqlstate, const char *message, const char *hint)
{
	d->kind = DIALECT_REFUSED;
	snprintf(d->sqlstate, sizeof d->sqlstate, "%s", sqlstate);
	snprintf(d->message, sizeof d->message, "%s", message);
	snprintf(d->hint, sizeof d->hint, "%s", hint);
}

static void refuse_syntax(struct dialect *d, const struct cursor *c)
{
	dialect_refuse(d, "42601", "", "");
	d->place = (size_t)(c->token.text - c->text) + 1;
	if (c->token.kind == TOKEN_END)
		snprintf(d->message, sizeof d->message, "syntax error at end of input");
	else
		snprintf(d->message, sizeof d->message, "syntax error at or near \"%.*s\"",
			(int)(c->token.bytes < 60 ? c->token.bytes : 60), c->token.text);
}

static void no_work(struct dialect *d, const char *tag)
{
	d->kind = DIALECT_NO_WORK;
	snprintf(d->tag, sizeof d->tag, "%s", tag);
}

/* Appends the token to `text` without its quotes; names fold to lower case. */
static void append_plain(char *text, size_t capacity, const struct token *t, bool fold)
{
	size_t used = strlen(text);
	bool quoted = t->kind == TOKEN_STRING || t->kind == TOKEN_NAME;
	const char *from = t->text + quoted;
	size_t bytes = t->bytes - 2u * quoted;
	for (size_t i = 0; i < bytes && used + 1 < capacity; i++) {
		if (quoted && from[i] == t->text[0] && i + 1 < bytes && from[i + 1] == from[i])
			i++;
		text[used++] = fold && !quoted ? (char)tolower((unsigned char)from[i]) : from[i];
	}
	text[used] = '\0';
}

/* A dotted setting name. */
static void read_name(struct cursor *c, struct dialect *d)
{
	while (c->token.kind == TOKEN_WORD || c->token.kind == TOKEN_NAME ||
		token_is_symbol(&c->token, ".")) {
		bool dot = token_is_symbol(&c->token, ".");
		append_plain(d->name, sizeof d->name, &c->token, true);
		cursor_step(c);
		if (!dot && !token_is_symbol(&c->token, "."))
			return;
	}
}

static void read_value(struct cursor *c, struct dialect *d)
{
	static const struct token space = { .kind = TOKEN_SYMBOL, .text = " ", .bytes = 1 };
	d->value_default = token_is(&c->token, "default");
	while (!cursor_at_end(c) && c->token.kind != TOKEN_BAD) {
		if (d->value[0] && c->token.spaced)
			append_plain(d->value, sizeof d->value, &space, false);
		append_plain(d->value, sizeof d->value, &c->token, false);
		cursor_step(c);
	}
}

/* SET ROLE NONE, SET SESSION AUTHORIZATION DEFAULT: what is so anyway. */
static bool is_no_role(struct cursor *c)
{
	struct cursor ahead = *c;
	bool said = (cursor_accept(&ahead, "role") && cursor_accept(&ahead, "none")) ||
		    (cursor_accept(&ahead, "authorization") && cursor_accept(&ahead, "default"));
	if (said)
		*c = ahead;
	return said && cursor_at_end(c);
}

/* Words every client may set and that change nothing here. */
static bool set_special_form(struct cursor *c, struct dialect *d)
{
	if (cursor_accept(c, "names")) {
		snprintf(d->name, sizeof d->name, "client_encoding");
	} else if (cursor_accept(c, "time")) {
		cursor_accept(c, "zone");
		snprintf(d->name, sizeof d->name, "timezone");
	} else if (cursor_accept(c, "characteristics") || token_is(&c->token, "transaction")) {
		snprintf(d->name, sizeof d->name, "transaction");
	} else if (is_no_role(c)) {
		no_work(d, "SET");
	} else if (cursor_accept(c, "authorization") || token_is(&c->token, "role")) {
		dialect_refuse(d, "0A000", "SET ROLE is not supported",
			"Roles are chosen when a session starts.");
	} else {
		return false;
	}
	return true;
}

static void translate_set(struct cursor *c, struct dialect *d)
{
	d->kind = DIALECT_SET;
	d->local = cursor_accept(c, "local");
	if (!d->local)
		cursor_accept(c, "session");
	if (!set_special_form(c, d)) {
		read_name(c, d);
		if (!d->name[0] || !(cursor_accept(c, "to") || token_is_symbol(&c->token, "="))) {
			refuse_syntax(d, c);
			return;
		}
	}
	if (token_is_symbol(&c->token, "="))
		cursor_step(c);
	if (d->kind == DIALECT_SET)
		read_value(c, d);
}

static void translate_show(struct cursor *c, struct dialect *d, enum dialect_kind kind)
{
	d->kind = kind;
	if (cursor_accept(c, "time"))
		snprintf(d->name, sizeof d->name, "timezone");
	else if (token_is(&c->token, "transaction"))
		snprintf(d->name, sizeof d->name, "transaction_isolation");
	else
		read_name(c, d);
	if (!d->name[0])
		refuse_syntax(d, c);
}

static bool read_isolation(struct cursor *c, struct dialect *d)
{
	if (!cursor_accept(c, "level"))
		return false;
	if (cursor_accept(c, "serializable"))
		d->serializable = true;
	else if (cursor_accept(c, "repeatable"))
		d->repeatable_read = cursor_accept(c, "read");
	else
		return cursor_accept(c, "read") &&
		       (cursor_accept(c, "committed") || cursor_accept(c, "uncommitted"));
	return d->serializable || d->repeatable_read;
}

/* BEGIN [WORK|TRANSACTION] [mode, …]; the engine knows BEGIN, REPEATABLE READ and READ ONLY. */
static int translate_begin(struct cursor *c, struct dialect *d)
{
	if (!cursor_accept(c, "work"))
		cursor_accept(c, "transaction");
	while (!cursor_at_end(c)) {
		bool fine = cursor_accept(c, "isolation") ? read_isolation(c, d) : false;
		d->level |= fine;
		if (!fine && cursor_accept(c, "read")) {
			d->read_only = cursor_accept(c, "only");
			d->read_write = !d->read_only && cursor_accept(c, "write");
			fine = d->read_only || d->read_write;
		}
		if (!fine && cursor_accept(c, "not"))
			fine = cursor_accept(c, "deferrable");
		if (!fine && !cursor_accept(c, "deferrable")) {
			refuse_syntax(d, c);
			return 0;
		}
		if (token_is_symbol(&c->token, ","))
			cursor_step(c);
	}
	d->kind = DIALECT_BEGIN;
	bool snapshot = d->serializable || d->repeatable_read;
	int written =
		asprintf(&d->sql, "BEGIN%s%s", snapshot ? " ISOLATION LEVEL REPEATABLE READ" : "",
			d->read_only ? " READ ONLY" : "");
	return written < 0 ? -1 : 0;
}

static int give_sql(struct dialect *d, const char *sql)
{
	d->kind = DIALECT_SQL;
	d->sql = strdup(sql);
	return d->sql ? 0 : -1;
}

/* SAVEPOINT, RELEASE and (`to`) ROLLBACK TO; the token in hand is the one behind these words. */
static int translate_savepoint(struct cursor *c, struct dialect *d, const char *verb, bool to)
{
	static const char *const words[] = { "SAVEPOINT", "RELEASE SAVEPOINT",
		"ROLLBACK TO SAVEPOINT" };
	if (*verb != 'S')
		cursor_accept(c, "savepoint");
	const struct token name = c->token;
	if (name.kind == TOKEN_WORD || name.kind == TOKEN_NAME)
		cursor_step(c);
	if (c->token.text == name.text || !cursor_at_end(c)) {
		refuse_syntax(d, c);
		return 0;
	}
	d->kind = DIALECT_SQL;
	d->block_only = words[to ? 2 : *verb == 'R'];
	d->revives = to;
	return asprintf(&d->sql, "%s %.*s", verb, (int)name.bytes, name.text) < 0 ? -1 : 0;
}

/* COMMIT and ROLLBACK in all their spellings. */
static int translate_end(struct cursor *c, struct dialect *d, const char *sql, bool *taken)
{
	if (!cursor_accept(c, "work"))
		cursor_accept(c, "transaction");
	if (*sql == 'R' && cursor_accept(c, "to"))
		return translate_savepoint(c, d, "ROLLBACK TO", true);
	if (cursor_accept(c, "and")) {
		bool no = cursor_accept(c, "no");
		if (!cursor_accept(c, "chain") || !no) {
			dialect_refuse(d, "0A000", "AND CHAIN is not supported",
				"Begin the next transaction.");
			return 0;
		}
	}
	*taken = cursor_at_end(c);
	return *taken ? give_sql(d, sql) : 0;
}

/* Another `head` for what stands at the lexer, behind the first comma of a list. */
static int take_rest(struct cursor *c, struct dialect *d, const char *head, size_t bytes)
{
	struct cursor ahead = *c;
	unsigned others = 0;
	for (; ahead.token.kind != TOKEN_END && ahead.token.kind != TOKEN_BAD;
		cursor_step(&ahead)) {
		others += token_is_symbol(&ahead.token, ",");
		if (token_is(&ahead.token, "pgbench_branches")) {
			dialect_refuse(d, "0A000", "pgbench -i needs COPY, which is not supported",
				"demo-db init --pgbench-scale N makes pgbench's tables.");
			return 0;
		}
	}
	if (others > LIST_MAX || c->lexer.end - c->lexer.at > LIST_MAX_BYTES)
		dialect_refuse(d, "54000", "too many objects in one statement", "");
	else if (asprintf(&d->rest, "%.*s%.*s", (int)bytes, head, (int)(c->lexer.end - c->lexer.at),
			 c->lexer.at) < 0)
		return -1;
	return 0;
}

static int translate_truncate(struct cursor *c, struct dialect *d)
{
	cursor_accept(c, "table");
	cursor_accept(c, "only");
	const char *name = c->token.text;
	size_t bytes = c->token.bytes;
	bool named = c->token.kind == TOKEN_WORD || c->token.kind == TOKEN_NAME;
	if (!named) {
		refuse_syntax(d, c);
		return 0;
	}
	cursor_step(c);
	if (token_is_symbol(&c->token, ".")) {
		cursor_step(c);
		name = c->token.text;
		bytes = c->token.bytes;
		cursor_step(c);
	}
	if (token_is_symbol(&c->token, ",")) {
		if (take_rest(c, d, "TRUNCATE ", 9) || d->kind == DIALECT_REFUSED)
			return d->kind == DIALECT_REFUSED ? 0 : -1;
		c->lexer.at = c->lexer.end;
		cursor_step(c);
	}
	while (cursor_accept(c, "restart") || cursor_accept(c, "continue") ||
		cursor_accept(c, "identity") || cursor_accept(c, "restrict"))
		continue;
	if (!cursor_at_end(c)) {
		dialect_refuse(d, "0A000", "TRUNCATE of this form is not supported",
			"Truncate without CASCADE.");
		return 0;
	}
	d->kind = DIALECT_SQL;
	snprintf(d->tag, sizeof d->tag, "TRUNCATE TABLE");
	return asprintf(&d->sql, "DELETE FROM %.*s", (int)bytes, name) < 0 ? -1 : 0;
}

/* What the translation reads besides, and what must compile with it. */
static int finish_sql(struct dialect *d)
{
	if (hidden_is_said(d->sql)) {
		d->plain = d->sql;
		d->sql = hidden_avoid(d->plain);
		if (!d->sql) {
			dialect_refuse(d, "54001", "the statement nests too deeply", "");
			return 0;
		}
	}
	return checks_of(d->plain ? d->plain : d->sql, &d->checks);
}

/* CREATE VIEW, CREATE TABLE … AS: the cursor is behind CREATE. */
static bool defines_by_query(struct cursor c)
{
	static const char *const between[] = { "temp", "temporary", "unlogged", "global", "local" };
	unsigned depth = 0;
	for (size_t i = 0; i < sizeof between / sizeof *between; i++)
		if (cursor_accept(&c, between[i]))
			i = (size_t)-1;
	if (token_is(&c.token, "view"))
		return true;
	if (!cursor_accept(&c, "table"))
		return false;
	for (; c.token.kind != TOKEN_END && c.token.kind != TOKEN_BAD; cursor_step(&c)) {
		if (depth == 0 && token_is(&c.token, "as"))
			return true;
		depth += token_is_symbol(&c.token, "(");
		depth -= depth && token_is_symbol(&c.token, ")");
	}
	return false;
}

/* Is it one of those the grammar reads? */
static bool is_for_tree(struct cursor c)
{
	static const char *const words[] = { "select", "insert", "update", "delete", "with",
		"values", "table" };
	if (token_is_symbol(&c.token, "("))
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (token_is(&c.token, words[i]))
			return true;
	return cursor_accept(&c, "create") && defines_by_query(c);
}

/* What is left for the engine, read by the grammar or, not yet, token by token. */
static int translate_sql(
	const char *sql, size_t bytes, const struct dialect_context *context, struct dialect *d)
{
	struct cursor c = { .text = sql, .lexer = { .at = sql, .end = sql + bytes } };
	cursor_step(&c);
	if (is_for_tree(c)) {
		if (tree_translate(sql, bytes, context, d))
			return -1;
	} else {
		struct rewrite rewrite = { .context = context };
		int status = rewrite_sql(&rewrite, sql, bytes);
		d->kind = DIALECT_SQL;
		d->sql = rewrite.sql;
		if (status || !d->sql)
			return -1;
		if (rewrite.error[0]) {
			dialect_refuse(d, rewrite.sqlstate, rewrite.error, "");
			d->place = rewrite.place;
		}
	}
	return d->kind == DIALECT_SQL ? finish_sql(d) : 0;
}

/* EXPLAIN shows SQLite's plan; nothing is run. */
static int translate_explain(struct cursor *c, struct dialect *d, const char *sql, size_t bytes,
	const struct dialect_context *context)
{
	bool plan = cursor_accept(c, "query") && cursor_accept(c, "plan");
	cursor_accept(c, "verbose");
	if (!plan && (token_is(&c->token, "analyze") || token_is_symbol(&c->token, "("))) {
		dialect_refuse(d, "0A000", "EXPLAIN with options is not supported",
			"EXPLAIN alone shows SQLite's query plan.");
		return 0;
	}
	const char *at = c->token.text;
	if (translate_sql(at, (size_t)(sql + bytes - at), context, d))
		return -1;
	if (d->place)
		d->place += (size_t)(at - sql);
	if (d->kind == DIALECT_REFUSED)
		return 0;
	char *explained = NULL;
	if (asprintf(&explained, "EXPLAIN QUERY PLAN %s", d->sql) < 0)
		return -1;
	free(d->sql);
	free(d->plain);
	d->plain = NULL;
	d->sql = explained;
	d->column_count = 0;
	return 0;
}

/* ( … ): what is inside; false: they do not match. */
static bool read_parenthesised(struct cursor *c, const char **inside, size_t *bytes)
{
	unsigned depth = 1;
	*inside = c->token.text + 1;
	for (cursor_step(c); depth && c->token.kind != TOKEN_END && c->token.kind != TOKEN_BAD;
		cursor_step(c)) {
		depth += token_is_symbol(&c->token, "(");
		depth -= token_is_symbol(&c->token, ")");
		*bytes = (size_t)(c->token.text - *inside);
	}
	return depth == 0;
}

/* A name in hand goes to `name`, folded. */
static bool take_name(struct cursor *c, struct dialect *d)
{
	if (c->token.kind != TOKEN_WORD && c->token.kind != TOKEN_NAME) {
		refuse_syntax(d, c);
		return false;
	}
	append_plain(d->name, sizeof d->name, &c->token, true);
	cursor_step(c);
	return true;
}

/* PREPARE name [(types)] AS statement */
static int translate_prepare(struct cursor *c, struct dialect *d, const char *end)
{
	static const char *const verbs[] = { "select", "insert", "update", "delete", "values",
		"with" };
	const char *types = "";
	size_t bytes = 0;
	bool known = false;
	if (!take_name(c, d))
		return 0;
	if ((token_is_symbol(&c->token, "(") && !read_parenthesised(c, &types, &bytes)) ||
		!cursor_accept(c, "as")) {
		refuse_syntax(d, c);
		return 0;
	}
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		known |= token_is(&c->token, verbs[i]);
	if (!known) {
		refuse_syntax(d, c);
		return 0;
	}
	d->kind = DIALECT_PREPARE;
	snprintf(d->value, sizeof d->value, "%.*s", (int)bytes, types);
	d->sql = strndup(c->token.text, (size_t)(end - c->token.text));
	return d->sql ? 0 : -1;
}

/* EXECUTE name [(values)] */
static int translate_execute(struct cursor *c, struct dialect *d)
{
	const char *values = "";
	size_t bytes = 0;
	if (!take_name(c, d))
		return 0;
	if ((token_is_symbol(&c->token, "(") && !read_parenthesised(c, &values, &bytes)) ||
		!cursor_at_end(c)) {
		refuse_syntax(d, c);
		return 0;
	}
	d->kind = DIALECT_EXECUTE;
	d->sql = strndup(values, bytes);
	return d->sql ? 0 : -1;
}

static void translate_deallocate(struct cursor *c, struct dialect *d)
{
	cursor_accept(c, "prepare");
	d->kind = DIALECT_DEALLOCATE;
	if (!cursor_accept(c, "all"))
		take_name(c, d);
	if (d->kind == DIALECT_DEALLOCATE && !cursor_at_end(c))
		refuse_syntax(d, c);
}

/* DROP kind [IF EXISTS] a, b …: the same of b … is the rest, and not among the bytes then. */
static int split_drop(const char *sql, size_t *bytes, struct dialect *d)
{
	struct cursor c = { .text = sql, .lexer = { .at = sql, .end = sql + *bytes } };
	cursor_step(&c);
	if (!cursor_accept(&c, "drop"))
		return 0;
	cursor_step(&c);
	if (cursor_accept(&c, "if"))
		cursor_accept(&c, "exists");
	size_t head = (size_t)(c.token.text - sql);
	while (!cursor_at_end(&c) && c.token.kind != TOKEN_BAD && !token_is_symbol(&c.token, ","))
		cursor_step(&c);
	if (!token_is_symbol(&c.token, ","))
		return 0;
	*bytes = (size_t)(c.token.text - sql);
	return take_rest(&c, d, sql, head);
}

/* VACUUM and ANALYZE of a table, with whatever options, are nothing here; bare ones are SQLite's.
 */
static bool translate_maintenance(struct cursor *c, struct dialect *d, const char *tag)
{
	if (cursor_at_end(c))
		return false;
	no_work(d, tag);
	return true;
}

static int translate_backup(struct cursor *c, struct dialect *d)
{
	const struct token path = c->token;
	if (path.kind == TOKEN_STRING)
		cursor_step(c);
	if (path.kind != TOKEN_STRING || !cursor_at_end(c)) {
		refuse_syntax(d, c);
		return 0;
	}
	d->kind = DIALECT_BACKUP;
	d->sql = calloc(1, path.bytes);
	if (d->sql)
		append_plain(d->sql, path.bytes, &path, false);
	return d->sql ? 0 : -1;
}

/* Statements told by their first word. True: `d` is complete (or memory ran out, see *status). */
static bool translate_by_word(struct cursor *c, struct dialect *d, int *status)
{
	bool taken = true;
	const struct token first = c->token;
	cursor_step(c);
	if (token_is(&first, "set"))
		translate_set(c, d);
	else if (token_is(&first, "show"))
		translate_show(c, d, DIALECT_SHOW);
	else if (token_is(&first, "reset"))
		translate_show(c, d, DIALECT_RESET);
	else if (token_is(&first, "discard"))
		translate_show(c, d, DIALECT_DISCARD);
	else if (token_is(&first, "begin"))
		*status = translate_begin(c, d);
	else if (token_is(&first, "start") && cursor_accept(c, "transaction")) {
		*status = translate_begin(c, d);
		snprintf(d->tag, sizeof d->tag, "START TRANSACTION");
	} else if (token_is(&first, "commit") || token_is(&first, "end"))
		*status = translate_end(c, d, "COMMIT", &taken);
	else if (token_is(&first, "rollback") || token_is(&first, "abort"))
		*status = translate_end(c, d, "ROLLBACK", &taken);
	else if (token_is(&first, "savepoint"))
		*status = translate_savepoint(c, d, "SAVEPOINT", false);
	else if (token_is(&first, "release"))
		*status = translate_savepoint(c, d, "RELEASE", false);
	else if (token_is(&first, "prepare"))
		*status = translate_prepare(c, d, c->lexer.end);
	else if (token_is(&first, "execute"))
		*status = translate_execute(c, d);
	else if (token_is(&first, "deallocate"))
		translate_deallocate(c, d);
	else if (token_is(&first, "truncate"))
		*status = translate_truncate(c, d);
	else if (token_is(&first, "vacuum"))
		taken = translate_maintenance(c, d, "VACUUM");
	else if (token_is(&first, "analyze"))
		taken = translate_maintenance(c, d, "ANALYZE");
	else if (token_is(&first, "create") || token_is(&first, "drop"))
		taken = dialect_refuse_replace(c, d) || dialect_refuse_create(c, d);
	else if (token_is(&first, "alter"))
		taken = dialect_refuse_alter(c, d);
	else if ((token_is(&first, "pause") || token_is(&first, "resume")) && cursor_at_end(c)) {
		d->kind = DIALECT_INTAKE;
		append_plain(d->name, sizeof d->name, &first, true);
	} else if (token_is(&first, "checkpoint") && cursor_at_end(c)) {
		d->kind = DIALECT_CHECKPOINT;
	} else if (token_is(&first, "backup") && cursor_accept(c, "to"))
		*status = translate_backup(c, d);
	else
		taken = dialect_refuse_by_word(&first, d);
	return taken || d->kind == DIALECT_REFUSED || *status != 0;
}

int dialect_translate(const char *sql, size_t bytes, const struct dialect_context *context,
	struct dialect *result)
{
	int status = 0;
	struct cursor c = { .text = sql, .lexer = { .at = sql, .end = sql + bytes } };
	*result = (struct dialect){ .kind = DIALECT_EMPTY };
	cursor_step(&c);
	if (cursor_at_end(&c))
		return 0;
	if (cursor_accept(&c, "explain"))
		return translate_explain(&c, result, sql, bytes, context);
	if (translate_by_word(&c, result, &status))
		return status;
	if (memmem(sql, bytes, "pg_catalog.", 11) && rewrite_reads_nothing(sql, bytes))
		return give_sql(result, "SELECT NULL WHERE 0");
	status = split_drop(sql, &bytes, result);
	if (status || result->kind == DIALECT_REFUSED)
		return status;
	return translate_sql(sql, bytes, context, result);
}

void dialect_free(struct dialect *result)
{
	free(result->sql);
	free(result->rest);
	free(result->plain);
	free(result->checks);
	free(result->parameter_types);
	result->parameter_types = NULL;
	result->sql = result->rest = result->plain = result->checks = NULL;
}

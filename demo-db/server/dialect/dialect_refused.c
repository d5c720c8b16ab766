/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the list of what PostgreSQL has and this has not, told by the first words, with hints.
 */
#include "demo-db/server/dialect/dialect_cursor.h"

#include <stdio.h>

static const struct {
	const char *word, *message, *hint;
} refused[] = {
	{ "copy", "COPY is not supported",
		"Use INSERT with several rows; demo-db init --pgbench-scale N makes pgbench's "
		"tables." },
	{ "listen", "LISTEN is not supported", "" },
	{ "notify", "NOTIFY is not supported", "" },
	{ "declare", "cursors are not supported",
		"Use the extended protocol with a row limit to fetch in parts." },
	{ "fetch", "cursors are not supported", "" },
	{ "grant", "GRANT is not supported", "Roles are set in the server's configuration." },
	{ "revoke", "REVOKE is not supported", "Roles are set in the server's configuration." },
	{ "comment", "COMMENT is not supported", "" },
	{ "do", "DO is not supported", "There is no procedural language." },
	{ "call", "CALL is not supported", "There is no procedural language." },
	{ "cluster", "CLUSTER is not supported", "" },
	{ "move", "cursors are not supported", "" },
	{ "merge", "MERGE is not supported", "Use INSERT … ON CONFLICT DO UPDATE." },
};

bool dialect_refuse_by_word(const struct token *first, struct dialect *d)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		if (token_is(first, refused[i].word)) {
			dialect_refuse(d, "0A000", refused[i].message, refused[i].hint);
			return true;
		}
	}
	return false;
}

bool dialect_refuse_create(struct cursor *c, struct dialect *d)
{
	static const char *const kinds[] = { "function", "procedure", "role", "user", "database",
		"schema", "extension", "sequence", "type", "domain", "materialized", "publication",
		"subscription", "rule", "policy", "server", "tablespace" };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!token_is(&c->token, kinds[i]))
			continue;
		dialect_refuse(
			d, "0A000", "", "Tables, views, indexes and triggers are what there is.");
		snprintf(d->message, sizeof d->message, "CREATE or DROP of a %s is not supported",
			kinds[i]);
		return true;
	}
	return false;
}

/* CREATE OR REPLACE; left standing behind it. */
bool dialect_refuse_replace(struct cursor *c, struct dialect *d)
{
	if (!cursor_accept(c, "or"))
		return false;
	cursor_accept(c, "replace");
	if (!dialect_refuse_create(c, d))
		dialect_refuse(d, "0A000", "CREATE OR REPLACE is not supported",
			"DROP it first, with IF EXISTS.");
	return true;
}

/* ALTER TABLE does what SQLite's does: RENAME, ADD COLUMN, DROP COLUMN. */
bool dialect_refuse_alter(const struct cursor *c, struct dialect *d)
{
	static const char *const unknown[] = { "alter", "constraint", "primary", "unique", "check",
		"foreign", "owner", "set", "cluster", "inherit", "enable", "disable", "validate",
		"if" };
	struct cursor ahead = *c;
	bool table = cursor_accept(&ahead, "table");
	while (cursor_accept(&ahead, "if") || cursor_accept(&ahead, "exists") ||
		cursor_accept(&ahead, "only"))
		continue;
	do /* [schema.]name */
		cursor_step(&ahead);
	while (token_is_symbol(&ahead.token, ".") && (cursor_step(&ahead), true));
	if (table && token_is(&ahead.token, "owner")) { /* the rows are everybody's */
		d->kind = DIALECT_NO_WORK;
		snprintf(d->tag, sizeof d->tag, "ALTER TABLE");
		return true;
	}
	bool added = cursor_accept(&ahead, "add") || cursor_accept(&ahead, "drop");
	if (added)
		cursor_accept(&ahead, "column");
	bool beyond = !table;
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		beyond |= token_is(&ahead.token, unknown[i]);
	if (beyond)
		dialect_refuse(d, "0A000", "ALTER of this form is not supported",
			"ALTER TABLE can RENAME, ADD COLUMN and DROP COLUMN.");
	return beyond;
}

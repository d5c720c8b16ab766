/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the parse: the tree's memory, the grammar's errors, and which writer a statement goes to.
 */
#include "demo-db/server/dialect/tree.h"
#include "demo-db/server/dialect/tree_kind.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Refusing -------------------------------------------------------------------------------- */

#define HINT "demo-db answers only what it can answer as PostgreSQL does: docs/server.md."

static void refuse(
	struct writer *w, const char *sqlstate, const char *message, const char *hint, int location)
{
	struct dialect *d = w->result;
	if (w->failed)
		return;
	w->failed = true;
	d->kind = DIALECT_REFUSED;
	snprintf(d->sqlstate, sizeof d->sqlstate, "%s", sqlstate);
	snprintf(d->message, sizeof d->message, "%s", message);
	snprintf(d->hint, sizeof d->hint, "%s", hint);
	d->place = location < 0 ? 0 : (size_t)location + 1;
}

void tree_refuse(struct writer *w, const char *sqlstate, const char *message, int location)
{
	refuse(w, sqlstate, message, "", location);
}

void tree_lacks(struct writer *w, const char *what, int location)
{
	char message[DIALECT_TEXT_MAX];
	size_t bytes = strlen(what);
	bool several = bytes && what[bytes - 1] == 's' && (bytes < 2 || what[bytes - 2] != 's');
	snprintf(message, sizeof message, "%s %s not supported", what, several ? "are" : "is");
	refuse(w, "0A000", message, HINT, location);
}

bool tree_enter(struct writer *w)
{
	if (w->depth == TREE_DEPTH_MAX)
		tree_refuse(w, "54001", "the statement nests too deeply", -1);
	if (w->failed)
		return false;
	w->depth++;
	return true;
}

void tree_leave(struct writer *w)
{
	w->depth--;
}

/* ---- Writing --------------------------------------------------------------------------------- */

void tree_put(struct writer *w, const char *text)
{
	text_append_string(&w->out, text);
}

void tree_put_name(struct writer *w, const char *name)
{
	bool plain = (*name >= 'a' && *name <= 'z') || *name == '_';
	for (const char *c = name; *c && plain; c++)
		plain = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_';
	if (plain && !sqlite3_keyword_check(name, (int)strlen(name))) {
		tree_put(w, name);
		return;
	}
	tree_put(w, "\"");
	for (const char *c = name; *c; c++)
		text_append(&w->out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
	tree_put(w, "\"");
}

void tree_put_names(struct writer *w, const List *names)
{
	const ListCell *cell;
	foreach (cell, names) {
		const Node *node = lfirst(cell);
		if (foreach_current_index(cell))
			tree_put(w, ", ");
		tree_put_name(
			w, IsA(node, ResTarget) ? ((const ResTarget *)node)->name : strVal(node));
	}
}

void tree_put_list(struct writer *w, const List *list, const char *separator, tree_write *write)
{
	const ListCell *cell;
	foreach (cell, list) {
		if (w->failed)
			return;
		if (foreach_current_index(cell))
			tree_put(w, separator);
		write(w, lfirst(cell));
	}
}

/* ---- Statements ------------------------------------------------------------------------------ */

static void write_view(struct writer *w, const ViewStmt *view)
{
	const RangeVar *name = view->view;
	if (view->replace)
		tree_lacks(w, "CREATE OR REPLACE VIEW", -1);
	if (view->withCheckOption != NO_CHECK_OPTION)
		tree_lacks(w, "WITH CHECK OPTION", -1);
	tree_put(w,
		name->relpersistence == RELPERSISTENCE_TEMP ? "CREATE TEMP VIEW " : "CREATE VIEW ");
	tree_relation(w, name);
	if (view->aliases) {
		tree_put(w, " (");
		tree_put_names(w, view->aliases);
		tree_put(w, ")");
	}
	tree_put(w, " AS ");
	w->view = true;
	tree_query(w, (SelectStmt *)view->query);
}

static void write_table_as(struct writer *w, const CreateTableAsStmt *create)
{
	const IntoClause *into = create->into;
	if (create->objtype != OBJECT_TABLE)
		tree_lacks(w, "CREATE MATERIALIZED VIEW", -1);
	else if (!IsA(create->query, SelectStmt))
		tree_lacks(w, "CREATE TABLE AS EXECUTE", -1);
	else if (into->colNames)
		tree_lacks(w, "CREATE TABLE AS with names for columns", -1);
	else if (into->skipData)
		tree_lacks(w, "WITH NO DATA", -1);
	if (w->failed)
		return;
	tree_put(w, into->rel->relpersistence == RELPERSISTENCE_TEMP ? "CREATE TEMP TABLE "
								     : "CREATE TABLE ");
	if (create->if_not_exists)
		tree_put(w, "IF NOT EXISTS ");
	tree_relation(w, into->rel);
	tree_put(w, " AS ");
	tree_query(w, (SelectStmt *)create->query);
	struct query_column *columns;
	int count = tree_query_columns(w, (SelectStmt *)create->query, &columns);
	for (int i = 0; i < count; i++) /* the table's column would not be one */
		if (columns[i].kind.type == PG_NUMERIC)
			tree_lacks(w, "CREATE TABLE AS with a numeric", -1);
}

static void write_statement(struct writer *w, Node *statement)
{
	switch (nodeTag(statement)) {
	case T_SelectStmt:
		tree_query(w, (SelectStmt *)statement);
		tree_note_query(w, (SelectStmt *)statement); /* parameters have types by now */
		break;
	case T_InsertStmt:
		tree_insert(w, (InsertStmt *)statement);
		break;
	case T_UpdateStmt:
		tree_update(w, (UpdateStmt *)statement);
		break;
	case T_DeleteStmt:
		tree_delete(w, (DeleteStmt *)statement);
		break;
	case T_ViewStmt:
		write_view(w, (ViewStmt *)statement);
		break;
	case T_CreateTableAsStmt:
		write_table_as(w, (CreateTableAsStmt *)statement);
		break;
	default:
		tree_lacks(w, "this statement", -1);
	}
}

/* ---- The parse ------------------------------------------------------------------------------- */

/* Byte, from 0, of a character that is counted from 1; -1: unknown. */
static int byte_of(const char *sql, int character)
{
	int at = 0;
	if (character <= 0)
		return -1;
	while (--character && sql[at]) {
		at++;
		while (((unsigned char)sql[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

static void refuse_parse(struct writer *w, const char *sql, const PgQueryError *error)
{
	bool lacks = strstr(error->message, "not implemented") ||
		     strstr(error->message, "not supported");
	tree_refuse(w, lacks ? "0A000" : "42601", error->message, byte_of(sql, error->cursorpos));
}

static void write_tree(struct writer *w, const char *sql)
{
	PgQueryInternalParsetreeAndError parsed = pg_query_raw_parse(sql);
	if (parsed.error) {
		refuse_parse(w, sql, parsed.error);
		pg_query_free_error(parsed.error);
	} else if (list_length(parsed.tree) != 1) {
		tree_refuse(w, "42601", "more than one statement", -1);
	} else {
		write_statement(w, linitial_node(RawStmt, parsed.tree)->stmt);
	}
	free(parsed.stderr_buffer);
}

int tree_translate(const char *sql, size_t bytes, const struct dialect_context *context,
	struct dialect *result)
{
	struct writer w = { .context = context, .result = result };
	char *text = strndup(sql, bytes); /* the grammar wants its end marked */
	if (!text)
		return -1;
	MemoryContext memory = pg_query_enter_memory_context();
	write_tree(&w, text);
	pg_query_exit_memory_context(memory);
	tree_free_blocks(&w);
	free(text);
	if (w.failed || w.out.failed) {
		free(w.out.data);
		return w.out.failed ? -1 : 0;
	}
	result->kind = DIALECT_SQL;
	result->sql = w.out.data;
	return 0;
}

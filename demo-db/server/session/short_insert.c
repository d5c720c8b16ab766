/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the list of columns SQLite wants where PostgreSQL takes the first ones. It is made anew
 * each time, of what the table has then.
 */
#include "demo-db/server/session/short_insert.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_quoted(FILE *file, const char *name)
{
	fputc('"', file);
	for (; *name; name++) {
		if (*name == '"')
			fputc('"', file);
		fputc(*name, file);
	}
	fputc('"', file);
}

struct list {
	FILE *file;
	unsigned wanted;
};

/* ("a", "b""c" */
static int note_names(void *arg, const struct db_row *row)
{
	const struct list *list = arg;
	for (unsigned i = 0; i < list->wanted && i < db_row_columns(row); i++) {
		fputs(i ? ", " : "(", list->file);
		put_quoted(list->file, db_row_name(row, i));
	}
	return 0;
}

/* "table t has 3 columns but 2 values were supplied" */
static bool read_failure(const char *message, char table[DIALECT_NAME_MAX], unsigned *values)
{
	const char *has = NULL;
	unsigned columns;
	for (const char *at = message; (at = strstr(at, " has ")); at++)
		has = at;
	if (strncmp(message, "table ", 6) != 0 || !has ||
		sscanf(has, " has %u columns but %u values were supplied", &columns, values) != 2)
		return false;
	snprintf(table, DIALECT_NAME_MAX, "%.*s", (int)(has - message - 6), message + 6);
	return *values<columns && * values> 0;
}

static char *query_of(const char *table)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);
	if (!file)
		return NULL;
	fputs("SELECT * FROM ", file);
	put_quoted(file, table);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

static char *names_of(struct backend *backend, const char *table, unsigned values)
{
	char message[DB_MESSAGE_MAX], *text = NULL, *sql = query_of(table);
	size_t bytes;
	struct list list = { .file = open_memstream(&text, &bytes), .wanted = values };
	int rc = DB_ENOMEM;
	if (sql && list.file)
		rc = db_describe(backend->db, sql, NULL, NULL, note_names, &list, message);
	free(sql);
	if (!list.file)
		return NULL;
	fputc(')', list.file);
	if (fclose(list.file) == 0 && rc == 0)
		return text;
	free(text);
	return NULL;
}

bool short_insert_expand(struct backend *backend)
{
	struct query *q = &backend->query;
	const struct statement *s = q->statement;
	char table[DIALECT_NAME_MAX];
	unsigned values;
	if (!s->dialect.unlisted || q->expanded || !read_failure(q->result.message, table, &values))
		return false;
	char *list = names_of(backend, table, values);
	if (list)
		q->expanded = statement_with_columns(s, list, query_context(backend));
	free(list);
	return q->expanded != NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what a session remembers of its tables.
 */
#include "demo-db/server/session/schema.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"
#include "demo-db/server/types/values.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct schema_table *t)
{
	for (uint32_t i = 0; i < t->table.count; i++)
		free((char *)t->table.columns[i].name);
	free(t->table.columns);
	free((char *)t->table.view);
	free(t->name);
	*t = (struct schema_table){ 0 };
}

static void forget(struct schema *schema)
{
	while (schema->count)
		drop(&schema->tables[--schema->count]);
}

struct asking {
	struct dialect_table *table;
	bool key; /* the rowid comes behind the columns, by the name it has among them */
};

/* A callback of db_describe. */
static int note_columns(void *arg, const struct db_row *row)
{
	const struct asking *asking = arg;
	struct dialect_table *table = asking->table;
	uint32_t count = db_row_columns(row) - asking->key;
	const char *key = asking->key ? db_row_name(row, count) : "";
	table->columns = calloc(count, sizeof *table->columns);
	for (uint32_t i = 0; table->columns && i < count; i++) {
		const char *declared = db_row_declared(row, i), *name = db_row_name(row, i);
		struct dialect_column *column = &table->columns[i];
		bool known = declared && *declared;
		*column = (struct dialect_column){ .name = strdup(name),
			.type = known ? value_pg_type(declared, DB_NULL) : PG_UNKNOWN,
			.scale = known ? value_scale(declared) : -1,
			.wide = known && strcmp(declared, "INTEGER") == 0 &&
				strcmp(key, name) == 0 };
		if (column->type == PG_UNKNOWN_LITERAL) /* there are no such columns there */
			column->type = PG_UNKNOWN;
		if (!column->name)
			return 0;
		table->count++;
	}
	return 0;
}

/* SELECT what FROM "name" */
static bool ask(struct backend *backend, const char *name, bool key, struct dialect_table *table)
{
	const char *head = key ? "SELECT *, rowid FROM \"" : "SELECT * FROM \"";
	struct asking asking = { .table = table, .key = key };
	char message[DB_MESSAGE_MAX];
	char *sql = malloc(strlen(head) + 2 * strlen(name) + 2), *at = sql;
	if (!sql)
		return false;
	at = stpcpy(at, head);
	for (; *name; name++) {
		if (*name == '"')
			*at++ = '"';
		*at++ = *name;
	}
	strcpy(at, "\"");
	int rc = db_describe(backend->db, sql, NULL, NULL, note_columns, &asking, message);
	free(sql);
	return rc == 0 && table->columns;
}

static const struct dialect_table *find(void *arg, const char *name)
{
	struct backend *backend = arg;
	struct schema *schema = &backend->schema;
	if (schema->version != schema->face.version)
		forget(schema);
	schema->version = schema->face.version;
	for (uint32_t i = 0; i < schema->count; i++)
		if (strcmp(schema->tables[i].name, name) == 0)
			return &schema->tables[i].table;
	if (schema->count == SCHEMA_TABLES_MAX)
		forget(schema);
	struct schema_table *t = &schema->tables[schema->count];
	t->name = strdup(name);
	/* a view has no rowid */
	bool known = t->name &&
		     (ask(backend, name, true, &t->table) || ask(backend, name, false, &t->table));
	for (uint32_t i = 0; known && i < t->table.count && !t->table.view; i++)
		if (t->table.columns[i].type == PG_UNKNOWN)
			t->table.view = db_view_sql(backend->db, name);
	if (!known) {
		drop(t);
		return NULL;
	}
	schema->count++;
	return &t->table;
}

const struct dialect_schema *schema_of(struct backend *backend)
{
	backend->schema.face = (struct dialect_schema){ .arg = backend,
		.version = atomic_load_explicit(
			&backend->services->schema_version, memory_order_acquire),
		.find = find };
	return &backend->schema.face;
}

void schema_changed(struct backend *backend)
{
	atomic_fetch_add_explicit(&backend->services->schema_version, 1, memory_order_acq_rel);
}

void schema_free(struct schema *schema)
{
	forget(schema);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - the columns of tables as one session sees them, for the types of its statements.
 *
 * Asked of the engine once for each table, until some session changes the schema. One session, one
 * caller.
 */
#ifndef DEMO_DB_SCHEMA_H
#define DEMO_DB_SCHEMA_H

#include "demo-db/server/dialect/dialect.h"

#define SCHEMA_TABLES_MAX 64 /* remembered at once */

struct backend;

struct schema {
	uint64_t version; /* of the services' when the tables were asked for */
	uint32_t count;
	struct schema_table {
		char *name;
		struct dialect_table table;
	} tables[SCHEMA_TABLES_MAX];
	struct dialect_schema face;
};

/* What the dialect asks; its version is that of now. */
const struct dialect_schema *schema_of(struct backend *backend);
/* Some statement changed it, or the end of a block let others see that. */
void schema_changed(struct backend *backend);
void schema_free(struct schema *schema);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare_sql.h - prepared statements as SQL: PREPARE, EXECUTE, DEALLOCATE. They share their names
 * with those of the extended protocol. EXECUTE takes constants.
 */
#ifndef DEMO_DB_PREPARE_SQL_H
#define DEMO_DB_PREPARE_SQL_H

#include "demo-db/server/dialect/dialect.h"

struct backend;

/* False: an error was told. */
bool prepare_sql_prepare(struct backend *backend, const struct dialect *dialect);
bool prepare_sql_deallocate(struct backend *backend, const struct dialect *dialect);
/* Puts the statement EXECUTE names in hand, with its values as literals. */
bool prepare_sql_execute(struct backend *backend);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog.h - as much of pg_catalog as psql 15's \d, \dt, \di, \dv, \dn, \du and \l read, and
 * pg_locks.
 *
 * Tables that tell what SQLite's schema says, one SELECT each, and the functions psql calls beside
 * them. There is one schema (public) and one owner (demo). Catalogs that would always be empty here
 * (policies, publications, triggers, statistics) are not there: the dialect answers their queries.
 */
#ifndef DEMO_DB_CATALOG_H
#define DEMO_DB_CATALOG_H

#include <sqlite3.h>
#include <stddef.h>

struct catalog_table {
	const char *name, *columns; /* as in CREATE TABLE */
	const char *sql;	    /* what it holds, column by column */
};

extern const struct catalog_table catalog_tables[];
extern const size_t catalog_table_count;

/* On a new connection; an SQLite result code. */
int catalog_install(sqlite3 *db);
int catalog_functions_install(sqlite3 *db);

#endif

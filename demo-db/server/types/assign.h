/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assign.h - what a column takes, by its declared type, as PostgreSQL assigns it.
 *
 *   pg_assign(value, 'table.column')   the value as it is stored, or an error in PostgreSQL's words
 *   pg_assign(value, 'table', place)   the same; a place from 0 among the columns an INSERT without
 *                                      a list fills
 *
 *   pg_default('table.column'), pg_default('table', place)   what DEFAULT stands for there
 *
 * tree_change.c writes them into statements. The type is looked up in the schema the statement
 * runs with, so a table may change behind a prepared statement's back. INTEGER as the primary key
 * holds 64 bits (bigserial is made of it); so does INT, which only tables made AS a SELECT, or not
 * through the server, have.
 */
#ifndef DEMO_DB_ASSIGN_H
#define DEMO_DB_ASSIGN_H

struct sqlite3;

/* On a new connection; SQLite's result code. */
int assign_install(struct sqlite3 *db);

#endif

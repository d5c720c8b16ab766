/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - tables of the runtime in SQL: what they are made of.
 *
 * A view is a named list of columns and a function that takes a snapshot of something, row by row.
 * SQLite sees a virtual table in the connection's temp schema: reading it takes no lock, no gate
 * and no snapshot of the database, so it answers while everything else is stuck.
 */
#ifndef DEMO_DB_VIEW_H
#define DEMO_DB_VIEW_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct services;

struct view_cell {
	enum { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT } type;
	int64_t integer;
	double real;
	char *text; /* owned */
};

struct view_rows { /* a snapshot being taken */
	struct view_cell *cells;
	size_t count, room;
	bool failed; /* memory is out */
};
void view_integer(struct view_rows *rows, int64_t value);
void view_real(struct view_rows *rows, double value);
void view_text(struct view_rows *rows, const char *text); /* NULL: SQL NULL */
void view_bool(struct view_rows *rows, bool value);
void view_null(struct view_rows *rows);
/* Nanoseconds as milliseconds; 0 is NULL where it means "not yet". */
void view_ms(struct view_rows *rows, uint64_t ns);
void view_ms_or_null(struct view_rows *rows, uint64_t ns);

struct view {
	const char *name, *columns; /* as in CREATE TABLE */
	/* Appends the cells of all rows, column by column. Any thread. */
	void (*fill)(struct services *services, struct view_rows *rows);
	/* The row whose first cell is `key` gets `value` in its second; NULL: read-only. 0, or -1
	 * with one line in `message`. */
	int (*update)(struct services *services, const char *key, const char *value, char *message,
		size_t bytes);
};

extern const struct view view_tasks, view_holds, view_resources, view_decisions, view_held_back,
	view_quarantine, view_admission, view_settings, view_sessions, view_activity;

/* All views and functions, on a new connection: 0 or an SQLite error. `arg` is the services. */
int views_install(void *arg, sqlite3 *db);
/* A function or table of ours: only those who may control call or change it. */
bool views_are_guarded(const char *name);
/* cancel_task(id), pg_cancel_backend(process), pg_terminate_backend(process) and pg_sleep(seconds). */
int view_functions_install(struct services *services, sqlite3 *db);

#endif

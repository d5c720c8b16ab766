/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what a statement is going to do, read from its EXPLAIN: for progress and memory. */
#ifndef DEMO_DB_PLAN_H
#define DEMO_DB_PLAN_H

#include "demo-db/engine/engine.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Work in two phases, in SQLite's virtual machine operations. The scan phase walks whole tables;
 * the later phase is what follows row by row: the output of a sorter, the second pass of an UPDATE
 * with its triggers. Rows are estimates (the largest rowid). What cannot be told is 0: unknown.
 */
enum plan_bound_kind { BOUND_NONE, BOUND_VALUE, BOUND_PARAMETER, BOUND_UNKNOWN };

struct plan_bound { /* of a range of rowids */
	enum plan_bound_kind kind;
	int64_t value; /* or the parameter's number, from 1 */
};

struct plan {
	bool made;
	bool fast_path;		      /* a straight line by key: no loop, no function, no trigger */
	uint64_t scan_rows, scan_ops; /* rows walked; operations for all of them */
	uint64_t later_ops;
	struct plan_bound low, high; /* of the one scan there is; else scan_rows are all walked */
	bool counts_steps;	     /* SQLITE_STMTSTATUS_FULLSCAN_STEP counts the scan's rows */
	uint32_t sorters;	     /* sorters and ephemeral tables */
	uint64_t grant_bytes;	     /* memory it could use well: sorters x rows x width */
};

/* The rows a run with these parameters walks; 0: unknown. */
uint64_t plan_rows(
	const struct plan *plan, const struct db_value *parameters, uint32_t parameter_count);

/* Runs EXPLAIN on `db`, whose authorizer lets internal statements pass. A statement that cannot be
 * explained has an unknown plan, never an error. */
void plan_make(struct plan *plan, sqlite3 *db, const char *sql);

#endif

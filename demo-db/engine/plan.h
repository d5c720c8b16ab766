/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what a statement is going to do, read from its EXPLAIN: for progress and memory. */
#ifndef DEMO_DB_PLAN_H
#define DEMO_DB_PLAN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Work in two phases, in SQLite's virtual machine operations. The scan phase walks whole tables;
 * the later phase is what follows row by row: the output of a sorter, the second pass of an UPDATE
 * with its triggers. Rows are estimates (the largest rowid). What cannot be told is 0: unknown.
 */
struct plan {
	bool made;
	bool brief;		      /* a straight line by key: no loop, no function, no trigger */
	uint64_t scan_rows, scan_ops; /* rows walked; operations for all of them */
	uint64_t later_ops;
	bool counts_steps;    /* SQLITE_STMTSTATUS_FULLSCAN_STEP counts the scan's rows */
	uint32_t sorters;     /* sorters and ephemeral tables */
	uint64_t grant_bytes; /* memory it could use well: sorters x rows x width */
};

/* Runs EXPLAIN on `db`, whose authorizer lets internal statements pass. A statement that cannot be
 * explained has an unknown plan, never an error. */
void plan_make(struct plan *plan, sqlite3 *db, const char *sql);

#endif

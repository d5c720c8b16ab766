/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.h - makes the demo data set: the same rows from the same seed, in one folder.
 *
 *   items(id INTEGER PRIMARY KEY, group_id, price, stock, name, payload)  hot point reads, 1 …
 * items archive_1 … archive_N(id INTEGER PRIMARY KEY, day, amount, payload)   what a dump walks
 *   accounts(id INTEGER PRIMARY KEY, balance), transfers(id, source, target, amount)
 *                                                                         a ledger that balances
 *   dataset(name, value)                                                  the marker: made last
 */
#ifndef DEMO_DB_DATASET_H
#define DEMO_DB_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cancel/cancel.h>

struct db_dataset { /* zero = default */
	size_t struct_size;
	const char *data_dir;	/* required */
	uint64_t seed;		/* [1] */
	uint64_t items_bytes;	/* [64 MiB] of the items table, about */
	uint64_t archive_bytes; /* [192 MiB] of all archive tables together, about */
	uint32_t archives;	/* [4] 1 … 16 */
	uint32_t accounts;	/* [1000] each starts with DB_DATASET_BALANCE */
	bool remake;		/* even if a complete one with these parameters is there */
	void (*on_progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes);
	void *progress_arg;
	/* results */
	uint64_t items, rows_per_archive; /* ids run from 1 to these */
	bool reused;
};

#define DB_DATASET_BALANCE 1000000

/* Makes data_dir/demo.db, or finds it there complete and with the same parameters. Builds under a
 * temporary name and renames, so a half-made one is never seen. 0 or a negative db_error, with one
 * line in `message` (DB_MESSAGE_MAX bytes, may be NULL). No engine may have the folder open. */
int db_dataset_make(struct db_dataset *dataset, char *message) CANCEL_MUST_CHECK;

#endif

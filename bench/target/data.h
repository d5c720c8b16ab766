/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.h - the data set a case asks about: made once, found again.
 */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include "bench/base/options.h"

#define CASE_ARCHIVES 4
#define CASE_ACCOUNTS 1000

/* Share of the pool the hot set fills. */
#define DATA_HOT_PER_CENT      85
#define OVERHEAD_ARCHIVE_POOLS 4 /* cold tables of `overhead`, in pools */

/* The data the questions are about: ids run from 1. */
struct case_data {
	uint64_t items; /* the hot set */
	uint64_t rows_per_archive;
	uint64_t accounts;
};

#define DATA_PATH_MAX 256

/* Makes or finds the data set of such a pool, with cold tables of so many pools, in that folder. Ends
 * with status 2 and one line if it cannot. */
void data_prepare_in(
	const char *folder, uint32_t pool_mb, uint32_t archive_pools, struct case_data *data);

/* The same where a run of these options has it, which is `folder`. With no `archive_pools` any data
 * will do: it is made for this process, and gone with it. */
void data_prepare(const struct bench_options *options, uint32_t pool_mb, uint32_t archive_pools,
	char folder[DATA_PATH_MAX], struct case_data *data);

#endif

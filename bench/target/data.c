/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the sizes of the data set: the hot table fills most of the pool, the cold ones are many
 * times the pool, so that a dump of them lasts.
 */
#include "bench/target/data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "demo-db/engine/dataset/dataset.h"
#include "demo-db/engine/engine.h"
#include "bench/base/progress_bar.h"
#include "bench/target/server_process.h"

#define MIB	   (1024u * 1024u)
#define PATH_BYTES 512

static void on_progress(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)arg;
	progress_bar("making the data set", done_bytes, total_bytes);
}

/* mkdir -p */
static void make_folder(const char *path)
{
	char part[PATH_BYTES];
	size_t length = strlen(path);
	if (length == 0 || length >= sizeof part)
		bench_refuse("--data: a path of 1 to %d bytes, not %zu", PATH_BYTES - 1, length);
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			bench_refuse("--data: cannot make folder '%s': %s", part, strerror(errno));
	}
	struct stat about;
	if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
		bench_refuse("--data: '%s' is not a folder", path);
}

void data_prepare_in(
	const char *folder, uint32_t pool_mb, uint32_t archive_pools, struct case_data *data)
{
	uint64_t pool_bytes = (uint64_t)pool_mb * MIB;
	struct db_dataset dataset = { .struct_size = sizeof dataset,
		.data_dir = folder,
		.items_bytes = pool_bytes / 100 * DATA_HOT_PER_CENT,
		.archive_bytes = pool_bytes * archive_pools,
		.archives = CASE_ARCHIVES,
		.accounts = CASE_ACCOUNTS,
		.on_progress = on_progress };
	char message[DB_MESSAGE_MAX] = "";
	make_folder(folder);
	int status = db_dataset_make(&dataset, message);
	if (status != 0)
		bench_refuse("%s: %s", folder, message[0] ? message : db_error_text(status));
	*data = (struct case_data){ .items = dataset.items,
		.rows_per_archive = dataset.rows_per_archive,
		.accounts = CASE_ACCOUNTS };
}

void data_prepare(const struct bench_options *options, uint32_t pool_mb, uint32_t archive_pools,
	char folder[DATA_PATH_MAX], struct case_data *data)
{
	char error[SERVER_ERROR_MAX];
	const char *scratch = archive_pools ? "" : server_scratch(error);
	if (!scratch)
		bench_refuse("%s", error);
	if (!archive_pools)
		snprintf(folder, DATA_PATH_MAX, "%.200s/data", scratch);
	else if (options->target == SERVER_TARGET)
		snprintf(folder, DATA_PATH_MAX, "%.200s/pools-%u-%u", options->data_dir, pool_mb,
			archive_pools);
	else
		snprintf(folder, DATA_PATH_MAX, "%s", options->data_dir);
	data_prepare_in(folder, pool_mb, archive_pools ? archive_pools : 1, data);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage.c - opens a data folder, or says in one line why not.
 *
 * Owns the folder's lock file (two engines over one file would each answer from their own pool),
 * the look at the database header before SQLite sees it, and the pool.
 */
#include "demo-db/engine/storage/storage.h"
#include "demo-db/engine/storage/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES	 100 /* SQLite's file format, section 1.3 */
#define HEADER_PAGE_SIZE 16
#define HEADER_PAGES	 28

static int refuse(struct failure *failure, int status, const char *what, const char *path)
{
	return failure_set(failure, status, "%s %s: %s", what, path, strerrordesc_np(errno));
}

static char *join(const char *folder, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* ---- The folder ------------------------------------------------------------------------------ */

int storage_lock_folder(struct storage *storage, const char *folder, struct failure *failure)
{
	storage->lock_file = -1;
	if (mkdir(folder, 0777) && errno != EEXIST)
		return refuse(failure, DB_EOPEN, "cannot make the data folder", folder);
	char *path = join(folder, "lock");
	if (!path)
		return failure_set(failure, DB_ENOMEM, NULL);
	int status = 0;
	storage->lock_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (storage->lock_file < 0)
		status = refuse(failure, DB_EOPEN, "cannot open", path);
	else if (flock(storage->lock_file, LOCK_EX | LOCK_NB))
		status = failure_set(failure, DB_EINUSE,
			"the data folder %s is in use by another engine", folder);
	if (status && storage->lock_file >= 0) {
		close(storage->lock_file);
		storage->lock_file = -1;
	}
	free(path);
	return status;
}

/* ---- The header ------------------------------------------------------------------------------ */

static uint32_t big_endian(const unsigned char *bytes, int count)
{
	uint32_t value = 0;
	for (int i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* A checkpoint that was killed leaves a short file whose missing pages are still in the log. */
static bool has_log(const char *path)
{
	char *log = NULL;
	struct stat info;
	if (asprintf(&log, "%s-wal", path) < 0)
		return true;
	bool has = stat(log, &info) == 0 && info.st_size > 0;
	free(log);
	return has;
}

static int check_bytes(
	const unsigned char *header, off_t file_bytes, const char *path, struct failure *failure)
{
	if (memcmp(header, "SQLite format 3", 16) != 0)
		return failure_set(failure, DB_ENOTADB, "%s is not a SQLite database", path);
	uint32_t page_bytes = big_endian(header + HEADER_PAGE_SIZE, 2);
	if (page_bytes == 1) /* the format's way of writing 65,536 */
		page_bytes = 65536;
	if (page_bytes != DB_PAGE_BYTES)
		return failure_set(failure, DB_EPAGESIZE,
			"%s has %u-byte pages, only %d are supported", path, page_bytes,
			DB_PAGE_BYTES);
	uint32_t pages = big_endian(header + HEADER_PAGES, 4);
	if (file_bytes < (off_t)pages * DB_PAGE_BYTES && !has_log(path))
		return failure_set(failure, DB_ECORRUPT, "%s is cut short: %lld bytes of %u pages",
			path, (long long)file_bytes, pages);
	return 0;
}

int storage_check_header(const char *path, struct failure *failure)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT ? 0 : refuse(failure, DB_EOPEN, "cannot open", path);
	struct stat info;
	unsigned char header[HEADER_BYTES];
	int status = 0;
	if (fstat(file, &info))
		status = refuse(failure, DB_EIO, "cannot look at", path);
	else if (!S_ISREG(info.st_mode))
		status = failure_set(failure, DB_EOPEN, "%s is not a file", path);
	else if (info.st_size > 0 && info.st_size < HEADER_BYTES)
		status = failure_set(failure, DB_ENOTADB, "%s is not a SQLite database", path);
	else if (info.st_size > 0 && pread(file, header, sizeof(header), 0) != HEADER_BYTES)
		status = refuse(failure, DB_EIO, "cannot read", path);
	else if (info.st_size > 0)
		status = check_bytes(header, info.st_size, path, failure);
	close(file);
	return status;
}

/* ---- The pool -------------------------------------------------------------------------------- */

static int open_pool(
	struct storage *storage, const struct db_options *options, struct failure *failure)
{
	static _Atomic unsigned engines;
	const struct cancel_resource_options resource = { .struct_size = sizeof(resource),
		.capacity = options->pool_bytes / DB_PAGE_BYTES };
	storage->resource = createResource("page_pool", CANCEL_MEMORY, &resource);
	const struct db_pool_options pool = { .struct_size = sizeof(pool),
		.pool_bytes = options->pool_bytes,
		.read_ahead_pages = options->read_ahead_pages,
		.midpoint_percent = options->midpoint_percent,
		.latency_us = (uint32_t)(options->read_latency_ns / 1000),
		.ring_frames = options->gentle_frames,
		.io = options->io == DB_IO_DIRECT     ? DB_POOL_IO_DIRECT
		      : options->io == DB_IO_BUFFERED ? DB_POOL_IO_BUFFERED
						      : DB_POOL_IO_AUTO,
		.resource = storage->resource };
	int rc = db_pool_open(&storage->pool, &pool);
	if (rc)
		return failure_set(failure, rc == -ENOMEM ? DB_ENOMEM : DB_EINVAL, "page pool: %s",
			*db_pool_refusal() ? db_pool_refusal() : strerrordesc_np(-rc));
	snprintf(storage->vfs, sizeof(storage->vfs), "demo-pool-%u", engines++);
	rc = db_vfs_register(storage->pool, storage->vfs);
	if (rc)
		return failure_set(failure, rc == -ENOMEM ? DB_ENOMEM : DB_EOPEN, "file layer: %s",
			strerrordesc_np(-rc));
	return 0;
}

int storage_open(struct storage *storage, const struct db_options *options, struct failure *failure)
{
	memset(storage, 0, sizeof(*storage));
	int status = storage_lock_folder(storage, options->data_dir, failure);
	if (status)
		return status;
	snprintf(storage->vfs, sizeof(storage->vfs), "unix-excl");
	storage->folder = strdup(options->data_dir);
	storage->path = join(options->data_dir, "demo.db");
	if (!storage->folder || !storage->path)
		status = failure_set(failure, DB_ENOMEM, NULL);
	if (status == 0)
		status = storage_check_header(storage->path, failure);
	if (status == 0 && options->io != DB_IO_PLAIN)
		status = open_pool(storage, options, failure);
	if (status)
		storage_close(storage);
	return status;
}

void storage_close(struct storage *storage)
{
	if (storage->pool) {
		db_vfs_unregister(storage->vfs);
		db_pool_close(storage->pool);
	}
	if (storage->lock_file >= 0)
		close(storage->lock_file);
	free(storage->folder);
	free(storage->path);
	memset(storage, 0, sizeof(*storage));
	storage->lock_file = -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs.c - owns the SQLite side of the page pool: a VFS stacked on "unix-excl". A main database
 * file becomes a reader of the pool; of a WAL the pages read are counted; every other file is the
 * lower layer's own. Locks, shared memory, sizes and syncs stay below. Knows of frames only that
 * they are pinned and given back.
 */
#include "demo-db/engine/storage/vfs.h"
#include "demo-db/engine/storage/pool_pages.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOWER_VFS "unix-excl"
#define PAGE	  ((sqlite3_int64)DB_POOL_PAGE_BYTES)

struct layer { /* one registered VFS */
	sqlite3_vfs vfs;
	sqlite3_vfs *lower;
	struct db_pool *pool;
	char name[];
};

struct handle { /* of one connection; the lower layer's file follows it */
	sqlite3_file base;
	struct pool_reader reader; /* file NULL: a WAL */
	sqlite3_int64 mmap_bytes;  /* what SQLite believes may be mapped */
};

/* A checkpoint reads the WAL too, on the thread that asked for it; that is no page past the pool.
 */
static _Thread_local bool in_checkpoint;

static struct handle *handle_of(sqlite3_file *file)
{
	return (struct handle *)file;
}

static sqlite3_file *lower_of(sqlite3_file *file)
{
	return (sqlite3_file *)(handle_of(file) + 1);
}

/* ---- The database file: pages through the pool ----------------------------------------------- */

static int read_database(sqlite3_file *file, void *out, int count, sqlite3_int64 offset)
{
	sqlite3_int64 start = offset % PAGE;
	if (count < 0 || start + count > PAGE || offset / PAGE >= UINT32_MAX) {
		sqlite3_log(SQLITE_IOERR_READ, "read of %d bytes at %lld: pages of 4096 only",
			count, offset);
		return SQLITE_IOERR_READ;
	}
	ssize_t copied = pool_copy(&handle_of(file)->reader, (uint32_t)(offset / PAGE),
		(uint32_t)start, (uint32_t)count, out);
	if (copied < 0)
		return SQLITE_IOERR_READ;
	if (copied == count)
		return SQLITE_OK;
	memset((char *)out + copied, 0, (size_t)(count - copied));
	return SQLITE_IOERR_SHORT_READ;
}

/* Quotas and file size limits are full disks too. */
static bool no_space_left(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

static int write_database(sqlite3_file *file, const void *data, int count, sqlite3_int64 offset)
{
	if (count != PAGE || offset % PAGE != 0 || offset / PAGE >= UINT32_MAX) {
		sqlite3_log(SQLITE_IOERR_WRITE, "write of %d bytes at %lld: pages of 4096 only",
			count, offset);
		return SQLITE_IOERR_WRITE;
	}
	int rc = pool_write(&handle_of(file)->reader, (uint32_t)(offset / PAGE), data);
	if (rc == 0)
		return SQLITE_OK;
	return no_space_left(-rc) ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

/* A checkpoint that ends "truncates" to the size the file already has: then nothing is beyond. */
static int truncate_database(sqlite3_file *file, sqlite3_int64 bytes)
{
	struct pool_reader *reader = &handle_of(file)->reader;
	pthread_mutex_lock(&reader->file->writing);
	off_t before = page_file_bytes(reader->file);
	int rc = lower_of(file)->pMethods->xTruncate(lower_of(file), bytes);
	if (before < 0 || before > bytes)
		pool_drop(reader->pool, reader->file, (uint32_t)(bytes / PAGE));
	pthread_mutex_unlock(&reader->file->writing);
	return rc;
}

static int fetch_database(sqlite3_file *file, sqlite3_int64 offset, int count, void **page)
{
	*page = NULL;
	if (count != PAGE || offset % PAGE != 0 || offset / PAGE >= UINT32_MAX)
		return SQLITE_OK; /* SQLite reads it instead */
	int rc = pool_fetch(&handle_of(file)->reader, (uint32_t)(offset / PAGE), page);
	return rc == 0 ? SQLITE_OK : SQLITE_IOERR_READ;
}

static int unfetch_database(sqlite3_file *file, sqlite3_int64 offset, void *page)
{
	(void)offset;
	if (page != NULL) /* NULL: "the map is stale"; the frames never are */
		pool_unfetch(handle_of(file)->reader.pool, page);
	return SQLITE_OK;
}

/* argument: [0] the answer or error, [1] the pragma, [2] its value or NULL. */
static int answer_pragma(char **argument)
{
	if (sqlite3_stricmp(argument[1], "page_size") != 0 || argument[2] == NULL ||
		atoll(argument[2]) == PAGE)
		return SQLITE_NOTFOUND;
	argument[0] = sqlite3_mprintf(
		"page_size %s: the page pool holds pages of %d bytes only", argument[2], (int)PAGE);
	return SQLITE_ERROR;
}

static int control_database(sqlite3_file *file, int operation, void *argument)
{
	struct handle *handle = handle_of(file);
	switch (operation) {
	case SQLITE_FCNTL_MMAP_SIZE: { /* never reaches the lower layer, which would map the file */
		sqlite3_int64 wanted = *(sqlite3_int64 *)argument;
		*(sqlite3_int64 *)argument = handle->mmap_bytes;
		if (wanted >= 0)
			handle->mmap_bytes = wanted;
		return SQLITE_OK;
	}
	case SQLITE_FCNTL_PRAGMA: {
		int rc = answer_pragma(argument);
		if (rc != SQLITE_NOTFOUND)
			return rc;
		break;
	}
	case SQLITE_FCNTL_CKPT_START:
	case SQLITE_FCNTL_CKPT_DONE:
		in_checkpoint = operation == SQLITE_FCNTL_CKPT_START;
		break;
	default:
		break;
	}
	return lower_of(file)->pMethods->xFileControl(lower_of(file), operation, argument);
}

static int close_database(sqlite3_file *file)
{
	struct pool_reader *reader = &handle_of(file)->reader;
	/* SQLite's descriptor first: its locks are what ours must not outlive, nor drop. */
	int rc = lower_of(file)->pMethods->xClose(lower_of(file));
	if (page_file_close(reader->file)) {
		pool_drop(reader->pool, reader->file, 0);
		page_file_destroy(reader->file);
	}
	free(reader->bounce);
	return rc;
}

/* ---- The WAL: counted ------------------------------------------------------------------------ */

/* The lower layer takes EIO for a broken file system, and SQLite that for a corrupt database. */
static int read_wal(sqlite3_file *file, void *out, int count, sqlite3_int64 offset)
{
	if (count == PAGE && !in_checkpoint)
		atomic_fetch_add_explicit(
			&handle_of(file)->reader.pool->wal_reads, 1, memory_order_relaxed);
	int rc = lower_of(file)->pMethods->xRead(lower_of(file), out, count, offset);
	return rc == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : rc;
}

/* ---- Straight through ------------------------------------------------------------------------ */

static int lower_close(sqlite3_file *file)
{
	return lower_of(file)->pMethods->xClose(lower_of(file));
}

static int lower_write(sqlite3_file *file, const void *data, int count, sqlite3_int64 offset)
{
	int rc = lower_of(file)->pMethods->xWrite(lower_of(file), data, count, offset);
	return rc == SQLITE_IOERR_WRITE && no_space_left(errno) ? SQLITE_FULL : rc;
}

static int lower_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
	return lower_of(file)->pMethods->xTruncate(lower_of(file), bytes);
}

static int lower_sync(sqlite3_file *file, int flags)
{
	return lower_of(file)->pMethods->xSync(lower_of(file), flags);
}

static int lower_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
	return lower_of(file)->pMethods->xFileSize(lower_of(file), bytes);
}

static int lower_lock(sqlite3_file *file, int level)
{
	return lower_of(file)->pMethods->xLock(lower_of(file), level);
}

static int lower_unlock(sqlite3_file *file, int level)
{
	return lower_of(file)->pMethods->xUnlock(lower_of(file), level);
}

static int lower_check_lock(sqlite3_file *file, int *reserved)
{
	return lower_of(file)->pMethods->xCheckReservedLock(lower_of(file), reserved);
}

static int lower_control(sqlite3_file *file, int operation, void *argument)
{
	return lower_of(file)->pMethods->xFileControl(lower_of(file), operation, argument);
}

static int lower_sector(sqlite3_file *file)
{
	return lower_of(file)->pMethods->xSectorSize(lower_of(file));
}

static int lower_device(sqlite3_file *file)
{
	return lower_of(file)->pMethods->xDeviceCharacteristics(lower_of(file));
}

static int lower_shm_map(sqlite3_file *file, int region, int bytes, int extend, void volatile **out)
{
	return lower_of(file)->pMethods->xShmMap(lower_of(file), region, bytes, extend, out);
}

static int lower_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
	return lower_of(file)->pMethods->xShmLock(lower_of(file), offset, count, flags);
}

static void lower_shm_barrier(sqlite3_file *file)
{
	lower_of(file)->pMethods->xShmBarrier(lower_of(file));
}

static int lower_shm_unmap(sqlite3_file *file, int delete_it)
{
	return lower_of(file)->pMethods->xShmUnmap(lower_of(file), delete_it);
}

static const sqlite3_io_methods database_methods = {
	.iVersion = 3,
	.xClose = close_database,
	.xRead = read_database,
	.xWrite = write_database,
	.xTruncate = truncate_database,
	.xSync = lower_sync,
	.xFileSize = lower_size,
	.xLock = lower_lock,
	.xUnlock = lower_unlock,
	.xCheckReservedLock = lower_check_lock,
	.xFileControl = control_database,
	.xSectorSize = lower_sector,
	.xDeviceCharacteristics = lower_device,
	.xShmMap = lower_shm_map,
	.xShmLock = lower_shm_lock,
	.xShmBarrier = lower_shm_barrier,
	.xShmUnmap = lower_shm_unmap,
	.xFetch = fetch_database,
	.xUnfetch = unfetch_database,
};

static const sqlite3_io_methods wal_methods = {
	.iVersion = 1,
	.xClose = lower_close,
	.xRead = read_wal,
	.xWrite = lower_write,
	.xTruncate = lower_truncate,
	.xSync = lower_sync,
	.xFileSize = lower_size,
	.xLock = lower_lock,
	.xUnlock = lower_unlock,
	.xCheckReservedLock = lower_check_lock,
	.xFileControl = lower_control,
	.xSectorSize = lower_sector,
	.xDeviceCharacteristics = lower_device,
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* The lower file is open; gives the handle its place in the pool. */
static int join_pool(struct handle *handle, const char *path)
{
	struct pool_reader *reader = &handle->reader;
	db_pool_refuse(0, "%s", "");
	reader->bounce = aligned_alloc(DB_POOL_PAGE_BYTES, DB_POOL_PAGE_BYTES);
	if (reader->bounce == NULL)
		return SQLITE_NOMEM;
	int rc = page_file_open(&reader->file, path, &reader->pool->io);
	if (rc == 0)
		return SQLITE_OK;
	free(reader->bounce);
	sqlite3_log(SQLITE_CANTOPEN, "%s", db_pool_refusal());
	return rc == -ENOMEM ? SQLITE_NOMEM : SQLITE_CANTOPEN;
}

/* The lower layer opens for reading what it cannot open for writing, whatever the reason: a shortage
 * of descriptors that is over would leave a connection that refuses every write. */
static int open_lower(
	struct layer *layer, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
	int opened = flags;
	int rc = layer->lower->xOpen(layer->lower, path, file, flags, &opened);
	if (out_flags)
		*out_flags = opened;
	if (rc != SQLITE_OK || !(flags & SQLITE_OPEN_READWRITE) ||
		!(opened & SQLITE_OPEN_READONLY) || access(path, W_OK) != 0)
		return rc;
	file->pMethods->xClose(file);
	return SQLITE_CANTOPEN;
}

static int open_file(
	sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
	struct layer *layer = vfs->pAppData;
	if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0)
		return layer->lower->xOpen(layer->lower, path, file, flags, out_flags);
	struct handle *handle = handle_of(file);
	*handle = (struct handle){ .reader = { .pool = layer->pool } };
	sqlite3_file *lower = lower_of(file);
	memset(lower, 0, (size_t)layer->lower->szOsFile);
	int rc = open_lower(layer, path, lower, flags, out_flags);
	if ((flags & SQLITE_OPEN_WAL) != 0) {
		handle->base.pMethods = rc == SQLITE_OK ? &wal_methods : NULL;
		return rc;
	}
	if (rc != SQLITE_OK) {
		int error = layer->lower->xGetLastError(layer->lower, 0, NULL);
		db_pool_refuse(0, "%s: %s", path, strerror(error));
		return rc;
	}
	rc = join_pool(handle, path);
	if (rc == SQLITE_OK)
		handle->base.pMethods = &database_methods;
	else
		lower->pMethods->xClose(lower);
	return rc;
}

static int delete_file(sqlite3_vfs *vfs, const char *path, int sync_directory)
{
	struct layer *layer = vfs->pAppData;
	return layer->lower->xDelete(layer->lower, path, sync_directory);
}

static int access_file(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
	struct layer *layer = vfs->pAppData;
	return layer->lower->xAccess(layer->lower, path, flags, out);
}

static int full_path(sqlite3_vfs *vfs, const char *path, int out_bytes, char *out)
{
	struct layer *layer = vfs->pAppData;
	return layer->lower->xFullPathname(layer->lower, path, out_bytes, out);
}

int db_vfs_register(struct db_pool *pool, const char *vfs_name)
{
	sqlite3_vfs *lower = sqlite3_vfs_find(LOWER_VFS);
	if (lower == NULL)
		return db_pool_refuse(-ENOENT, "this SQLite has no VFS \"%s\"", LOWER_VFS);
	if (sqlite3_vfs_find(vfs_name) != NULL)
		return db_pool_refuse(-EEXIST, "a VFS \"%s\" is registered already", vfs_name);
	struct layer *layer = calloc(1, sizeof(*layer) + strlen(vfs_name) + 1);
	if (layer == NULL)
		return db_pool_refuse(-ENOMEM, "out of memory for VFS \"%s\"", vfs_name);
	strcpy(layer->name, vfs_name);
	layer->lower = lower;
	layer->pool = pool;
	layer->vfs =
		*lower; /* time, randomness, loading: the lower layer's functions as they are */
	layer->vfs.szOsFile = (int)sizeof(struct handle) + lower->szOsFile;
	layer->vfs.pNext = NULL;
	layer->vfs.zName = layer->name;
	layer->vfs.pAppData = layer;
	layer->vfs.xOpen = open_file;
	layer->vfs.xDelete = delete_file;
	layer->vfs.xAccess = access_file;
	layer->vfs.xFullPathname = full_path;
	if (sqlite3_vfs_register(&layer->vfs, 0) != SQLITE_OK) {
		free(layer);
		return db_pool_refuse(-ENOMEM, "cannot register VFS \"%s\"", vfs_name);
	}
	return 0;
}

void db_vfs_unregister(const char *vfs_name)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(vfs_name);
	if (vfs == NULL || vfs->xOpen != open_file)
		return;
	sqlite3_vfs_unregister(vfs);
	free(vfs->pAppData);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file.h - one database file below the pool: a descriptor that reads and writes whole pages.
 *
 * A file is open once in the process, however many connections it has: closing a second descriptor
 * of the same file would drop the POSIX locks SQLite holds on it.
 */
#ifndef DEMO_DB_PAGE_FILE_H
#define DEMO_DB_PAGE_FILE_H

#include "demo-db/engine/storage/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Everything a file needs to know of the pool it belongs to. */
struct page_io {
	enum db_pool_io mode;
	uint32_t latency_us;
	_Atomic(const struct db_pool_faults *) faults;
	_Atomic uint64_t fault_reads, fault_writes; /* since the faults were set */
	_Atomic uint64_t reads, writes;
	_Atomic uint32_t direct_files, buffered_files; /* opened so far */
};

struct page_file {
	struct page_file *next; /* list lock */
	uint32_t references;	/* list lock */
	struct page_io *io;
	uint32_t id; /* never used twice in a process; > 0 */
	int fd;
	bool direct;
	dev_t device;
	ino_t inode;
	pthread_mutex_t writing; /* one write or truncation at a time */
};

/* Opens `path`, or shares what is open already. -EINVAL: other pages than 4 KiB; -EBUSY: open
 * through another pool; -EOPNOTSUPP: no O_DIRECT here; or the errno of the system. The sentence is
 * in db_pool_refusal(). */
int page_file_open(struct page_file **out, const char *path, struct page_io *io) CANCEL_MUST_CHECK;
/* True: that was the last reference, the descriptor is closed, and the caller forgets its frames
 * before it frees the struct with page_file_destroy. */
bool page_file_close(struct page_file *file);
void page_file_destroy(struct page_file *file);
/* Calls `visit` for each open file of `io`; none is closed meanwhile. */
void page_file_each(
	const struct page_io *io, void (*visit)(void *arg, struct page_file *), void *arg);

/* Reads pages [page, page + count) into `pages` (4 KiB each, aligned). Bytes read, fewer only at
 * the end of the file; or a negative errno. */
ssize_t page_file_read(
	struct page_file *file, uint32_t page, const struct iovec *pages, uint32_t count);
/* Writes one page from an aligned buffer. 0 or a negative errno. With `writing` held. */
int page_file_write(struct page_file *file, uint32_t page, const void *aligned);
/* Length in bytes, or a negative errno. */
off_t page_file_bytes(const struct page_file *file);

/* Writes this thread's refusal and returns `error`. */
int db_pool_refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file.c - owns the descriptors of database files and the process-wide list that keeps each
 * file open only once; page I/O by O_DIRECT where the file system really has it, else buffered
 * with a modelled latency; the faults tests ask for. Knows nothing of frames and of SQLite.
 */
#include "demo-db/engine/storage/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define PAGE	     ((size_t)DB_POOL_PAGE_BYTES)
#define HEADER_MAGIC "SQLite format 3"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct page_file *open_files; /* list_lock */
static uint32_t last_id;	     /* list_lock */
static _Thread_local char refusal[256];

int db_pool_refuse(int error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(refusal, sizeof(refusal), format, arguments);
	va_end(arguments);
	return error;
}

const char *db_pool_refusal(void)
{
	return refusal;
}

/* ---- Input and output ------------------------------------------------------------------------ */

/* Linux lets a sleep end 50 us late to save wake-ups, as long as the read it stands for. */
static void sleep_precisely(void)
{
	static _Thread_local bool done;
	if (!done)
		(void)prctl(PR_SET_TIMERSLACK, 1000UL /* ns */, 0, 0, 0);
	done = true;
}

static void pause_us(uint64_t us)
{
	if (us == 0)
		return;
	sleep_precisely();
	struct timespec left = { .tv_sec = (time_t)(us / 1000000),
		.tv_nsec = (long)(us % 1000000) * 1000 };
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* What a device would have taken: a sixteenth more for each further page (measured on the machine
 * this was written on: 55 us for one page, 260 us for 64). */
static uint64_t modelled_us(const struct page_file *file, uint32_t count)
{
	return file->direct ? 0 : file->io->latency_us * (15 + (uint64_t)count) / 16;
}

static ssize_t read_pages(
	const struct page_file *file, uint32_t page, const struct iovec *pages, uint32_t count)
{
	uint32_t whole = 0;
	while (whole < count) {
		off_t offset = (off_t)(page + (uint64_t)whole) * (off_t)PAGE;
		ssize_t bytes = preadv(file->fd, pages + whole, (int)(count - whole), offset);
		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0)
			return -errno;
		whole += (uint32_t)((size_t)bytes / PAGE);
		size_t rest = (size_t)bytes % PAGE;
		if (bytes == 0 || rest != 0)
			return (ssize_t)(whole * PAGE + rest);
	}
	return (ssize_t)(whole * PAGE);
}

ssize_t page_file_read(
	struct page_file *file, uint32_t page, const struct iovec *pages, uint32_t count)
{
	struct page_io *io = file->io;
	atomic_fetch_add_explicit(&io->reads, 1, memory_order_relaxed);
	const struct db_pool_faults *faults =
		atomic_load_explicit(&io->faults, memory_order_acquire);
	uint64_t delay_us = modelled_us(file, count);
	if (faults != NULL) {
		uint64_t nth =
			1 + atomic_fetch_add_explicit(&io->fault_reads, 1, memory_order_relaxed);
		if (nth == faults->read_fails_at)
			return -faults->error;
		delay_us += faults->read_delay_us;
	}
	pause_us(delay_us);
	ssize_t bytes = read_pages(file, page, pages, count);
	if (faults != NULL && faults->after_read != NULL)
		faults->after_read(faults->arg, page, count);
	return bytes;
}

int page_file_write(struct page_file *file, uint32_t page, const void *aligned)
{
	struct page_io *io = file->io;
	atomic_fetch_add_explicit(&io->writes, 1, memory_order_relaxed);
	const struct db_pool_faults *faults =
		atomic_load_explicit(&io->faults, memory_order_acquire);
	if (faults != NULL &&
		1 + atomic_fetch_add_explicit(&io->fault_writes, 1, memory_order_relaxed) ==
			faults->write_fails_at)
		return -faults->error;
	ssize_t bytes;
	do
		bytes = pwrite(file->fd, aligned, PAGE, (off_t)page * (off_t)PAGE);
	while (bytes < 0 && errno == EINTR);
	if (bytes == (ssize_t)PAGE)
		return 0;
	return bytes < 0 ? -errno : -ENOSPC; /* a short write is a full disk */
}

off_t page_file_bytes(const struct page_file *file)
{
	struct stat status;
	return fstat(file->fd, &status) == 0 ? status.st_size : -errno;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

/* Memory file systems accept O_DIRECT and read their page cache: that is not a device. */
static bool on_memory(const char *path)
{
	struct statfs status;
	return statfs(path, &status) == 0 &&
	       (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

static int open_descriptor(struct page_file *file, const char *path)
{
	file->direct = file->io->mode != DB_POOL_IO_BUFFERED && !on_memory(path);
	int flags = O_CLOEXEC | (file->direct ? O_DIRECT : 0);
	file->fd = open(path, O_RDWR | flags);
	if (file->fd < 0 && (errno == EACCES || errno == EROFS))
		file->fd = open(path, O_RDONLY | flags);
	if (file->fd < 0 && errno == EINVAL && file->direct) {
		file->direct = false;
		file->fd = open(path, O_RDWR | O_CLOEXEC);
	}
	return file->fd < 0 ? -errno : 0;
}

/* Some file systems open with O_DIRECT and refuse to read 4 KiB of it. The same descriptor goes on
 * without: closing it and opening another is what this file exists to avoid. */
static ssize_t read_first_page(struct page_file *file, void *buffer)
{
	struct iovec page = { .iov_base = buffer, .iov_len = PAGE };
	ssize_t bytes = read_pages(file, 0, &page, 1);
	if (bytes == -EINVAL && file->direct) {
		int flags = fcntl(file->fd, F_GETFL);
		if (flags < 0 || fcntl(file->fd, F_SETFL, flags & ~O_DIRECT) != 0)
			return -errno;
		file->direct = false;
		bytes = read_pages(file, 0, &page, 1);
	}
	return bytes;
}

static int check_page_size(struct page_file *file, const char *path)
{
	uint8_t *header = aligned_alloc(PAGE, PAGE);
	if (header == NULL)
		return -ENOMEM;
	int rc = 0;
	ssize_t bytes = read_first_page(file, header);
	if (bytes < 0)
		rc = db_pool_refuse((int)bytes, "%s: cannot read the first page: %s", path,
			strerror((int)-bytes));
	else if (bytes >= 100 && memcmp(header, HEADER_MAGIC, sizeof(HEADER_MAGIC)) == 0) {
		uint32_t page_bytes = (uint32_t)header[16] << 8 | header[17];
		page_bytes = page_bytes == 1 ? 65536 : page_bytes; /* SQLite file format, 1.3.2 */
		if (page_bytes != DB_POOL_PAGE_BYTES)
			rc = db_pool_refuse(-EINVAL,
				"%s: pages of %u bytes; the page pool holds pages of %u bytes only",
				path, page_bytes, DB_POOL_PAGE_BYTES);
	}
	free(header);
	return rc;
}

static struct page_file *find_open(dev_t device, ino_t inode)
{
	struct page_file *file = open_files;
	while (file != NULL && (file->device != device || file->inode != inode))
		file = file->next;
	return file;
}

/* Opens the first descriptor of an inode. The path may have changed hands since it was looked up;
 * then this descriptor could be the second one of another file, so it is left open rather than
 * closed: a descriptor lost is better than the locks of a live database. */
static int open_first(
	struct page_file **out, const char *path, struct page_io *io, const struct stat *expected)
{
	struct page_file *file = calloc(1, sizeof(*file));
	if (file == NULL)
		return db_pool_refuse(-ENOMEM, "%s: out of memory", path);
	file->io = io;
	int rc = open_descriptor(file, path);
	struct stat status;
	if (rc == 0 && fstat(file->fd, &status) != 0)
		rc = -errno;
	if (rc != 0) {
		db_pool_refuse(rc, "%s: %s", path, strerror(-rc));
	} else if (status.st_dev != expected->st_dev || status.st_ino != expected->st_ino) {
		rc = db_pool_refuse(-ESTALE, "%s: replaced while it was opened", path);
		file->fd = -1;
	} else {
		rc = check_page_size(file, path);
		if (rc == 0 && !file->direct && io->mode == DB_POOL_IO_DIRECT)
			rc = db_pool_refuse(
				-EOPNOTSUPP, "%s: no O_DIRECT on this file system", path);
	}
	if (rc != 0) {
		if (file->fd >= 0)
			close(file->fd);
		free(file);
		return rc;
	}
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->id = ++last_id;
	file->next = open_files;
	pthread_mutex_init(&file->writing, NULL);
	open_files = file;
	atomic_fetch_add_explicit(
		file->direct ? &io->direct_files : &io->buffered_files, 1, memory_order_relaxed);
	*out = file;
	return 0;
}

int page_file_open(struct page_file **out, const char *path, struct page_io *io)
{
	struct stat status;
	pthread_mutex_lock(&list_lock);
	int rc = stat(path, &status) == 0 ? 0 : -errno;
	struct page_file *file = rc == 0 ? find_open(status.st_dev, status.st_ino) : NULL;
	if (rc != 0)
		db_pool_refuse(rc, "%s: %s", path, strerror(-rc));
	else if (file != NULL && file->io != io)
		rc = db_pool_refuse(-EBUSY, "%s: open through another page pool", path);
	else if (file == NULL)
		rc = open_first(&file, path, io, &status);
	if (rc == 0) {
		file->references++;
		*out = file;
	}
	pthread_mutex_unlock(&list_lock);
	return rc;
}

bool page_file_close(struct page_file *file)
{
	pthread_mutex_lock(&list_lock);
	bool last = --file->references == 0;
	if (last) {
		struct page_file **link = &open_files;
		while (*link != file)
			link = &(*link)->next;
		*link = file->next;
		close(file->fd);
	}
	pthread_mutex_unlock(&list_lock);
	return last;
}

void page_file_destroy(struct page_file *file)
{
	pthread_mutex_destroy(&file->writing);
	free(file);
}

void page_file_each(
	const struct page_io *io, void (*visit)(void *arg, struct page_file *file), void *arg)
{
	pthread_mutex_lock(&list_lock);
	for (struct page_file *file = open_files; file != NULL; file = file->next) {
		if (file->io == io)
			visit(arg, file);
	}
	pthread_mutex_unlock(&list_lock);
}

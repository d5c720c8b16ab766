/* SPDX-License-Identifier: Apache-2.0 */
/* disk.c - see disk.h. */
#include "disk.h"
#include "moments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static enum disk_fault fault;
static void (*teller)(void);

void disk_fails_with(enum disk_fault wanted)
{
	fault = wanted;
}

void disk_tell(void (*changed)(void))
{
	teller = changed;
}

static void tell(void)
{
	if (teller)
		teller();
}

static bool fails(int error)
{
	if (!moments_pass())
		return false;
	errno = error;
	return true;
}

/* ---- Reads ------------------------------------------------------------------------------------ */

static ssize_t read_at(int file, void *out, size_t bytes, off_t offset)
{
	if (fault == DISK_EIO && fails(EIO))
		return -1;
	if (fault == DISK_SHORT && fails(0))
		bytes /= 2;
	return syscall(SYS_pread64, file, out, bytes, offset);
}

ssize_t pread(int file, void *out, size_t bytes, off_t offset)
{
	return read_at(file, out, bytes, offset);
}

ssize_t pread64(int file, void *out, size_t bytes, off64_t offset)
{
	return read_at(file, out, bytes, offset);
}

/* A short one ends in the middle of its first part. */
ssize_t preadv(int file, const struct iovec *parts, int count, off_t offset)
{
	if (fault == DISK_EIO && fails(EIO))
		return -1;
	if (fault == DISK_SHORT && fails(0))
		return syscall(SYS_pread64, file, parts[0].iov_base, parts[0].iov_len / 2, offset);
	return syscall(SYS_preadv, file, parts, count, offset, 0);
}

/* ---- Writes ----------------------------------------------------------------------------------- */

static ssize_t write_at(int file, const void *data, size_t bytes, off_t offset)
{
	if (fault == DISK_EIO && fails(EIO))
		return -1;
	if (fault == DISK_ENOSPC && fails(ENOSPC))
		return -1;
	if (fault == DISK_SHORT && fails(0))
		bytes /= 2;
	if (teller) {
		syscall(SYS_pwrite64, file, data, bytes / 2, offset);
		tell();
	}
	ssize_t written = syscall(SYS_pwrite64, file, data, bytes, offset);
	tell();
	return written;
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
	return write_at(file, data, bytes, offset);
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset)
{
	return write_at(file, data, bytes, offset);
}

/* ---- All else --------------------------------------------------------------------------------- */

static int change(long number, long first, long second)
{
	if (fault == DISK_EIO && fails(EIO))
		return -1;
	int rc = (int)syscall(number, first, second);
	tell();
	return rc;
}

/* Nothing is really synced: nobody pulls the plug, and the disk may be slow. */
static int sync_nothing(void)
{
	if (fault == DISK_EIO && fails(EIO))
		return -1;
	tell();
	return 0;
}

int fsync(int file)
{
	(void)file;
	return sync_nothing();
}

int fdatasync(int file)
{
	(void)file;
	return sync_nothing();
}

int ftruncate(int file, off_t bytes)
{
	return change(SYS_ftruncate, file, bytes);
}

int ftruncate64(int file, off64_t bytes)
{
	return change(SYS_ftruncate, file, bytes);
}

int unlink(const char *path)
{
	return change(SYS_unlink, (long)(intptr_t)path, 0);
}

static int open_at(const char *path, int flags, mode_t mode)
{
	if (fault == DISK_EIO && fails(EIO))
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static mode_t mode_of(int flags, va_list arguments)
{
	return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_at(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_at(path, flags, mode);
}

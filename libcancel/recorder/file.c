/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a recorder. The lock is on the open file, so it ends with the process that has it.
 */
#include "libcancel/recorder/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ROOM 600

int file_create(const char *path)
{
	struct stat there = { 0 };
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (file < 0)
		return -1;
	if (fstat(file, &there) == 0 && S_ISREG(there.st_mode) && fchmod(file, 0600) == 0 &&
		flock(file, LOCK_EX | LOCK_NB) == 0 && ftruncate(file, 0) == 0)
		return file;
	int error = S_ISREG(there.st_mode) ? errno : EINVAL;
	close(file);
	errno = error;
	return -1;
}

bool file_write(int file, const void *bytes, size_t count)
{
	const char *at = bytes;
	while (count > 0) {
		ssize_t written = write(file, at, count);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += written;
		count -= (size_t)written;
	}
	return true;
}

void file_rotate(const char *path, unsigned count)
{
	char from[PATH_ROOM], to[PATH_ROOM];
	for (unsigned i = count - 1; i > 0; i--) {
		snprintf(from, sizeof from, i > 1 ? "%s.%u" : "%s", path, i - 1);
		snprintf(to, sizeof to, "%s.%u", path, i);
		rename(from, to);
	}
}

bool file_is_left(const char *path)
{
	struct stat there;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file < 0)
		return false;
	bool left = fstat(file, &there) == 0 && S_ISREG(there.st_mode) && there.st_size > 0 &&
		    flock(file, LOCK_EX | LOCK_NB) == 0;
	close(file);
	return left;
}

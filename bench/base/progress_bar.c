/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/base/progress_bar.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_CELLS 40

void progress_bar(const char *what, uint64_t done, uint64_t total)
{
	if (!isatty(STDERR_FILENO) && done < total)
		return;
	int cells = total ? (int)(done * BAR_CELLS / total) : BAR_CELLS;
	fprintf(stderr, "%s%s [", isatty(STDERR_FILENO) ? "\r" : "", what);
	for (int i = 0; i < BAR_CELLS; i++)
		fputc(i < cells ? '#' : '.', stderr);
	fprintf(stderr, "] %3d %%%s", cells * 100 / BAR_CELLS, done >= total ? "\n" : "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tries.h - which of a countable set of moments a run tries: the first argument says every how
 * manieth. Without one a short run is made, whose stride is the test's own; 1 tries them all.
 */
#ifndef FAULTS_TRIES_H
#define FAULTS_TRIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t tries_stride;

/* False: the arguments are wrong, and the usage has been printed. */
static inline bool tries_read(int argc, char **argv, uint64_t short_stride)
{
	char *last = NULL;
	tries_stride = argc > 1 ? strtoull(argv[1], &last, 10) : short_stride;
	if (argc <= 2 && tries_stride && (!last || !*last))
		return true;
	fprintf(stderr,
		"usage: %s [STRIDE]    tries every STRIDEth moment, all with 1; %llu without it\n",
		argv[0], (unsigned long long)short_stride);
	return false;
}

/* The first to try in the `row`th row of moments: not always the same of each stride. */
static inline uint64_t tries_first(uint64_t row)
{
	return 1 + row * 0x9e3779b97f4a7c15ull % tries_stride;
}

#endif

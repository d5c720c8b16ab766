/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slices.h - a sum over the last while, in ten slices of time: a part of other objects.
 * The sum covers between nine and ten tenths of the while. Not for use on its own.
 */
#ifndef CANCEL_ADMISSION_SLICES_H
#define CANCEL_ADMISSION_SLICES_H

#include <stdint.h>

#define CANCEL_SLICES 10u

struct cancel_slices {
	uint64_t slice_ns;
	uint64_t head; /* number of the newest slice, now_ns / slice_ns */
	int64_t total;
	int64_t sums[CANCEL_SLICES];
};

#endif

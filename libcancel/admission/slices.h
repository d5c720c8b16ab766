/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on a sum over the last while; see cancel/admission/slices.h. */
#ifndef CANCEL_ADMISSION_SLICES_OPS_H
#define CANCEL_ADMISSION_SLICES_OPS_H

#include <cancel/admission/slices.h>

#include <string.h>

static inline void slices_init(struct cancel_slices *slices, uint64_t while_ns)
{
	memset(slices, 0, sizeof *slices);
	slices->slice_ns = while_ns / CANCEL_SLICES ? while_ns / CANCEL_SLICES : 1;
}

/* Drops the slices that have left the window. A clock that steps back drops nothing. */
static inline void slices_advance(struct cancel_slices *slices, uint64_t now_ns)
{
	const uint64_t head = now_ns / slices->slice_ns;
	if (head <= slices->head)
		return;
	if (head - slices->head >= CANCEL_SLICES) {
		memset(slices->sums, 0, sizeof slices->sums);
		slices->total = 0;
		slices->head = head;
	}
	while (slices->head < head) {
		int64_t *oldest = &slices->sums[++slices->head % CANCEL_SLICES];
		slices->total -= *oldest;
		*oldest = 0;
	}
}

static inline void slices_add(struct cancel_slices *slices, int64_t amount)
{
	slices->sums[slices->head % CANCEL_SLICES] += amount;
	slices->total += amount;
}

#endif

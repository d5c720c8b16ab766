/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_tokens.h - CockroachDB's I/O tokens: admit writes as fast as their debt is paid off.
 *
 * Purpose: a write leaves debt behind (a WAL to checkpoint, files to compact) that overloads the
 * store long after the write was admitted, so slots cannot limit it. Every 15 s the object compares
 * the debt with what is tolerable, score = debt / threshold, and sets the tokens of the next 15 s
 * from the bytes that the last ones drained:
 *   score < 0.5   unlimited
 *   0.5 .. 1      from 2 x drained down to 1 x
 *   1 .. 2        from 1 x down to 0.5 x
 *   >= 2          0.5 x: pay more off than comes in
 * smoothed by halves, dealt out in 60 ticks. Work enters while tokens are positive and may take
 * them below zero, so that no request is too large to be admitted.
 * Debt model: any monotone measure in any unit, with the threshold in the same unit. For a WAL:
 * bytes not yet checkpointed, threshold the size at which readers suffer; drained: bytes copied.
 * Thread safety: none. Cost: O(1).
 * Source: CockroachDB, util/admission, io_load_listener (15 s, 250 ms, the interpolation, 0.5).
 */
#ifndef CANCEL_ADMISSION_IO_TOKENS_H
#define CANCEL_ADMISSION_IO_TOKENS_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_io_tokens_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t threshold;   /* required: the debt at which the score is 1 */
	uint64_t interval_ns; /* [15 s] between adjustments */
	uint64_t floor;	      /* [1 MiB] never fewer tokens an interval: work must not stop */
	uint64_t start_ns;    /* [0] */
};

struct cancel_io_tokens {
	uint64_t threshold, interval_ns, floor;
	uint64_t interval_start_ns;
	uint64_t drained_total;	   /* as last reported at an adjustment */
	uint64_t drained_smoothed; /* bytes an interval */
	uint64_t tokens_smoothed;
	bool started, limited;
	uint64_t tokens; /* of this interval, if limited */
	uint64_t tick;	 /* ticks of this interval dealt out */
	int64_t available;
	uint32_t score_ppm; /* at the last adjustment, saturating */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, no threshold). */
CANCEL_MUST_CHECK int cancel_io_tokens_init(
	struct cancel_io_tokens *io, const struct cancel_io_tokens_options *options);
/* The debt now, and the bytes paid off since the start. Adjusts when an interval is over; call it
 * at least that often (an interval nobody reports on is like the one before). */
void cancel_io_tokens_observe(
	struct cancel_io_tokens *io, uint64_t now_ns, uint64_t debt, uint64_t drained_total);
/* May work that will write about `bytes` start? If so they are taken. */
bool cancel_io_tokens_admit(struct cancel_io_tokens *io, uint64_t now_ns, uint64_t bytes);
/* Work that was admitted with `asked` bytes wrote `actual`. */
void cancel_io_tokens_settle(
	struct cancel_io_tokens *io, uint64_t now_ns, uint64_t asked, uint64_t actual);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.h - time spent holding or waiting, in one atomic word.
 *
 * A reader on another thread must never see a hold counted twice or not at all, and the owner may
 * afford neither a lock nor a version number. So the whole state is one word: the low 8 bits are
 * the count n of what is held now (0 or 1; slots for a QUEUE, 255 at most), the high 56 bits are v
 * such that
 *
 *	total at time t = v + n * t   (modulo 2^56, as a signed number)
 *
 * Changing n at time t to m keeps the total continuous with v += (n - m) * t: the whole word grows
 * by (m - n) * (1 - 256 t). One relaxed store publishes the change; whoever loads the word has a
 * consistent state. 2^55 ns of slot time are 416 days of one slot. A total can be a little negative
 * when a coarse stamp meets a precise one, or when the reader's clock was read before the change;
 * it reads as 0.
 */
#ifndef CANCEL_TRACK_SPAN_H
#define CANCEL_TRACK_SPAN_H

#include <stdint.h>

#define SPAN_COUNT_BITS 8
#define SPAN_COUNT_MAX	255u

static inline uint32_t span_count(uint64_t span)
{
	return (uint32_t)(span & SPAN_COUNT_MAX);
}

/* `more` added to the count, which stays within 0 and SPAN_COUNT_MAX. */
static inline uint64_t span_step(uint64_t span, int32_t more, uint64_t now_ns)
{
	return span + (uint64_t)(int64_t)more * (1 - (now_ns << SPAN_COUNT_BITS));
}

static inline uint64_t span_change(uint64_t span, uint32_t count, uint64_t now_ns)
{
	return span_step(span, (int32_t)count - (int32_t)span_count(span), now_ns);
}

/* Adds a total that ended elsewhere. */
static inline uint64_t span_add(uint64_t span, uint64_t ns)
{
	return span + (ns << SPAN_COUNT_BITS);
}

static inline uint64_t span_total_ns(uint64_t span, uint64_t now_ns)
{
	uint64_t total = (span & ~(uint64_t)SPAN_COUNT_MAX) +
			 ((span_count(span) * now_ns) << SPAN_COUNT_BITS);
	return total >> 63 ? 0 : total >> SPAN_COUNT_BITS;
}

#endif

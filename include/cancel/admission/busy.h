/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy.h - fail fast behind an exclusive operation that takes too long.
 *
 * Purpose: while one exclusive operation (a script, a maintenance statement) has run for more than
 * 5 s, others are told BUSY at once instead of queuing without bound; before that they wait.
 * Thread safety: none. Cost: O(1).
 * Source: Redis and Valkey, busy-reply-threshold (5 s).
 */
#ifndef CANCEL_ADMISSION_BUSY_H
#define CANCEL_ADMISSION_BUSY_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_busy_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t threshold_ns; /* [5 s] */
};

struct cancel_busy {
	uint64_t threshold_ns, since_ns;
	bool exclusive;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size). */
CANCEL_MUST_CHECK int cancel_busy_init(
	struct cancel_busy *busy, const struct cancel_busy_options *options);
/* An exclusive operation began (true) or ended (false). */
void cancel_busy_observe(struct cancel_busy *busy, uint64_t now_ns, bool exclusive);
/* May a request come in and wait? False: answer BUSY now. */
bool cancel_busy_admit(const struct cancel_busy *busy, uint64_t now_ns);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_limit.h - how much a client that does not read may keep buffered.
 *
 * Purpose: a slow consumer must not fill the server's memory. Over the hard limit it is
 * disconnected at once; over the soft limit without a break for soft_ns, then. 0 is no limit.
 * Redis's classes: ordinary clients none; replicas 256 MiB, 64 MiB for 60 s; subscribers 32 MiB,
 * 8 MiB for 60 s. For ordinary clients of a database with large results, take the subscriber's.
 * Thread safety: none; one object a client. Cost: O(1).
 * Source: Redis and Valkey, client-output-buffer-limit.
 */
#ifndef CANCEL_ADMISSION_OUTPUT_LIMIT_H
#define CANCEL_ADMISSION_OUTPUT_LIMIT_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cancel_output_limit_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t hard_bytes; /* [none] */
	uint64_t soft_bytes; /* [none] */
	uint64_t soft_ns;    /* [60 s] */
};

struct cancel_output_limit {
	uint64_t hard_bytes, soft_bytes, soft_ns;
	bool over;
	uint64_t over_since_ns;
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, soft over hard). */
CANCEL_MUST_CHECK int cancel_output_limit_init(
	struct cancel_output_limit *limit, const struct cancel_output_limit_options *options);
/* The client has `buffered_bytes` waiting. False: disconnect it. Ask whenever the amount changes,
 * and now and then while it does not. */
bool cancel_output_limit_admit(
	struct cancel_output_limit *limit, uint64_t now_ns, uint64_t buffered_bytes);

#ifdef __cplusplus
}
#endif
#endif

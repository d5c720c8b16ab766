/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_shared.h - the admission objects a server's or a client's threads share.
 *
 * Same rules, constants and answers as the pure objects (cancel/admission.h), with state that any
 * thread may touch at any time. The caller still passes now_ns, of one monotonic clock for all
 * threads; threads whose clocks differ by a little are harmless. Memory is allocated by create and
 * by nothing else. Free when no thread uses the object any more. Not async-signal-safe.
 */
#ifndef CANCEL_ADMISSION_SHARED_H
#define CANCEL_ADMISSION_SHARED_H

#include <cancel/admission/dagor.h>
#include <cancel/admission/retry_aws.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The DAGOR gate -------------------------------------------------------------------------- */

/*
 * admit is one load of the cursor, one of the window's end and one atomic add to the level's
 * counter; observe two atomic adds. No lock is taken except by the one call that closes a window;
 * others go on counting meanwhile. Counts that arrive while a window closes fall into either
 * window, each exactly once.
 */
struct cancel_dagor_shared; /* opaque, 64 KiB */

struct cancel_dagor_stats {
	uint32_t levels, cursor;
	uint64_t windows;	    /* closed with a verdict */
	bool overloaded;	    /* the last verdict */
	uint64_t expected;	    /* N_exp, in requests, rounded down */
	uint64_t mean_delay_ns;	    /* of the last window with observations */
	uint64_t requests, refused; /* since creation, up to the last closed window */
};

/* NULL: invalid options (see cancel_dagor_init) or out of memory. */
CANCEL_API CANCEL_MUST_CHECK struct cancel_dagor_shared *cancel_dagor_shared_create(
	const struct cancel_dagor_options *options);
CANCEL_API void cancel_dagor_shared_free(struct cancel_dagor_shared *gate);
/* As cancel_dagor_priority; reads constants only. */
CANCEL_API uint32_t cancel_dagor_shared_priority(
	const struct cancel_dagor_shared *gate, uint64_t now_ns, uint32_t business, uint64_t user);
/* As cancel_dagor_admit, _observe, _missed and _level. */
CANCEL_API bool cancel_dagor_shared_admit(
	struct cancel_dagor_shared *gate, uint64_t now_ns, uint32_t priority);
CANCEL_API void cancel_dagor_shared_observe(
	struct cancel_dagor_shared *gate, uint64_t now_ns, uint64_t delay_ns);
CANCEL_API void cancel_dagor_shared_missed(
	struct cancel_dagor_shared *gate, uint64_t now_ns, uint64_t count);
CANCEL_API struct cancel_dagor_level cancel_dagor_shared_level(
	const struct cancel_dagor_shared *gate, uint64_t now_ns);
/* A consistent picture for operators. Takes the lock of the window's end. */
CANCEL_API void cancel_dagor_shared_stats(
	struct cancel_dagor_shared *gate, struct cancel_dagor_stats *stats);

/* ---- Retry budgets --------------------------------------------------------------------------- */

/*
 * All budgets behind one set of calls, so that a client can choose by name. One mutex, held for
 * O(1): retries are rare, and requests of one budget rarely come from more than a few threads.
 */
enum cancel_retry_kind {
	CANCEL_RETRY_BUCKET = 1,
	CANCEL_RETRY_FINAGLE,
	CANCEL_RETRY_GRPC,
	CANCEL_RETRY_ENVOY,
	CANCEL_RETRY_AWS,
	CANCEL_RETRY_SRE,
};

enum cancel_retry_outcome {
	CANCEL_RETRY_SUCCESS,
	CANCEL_RETRY_FAILURE, /* an error or a timeout: the server took it, or may have */
	CANCEL_RETRY_REFUSED, /* the server's admission control refused it */
};

/* One call and its attempts; starts as zero, used by one thread at a time. */
struct cancel_retry_call {
	struct cancel_retry_aws_call aws;
	bool retrying;
};

struct cancel_retry_shared; /* opaque */

/* "bucket", "finagle", "grpc", "envoy", "aws", "sre"; 0 if there is none of that name. */
CANCEL_API enum cancel_retry_kind cancel_retry_kind_find(const char *name);
/* NULL if unknown. */
CANCEL_API const char *cancel_retry_kind_name(enum cancel_retry_kind kind);
/* `options` is the options struct of that kind (struct cancel_bucket_options, struct
 * cancel_retry_finagle_options …) or NULL for its defaults. NULL: invalid or out of memory. */
CANCEL_API CANCEL_MUST_CHECK struct cancel_retry_shared *cancel_retry_shared_create(
	enum cancel_retry_kind kind, const void *options);
CANCEL_API void cancel_retry_shared_free(struct cancel_retry_shared *budget);
/* The first attempt of `call` is about to be sent. Only sre ever says no. `random` is uniform in
 * [0, 2^32). After true the attempt must end. */
CANCEL_API bool cancel_retry_shared_send(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, uint32_t random);
/* An attempt of `call` ended. */
CANCEL_API void cancel_retry_shared_end(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, enum cancel_retry_outcome outcome);
/* May `call`, whose last attempt ended without success (by a timeout, if `timed_out`), be sent
 * again? After true the attempt must end. */
CANCEL_API bool cancel_retry_shared_retry(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, bool timed_out, uint32_t random);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd.h - the clients of a lane: requests that are due by a schedule, whatever became of the
 * earlier ones; each waits a fixed time for its answer, then leaves and tries again, as often as it
 * may and as a common retry budget lets it.
 *
 * Whoever drives it calls, again and again: crowd_expire, crowd_take until there is nothing to
 * send, and crowd_answered as answers come; crowd_next_ns says when it must be called again.
 * Pure: no clock, no connections. All times are since the start of the run.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stdbool.h>

#include "bench/load/schedule.h"

#include <cancel/admission/bucket.h>

#define CROWD_PRIORITIES 4 /* as the server's */
#define CROWD_USERS	 1000

enum crowd_outcome {
	CROWD_PENDING,
	CROWD_SUCCESS,	 /* an attempt was answered in time */
	CROWD_TIMED_OUT, /* the last attempt was not */
	CROWD_REFUSED,	 /* by admission control, the last time */
	CROWD_FAILED,	 /* an error, a cancel, no connection */
};

struct crowd_request {
	uint64_t due_ns, done_ns; /* done: when the outcome was known */
	uint64_t draw;		  /* what it asks */
	uint16_t user;
	uint8_t priority, outcome;
	uint16_t attempts; /* sent */
};

enum crowd_refusal { /* what a client does with a refusal */
	CROWD_GIVE_UP,
	CROWD_RETRY,	   /* at once, like any failure */
	CROWD_RETRY_LATER, /* when the server's hint says */
};

struct crowd_options {
	size_t struct_size;
	const struct schedule *schedule; /* read once, by crowd_new */
	uint64_t timeout_ns;		 /* of each attempt, from its sending */
	uint32_t retries;		 /* after the first attempt */
	enum crowd_refusal on_refusal;
	/* Retries a second of the whole crowd, in thousandths; 0: as many as there are. */
	uint64_t budget_milli_per_s;
	uint32_t budget_burst; /* [1] retries that may be saved up */
	/* Priorities are dealt evenly among the first so many, by the request's draw. [1] */
	uint32_t priorities;
};

/* What an attempt came to. */
enum crowd_reply { CROWD_REPLY_OK, CROWD_REPLY_REFUSED, CROWD_REPLY_ERROR };

struct crowd_counts {
	uint64_t offered, attempts, retries, denied; /* denied: by the budget */
	uint64_t timeouts, refused, errors;
	uint64_t good, ended; /* requests */
	uint64_t late;	      /* replies nobody waited for any more */
};

struct crowd; /* opaque */

/* NULL when memory is out or an option is nonsense. */
struct crowd *crowd_new(const struct crowd_options *options);
void crowd_free(struct crowd *crowd);

/* Ends the attempts whose time is up at `now_ns`. */
void crowd_expire(struct crowd *crowd, uint64_t now_ns);
/* The next attempt to send at `now_ns`: its number, or -1 if nothing is due. `*request` stays valid
 * until crowd_free. */
int64_t crowd_take(struct crowd *crowd, uint64_t now_ns, const struct crowd_request **request);
/* Attempt `number` was answered, or could not be sent (an error). Once for each. */
void crowd_answered(struct crowd *crowd, uint64_t number, uint64_t now_ns, enum crowd_reply reply,
	uint64_t retry_after_ns);
/* When something is due; UINT64_MAX: nothing more. */
uint64_t crowd_next_ns(const struct crowd *crowd);

void crowd_counts(const struct crowd *crowd, struct crowd_counts *counts);
/* By due_ns. */
const struct crowd_request *crowd_requests(const struct crowd *crowd, size_t *count);

#endif

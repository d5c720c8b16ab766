/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.h - clients who time out and retry: requests that are due by a schedule, whatever became of the
 * earlier ones; each waits a fixed time for its answer, then leaves and tries again, as often as it
 * may and as a common retry budget lets it.
 *
 * Whoever drives it calls, again and again: clients_expire, clients_take until there is nothing to
 * send, and clients_answered as answers come; clients_next_ns says when it must be called again.
 * Pure: no clock, no connections. All times are since the start of the run.
 */
#ifndef BENCH_CLIENTS_H
#define BENCH_CLIENTS_H

#include <stdbool.h>

#include "bench/load/schedule.h"

#include <cancel/admission/bucket.h>

#define CLIENTS_PRIORITIES 4 /* as the server's */
#define CLIENTS_USERS	   1000

enum clients_outcome {
	CLIENTS_PENDING,
	CLIENTS_SUCCESS,   /* an attempt was answered in time */
	CLIENTS_TIMED_OUT, /* the last attempt was not */
	CLIENTS_REFUSED,   /* by admission control, the last time */
	CLIENTS_FAILED,	   /* an error, a cancel, no connection */
};

struct clients_request {
	uint64_t due_ns, done_ns; /* done: when the outcome was known */
	uint64_t draw;		  /* what it asks */
	uint16_t user;
	uint8_t priority, outcome;
	uint16_t attempts; /* sent */
};

enum clients_refusal { /* what a client does with a refusal */
	CLIENTS_GIVE_UP,
	CLIENTS_RETRY,	     /* at once, like any failure */
	CLIENTS_RETRY_LATER, /* when the server's hint says */
};

struct clients_options {
	size_t struct_size;
	const struct schedule *schedule; /* read once, by clients_new */
	uint64_t timeout_ns;		 /* of each attempt, from its sending */
	uint32_t retries;		 /* after the first attempt */
	enum clients_refusal on_refusal;
	/* Retries a second of the whole clients, in thousandths; 0: as many as there are. */
	uint64_t budget_milli_per_s;
	uint32_t budget_burst; /* [1] retries that may be saved up */
	/* Priorities are dealt evenly among the first so many, by the request's draw. [1] */
	uint32_t priorities;
};

/* What an attempt came to. */
enum clients_reply { CLIENTS_REPLY_OK, CLIENTS_REPLY_REFUSED, CLIENTS_REPLY_ERROR };

struct clients_counts {
	uint64_t offered, attempts, retries, denied; /* denied: by the budget */
	uint64_t timeouts, refused, errors;
	uint64_t good, ended; /* requests */
	uint64_t late;	      /* replies nobody waited for any more */
};

struct clients; /* opaque */

/* NULL when memory is out or an option is nonsense. */
struct clients *clients_new(const struct clients_options *options);
void clients_free(struct clients *clients);

/* Ends the attempts whose time is up at `now_ns`. */
void clients_expire(struct clients *clients, uint64_t now_ns);
/* The next attempt to send at `now_ns`: its number, or -1 if nothing is due. `*request` stays valid
 * until clients_free. */
int64_t clients_take(
	struct clients *clients, uint64_t now_ns, const struct clients_request **request);
/* Attempt `number` was answered, or could not be sent (an error). Once for each. */
void clients_answered(struct clients *clients, uint64_t number, uint64_t now_ns,
	enum clients_reply reply, uint64_t retry_after_ns);
/* When something is due; UINT64_MAX: nothing more. */
uint64_t clients_next_ns(const struct clients *clients);

void clients_counts(const struct clients *clients, struct clients_counts *counts);
/* By due_ns. */
const struct clients_request *clients_requests(const struct clients *clients, size_t *count);

#endif

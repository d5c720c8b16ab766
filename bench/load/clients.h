/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.h - the load: requests that are due by a schedule, whatever became of the earlier ones.
 * Each waits for its answer; with a timeout it leaves when that is over and tries again, as often as
 * it may and as a common retry budget lets it. Without a timeout it is plain open-loop load.
 *
 * Whoever drives it calls, again and again: clients_expire, clients_take until there is nothing to
 * send, and clients_answered as answers come, from any thread; clients_next_ns says when it must be
 * called again. It has no clock and no connections. All times are since the start of the run.
 */
#ifndef BENCH_CLIENTS_H
#define BENCH_CLIENTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bench/load/schedule.h"
#include "bench/target/target.h"

#include <cancel/admission/bucket.h>

#define CLIENTS_USERS	     1000
#define CLIENTS_BUCKETS	     128 /* of latency: four in each power of two, from 16 us */
#define CLIENTS_REFUSALS_MAX 4096

enum outcome_kind {
	OUTCOME_PENDING, /* not answered when the run ended */
	OUTCOME_OK,
	OUTCOME_CANCELLED, /* 57014 and the like: somebody stopped it */
	OUTCOME_REJECTED,  /* refused at the door: queue, limit or admission control */
	OUTCOME_FAILED,	   /* any other error, or no connection */
	OUTCOME_SKIPPED,   /* the clients were too far behind to send it */
	OUTCOME_TIMED_OUT, /* its client left */
	OUTCOME_KINDS
};

/* Of one request; whoever writes it writes the times, then kind with release. */
struct outcome {
	uint32_t sent_us; /* after it was due, its first attempt: the clients' lag */
	uint32_t done_us; /* after it was due: the latency a client sees */
	uint16_t attempts;
	_Atomic uint8_t kind;
};

enum clients_refusal { /* what a client does with a refusal */
	CLIENTS_GIVE_UP,
	CLIENTS_RETRY,	     /* at once, like any failure */
	CLIENTS_RETRY_LATER, /* when the server's hint says */
};

struct clients_options {
	size_t struct_size;
	const struct schedule *schedule;
	struct outcome *outcomes; /* schedule->count of them, all zero */
	uint64_t slo_ns;	  /* what counts as good */
	uint64_t skip_ns;	  /* a request is not sent when it is so late; 0: always sent */
	uint64_t timeout_ns;	  /* of each attempt, from its sending; 0: none */
	uint32_t retries;	  /* after the first attempt */
	enum clients_refusal on_refusal;
	/* Retries a second of all clients, in thousandths; 0: as many as there are. */
	uint64_t budget_milli_per_s;
	uint32_t budget_burst; /* [1] retries that may be saved up */
};

struct clients_counts {				    /* at one instant, or the difference of two */
	uint64_t offered, ended;		    /* requests */
	uint64_t attempts, retries, denied;	    /* denied: by the budget */
	uint64_t timeouts, refused, errors, unsent; /* of attempts */
	uint64_t ok, good, late; /* requests answered; of those, within the SLO and not */
	uint64_t dropped;	 /* attempts that came to nothing, and what was skipped */
	uint64_t unheard;	 /* replies nobody waited for any more */
	uint64_t buckets[CLIENTS_BUCKETS];
};

struct clients_request { /* to be sent */
	size_t index;	 /* in the schedule */
	uint64_t due_ns, draw;
};

struct clients; /* opaque */

/* NULL when memory is out or an option is nonsense. */
struct clients *clients_new(const struct clients_options *options);
void clients_free(struct clients *clients);

/* Ends the attempts whose time is up at `now_ns`. */
void clients_expire(struct clients *clients, uint64_t now_ns);
/* The next attempt to send at `now_ns`: its number, or -1 if nothing is due. */
int64_t clients_take(struct clients *clients, uint64_t now_ns, struct clients_request *request);
/* Attempt `number` was answered, or could not be sent. Once for each. */
void clients_answered(struct clients *clients, uint64_t number, uint64_t now_ns,
	const struct target_answer *answer);
/* When something is due; UINT64_MAX: nothing more. */
uint64_t clients_next_ns(struct clients *clients);

void clients_counts(struct clients *clients, struct clients_counts *counts);
void clients_since(const struct clients_counts *now, const struct clients_counts *before,
	struct clients_counts *difference);
/* Upper edge of the bucket that holds quantile p, in nanoseconds; 0 if nothing was answered. */
uint64_t clients_quantile_ns(const struct clients_counts *counts, double p);
/* How long the first refusals took, in milliseconds; their number. */
uint32_t clients_refusals(struct clients *clients, double ms[CLIENTS_REFUSALS_MAX]);
/* The text of the first answer that was an error; "": there was none. After the run. */
const char *clients_failure(const struct clients *clients);

/* Who asks: a user, and one of the first so many priorities, dealt evenly by the request's draw. */
void clients_who(uint64_t draw, uint32_t priorities, uint16_t *user, uint8_t *priority);

#endif

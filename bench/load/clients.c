/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what becomes of each request: attempts, timeouts, retries, the budget.
 */
#include "bench/load/clients.h"

#include <stdlib.h>
#include <string.h>

#include "common/random.h"

#define NS_PER_S       1000000000u
#define MILLI	       1000u
#define ATTEMPTS_FIRST 1024

enum attempt_state { ATTEMPT_WAITED_FOR, ATTEMPT_LEFT, ATTEMPT_ANSWERED };

struct attempt {
	uint32_t request;
	uint32_t state;
	uint64_t deadline_ns;
};

struct later { /* a retry for an instant */
	uint64_t at_ns;
	uint32_t request;
};

struct crowd {
	struct crowd_options options;
	struct crowd_request *requests;
	size_t request_count, next_due;
	struct attempt *attempts; /* in the order they were sent, so deadlines are in order too */
	size_t attempt_count, attempt_room, next_deadline;
	struct later *later; /* a heap by at_ns, then request; never more than requests */
	size_t later_count;
	struct cancel_bucket budget;
	struct crowd_counts counts;
};

/* ---- Retries in waiting: a binary heap ------------------------------------------------------- */

static bool is_sooner(const struct later *a, const struct later *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->request < b->request);
}

static void swap(struct later *a, struct later *b)
{
	struct later kept = *a;
	*a = *b;
	*b = kept;
}

static void later_add(struct crowd *crowd, uint64_t at_ns, uint32_t request)
{
	struct later *heap = crowd->later;
	size_t at = crowd->later_count++;
	heap[at] = (struct later){ .at_ns = at_ns, .request = request };
	for (; at > 0 && is_sooner(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

static uint32_t later_take(struct crowd *crowd)
{
	struct later *heap = crowd->later;
	uint32_t request = heap[0].request;
	size_t at = 0, count = --crowd->later_count;
	heap[0] = heap[count];
	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && is_sooner(&heap[child + 1], &heap[child]))
			child++;
		if (!is_sooner(&heap[child], &heap[at]))
			break;
		swap(&heap[child], &heap[at]);
		at = child;
	}
	return request;
}

/* ---- Outcomes -------------------------------------------------------------------------------- */

static void end(struct crowd *crowd, struct crowd_request *request, uint64_t now_ns,
	enum crowd_outcome outcome)
{
	request->outcome = (uint8_t)outcome;
	request->done_ns = now_ns;
	crowd->counts.ended++;
	crowd->counts.good += outcome == CROWD_SUCCESS;
}

static bool may_retry(struct crowd *crowd, const struct crowd_request *request, uint64_t now_ns)
{
	if (request->attempts > crowd->options.retries)
		return false;
	if (!crowd->options.budget_milli_per_s ||
		cancel_bucket_admit(&crowd->budget, now_ns, MILLI))
		return true;
	crowd->counts.denied++;
	return false;
}

/* An attempt came to nothing: another at `at_ns`, or the end. */
static void fail(struct crowd *crowd, uint32_t index, uint64_t now_ns, uint64_t at_ns,
	enum crowd_outcome outcome)
{
	struct crowd_request *request = &crowd->requests[index];
	if (!may_retry(crowd, request, now_ns)) {
		end(crowd, request, now_ns, outcome);
		return;
	}
	later_add(crowd, at_ns, index);
}

static void refuse(struct crowd *crowd, uint32_t index, uint64_t now_ns, uint64_t retry_after_ns)
{
	switch (crowd->options.on_refusal) {
	case CROWD_GIVE_UP:
		end(crowd, &crowd->requests[index], now_ns, CROWD_REFUSED);
		break;
	case CROWD_RETRY:
		fail(crowd, index, now_ns, now_ns, CROWD_REFUSED);
		break;
	case CROWD_RETRY_LATER:
		fail(crowd, index, now_ns, now_ns + retry_after_ns, CROWD_REFUSED);
		break;
	}
}

void crowd_expire(struct crowd *crowd, uint64_t now_ns)
{
	for (; crowd->next_deadline < crowd->attempt_count; crowd->next_deadline++) {
		struct attempt *attempt = &crowd->attempts[crowd->next_deadline];
		if (attempt->state != ATTEMPT_WAITED_FOR)
			continue;
		if (attempt->deadline_ns > now_ns)
			break;
		attempt->state = ATTEMPT_LEFT;
		crowd->counts.timeouts++;
		fail(crowd, attempt->request, now_ns, now_ns, CROWD_TIMED_OUT);
	}
}

void crowd_answered(struct crowd *crowd, uint64_t number, uint64_t now_ns, enum crowd_reply reply,
	uint64_t retry_after_ns)
{
	struct attempt *attempt = &crowd->attempts[number];
	bool waited_for = attempt->state == ATTEMPT_WAITED_FOR;
	attempt->state = ATTEMPT_ANSWERED;
	crowd->counts.refused += reply == CROWD_REPLY_REFUSED;
	crowd->counts.errors += reply == CROWD_REPLY_ERROR;
	crowd->counts.late += !waited_for;
	if (!waited_for)
		return;
	if (reply == CROWD_REPLY_OK)
		end(crowd, &crowd->requests[attempt->request], now_ns, CROWD_SUCCESS);
	else if (reply == CROWD_REPLY_REFUSED)
		refuse(crowd, attempt->request, now_ns, retry_after_ns);
	else
		fail(crowd, attempt->request, now_ns, now_ns, CROWD_FAILED);
}

/* ---- Sending --------------------------------------------------------------------------------- */

static int grow(struct crowd *crowd)
{
	size_t room = crowd->attempt_room * 2;
	struct attempt *more = realloc(crowd->attempts, room * sizeof *more);
	if (!more)
		return -1;
	crowd->attempts = more;
	crowd->attempt_room = room;
	return 0;
}

static int64_t send_attempt(struct crowd *crowd, uint32_t index, uint64_t now_ns)
{
	if (crowd->attempt_count == crowd->attempt_room && grow(crowd) != 0)
		return -1;
	crowd->attempts[crowd->attempt_count] = (struct attempt){ .request = index,
		.state = ATTEMPT_WAITED_FOR,
		.deadline_ns = now_ns + crowd->options.timeout_ns };
	crowd->counts.attempts++;
	crowd->counts.retries += crowd->requests[index].attempts > 0;
	crowd->requests[index].attempts++;
	return (int64_t)crowd->attempt_count++;
}

int64_t crowd_take(struct crowd *crowd, uint64_t now_ns, const struct crowd_request **request)
{
	uint32_t index;
	if (crowd->later_count && crowd->later[0].at_ns <= now_ns) {
		index = later_take(crowd);
	} else if (crowd->next_due < crowd->request_count &&
		   crowd->requests[crowd->next_due].due_ns <= now_ns) {
		index = (uint32_t)crowd->next_due++;
		crowd->counts.offered++;
	} else {
		return -1;
	}
	*request = &crowd->requests[index];
	int64_t number = send_attempt(crowd, index, now_ns);
	if (number < 0)
		end(crowd, &crowd->requests[index], now_ns, CROWD_FAILED);
	return number;
}

uint64_t crowd_next_ns(const struct crowd *crowd)
{
	uint64_t next_ns = UINT64_MAX;
	/* an answered one only makes it early */
	if (crowd->next_deadline < crowd->attempt_count)
		next_ns = crowd->attempts[crowd->next_deadline].deadline_ns;
	if (crowd->later_count && crowd->later[0].at_ns < next_ns)
		next_ns = crowd->later[0].at_ns;
	if (crowd->next_due < crowd->request_count &&
		crowd->requests[crowd->next_due].due_ns < next_ns)
		next_ns = crowd->requests[crowd->next_due].due_ns;
	return next_ns;
}

/* ---- The crowd ------------------------------------------------------------------------------- */

static void fill_requests(struct crowd *crowd)
{
	const struct schedule *schedule = crowd->options.schedule;
	uint32_t priorities = crowd->options.priorities;
	for (size_t i = 0; i < schedule->count; i++) {
		uint64_t draw = schedule->arrivals[i].draw, mix = draw;
		crowd->requests[i] = (struct crowd_request){
			.due_ns = schedule->arrivals[i].due_ns,
			.draw = draw,
			.user = (uint16_t)random_below(random_mix(&mix), CROWD_USERS),
			.priority = (uint8_t)random_below(random_mix(&mix), priorities),
		};
	}
}

static int fill(struct crowd *crowd)
{
	struct crowd_options *options = &crowd->options;
	const struct cancel_bucket_options budget = { .struct_size = sizeof budget,
		.rate = options->budget_milli_per_s,
		.burst = (uint64_t)(options->budget_burst ? options->budget_burst : 1) * MILLI,
		.per_ns = NS_PER_S };
	crowd->request_count = options->schedule->count;
	crowd->attempt_room = ATTEMPTS_FIRST;
	crowd->requests = calloc(crowd->request_count + 1, sizeof *crowd->requests);
	crowd->later = calloc(crowd->request_count + 1, sizeof *crowd->later);
	crowd->attempts = calloc(crowd->attempt_room, sizeof *crowd->attempts);
	if (!crowd->requests || !crowd->later || !crowd->attempts ||
		cancel_bucket_init(&crowd->budget, &budget) < 0)
		return -1;
	fill_requests(crowd);
	options->schedule = NULL;
	return 0;
}

struct crowd *crowd_new(const struct crowd_options *options)
{
	struct crowd *crowd = calloc(1, sizeof *crowd);
	if (!crowd)
		return NULL;
	crowd->options = *options;
	if (!crowd->options.priorities)
		crowd->options.priorities = 1;
	if (options->struct_size == sizeof *options && options->timeout_ns &&
		crowd->options.priorities <= CROWD_PRIORITIES && fill(crowd) == 0)
		return crowd;
	crowd_free(crowd);
	return NULL;
}

void crowd_free(struct crowd *crowd)
{
	if (!crowd)
		return;
	free(crowd->requests);
	free(crowd->later);
	free(crowd->attempts);
	free(crowd);
}

void crowd_counts(const struct crowd *crowd, struct crowd_counts *counts)
{
	*counts = crowd->counts;
}

const struct crowd_request *crowd_requests(const struct crowd *crowd, size_t *count)
{
	*count = crowd->request_count;
	return crowd->requests;
}

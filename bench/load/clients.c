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

struct clients {
	struct clients_options options;
	struct clients_request *requests;
	size_t request_count, next_due;
	struct attempt *attempts; /* in the order they were sent, so deadlines are in order too */
	size_t attempt_count, attempt_room, next_deadline;
	struct later *later; /* a heap by at_ns, then request; never more than requests */
	size_t later_count;
	struct cancel_bucket budget;
	struct clients_counts counts;
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

static void later_add(struct clients *clients, uint64_t at_ns, uint32_t request)
{
	struct later *heap = clients->later;
	size_t at = clients->later_count++;
	heap[at] = (struct later){ .at_ns = at_ns, .request = request };
	for (; at > 0 && is_sooner(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
}

static uint32_t later_take(struct clients *clients)
{
	struct later *heap = clients->later;
	uint32_t request = heap[0].request;
	size_t at = 0, count = --clients->later_count;
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

static void end(struct clients *clients, struct clients_request *request, uint64_t now_ns,
	enum clients_outcome outcome)
{
	request->outcome = (uint8_t)outcome;
	request->done_ns = now_ns;
	clients->counts.ended++;
	clients->counts.good += outcome == CLIENTS_SUCCESS;
}

static bool may_retry(
	struct clients *clients, const struct clients_request *request, uint64_t now_ns)
{
	if (request->attempts > clients->options.retries)
		return false;
	if (!clients->options.budget_milli_per_s ||
		cancel_bucket_admit(&clients->budget, now_ns, MILLI))
		return true;
	clients->counts.denied++;
	return false;
}

/* An attempt came to nothing: another at `at_ns`, or the end. */
static void fail(struct clients *clients, uint32_t index, uint64_t now_ns, uint64_t at_ns,
	enum clients_outcome outcome)
{
	struct clients_request *request = &clients->requests[index];
	if (!may_retry(clients, request, now_ns)) {
		end(clients, request, now_ns, outcome);
		return;
	}
	later_add(clients, at_ns, index);
}

static void refuse(
	struct clients *clients, uint32_t index, uint64_t now_ns, uint64_t retry_after_ns)
{
	switch (clients->options.on_refusal) {
	case CLIENTS_GIVE_UP:
		end(clients, &clients->requests[index], now_ns, CLIENTS_REFUSED);
		break;
	case CLIENTS_RETRY:
		fail(clients, index, now_ns, now_ns, CLIENTS_REFUSED);
		break;
	case CLIENTS_RETRY_LATER:
		fail(clients, index, now_ns, now_ns + retry_after_ns, CLIENTS_REFUSED);
		break;
	}
}

void clients_expire(struct clients *clients, uint64_t now_ns)
{
	for (; clients->next_deadline < clients->attempt_count; clients->next_deadline++) {
		struct attempt *attempt = &clients->attempts[clients->next_deadline];
		if (attempt->state != ATTEMPT_WAITED_FOR)
			continue;
		if (attempt->deadline_ns > now_ns)
			break;
		attempt->state = ATTEMPT_LEFT;
		clients->counts.timeouts++;
		fail(clients, attempt->request, now_ns, now_ns, CLIENTS_TIMED_OUT);
	}
}

void clients_answered(struct clients *clients, uint64_t number, uint64_t now_ns,
	enum clients_reply reply, uint64_t retry_after_ns)
{
	struct attempt *attempt = &clients->attempts[number];
	bool waited_for = attempt->state == ATTEMPT_WAITED_FOR;
	attempt->state = ATTEMPT_ANSWERED;
	clients->counts.refused += reply == CLIENTS_REPLY_REFUSED;
	clients->counts.errors += reply == CLIENTS_REPLY_ERROR;
	clients->counts.late += !waited_for;
	if (!waited_for)
		return;
	if (reply == CLIENTS_REPLY_OK)
		end(clients, &clients->requests[attempt->request], now_ns, CLIENTS_SUCCESS);
	else if (reply == CLIENTS_REPLY_REFUSED)
		refuse(clients, attempt->request, now_ns, retry_after_ns);
	else
		fail(clients, attempt->request, now_ns, now_ns, CLIENTS_FAILED);
}

/* ---- Sending --------------------------------------------------------------------------------- */

static int grow(struct clients *clients)
{
	size_t room = clients->attempt_room * 2;
	struct attempt *more = realloc(clients->attempts, room * sizeof *more);
	if (!more)
		return -1;
	clients->attempts = more;
	clients->attempt_room = room;
	return 0;
}

static int64_t send_attempt(struct clients *clients, uint32_t index, uint64_t now_ns)
{
	if (clients->attempt_count == clients->attempt_room && grow(clients) != 0)
		return -1;
	clients->attempts[clients->attempt_count] = (struct attempt){ .request = index,
		.state = ATTEMPT_WAITED_FOR,
		.deadline_ns = now_ns + clients->options.timeout_ns };
	clients->counts.attempts++;
	clients->counts.retries += clients->requests[index].attempts > 0;
	clients->requests[index].attempts++;
	return (int64_t)clients->attempt_count++;
}

int64_t clients_take(
	struct clients *clients, uint64_t now_ns, const struct clients_request **request)
{
	uint32_t index;
	if (clients->later_count && clients->later[0].at_ns <= now_ns) {
		index = later_take(clients);
	} else if (clients->next_due < clients->request_count &&
		   clients->requests[clients->next_due].due_ns <= now_ns) {
		index = (uint32_t)clients->next_due++;
		clients->counts.offered++;
	} else {
		return -1;
	}
	*request = &clients->requests[index];
	int64_t number = send_attempt(clients, index, now_ns);
	if (number < 0)
		end(clients, &clients->requests[index], now_ns, CLIENTS_FAILED);
	return number;
}

uint64_t clients_next_ns(const struct clients *clients)
{
	uint64_t next_ns = UINT64_MAX;
	/* an answered one only makes it early */
	if (clients->next_deadline < clients->attempt_count)
		next_ns = clients->attempts[clients->next_deadline].deadline_ns;
	if (clients->later_count && clients->later[0].at_ns < next_ns)
		next_ns = clients->later[0].at_ns;
	if (clients->next_due < clients->request_count &&
		clients->requests[clients->next_due].due_ns < next_ns)
		next_ns = clients->requests[clients->next_due].due_ns;
	return next_ns;
}

/* ---- The clients ------------------------------------------------------------------------------- */

static void fill_requests(struct clients *clients)
{
	const struct schedule *schedule = clients->options.schedule;
	uint32_t priorities = clients->options.priorities;
	for (size_t i = 0; i < schedule->count; i++) {
		uint64_t draw = schedule->arrivals[i].draw, mix = draw;
		clients->requests[i] = (struct clients_request){
			.due_ns = schedule->arrivals[i].due_ns,
			.draw = draw,
			.user = (uint16_t)random_below(random_mix(&mix), CLIENTS_USERS),
			.priority = (uint8_t)random_below(random_mix(&mix), priorities),
		};
	}
}

static int fill(struct clients *clients)
{
	struct clients_options *options = &clients->options;
	const struct cancel_bucket_options budget = { .struct_size = sizeof budget,
		.rate = options->budget_milli_per_s,
		.burst = (uint64_t)(options->budget_burst ? options->budget_burst : 1) * MILLI,
		.per_ns = NS_PER_S };
	clients->request_count = options->schedule->count;
	clients->attempt_room = ATTEMPTS_FIRST;
	clients->requests = calloc(clients->request_count + 1, sizeof *clients->requests);
	clients->later = calloc(clients->request_count + 1, sizeof *clients->later);
	clients->attempts = calloc(clients->attempt_room, sizeof *clients->attempts);
	if (!clients->requests || !clients->later || !clients->attempts ||
		cancel_bucket_init(&clients->budget, &budget) < 0)
		return -1;
	fill_requests(clients);
	options->schedule = NULL;
	return 0;
}

struct clients *clients_new(const struct clients_options *options)
{
	struct clients *clients = calloc(1, sizeof *clients);
	if (!clients)
		return NULL;
	clients->options = *options;
	if (!clients->options.priorities)
		clients->options.priorities = 1;
	if (options->struct_size == sizeof *options && options->timeout_ns &&
		clients->options.priorities <= CLIENTS_PRIORITIES && fill(clients) == 0)
		return clients;
	clients_free(clients);
	return NULL;
}

void clients_free(struct clients *clients)
{
	if (!clients)
		return;
	free(clients->requests);
	free(clients->later);
	free(clients->attempts);
	free(clients);
}

void clients_counts(const struct clients *clients, struct clients_counts *counts)
{
	*counts = clients->counts;
}

const struct clients_request *clients_requests(const struct clients *clients, size_t *count)
{
	*count = clients->request_count;
	return clients->requests;
}

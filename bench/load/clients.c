/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what becomes of each request: attempts, timeouts, retries, the budget. One lock guards it
 * all; it is held for some tens of nanoseconds, while a request costs a target microseconds.
 */
#include "bench/load/clients.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

#define NS_PER_S	1000000000u
#define NS_PER_US	1000u
#define NS_PER_MS	1000000u
#define MILLI		1000u
#define ATTEMPTS_SPARE	1024
#define FIRST_BUCKET_NS 16000u
#define BUCKETS_A_TWO	4
#define FAILURE_BYTES	256

enum attempt_state { ATTEMPT_WAITED_FOR, ATTEMPT_LEFT, ATTEMPT_ANSWERED };

struct attempt {
	uint32_t request;
	uint32_t state;
	uint64_t sent_ns;
};

struct later { /* a retry for an instant */
	uint64_t at_ns;
	uint32_t request;
};

struct clients {
	struct clients_options options;
	pthread_mutex_t lock;
	size_t next_due;
	struct attempt *attempts; /* in the order they were sent, so deadlines are in order too */
	size_t attempt_count, attempt_room, next_deadline;
	struct later *later; /* a heap by at_ns, then request; never more than requests */
	size_t later_count;
	struct cancel_bucket budget;
	struct clients_counts counts;
	uint32_t refusals_us[CLIENTS_REFUSALS_MAX], refusal_count;
	char failure[FAILURE_BYTES];
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

static uint32_t micros(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t us = to_ns > from_ns ? (to_ns - from_ns) / NS_PER_US : 0;
	return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static uint64_t due_of(const struct clients *clients, size_t request)
{
	return clients->options.schedule->arrivals[request].due_ns;
}

static uint32_t bucket_of(uint64_t latency_ns)
{
	uint64_t units = latency_ns / (FIRST_BUCKET_NS / BUCKETS_A_TWO);
	if (units < BUCKETS_A_TWO)
		return 0;
	uint32_t shift = 61 - (uint32_t)__builtin_clzll(units);
	uint32_t bucket = 1 + shift * BUCKETS_A_TWO + ((units >> shift) & (BUCKETS_A_TWO - 1));
	return bucket < CLIENTS_BUCKETS ? bucket : CLIENTS_BUCKETS - 1;
}

static void end(struct clients *clients, uint32_t index, uint64_t now_ns, enum outcome_kind kind)
{
	struct outcome *outcome = &clients->options.outcomes[index];
	uint64_t due_ns = due_of(clients, index), took_ns = now_ns > due_ns ? now_ns - due_ns : 0;
	outcome->done_us = micros(due_ns, now_ns);
	atomic_store_explicit(&outcome->kind, (uint8_t)kind, memory_order_release);
	clients->counts.ended++;
	if (kind != OUTCOME_OK)
		return;
	clients->counts.ok++;
	*(took_ns <= clients->options.slo_ns ? &clients->counts.good : &clients->counts.late) += 1;
	clients->counts.buckets[bucket_of(took_ns)]++;
}

static bool may_retry(struct clients *clients, const struct outcome *outcome, uint64_t now_ns)
{
	if (outcome->attempts > clients->options.retries)
		return false;
	if (!clients->options.budget_milli_per_s ||
		cancel_bucket_admit(&clients->budget, now_ns, MILLI))
		return true;
	clients->counts.denied++;
	return false;
}

/* An attempt came to nothing: another at `at_ns`, or the end. */
static void fail(struct clients *clients, uint32_t index, uint64_t now_ns, uint64_t at_ns,
	enum outcome_kind kind)
{
	if (may_retry(clients, &clients->options.outcomes[index], now_ns))
		later_add(clients, at_ns, index);
	else
		end(clients, index, now_ns, kind);
}

static void refuse(struct clients *clients, const struct attempt *attempt, uint64_t now_ns,
	uint64_t retry_after_ns)
{
	switch (clients->options.on_refusal) {
	case CLIENTS_GIVE_UP:
		end(clients, attempt->request, now_ns, OUTCOME_REJECTED);
		break;
	case CLIENTS_RETRY:
		fail(clients, attempt->request, now_ns, now_ns, OUTCOME_REJECTED);
		break;
	case CLIENTS_RETRY_LATER:
		fail(clients, attempt->request, now_ns, now_ns + retry_after_ns, OUTCOME_REJECTED);
		break;
	}
}

void clients_expire(struct clients *clients, uint64_t now_ns)
{
	uint64_t timeout_ns = clients->options.timeout_ns;
	if (!timeout_ns)
		return;
	pthread_mutex_lock(&clients->lock);
	for (; clients->next_deadline < clients->attempt_count; clients->next_deadline++) {
		struct attempt *attempt = &clients->attempts[clients->next_deadline];
		if (attempt->state != ATTEMPT_WAITED_FOR)
			continue;
		if (attempt->sent_ns + timeout_ns > now_ns)
			break;
		attempt->state = ATTEMPT_LEFT;
		clients->counts.timeouts++;
		clients->counts.dropped++;
		fail(clients, attempt->request, now_ns, now_ns, OUTCOME_TIMED_OUT);
	}
	pthread_mutex_unlock(&clients->lock);
}

static void count_reply(struct clients *clients, const struct attempt *attempt, uint64_t now_ns,
	const struct target_answer *answer)
{
	struct clients_counts *counts = &clients->counts;
	if (answer->status == TARGET_REJECTED) {
		counts->refused++;
		if (clients->refusal_count < CLIENTS_REFUSALS_MAX)
			clients->refusals_us[clients->refusal_count++] =
				micros(attempt->sent_ns, now_ns);
	}
	counts->unsent += answer->status == TARGET_UNSENT;
	counts->errors += answer->status == TARGET_FAILED || answer->status == TARGET_CANCELLED;
	if (answer->status == TARGET_FAILED && !clients->failure[0])
		snprintf(clients->failure, sizeof clients->failure, "%s", answer->error);
}

void clients_answered(struct clients *clients, uint64_t number, uint64_t now_ns,
	const struct target_answer *answer)
{
	pthread_mutex_lock(&clients->lock);
	struct attempt *attempt = &clients->attempts[number];
	bool waited_for = attempt->state == ATTEMPT_WAITED_FOR;
	attempt->state = ATTEMPT_ANSWERED;
	count_reply(clients, attempt, now_ns, answer);
	clients->counts.unheard += !waited_for;
	clients->counts.dropped += waited_for && answer->status != TARGET_OK;
	if (!waited_for)
		; /* its client has left */
	else if (answer->status == TARGET_OK)
		end(clients, attempt->request, now_ns, OUTCOME_OK);
	else if (answer->status == TARGET_REJECTED)
		refuse(clients, attempt, now_ns, answer->retry_after_ms * (uint64_t)NS_PER_MS);
	else
		fail(clients, attempt->request, now_ns, now_ns,
			answer->status == TARGET_CANCELLED ? OUTCOME_CANCELLED : OUTCOME_FAILED);
	pthread_mutex_unlock(&clients->lock);
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
	struct outcome *outcome = &clients->options.outcomes[index];
	if (clients->attempt_count == clients->attempt_room && grow(clients) != 0) {
		end(clients, index, now_ns, OUTCOME_FAILED);
		return -1;
	}
	clients->attempts[clients->attempt_count] = (struct attempt){
		.request = index, .state = ATTEMPT_WAITED_FOR, .sent_ns = now_ns
	};
	if (outcome->attempts == 0)
		outcome->sent_us = micros(due_of(clients, index), now_ns);
	clients->counts.attempts++;
	clients->counts.retries += outcome->attempts > 0;
	outcome->attempts++;
	return (int64_t)clients->attempt_count++;
}

/* The next request of the schedule that is due and not too late; -1: there is none. */
static int64_t next_due(struct clients *clients, uint64_t now_ns)
{
	uint64_t skip_ns = clients->options.skip_ns;
	while (clients->next_due < clients->options.schedule->count &&
		due_of(clients, clients->next_due) <= now_ns) {
		uint32_t index = (uint32_t)clients->next_due++;
		clients->counts.offered++;
		if (!skip_ns || now_ns <= due_of(clients, index) + skip_ns)
			return index;
		clients->counts.dropped++;
		end(clients, index, due_of(clients, index), OUTCOME_SKIPPED);
	}
	return -1;
}

int64_t clients_take(struct clients *clients, uint64_t now_ns, struct clients_request *request)
{
	pthread_mutex_lock(&clients->lock);
	int64_t index, number = -1;
	if (clients->later_count && clients->later[0].at_ns <= now_ns)
		index = later_take(clients);
	else
		index = next_due(clients, now_ns);
	if (index >= 0)
		number = send_attempt(clients, (uint32_t)index, now_ns);
	pthread_mutex_unlock(&clients->lock);
	if (number < 0)
		return -1;
	const struct arrival *arrival = &clients->options.schedule->arrivals[index];
	*request = (struct clients_request){ (size_t)index, arrival->due_ns, arrival->draw };
	return number;
}

uint64_t clients_next_ns(struct clients *clients)
{
	uint64_t next_ns = UINT64_MAX;
	pthread_mutex_lock(&clients->lock);
	/* an answered one only makes it early */
	if (clients->options.timeout_ns && clients->next_deadline < clients->attempt_count)
		next_ns = clients->attempts[clients->next_deadline].sent_ns +
			  clients->options.timeout_ns;
	if (clients->later_count && clients->later[0].at_ns < next_ns)
		next_ns = clients->later[0].at_ns;
	if (clients->next_due < clients->options.schedule->count &&
		due_of(clients, clients->next_due) < next_ns)
		next_ns = due_of(clients, clients->next_due);
	pthread_mutex_unlock(&clients->lock);
	return next_ns;
}

void clients_who(uint64_t draw, uint32_t priorities, uint16_t *user, uint8_t *priority)
{
	uint64_t mix = draw;
	*user = (uint16_t)random_below(random_mix(&mix), CLIENTS_USERS);
	*priority = (uint8_t)random_below(random_mix(&mix), priorities ? priorities : 1);
}

/* ---- Figures --------------------------------------------------------------------------------- */

void clients_counts(struct clients *clients, struct clients_counts *counts)
{
	pthread_mutex_lock(&clients->lock);
	*counts = clients->counts;
	pthread_mutex_unlock(&clients->lock);
}

void clients_since(const struct clients_counts *now, const struct clients_counts *before,
	struct clients_counts *difference)
{
	uint64_t *to = (uint64_t *)difference;
	for (size_t i = 0; i < sizeof *now / sizeof *to; i++)
		to[i] = ((const uint64_t *)now)[i] - ((const uint64_t *)before)[i];
}

uint64_t clients_quantile_ns(const struct clients_counts *counts, double p)
{
	uint64_t total = 0, seen = 0;
	for (int i = 0; i < CLIENTS_BUCKETS; i++)
		total += counts->buckets[i];
	if (!total)
		return 0;
	uint64_t rank = (uint64_t)ceil(p * (double)total);
	uint32_t i = 0;
	while (i < CLIENTS_BUCKETS - 1 && (seen += counts->buckets[i]) < rank)
		i++;
	if (!i)
		return FIRST_BUCKET_NS;
	uint32_t shift = (i - 1) / BUCKETS_A_TWO, quarter = (i - 1) % BUCKETS_A_TWO;
	return ((uint64_t)(BUCKETS_A_TWO + quarter + 1) << shift) *
	       (FIRST_BUCKET_NS / BUCKETS_A_TWO);
}

uint32_t clients_refusals(struct clients *clients, double ms[CLIENTS_REFUSALS_MAX])
{
	for (uint32_t i = 0; i < clients->refusal_count; i++)
		ms[i] = clients->refusals_us[i] / 1e3;
	return clients->refusal_count;
}

const char *clients_failure(const struct clients *clients)
{
	return clients->failure;
}

/* ---- The clients ----------------------------------------------------------------------------- */

static int fill(struct clients *clients)
{
	const struct clients_options *options = &clients->options;
	size_t requests = options->schedule->count;
	const struct cancel_bucket_options budget = { .struct_size = sizeof budget,
		.rate = options->budget_milli_per_s,
		.burst = (uint64_t)(options->budget_burst ? options->budget_burst : 1) * MILLI,
		.per_ns = NS_PER_S };
	clients->attempt_room = requests + ATTEMPTS_SPARE; /* so that plain load never moves them */
	clients->later = calloc(requests + 1, sizeof *clients->later);
	clients->attempts = calloc(clients->attempt_room, sizeof *clients->attempts);
	return clients->later && clients->attempts &&
			       cancel_bucket_init(&clients->budget, &budget) >= 0
		       ? 0
		       : -1;
}

struct clients *clients_new(const struct clients_options *options)
{
	struct clients *clients = calloc(1, sizeof *clients);
	if (!clients)
		return NULL;
	clients->options = *options;
	pthread_mutex_init(&clients->lock, NULL);
	if (options->struct_size == sizeof *options && fill(clients) == 0)
		return clients;
	clients_free(clients);
	return NULL;
}

void clients_free(struct clients *clients)
{
	if (!clients)
		return;
	pthread_mutex_destroy(&clients->lock);
	free(clients->later);
	free(clients->attempts);
	free(clients);
}

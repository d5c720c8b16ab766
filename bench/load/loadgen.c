/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the sending of the load. One thread sleeps until the next question is due (absolute time,
 * one microsecond of slack), hands over all that are due, and never waits for an answer: an open
 * loop. Latency counts from the scheduled instant, so a late generator shows as latency and as
 * lag, not as good news.
 */
#include "bench/load/loadgen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "common/random.h"

#define NS_PER_S	1000000000u
#define NS_PER_US	1000u
#define SKIP_BEHIND_NS	NS_PER_S /* a question this late for sending is skipped */
#define DRAIN_POLL_NS	2000000u
#define DONE_US_MAX	UINT32_MAX
#define SATURATE_GAP_NS 50000u

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = { .tv_sec = (time_t)(at_ns / NS_PER_S),
		.tv_nsec = (long)(at_ns % NS_PER_S) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static uint32_t micros_since(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t us = to_ns > from_ns ? (to_ns - from_ns) / NS_PER_US : 0;
	return us > DONE_US_MAX ? DONE_US_MAX : (uint32_t)us;
}

static enum outcome_kind outcome_of(enum target_status status)
{
	switch (status) {
	case TARGET_OK:
		return OUTCOME_OK;
	case TARGET_REJECTED:
		return OUTCOME_REJECTED;
	case TARGET_CANCELLED:
		return OUTCOME_CANCELLED;
	case TARGET_FAILED:
		break;
	}
	return OUTCOME_FAILED;
}

static void on_answer(void *arg, uint64_t token, const struct target_answer *answer)
{
	struct loadgen *loadgen = arg;
	struct outcome *outcome = &loadgen->data->outcomes[token];
	uint64_t due_ns = loadgen->start_ns + loadgen->data->schedule->arrivals[token].due_ns;
	uint64_t now_ns = target_now_ns();
	outcome->done_us = micros_since(due_ns, now_ns);
	enum outcome_kind kind = outcome_of(answer->status);
	atomic_store_explicit(&outcome->kind, (uint8_t)kind, memory_order_release);
	if (kind == OUTCOME_OK)
		live_record(loadgen->live, now_ns > due_ns ? now_ns - due_ns : 0,
			loadgen->data->slo_ns);
	else
		atomic_fetch_add_explicit(&loadgen->live->dropped, 1, memory_order_relaxed);
	if (kind == OUTCOME_FAILED)
		live_fail(loadgen->live, answer->error);
	atomic_fetch_sub_explicit(&loadgen->unanswered, 1, memory_order_release);
}

static void send_one(struct loadgen *loadgen, size_t i, uint64_t now_ns)
{
	const struct arrival *arrival = &loadgen->data->schedule->arrivals[i];
	struct outcome *outcome = &loadgen->data->outcomes[i];
	uint64_t due_ns = loadgen->start_ns + arrival->due_ns;
	atomic_fetch_add_explicit(&loadgen->live->offered, 1, memory_order_relaxed);
	if (now_ns > due_ns + SKIP_BEHIND_NS) {
		atomic_store_explicit(
			&outcome->kind, (uint8_t)OUTCOME_SKIPPED, memory_order_release);
		atomic_fetch_add_explicit(&loadgen->live->dropped, 1, memory_order_relaxed);
		return;
	}
	struct target_request request = {
		.due_ns = due_ns, .callback = on_answer, .arg = loadgen, .token = i
	};
	loadgen->ask(loadgen->ask_arg, arrival->draw, &request);
	outcome->sent_us = micros_since(due_ns, now_ns);
	atomic_fetch_add_explicit(&loadgen->unanswered, 1, memory_order_relaxed);
	target_submit(loadgen->target, &request);
}

static void *send_all(void *arg)
{
	struct loadgen *loadgen = arg;
	const struct schedule *schedule = loadgen->data->schedule;
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	for (size_t i = 0; i < schedule->count; i++) {
		uint64_t due_ns = loadgen->start_ns + schedule->arrivals[i].due_ns;
		uint64_t now_ns = target_now_ns();
		if (now_ns < due_ns) {
			sleep_until(due_ns);
			now_ns = target_now_ns();
		}
		if (atomic_load_explicit(&loadgen->stop, memory_order_relaxed))
			break;
		send_one(loadgen, i, now_ns);
	}
	return NULL;
}

int loadgen_start(struct loadgen *loadgen)
{
	return pthread_create(&loadgen->thread, NULL, send_all, loadgen) == 0 ? 0 : -1;
}

void loadgen_stop(struct loadgen *loadgen)
{
	atomic_store_explicit(&loadgen->stop, true, memory_order_relaxed);
}

uint64_t loadgen_finish(struct loadgen *loadgen, uint64_t drain_ns)
{
	pthread_join(loadgen->thread, NULL);
	uint64_t give_up_ns = target_now_ns() + drain_ns, missing;
	while ((missing = atomic_load_explicit(&loadgen->unanswered, memory_order_acquire)) > 0) {
		if (target_now_ns() >= give_up_ns)
			break;
		sleep_until(target_now_ns() + DRAIN_POLL_NS);
	}
	return missing;
}

/* The token is the instant it was asked. */
static void on_saturated_answer(void *arg, uint64_t token, const struct target_answer *answer)
{
	struct saturation *saturation = arg;
	if (answer->status == TARGET_OK) {
		atomic_fetch_add_explicit(&saturation->answered, 1, memory_order_relaxed);
		if (saturation->on_latency)
			saturation->on_latency(saturation->latency_arg, target_now_ns() - token);
	} else if (answer->status == TARGET_FAILED && saturation->live) {
		live_fail(saturation->live, answer->error);
	}
	atomic_fetch_sub_explicit(&saturation->in_flight, 1, memory_order_release);
}

static void top_up(struct saturation *saturation, struct random *random)
{
	while (atomic_load_explicit(&saturation->in_flight, memory_order_acquire) <
		saturation->depth) {
		uint64_t now_ns = target_now_ns();
		struct target_request request = { .due_ns = now_ns,
			.callback = on_saturated_answer,
			.arg = saturation,
			.token = now_ns };
		saturation->ask(saturation->ask_arg, random_next(random), &request);
		atomic_fetch_add_explicit(&saturation->in_flight, 1, memory_order_relaxed);
		target_submit(saturation->target, &request);
	}
}

/* The sender tops up on its own clock, as the open loop does, so its cost is part of the figure. */
void loadgen_saturate(struct saturation *saturation)
{
	struct random random;
	random_seed(&random, saturation->seed);
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	uint64_t begin_ns = target_now_ns(), now_ns = begin_ns;
	while (now_ns < begin_ns + saturation->length_ns) {
		top_up(saturation, &random);
		sleep_until(now_ns + SATURATE_GAP_NS);
		now_ns = target_now_ns();
	}
	uint64_t answered = atomic_load_explicit(&saturation->answered, memory_order_relaxed);
	saturation->answers_per_s = (double)answered * NS_PER_S / (double)(now_ns - begin_ns);
	while (atomic_load_explicit(&saturation->in_flight, memory_order_acquire) > 0)
		sleep_until(target_now_ns() + DRAIN_POLL_NS);
}

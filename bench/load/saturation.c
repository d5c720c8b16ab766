/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the closed loop. The sender tops up on its own clock, so its cost is part of the figure. */
#include "bench/load/saturation.h"

#include <stdio.h>
#include <sys/prctl.h>

#include "common/random.h"

#define NS_PER_S     1000000000u
#define ROUNDS_LEAST 5 /* of the workers: this process may have been stopped */
#define GIVE_UP_NS   (30ull * NS_PER_S)
#define STEP_NS	     2000000u

/* Whole rounds since the first answer that counts. */
static void count_answer(struct saturation *saturation, uint64_t now_ns)
{
	uint64_t count = atomic_fetch_add_explicit(&saturation->answered, 1, memory_order_relaxed);
	if (count == 0)
		atomic_store_explicit(&saturation->first_ns, now_ns, memory_order_relaxed);
	if (saturation->rounds_of && count % saturation->rounds_of == 0) {
		atomic_store_explicit(&saturation->last_ns, now_ns, memory_order_relaxed);
		atomic_store_explicit(&saturation->last_round, count, memory_order_relaxed);
	}
}

/* The token is the instant it was asked. */
static void on_answer(void *arg, uint64_t token, const struct target_answer *answer)
{
	struct saturation *saturation = arg;
	uint64_t now_ns = target_now_ns();
	if (answer->status == TARGET_OK) {
		if (saturation->on_latency)
			saturation->on_latency(saturation->arg, now_ns - token);
		if (atomic_load_explicit(&saturation->counts, memory_order_relaxed))
			count_answer(saturation, now_ns);
	} else if (answer->status == TARGET_REJECTED) {
		atomic_fetch_add_explicit(&saturation->refused, 1, memory_order_relaxed);
	} else if (answer->status != TARGET_CANCELLED &&
		   !atomic_exchange_explicit(&saturation->failed, true, memory_order_relaxed)) {
		snprintf(saturation->failure, sizeof saturation->failure, "%s", answer->error);
	}
	atomic_fetch_add_explicit(&saturation->replied, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&saturation->in_flight, 1, memory_order_release);
}

static void top_up(struct saturation *saturation, struct random *random)
{
	while (atomic_load_explicit(&saturation->in_flight, memory_order_acquire) <
			saturation->depth &&
		!atomic_load_explicit(&saturation->failed, memory_order_relaxed)) {
		uint64_t now_ns = target_now_ns(), draw = random_next(random);
		struct target_request request = {
			.due_ns = now_ns, .callback = on_answer, .arg = saturation, .token = now_ns
		};
		uint8_t ignored;
		clients_who(draw, 1, &request.user, &ignored);
		request.priority = saturation->priority;
		saturation->ask(saturation->ask_arg, draw, &request);
		atomic_fetch_add_explicit(&saturation->in_flight, 1, memory_order_relaxed);
		target_submit(saturation->target, &request);
	}
}

static void wait_a_little(struct saturation *saturation, uint64_t now_ns, uint64_t until_ns)
{
	uint64_t deaf_ns = saturation->target->api->deaf_ns;
	if (deaf_ns && now_ns + deaf_ns < until_ns)
		until_ns = now_ns + deaf_ns;
	if (saturation->on_turn)
		saturation->on_turn(saturation->arg, now_ns);
	target_wait(saturation->target, until_ns);
}

static bool is_over(const struct saturation *saturation, uint64_t end_ns, uint64_t now_ns)
{
	uint64_t least = (uint64_t)saturation->rounds_of * ROUNDS_LEAST;
	if (atomic_load_explicit(&saturation->failed, memory_order_relaxed))
		return true;
	if (atomic_load_explicit(&saturation->answered, memory_order_relaxed) < least)
		return now_ns >= end_ns + GIVE_UP_NS;
	return now_ns >= end_ns;
}

/* Requests in flight find `saturation` gone if it returns too early. */
static int drain(struct saturation *saturation, char *error)
{
	while (atomic_load_explicit(&saturation->in_flight, memory_order_acquire) > 0) {
		if (target_check(saturation->target, error) != 0)
			return -1;
		target_wait(saturation->target, target_now_ns() + STEP_NS);
	}
	return 0;
}

static double rate_of(const struct saturation *saturation, uint64_t begin_ns, uint64_t now_ns)
{
	uint64_t answered = saturation->answered;
	if (!saturation->rounds_of)
		return (double)answered * NS_PER_S / (double)(now_ns - begin_ns);
	uint64_t took_ns = saturation->last_ns - saturation->first_ns;
	return took_ns && answered ? (double)saturation->last_round * NS_PER_S / (double)took_ns
				   : 0;
}

int saturation_run(struct saturation *saturation, char error[TARGET_ERROR_MAX])
{
	struct random random;
	random_seed(&random, saturation->seed);
	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	uint64_t begin_ns = target_now_ns() + saturation->warm_ns;
	uint64_t end_ns = begin_ns + saturation->length_ns, now_ns = target_now_ns();
	int status = 0;
	for (; status == 0 && !is_over(saturation, end_ns, now_ns); now_ns = target_now_ns()) {
		atomic_store_explicit(
			&saturation->counts, now_ns >= begin_ns, memory_order_relaxed);
		status = target_check(saturation->target, error);
		top_up(saturation, &random);
		wait_a_little(saturation, now_ns, now_ns < end_ns ? end_ns : now_ns + STEP_NS);
	}
	atomic_store_explicit(&saturation->counts, false, memory_order_relaxed);
	saturation->answers_per_s = rate_of(saturation, begin_ns, now_ns);
	if (status == 0)
		status = drain(saturation, error);
	saturation->replies = saturation->replied;
	if (status != 0 || !saturation->failed)
		return status;
	snprintf(
		error, TARGET_ERROR_MAX, "while measuring saturation: %.200s", saturation->failure);
	return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what happens between opening a target and measuring it: the hot set comes into the pool,
 * every connection compiles its statement, the library sees a healthy second. Nothing here is
 * reported.
 */
#include "bench/experiment/warmup.h"

#include <stdio.h>

#define WARM_UP_NS   1000000000u
#define GIVE_UP_NS   20000000000u
#define WARM_UP_SALT 0x77617264u
#define WARM_SLO_NS  5000000u

static int read_hot_set(struct target *target, char error[TARGET_ERROR_MAX])
{
	struct target_client *client;
	struct target_answer answer = { 0 };
	if (target_client_open(target, &client) != 0) {
		snprintf(error, TARGET_ERROR_MAX, "cannot open a session to warm the pool");
		return -1;
	}
	target_client_run(client, WARM_HOT_SET, false, 0, &answer);
	target_client_close(client);
	if (answer.status == TARGET_OK)
		return 0;
	snprintf(error, TARGET_ERROR_MAX, "cannot read the hot set: %.200s", answer.error);
	return -1;
}

int warm_up(struct warm *warm, struct target *target, const struct case_plan *plan, double rate_qps,
	uint64_t seed, char error[TARGET_ERROR_MAX])
{
	if (read_hot_set(target, error) != 0)
		return -1;
	const char *why = "out of memory for the warm-up";
	struct schedule_options options = { .struct_size = sizeof options,
		.seed = seed ^ WARM_UP_SALT,
		.rate_qps = rate_qps,
		.length_ns = WARM_UP_NS };
	if (schedule_make(&options, &warm->schedule, &why) != 0 ||
		samples_make(&warm->data, &warm->schedule, WARM_SLO_NS) != 0) {
		snprintf(error, TARGET_ERROR_MAX, "%s", why);
		return -1;
	}
	warm->loadgen = (struct loadgen){ .target = target,
		.data = warm->data,
		.live = &warm->live,
		.ask = plan->ask,
		.ask_arg = plan,
		.start_ns = target_now_ns() };
	if (loadgen_start(&warm->loadgen) == 0 && loadgen_finish(&warm->loadgen, GIVE_UP_NS) == 0)
		return 0;
	snprintf(error, TARGET_ERROR_MAX, "the warm-up load of %.0f questions was not answered",
		(double)warm->schedule.count);
	return -1;
}

void warm_free(struct warm *warm)
{
	samples_free(warm->data);
	schedule_free(&warm->schedule);
}

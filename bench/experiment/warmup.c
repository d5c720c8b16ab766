/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what happens between opening a target and measuring it: the hot set comes into the pool,
 * every connection compiles its statement, the library sees a healthy second. Nothing here is
 * reported.
 */
#include "bench/experiment/warmup.h"

#include <stdio.h>
#include <stdlib.h>

#define WARM_UP_NS   1000000000u
#define GIVE_UP_NS   20000000000u
#define WARM_UP_SALT 0x77617264u

static int prepare(struct target *target, const struct case_plan *plan, char *error)
{
	struct target_client *client;
	if (target_client_open(target, true, &client) != 0) {
		snprintf(error, TARGET_ERROR_MAX, "cannot open a session to warm the pool");
		return -1;
	}
	int status = 0;
	for (int i = 0; status == 0 && i < CASE_PREPARE_MAX && plan->prepare[i]; i++)
		status = target_client_do(client, plan->prepare[i], error);
	if (status == 0)
		status = target_client_do(client, WARM_HOT_SET, error);
	target_client_close(client);
	return status;
}

static int begin(struct warm *warm, double rate_qps, uint64_t seed, const char **why)
{
	struct schedule_options options = { .struct_size = sizeof options,
		.seed = seed ^ WARM_UP_SALT,
		.rate_qps = rate_qps,
		.length_ns = WARM_UP_NS };
	if (schedule_make(&options, &warm->schedule, why) != 0)
		return -1;
	warm->outcomes = calloc(warm->schedule.count + 1, sizeof *warm->outcomes);
	const struct clients_options clients = { .struct_size = sizeof clients,
		.schedule = &warm->schedule,
		.outcomes = warm->outcomes };
	warm->sender.clients = warm->outcomes ? clients_new(&clients) : NULL;
	return warm->sender.clients ? 0 : -1;
}

int warm_up(struct warm *warm, struct target *target, const struct case_plan *plan, double rate_qps,
	uint64_t seed, char error[TARGET_ERROR_MAX])
{
	const char *why = "out of memory for the warm-up";
	if (prepare(target, plan, error) != 0)
		return -1;
	if (plan->timeout_ns)
		return 0;
	if (begin(warm, rate_qps, seed, &why) != 0) {
		snprintf(error, TARGET_ERROR_MAX, "%s", why);
		return -1;
	}
	warm->sender.target = target;
	warm->sender.ask = plan->ask;
	warm->sender.ask_arg = plan;
	warm->sender.start_ns = target_now_ns();
	if (sender_run(&warm->sender, GIVE_UP_NS) == 0)
		return 0;
	snprintf(error, TARGET_ERROR_MAX, "the warm-up load of %.0f questions was not answered",
		(double)warm->schedule.count);
	return -1;
}

void warm_free(struct warm *warm)
{
	clients_free(warm->sender.clients);
	free(warm->outcomes);
	schedule_free(&warm->schedule);
}

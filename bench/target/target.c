/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of targets, and what is the same for all of them. */
#include "bench/target/target.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_S 1000000000u
#define STEP_NS	 1000000u

static const struct target_api *const targets[] = {
	[ENGINE_TARGET] = &target_engine,
	[SERVER_TARGET] = &target_server,
};

uint64_t target_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int target_open(
	const struct target_options *options, struct target **target, char error[TARGET_ERROR_MAX])
{
	return targets[options->kind]->open(options, target, error);
}

void target_close(struct target *target)
{
	if (target)
		target->api->close(target);
}

void target_arm(struct target *target)
{
	if (target->api->arm)
		target->api->arm(target);
}

void target_wait(struct target *target, uint64_t until_ns)
{
	target->api->wait(target, until_ns);
}

int target_check(struct target *target, char error[TARGET_ERROR_MAX])
{
	return target->api->check ? target->api->check(target, error) : 0;
}

const char *target_io(struct target *target)
{
	return target->api->io(target);
}

pid_t target_process(struct target *target)
{
	return target->api->process ? target->api->process(target) : 0;
}

uint64_t target_cpu_ns(struct target *target)
{
	return target->api->cpu_ns ? target->api->cpu_ns(target) : 0;
}

void target_submit(struct target *target, const struct target_request *request)
{
	target->api->submit(target, request);
}

int target_client_open(struct target *target, bool operates, struct target_client **client)
{
	return target->api->client_open(target, operates, client);
}

void target_client_close(struct target_client *client)
{
	client->target->api->client_close(client);
}

void target_client_ask(struct target_client *client, const struct target_request *request)
{
	client->target->api->client_ask(client, request);
}

uint64_t target_client_key(const struct target_client *client)
{
	return client->target->api->client_key(client);
}

struct done {
	_Atomic bool heard;
	struct target_answer answer;
};

static void on_done(void *arg, uint64_t token, const struct target_answer *answer)
{
	struct done *done = arg;
	(void)token;
	done->answer = *answer;
	atomic_store_explicit(&done->heard, true, memory_order_release);
}

int target_client_do(struct target_client *client, const char *sql, char error[TARGET_ERROR_MAX])
{
	static struct done done; /* an answer that comes after all finds it here */
	done = (struct done){ 0 };
	target_client_ask(
		client, &(struct target_request){ .sql = sql, .callback = on_done, .arg = &done });
	while (!atomic_load_explicit(&done.heard, memory_order_acquire)) {
		if (target_check(client->target, error) != 0)
			return -1;
		target_wait(client->target, target_now_ns() + STEP_NS);
	}
	if (done.answer.status == TARGET_OK)
		return 0;
	snprintf(error, TARGET_ERROR_MAX, "the target answered: %.200s", done.answer.error);
	return -1;
}

void target_kill_oldest(struct target *target, uint64_t least_age_ns)
{
	target->api->kill_oldest(target, least_age_ns);
}

void target_stop_clients(struct target *target)
{
	if (target->api->stop_clients)
		target->api->stop_clients(target);
}

int target_finish(struct target *target, char error[TARGET_ERROR_MAX])
{
	return target->api->finish ? target->api->finish(target, error) : 0;
}

void target_read_gauges(struct target *target, struct target_gauges *gauges)
{
	target->api->read_gauges(target, gauges);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a target that keeps time with nothing but its callers: no threads, no engine. */
#include "tests/bench/fake_target.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEPT_MAX    20000
#define CLIENTS_MAX 8

struct fake_settings fake_settings;

struct kept {
	target_callback callback;
	void *arg;
	uint64_t token;
};

static void fake_wait(struct target *target, uint64_t until_ns)
{
	(void)target;
	struct timespec at = { .tv_sec = (time_t)(until_ns / 1000000000u),
		.tv_nsec = (long)(until_ns % 1000000000u) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

struct fake_client {
	struct target_client base;
	struct fake_target *target;
	uint64_t key, since_ns;
	bool holding;
	struct kept statement; /* that holds */
};

struct fake_target {
	struct target base;
	struct target_options options;
	pthread_mutex_t lock;
	struct fake_client *clients[CLIENTS_MAX];
	uint32_t client_count;
	uint64_t last_key, decided;
	struct kept kept[KEPT_MAX];
	uint32_t kept_count;
	bool stopping;
};

static int fake_open(
	const struct target_options *options, struct target **opened, char error[TARGET_ERROR_MAX])
{
	if (fake_settings.refuse_open) {
		snprintf(error, TARGET_ERROR_MAX, "the fake refuses");
		return -1;
	}
	struct fake_target *target = calloc(1, sizeof *target);
	if (!target)
		return -1;
	target->base.api = &target_engine;
	target->options = *options;
	pthread_mutex_init(&target->lock, NULL);
	*opened = &target->base;
	return 0;
}

static struct fake_client *holder_of(struct fake_target *target)
{
	for (uint32_t i = 0; i < target->client_count; i++)
		if (target->clients[i]->holding)
			return target->clients[i];
	return NULL;
}

static void answer(const struct kept *kept, enum target_status status)
{
	struct target_answer text = { .status = status };
	kept->callback(kept->arg, kept->token, &text);
}

/* Called with the lock, returns without it. */
static void answer_kept(struct fake_target *target)
{
	uint32_t count = target->kept_count;
	struct kept *kept = calloc(count + 1, sizeof *kept);
	if (kept)
		memcpy(kept, target->kept, count * sizeof *kept);
	target->kept_count = 0;
	pthread_mutex_unlock(&target->lock);
	for (uint32_t i = 0; kept && i < count; i++)
		answer(&kept[i], TARGET_OK);
	free(kept);
}

static void fake_close(struct target *base)
{
	struct fake_target *target = (struct fake_target *)base;
	pthread_mutex_lock(&target->lock);
	answer_kept(target);
	pthread_mutex_destroy(&target->lock);
	free(target);
}

static const char *fake_io(struct target *target)
{
	(void)target;
	return "fake";
}

/* Ends the statement that holds; false: there is none of that key. */
static bool release(struct fake_target *target, uint64_t key)
{
	pthread_mutex_lock(&target->lock);
	struct fake_client *holder = holder_of(target);
	if (!holder || holder->key != key) {
		pthread_mutex_unlock(&target->lock);
		return false;
	}
	holder->holding = false;
	answer_kept(target);
	answer(&holder->statement, TARGET_CANCELLED);
	return true;
}

static void decide(struct fake_target *target, uint64_t key)
{
	uint64_t now_ns = target_now_ns();
	struct target_decision decision = { .serial = 1,
		.key = key,
		.acted = true,
		.suspected_ns = now_ns,
		.decided_ns = now_ns,
		.why = "it holds everybody" };
	target->options.on_decision(target->options.on_decision_arg, &decision);
	release(target, key);
	decision.delivered_ns = decision.acknowledged_ns = decision.released_ns = target_now_ns();
	target->options.on_decision(target->options.on_decision_arg, &decision);
}

static void fake_submit(struct target *base, const struct target_request *request)
{
	struct fake_target *target = (struct fake_target *)base;
	struct kept kept = { request->callback, request->arg, request->token };
	pthread_mutex_lock(&target->lock);
	const struct fake_client *holder = holder_of(target);
	uint64_t key = holder ? holder->key : 0;
	if (holder && target->kept_count < KEPT_MAX)
		target->kept[target->kept_count++] = kept;
	bool enough = target->options.control == TARGET_ACT && holder && !target->decided &&
		      target->kept_count >= FAKE_PATIENCE;
	target->decided |= enough;
	pthread_mutex_unlock(&target->lock);
	if (!holder)
		answer(&kept, fake_settings.reject_all ? TARGET_REJECTED : TARGET_OK);
	if (enough)
		decide(target, key);
}

static int fake_client_open(struct target *base, bool operates, struct target_client **client)
{
	struct fake_target *target = (struct fake_target *)base;
	(void)operates;
	struct fake_client *made = calloc(1, sizeof *made);
	if (!made || target->client_count == CLIENTS_MAX) {
		free(made);
		return -1;
	}
	pthread_mutex_lock(&target->lock);
	made->base.target = base;
	made->target = target;
	made->key = ++target->last_key;
	target->clients[target->client_count++] = made;
	pthread_mutex_unlock(&target->lock);
	*client = &made->base;
	return 0;
}

static void fake_client_close(struct target_client *base)
{
	struct fake_client *client = (struct fake_client *)base;
	struct fake_target *target = client->target;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++)
		if (target->clients[i] == client)
			target->clients[i] = target->clients[--target->client_count];
	pthread_mutex_unlock(&target->lock);
	free(client);
}

static void fake_client_ask(struct target_client *base, const struct target_request *request)
{
	struct fake_client *client = (struct fake_client *)base;
	struct fake_target *target = client->target;
	struct kept kept = { request->callback, request->arg, request->token };
	pthread_mutex_lock(&target->lock);
	client->holding =
		strncmp(request->sql, FAKE_HOLD, strlen(FAKE_HOLD)) == 0 && !target->stopping;
	client->statement = kept;
	client->since_ns = target_now_ns();
	bool holds = client->holding;
	pthread_mutex_unlock(&target->lock);
	if (!holds)
		answer(&kept, TARGET_OK);
}

static uint64_t fake_client_key(const struct target_client *client)
{
	return ((const struct fake_client *)client)->key;
}

static void fake_kill_oldest(struct target *base, uint64_t least_age_ns)
{
	struct fake_target *target = (struct fake_target *)base;
	uint64_t now_ns = target_now_ns();
	pthread_mutex_lock(&target->lock);
	const struct fake_client *holder = holder_of(target);
	bool is_old = holder && now_ns >= holder->since_ns + least_age_ns;
	struct target_decision decision = { .key = holder ? holder->key : 0,
		.acted = true,
		.decided_ns = now_ns,
		.delivered_ns = now_ns,
		.why = "it was there longest" };
	pthread_mutex_unlock(&target->lock);
	if (is_old && release(target, decision.key))
		target->options.on_decision(target->options.on_decision_arg, &decision);
}

static void fake_stop_clients(struct target *base)
{
	struct fake_target *target = (struct fake_target *)base;
	pthread_mutex_lock(&target->lock);
	target->stopping = true;
	const struct fake_client *holder = holder_of(target);
	uint64_t key = holder ? holder->key : 0;
	pthread_mutex_unlock(&target->lock);
	release(target, key);
}

static void fake_read_gauges(struct target *target, struct target_gauges *gauges)
{
	(void)target;
	*gauges = (struct target_gauges){ 0 };
}

const struct target_api target_engine = {
	.deaf_ns = 50000,
	.open = fake_open,
	.close = fake_close,
	.wait = fake_wait,
	.io = fake_io,
	.submit = fake_submit,
	.client_open = fake_client_open,
	.client_close = fake_client_close,
	.client_ask = fake_client_ask,
	.client_key = fake_client_key,
	.kill_oldest = fake_kill_oldest,
	.stop_clients = fake_stop_clients,
	.read_gauges = fake_read_gauges,
};

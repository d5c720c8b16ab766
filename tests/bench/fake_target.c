/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a target that keeps time with nothing but its callers: no threads, no sleeps, no engine. */
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

struct target_client {
	struct target *target;
	uint64_t key, since_ns;
	bool holding, killed;
};

struct target {
	struct target_options options;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct target_client *clients[CLIENTS_MAX];
	uint32_t client_count;
	uint64_t last_key, decided;
	struct kept kept[KEPT_MAX];
	uint32_t kept_count;
	bool stopping;
};

uint64_t target_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int target_open(
	const struct target_options *options, struct target **target, char error[TARGET_ERROR_MAX])
{
	if (fake_settings.refuse_open) {
		snprintf(error, TARGET_ERROR_MAX, "the fake refuses");
		return -1;
	}
	*target = calloc(1, sizeof **target);
	if (!*target)
		return -1;
	(*target)->options = *options;
	pthread_mutex_init(&(*target)->lock, NULL);
	pthread_cond_init(&(*target)->changed, NULL);
	return 0;
}

void target_arm(struct target *target)
{
	(void)target;
}

static struct target_client *holder_of(struct target *target)
{
	for (uint32_t i = 0; i < target->client_count; i++)
		if (target->clients[i]->holding && !target->clients[i]->killed)
			return target->clients[i];
	return NULL;
}

static void answer(const struct kept *kept, enum target_status status)
{
	struct target_answer text = { .status = status };
	kept->callback(kept->arg, kept->token, &text);
}

/* Called with the lock, returns without it. */
static void answer_kept(struct target *target)
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

void target_close(struct target *target)
{
	pthread_mutex_lock(&target->lock);
	answer_kept(target);
	pthread_cond_destroy(&target->changed);
	pthread_mutex_destroy(&target->lock);
	free(target);
}

const char *target_io(struct target *target)
{
	(void)target;
	return "fake";
}

static void decide(struct target *target, uint64_t key)
{
	uint64_t now_ns = target_now_ns();
	struct target_decision decision = { .serial = 1,
		.key = key,
		.acted = true,
		.suspected_ns = now_ns,
		.decided_ns = now_ns,
		.why = "it holds everybody" };
	target->options.on_decision(target->options.on_decision_arg, &decision);
	target_kill(target, key);
	decision.delivered_ns = decision.acknowledged_ns = decision.released_ns = target_now_ns();
	target->options.on_decision(target->options.on_decision_arg, &decision);
}

void target_submit(struct target *target, const struct target_request *request)
{
	struct kept kept = { request->callback, request->arg, request->token };
	pthread_mutex_lock(&target->lock);
	const struct target_client *holder = holder_of(target);
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

int target_client_open(struct target *target, struct target_client **client)
{
	struct target_client *made = calloc(1, sizeof *made);
	if (!made || target->client_count == CLIENTS_MAX) {
		free(made);
		return -1;
	}
	pthread_mutex_lock(&target->lock);
	made->target = target;
	made->key = ++target->last_key;
	target->clients[target->client_count++] = made;
	pthread_mutex_unlock(&target->lock);
	*client = made;
	return 0;
}

void target_client_close(struct target_client *client)
{
	struct target *target = client->target;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++)
		if (target->clients[i] == client)
			target->clients[i] = target->clients[--target->client_count];
	pthread_mutex_unlock(&target->lock);
	free(client);
}

void target_client_run(struct target_client *client, const char *sql, bool rows_out,
	uint32_t row_pause_us, struct target_answer *sum)
{
	struct target *target = client->target;
	(void)rows_out;
	(void)row_pause_us;
	*sum = (struct target_answer){ .rows = 1 };
	if (strncmp(sql, FAKE_HOLD, strlen(FAKE_HOLD)) != 0)
		return;
	pthread_mutex_lock(&target->lock);
	client->holding = true;
	client->killed = false;
	client->since_ns = target_now_ns();
	while (!client->killed && !target->stopping)
		pthread_cond_wait(&target->changed, &target->lock);
	client->holding = false;
	sum->status = TARGET_CANCELLED;
	answer_kept(target);
}

void target_backup(struct target *target, struct target_answer *sum)
{
	(void)target;
	*sum = (struct target_answer){ 0 };
}

uint64_t target_client_key(const struct target_client *client)
{
	return client->key;
}

bool target_kill(struct target *target, uint64_t key)
{
	pthread_mutex_lock(&target->lock);
	struct target_client *holder = holder_of(target);
	bool hit = holder && holder->key == key;
	if (hit) {
		holder->killed = true;
		pthread_cond_broadcast(&target->changed);
	}
	pthread_mutex_unlock(&target->lock);
	return hit;
}

void target_hold_rows(struct target *target, bool hold)
{
	(void)target;
	(void)hold;
}

void target_stop_clients(struct target *target)
{
	pthread_mutex_lock(&target->lock);
	target->stopping = true;
	pthread_cond_broadcast(&target->changed);
	pthread_mutex_unlock(&target->lock);
}

bool target_oldest(struct target *target, struct target_running *oldest)
{
	pthread_mutex_lock(&target->lock);
	const struct target_client *holder = holder_of(target);
	if (holder)
		*oldest = (struct target_running){ holder->key, holder->since_ns };
	pthread_mutex_unlock(&target->lock);
	return holder != NULL;
}

void target_read_gauges(struct target *target, struct target_gauges *gauges)
{
	(void)target;
	*gauges = (struct target_gauges){ 0 };
}

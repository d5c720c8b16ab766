/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the threads that play a case's tasks and what they note of each execution. A task counts
 * from its scheduled start. It does not try again after a cancel: what is rerun is the target's
 * business.
 */
#include "bench/experiment/actors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S	 1000000000u
#define FOREVER_PAUSE_NS 10000000u /* between the rounds of a bystander, also after an error */

struct player {
	struct cast *cast;
	const struct actor *actor;
	struct target_client *client;
	pthread_t thread;
	bool started;
};

struct cast {
	struct cast_options options;
	pthread_mutex_t lock;
	pthread_cond_t dismissed_changed;
	bool dismissed;
	uint32_t player_count;
	struct player players[CASE_ACTORS_MAX];
};

/* False when the cast was dismissed before that instant. */
static bool wait_until(struct cast *cast, uint64_t at_ns)
{
	struct timespec at = { .tv_sec = (time_t)(at_ns / NS_PER_S),
		.tv_nsec = (long)(at_ns % NS_PER_S) };
	pthread_mutex_lock(&cast->lock);
	while (!cast->dismissed &&
		pthread_cond_timedwait(&cast->dismissed_changed, &cast->lock, &at) != ETIMEDOUT)
		;
	bool go = !cast->dismissed;
	pthread_mutex_unlock(&cast->lock);
	return go;
}

static struct task_record *begin_record(struct player *player, uint64_t start_ns)
{
	const struct cast_options *options = &player->cast->options;
	struct task_record *record = NULL;
	pthread_mutex_lock(options->data_lock);
	if (options->data->task_count < RUN_TASKS_MAX) {
		record = &options->data->tasks[options->data->task_count++];
		*record = (struct task_record){ .label = player->actor->label,
			.start_ns = start_ns,
			.key = player->client ? target_client_key(player->client)
					      : TARGET_BACKUP_KEY };
		snprintf(record->name, sizeof record->name, "%s", player->actor->name);
	}
	pthread_mutex_unlock(options->data_lock);
	return record;
}

static void end_record(
	struct player *player, struct task_record *record, const struct target_answer *sum)
{
	const struct cast_options *options = &player->cast->options;
	uint64_t now_ns = target_now_ns();
	pthread_mutex_lock(options->data_lock);
	record->end_ns = now_ns > options->start_ns ? now_ns - options->start_ns : 0;
	record->completed = sum->status == TARGET_OK;
	record->cancelled = sum->status == TARGET_CANCELLED;
	record->reruns = sum->reruns;
	record->work = sum->rows;
	pthread_mutex_unlock(options->data_lock);
}

static void add_answer(struct target_answer *sum, const struct target_answer *answer)
{
	sum->status = answer->status;
	sum->rows += answer->rows;
	sum->reruns += answer->reruns;
}

void actor_play(const struct actor *actor, struct target_client *client, struct target_answer *sum)
{
	struct target_answer answer = { 0 };
	if (actor->in_transaction)
		target_client_run(client, "BEGIN", false, 0, &answer);
	for (uint32_t i = 0; i < CASE_STATEMENTS_MAX && actor->statements[i]; i++) {
		target_client_run(client, actor->statements[i], actor->rows_out,
			actor->row_pause_us, &answer);
		add_answer(sum, &answer);
		if (answer.status != TARGET_OK)
			break;
	}
	if (!actor->in_transaction)
		return;
	target_client_run(
		client, sum->status == TARGET_OK ? "COMMIT" : "ROLLBACK", false, 0, &answer);
	if (sum->status == TARGET_OK)
		sum->status = answer.status;
}

static void play_once(struct player *player, uint64_t start_ns)
{
	struct task_record *record = begin_record(player, start_ns);
	struct target_answer sum = { 0 };
	if (player->actor->backup)
		target_backup(player->cast->options.target, &sum);
	else
		actor_play(player->actor, player->client, &sum);
	if (record)
		end_record(player, record, &sum);
}

static void *play(void *arg)
{
	struct player *player = arg;
	const struct actor *actor = player->actor;
	uint64_t run_start_ns = player->cast->options.start_ns, at_ns = actor->start_ns;
	while (wait_until(player->cast, run_start_ns + at_ns)) {
		play_once(player, at_ns);
		uint64_t now_ns = target_now_ns() - run_start_ns;
		if (actor->forever)
			at_ns = now_ns + FOREVER_PAUSE_NS;
		else if (actor->every_ns)
			while (at_ns <= now_ns)
				at_ns += actor->every_ns;
		else
			break;
	}
	return NULL;
}

static bool takes_part(const struct cast_options *options, const struct actor *actor)
{
	if (actor->label == LABEL_CULPRIT)
		return options->culprits;
	if (actor->label == LABEL_WAITING)
		return options->waiting;
	return true;
}

static int start_player(struct cast *cast, const struct actor *actor)
{
	struct player *player = &cast->players[cast->player_count];
	*player = (struct player){ .cast = cast, .actor = actor };
	if (!actor->backup && target_client_open(cast->options.target, &player->client) != 0)
		return -1;
	cast->player_count++;
	player->started = pthread_create(&player->thread, NULL, play, player) == 0;
	return player->started ? 0 : -1;
}

int cast_start(const struct cast_options *options, struct cast **cast)
{
	struct cast *made = calloc(1, sizeof *made);
	if (!made)
		return -1;
	made->options = *options;
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&made->dismissed_changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&made->lock, NULL);
	for (uint32_t i = 0; i < options->plan->actor_count; i++) {
		const struct actor *actor = &options->plan->actors[i];
		if (!takes_part(options, actor) || start_player(made, actor) == 0)
			continue;
		cast_dismiss(made);
		target_stop_clients(options->target);
		cast_join(made);
		return -1;
	}
	*cast = made;
	return 0;
}

void cast_dismiss(struct cast *cast)
{
	pthread_mutex_lock(&cast->lock);
	cast->dismissed = true;
	pthread_cond_broadcast(&cast->dismissed_changed);
	pthread_mutex_unlock(&cast->lock);
}

void cast_join(struct cast *cast)
{
	for (uint32_t i = 0; i < cast->player_count; i++) {
		if (cast->players[i].started)
			pthread_join(cast->players[i].thread, NULL);
		if (cast->players[i].client)
			target_client_close(cast->players[i].client);
	}
	pthread_cond_destroy(&cast->dismissed_changed);
	pthread_mutex_destroy(&cast->lock);
	free(cast);
}

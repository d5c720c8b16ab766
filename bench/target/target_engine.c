/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the bench's side of demo-db: the engine and the library under it, the pool of sessions the
 * load is asked through, the statement timeout and the concurrency limit of the rivals, and what
 * an operator sees and kills.
 */
#include "bench/target/target_engine_inside.h"

#include <stdlib.h>
#include <string.h>

#include <cancel/cancel.h>
#include <cancel/observe.h>

#define MIB		(1024u * 1024u)
#define DEFAULT_POOL_MB 64
#define DEFAULT_WORKERS 8
#define DEFAULT_QUEUE	16384
#define TIMEOUT_POLL_NS (2u * (uint64_t)NS_PER_MS)
#define SPARE_SLOTS	64
#define DEAF_NS		50000u /* answers come on other threads */

void engine_sleep_ns(uint64_t ns)
{
	struct timespec pause = { .tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S) };
	nanosleep(&pause, NULL);
}

static uint64_t to_library_ns(const struct engine_target *target, uint64_t at_ns)
{
	return (uint64_t)((int64_t)at_ns + target->clock_offset_ns);
}

static uint64_t from_library_ns(const struct engine_target *target, uint64_t at_ns)
{
	return at_ns ? (uint64_t)((int64_t)at_ns - target->clock_offset_ns) : 0;
}

/* ---- What the library says ------------------------------------------------------------------- */

static void on_change(
	enum cancel_change change, const struct cancel_decision_record *record, void *arg)
{
	struct engine_target *target = arg;
	const struct cancel_times *times = &record->outcome.times;
	struct target_decision decision = { .serial = record->serial,
		.key = record->decision.target.key,
		.acted = record->decision.acted,
		.suspected_ns = from_library_ns(target, times->suspected_ns),
		.decided_ns = from_library_ns(target, times->decided_ns),
		.delivered_ns = from_library_ns(target, times->delivered_ns),
		.acknowledged_ns = from_library_ns(target, times->acknowledged_ns),
		.released_ns = from_library_ns(target, times->released_ns),
		.wasted_ns = record->outcome.wasted_ns };
	if (change == CANCEL_CHANGE_STACK)
		return;
	if (record->outcome.reruns && times->released_ns)
		decision.rerun_ns = decision.released_ns + record->outcome.rerun_wait_ns;
	snprintf(decision.why, sizeof decision.why, "%s", record->text);
	target->options.on_decision(target->options.on_decision_arg, &decision);
}

/* The run has a line of its own for each decision; the rest is worth reading. */
static void on_log(void *arg, const char *line)
{
	(void)arg;
	if (strncmp(line, "task ", strlen("task ")) != 0)
		fprintf(stderr, "libcancel: %s\n", line);
}

static int start_library(struct engine_target *target, char error[TARGET_ERROR_MAX])
{
	const struct target_options *options = &target->options;
	const struct cancel_class classes[] = {
		[CLASS_LOAD] = { .name = "load", .slo_ns = options->slo_ns },
		[CLASS_BATCH] = { .name = "batch" },
	};
	struct cancel_config config = { .struct_size = sizeof config,
		.mode = options->control == TARGET_ACT ? CANCEL_ACT : CANCEL_MONITOR,
		.max_tasks = target->slot_count + CLIENTS_MAX + SPARE_SLOTS,
		.policy = options->policy,
		.classes = classes,
		.class_count = 2,
		.log = on_log,
		.always_precise = options->precise_always };
	if (options->control == TARGET_OFF)
		return 0;
	if (options->on_decision)
		cancel_set_listener(on_change, target);
	int status = cancel_start(&config);
	if (status == 0)
		return 0;
	cancel_set_listener(NULL, NULL);
	snprintf(error, TARGET_ERROR_MAX, "cannot start libcancel: %s", cancel_error_text(status));
	return -1;
}

static void stop_library(struct engine_target *target)
{
	if (target->options.control == TARGET_OFF)
		return;
	cancel_stop();
	cancel_set_listener(NULL, NULL);
}

/* ---- The load -------------------------------------------------------------------------------- */

/* Callers hold the lock. */
static void slot_enlist(struct engine_target *target, struct slot *slot)
{
	slot->asked = true;
	slot->timed_out = false;
	slot->previous = target->newest;
	slot->next = NULL;
	*(target->newest ? &target->newest->next : &target->oldest) = slot;
	target->newest = slot;
	target->asked_count++;
}

static void slot_free(struct engine_target *target, struct slot *slot)
{
	pthread_mutex_lock(&target->lock);
	*(slot->previous ? &slot->previous->next : &target->oldest) = slot->next;
	*(slot->next ? &slot->next->previous : &target->newest) = slot->previous;
	slot->asked = false;
	slot->next = target->free_slots;
	target->free_slots = slot;
	target->asked_count--;
	pthread_mutex_unlock(&target->lock);
}

enum target_status engine_status(int status, bool cancelled)
{
	if (status == 0)
		return TARGET_OK;
	if (status == DB_EQUEUE || status == DB_ESESSIONS)
		return TARGET_REJECTED;
	return cancelled || status == DB_ECANCELLED || status == DB_ESTOPPED ? TARGET_CANCELLED
									     : TARGET_FAILED;
}

void engine_fill_answer(struct target_answer *answer, const struct db_result *result)
{
	*answer =
		(struct target_answer){ .status = engine_status(result->status, result->cancelled),
			.rows = result->changes > 0 ? (uint64_t)result->changes : result->rows,
			.reruns = result->reruns };
	if (result->status != 0)
		snprintf(answer->error, sizeof answer->error, "%s %s", result->sqlstate,
			result->message ? result->message : "");
}

static void on_slot_done(void *arg, const struct db_result *result)
{
	struct slot *slot = arg;
	struct target_answer answer;
	target_callback callback = slot->callback;
	void *callback_arg = slot->arg;
	uint64_t token = slot->token;
	engine_fill_answer(&answer, result);
	slot_free(slot->target, slot);
	callback(callback_arg, token, &answer);
}

static void refuse(const struct target_request *request, enum target_status status, int error)
{
	struct target_answer answer = { .status = status };
	snprintf(answer.error, sizeof answer.error, "%s",
		error ? db_error_text(error) : "over the limit");
	request->callback(request->arg, request->token, &answer);
}

/* Callers hold the lock. */
static int find_statement(
	struct engine_target *target, const char *sql, struct db_statement *statement)
{
	for (uint32_t i = 0; i < target->prepared_count; i++)
		if (target->prepared[i].sql == sql) {
			*statement = target->prepared[i].statement;
			return 0;
		}
	if (target->prepared_count == STATEMENTS_MAX)
		return DB_EINVAL;
	int status = db_prepare(target->engine, sql, statement, NULL);
	if (status == 0)
		target->prepared[target->prepared_count++] =
			(struct prepared){ .sql = sql, .statement = *statement };
	return status;
}

/* Takes a session off the stack; NULL with *error 0 when the limit says no. */
static struct slot *slot_take(struct engine_target *target, const struct target_request *request,
	struct db_statement *statement, int *error)
{
	bool armed = atomic_load_explicit(&target->armed, memory_order_relaxed);
	uint32_t limit = armed ? target->options.concurrency_limit : 0;
	struct slot *slot = NULL;
	pthread_mutex_lock(&target->lock);
	*error = 0;
	if (!limit || target->asked_count < limit)
		slot = target->free_slots;
	if (!limit && !slot)
		*error = DB_EQUEUE;
	if (slot && !slot->session)
		*error = db_session_open(target->engine, NULL, &slot->session);
	if (slot && *error == 0)
		*error = find_statement(target, request->sql, statement);
	if (*error != 0)
		slot = NULL;
	if (slot) {
		target->free_slots = slot->next;
		slot_enlist(target, slot);
		slot->callback = request->callback;
		slot->arg = request->arg;
		slot->token = request->token;
		slot->due_ns = request->due_ns;
	}
	pthread_mutex_unlock(&target->lock);
	return slot;
}

void engine_parameters(const struct target_request *request, struct db_value *parameters)
{
	for (uint32_t i = 0; i < request->arg_count; i++)
		parameters[i] =
			(struct db_value){ .type = DB_INTEGER, .integer = request->args[i] };
}

static void engine_submit(struct target *base, const struct target_request *request)
{
	struct engine_target *target = (struct engine_target *)base;
	struct db_statement statement;
	int error;
	struct slot *slot = slot_take(target, request, &statement, &error);
	if (!slot) {
		refuse(request, engine_status(error ? error : DB_EQUEUE, false), error);
		return;
	}
	engine_parameters(request, slot->parameters);
	struct db_request db_request = { .struct_size = sizeof db_request,
		.statement = statement,
		.parameters = slot->parameters,
		.parameter_count = request->arg_count,
		.arrival_ns = to_library_ns(target, request->due_ns),
		.class_index = CLASS_LOAD,
		.on_done = on_slot_done,
		.arg = slot };
	error = db_submit(slot->session, &db_request);
	if (error == 0)
		return;
	slot_free(target, slot);
	refuse(request, engine_status(error, false), error);
}

/* ---- The statement timeout ------------------------------------------------------------------- */

static void note_cancel(struct engine_target *target, uint64_t key, uint64_t since_ns,
	uint64_t now_ns, const char *what, double ms)
{
	struct target_decision decision = { .key = key,
		.acted = true,
		.decided_ns = now_ns,
		.delivered_ns = now_ns,
		.wasted_ns = now_ns - since_ns };
	snprintf(decision.why, sizeof decision.why, "%s %.0f ms", what, ms);
	if (target->options.on_decision)
		target->options.on_decision(target->options.on_decision_arg, &decision);
}

static void note_timeout(
	struct engine_target *target, uint64_t key, uint64_t since_ns, uint64_t now_ns)
{
	note_cancel(target, key, since_ns, now_ns, "statement timeout of",
		target->options.statement_timeout_ms);
}

static bool expire_oldest(struct engine_target *target, uint64_t now_ns, uint64_t limit_ns)
{
	uint64_t key = 0, since_ns = 0;
	pthread_mutex_lock(&target->lock);
	struct slot *slot = target->oldest;
	while (slot && slot->timed_out)
		slot = slot->next;
	if (slot && slot->due_ns + limit_ns <= now_ns && db_cancel_session(slot->session)) {
		slot->timed_out = true;
		key = db_session_number(slot->session);
		since_ns = slot->due_ns;
	}
	pthread_mutex_unlock(&target->lock);
	if (key)
		note_timeout(target, key, since_ns, now_ns);
	return key != 0;
}

static void expire_clients(struct engine_target *target, uint64_t now_ns, uint64_t limit_ns)
{
	uint64_t keys[CLIENTS_MAX], since_ns[CLIENTS_MAX];
	uint32_t count = 0;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++) {
		struct engine_client *client = target->clients[i];
		if (!client->since_ns || client->backs_up || client->since_ns + limit_ns > now_ns ||
			!db_cancel_session(client->session))
			continue;
		keys[count] = db_session_number(client->session);
		since_ns[count++] = client->since_ns;
		client->since_ns = 0;
	}
	pthread_mutex_unlock(&target->lock);
	for (uint32_t i = 0; i < count; i++)
		note_timeout(target, keys[i], since_ns[i], now_ns);
}

static void *watch_timeouts(void *arg)
{
	struct engine_target *target = arg;
	uint64_t limit_ns = (uint64_t)target->options.statement_timeout_ms * NS_PER_MS;
	while (!atomic_load_explicit(&target->closing, memory_order_acquire)) {
		uint64_t now_ns = target_now_ns();
		engine_sleep_ns(TIMEOUT_POLL_NS);
		if (!atomic_load_explicit(&target->armed, memory_order_relaxed))
			continue;
		while (expire_oldest(target, now_ns, limit_ns))
			;
		expire_clients(target, now_ns, limit_ns);
	}
	return NULL;
}

/* ---- Open and close -------------------------------------------------------------------------- */

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
}

static int open_engine(struct engine_target *target, char error[TARGET_ERROR_MAX])
{
	const struct target_options *options = &target->options;
	struct db_options db_options = { .struct_size = sizeof db_options,
		.data_dir = options->data_dir,
		.pool_bytes = (uint64_t)options->pool_mb * MIB,
		.workers = options->workers,
		.no_checkpoint = options->no_checkpoint,
		.queue_limit = target->slot_count,
		.session_limit = target->slot_count + CLIENTS_MAX };
	char message[DB_MESSAGE_MAX] = "";
	int status = db_open(&target->engine, &db_options, message);
	if (status == 0)
		return 0;
	snprintf(error, TARGET_ERROR_MAX, "%s", message[0] ? message : db_error_text(status));
	return -1;
}

static int make_slots(struct engine_target *target)
{
	target->slots = calloc(target->slot_count, sizeof *target->slots);
	target->activities = calloc(target->slot_count + CLIENTS_MAX, sizeof *target->activities);
	if (!target->slots || !target->activities)
		return -1;
	for (uint32_t i = target->slot_count; i > 0; i--) {
		target->slots[i - 1].target = target;
		target->slots[i - 1].next = target->free_slots;
		target->free_slots = &target->slots[i - 1];
	}
	return 0;
}

static void free_target(struct engine_target *target)
{
	pthread_mutex_destroy(&target->lock);
	free(target->activities);
	free(target->slots);
	free(target);
}

static int engine_open(
	const struct target_options *options, struct target **target, char error[TARGET_ERROR_MAX])
{
	struct engine_target *made = calloc(1, sizeof *made);
	if (!made) {
		snprintf(error, TARGET_ERROR_MAX, "out of memory");
		return -1;
	}
	pthread_mutex_init(&made->lock, NULL);
	made->base.api = &target_engine;
	made->options = *options;
	made->options.pool_mb = or_default(options->pool_mb, DEFAULT_POOL_MB);
	made->options.workers = or_default(options->workers, DEFAULT_WORKERS);
	made->slot_count = or_default(options->queue_limit, DEFAULT_QUEUE);
	if (make_slots(made) != 0) {
		snprintf(
			error, TARGET_ERROR_MAX, "out of memory for %u sessions", made->slot_count);
		free_target(made);
		return -1;
	}
	if (start_library(made, error) != 0) {
		free_target(made);
		return -1;
	}
	uint64_t library_ns = cancel_now_ns();
	if (library_ns) /* zero in a build without the library */
		made->clock_offset_ns = (int64_t)(library_ns - target_now_ns());
	if (open_engine(made, error) != 0) {
		stop_library(made);
		free_target(made);
		return -1;
	}
	if (options->statement_timeout_ms)
		made->has_timer = pthread_create(&made->timer, NULL, watch_timeouts, made) == 0;
	*target = &made->base;
	return 0;
}

static void engine_arm(struct target *base)
{
	struct engine_target *target = (struct engine_target *)base;
	atomic_store_explicit(&target->armed, true, memory_order_relaxed);
}

static bool cancel_asked(struct engine_target *target)
{
	pthread_mutex_lock(&target->lock);
	for (struct slot *slot = target->oldest; slot; slot = slot->next)
		db_cancel_session(slot->session);
	bool any = target->oldest != NULL;
	pthread_mutex_unlock(&target->lock);
	return any;
}

static void engine_close(struct target *base)
{
	struct engine_target *target = (struct engine_target *)base;
	atomic_store_explicit(&target->closing, true, memory_order_release);
	if (target->has_timer)
		pthread_join(target->timer, NULL);
	while (cancel_asked(target))
		engine_sleep_ns(STOP_POLL_NS);
	for (uint32_t i = 0; i < target->slot_count; i++)
		if (target->slots[i].session)
			db_session_close(target->slots[i].session);
	db_close(target->engine);
	stop_library(target);
	free_target(target);
}

static const char *engine_io(struct target *base)
{
	struct engine_target *target = (struct engine_target *)base;
	struct db_stats stats;
	db_stats(target->engine, &stats);
	return stats.io_direct ? "O_DIRECT" : "buffered with simulated latency";
}

/* ---- What an operator sees and does ---------------------------------------------------------- */

static void engine_wait(struct target *base, uint64_t until_ns)
{
	(void)base;
	struct timespec at = { .tv_sec = (time_t)(until_ns / NS_PER_S),
		.tv_nsec = (long)(until_ns % NS_PER_S) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Callers hold the lock. */
static bool stop_client(struct engine_target *target, const struct engine_client *client)
{
	return client->backs_up ? db_cancel_backup(target->engine)
				: db_abort_session(client->session);
}

static bool kill_session(struct engine_target *target, uint64_t key)
{
	bool hit = false;
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++)
		if (db_session_number(target->clients[i]->session) == key)
			hit = stop_client(target, target->clients[i]);
	for (struct slot *slot = target->oldest; slot && !hit; slot = slot->next)
		if (db_session_number(slot->session) == key)
			hit = db_cancel_session(slot->session);
	pthread_mutex_unlock(&target->lock);
	return hit;
}

static uint64_t age_start(const struct db_activity *activity)
{
	if (activity->in_transaction && activity->transaction_start_ns)
		return activity->transaction_start_ns;
	return activity->running ? activity->statement_start_ns : 0;
}

struct oldest { /* one statement that runs or waits inside */
	uint64_t key, since_ns;
};

static void take_older(struct oldest *oldest, uint64_t key, uint64_t since_ns)
{
	if (since_ns && (!oldest->since_ns || since_ns < oldest->since_ns))
		*oldest = (struct oldest){ key, since_ns };
}

static struct oldest find_oldest(struct engine_target *target)
{
	uint32_t room = target->slot_count + CLIENTS_MAX;
	uint32_t count = db_activities(target->engine, target->activities, room);
	struct oldest oldest = { 0 };
	for (uint32_t i = 0; i < count && i < room; i++)
		take_older(&oldest, target->activities[i].session_number,
			from_library_ns(target, age_start(&target->activities[i])));
	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < target->client_count; i++) {
		const struct engine_client *client = target->clients[i];
		if (client->backs_up)
			take_older(&oldest, db_session_number(client->session), client->since_ns);
	}
	pthread_mutex_unlock(&target->lock);
	return oldest;
}

static void engine_kill_oldest(struct target *base, uint64_t least_age_ns)
{
	struct engine_target *target = (struct engine_target *)base;
	struct oldest oldest = find_oldest(target);
	uint64_t now_ns = target_now_ns();
	if (oldest.since_ns && now_ns >= oldest.since_ns + least_age_ns &&
		kill_session(target, oldest.key))
		note_cancel(target, oldest.key, oldest.since_ns, now_ns,
			"had run longest:", (double)(now_ns - oldest.since_ns) / NS_PER_MS);
}

static void read_contention(struct target_gauges *gauges)
{
	static _Thread_local struct cancel_resource_info list[CANCEL_RESOURCES_MAX];
	size_t count = cancel_snapshot_resources(list, CANCEL_RESOURCES_MAX);
	uint32_t most_ppm = 0;
	for (size_t i = 0; i < count; i++) {
		if (list[i].contention_ppm <= most_ppm)
			continue;
		most_ppm = list[i].contention_ppm;
		snprintf(gauges->contended, sizeof gauges->contended, "%.15s", list[i].name);
	}
	gauges->contention = most_ppm / (double)CANCEL_PPM;
}

static void engine_read_gauges(struct target *base, struct target_gauges *gauges)
{
	struct engine_target *target = (struct engine_target *)base;
	struct db_stats stats;
	struct cancel_counters counters;
	db_stats(target->engine, &stats);
	cancel_read_counters(&counters);
	*gauges = (struct target_gauges){ .evictions = stats.pool_evictions,
		.reruns = stats.reruns,
		.resource_overloads = counters.resource_overloads,
		.regular_overloads = counters.regular_overloads,
		.active = stats.slots_used + stats.queued };
	read_contention(gauges);
}

const struct target_api target_engine = {
	.deaf_ns = DEAF_NS,
	.open = engine_open,
	.close = engine_close,
	.arm = engine_arm,
	.wait = engine_wait,
	.io = engine_io,
	.submit = engine_submit,
	.client_open = engine_client_open,
	.client_close = engine_client_close,
	.client_ask = engine_client_ask,
	.client_key = engine_client_key,
	.kill_oldest = engine_kill_oldest,
	.stop_clients = engine_stop_clients,
	.read_gauges = engine_read_gauges,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns how the server of a run is configured, the event loop and its two pools of connections: the
 * clients', and the operators', who are answered while every worker is stuck.
 */
#include "bench/experiment/server_session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/random.h"

#define OPERATORS    4
#define OPEN_FIRST   64 /* connections of clients */
#define ANSWER_S     30
#define QUEUE_MAX    1000000u /* a queue that refuses would be a gate by accident */
#define LOCK_WAIT_MS 3600000u
#define STEP_MAX_NS  BENCH_NS_PER_S

static uint64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BENCH_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t server_session_now_ns(void *arg)
{
	const struct server_session *session = arg;
	return monotonic_ns() - session->start_ns;
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

void server_session_catch_interrupts(void)
{
	const struct sigaction action = { .sa_handler = on_interrupt };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

bool server_session_interrupted(void)
{
	return interrupted;
}

/* ---- The server ------------------------------------------------------------------------------ */

/* What is served in half the clients' timeout (Little's law); the other half is for what is being
 * served, and for a server that is slower than when it was measured. */
static uint32_t queue_limit(const struct server_setup *setup)
{
	double half_s = (double)setup->plan->timeout_ns / 2e9;
	double limit = setup->saturation_qps * half_s;
	return limit > 1 ? (uint32_t)limit : 1;
}

static void configure(const struct server_setup *setup, struct server_settings *settings)
{
	const struct retry_plan *plan = setup->plan;
	unsigned defences = setup->policy->defences;
	bool gate = defences & DEFENCE_GATE, act = defences & DEFENCE_CANCEL;
	server_set(settings, "server.workers=%u", plan->workers);
	server_set(settings, "server.service_ms=%u", plan->service_ms);
	server_set(settings, "server.pool_mb=%u", plan->pool_mb);
	server_set(settings, "server.connections=%u", setup->connections + OPERATORS);
	server_set(settings, "server.queue=%u",
		defences & DEFENCE_LIMIT ? queue_limit(setup) : QUEUE_MAX);
	if (defences & DEFENCE_TIMEOUT)
		server_set(settings, "server.statement_timeout_ms=%u",
			(uint32_t)(plan->timeout_ns / BENCH_NS_PER_MS));
	server_set(settings, "server.lock_timeout_ms=%u", LOCK_WAIT_MS);
	server_set(settings, "admission.gate=%s", gate ? "on" : "off");
	server_set(settings, "admission.window_ms=%u", plan->window_ms);
	server_set(settings, "admission.threshold_ms=%u", plan->threshold_ms);
	/* a culprit that is only watched is not being cured: its victims are to be shed */
	server_set(settings, "admission.spare_victims=%s", act ? "on" : "off");
	server_set(settings, "cancel.mode=%s", act ? "act" : "monitor");
	server_set(settings, "cancel.slo_ms=%u", plan->slo_ms);
	server_set(settings, "roles.operator=system raise");
	if (plan->log_mb)
		server_set(settings, "server.wal_limit_mb=%u", plan->log_mb);
	server_set(settings, "roles.load=system raise"); /* it says whose each request is */
}

static struct wire_pool *open_pool(
	const struct server_session *session, const char *user, uint32_t limit)
{
	const struct wire_pool_options options = { .struct_size = sizeof options,
		.base = session->base,
		.socket_dir = session->server.socket_dir,
		.port = SERVER_PORT,
		.user = user,
		.limit = limit };
	return wire_pool_new(&options);
}

static void on_timer(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	(void)arg;
}

static int open_loop(struct server_session *session)
{
	struct event_config *config = event_config_new();
	if (config) {
		event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
		session->base = event_base_new_with_config(config);
		event_config_free(config);
	}
	session->timer = session->base ? evtimer_new(session->base, on_timer, NULL) : NULL;
	return session->timer ? 0 : -1;
}

/* Every page of the cold tables anew, for the checkpoint to copy. */
static int fill_log(struct server_session *session, char error[SERVER_ERROR_MAX])
{
	for (int table = 1; table <= CASE_ARCHIVES; table++) {
		char sql[64];
		snprintf(sql, sizeof sql, "UPDATE archive_%d SET amount = amount + 1", table);
		if (server_session_numbers(session, sql, NULL, 0, error) != 0)
			return -1;
	}
	return 0;
}

int server_session_begin(struct server_session *session, const struct server_setup *setup,
	char error[SERVER_ERROR_MAX])
{
	struct server_settings settings = { 0 };
	double ignored;
	*session = (struct server_session){ .setup = setup, .start_ns = monotonic_ns() };
	configure(setup, &settings);
	if (server_process_start(&session->server, setup->data_dir, &settings, error) != 0)
		return -1;
	snprintf(error, SERVER_ERROR_MAX, "out of memory for connections");
	if (open_loop(session) != 0)
		return -1;
	session->pool = open_pool(session, "load", setup->connections);
	session->operators = open_pool(session, "operator", OPERATORS);
	if (!session->pool || !session->operators)
		return -1;
	wire_pool_open(session->pool, OPEN_FIRST);
	if (setup->plan->trigger == SCRIPT_CHECKPOINT && fill_log(session, error) != 0)
		return -1;
	return server_session_numbers(
		session, "SELECT sum(length(payload)) FROM items", &ignored, 1, error);
}

/* What a run's backup made. */
static void remove_backup(const struct server_session *session)
{
	char path[SERVER_PATH_MAX];
	int length = session->setup ? snprintf(path, sizeof path, "%s/" SCRIPT_BACKUP_NAME,
					      session->setup->data_dir)
				    : 0;
	if (length > 0 && (size_t)length < sizeof path)
		unlink(path);
}

void server_session_end(struct server_session *session)
{
	wire_pool_free(session->pool);
	wire_pool_free(session->operators);
	if (session->timer)
		event_free(session->timer);
	if (session->base)
		event_base_free(session->base);
	server_process_stop(&session->server);
	remove_backup(session);
	*session = (struct server_session){ 0 };
}

/* ---- Waiting --------------------------------------------------------------------------------- */

void server_session_wait(struct server_session *session, uint64_t until_ns)
{
	uint64_t now_ns = server_session_now_ns(session);
	uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	if (wait_ns > STEP_MAX_NS)
		wait_ns = STEP_MAX_NS;
	const struct timeval wait = { .tv_sec = (time_t)(wait_ns / BENCH_NS_PER_S),
		.tv_usec = (suseconds_t)(wait_ns % BENCH_NS_PER_S / 1000) };
	evtimer_add(session->timer, &wait);
	event_base_loop(session->base, EVLOOP_ONCE);
	evtimer_del(session->timer);
}

struct numbers {
	bool heard;
	enum wire_status status;
	double *values;
	int count;
	char *error;
};

static void on_numbers(void *arg, const struct wire_answer *answer)
{
	struct numbers *numbers = arg;
	numbers->heard = true;
	numbers->status = answer->status;
	for (int i = 0; i < numbers->count; i++)
		numbers->values[i] = strtod(wire_value(answer, 0, i), NULL);
	if (answer->status != WIRE_OK)
		snprintf(numbers->error, SERVER_ERROR_MAX, "the server answered: %.200s",
			answer->message);
}

int server_session_numbers(struct server_session *session, const char *sql, double *values,
	int count, char error[SERVER_ERROR_MAX])
{
	struct numbers numbers = { .values = values, .count = count, .error = error };
	uint64_t end_ns = server_session_now_ns(session) + ANSWER_S * (uint64_t)BENCH_NS_PER_S;
	if (wire_ask(session->operators, sql, on_numbers, &numbers) != 0) {
		snprintf(error, SERVER_ERROR_MAX, "no connection for an operator's statement");
		return -1;
	}
	while (!numbers.heard && !interrupted && server_session_now_ns(session) < end_ns)
		server_session_wait(session, end_ns);
	if (numbers.heard)
		return numbers.status == WIRE_OK ? 0 : -1;
	/* the answer must not find this frame gone */
	wire_pool_free(session->operators);
	session->operators = NULL;
	if (interrupted)
		snprintf(error, SERVER_ERROR_MAX, "interrupted");
	else
		snprintf(error, SERVER_ERROR_MAX, "the server did not answer for %d s: %.100s",
			ANSWER_S, sql);
	return -1;
}

/* ---- Questions ------------------------------------------------------------------------------- */

void server_session_question(const struct server_session *session,
	const struct clients_request *request, char sql[SESSION_SQL_BYTES])
{
	static const char *const levels[CLIENTS_PRIORITIES] = { "system", "write", "read",
		"analytical" };
	const struct server_setup *setup = session->setup;
	uint64_t draw = request->draw;
	unsigned long long id = random_below(draw, setup->items) + 1;
	int used = snprintf(sql, SESSION_SQL_BYTES, "SET cancel.user='u%u';", request->user);
	if (setup->plan->priorities > 1 && setup->policy->defences & (DEFENCE_GATE | DEFENCE_QUEUE))
		used += snprintf(sql + used, SESSION_SQL_BYTES - (size_t)used,
			"SET cancel.priority='%s';", levels[request->priority]);
	if (setup->plan->writes)
		snprintf(sql + used, SESSION_SQL_BYTES - (size_t)used,
			"UPDATE items SET stock=stock+1 WHERE id=%llu RETURNING stock", id);
	else if (setup->plan->rows <= 1)
		snprintf(sql + used, SESSION_SQL_BYTES - (size_t)used,
			"SELECT stock FROM items WHERE id=%llu", id);
	else /* so many items by their keys, which a linear congruential generator makes */
		snprintf(sql + used, SESSION_SQL_BYTES - (size_t)used,
			"WITH RECURSIVE k(i,x) AS (SELECT 1,%llu UNION ALL SELECT i+1,"
			"(x*1103515245+12345)&1073741823 FROM k WHERE i<%u) "
			"SELECT sum(stock), sum(length(payload)) FROM k CROSS JOIN items t "
			"WHERE t.id=1+k.x%%%llu",
			id, setup->plan->rows, (unsigned long long)setup->items);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns a server process as a target: how it is configured, the event loop and its two pools of
 * connections, the clients' and the operators', who are answered while every worker is stuck. Its
 * clients send no CancelRequest, so the server does the work they have abandoned.
 */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/target/server_process.h"
#include "bench/target/target.h"
#include "bench/target/wire.h"

#define NS_PER_S      1000000000u
#define NS_PER_MS     1000000u
#define OPERATORS     5
#define OPEN_FIRST    64 /* connections of clients */
#define OPEN_SPARE    16
#define ANSWER_S      30
#define QUEUE_MAX     1000000u /* a queue that refuses would be a gate by accident */
#define LOCK_WAIT_MS  3600000u
#define STEP_MAX_NS   NS_PER_S
#define SQL_BYTES     640
#define LOAD_USER     "load"
#define OPERATOR_USER "operator"

struct asked { /* a question in flight */
	struct asked *next, *previous;
	struct server_target *target;
	target_callback callback;
	void *arg;
	uint64_t token;
};

struct server_target {
	struct target base;
	struct target_options options;
	char backup_path[SERVER_PATH_MAX];
	struct server_process process;
	struct event_base *loop;
	struct event *timer;
	struct wire_pool *pool, *operators;
	struct asked *asked;
	bool kills; /* an operator's kill is on its way */
};

struct server_client {
	struct target_client base;
	struct wire_session *session;
	bool busy;
	target_callback callback;
	void *arg;
	uint64_t token;
};

static struct server_target *server_of(struct target *target)
{
	return (struct server_target *)target;
}

/* ---- Interrupts ------------------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* From here on they end the run in order, temporary folder included. */
static void catch_interrupts(void)
{
	const struct sigaction action = { .sa_handler = on_interrupt };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int server_check(struct target *target, char error[TARGET_ERROR_MAX])
{
	if (interrupted)
		snprintf(error, TARGET_ERROR_MAX, "interrupted");
	else if (!server_process_listen(&server_of(target)->process))
		snprintf(error, TARGET_ERROR_MAX, "the server has ended");
	else
		return 0;
	return -1;
}

/* ---- The event loop -------------------------------------------------------------------------- */

static void on_timer(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	(void)arg;
}

static int open_loop(struct server_target *server)
{
	struct event_config *config = event_config_new();
	if (config) {
		event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
		server->loop = event_base_new_with_config(config);
		event_config_free(config);
	}
	server->timer = server->loop ? evtimer_new(server->loop, on_timer, NULL) : NULL;
	return server->timer ? 0 : -1;
}

static void server_wait(struct target *target, uint64_t until_ns)
{
	struct server_target *server = server_of(target);
	uint64_t now_ns = target_now_ns(), wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	if (wait_ns > STEP_MAX_NS)
		wait_ns = STEP_MAX_NS;
	const struct timeval wait = { .tv_sec = (time_t)(wait_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(wait_ns % NS_PER_S / 1000) };
	wire_pool_open(server->pool, OPEN_SPARE);
	evtimer_add(server->timer, &wait);
	event_base_loop(server->loop, EVLOOP_ONCE);
	evtimer_del(server->timer);
}

/* ---- Open and close -------------------------------------------------------------------------- */

static void configure(const struct target_options *options, struct server_settings *settings)
{
	bool act = options->control == TARGET_ACT;
	uint64_t slo_ms = options->slo_ns / NS_PER_MS;
	server_set(settings, "server.workers=%u", options->workers);
	server_set(settings, "server.service_ms=%u", options->service_ms);
	server_set(settings, "server.pool_mb=%u", options->pool_mb);
	server_set(settings, "server.connections=%u", options->connections + OPERATORS);
	server_set(settings, "server.queue=%u",
		options->concurrency_limit ? options->concurrency_limit : QUEUE_MAX);
	if (options->statement_timeout_ms)
		server_set(
			settings, "server.statement_timeout_ms=%u", options->statement_timeout_ms);
	server_set(settings, "server.lock_timeout_ms=%u", LOCK_WAIT_MS);
	server_set(settings, "admission.gate=%s", options->gate ? "on" : "off");
	server_set(settings, "admission.window_ms=%u", options->gate_window_ms);
	server_set(settings, "admission.threshold_ms=%u", options->gate_threshold_ms);
	/* a culprit that is only watched is not being cured: its victims are to be shed */
	server_set(settings, "admission.spare_victims=%s", act ? "on" : "off");
	server_set(settings, "cancel.mode=%s", act ? "act" : "monitor");
	server_set(settings, "cancel.slo_ms=%u", slo_ms ? (uint32_t)slo_ms : 1);
	server_set(settings, "roles." OPERATOR_USER "=system raise");
	if (options->log_mb)
		server_set(settings, "server.wal_limit_mb=%u", options->log_mb);
	server_set(
		settings, "roles." LOAD_USER "=system raise"); /* it says whose each request is */
}

static struct wire_pool *open_pool(
	const struct server_target *server, const char *user, uint32_t limit)
{
	const struct wire_pool_options options = { .struct_size = sizeof options,
		.base = server->loop,
		.socket_dir = server->process.socket_dir,
		.port = SERVER_PORT,
		.user = user,
		.limit = limit };
	return wire_pool_new(&options);
}

static void server_close(struct target *target)
{
	struct server_target *server = server_of(target);
	wire_pool_free(server->pool);
	wire_pool_free(server->operators);
	if (server->timer)
		event_free(server->timer);
	if (server->loop)
		event_base_free(server->loop);
	server_process_stop(&server->process);
	unlink(server->backup_path);
	for (struct asked *asked = server->asked, *next; asked; asked = next) {
		next = asked->next;
		free(asked);
	}
	free(server);
}

static int begin(struct server_target *server, char error[TARGET_ERROR_MAX])
{
	const struct target_options *options = &server->options;
	struct server_settings settings = { 0 };
	configure(options, &settings);
	if (server_process_start(&server->process, options->data_dir, &settings, error) != 0)
		return -1;
	snprintf(error, TARGET_ERROR_MAX, "out of memory for connections");
	if (open_loop(server) != 0)
		return -1;
	server->pool = open_pool(server, LOAD_USER, options->connections);
	server->operators = open_pool(server, OPERATOR_USER, OPERATORS);
	if (!server->pool || !server->operators)
		return -1;
	wire_pool_open(server->pool, OPEN_FIRST);
	return 0;
}

static int server_open(
	const struct target_options *options, struct target **target, char error[TARGET_ERROR_MAX])
{
	struct server_target *server = calloc(1, sizeof *server);
	if (!server) {
		snprintf(error, TARGET_ERROR_MAX, "out of memory");
		return -1;
	}
	catch_interrupts();
	*server = (struct server_target){ .base.api = &target_server, .options = *options };
	snprintf(server->backup_path, sizeof server->backup_path, "%.200s/" TARGET_BACKUP_NAME,
		options->data_dir);
	if (begin(server, error) != 0) {
		server_close(&server->base);
		return -1;
	}
	*target = &server->base;
	return 0;
}

static const char *server_io(struct target *target)
{
	(void)target;
	return "the server's";
}

static pid_t server_pid(struct target *target)
{
	return server_of(target)->process.pid;
}

static uint64_t server_cpu_ns(struct target *target)
{
	return server_process_cpu_ns(&server_of(target)->process);
}

/* ---- Statements ------------------------------------------------------------------------------ */

static void fill_answer(struct target_answer *answer, const struct wire_answer *from)
{
	static const enum target_status statuses[] = { [WIRE_OK] = TARGET_OK,
		[WIRE_REFUSED] = TARGET_REJECTED,
		[WIRE_CANCELLED] = TARGET_CANCELLED,
		[WIRE_FAILED] = TARGET_FAILED };
	*answer = (struct target_answer){ .status = statuses[from->status],
		.retry_after_ms = from->retry_after_ms };
	snprintf(answer->error, sizeof answer->error, "%s", from->message);
}

/* ?N becomes the N-th argument. */
static void write_sql(const struct target_request *request, char *sql, size_t size)
{
	size_t used = strlen(sql);
	for (const char *at = request->sql; *at && used + 1 < size;) {
		if (*at != '?') {
			sql[used++] = *at++;
			continue;
		}
		char *end;
		unsigned long number = strtoul(at + 1, &end, 10);
		at = end;
		used += (size_t)snprintf(sql + used, size - used, "%lld",
			(long long)request->args[(number - 1) % TARGET_ARGS_MAX]);
	}
	sql[used < size ? used : size - 1] = '\0';
}

static void forget(struct asked *asked)
{
	*(asked->previous ? &asked->previous->next : &asked->target->asked) = asked->next;
	if (asked->next)
		asked->next->previous = asked->previous;
	free(asked);
}

static void on_answer(void *arg, const struct wire_answer *from)
{
	struct asked *asked = arg, kept = *asked;
	struct target_answer answer;
	fill_answer(&answer, from);
	forget(asked);
	kept.callback(kept.arg, kept.token, &answer);
}

static struct asked *remember(struct server_target *server, const struct target_request *request)
{
	struct asked *asked = calloc(1, sizeof *asked);
	if (!asked)
		return NULL;
	*asked = (struct asked){ .next = server->asked,
		.target = server,
		.callback = request->callback,
		.arg = request->arg,
		.token = request->token };
	if (server->asked)
		server->asked->previous = asked;
	server->asked = asked;
	return asked;
}

static void server_submit(struct target *target, const struct target_request *request)
{
	static const char *const levels[TARGET_PRIORITIES] = { "system", "write", "read",
		"analytical" };
	struct server_target *server = server_of(target);
	const struct target_answer unsent = { .status = TARGET_UNSENT,
		.error = "no connection for a request" };
	char sql[SQL_BYTES];
	int used = snprintf(sql, sizeof sql, "SET cancel.user='u%u';", request->user);
	if (server->options.priorities)
		snprintf(sql + used, sizeof sql - (size_t)used, "SET cancel.priority='%s';",
			levels[request->priority % TARGET_PRIORITIES]);
	write_sql(request, sql, sizeof sql);
	struct asked *asked = remember(server, request);
	if (asked && wire_ask(server->pool, sql, on_answer, asked) == 0)
		return;
	if (asked)
		forget(asked);
	request->callback(request->arg, request->token, &unsent);
}

/* ---- Clients of their own -------------------------------------------------------------------- */

static int server_client_open(struct target *target, bool operates, struct target_client **client)
{
	struct server_target *server = server_of(target);
	struct server_client *made = calloc(1, sizeof *made);
	if (!made)
		return -1;
	made->base.target = target;
	made->session = wire_session_take(operates ? server->operators : server->pool);
	if (!made->session) {
		free(made);
		return -1;
	}
	*client = &made->base;
	return 0;
}

static void server_client_close(struct target_client *client)
{
	struct server_client *closed = (struct server_client *)client;
	if (!closed->busy) /* else it ends with the pool, and its answer never comes */
		wire_session_give(closed->session);
	free(closed);
}

static void on_client_answer(void *arg, const struct wire_answer *from)
{
	struct server_client *client = arg;
	struct target_answer answer;
	fill_answer(&answer, from);
	client->busy = false;
	client->callback(client->arg, client->token, &answer);
}

static void server_client_ask(struct target_client *base, const struct target_request *request)
{
	struct server_client *client = (struct server_client *)base;
	char sql[SQL_BYTES] = "";
	client->callback = request->callback;
	client->arg = request->arg;
	client->token = request->token;
	client->busy = true;
	write_sql(request, sql, sizeof sql);
	if (wire_session_stream(client->session, request->row_pause_us ? 1 : 0,
		    request->row_pause_us / 1000) == 0)
		wire_session_ask(client->session, sql, on_client_answer, client);
	else
		on_client_answer(client, &(struct wire_answer){ .status = WIRE_FAILED,
						 .message = "out of memory for rows" });
}

static uint64_t server_client_key(const struct target_client *client)
{
	return wire_session_process(((const struct server_client *)client)->session);
}

/* ---- What an operator sees and does ---------------------------------------------------------- */

static void note_kill(struct server_target *server, uint64_t key)
{
	uint64_t now_ns = target_now_ns();
	const struct target_decision decision = { .key = key,
		.acted = true,
		.decided_ns = now_ns,
		.delivered_ns = now_ns,
		.why = "had run longest" };
	server->options.on_decision(server->options.on_decision_arg, &decision);
}

static void on_killed(void *arg, const struct wire_answer *answer)
{
	struct server_target *server = arg;
	const char *hit = wire_value(answer, 0, 0);
	server->kills = false;
	if (answer->status == WIRE_OK && (hit[0] == 't' || hit[0] == '1'))
		note_kill(server, strtoul(wire_value(answer, 0, 1), NULL, 10));
}

/* A transaction counts from its start, also while its client thinks. */
static void server_kill_oldest(struct target *target, uint64_t least_age_ns)
{
	struct server_target *server = server_of(target);
	char sql[SQL_BYTES];
	if (server->kills)
		return;
	snprintf(sql, sizeof sql,
		"SELECT cancel_task(id), process FROM cancel_tasks WHERE process = (SELECT process "
		"FROM cancel_sessions WHERE transaction_ms > %u ORDER BY transaction_ms DESC LIMIT "
		"1)",
		(unsigned)(least_age_ns / NS_PER_MS));
	server->kills = wire_ask(server->operators, sql, on_killed, server) == 0;
}

struct finish {
	struct server_target *server;
	bool heard;
	int status;
	char *error;
};

static void on_decisions(void *arg, const struct wire_answer *answer)
{
	struct finish *finish = arg;
	const struct target_options *options = &finish->server->options;
	uint64_t now_ns = target_now_ns();
	finish->heard = true;
	finish->status = answer->status == WIRE_OK ? 0 : -1;
	if (finish->status != 0)
		snprintf(finish->error, TARGET_ERROR_MAX, "the server answered: %.200s",
			answer->message);
	for (int i = 0; finish->status == 0 && i < wire_rows(answer); i++) {
		double ago_s = strtod(wire_value(answer, i, 1), NULL);
		struct target_decision decision = { .serial = (uint64_t)i + 1,
			.key = strtoul(wire_value(answer, i, 0), NULL, 10),
			.acted = true,
			.decided_ns = now_ns - (uint64_t)(ago_s * NS_PER_S) };
		options->on_decision(options->on_decision_arg, &decision);
	}
}

/* From the library's own views, which answer whatever state the workers are in. */
static int server_finish(struct target *target, char error[TARGET_ERROR_MAX])
{
	struct server_target *server = server_of(target);
	struct finish finish = { .server = server, .status = -1, .error = error };
	uint64_t end_ns = target_now_ns() + ANSWER_S * (uint64_t)NS_PER_S;
	if (wire_ask(server->operators,
		    "SELECT process, ago_s FROM cancel_decisions WHERE acted ORDER BY ago_s DESC",
		    on_decisions, &finish) != 0) {
		snprintf(error, TARGET_ERROR_MAX, "no connection for an operator's statement");
		return -1;
	}
	while (!finish.heard && !interrupted && target_now_ns() < end_ns)
		server_wait(target, end_ns);
	if (finish.heard)
		return finish.status;
	/* the answer must not find this frame gone */
	wire_pool_free(server->operators);
	server->operators = NULL;
	snprintf(error, TARGET_ERROR_MAX,
		interrupted ? "interrupted" : "the server did not say for %d s what it decided",
		ANSWER_S);
	return -1;
}

static void server_read_gauges(struct target *target, struct target_gauges *gauges)
{
	struct wire_stats stats;
	wire_pool_stats(server_of(target)->pool, &stats);
	*gauges = (struct target_gauges){ .active = stats.busy };
}

const struct target_api target_server = {
	.open = server_open,
	.close = server_close,
	.wait = server_wait,
	.check = server_check,
	.io = server_io,
	.process = server_pid,
	.cpu_ns = server_cpu_ns,
	.submit = server_submit,
	.client_open = server_client_open,
	.client_close = server_client_close,
	.client_ask = server_client_ask,
	.client_key = server_client_key,
	.kill_oldest = server_kill_oldest,
	.finish = server_finish,
	.read_gauges = server_read_gauges,
};

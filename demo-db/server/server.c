/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - brings the server up and down, and keeps the list of its clients.
 *
 * Owns the order of things. Listening is in listen.c, clients in client.c, libcancel's part in
 * runtime.c.
 */
#include "demo-db/server/server.h"
#include "demo-db/server/metrics.h"
#include "demo-db/server/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS		100
#define EXTRA_THREADS	3 /* beyond the worker slots: one polls, one stands by, one checkpoints */
#define EXTRA_FDS	256
#define FIRST_PROCESS	1000
#define OUTGROWN_FACTOR 4

static int complain(char *message, const char *what, const char *why)
{
	snprintf(message, CONFIG_MESSAGE_MAX, "%s: %.200s", what, why);
	return -1;
}

/* ---- Serving --------------------------------------------------------------------------------- */

static enum reactor_answer serve(void *arg, struct reactor_source *source)
{
	struct server *server = arg;
	if (listen_owns(&server->listeners, source))
		return listen_serve(server->reactor, (struct listener *)(void *)source);
	return client_serve((struct client *)(void *)source);
}

static void release(void *arg, struct reactor_source *source)
{
	const struct server *server = arg;
	if (!listen_owns(&server->listeners, source))
		client_free((struct client *)(void *)source);
}

/* ---- The list of clients --------------------------------------------------------------------- */

static void enlist(struct server *server, struct client *client)
{
	client->next = server->first;
	if (server->first)
		server->first->previous = client;
	server->first = client;
	server->clients++;
	client->process = FIRST_PROCESS + server->next_process++ % (UINT32_MAX - FIRST_PROCESS);
}

static int welcome(void *arg, int fd, bool trusted, const char *address)
{
	struct server *server = arg;
	pthread_mutex_lock(&server->lock);
	bool full = server->draining ||
		    server->clients >= server->config.connections + SERVER_STARTING_MAX;
	pthread_mutex_unlock(&server->lock);
	struct client *client = full ? NULL : client_new(server, fd, trusted, address);
	if (!client)
		return -1;
	if (getrandom(&client->secret, sizeof client->secret, 0) != sizeof client->secret) {
		client_free(client);
		return -1;
	}
	pthread_mutex_lock(&server->lock);
	enlist(server, client);
	pthread_mutex_unlock(&server->lock);
	atomic_fetch_add_explicit(&server->counters.accepted, 1, memory_order_relaxed);
	if (reactor_add(server->reactor, &client->source) == 0)
		return 0;
	server_forget(server, client);
	server_left(server, client);
	client_free(client);
	return -1;
}

bool server_admit_session(struct server *server, struct client *client)
{
	pthread_mutex_lock(&server->lock);
	client->counted = !server->draining && server->sessions < server->config.connections;
	server->sessions += client->counted;
	snprintf(client->shown_user, sizeof client->shown_user, "%s", client->user);
	pthread_mutex_unlock(&server->lock);
	if (!client->counted)
		atomic_fetch_add_explicit(&server->counters.refused, 1, memory_order_relaxed);
	return client->counted;
}

void server_open_session(struct server *server, struct client *client, struct db_session *session)
{
	pthread_mutex_lock(&server->lock);
	client->session = session;
	pthread_mutex_unlock(&server->lock);
}

void server_forget(struct server *server, struct client *client)
{
	pthread_mutex_lock(&server->lock);
	if (client->previous)
		client->previous->next = client->next;
	else
		server->first = client->next;
	if (client->next)
		client->next->previous = client->previous;
	pthread_mutex_unlock(&server->lock);
}

void server_left(struct server *server, struct client *client)
{
	pthread_mutex_lock(&server->lock);
	server->clients--;
	server->sessions -= client->counted;
	client->counted = false;
	pthread_cond_broadcast(&server->left);
	pthread_mutex_unlock(&server->lock);
}

bool server_cancel(struct server *server, uint32_t process, uint32_t secret)
{
	bool found = false;
	atomic_fetch_add_explicit(&server->counters.cancel_requests, 1, memory_order_relaxed);
	pthread_mutex_lock(&server->lock);
	for (struct client *c = server->first; c && !found; c = c->next) {
		found = c->process == process && c->secret == secret;
		if (found)
			client_cancel(c, false);
	}
	pthread_mutex_unlock(&server->lock);
	return found;
}

bool server_cancel_process(struct server *server, uint32_t process)
{
	bool found = false;
	pthread_mutex_lock(&server->lock);
	for (struct client *c = server->first; c && !found; c = c->next) {
		found = c->process == process;
		if (found)
			client_cancel(c, false);
	}
	pthread_mutex_unlock(&server->lock);
	return found;
}

bool server_is_draining(struct server *server)
{
	pthread_mutex_lock(&server->lock);
	bool draining = server->draining;
	pthread_mutex_unlock(&server->lock);
	return draining;
}

/* ---- The ticker ------------------------------------------------------------------------------ */

void server_kick_waiting(struct server *server)
{
	pthread_mutex_lock(&server->lock);
	for (struct client *c = server->first; c; c = c->next)
		reactor_kick(server->reactor, &c->source);
	pthread_mutex_unlock(&server->lock);
}

static void tick_admission(struct server *server, uint64_t now_ns)
{
	struct db_stats stats;
	db_stats(server->engine, &stats);
	gate_watch(&server->admission.gate, now_ns, stats.queued);
	if (admission_tick(&server->admission, stats.wal_bytes, now_ns))
		server_kick_waiting(server);
}

static void *tick(void *arg)
{
	struct server *server = arg;
	const struct timespec pause = { .tv_nsec = TICK_MS * 1000000 };
	while (!atomic_load_explicit(&server->stop_ticking, memory_order_relaxed)) {
		uint64_t now_ns = cancel_now_ns();
		pthread_mutex_lock(&server->lock);
		for (struct client *c = server->first; c; c = c->next)
			client_tick(c, now_ns);
		pthread_mutex_unlock(&server->lock);
		tick_admission(server, now_ns);
		listen_kick(&server->listeners, server->reactor, true);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* ---- Up -------------------------------------------------------------------------------------- */

static void raise_fd_limit(const struct config *config)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	/* a socket for each client, and three files for each of SQLite's connections */
	rlim_t wanted = (rlim_t)(config->connections * 4 + config->workers * 4 + EXTRA_FDS);
	if (limit.rlim_cur < wanted && limit.rlim_max >= wanted) {
		limit.rlim_cur = wanted;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void on_wait(void *arg)
{
	struct server *server = arg;
	if (server->reactor)
		reactor_blocking(server->reactor);
}

static int open_engine(struct server *server, char *message)
{
	const struct config *config = &server->config;
	const struct db_options options = { .struct_size = sizeof options,
		.data_dir = config->data_dir,
		.pool_bytes = config->pool_mb << 20,
		.wal_limit_bytes = config->wal_limit_mb << 20,
		.workers = (uint32_t)config->workers,
		.queue_limit = (uint32_t)config->queue,
		.session_limit = (uint32_t)config->connections + EXTRA_FDS,
		.connection_limit = (uint32_t)(config->workers + config->connections + EXTRA_FDS),
		.lock_timeout_ns = config->lock_timeout_ms * 1000000u,
		.statement_memory_max = config->statement_mb << 20,
		.memory_budget_bytes = config->budget_mb << 20,
		.outgrown_factor = config->cancel_outgrown ? OUTGROWN_FACTOR : 0,
		.sync_commits = config->sync_commits != 0,
		.on_wait = on_wait,
		.on_wait_arg = server,
		.on_connection = server->views.install,
		.on_connection_arg = server,
		.is_guarded = server->views.are_guarded };
	char why[DB_MESSAGE_MAX];
	int rc = db_open(&server->engine, &options, why);
	return rc ? complain(message, config->data_dir, why) : 0;
}

/* Is there an index with a WHERE? Then literals stay in the statements, to match it. */
static int find_partial_indexes(struct server *server, char *message)
{
	const struct db_request request = { .struct_size = sizeof request,
		.sql = "SELECT 1 FROM sqlite_schema WHERE type='index' AND sql LIKE '%where%'" };
	struct db_session *session;
	struct db_result result;
	int rc = db_session_open(server->engine, NULL, &session);
	if (rc)
		return complain(message, "cannot open a session", db_error_text(rc));
	rc = db_execute(session, &request, &result);
	if (rc)
		complain(message, "cannot read the schema", result.message);
	else
		atomic_store(&server->partial_indexes, result.rows > 0);
	db_session_close(session);
	return rc;
}

static bool is_draining(void *arg)
{
	return server_is_draining(arg);
}

static int open_listeners(struct server *server, char *message)
{
	const struct config *config = &server->config;
	const struct listen_options options = {
		.socket_dir = config->socket_dir[0] ? config->socket_dir : config->data_dir,
		.address = config->listen,
		.port = (uint16_t)config->port,
		.trust_local = config->trust_local,
		.welcome = welcome,
		.is_draining = is_draining,
		.arg = server
	};
	_Static_assert(LISTEN_MESSAGE_MAX <= CONFIG_MESSAGE_MAX, "one line fits");
	return listen_open(&server->listeners, &options, message);
}

static int start_reactor(struct server *server, char *message)
{
	const struct reactor_options options = { .struct_size = sizeof options,
		.threads = (uint32_t)server->config.workers + DB_RESERVED_SLOTS + EXTRA_THREADS,
		.serve = serve,
		.release = release,
		.arg = server };
	if (reactor_start(&server->reactor, &options))
		return complain(message, "cannot start serving threads", strerror(errno));
	for (uint32_t i = 0; i < server->listeners.count; i++)
		if (reactor_add(server->reactor, &server->listeners.list[i].source))
			return complain(message, "cannot watch a socket", strerror(errno));
	return 0;
}

/* On libcancel's controller thread, once a window. */
static void on_window(
	const struct cancel_ledger *ledger, const struct cancel_verdict *verdict, void *arg)
{
	struct server *server = arg;
	(void)ledger;
	gate_hear(&server->admission.gate, verdict);
}

static int bring_up(struct server *server, char *message)
{
	const struct config *config = &server->config;
	if (getrandom(server->scram_secret, SCRAM_KEY_BYTES, 0) != SCRAM_KEY_BYTES)
		return complain(message, "no random numbers", strerror(errno));
	raise_fd_limit(config);
	if (runtime_start(config, message))
		return -1;
	if (admission_init(&server->admission, config))
		return complain(message, "cannot start the gate", "out of memory");
	cancel_set_window_listener(on_window, server);
	if (open_engine(server, message) || find_partial_indexes(server, message) ||
		open_listeners(server, message) || start_reactor(server, message) ||
		metrics_start(&server->metrics, server, message))
		return -1;
	int status = pthread_create(&server->ticker, NULL, tick, server);
	server->ticking = status == 0;
	return status ? complain(message, "cannot start a thread", strerror(status)) : 0;
}

static void take_down(struct server *server)
{
	atomic_store_explicit(&server->stop_ticking, true, memory_order_relaxed);
	if (server->ticking)
		pthread_join(server->ticker, NULL);
	metrics_stop(server->metrics);
	if (server->reactor)
		reactor_stop(server->reactor);
	listen_close(&server->listeners);
	if (server->engine)
		db_close(server->engine);
	cancel_set_window_listener(NULL, NULL);
	runtime_stop();
	admission_free(&server->admission);
	pthread_cond_destroy(&server->left);
	pthread_mutex_destroy(&server->backup.lock);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

int server_start(struct server **out, const struct config *config, const struct server_views *views,
	char message[CONFIG_MESSAGE_MAX])
{
	pthread_condattr_t monotonic;
	struct server *server = calloc(1, sizeof *server);
	if (!server)
		return complain(message, "cannot start", "out of memory");
	server->config = *config;
	server->views = *views;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&server->left, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&server->lock, NULL);
	pthread_mutex_init(&server->backup.lock, NULL);
	if (bring_up(server, message)) {
		server->draining = true;
		take_down(server);
		return -1;
	}
	server->started_ns = cancel_now_ns();
	*out = server;
	return 0;
}

/* ---- Down ------------------------------------------------------------------------------------ */

/* Under the lock. */
static void doom_all(struct server *server, enum client_doom why)
{
	for (struct client *c = server->first; c; c = c->next) {
		client_doom(c, why);
		if (why == DOOM_SHUTDOWN_NOW)
			client_cancel(c, false);
	}
}

/* Under the lock: until no client is left, somebody hurries, or the time is over. */
static void wait_for_clients(struct server *server, uint64_t seconds)
{
	struct timespec until;
	int status = 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	while (server->clients && !server->hurry && status == 0)
		status = pthread_cond_timedwait(&server->left, &server->lock, &until);
}

void server_drain(struct server *server)
{
	pthread_mutex_lock(&server->lock);
	server->draining = true;
	pthread_mutex_unlock(&server->lock);
	listen_kick(&server->listeners, server->reactor, false);
	pthread_mutex_lock(&server->lock);
	doom_all(server, DOOM_SHUTDOWN);
	wait_for_clients(server, server->config.drain_s);
	while (server->clients) {
		doom_all(server, DOOM_SHUTDOWN_NOW);
		server->hurry = false;
		wait_for_clients(server, 1);
	}
	pthread_mutex_unlock(&server->lock);
}

void server_stop(struct server *server)
{
	take_down(server);
}

void server_hurry(struct server *server)
{
	pthread_mutex_lock(&server->lock);
	server->hurry = true;
	pthread_cond_broadcast(&server->left);
	pthread_mutex_unlock(&server->lock);
}

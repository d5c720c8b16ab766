/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - brings the server up and down, and looks after it every tick.
 *
 * Owns the order of things. Listening is in listen.c, clients in client.c, libcancel's part in
 * runtime.c.
 */
#include "demo-db/server/server.h"
#include "demo-db/server/metrics.h"
#include "demo-db/server/session/client.h"
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
		return listen_serve(server->services.reactor, (struct listener *)(void *)source);
	return client_serve((struct client *)(void *)source);
}

static void release(void *arg, struct reactor_source *source)
{
	const struct server *server = arg;
	if (!listen_owns(&server->listeners, source))
		client_free((struct client *)(void *)source);
}

/* ---- The ticker ------------------------------------------------------------------------------ */

static void tick_admission(struct server *server, uint64_t now_ns)
{
	struct db_stats stats;
	db_stats(server->services.engine, &stats);
	gate_watch(&server->services.admission.gate, now_ns, stats.queued);
	if (admission_tick(&server->services.admission, stats.wal_bytes, now_ns))
		clients_wake(&server->clients);
}

static void *tick(void *arg)
{
	struct server *server = arg;
	const struct timespec pause = { .tv_nsec = TICK_MS * 1000000 };
	while (!atomic_load_explicit(&server->stop_ticking, memory_order_relaxed)) {
		uint64_t now_ns = cancel_now_ns();
		clients_tick(&server->clients, now_ns);
		tick_admission(server, now_ns);
		listen_kick(&server->listeners, server->services.reactor, true);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

bool server_is_draining(struct server *server)
{
	return clients_is_draining(&server->clients);
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
	if (server->services.reactor)
		reactor_blocking(server->services.reactor);
}

static int open_engine(struct server *server, char *message)
{
	const struct config *config = &server->services.config;
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
		.on_connection_arg = &server->services,
		.is_guarded = server->views.are_guarded };
	char why[DB_MESSAGE_MAX];
	int rc = db_open(&server->services.engine, &options, why);
	return rc ? complain(message, config->data_dir, why) : 0;
}

/* Is there an index with a WHERE? Then literals stay in the statements, to match it. */
static int find_partial_indexes(struct server *server, char *message)
{
	const struct db_request request = { .struct_size = sizeof request,
		.sql = "SELECT 1 FROM sqlite_schema WHERE type='index' AND sql LIKE '%where%'" };
	struct db_session *session;
	struct db_result result;
	int rc = db_session_open(server->services.engine, NULL, &session);
	if (rc)
		return complain(message, "cannot open a session", db_error_text(rc));
	rc = db_execute(session, &request, &result);
	if (rc)
		complain(message, "cannot read the schema", result.message);
	else
		atomic_store(&server->services.partial_indexes, result.rows > 0);
	db_session_close(session);
	return rc;
}

static int welcome(void *arg, int fd, bool trusted, const char *address)
{
	struct server *server = arg;
	return clients_welcome(&server->services, fd, trusted, address);
}

static bool is_draining(void *arg)
{
	return server_is_draining(arg);
}

static int open_listeners(struct server *server, char *message)
{
	const struct config *config = &server->services.config;
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
		.threads = (uint32_t)server->services.config.workers + DB_RESERVED_SLOTS +
			   EXTRA_THREADS,
		.serve = serve,
		.release = release,
		.arg = server };
	if (reactor_start(&server->services.reactor, &options))
		return complain(message, "cannot start serving threads", strerror(errno));
	for (uint32_t i = 0; i < server->listeners.count; i++)
		if (reactor_add(server->services.reactor, &server->listeners.list[i].source))
			return complain(message, "cannot watch a socket", strerror(errno));
	return 0;
}

/* On libcancel's controller thread, once a window. */
static void on_window(
	const struct cancel_ledger *ledger, const struct cancel_verdict *verdict, void *arg)
{
	struct server *server = arg;
	(void)ledger;
	gate_hear(&server->services.admission.gate, verdict);
}

static int bring_up(struct server *server, char *message)
{
	const struct config *config = &server->services.config;
	if (getrandom(server->services.scram_secret, SCRAM_KEY_BYTES, 0) != SCRAM_KEY_BYTES)
		return complain(message, "no random numbers", strerror(errno));
	raise_fd_limit(config);
	if (runtime_start(config, message))
		return -1;
	if (admission_init(&server->services.admission, config))
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
	if (server->services.reactor)
		reactor_stop(server->services.reactor);
	listen_close(&server->listeners);
	if (server->services.engine)
		db_close(server->services.engine);
	cancel_set_window_listener(NULL, NULL);
	runtime_stop();
	admission_free(&server->services.admission);
	clients_destroy(&server->clients);
	pthread_mutex_destroy(&server->services.backup.lock);
	free(server);
}

int server_start(struct server **out, const struct config *config, const struct server_views *views,
	char message[CONFIG_MESSAGE_MAX])
{
	struct server *server = calloc(1, sizeof *server);
	if (!server)
		return complain(message, "cannot start", "out of memory");
	server->services.config = *config;
	server->views = *views;
	server->services.clients = &server->clients;
	clients_init(&server->clients);
	pthread_mutex_init(&server->services.backup.lock, NULL);
	if (bring_up(server, message)) {
		clients_stop_welcoming(&server->clients);
		take_down(server);
		return -1;
	}
	server->started_ns = cancel_now_ns();
	*out = server;
	return 0;
}

/* ---- Down ------------------------------------------------------------------------------------ */

void server_drain(struct server *server)
{
	struct services *services = &server->services;
	clients_stop_welcoming(&server->clients);
	listen_kick(&server->listeners, services->reactor, false);
	clients_drain(&server->clients, services->config.drain_s);
}

void server_stop(struct server *server)
{
	take_down(server);
}

void server_force(struct server *server)
{
	clients_force(&server->clients);
}

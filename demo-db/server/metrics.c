/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the HTTP thread and the names of the metrics. It must not change anything.
 */
#include "demo-db/server/metrics.h"
#include "demo-db/server/net/output.h"
#include "demo-db/server/server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define REQUEST_MAX_BYTES 8192

struct metrics {
	struct server *server;
	struct event_base *base;
	struct evhttp *http;
	struct event *wake;
	int wake_fd;
	pthread_t thread;
	bool running;
};

/* ---- Text ------------------------------------------------------------------------------------ */

static void head(struct evbuffer *out, const char *name, const char *type, const char *help)
{
	evbuffer_add_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void counter(struct evbuffer *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "counter", help);
	evbuffer_add_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void gauge(struct evbuffer *out, const char *name, const char *help, double value)
{
	head(out, name, "gauge", help);
	evbuffer_add_printf(out, "%s %.9g\n", name, value);
}

static void seconds(struct evbuffer *out, const char *name, const char *help, uint64_t ns)
{
	head(out, name, "counter", help);
	evbuffer_add_printf(out, "%s %.6f\n", name, (double)ns / 1e9);
}

static uint64_t load(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

/* ---- What is shown --------------------------------------------------------------------------- */

static void put_engine(struct evbuffer *out, const struct db_stats *s)
{
	counter(out, "demo_db_statements_total", "Statements that ended.", s->statements);
	counter(out, "demo_db_statement_errors_total", "Statements that failed.", s->errors);
	counter(out, "demo_db_statements_cancelled_total", "Statements that were cancelled.",
		s->cancelled);
	counter(out, "demo_db_commits_total", "Writing transactions committed.", s->commits);
	counter(out, "demo_db_rollbacks_total", "Writing transactions rolled back.", s->rollbacks);
	counter(out, "demo_db_reruns_total", "Cancelled statements run again.", s->reruns);
	counter(out, "demo_db_deadlocks_total", "Deadlocks broken.", s->deadlocks);
	counter(out, "demo_db_lock_timeouts_total", "Lock waits that timed out.", s->lock_timeouts);
	gauge(out, "demo_db_workers", "Worker slots.", s->workers);
	gauge(out, "demo_db_workers_busy", "Worker slots in use.", s->slots_used);
	gauge(out, "demo_db_queue_length", "Statements that wait for a worker.", s->queued);
	gauge(out, "demo_db_lock_waiters", "Statements that wait for a lock.", s->lock_waiters);
	gauge(out, "demo_db_write_gate_waiters", "Statements that wait to write.", s->gate_waiters);
	seconds(out, "demo_db_lock_wait_seconds_total", "Time waited for table locks.",
		s->lock_wait_ns);
	seconds(out, "demo_db_write_gate_wait_seconds_total", "Time waited to write.",
		s->gate_wait_ns);
	gauge(out, "demo_db_statement_memory_bytes", "Memory of running statements.",
		(double)s->statement_bytes);
	gauge(out, "demo_db_memory_budget_bytes", "Budget of all grants.",
		(double)s->memory_budget_bytes);
	gauge(out, "demo_db_memory_granted_bytes", "Granted to statements, idle grants included.",
		(double)s->memory_granted_bytes);
	counter(out, "demo_db_memory_refused_total", "Plans refused for memory.",
		s->memory_refused);
	counter(out, "demo_db_memory_cancelled_total", "Statements that outgrew their grant.",
		s->memory_cancelled);
	gauge(out, "demo_db_wal_bytes", "Log not yet in the database.", (double)s->wal_bytes);
	counter(out, "demo_db_checkpoints_total", "Checkpoints.", s->checkpoints);
	counter(out, "demo_db_log_throttle_ms_total",
		"Time writers waited for a log over its limit.", s->log_throttle_ns / 1000000);
}

static void put_pool(struct evbuffer *out, const struct db_stats *s)
{
	gauge(out, "demo_db_pool_frames", "Frames of the page pool.", (double)s->pool_frames);
	gauge(out, "demo_db_pool_frames_used", "Frames that hold a page.", (double)s->pool_used);
	counter(out, "demo_db_pool_hits_total", "Pages found in the pool.", s->pool_hits);
	counter(out, "demo_db_pool_misses_total", "Pages read from the file.", s->pool_misses);
	counter(out, "demo_db_pool_evictions_total", "Pages that had to go.", s->pool_evictions);
}

static void put_server(struct evbuffer *out, struct server *server)
{
	struct output_stats output;
	output_stats(&output);
	pthread_mutex_lock(&server->clients.lock);
	uint32_t sessions = server->clients.sessions, clients = server->clients.count;
	pthread_mutex_unlock(&server->clients.lock);
	gauge(out, "demo_db_sessions", "Sessions.", sessions);
	gauge(out, "demo_db_connections", "Sockets, start-ups included.", clients);
	counter(out, "demo_db_connections_accepted_total", "Sockets accepted.",
		load(&server->services.counters.accepted));
	counter(out, "demo_db_connections_refused_total", "Connections over the limit.",
		load(&server->services.counters.refused) + load(&server->listeners.turned_away));
	counter(out, "demo_db_errors_sent_total", "Errors told to clients.",
		load(&server->services.counters.errors));
	counter(out, "demo_db_handed_over_total", "Statements that found no free worker at once.",
		load(&server->services.counters.handed_over));
	counter(out, "demo_db_sent_bytes_total", "Bytes sent to clients.", output.bytes);
	counter(out, "demo_db_slow_readers_total", "Clients given up for not reading.",
		output.given_up);
}

static void put_by_priority(
	struct evbuffer *out, const char *name, const char *help, const _Atomic uint64_t *values)
{
	head(out, name, "counter", help);
	for (unsigned i = 0; i < PRIORITY_LEVELS; i++)
		evbuffer_add_printf(out, "%s{priority=\"%s\"} %llu\n", name,
			priority_name((enum priority)i), (unsigned long long)load(&values[i]));
}

static void put_admission(struct evbuffer *out, struct server *server)
{
	struct admission *admission = &server->services.admission;
	struct cancel_dagor_stats stats = { .cursor = PRIORITY_LEVELS * GATE_USER_LEVELS };
	if (admission->gate.dagor)
		cancel_dagor_shared_stats(admission->gate.dagor, &stats);
	put_by_priority(out, "demo_db_admission_offered_total", "Transactions that asked.",
		admission->gate.offered);
	put_by_priority(out, "demo_db_admission_refused_total", "Transactions refused.",
		admission->gate.refused);
	gauge(out, "demo_db_admission_cursor", "Levels admitted, of 512.", stats.cursor);
	gauge(out, "demo_db_admission_queue_seconds", "Mean queuing time of the last window.",
		(double)stats.mean_delay_ns / 1e9);
	counter(out, "demo_db_admission_spared_total",
		"Transactions spared because a culprit was being cancelled.",
		load(&admission->gate.spared));
	gauge(out, "demo_db_intake_paused", "1 while the intake is paused.",
		atomic_load_explicit(&admission->paused, memory_order_relaxed));
}

static void put_cancel(struct evbuffer *out)
{
	struct cancel_counters counters;
	struct cancel_status status;
	char name[80];
	cancel_read_counters(&counters);
	cancel_read_status(&status);
#define X(field, what)                                                                             \
	snprintf(name, sizeof name, "cancel_%s_total", #field);                                    \
	counter(out, name, what ".", counters.field);
	CANCEL_COUNTERS(X)
#undef X
	head(out, "cancel_held_back_total", "counter", "Verdicts without a cancel, by cause.");
	for (int cause = CANCEL_CAUSE_NONE + 1; cause < CANCEL_CAUSE_COUNT; cause++)
		evbuffer_add_printf(out, "cancel_held_back_total{cause=\"%s\"} %llu\n",
			cancel_cause_name((enum cancel_cause)cause),
			(unsigned long long)counters.held_back[cause]);
	gauge(out, "cancel_acting", "1 if culprits are cancelled, 0 if only named.", status.acting);
	gauge(out, "cancel_late_share", "Share of episodes over their SLO, last window.",
		(double)status.late_share_ppm / 1e6);
	gauge(out, "cancel_tasks", "Tasks alive.", status.live_tasks);
}

static void put_contention(struct evbuffer *out)
{
	struct cancel_resource_info *infos = calloc(CANCEL_RESOURCES_MAX, sizeof *infos);
	size_t count = infos ? cancel_snapshot_resources(infos, CANCEL_RESOURCES_MAX) : 0;
	head(out, "cancel_contention", "gauge", "Share of execution time lost, last window.");
	for (size_t i = 0; i < count; i++)
		evbuffer_add_printf(out, "cancel_contention{resource=\"%s\"} %.6f\n", infos[i].name,
			(double)infos[i].contention_ppm / 1e6);
	free(infos);
}

/* ---- Serving --------------------------------------------------------------------------------- */

static void reply(struct evhttp_request *request, int code, struct evbuffer *body)
{
	evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
		"text/plain; version=0.0.4; charset=utf-8");
	if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
		char bytes[24];
		snprintf(bytes, sizeof bytes, "%zu", evbuffer_get_length(body));
		evhttp_add_header(
			evhttp_request_get_output_headers(request), "Content-Length", bytes);
		evbuffer_drain(body, evbuffer_get_length(body));
	}
	evhttp_send_reply(request, code, NULL, body);
	evbuffer_free(body);
}

static void on_metrics(struct evhttp_request *request, void *arg)
{
	const struct metrics *metrics = arg;
	struct evbuffer *body = evbuffer_new();
	struct db_stats stats;
	if (!body) {
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
		return;
	}
	db_stats(metrics->server->services.engine, &stats);
	put_engine(body, &stats);
	put_pool(body, &stats);
	put_server(body, metrics->server);
	put_admission(body, metrics->server);
	put_cancel(body);
	put_contention(body);
	reply(request, HTTP_OK, body);
}

static void on_health(struct evhttp_request *request, void *arg)
{
	const struct metrics *metrics = arg;
	struct evbuffer *body = evbuffer_new();
	bool draining = server_is_draining(metrics->server);
	if (!body) {
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
		return;
	}
	evbuffer_add_printf(body, "%s\n", draining ? "draining" : "ok");
	reply(request, draining ? HTTP_SERVUNAVAIL : HTTP_OK, body);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	const struct metrics *metrics = arg;
	(void)fd;
	(void)what;
	event_base_loopbreak(metrics->base);
}

static void *serve(void *arg)
{
	struct metrics *metrics = arg;
	event_base_dispatch(metrics->base);
	return NULL;
}

static void free_metrics(struct metrics *metrics)
{
	if (metrics->http)
		evhttp_free(metrics->http);
	if (metrics->wake)
		event_free(metrics->wake);
	if (metrics->base)
		event_base_free(metrics->base);
	if (metrics->wake_fd >= 0)
		close(metrics->wake_fd);
	free(metrics);
}

static bool open_http(struct metrics *metrics, uint16_t port)
{
	metrics->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	metrics->base = event_base_new();
	if (metrics->wake_fd < 0 || !metrics->base)
		return false;
	metrics->wake =
		event_new(metrics->base, metrics->wake_fd, EV_READ | EV_PERSIST, on_wake, metrics);
	metrics->http = evhttp_new(metrics->base);
	if (!metrics->wake || !metrics->http || event_add(metrics->wake, NULL))
		return false;
	evhttp_set_allowed_methods(metrics->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_timeout(metrics->http, 10);
	evhttp_set_max_headers_size(metrics->http, REQUEST_MAX_BYTES);
	evhttp_set_max_body_size(metrics->http, REQUEST_MAX_BYTES);
	evhttp_set_cb(metrics->http, "/metrics", on_metrics, metrics);
	evhttp_set_cb(metrics->http, "/healthz", on_health, metrics);
	return evhttp_bind_socket(metrics->http, "127.0.0.1", port) == 0;
}

int metrics_start(struct metrics **out, struct server *server, char message[CONFIG_MESSAGE_MAX])
{
	uint16_t port = (uint16_t)server->services.config.metrics_port;
	struct metrics *metrics = calloc(1, sizeof *metrics);
	int why = ENOMEM;
	*out = NULL;
	if (!port) {
		free(metrics);
		return 0;
	}
	if (metrics) {
		metrics->server = server;
		metrics->wake_fd = -1;
		metrics->running = open_http(metrics, port) &&
				   pthread_create(&metrics->thread, NULL, serve, metrics) == 0;
		if (metrics->running) {
			*out = metrics;
			return 0;
		}
		why = errno;
		free_metrics(metrics);
	}
	snprintf(message, CONFIG_MESSAGE_MAX, "cannot serve metrics on 127.0.0.1 port %u: %s", port,
		strerror(why));
	return -1;
}

void metrics_stop(struct metrics *metrics)
{
	uint64_t one = 1;
	if (!metrics)
		return;
	if (write(metrics->wake_fd, &one, sizeof one) < 0)
		abort(); /* an eventfd at 0 takes a 1 */
	pthread_join(metrics->thread, NULL);
	free_metrics(metrics);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - the life of a session's server side, its errors, and how others cancel or end it. */
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/admit.h"
#include "demo-db/server/session/extended.h"
#include "demo-db/server/session/services.h"

#include <stdio.h>

#define VIEW_LIMIT_MS 5000 /* views may use slots kept free for others: never for long */

/* ---- Life ------------------------------------------------------------------------------------ */

/* What the operator set for every session; the client's start-up packet comes later and wins. */
static void take_defaults(struct backend *backend)
{
	const struct config *config = &backend->services->config;
	const struct {
		enum setting setting;
		unsigned long long number;
		const char *unit;
	} defaults[] = { { SETTING_statement_timeout, config->statement_timeout_ms, "ms" },
		{ SETTING_idle_session_timeout, config->idle_timeout_s, "s" },
		{ SETTING_idle_in_transaction_session_timeout, config->idle_transaction_timeout_s,
			"s" },
		{ SETTING_lock_timeout, config->lock_timeout_ms, "ms" } };
	char text[32];
	for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
		snprintf(text, sizeof text, "%llu%s", defaults[i].number, defaults[i].unit);
		settings_tell(&backend->settings, defaults[i].setting, text);
	}
}

int backend_init(struct backend *backend, struct services *services, struct reactor_source *source)
{
	const struct config *config = &services->config;
	const struct cancel_output_limit_options options = { .struct_size = sizeof options,
		.hard_bytes = config->hard_mb << 20,
		.soft_bytes = config->soft_kb << 10,
		.soft_ns = config->soft_s * 1000000000u };
	struct cancel_output_limit limit;
	if (cancel_output_limit_init(&limit, &options))
		return -1;
	backend->services = services;
	backend->source = source;
	atomic_store_explicit(&source->level, PRIORITY_READ, memory_order_relaxed);
	backend->settings_version = UINT32_MAX;
	backend->reported_level = PRIORITY_LEVELS * GATE_USER_LEVELS;
	output_init(&backend->output, source->fd, &limit);
	settings_init(&backend->settings);
	take_defaults(backend);
	timer_set(&backend->timer, TIMER_STARTUP, cancel_now_ns(),
		config->startup_timeout_s * 1000000000u);
	return 0;
}

void backend_free(struct backend *backend)
{
	query_free(backend);
	prepared_free(&backend->prepared);
	schema_free(&backend->schema);
	settings_free(&backend->settings);
	output_free(&backend->output);
}

bool backend_may_control(const struct backend *backend)
{
	return backend->role ? backend->role->raise : backend->services->config.role_count == 0;
}

bool backend_speaks_for_others(const struct backend *backend)
{
	return backend->role && backend->role->raise;
}

void backend_error(struct backend *backend, const char *sqlstate, const char *message,
	const char *detail, const char *hint, int position)
{
	extended_describe_first(backend);
	const struct wire_report report = { .severity = "ERROR",
		.sqlstate = sqlstate,
		.message = message,
		.detail = detail && *detail ? detail : NULL,
		.hint = hint && *hint ? hint : NULL,
		.position = position };
	wire_error(&backend->output.wire, &report);
	atomic_fetch_add_explicit(&backend->services->counters.errors, 1, memory_order_relaxed);
}

/* ---- Cancelled and ended by others ----------------------------------------------------------- */

void backend_close(struct backend *backend, enum close_reason why)
{
	uint32_t now = atomic_load_explicit(&backend->close_reason, memory_order_relaxed);
	do {
		if (now != CLOSE_NOT && (now != CLOSE_SHUTDOWN || why == CLOSE_SHUTDOWN))
			return;
	} while (!atomic_compare_exchange_weak_explicit(&backend->close_reason, &now, (uint32_t)why,
		memory_order_acq_rel, memory_order_relaxed));
	reactor_kick(backend->services->reactor, backend->source);
}

bool backend_is_over(const struct backend *backend)
{
	uint32_t why = atomic_load_explicit(&backend->close_reason, memory_order_acquire);
	bool gone = backend->db &&
		    atomic_load_explicit(&backend->source->hung_up, memory_order_relaxed);
	/* a cancel request, which has no session, counts although its sender has hung up */
	return gone || (why != CLOSE_NOT && why != CLOSE_SHUTDOWN) ||
	       backend->output.lost != OUTPUT_FINE;
}

void backend_cancel(struct backend *backend, bool timed_out)
{
	if (!backend->db)
		return;
	if (timed_out)
		atomic_store_explicit(&backend->timed_out, true, memory_order_relaxed);
	uint32_t held = WAIT_HELD;
	if (atomic_compare_exchange_strong_explicit(&backend->query.waits, &held, WAIT_CANCELLED,
		    memory_order_relaxed, memory_order_relaxed))
		reactor_kick(backend->services->reactor, backend->source);
	else if (!db_cancel_session(backend->db))
		(void)backup_cancel(backend);
}

void backend_watch_statement(struct backend *backend)
{
	uint64_t limit_ms = settings_ms(&backend->settings, SETTING_statement_timeout);
	if (backend->query.statement->kind.view && (!limit_ms || limit_ms > VIEW_LIMIT_MS))
		limit_ms = VIEW_LIMIT_MS;
	atomic_store_explicit(&backend->timed_out, false, memory_order_relaxed);
	timer_set(&backend->timer, TIMER_STATEMENT, limit_ms ? cancel_now_ns() : 0,
		limit_ms * 1000000);
}

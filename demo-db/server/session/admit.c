/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit.c - asks for a session's transactions whether they may begin, and tells its client.
 *
 * A session that is told to wait is held: it is asked again whenever the server wakes everybody,
 * and a cancel finds it waiting.
 */
#include "demo-db/server/session/admit.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"
#include "demo-db/server/session/query_errors.h"
#include "common/hash.h"

#include <cancel/observe.h>
#include <stdio.h>
#include <string.h>

#define FOREVER_MS    3155760000000u /* 100 years */
#define ROW_LOG_BYTES 512u	     /* what a changed row turned out to add to the log, about */

/* ---- Priorities ------------------------------------------------------------------------------ */

static enum priority lower(enum priority a, enum priority b)
{
	if (a == PRIORITY_AUTO || b == PRIORITY_AUTO)
		return a == PRIORITY_AUTO ? b : a;
	return b > a ? b : a;
}

/* Whose user level its requests have: the role's. A front-end that answers for many users may tell
 * whose request it is; were it anybody's to tell, a client that is refused would roll again. */
static uint64_t user_of(const struct backend *backend)
{
	const char *user = settings_get(&backend->settings, SETTING_cancel_user);
	return *user && backend_speaks_for_others(backend) ? hash_text(user) : backend->user_hash;
}

/* Roles, programs and SET are looked at once a change of settings, not once a statement. */
static void read_settings(struct backend *backend)
{
	const struct settings *settings = &backend->settings;
	const char *program = settings_get(settings, SETTING_application_name);
	const struct config_role *by_program =
		config_find_program(&backend->services->config, program);
	enum priority set = priority_find(settings_get(settings, SETTING_cancel_priority));
	backend->lift = backend_may_control(backend) ? set : PRIORITY_AUTO;
	backend->limit = backend->role ? backend->role->priority : PRIORITY_AUTO;
	if (by_program)
		backend->limit = lower(backend->limit, by_program->priority);
	/* its sockets' place: what the operator gave it, else that of a read, or what it lowers to
	 */
	enum priority given = backend->limit == PRIORITY_AUTO ? PRIORITY_READ : backend->limit;
	enum priority level = backend->lift != PRIORITY_AUTO ? backend->lift : lower(given, set);
	atomic_store_explicit(&backend->source->level, level, memory_order_relaxed);
	backend->limit = lower(backend->limit, set);
	backend->user_level = user_of(backend);
	uint64_t wait_ms = settings_ms(settings, SETTING_lock_timeout);
	backend->lock_timeout_ns = (wait_ms ? wait_ms : FOREVER_MS) * 1000000u;
	clients_show_program(backend->services->clients, backend, program);
	backend->settings_version = settings->version;
}

enum priority admit_priority(struct backend *backend, enum priority kind)
{
	if (backend->settings_version != backend->settings.version)
		read_settings(backend);
	return backend->lift != PRIORITY_AUTO ? backend->lift : lower(kind, backend->limit);
}

void admit_tell_level(struct backend *backend, uint64_t now_ns)
{
	char text[48];
	const struct cancel_dagor_level level =
		gate_level(&backend->services->admission.gate, now_ns);
	uint32_t all = PRIORITY_LEVELS * GATE_USER_LEVELS;
	bool open = level.cursor >= all;
	if (level.cursor == backend->reported_level &&
		(open || level.serial == backend->reported_serial))
		return;
	backend->reported_level = level.cursor;
	backend->reported_serial = level.serial;
	snprintf(text, sizeof text, "%u/%u %llu", level.cursor, all,
		(unsigned long long)level.serial);
	settings_tell(&backend->settings, SETTING_cancel_level, open ? "" : text);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

void admit_maintenance(struct backend *backend, bool begins)
{
	admission_maintenance(
		&backend->services->admission, backend->query.statement->kind.blocks, begins);
}

static bool is_write(const struct statement *s)
{
	return s->kind.priority == PRIORITY_WRITE && s->dialect.kind != DIALECT_BEGIN;
}

/* From now on a cancel finds it waiting. */
static void hold(struct backend *backend)
{
	atomic_fetch_add_explicit(&backend->services->admission.waiting, 1, memory_order_relaxed);
	atomic_store_explicit(&backend->query.waits, WAIT_HELD, memory_order_relaxed);
}

/* What became of the wait. */
static uint32_t release(struct backend *backend)
{
	uint32_t wait =
		atomic_exchange_explicit(&backend->query.waits, WAIT_NONE, memory_order_relaxed);
	if (wait != WAIT_NONE)
		atomic_fetch_sub_explicit(
			&backend->services->admission.waiting, 1, memory_order_relaxed);
	return wait;
}

enum admit_answer admit_ask(struct backend *backend)
{
	struct query *q = &backend->query;
	struct admission *admission = &backend->services->admission;
	struct admission_refusal refusal;
	uint64_t now_ns = cancel_now_ns();
	q->turn = (struct admission_turn){ .priority = q->priority,
		.user_level = backend->user_level,
		.writes = is_write(q->statement),
		.waiting = query_is_held(q) };
	enum admission_answer answer = admission_ask(admission, &q->turn, now_ns, &refusal);
	if (answer == ADMISSION_WAIT && !q->turn.waiting)
		hold(backend);
	if (answer == ADMISSION_WAIT &&
		atomic_load_explicit(&q->waits, memory_order_relaxed) != WAIT_CANCELLED)
		return ADMIT_WAIT; /* one that is cancelled from here on is kicked */
	uint32_t wait = release(backend);
	bool cancelled = wait == WAIT_CANCELLED && answer != ADMISSION_REFUSED;
	if (answer == ADMISSION_GO && q->turn.waiting)
		q->arrival_ns = now_ns; /* it was made to wait: that is not the workers' queue */
	q->gated = answer == ADMISSION_GO && !cancelled;
	q->observed = false;
	if (cancelled)
		admission_settle(admission, &q->turn, now_ns, 0);
	/* To refuse costs as little as it can: a Describe that waits is not answered by compiling. */
	if (answer == ADMISSION_REFUSED)
		q->describe_due = false;
	if (answer == ADMISSION_REFUSED)
		backend_error(backend, refusal.sqlstate, refusal.message, NULL, refusal.hint, 0);
	return cancelled ? ADMIT_CANCELLED : answer == ADMISSION_REFUSED ? ADMIT_REFUSED : ADMIT_GO;
}

/* Queuing is what it waited for the reactor and for a slot: to read a long message is work. */
static void on_start(void *arg, uint64_t now_ns, uint64_t queued_ns)
{
	struct backend *backend = arg;
	gate_observe(
		&backend->services->admission.gate, now_ns, backend->query.unserved_ns + queued_ns);
}

void admit_starts(struct backend *backend)
{
	struct query *q = &backend->query;
	if (!q->gated || q->observed)
		return;
	uint64_t arrival_ns = query_arrival_ns(q);
	q->observed = true;
	q->unserved_ns = backend->served_ns > arrival_ns ? backend->served_ns - arrival_ns : 0;
	q->request.on_start = on_start;
}

void admit_ended(struct backend *backend)
{
	struct query *q = &backend->query;
	struct admission *admission = &backend->services->admission;
	const struct db_result *result = &q->result;
	q->gated = false;
	admission_settle(
		admission, &q->turn, result->done_ns, (uint64_t)result->changes * ROW_LOG_BYTES);
}

void admit_forget(struct backend *backend)
{
	(void)release(backend);
}

bool admit_keeps_out(struct backend *backend)
{
	uint64_t until_ns = cancel_quarantined(backend->query.statement->signature);
	uint64_t now_ns = cancel_now_ns();
	char hint[96];
	if (until_ns <= now_ns)
		return false;
	snprintf(hint, sizeof hint, "Retry after %llu ms; see cancel_quarantine.",
		(unsigned long long)((until_ns - now_ns) / 1000000 + 1));
	return query_fail(backend, "53000",
		"this statement was cancelled for choking the server and is kept out", hint);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the answers to a transaction that wants to begin. It must not know how statements are run.
 */
#include "demo-db/server/intake.h"
#include "demo-db/server/server.h"

#include <stdio.h>
#include <string.h>

#define MIB		(1024u * 1024u)
#define LOG_DEBT_BYTES	(8 * MIB)    /* the engine keeps the log below this, readers permitting */
#define WRITE_ASK_BYTES (64 * 1024u) /* what a write of the lowest priority is taken to cost */
#define ROW_LOG_BYTES	512u	     /* what a changed row turned out to, about */

int intake_init(struct intake *intake, const struct config *config)
{
	const struct cancel_busy_options busy = { .struct_size = sizeof busy,
		.threshold_ns = config->busy_ms * 1000000u };
	const struct cancel_io_tokens_options tokens = { .struct_size = sizeof tokens,
		.threshold = LOG_DEBT_BYTES,
		.start_ns = cancel_now_ns() };
	pthread_mutex_init(&intake->lock, NULL);
	intake->tokens_on = config->io_tokens != 0;
	if (cancel_busy_init(&intake->busy_all, &busy) ||
		cancel_busy_init(&intake->busy_writers, &busy) ||
		cancel_io_tokens_init(&intake->tokens, &tokens))
		return -1;
	return gate_init(&intake->gate, config);
}

void intake_free(struct intake *intake)
{
	gate_free(&intake->gate);
	pthread_mutex_destroy(&intake->lock);
}

/* ---- Priorities ----------------------------------------------------------------------------
 */

static enum business lower(enum business a, enum business b)
{
	if (a == BUSINESS_AUTO || b == BUSINESS_AUTO)
		return a == BUSINESS_AUTO ? b : a;
	return b > a ? b : a;
}

/* Whose place in the queue it is: cancel.user, else the user at its address. */
static uint64_t user_of(const struct client *client)
{
	const char *user = settings_get(&client->settings, SETTING_cancel_user);
	uint64_t hash = *user ? 14695981039346656037u : client->user_hash;
	for (; *user; user++) /* FNV-1a (Fowler, Noll, Vo) */
		hash = (hash ^ (unsigned char)*user) * 1099511628211u;
	return hash;
}

/* Roles, programs and SET are looked at once a change of settings, not once a statement. */
static void read_settings(struct client *client)
{
	const struct settings *settings = &client->settings;
	const char *program = settings_get(settings, SETTING_application_name);
	const struct config_role *by_program =
		config_find_program(&client->server->config, program);
	enum business set = business_find(settings_get(settings, SETTING_cancel_priority));
	client->lift = client->role && client->role->raise ? set : BUSINESS_AUTO;
	client->limit = client->role ? client->role->business : BUSINESS_AUTO;
	if (by_program)
		client->limit = lower(client->limit, by_program->business);
	/* its sockets' place: what the operator gave it, else that of a read, or what it lowers to
	 */
	enum business given = client->limit == BUSINESS_AUTO ? BUSINESS_READ : client->limit;
	enum business level = client->lift != BUSINESS_AUTO ? client->lift : lower(given, set);
	atomic_store_explicit(&client->source.level, level, memory_order_relaxed);
	client->limit = lower(client->limit, set);
	client->user_level = user_of(client);
	client->settings_version = settings->version;
}

enum business intake_business(struct client *client, enum business kind)
{
	if (client->settings_version != client->settings.version)
		read_settings(client);
	return client->lift != BUSINESS_AUTO ? client->lift : lower(kind, client->limit);
}

void intake_tell_level(struct client *client, uint64_t now_ns)
{
	char text[48];
	const struct cancel_dagor_level level = gate_level(&client->server->intake.gate, now_ns);
	uint32_t all = BUSINESS_LEVELS * GATE_USER_LEVELS;
	bool open = level.cursor >= all;
	if (level.cursor == client->told_cursor && (open || level.serial == client->told_serial))
		return;
	client->told_cursor = level.cursor;
	client->told_serial = level.serial;
	snprintf(text, sizeof text, "%u/%u %llu", level.cursor, all,
		(unsigned long long)level.serial);
	settings_tell(&client->settings, SETTING_cancel_level, open ? "" : text);
}

/* ---- Maintenance ---------------------------------------------------------------------------
 */

static void note(struct cancel_busy *busy, uint32_t *count, bool begins, uint64_t now_ns)
{
	*count += begins ? 1u : -1u;
	if (*count == (begins ? 1u : 0u))
		cancel_busy_observe(busy, now_ns, begins);
}

void intake_maintenance(struct client *client, bool begins)
{
	struct intake *intake = &client->server->intake;
	uint64_t now_ns = cancel_now_ns();
	pthread_mutex_lock(&intake->lock);
	if (client->query.statement->kind.keeps_out == KEEPS_OUT_ALL)
		note(&intake->busy_all, &intake->keeping_all, begins, now_ns);
	else
		note(&intake->busy_writers, &intake->keeping_writers, begins, now_ns);
	atomic_store_explicit(&intake->maintaining, intake->keeping_all || intake->keeping_writers,
		memory_order_relaxed);
	pthread_mutex_unlock(&intake->lock);
}

static bool is_write(const struct statement *s)
{
	return s->kind.business == BUSINESS_WRITE && s->dialect.kind != DIALECT_BEGIN;
}

static enum intake_answer ask_maintenance(struct client *client, uint64_t now_ns)
{
	struct intake *intake = &client->server->intake;
	bool writes = is_write(client->query.statement);
	if (!atomic_load_explicit(&intake->maintaining, memory_order_relaxed))
		return INTAKE_GO;
	pthread_mutex_lock(&intake->lock);
	bool fine = cancel_busy_admit(&intake->busy_all, now_ns) &&
		    (!writes || cancel_busy_admit(&intake->busy_writers, now_ns));
	pthread_mutex_unlock(&intake->lock);
	if (fine)
		return INTAKE_GO;
	atomic_fetch_add_explicit(&intake->busy_refused, 1, memory_order_relaxed);
	client_error(client, "55P03", "BUSY: maintenance has kept others out for too long", NULL,
		"Retry later, or end it: SELECT * FROM cancel_tasks shows it, SELECT "
		"cancel_task(id) cancels it.",
		0);
	return INTAKE_REFUSED;
}

/* ---- The log -------------------------------------------------------------------------------- */

bool intake_tick(struct intake *intake, uint64_t log_bytes, uint64_t now_ns)
{
	pthread_mutex_lock(&intake->lock);
	if (log_bytes < intake->log_bytes)
		intake->drained_bytes += intake->log_bytes - log_bytes;
	intake->log_bytes = log_bytes;
	cancel_io_tokens_observe(&intake->tokens, now_ns, log_bytes, intake->drained_bytes);
	pthread_mutex_unlock(&intake->lock);
	return atomic_load_explicit(&intake->waiting, memory_order_relaxed) > 0 &&
	       !atomic_load_explicit(&intake->paused, memory_order_relaxed);
}

/* Only writes of the lowest priority wait: batch work, by role, program or SET. */
static enum intake_answer ask_log(struct client *client, enum business business, uint64_t now_ns)
{
	struct intake *intake = &client->server->intake;
	if (business != BUSINESS_ANALYTICAL || !is_write(client->query.statement) ||
		!intake->tokens_on)
		return INTAKE_GO;
	pthread_mutex_lock(&intake->lock);
	bool fine = cancel_io_tokens_admit(&intake->tokens, now_ns, WRITE_ASK_BYTES);
	pthread_mutex_unlock(&intake->lock);
	client->query.asked_bytes = fine ? WRITE_ASK_BYTES : 0;
	if (!fine && !query_is_held(&client->query))
		atomic_fetch_add_explicit(&intake->io_waits, 1, memory_order_relaxed);
	return fine ? INTAKE_GO : INTAKE_WAIT;
}

/* ---- The gate ------------------------------------------------------------------------------ */

static enum intake_answer ask_gate(struct client *client, enum business business, uint64_t now_ns)
{
	struct gate_refusal refusal;
	char message[160], hint[64];
	struct intake *intake = &client->server->intake;
	if (gate_admit(&intake->gate, now_ns, business, client->user_level, &refusal))
		return INTAKE_GO;
	snprintf(message, sizeof message,
		"the server is overloaded: %s work of level %u is refused, %u of %u levels are "
		"admitted",
		business_name(business), refusal.level, refusal.cursor, refusal.levels);
	snprintf(hint, sizeof hint, "retry after %u ms", refusal.retry_ms);
	client_error(client, "53000", message, NULL, hint, 0);
	return INTAKE_REFUSED;
}

static enum intake_answer ask(struct client *client)
{
	struct query *q = &client->query;
	uint64_t now_ns = cancel_now_ns();
	if (atomic_load_explicit(&client->server->intake.paused, memory_order_relaxed))
		return INTAKE_WAIT;
	enum intake_answer answer = ask_maintenance(client, now_ns);
	if (answer == INTAKE_GO)
		answer = ask_log(client, q->business, now_ns);
	if (answer == INTAKE_GO && query_is_held(q))
		q->arrival_ns = now_ns; /* it was made to wait: that is not the workers' queue */
	if (answer == INTAKE_GO)
		answer = ask_gate(client, q->business, now_ns);
	return answer;
}

/* From now on a cancel finds it waiting. */
static void hold(struct client *client)
{
	atomic_fetch_add_explicit(&client->server->intake.waiting, 1, memory_order_relaxed);
	atomic_store_explicit(&client->query.waits, WAIT_HELD, memory_order_relaxed);
}

/* What became of the wait. */
static uint32_t let_go(struct client *client)
{
	uint32_t wait =
		atomic_exchange_explicit(&client->query.waits, WAIT_NONE, memory_order_relaxed);
	if (wait != WAIT_NONE)
		atomic_fetch_sub_explicit(&client->server->intake.waiting, 1, memory_order_relaxed);
	return wait;
}

static void settle_tokens(struct client *client, uint64_t now_ns, uint64_t bytes)
{
	struct query *q = &client->query;
	struct intake *intake = &client->server->intake;
	if (!q->asked_bytes)
		return;
	pthread_mutex_lock(&intake->lock);
	cancel_io_tokens_settle(&intake->tokens, now_ns, q->asked_bytes, bytes);
	pthread_mutex_unlock(&intake->lock);
	q->asked_bytes = 0;
}

enum intake_answer intake_ask(struct client *client)
{
	struct query *q = &client->query;
	enum intake_answer answer = ask(client);
	if (answer == INTAKE_WAIT && !query_is_held(q))
		hold(client);
	if (answer == INTAKE_WAIT &&
		atomic_load_explicit(&q->waits, memory_order_relaxed) != WAIT_CANCELLED)
		return INTAKE_WAIT; /* one that is cancelled from here on is kicked */
	uint32_t wait = let_go(client);
	q->gated = answer == INTAKE_GO && wait != WAIT_CANCELLED;
	if (answer == INTAKE_REFUSED || wait != WAIT_CANCELLED)
		return answer;
	settle_tokens(client, cancel_now_ns(), 0);
	return INTAKE_CANCELLED;
}

void intake_ended(struct client *client)
{
	struct query *q = &client->query;
	struct intake *intake = &client->server->intake;
	const struct db_result *result = &q->result;
	q->gated = false;
	if (result->start_ns > result->arrival_ns)
		gate_observe(&intake->gate, result->done_ns, result->start_ns - result->arrival_ns);
	else if (result->start_ns)
		gate_observe(&intake->gate, result->done_ns, 0);
	settle_tokens(client, result->done_ns, (uint64_t)result->changes * ROW_LOG_BYTES);
}

void intake_forget(struct client *client)
{
	(void)let_go(client);
}

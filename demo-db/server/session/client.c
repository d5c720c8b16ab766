/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - serves one socket: reads, decodes, hands messages on, sends.
 *
 * Owns the life of a client. Start-up is in startup.c, the extended protocol's messages in
 * extended.c, the running of statements in query.c.
 */
#include "demo-db/server/session/client.h"
#include "demo-db/server/session/admit.h"
#include "demo-db/server/session/extended.h"
#include "demo-db/server/server.h"
#include "demo-db/server/session/startup.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INPUT_BYTES	   8192
#define PASSWORD_MAX_BYTES 65535 /* as PostgreSQL's */
#define WATCH_BITS	   3
#define VIEW_LIMIT_MS	   5000	     /* views may use slots kept free for others: never for long */
#define INPUT_MAX_IDLE	   (1 << 16) /* a larger input buffer is given back when empty */

/* ---- Life ------------------------------------------------------------------------------------ */

/* What the operator set for every session; the client's start-up packet comes later and wins. */
static void take_defaults(struct client *client)
{
	const struct config *config = &client->server->config;
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
		settings_tell(&client->settings, defaults[i].setting, text);
	}
}

struct client *client_new(struct server *server, int fd, bool trusted, const char *address)
{
	const struct config *config = &server->config;
	const struct cancel_output_limit_options options = { .struct_size = sizeof options,
		.hard_bytes = config->hard_mb << 20,
		.soft_bytes = config->soft_kb << 10,
		.soft_ns = config->soft_s * 1000000000u };
	struct cancel_output_limit limit;
	struct client *client = calloc(1, sizeof *client);
	if (!client || cancel_output_limit_init(&limit, &options)) {
		free(client);
		return NULL;
	}
	client->server = server;
	client->source.fd = fd;
	atomic_store_explicit(&client->source.level, BUSINESS_READ, memory_order_relaxed);
	client->trusted = trusted;
	client->settings_version = UINT32_MAX;
	client->told_cursor = BUSINESS_LEVELS * GATE_USER_LEVELS;
	snprintf(client->address, sizeof client->address, "%s", address);
	output_init(&client->output, fd, &limit);
	settings_init(&client->settings);
	take_defaults(client);
	client_set_watch(
		client, WATCH_STARTUP, cancel_now_ns(), config->startup_timeout_s * 1000000000u);
	return client;
}

void client_free(struct client *client)
{
	query_free(client);
	prepared_free(&client->prepared);
	settings_free(&client->settings);
	output_free(&client->output);
	free(client->input.data);
	free(client->scram);
	free(client);
}

static enum reactor_answer leave(struct client *client)
{
	/* The worker that ended our last statement may still be on its way out of on_done. */
	while (atomic_load_explicit(&client->in_callback, memory_order_acquire))
		sched_yield();
	admit_forget(client);
	server_forget(client->server, client);
	if (client->session)
		db_session_close(client->session);
	client->session = NULL;
	reactor_remove(client->server->reactor, &client->source);
	close(client->source.fd);
	server_left(client->server, client);
	return REACTOR_GONE;
}

bool client_may_control(const struct client *client)
{
	return client->role ? client->role->raise : client->server->config.role_count == 0;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

void client_error(struct client *client, const char *sqlstate, const char *message,
	const char *detail, const char *hint, int position)
{
	extended_describe_first(client);
	const struct wire_report report = { .severity = "ERROR",
		.sqlstate = sqlstate,
		.message = message,
		.detail = detail && *detail ? detail : NULL,
		.hint = hint && *hint ? hint : NULL,
		.position = position };
	wire_error(&client->output.wire, &report);
	atomic_fetch_add_explicit(&client->server->counters.errors, 1, memory_order_relaxed);
}

void client_fatal(struct client *client, const char *sqlstate, const char *message)
{
	const struct wire_report report = {
		.severity = "FATAL", .sqlstate = sqlstate, .message = message
	};
	wire_error(&client->output.wire, &report);
	client->state = CLIENT_LEAVING;
}

/* ---- Being watched --------------------------------------------------------------------------- */

void client_doom(struct client *client, enum client_doom why)
{
	uint32_t now = atomic_load_explicit(&client->doom, memory_order_relaxed);
	do {
		if (now != DOOM_NONE && (now != DOOM_SHUTDOWN || why == DOOM_SHUTDOWN))
			return;
	} while (!atomic_compare_exchange_weak_explicit(
		&client->doom, &now, (uint32_t)why, memory_order_acq_rel, memory_order_relaxed));
	reactor_kick(client->server->reactor, &client->source);
}

/* The reactor was told that the client sends no more. */
static bool has_ended(const struct client *client)
{
	return atomic_load_explicit(&client->source.hung_up, memory_order_relaxed);
}

bool client_is_over(const struct client *client)
{
	uint32_t doom = atomic_load_explicit(&client->doom, memory_order_acquire);
	/* a cancel request counts although its sender does not wait for an answer */
	bool gone = client->state == CLIENT_READY && has_ended(client);
	return gone || (doom != DOOM_NONE && doom != DOOM_SHUTDOWN) ||
	       client->output.lost != OUTPUT_FINE;
}

void client_cancel(struct client *client, bool timed_out)
{
	if (!client->session)
		return;
	if (timed_out)
		atomic_store_explicit(&client->timed_out, true, memory_order_relaxed);
	uint32_t held = WAIT_HELD;
	if (atomic_compare_exchange_strong_explicit(&client->query.waits, &held, WAIT_CANCELLED,
		    memory_order_relaxed, memory_order_relaxed))
		reactor_kick(client->server->reactor, &client->source);
	else if (!db_cancel_session(client->session))
		(void)backup_cancel(client);
}

void client_set_watch(
	struct client *client, enum client_watch what, uint64_t from_ns, uint64_t limit_ns)
{
	uint64_t watch = limit_ns ? (from_ns + limit_ns) << WATCH_BITS | what : 0;
	uint64_t now = atomic_load_explicit(&client->watch, memory_order_relaxed);
	if (watch == 0 && now == 0)
		return;
	/* what the ticker does about the old watch it does to what was watched, not to the next */
	for (;;) {
		if (now == WATCH_ACTED) {
			sched_yield();
			now = atomic_load_explicit(&client->watch, memory_order_relaxed);
		} else if (atomic_compare_exchange_weak_explicit(&client->watch, &now, watch,
				   memory_order_acq_rel, memory_order_relaxed)) {
			return;
		}
	}
}

void client_watch_statement(struct client *client)
{
	uint64_t limit_ms = settings_ms(&client->settings, SETTING_statement_timeout);
	if (client->query.statement->kind.view && (!limit_ms || limit_ms > VIEW_LIMIT_MS))
		limit_ms = VIEW_LIMIT_MS;
	atomic_store_explicit(&client->timed_out, false, memory_order_relaxed);
	client_set_watch(
		client, WATCH_STATEMENT, limit_ms ? cancel_now_ns() : 0, limit_ms * 1000000);
}

static bool has_hung_up(const struct client *client)
{
	struct pollfd state = { .fd = client->source.fd, .events = POLLRDHUP };
	return poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* A client that hung up while its statement runs wants no answer. The doom comes first: whoever
 * sees the statement end by this cancel must not begin the next one. */
static void end_if_gone(struct client *client)
{
	if (!has_hung_up(client))
		return;
	client_doom(client, DOOM_GONE);
	client_cancel(client, false);
}

static void tick_output(struct client *client, uint64_t now_ns)
{
	const struct output *output = &client->output;
	uint64_t since_ns = atomic_load_explicit(&output->blocked_since_ns, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&output->buffered_bytes, memory_order_relaxed);
	if (output->limit.soft_bytes && bytes > output->limit.soft_bytes && since_ns &&
		now_ns > since_ns && now_ns - since_ns > output->limit.soft_ns)
		client_doom(client, DOOM_OUTPUT);
}

void client_tick(struct client *client, uint64_t now_ns)
{
	static const enum client_doom dooms[] = { [WATCH_STARTUP] = DOOM_STARTUP,
		[WATCH_IDLE] = DOOM_IDLE,
		[WATCH_IDLE_IN_BLOCK] = DOOM_IDLE_IN_BLOCK };
	uint64_t watch = atomic_load_explicit(&client->watch, memory_order_relaxed);
	enum client_watch what = (enum client_watch)(watch & ((1u << WATCH_BITS) - 1));
	tick_output(client, now_ns);
	if (atomic_load_explicit(&client->query.running, memory_order_relaxed) == RUNNING_PENDING)
		end_if_gone(client);
	if (!watch || watch >> WATCH_BITS > now_ns ||
		!atomic_compare_exchange_strong_explicit(&client->watch, &watch, WATCH_ACTED,
			memory_order_acq_rel, memory_order_relaxed))
		return;
	if (what == WATCH_STATEMENT)
		client_cancel(client, true);
	else
		client_doom(client, dooms[what]);
	atomic_store_explicit(&client->watch, 0, memory_order_release);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Room for more bytes: moves what is there to the front, or grows. False: no memory. */
static bool make_room(struct input *input)
{
	if (input->start) {
		memmove(input->data, input->data + input->start, input->end - input->start);
		input->end -= input->start;
		input->start = 0;
	}
	if (input->end < input->capacity)
		return true;
	size_t capacity = input->capacity ? input->capacity * 2 : INPUT_BYTES;
	uint8_t *data = realloc(input->data, capacity);
	if (!data)
		return false;
	input->data = data;
	input->capacity = capacity;
	return true;
}

enum reading { READ_SOME, READ_ALL, READ_CLOSED };

/* READ_ALL: the socket gave less than there was room for, so an edge will tell of more; unless the
 * edge that told of these bytes told of the end, too. */
static enum reading read_more(struct client *client)
{
	struct input *input = &client->input;
	if (input->start == input->end)
		input->start = input->end = 0;
	if (input->end == input->capacity && !make_room(input))
		return READ_CLOSED;
	size_t room = input->capacity - input->end;
	for (;;) {
		ssize_t n = recv(client->source.fd, input->data + input->end, room, MSG_DONTWAIT);
		if (n > 0) {
			input->end += (size_t)n;
			return (size_t)n == room || has_ended(client) ? READ_SOME : READ_ALL;
		}
		if (n == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
			return READ_CLOSED;
		if (errno != EINTR)
			return READ_ALL;
	}
}

static void trim_input(struct input *input)
{
	if (input->start != input->end || input->capacity <= INPUT_MAX_IDLE)
		return;
	free(input->data);
	*input = (struct input){ 0 };
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Hands one message on. Statements it begins are run by the caller. Behind an error all but the end
 * is skipped up to the next Sync, a Query too. */
static void take_message(struct client *client, const struct wire_message *message)
{
	if (client->query.skip_to_sync && message->kind != WIRE_SYNC &&
		message->kind != WIRE_TERMINATE)
		return;
	switch (message->kind) {
	case WIRE_QUERY:
		query_begin_simple(client, message->query.sql);
		break;
	case WIRE_TERMINATE:
		client->state = CLIENT_LEAVING;
		break;
	case WIRE_COPY_DATA:
	case WIRE_COPY_DONE:
	case WIRE_COPY_FAIL:
		break; /* left over from a COPY that was refused */
	case WIRE_PASSWORD:
		client_fatal(client, "08P01", "unexpected password message");
		break;
	case WIRE_FUNCTION_CALL:
		query_begin_refused(
			client, "0A000", "function calls by protocol are not supported");
		break;
	default:
		extended_message(client, message);
	}
}

static void take_any(struct client *client, const struct wire_message *message)
{
	if (client->state == CLIENT_READY)
		take_message(client, message);
	else
		startup_message(client, message);
}

/* Before the session begins nobody may make the server keep much: is the message that begins
 * here too long for a password? */
static bool is_too_long(const struct client *client)
{
	const struct input *input = &client->input;
	const uint8_t *at = input->data + input->start;
	if (client->state == CLIENT_STARTUP || client->state == CLIENT_READY ||
		input->end - input->start < 5)
		return false;
	uint32_t bytes =
		(uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
	return bytes > PASSWORD_MAX_BYTES;
}

enum handled { HANDLED_ALL, HANDLED_PENDING, HANDLED_LEAVING };

static enum handled run_query(struct client *client)
{
	if (client->query.step != STEP_NONE && query_run(client) == QUERY_PENDING)
		return HANDLED_PENDING;
	return client->output.lost != OUTPUT_FINE ? HANDLED_LEAVING : HANDLED_ALL;
}

/* Decodes and handles what is in the buffer, message by message, unless the client is to end. */
static enum handled handle_messages(struct client *client)
{
	struct input *input = &client->input;
	struct wire_message message;
	const char *error;
	size_t used;
	while (client->state != CLIENT_LEAVING) {
		if (input->start == input->end || client_is_over(client))
			return HANDLED_ALL;
		enum wire_status status =
			wire_decode(input->data + input->start, input->end - input->start,
				client->state == CLIENT_STARTUP, &message, &used, &error);
		if (status != WIRE_BROKEN && is_too_long(client)) {
			status = WIRE_BROKEN;
			error = "invalid message length";
		}
		if (status == WIRE_MORE)
			return HANDLED_ALL;
		if (status == WIRE_BROKEN) {
			client_fatal(client, "08P01", error);
			break;
		}
		if (extended_settle(client, &message)) {
			input->start += used;
			take_any(client, &message);
		}
		enum handled handled = run_query(client);
		if (handled != HANDLED_ALL)
			return handled;
		if (client->output.wire.bytes >= OUTPUT_SEND_BYTES && !output_send(&client->output))
			return HANDLED_ALL; /* it does not read: nothing more before it does */
	}
	return HANDLED_LEAVING;
}

/* ---- Serving --------------------------------------------------------------------------------- */

/* A worker runs its statement: only look. */
static enum reactor_answer look(struct client *client)
{
	enum client_doom doom = atomic_load_explicit(&client->doom, memory_order_relaxed);
	if (client->unread_ns == 0)
		client->unread_ns = client->source.arrival_ns;
	if (doom != DOOM_NONE && doom != DOOM_SHUTDOWN)
		client_cancel(client, false);
	else
		end_if_gone(client);
	return REACTOR_WAIT;
}

static const struct {
	const char *sqlstate, *message;
} endings[] = {
	[DOOM_SHUTDOWN] = { "57P01", "terminating connection due to administrator command" },
	[DOOM_SHUTDOWN_NOW] = { "57P01", "terminating connection due to administrator command" },
	[DOOM_STARTUP] = { "57P05", "start-up took too long" },
	[DOOM_IDLE] = { "57P05", "terminating connection due to idle-session timeout" },
	[DOOM_IDLE_IN_BLOCK] = { "25P03",
		"terminating connection due to idle-in-transaction timeout" },
	[DOOM_OUTPUT] = { "57P05", "terminating connection: the client does not read" },
	[DOOM_GONE] = { NULL, NULL }, /* nobody is left to hear it */
};

/* One that still reads its last answer is not done. */
static bool may_shut_down(struct client *client)
{
	bool idle = (client->query.step == STEP_NONE || query_is_held(&client->query)) &&
		    (!client->session || db_session_transaction(client->session) == 'I');
	return idle && output_send(&client->output);
}

/* True: the client is to end now. */
static bool is_doomed(struct client *client)
{
	enum client_doom doom = atomic_load_explicit(&client->doom, memory_order_acquire);
	if (!client_is_over(client) && !(doom == DOOM_SHUTDOWN && may_shut_down(client)))
		return false;
	if (endings[doom].message && client->state != CLIENT_LEAVING)
		client_fatal(client, endings[doom].sqlstate, endings[doom].message);
	return true;
}

/* Sends what is left as far as the socket takes it, then the end. */
static enum reactor_answer say_goodbye(struct client *client)
{
	output_send(&client->output);
	return leave(client);
}

static void watch_idle(struct client *client)
{
	const struct settings *settings = &client->settings;
	if (client->state != CLIENT_READY)
		return;
	bool idle = db_session_transaction(client->session) == 'I';
	uint64_t limit_ms = settings_ms(settings,
		idle ? SETTING_idle_session_timeout : SETTING_idle_in_transaction_session_timeout);
	client_set_watch(client, idle ? WATCH_IDLE : WATCH_IDLE_IN_BLOCK,
		limit_ms ? cancel_now_ns() : 0, limit_ms * 1000000);
}

/* Nothing more to do before the next edge. */
static enum reactor_answer rest(struct client *client)
{
	bool sent = output_send(&client->output);
	if (client->output.lost != OUTPUT_FINE)
		return leave(client);
	if (client->writable_watched != !sent) {
		client->writable_watched = !sent;
		reactor_watch_writable(client->server->reactor, &client->source, !sent);
	}
	trim_input(&client->input);
	watch_idle(client);
	atomic_store_explicit(&client->shown_state, (uint32_t)client->state, memory_order_relaxed);
	return REACTOR_WAIT;
}

/* When the bytes of the next read arrived. */
static void stamp_arrival(struct client *client)
{
	client->arrival_ns = client->unread_ns ? client->unread_ns : client->source.arrival_ns;
	client->unread_ns = 0;
}

static enum reactor_answer serve_messages(struct client *client)
{
	enum reading reading = READ_SOME;
	for (;;) {
		enum handled handled = handle_messages(client);
		if (handled == HANDLED_PENDING)
			return REACTOR_WAIT;
		if (handled == HANDLED_LEAVING || is_doomed(client))
			return say_goodbye(client);
		if (client->output.wire.bytes >= OUTPUT_SEND_BYTES)
			return rest(client); /* it does not read: an edge will tell */
		if (reading == READ_ALL)
			return rest(client);
		stamp_arrival(client);
		reading = read_more(client);
		if (reading == READ_CLOSED) /* an answer may be on its way */
			return say_goodbye(client);
	}
}

enum reactor_answer client_serve(struct client *client)
{
	uint32_t running = atomic_load_explicit(&client->query.running, memory_order_acquire);
	if (running == RUNNING_PENDING)
		return look(client);
	if (query_is_held(&client->query) && is_doomed(client))
		return say_goodbye(client);
	enum handled handled = run_query(client);
	if (handled == HANDLED_PENDING)
		return REACTOR_WAIT;
	if (handled == HANDLED_LEAVING)
		return leave(client);
	if (client->output.wire.bytes && !output_send(&client->output)) {
		if (client->output.lost != OUTPUT_FINE || is_doomed(client))
			return leave(client);
		return rest(client);
	}
	return serve_messages(client);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - serves one socket: reads, decodes, hands messages on, sends.
 *
 * Owns the life of a client. Start-up is in startup.c, the extended protocol's messages in
 * extended.c, the running of statements in query.c.
 */
#include "demo-db/server/session/client.h"
#include "demo-db/server/net/listen.h"
#include "demo-db/server/session/admit.h"
#include "demo-db/server/session/extended.h"
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"
#include "demo-db/server/session/startup.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INPUT_BYTES	   8192
#define PASSWORD_MAX_BYTES 65535     /* as PostgreSQL's */
#define INPUT_MAX_IDLE	   (1 << 16) /* a larger input buffer is given back when empty */

/* ---- Life ------------------------------------------------------------------------------------ */

struct client *client_new(struct services *services, int fd, bool trusted, const char *address)
{
	struct client *client = calloc(1, sizeof *client);
	if (!client)
		return NULL;
	client->source.fd = fd;
	client->trusted = trusted;
	client->accepted_ns = cancel_now_ns();
	client->local = strcmp(address, LISTEN_LOCAL) == 0;
	snprintf(client->address, sizeof client->address, "%s", address);
	if (backend_init(&client->backend, services, &client->source) == 0)
		return client;
	free(client);
	return NULL;
}

void client_free(struct client *client)
{
	backend_free(&client->backend);
	free(client->input.data);
	free(client->scram);
	free(client);
}

static enum reactor_answer leave(struct client *client)
{
	struct backend *backend = &client->backend;
	struct services *services = backend->services;
	/* The worker that ended our last statement may still be on its way out of on_done. */
	while (atomic_load_explicit(&backend->in_callback, memory_order_acquire))
		sched_yield();
	admit_forget(backend);
	clients_forget(services->clients, client);
	if (backend->db)
		db_session_close(backend->db);
	backend->db = NULL;
	reactor_remove(services->reactor, &client->source);
	close(client->source.fd);
	clients_left(services->clients, client);
	return REACTOR_GONE;
}

void client_fatal(struct client *client, const char *sqlstate, const char *message)
{
	const struct wire_report report = {
		.severity = "FATAL", .sqlstate = sqlstate, .message = message
	};
	wire_error(&client->backend.output.wire, &report);
	client->state = CLIENT_LEAVING;
}

/* ---- Being watched --------------------------------------------------------------------------- */

/* The reactor was told that the client sends no more. */
static bool has_ended(const struct client *client)
{
	return atomic_load_explicit(&client->source.hung_up, memory_order_relaxed);
}

static bool has_hung_up(const struct client *client)
{
	struct pollfd state = { .fd = client->source.fd, .events = POLLRDHUP };
	return poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* A client that hung up while its statement runs wants no answer. The reason comes first: whoever
 * sees the statement end by this cancel must not begin the next one. */
static void end_if_gone(struct client *client)
{
	if (!has_hung_up(client))
		return;
	backend_close(&client->backend, CLOSE_GONE);
	backend_cancel(&client->backend, false);
}

static void tick_output(struct client *client, uint64_t now_ns)
{
	const struct output *output = &client->backend.output;
	uint64_t since_ns = atomic_load_explicit(&output->blocked_since_ns, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&output->buffered_bytes, memory_order_relaxed);
	if (output->limit.soft_bytes && bytes > output->limit.soft_bytes && since_ns &&
		now_ns > since_ns && now_ns - since_ns > output->limit.soft_ns)
		backend_close(&client->backend, CLOSE_OUTPUT);
}

void client_tick(struct client *client, uint64_t now_ns)
{
	static const enum close_reason reasons[] = { [TIMER_STARTUP] = CLOSE_STARTUP,
		[TIMER_IDLE] = CLOSE_IDLE,
		[TIMER_IDLE_IN_BLOCK] = CLOSE_IDLE_IN_BLOCK };
	struct backend *backend = &client->backend;
	tick_output(client, now_ns);
	if (atomic_load_explicit(&backend->query.running, memory_order_relaxed) == RUNNING_PENDING)
		end_if_gone(client);
	enum timer_purpose what = timer_take(&backend->timer, now_ns);
	if (what == TIMER_NOTHING)
		return;
	if (what == TIMER_STATEMENT)
		backend_cancel(backend, true);
	else
		backend_close(backend, reasons[what]);
	timer_done(&backend->timer);
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
	if (client->backend.query.skip_to_sync && message->kind != WIRE_SYNC &&
		message->kind != WIRE_TERMINATE)
		return;
	switch (message->kind) {
	case WIRE_QUERY:
		query_begin_simple(&client->backend, message->query.sql);
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
			&client->backend, "0A000", "function calls by protocol are not supported");
		break;
	default:
		extended_message(&client->backend, message);
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
	if (client->backend.query.step != STEP_NONE && query_run(&client->backend) == QUERY_PENDING)
		return HANDLED_PENDING;
	return client->backend.output.lost != OUTPUT_FINE ? HANDLED_LEAVING : HANDLED_ALL;
}

/* Decodes and handles what is in the buffer, message by message, unless the client is to end. */
static enum handled handle_messages(struct client *client)
{
	struct input *input = &client->input;
	struct wire_message message;
	const char *error;
	size_t used;
	while (client->state != CLIENT_LEAVING) {
		if (input->start == input->end || backend_is_over(&client->backend))
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
		if (extended_settle(&client->backend, &message)) {
			input->start += used;
			client->backend.query.sync_follows =
				input->start < input->end && input->data[input->start] == WIRE_SYNC;
			take_any(client, &message);
		}
		enum handled handled = run_query(client);
		if (handled != HANDLED_ALL)
			return handled;
		if (client->backend.output.wire.bytes >= OUTPUT_SEND_BYTES &&
			!output_send(&client->backend.output))
			return HANDLED_ALL; /* it does not read: nothing more before it does */
	}
	return HANDLED_LEAVING;
}

/* ---- Serving --------------------------------------------------------------------------------- */

/* A worker runs its statement: only look. */
static enum reactor_answer look(struct client *client)
{
	enum close_reason why =
		atomic_load_explicit(&client->backend.close_reason, memory_order_relaxed);
	if (client->unread_ns == 0)
		client->unread_ns = client->source.arrival_ns;
	if (why != CLOSE_NOT && why != CLOSE_SHUTDOWN)
		backend_cancel(&client->backend, false);
	else
		end_if_gone(client);
	return REACTOR_WAIT;
}

static const struct {
	const char *sqlstate, *message;
} endings[] = {
	[CLOSE_SHUTDOWN] = { "57P01", "terminating connection due to administrator command" },
	[CLOSE_SHUTDOWN_NOW] = { "57P01", "terminating connection due to administrator command" },
	[CLOSE_STARTUP] = { "57P05", "start-up took too long" },
	[CLOSE_IDLE] = { "57P05", "terminating connection due to idle-session timeout" },
	[CLOSE_IDLE_IN_BLOCK] = { "25P03",
		"terminating connection due to idle-in-transaction timeout" },
	[CLOSE_OUTPUT] = { "57P05", "terminating connection: the client does not read" },
	[CLOSE_GONE] = { NULL, NULL }, /* nobody is left to hear it */
};

/* One that still reads its last answer is not done. */
static bool may_shut_down(struct client *client)
{
	bool idle = (client->backend.query.step == STEP_NONE ||
			    query_is_held(&client->backend.query)) &&
		    (!client->backend.db || db_session_transaction(client->backend.db) == 'I');
	return idle && output_send(&client->backend.output);
}

/* True: the client is to end now. */
static bool is_to_end(struct client *client)
{
	enum close_reason why =
		atomic_load_explicit(&client->backend.close_reason, memory_order_acquire);
	if (!backend_is_over(&client->backend) && !(why == CLOSE_SHUTDOWN && may_shut_down(client)))
		return false;
	if (endings[why].message && client->state != CLIENT_LEAVING)
		client_fatal(client, endings[why].sqlstate, endings[why].message);
	return true;
}

/* Sends what is left as far as the socket takes it, then the end. */
static enum reactor_answer say_goodbye(struct client *client)
{
	output_send(&client->backend.output);
	return leave(client);
}

static void watch_idle(struct client *client)
{
	const struct settings *settings = &client->backend.settings;
	if (client->state != CLIENT_READY)
		return;
	bool idle = db_session_transaction(client->backend.db) == 'I';
	uint64_t limit_ms = settings_ms(settings,
		idle ? SETTING_idle_session_timeout : SETTING_idle_in_transaction_session_timeout);
	timer_set(&client->backend.timer, idle ? TIMER_IDLE : TIMER_IDLE_IN_BLOCK,
		limit_ms ? cancel_now_ns() : 0, limit_ms * 1000000);
}

/* Nothing more to do before the next edge. */
static enum reactor_answer rest(struct client *client)
{
	bool sent = output_send(&client->backend.output);
	if (client->backend.output.lost != OUTPUT_FINE)
		return leave(client);
	if (client->writable_watched != !sent) {
		client->writable_watched = !sent;
		reactor_watch_writable(client->backend.services->reactor, &client->source, !sent);
	}
	trim_input(&client->input);
	watch_idle(client);
	atomic_store_explicit(&client->shown_state, (uint32_t)client->state, memory_order_relaxed);
	return REACTOR_WAIT;
}

/* When the bytes of the next read arrived. */
static void stamp_arrival(struct client *client)
{
	client->backend.arrival_ns =
		client->unread_ns ? client->unread_ns : client->source.arrival_ns;
	client->unread_ns = 0;
}

static enum reactor_answer serve_messages(struct client *client)
{
	enum reading reading = READ_SOME;
	for (;;) {
		enum handled handled = handle_messages(client);
		if (handled == HANDLED_PENDING)
			return REACTOR_WAIT;
		if (handled == HANDLED_LEAVING || is_to_end(client))
			return say_goodbye(client);
		if (client->backend.output.wire.bytes >= OUTPUT_SEND_BYTES)
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
	uint32_t running =
		atomic_load_explicit(&client->backend.query.running, memory_order_acquire);
	if (running == RUNNING_PENDING)
		return look(client);
	client->backend.served_ns = cancel_now_ns();
	if (query_is_held(&client->backend.query) && is_to_end(client))
		return say_goodbye(client);
	enum handled handled = run_query(client);
	if (handled == HANDLED_PENDING)
		return REACTOR_WAIT;
	if (handled == HANDLED_LEAVING)
		return leave(client);
	if (client->backend.output.wire.bytes && !output_send(&client->backend.output)) {
		if (client->backend.output.lost != OUTPUT_FINE || is_to_end(client))
			return leave(client);
		return rest(client);
	}
	return serve_messages(client);
}

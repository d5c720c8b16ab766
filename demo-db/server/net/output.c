/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns sending, and waiting for a client that does not read.
 */
#include "demo-db/server/net/output.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <cancel/cancel.h>

#define WAIT_SLICE_MS 50 /* between looks at `stop` */

static _Atomic uint64_t total_bytes, total_sends, total_waits, total_given_up;

static void add(_Atomic uint64_t *total, uint64_t more)
{
	atomic_fetch_add_explicit(total, more, memory_order_relaxed);
}

void output_stats(struct output_stats *stats)
{
	stats->bytes = atomic_load_explicit(&total_bytes, memory_order_relaxed);
	stats->sends = atomic_load_explicit(&total_sends, memory_order_relaxed);
	stats->waits = atomic_load_explicit(&total_waits, memory_order_relaxed);
	stats->given_up = atomic_load_explicit(&total_given_up, memory_order_relaxed);
}

void output_init(struct output *output, int fd, const struct cancel_output_limit *limit)
{
	*output = (struct output){ .fd = fd, .limit = *limit };
}

void output_free(struct output *output)
{
	wire_out_free(&output->wire);
}

static void give_up(struct output *output, enum output_lost why)
{
	if (output->lost == OUTPUT_FINE && why != OUTPUT_CLOSED)
		add(&total_given_up, 1);
	output->lost = why;
}

/* A client that reads slowly is blocked only as long as it reads nothing at all. */
static void note_blocked(struct output *output, bool blocked, bool moved)
{
	uint64_t since_ns = atomic_load_explicit(&output->blocked_since_ns, memory_order_relaxed);
	if (blocked != (since_ns != 0) || (blocked && moved))
		atomic_store_explicit(&output->blocked_since_ns, blocked ? cancel_now_ns() : 0,
			memory_order_relaxed);
	atomic_store_explicit(&output->buffered_bytes, output->wire.bytes, memory_order_relaxed);
}

/* An empty buffer that once held a large answer goes back to the system. */
static void trim(struct wire_out *wire)
{
	if (wire->bytes == 0 && wire->capacity > OUTPUT_KEEP_BYTES)
		wire_out_free(wire);
}

bool output_send(struct output *output)
{
	struct wire_out *wire = &output->wire;
	size_t sent = 0;
	while (sent < wire->bytes && output->lost == OUTPUT_FINE) {
		ssize_t n = send(output->fd, wire->data + sent, wire->bytes - sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			sent += (size_t)n;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
		else if (errno != EINTR)
			give_up(output, OUTPUT_CLOSED);
	}
	if (sent) {
		add(&total_bytes, sent);
		add(&total_sends, 1);
		wire_out_consume(wire, sent);
	}
	note_blocked(output, wire->bytes != 0, sent != 0);
	trim(wire);
	return wire->bytes == 0;
}

static bool within_limits(struct output *output)
{
	struct cancel_output_limit *limit = &output->limit;
	if (output->lost == OUTPUT_FINE &&
		!cancel_output_limit_admit(limit, cancel_now_ns(), output->wire.bytes))
		give_up(output, limit->hard_bytes && output->wire.bytes > limit->hard_bytes
					? OUTPUT_HARD
					: OUTPUT_SOFT);
	return output->lost == OUTPUT_FINE;
}

static bool over_soft(const struct output *output)
{
	return output->limit.soft_bytes && output->wire.bytes > output->limit.soft_bytes;
}

static bool stopped(const _Atomic uint8_t *stop)
{
	return (stop && atomic_load_explicit(stop, memory_order_relaxed)) || cancel_requested();
}

bool output_make_room(struct output *output, const _Atomic uint8_t *stop)
{
	struct pollfd writable = { .fd = output->fd, .events = POLLOUT };
	if (output->wire.bytes < OUTPUT_SEND_BYTES)
		return output->lost == OUTPUT_FINE;
	output_send(output);
	while (within_limits(output) && over_soft(output) && !stopped(stop)) {
		add(&total_waits, 1);
		poll(&writable, 1, WAIT_SLICE_MS);
		output_send(output);
	}
	return output->lost == OUTPUT_FINE;
}

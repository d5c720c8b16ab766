/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the sending of the load. Latency counts from the scheduled instant, so a late sender shows as
 * latency and as lag, not as good news.
 */
#include "bench/load/sender.h"

#define DRAIN_POLL_NS 2000000u

uint64_t sender_now_ns(const struct sender *sender)
{
	uint64_t now_ns = target_now_ns();
	return now_ns > sender->start_ns ? now_ns - sender->start_ns : 0;
}

static void on_answer(void *arg, uint64_t token, const struct target_answer *answer)
{
	struct sender *sender = arg;
	clients_answered(sender->clients, token, sender_now_ns(sender), answer);
}

void sender_send_due(struct sender *sender, uint64_t now_ns)
{
	struct clients_request due;
	int64_t number;
	clients_expire(sender->clients, now_ns);
	while ((number = clients_take(sender->clients, now_ns, &due)) >= 0) {
		struct target_request request = { .due_ns = sender->start_ns + due.due_ns,
			.callback = on_answer,
			.arg = sender,
			.token = (uint64_t)number };
		clients_who(due.draw, sender->priorities, &request.user, &request.priority);
		sender->ask(sender->ask_arg, due.draw, &request);
		target_submit(sender->target, &request);
		now_ns = sender_now_ns(sender);
	}
}

uint64_t sender_drain(struct sender *sender, uint64_t give_up_ns)
{
	uint64_t end_ns = target_now_ns() + give_up_ns;
	struct clients_counts counts;
	for (;;) {
		clients_counts(sender->clients, &counts);
		uint64_t missing = counts.offered - counts.ended, now_ns = target_now_ns();
		if (!missing || now_ns >= end_ns)
			return missing;
		target_wait(sender->target, now_ns + DRAIN_POLL_NS);
	}
}

uint64_t sender_run(struct sender *sender, uint64_t give_up_ns)
{
	uint64_t next_ns;
	while ((next_ns = clients_next_ns(sender->clients)) != UINT64_MAX) {
		if (next_ns > sender_now_ns(sender))
			target_wait(sender->target, sender->start_ns + next_ns);
		sender_send_due(sender, sender_now_ns(sender));
	}
	return sender_drain(sender, give_up_ns);
}

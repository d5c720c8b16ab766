/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender.h - the open loop: hands over what the clients have due, and never waits for an answer.
 */
#ifndef BENCH_SENDER_H
#define BENCH_SENDER_H

#include "bench/load/clients.h"
#include "bench/load/saturation.h"

struct sender { /* must outlive the target: late answers come to it */
	struct target *target;
	struct clients *clients;
	load_ask ask;
	const void *ask_arg;
	uint32_t priorities;
	uint64_t start_ns; /* of target_now_ns(): when the schedule's time 0 is */
};

/* Sends what is due at `now_ns`, since the start. */
void sender_send_due(struct sender *sender, uint64_t now_ns);
/* Since the start; 0 before it. */
uint64_t sender_now_ns(const struct sender *sender);
/* Sends until all of the schedule is sent, then waits for the answers that are missing; returns how
 * many are when so long has passed without. */
uint64_t sender_run(struct sender *sender, uint64_t give_up_ns);
/* Waits up to so long for the answers that are missing; returns how many are. */
uint64_t sender_drain(struct sender *sender, uint64_t give_up_ns);

#endif

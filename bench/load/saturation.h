/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saturation.h - a closed loop: so many questions in flight, whatever the target makes of them.
 */
#ifndef BENCH_SATURATION_H
#define BENCH_SATURATION_H

#include <stdatomic.h>

#include "bench/load/clients.h"
#include "bench/target/target.h"

/* Turns the random draw of an arrival into a question. */
typedef void (*load_ask)(const void *arg, uint64_t draw, struct target_request *request);

struct saturation {
	struct target *target;
	load_ask ask;
	const void *ask_arg;
	uint64_t seed;
	uint64_t warm_ns; /* answers do not count at first */
	uint64_t length_ns;
	uint32_t depth;
	uint8_t priority;
	/* Statements that take equally long end together: whole rounds of so many are counted, and
	 * the loop goes on until there are some. 0: answers and time alone count. */
	uint32_t rounds_of;
	void (*on_latency)(void *arg, uint64_t latency_ns); /* from any thread; NULL: none */
	void (*on_turn)(
		void *arg, uint64_t now_ns); /* from the loop, before each wait; NULL: none */
	void *arg;
	/* results */
	_Atomic uint64_t answered; /* grows while it runs */
	_Atomic uint64_t refused;
	double answers_per_s;
	uint64_t replies; /* of any kind, those of the warm part included */
	/* inside */
	_Atomic uint64_t in_flight, replied;
	_Atomic bool failed, counts;
	_Atomic uint64_t first_ns, last_ns, last_round;
	char failure[TARGET_ERROR_MAX];
};
/* Returns when the time is up and all is answered. 0, or -1 with a line: an answer was an error, or
 * the target has ended. */
int saturation_run(struct saturation *saturation, char error[TARGET_ERROR_MAX])
	__attribute__((warn_unused_result));

#endif

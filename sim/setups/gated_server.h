/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gated_server.h - the single-server model behind a DAGOR gate, a retry budget, or both: lane 3 and
 * `composition`. It runs on the causal engine, which says why it stays.
 */
#ifndef SIM_SETUPS_GATED_SERVER_H
#define SIM_SETUPS_GATED_SERVER_H

#include "sim/admission/guard.h"
#include "sim/report/lane.h"
#include "sim/single/single.h"

#define SIM_LEVELS_MAX 16

enum sim_gate_levels {
	SIM_GATE_NONE,
	SIM_GATE_COARSE, /* bare levels: the literal contract */
	SIM_GATE_FINE,	 /* 128 user levels each */
};

struct sim_gated_server {
	struct sim_single single;
	enum sim_gate_levels gate;
	enum cancel_dagor_rule rule;
	uint32_t levels;
	uint64_t window_ns, threshold_ns;
	uint32_t window_requests;
	uint64_t budget_per_s; /* 0: no budget */
	bool retry_on_reject;
	uint64_t reject_backoff_ns, reject_cost_ns;
	uint64_t events_limit;
};

struct sim_gated_server_scope { /* of the originals sent in a part of the run */
	double goodput_qps;
	double success_pct[SIM_LEVELS_MAX]; /* by level, 0 the highest */
	uint64_t p99_ns;		    /* of what was served, arrival to completion */
	uint64_t rejected;
};

struct sim_gated_server_result {
	struct sim_windows windows;
	struct sim_gated_server_scope whole, second_half;
	uint32_t cursor, cursor_levels; /* at the end; levels of the gate */
};

/* 0, or -1 when the options make no gate or budget. */
int sim_gated_server_run(
	const struct sim_gated_server *setup, struct sim_gated_server_result *result);
void sim_gated_server_free(struct sim_gated_server_result *result);

#define SIM_KEYS_GATE                                                                              \
	{ "rule", SIM_KEY_CHOICES, "all", 0, 0, "accumulating|memoryless|fraction",                \
		"how the expected number of admitted requests is carried on" },                    \
		SIM_KEY("levels", INT, "4", 1, SIM_LEVELS_MAX,                                     \
			"business levels; a request's is its number mod levels"),                  \
		SIM_KEY("window_ms", INT, "1000", 1, 1000000, "a gate's window lasts …"),          \
		SIM_KEY("window_requests", INT, "2000", 1, 1000000000,                             \
			"… or ends after so many observed requests"),                              \
		SIM_KEY("threshold_ms", INT, "20", 1, 1000000,                                     \
			"average queuing time that means overload"),                               \
		SIM_KEY("reject_backoff_ms", INT, "0", 0, 1000000,                                 \
			"a rejected client resends after so long"),                                \
		SIM_KEY("reject_cost_us", INT, "0", 0, 1000000000, "server time a reject takes")

/* Those keys into a set-up with no gate and no budget. */
struct sim_gated_server sim_gated_server_read(const struct sim_run *run, uint64_t load_qps);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fanout.h - tasks that call an overloaded service several times: the system of the `fan-out` lane.
 *
 * Front services A1 … A4 call M once to four times, in parallel (M^k); A2N calls M and N once each.
 * M and N: three servers each, saturated near 750 requests a second (calibrated: fanout.c says how).
 */
#ifndef SIM_SETUPS_FANOUT_H
#define SIM_SETUPS_FANOUT_H

#include "sim/report/lane.h"
#include "sim/service/service.h"

#define SIM_FANOUT_FRONTS 5 /* M^1 … M^4, and M and N */
#define SIM_FANOUT_BOTH	  4 /* index of the front that calls M and N */

struct sim_fanout {
	enum sim_gate_kind gate;
	bool collaborative;
	double feed_qps[SIM_FANOUT_FRONTS]; /* first requests at M a second, from each front */
	uint64_t reject_cost_ns;
	uint64_t seed;
};

struct sim_fanout_front { /* after the warm-up */
	uint64_t tasks, succeeded;
};

struct sim_fanout_result {
	struct sim_fanout_front fronts[SIM_FANOUT_FRONTS];
	struct sim_service_result m;
	/* Of the attempts at M, callers' refusals included: M does not know of the first requests
	 * that were refused for good. */
	double shed_share;
	double wasted_share; /* of the work M did, for tasks that failed */
	double mean_queuing_ms, mean_response_ms;
};

#define SIM_KEYS_FANOUT                                                                            \
	{ "saturation_qps", SIM_KEY_INT, "750", 1, 100000, NULL,                                   \
		"what M is calibrated to; random sheds to it" },                                   \
		{ "servers", SIM_KEY_INT, "3", 1, SIM_SERVERS_MAX, NULL, "servers of M" },         \
		{ "workers", SIM_KEY_INT, "69", 1, 10000, NULL, "workers of one server" },         \
		{ "work_us", SIM_KEY_INT, "247500", 1, 10000000, NULL, "mean work of a request" }, \
		{ "work_least_us", SIM_KEY_INT, "235000", 0, 10000000, NULL,                       \
			"least work; the rest is exponential" },                                   \
		{ "timeout_ms", SIM_KEY_INT, "500", 1, 1000000, NULL, "a task's time limit" },     \
		{ "resends", SIM_KEY_INT, "3", 0, 20, NULL, "a rejected request is sent again" },  \
		{ "ramp_s", SIM_KEY_INT, "30", 0, 10000, NULL,                                     \
			"load rises from half for so long" },                                      \
		{ "settle_s", SIM_KEY_INT, "20", 0, 10000, NULL, "then nothing is measured" },     \
		{ "seda_target_ms", SIM_KEY_INT, "350", 1, 100000, NULL,                           \
			"99th percentile SEDA steers to (its usual 100 ms is less than M's "       \
			"work)" },                                                                 \
		{ "rule", SIM_KEY_CHOICE, "accumulating", 0, 0,                                    \
			"accumulating|memoryless|fraction", "DAGOR's expected count" },            \
	{                                                                                          \
		"measure_s", SIM_KEY_INT, "40", 1, 10000, NULL, "then everything is"               \
	}

/* 0, or negative after sim_fail. */
int sim_fanout_run(
	struct sim_run *run, const struct sim_fanout *fanout, struct sim_fanout_result *result);

#endif

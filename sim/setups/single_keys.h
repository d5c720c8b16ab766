/* SPDX-License-Identifier: Apache-2.0 */
/* single_keys.h - the keys lanes over the single-server model share, and how they are read. */
#ifndef SIM_SETUPS_SINGLE_KEYS_H
#define SIM_SETUPS_SINGLE_KEYS_H

#include "sim/admission/guard.h"
#include "sim/report/lane.h"
#include "sim/single/single.h"

#define SIM_KEY_LOADS(loads)                                                                       \
	SIM_KEY("load", INTS, loads, 1, 1000000, "originals a second, one run each")
#define SIM_KEY_LOAD(load) SIM_KEY("load", INT, load, 1, 1000000, "originals a second")
#define SIM_KEY_RETRIES(retries)                                                                   \
	SIM_KEY("retries", INT, retries, 0, 100, "retries of an original, at most")
#define SIM_KEY_DURATION(seconds)                                                                  \
	SIM_KEY("duration_s", INT, seconds, 1, 1000000, "arrivals end here")
#define SIM_KEYS_SERVER                                                                            \
	SIM_KEY("service_ns", INT, "3333333", 1, 1e12, "service time of one attempt"),             \
		SIM_KEY("timeout_ms", INT, "1000", 1, 1000000, "a client's patience")
#define SIM_KEY_OUTAGE_START                                                                       \
	SIM_KEY("outage_start_ms", INT, "30000", 0, 1e9, "no service starts from here")
#define SIM_KEYS_OUTAGE                                                                            \
	SIM_KEY_OUTAGE_START, SIM_KEY("outage_ms", INT, "10000", 0, 1e9, "and for so long")
#define SIM_KEY_ENGINE                                                                             \
	{                                                                                          \
		"engine", SIM_KEY_CHOICE, "sweep", 0, 0, "sweep|causal",                           \
			"both give the same windows; the sweep is faster"                          \
	}

/* Those of the keys above that the lane declares, into a model; the rest stays zero. */
struct sim_single sim_single_read(const struct sim_run *run, uint64_t load_qps);

enum sim_end {
	SIM_HEALED,
	SIM_UNDECIDED,	/* not healed, but the backlog was still falling */
	SIM_METASTABLE, /* not healed, and not getting there */
};
/* How a run ended; `second` as sim_heal_second gives it. */
enum sim_end sim_single_end(
	const struct sim_windows *windows, const struct sim_single *single, int64_t *second);
const char *sim_end_name(enum sim_end end);
/* One run, judged; `guard` is NULL or keeps the budget. The sweep knows no budget but a bucket. The
 * caller frees the windows. */
enum sim_end sim_single_play(struct sim_run *run, const struct sim_single *single,
	struct sim_guard *guard, bool causal, struct sim_windows *windows, int64_t *second);
/* The same without the windows, by the sweep where it can. `format` names the run in a note, should
 * a bound end it. */
__attribute__((format(printf, 5, 6))) enum sim_end sim_single_try(struct sim_run *run,
	const struct sim_single *single, struct sim_guard *guard, int64_t *second,
	const char *format, ...);
/* The largest value below `fails` that holds, 0 at least: what holds for one holds for all below. */
uint64_t sim_largest(uint64_t fails, bool (*holds)(void *state, uint64_t value), void *state);

#endif

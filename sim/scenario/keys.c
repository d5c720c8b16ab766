/* SPDX-License-Identifier: Apache-2.0 */
/* What the sections of a scenario file take, with bounds. */
#include "sim/scenario/parts.h"

#define TEXT	SIM_SCENARIO_TEXT_MAX
#define MILLION 1000000.0

static const struct sim_key scenario_keys[] = {
	{ "name", SIM_KEY_TEXT, "scenario", 0, 40, NULL, "of the lane" },
	{ "what", SIM_KEY_TEXT, "", 0, TEXT, NULL, "its question, one line" },
	{ "lane", SIM_KEY_TEXT, "", 0, 40, NULL, "the lane it presets; none: services follow" },
	{ "seed", SIM_KEY_INT, "1", 0, 9e15, NULL, "of the first repetition" },
	{ "seeds", SIM_KEY_INT, "1", 1, SIM_SEEDS_MAX, NULL, "repetitions" },
	{ 0 },
};

static const struct sim_key run_keys[] = {
	{ "duration_s", SIM_KEY_INT, "60", 1, 604800, NULL, "the run ends here" },
	{ "warm_up_s", SIM_KEY_INT, "0", 0, 604800, NULL, "totals count from here" },
	{ "drain_s", SIM_KEY_INT, "0", 0, 604800, NULL, "clients stop so long before the end" },
	{ "calls_alive", SIM_KEY_INT, "500000", 1, 10 * MILLION, NULL, "bound of the run" },
	{ 0 },
};

static const struct sim_key service_keys[] = {
	{ "servers", SIM_KEY_INT, "1", 1, SIM_SERVERS_MAX, NULL, "servers" },
	{ "workers", SIM_KEY_INT, "1", 1, 100000, NULL, "workers of one" },
	{ "work", SIM_KEY_CHOICE, "fixed", 0, 0, "fixed|exponential|pareto|shifted",
		"distribution of its own work" },
	{ "work_us", SIM_KEY_INT, "1000", 1, 3600 * MILLION, NULL, "mean (pareto: highest)" },
	{ "work_least_us", SIM_KEY_INT, "1", 0, 3600 * MILLION, NULL, "pareto, shifted" },
	{ "pareto_alpha", SIM_KEY_REAL, "1.5", 0.1, 10, NULL, "tail index" },
	{ "holds_worker", SIM_KEY_FLAG, "no", 0, 0, NULL,
		"a call keeps its worker while its own calls are open" },
	{ "queue_limit", SIM_KEY_INT, "0", 0, 10 * MILLION, NULL, "0: none" },
	{ "reject_cost_us", SIM_KEY_INT, "0", 0, 3600 * MILLION, NULL, "worker time of a reject" },
	{ "net_us", SIM_KEY_INT, "0", 0, 60 * MILLION, NULL, "one way to it" },
	{ "resends", SIM_KEY_INT, "0", 0, 100, NULL, "callers resend a rejected call" },
	{ "balance", SIM_KEY_CHOICE, "round-robin", 0, 0, "round-robin|random|least",
		"which server a call goes to" },
	{ "calls", SIM_KEY_TEXT, "", 0, TEXT, NULL,
		"a?, b*2 + c: one after the other, + at once, *N times, ? only on a cache miss" },
	{ "gate", SIM_KEY_CHOICE, "none", 0, 0, "none|random|codel|seda|dagor-q|dagor-r",
		"who sheds" },
	{ "gate_qps", SIM_KEY_REAL, "100", 0.001, MILLION, NULL, "random, seda: of one server" },
	{ "gate_target_ms", SIM_KEY_REAL, "0", 0, MILLION, NULL, "codel, seda; 0: theirs" },
	{ "gate_threshold_ms", SIM_KEY_REAL, "0", 0, MILLION, NULL, "dagor; 0: its own" },
	{ "gate_levels", SIM_KEY_INT, "1", 1, 64, NULL, "dagor: business levels in use" },
	{ "gate_rule", SIM_KEY_CHOICE, "accumulating", 0, 0, "accumulating|memoryless|fraction",
		"dagor" },
	{ "collaborative", SIM_KEY_FLAG, "no", 0, 0, NULL, "dagor: callers refuse before sending" },
	{ "cache_keys", SIM_KEY_INT, "0", 0, MILLION, NULL, "0: no cache" },
	{ "cache_ttl_s", SIM_KEY_REAL, "60", 0.001, MILLION, NULL, "an entry's life" },
	{ "cache_exponent", SIM_KEY_REAL, "0.8", 0, 3, NULL, "Zipf, of the keys" },
	{ "cache_fill_late", SIM_KEY_FLAG, "no", 0, 0, NULL, "late answers fill it too" },
	{ "cache_single_flight", SIM_KEY_FLAG, "no", 0, 0, NULL, "one miss a key at a time" },
	{ "cache_warm", SIM_KEY_FLAG, "yes", 0, 0, NULL, "at the start" },
	{ 0 },
};

static const struct sim_key clients_keys[] = {
	{ "service", SIM_KEY_TEXT, "", 0, 39, NULL, "where they enter; none: the first" },
	{ "loop", SIM_KEY_CHOICE, "poisson", 0, 0, "fixed|poisson|paced|closed", "how they send" },
	{ "rate_qps", SIM_KEY_REAL, "100", 0, MILLION, NULL, "fixed, poisson, paced" },
	{ "users", SIM_KEY_INT, "1000", 1, MILLION, NULL, "paced and closed: at once" },
	{ "think_ms", SIM_KEY_REAL, "1000", 0.000001, MILLION, NULL, "closed: mean, exponential" },
	{ "start_s", SIM_KEY_REAL, "0", 0, 604800, NULL, "they begin" },
	{ "stop_s", SIM_KEY_REAL, "0", 0, 604800, NULL, "they stop; 0: at the end" },
	{ "burst", SIM_KEY_INT, "0", 0, MILLION, NULL, "not 0: so many at once …" },
	{ "burst_every_s", SIM_KEY_REAL, "1", 0.001, 604800, NULL, "… so often, instead of rate" },
	{ "day_s", SIM_KEY_REAL, "0", 0, 604800, NULL, "not 0: the rate follows such a day" },
	{ "peak_ratio", SIM_KEY_REAL, "1", 1, 2, NULL, "its peak over its mean" },
	{ "timeout_ms", SIM_KEY_INT, "1000", 0, 1000 * MILLION, NULL, "patience; 0: for ever" },
	{ "retries", SIM_KEY_INT, "0", 0, 100, NULL, "at most" },
	{ "retry_on_reject", SIM_KEY_FLAG, "no", 0, 0, NULL, "a reject is retried too" },
	{ "backoff_ms", SIM_KEY_REAL, "0", 0, MILLION, NULL, "before a retry, doubling" },
	{ "backoff_max_ms", SIM_KEY_REAL, "0", 0, MILLION, NULL, "at most; 0: 32 times" },
	{ "backoff_jitter", SIM_KEY_FLAG, "no", 0, 0, NULL, "uniform up to it" },
	{ "budget", SIM_KEY_CHOICE, "none", 0, 0, "none|bucket|finagle|grpc|envoy|aws|sre",
		"retry budget" },
	{ "budget_rate", SIM_KEY_REAL, "0", 0, MILLION, NULL,
		"bucket: a second; finagle, envoy: a share; 0: its own" },
	{ "budget_burst", SIM_KEY_INT, "0", 0, MILLION, NULL, "bucket; 0: as the rate" },
	{ "business", SIM_KEY_INT, "0", 0, 63, NULL, "highest business level" },
	{ "business_levels", SIM_KEY_INT, "1", 1, 64, NULL, "levels in turn" },
	{ 0 },
};

static const struct sim_key change_keys[] = {
	{ "kind", SIM_KEY_CHOICE, "outage", 0, 0, "outage|slow|down|load|retries|shed|wipe",
		"what happens" },
	{ "target", SIM_KEY_TEXT, "", 0, 39, NULL,
		"a service; of load and retries: clients; none: the first" },
	{ "server", SIM_KEY_INT, "-1", -1, SIM_SERVERS_MAX - 1, NULL, "-1: all" },
	{ "from_s", SIM_KEY_REAL, "10", 0, 604800, NULL, "it begins" },
	{ "for_s", SIM_KEY_REAL, "10", 0, 604800, NULL, "and lasts" },
	{ "value", SIM_KEY_REAL, "1", 0, MILLION, NULL,
		"slow, load: times; retries: count; shed: share" },
	{ 0 },
};

static const struct sim_key no_keys[] = { { 0 } };

const struct sim_key *section_keys(enum section_kind kind)
{
	static const struct sim_key *const tables[SECTION_KINDS] = { scenario_keys, no_keys,
		no_keys, run_keys, service_keys, clients_keys, change_keys };
	return tables[kind];
}

const char *section_kind_name(enum section_kind kind)
{
	static const char *const names[SECTION_KINDS] = { "scenario", "set", "sweep", "run",
		"service", "clients", "change" };
	return names[kind];
}

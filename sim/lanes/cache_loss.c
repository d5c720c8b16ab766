/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache that hides a small database: an application that serves 3,000 requests a second on a
 * database of 300, by a hit rate of 90 %. When the cache is lost the database is asked ten times
 * what it can; its answers come too late to be used, so nothing is cached, and the cache stays
 * cold. After Bronson et al., Metastable Failures in Distributed Systems, HotOS 2021.
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

const struct sim_key sim_cache_loss_keys[] = {
	{ "cure", SIM_KEY_CHOICES, "all", 0, 0,
		"none|no-retries|budget|late-fill|single-flight|gate|load-drop|load-ramp",
		"what stands against it" },
	{ "load", SIM_KEY_INT, "2700", 1, 100000, NULL, "requests a second at the application" },
	{ "database_qps", SIM_KEY_INT, "300", 1, 100000, NULL, "what the database can do" },
	{ "database_workers", SIM_KEY_INT, "4", 1, 1000, NULL, "on so many workers" },
	{ "database_queue", SIM_KEY_INT, "6000", 1, 1000000, NULL,
		"calls that may wait there; more are rejected" },
	{ "keys", SIM_KEY_INT, "5500", 1, 1000000, NULL, "keys asked for" },
	{ "exponent", SIM_KEY_REAL, "0.8", 0.0, 3.0, NULL, "Zipf, of the keys" },
	{ "ttl_s", SIM_KEY_INT, "20", 1, 100000, NULL, "an entry is good for so long" },
	{ "timeout_ms", SIM_KEY_INT, "1000", 1, 1000000, NULL, "a client's patience" },
	{ "retries", SIM_KEY_INT, "1", 0, 100, NULL, "at most" },
	{ "budget_per_s", SIM_KEY_INT, "30", 1, 100000, NULL, "retries, with the cure `budget`" },
	{ "drop_to_pct", SIM_KEY_INT, "0", 0, 100, NULL,
		"with the cures load-drop and load-ramp the load is cut to this …" },
	{ "drop_start_s", SIM_KEY_INT, "50", 0, 100000, NULL, "… from here …" },
	{ "drop_s", SIM_KEY_INT, "25", 0, 100000, NULL,
		"… for so long; then it is back at once …" },
	{ "ramp_s", SIM_KEY_INT, "40", 1, 100000, NULL, "… or, with load-ramp, over so long" },
	{ "wipe_s", SIM_KEY_INT, "30", 0, 100000, NULL, "the cache is lost" },
	{ "duration_s", SIM_KEY_INT, "180", 3, 10000, NULL, "the run ends here" },
	{ 0 },
};

enum cure { NONE, NO_RETRIES, BUDGET, LATE_FILL, SINGLE_FLIGHT, GATE, LOAD_DROP, LOAD_RAMP };

#define APP	   0
#define DATABASE   1
#define ENOUGH_PPM 950000 /* healed: this share of the load is answered */
#define DRAIN_S	   2
#define RAMP_STEPS 20

static struct sim_services *build(struct sim_run *run, enum cure cure, uint64_t seed)
{
	uint64_t duration_ns = sim_ns(run, "duration_s");
	uint32_t workers = (uint32_t)sim_int(run, "database_workers");
	struct sim_services_options options = sim_services_of(run, duration_ns, seed);
	struct sim_service_options app = {
		.name = "application",
		.workers = 1000,
		.work = { .shape = SIM_FIXED, .mean = 100 * SIM_NS_PER_US },
		.calls = { { .callee = DATABASE, .count = 1, .cached = true } },
		.call_lists = 1,
		.cache = { .keys = (uint32_t)sim_int(run, "keys"),
			.ttl_ns = sim_ns(run, "ttl_s"),
			.exponent = sim_real(run, "exponent"),
			.fill_late = cure == LATE_FILL || cure == SINGLE_FLIGHT,
			.single_flight = cure == SINGLE_FLIGHT,
			.starts_warm = true },
	};
	struct sim_service_options database = {
		.name = "database",
		.workers = workers,
		.work = { .shape = SIM_EXPONENTIAL,
			.mean = SIM_NS_PER_S * workers / (uint64_t)sim_int(run, "database_qps") },
		.queue_limit = (uint64_t)sim_int(run, "database_queue"),
		.gate = { .kind = cure == GATE ? SIM_SHED_DAGOR_Q : SIM_SHED_NONE,
			.business_levels = 1 },
	};
	struct sim_traffic_options clients = {
		.loop = SIM_LOOP_POISSON,
		.rate_qps = (double)sim_int(run, "load"),
		.stop_ns = duration_ns - DRAIN_S * SIM_NS_PER_S,
		.patience.timeout_ns = sim_ns(run, "timeout_ms"),
		.patience.retries = cure == NO_RETRIES ? 0 : (uint32_t)sim_int(run, "retries"),
		.budget = cure == BUDGET ? SIM_BUDGET_BUCKET : SIM_BUDGET_NONE,
		.budget_rate = (double)sim_int(run, "budget_per_s"),
	};
	options.bin_ns = SIM_NS_PER_S;
	struct sim_services *services = sim_services_new(&options);
	sim_services_add(services, &app);
	sim_services_add(services, &database);
	sim_services_traffic(services, &clients);
	return services;
}

static void change_load(
	struct sim_services *services, uint64_t from_ns, uint64_t until_ns, double share)
{
	struct sim_change change = { .kind = SIM_CHANGE_LOAD,
		.target = 0,
		.from_ns = from_ns,
		.until_ns = until_ns,
		.value = share };
	sim_services_change(services, &change);
}

static void add_changes(struct sim_run *run, struct sim_services *services, enum cure cure)
{
	uint64_t wipe_ns = sim_ns(run, "wipe_s");
	uint64_t drop_ns = sim_ns(run, "drop_start_s");
	uint64_t back_ns = drop_ns + sim_ns(run, "drop_s");
	uint64_t step_ns = sim_ns(run, "ramp_s") / RAMP_STEPS;
	double low = (double)sim_int(run, "drop_to_pct") / 100.0;
	struct sim_change wipe = { .kind = SIM_CHANGE_WIPE,
		.target = APP,
		.server = -1,
		.from_ns = wipe_ns,
		.until_ns = wipe_ns };
	sim_services_change(services, &wipe);
	if (cure != LOAD_DROP && cure != LOAD_RAMP)
		return;
	change_load(services, drop_ns, back_ns, low);
	for (uint64_t i = 0; cure == LOAD_RAMP && i < RAMP_STEPS; i++)
		change_load(services, back_ns + step_ns * i, back_ns + step_ns * (i + 1),
			low + (1.0 - low) * (double)i / RAMP_STEPS);
}

enum { BEFORE, BEFORE_HIT, AFTER, AFTER_HIT, ASKED, HEAL, FIGURES };

/* Seconds [from, until): hits, from what the database was asked. */
static double asked_qps(const struct sim_service_result *database, size_t from, size_t until)
{
	uint64_t asked = 0;
	for (size_t i = from; i < until && i < database->probe_count; i++)
		asked += database->probes[i].arrivals;
	return until > from ? (double)asked / (double)(until - from) : 0.0;
}

/* Goodput and attempts a second of the seconds [from, until). */
struct flow {
	double goodput_qps, attempts_qps;
};

static struct flow flow_of(const struct sim_traffic_result *clients, size_t from, size_t until)
{
	uint64_t goodput = 0, attempts = 0;
	double seconds = until > from ? (double)(until - from) : 1.0;
	for (size_t i = from; i < until && i < clients->window_count; i++) {
		goodput += clients->windows[i].goodput;
		attempts += clients->windows[i].attempts;
	}
	return (struct flow){ (double)goodput / seconds, (double)attempts / seconds };
}

static void hits(struct sim_stats *stats, double asked, double attempts)
{
	if (attempts > 0.0)
		sim_stats_add(stats, asked < attempts ? 100.0 * (1.0 - asked / attempts) : 0.0);
}

/* The second after the wipe from which the load is answered to the end; -1: never. */
static int64_t heal_second(
	struct sim_run *run, const struct sim_traffic_result *clients, size_t end)
{
	uint64_t enough = (uint64_t)sim_int(run, "load") * ENOUGH_PPM / 1000000;
	size_t wipe = (size_t)sim_int(run, "wipe_s"), healed = end;
	enough -= enough > 0 ? enough / 50 : 0; /* a Poisson second may be a little short */
	while (healed > wipe && clients->windows[healed - 1].goodput >= enough)
		healed--;
	return healed < end ? (int64_t)healed : -1;
}

static int run_once(
	struct sim_run *run, uint64_t seed, struct sim_stats *found, struct sim_series *series)
{
	enum cure cure = (enum cure)sim_int(run, "cure");
	struct sim_services *services = build(run, cure, seed);
	struct sim_traffic_result clients;
	struct sim_service_result database;
	size_t wipe = (size_t)sim_int(run, "wipe_s");
	size_t end = (size_t)sim_int(run, "duration_s") - DRAIN_S, late = end - (end - wipe) / 4;
	char subject[32];
	snprintf(subject, sizeof(subject), "%s:", sim_choice(run, "cure"));
	add_changes(run, services, cure);
	if (sim_play_services(run, services, subject) < 0)
		return -1;
	sim_services_traffic_result(services, 0, &clients);
	sim_services_result(services, DATABASE, &database);
	double asked = asked_qps(&database, late, end);
	struct flow before = flow_of(&clients, wipe / 2, wipe);
	struct flow after = flow_of(&clients, late, end);
	int64_t healed = heal_second(run, &clients, end);
	sim_stats_add(&found[BEFORE], before.goodput_qps);
	sim_stats_add(&found[AFTER], after.goodput_qps);
	hits(&found[BEFORE_HIT], asked_qps(&database, wipe / 2, wipe), before.attempts_qps);
	hits(&found[AFTER_HIT], asked, after.attempts_qps);
	sim_stats_add(&found[ASKED], asked);
	if (healed >= 0)
		sim_stats_add(&found[HEAL], (double)healed - (double)wipe);
	for (size_t second = 0; series && second < end; second++)
		sim_plot_point(series, (double)second, clients.windows[second].goodput);
	sim_services_free(services);
	return 0;
}

int sim_cache_loss_run(struct sim_run *run)
{
	static const char columns[] =
		"cure|before_qps goodput|before_hit_pct:1|after_qps goodput|ci95:0~ +-|"
		"after_hit_pct:1|database_asked_qps after|healed seeds|"
		"heal_s:1 after the loss";
	struct sim_table *table =
		sim_table(run, "cache_loss", "Before the cache was lost, and long after", columns);
	struct sim_plot *plot = sim_report_plot(
		run->report, run->lane->what, "second", "goodput, requests a second", 0);
	static const char *const swept[] = { "cure", NULL };
	if (sim_int(run, "wipe_s") + DRAIN_S + 4 > sim_int(run, "duration_s"))
		return sim_fail(run, "wipe_s: %s leaves no time before duration_s %s",
			sim_text(run, "wipe_s"), sim_text(run, "duration_s"));
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		struct sim_stats found[FIGURES] = { 0 };
		struct sim_series *series =
			sim_plot_series(plot, sim_choice(run, "cure"), SIM_LINES);
		for (uint32_t seed = 0; seed < run->seeds; seed++)
			if (run_once(run, run->seed + seed, found, seed == 0 ? series : NULL) < 0)
				return -1;
		size_t healed = found[HEAL].count;
		sim_key_row(run, table, swept);
		sim_put_figures(table, found, HEAL);
		sim_put(table, SIM_INT(healed));
		sim_put(table, healed == run->seeds
				       ? SIM_REAL(sim_stats_mean(&found[HEAL]))
				       : SIM_TEXT(healed > 0 ? "some never" : "never"));
	}
	sim_note(run->report, "after: the last quarter of the time since the loss. An answer fills "
			      "the cache only while its client waits, but for late-fill and "
			      "single-flight.");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane wrong-progress: six long tasks sit on worker slots, and what they say of their progress is
 * wrong. How often does the first cancel hit the task with most still to do, by whom it was chosen
 * and how its use was predicted? Owns the lane's keys and table.
 */
#include "sim/lane.h"

#include <stdlib.h>

#include "sim/memory.h"
#include "sim/real.h"
#include "sim/stats.h"
#include "sim/world_keys.h"

#define LONGS	    6
#define EARLY	    4 /* of them run before the overload; the others bring it */
#define OVERLOAD_NS (15 * SIM_NS_PER_S)

enum { REQUEST, LONG };

static const struct sim_key keys[] = {
	{ "reported", SIM_KEY_CHOICES, "all", 0, 0, "missing|true|scaled|biased|stuck|over",
		"what tasks say: nothing; the truth; expected times 10^±spread; done plus up to "
		"half "
		"the total; done stops somewhere; expected too small, so that it passes 100 %" },
	{ "spread", SIM_KEY_REAL, "1", 0, 3, NULL, "decimal orders a scaled estimate is off by" },
	{ "choose", SIM_KEY_CHOICES,
		"multi-objective,greedy,current-usage,published,relief,longest", 0, 0, SIM_CHOOSERS,
		"choosers, each with the first estimator" },
	{ "estimator", SIM_KEY_CHOICES, "all", 0, 0, SIM_ESTIMATORS,
		"estimators, each with the first chooser" },
	{ "cross", SIM_KEY_FLAG, "no", 0, 0, NULL, "every chooser with every estimator" },
	{ "workers", SIM_KEY_INT, "8", 7, 1000, NULL, "slots; six go to the long tasks" },
	{ "load", SIM_KEY_INT, "500", 1, 100000, NULL, "requests a second, Poisson" },
	{ "service_ms", SIM_KEY_REAL, "5", 0.001, 100000, NULL, "mean service, exponential" },
	{ "remaining_min_s", SIM_KEY_REAL, "1", 0.1, 1000, NULL,
		"what a long task has left at 15 s, log-uniform from" },
	{ "remaining_max_s", SIM_KEY_REAL, "40", 0.1, 1000, NULL, "… to" },
	{ "slo_ms", SIM_KEY_INT, "100", 1, 1000000, NULL, "a request's objective" },
	{ "duration_s", SIM_KEY_INT, "25", 16, 10000, NULL, "arrivals end here" },
	SIM_KEYS_WATCH_TIMES,
	{ 0 },
};

static const struct sim_column columns[] = {
	{ "reported", NULL, 0 },
	{ "choose", NULL, 0 },
	{ "estimator", NULL, 0 },
	{ "right_pct", "most left to do", 1 },
	{ "right_ci95", "+-", 1 },
	{ "regret_s", "left: best - chosen", 2 },
	{ "regret_ci95", "+-", 2 },
	{ "late_s", NULL, 2 },
	{ "late_s_ci95", "+-", 2 },
	{ "cancels", NULL, 1 },
	{ "wrong_cancels", "a request", 1 },
	{ "no_cancel_pct", NULL, 1 },
};

struct longs { /* the truth of one run */
	uint64_t start_ns[LONGS], total_ns[LONGS];
	uint32_t progress_ppm[LONGS];
};

struct sums {
	struct sim_stats right, regret, late, cancels, wrong, none;
};

static double uniform(struct sim_rng *rng, double low, double high)
{
	return low + (high - low) * sim_rng_unit(rng);
}

static uint32_t parameter(
	const struct sim_run *run, enum sim_progress progress, struct sim_rng *rng)
{
	double spread = sim_real(run, "spread");
	double value = 0;
	/* One draw whatever the kind, so that all kinds meet the same tasks. */
	double u = sim_rng_unit(rng);
	if (progress == SIM_PROGRESS_SCALED)
		value = sim_pow(10, spread * (2 * u - 1));
	else if (progress == SIM_PROGRESS_BIASED)
		value = u / 2;
	else if (progress == SIM_PROGRESS_STUCK)
		value = 0.05 + 0.9 * u;
	else if (progress == SIM_PROGRESS_OVER)
		value = 0.1 + 0.8 * u;
	return (uint32_t)(value * 1e6);
}

static void draw_longs(
	const struct sim_run *run, enum sim_progress progress, uint64_t seed, struct longs *longs)
{
	struct sim_rng rng;
	double low = sim_real(run, "remaining_min_s"), high = sim_real(run, "remaining_max_s");
	if (high < low)
		high = low;
	sim_rng_init(&rng, seed, 1000);
	for (int i = 0; i < LONGS; i++) {
		uint64_t elapsed_ns = i < EARLY ? (uint64_t)(uniform(&rng, 2, 12) * 1e9) : 0;
		uint64_t left_ns = (uint64_t)(low * sim_pow(high / low, sim_rng_unit(&rng)) * 1e9);
		longs->start_ns[i] = OVERLOAD_NS - elapsed_ns;
		longs->total_ns[i] = elapsed_ns + left_ns;
		longs->progress_ppm[i] = parameter(run, progress, &rng);
	}
}

static void draw_request(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	(void)sequence;
	args[0] = sim_dist_draw(arg, rng);
}

static void draw_long(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	const uint64_t *total_ns = arg;
	(void)rng;
	(void)sequence;
	args[0] = *total_ns;
}

static bool add_server(struct sim_world *w, const struct sim_run *run)
{
	struct sim_resource_options workers = { .name = "workers",
		.type = CANCEL_QUEUE,
		.capacity = (uint64_t)sim_int(run, "workers") };
	struct sim_step steps[] = {
		{ .kind = SIM_STEP_SLOT, .resource = 0, .amount = 1 },
		{ .kind = SIM_STEP_COMPUTE, .amount_arg = 1 },
		{ .kind = SIM_STEP_FREE, .resource = 0, .amount = 1 },
	};
	return sim_world_resource(w, &workers) == 0 && sim_world_script(w, steps, 3) == 0;
}

static bool add_clients(struct sim_world *w, const struct sim_run *run, enum sim_progress progress,
	struct longs *longs, struct sim_dist *service)
{
	struct sim_client_options request = {
		.struct_size = sizeof request,
		.name = "request",
		.flags = CANCEL_CANCELLABLE,
		.slo_ns = (uint64_t)sim_int(run, "slo_ms") * SIM_NS_PER_MS,
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL,
			.mean = SIM_NS_PER_S / (uint64_t)sim_int(run, "load") },
		.draw = draw_request,
		.draw_arg = service,
	};
	*service = (struct sim_dist){ .shape = SIM_EXPONENTIAL,
		.mean = (uint64_t)(sim_real(run, "service_ms") * 1e6) };
	if (sim_world_client(w, &request) != REQUEST)
		return false;
	for (int i = 0; i < LONGS; i++) {
		struct sim_client_options o = {
			.struct_size = sizeof o,
			.name = "long",
			.class_index = 1,
			.flags = CANCEL_CANCELLABLE | CANCEL_BACKGROUND,
			.signature = 0x10 + (uint64_t)i,
			.trigger = true,
			.first_ns = longs->start_ns[i],
			.limit = 1,
			.gap = { .shape = SIM_FIXED, .mean = 1 },
			.progress = progress,
			.progress_ppm = longs->progress_ppm[i],
			.draw = draw_long,
			.draw_arg = &longs->total_ns[i],
		};
		if (sim_world_client(w, &o) != LONG + i)
			return false;
	}
	return true;
}

static uint64_t left_ns(const struct longs *longs, uint32_t i, uint64_t now_ns)
{
	uint64_t end_ns = longs->start_ns[i] + longs->total_ns[i];
	return longs->start_ns[i] <= now_ns && end_ns > now_ns ? end_ns - now_ns : 0;
}

/* Compares the first cancel with the oracle's: the task with most left to do. */
static void judge(const struct longs *longs, const struct sim_decision *d, struct sums *sums)
{
	uint64_t best_ns = 0, chosen_ns = 0;
	for (uint32_t i = 0; i < LONGS; i++) {
		uint64_t ns = left_ns(longs, i, d->decided_ns);
		best_ns = ns > best_ns ? ns : best_ns;
		if (d->client == LONG + i)
			chosen_ns = ns;
	}
	sim_stats_add(&sums->right, best_ns == chosen_ns ? 100 : 0);
	sim_stats_add(&sums->regret, (double)(best_ns - chosen_ns) / 1e9);
}

static void add_outcome(const struct sim_world *w, const struct longs *longs, struct sums *sums)
{
	struct sim_result r;
	sim_world_result(w, &r);
	uint64_t wrong = 0;
	for (size_t i = 0; i < r.decision_count; i++)
		wrong += r.decisions[i].client == REQUEST;
	if (r.decision_count > 0)
		judge(longs, &r.decisions[0], sums);
	sim_stats_add(&sums->none, r.decision_count > 0 ? 0 : 100);
	sim_stats_add(&sums->late, (double)sim_world_late_bins(w, OVERLOAD_NS, UINT64_MAX) / 10);
	sim_stats_add(&sums->cancels, (double)r.decisions_total);
	sim_stats_add(&sums->wrong, (double)wrong);
}

struct combination {
	int64_t progress, choose, estimator;
};

static void name_of(const struct sim_run *run, const char *key, int64_t choice, char *text)
{
	const struct sim_setting *setting = sim_options_find(&run->options, key);
	if (!sim_key_choice(setting->key, (size_t)choice, text, 32))
		text[0] = 0;
}

static int run_once(
	struct sim_run *run, const struct combination *c, uint64_t seed, struct sums *sums)
{
	struct sim_world_options options = { 0 };
	struct cancel_pipeline_config pipeline;
	struct longs longs;
	struct sim_dist service;
	char choose[32], estimator[32];
	const char *why = "the world's tables do not hold this lane";
	sim_watch_times(run, &options, &pipeline);
	name_of(run, "choose", c->choose, choose);
	name_of(run, "estimator", c->estimator, estimator);
	pipeline.policy = cancel_policy_find(choose);
	pipeline.estimator = cancel_estimator_find(estimator);
	options.duration_ns = (uint64_t)sim_int(run, "duration_s") * SIM_NS_PER_S;
	options.seed = seed;
	draw_longs(run, (enum sim_progress)c->progress, seed, &longs);
	struct sim_world *w = sim_world_new(&options, &why);
	if (w && add_server(w, run) &&
		add_clients(w, run, (enum sim_progress)c->progress, &longs, &service)) {
		struct sim_result result;
		sim_world_run(w);
		sim_world_result(w, &result);
		why = result.broken;
		add_outcome(w, &longs, sums);
		if (result.bound)
			sim_note(run->report, "a run stopped at its bound on the %s", result.bound);
	}
	sim_world_free(w);
	return why ? sim_fail(run, "wrong-progress: %s", why) : 0;
}

static void put_mean(struct sim_table *table, const struct sim_stats *stats, bool interval)
{
	if (stats->count == 0) {
		sim_put_none(table);
		if (interval)
			sim_put_none(table);
		return;
	}
	sim_put_real(table, sim_stats_mean(stats));
	if (interval)
		sim_put_real(table, sim_stats_ci95(stats));
}

static int run_combination(
	struct sim_run *run, struct sim_table *table, const struct combination *c)
{
	struct sums s = { 0 };
	char text[32];
	for (uint32_t i = 0; i < run->seeds; i++)
		if (run_once(run, c, run->seed + i, &s) != 0)
			return -1;
	sim_row(table);
	name_of(run, "reported", c->progress, text);
	sim_put_text(table, text);
	name_of(run, "choose", c->choose, text);
	sim_put_text(table, text);
	name_of(run, "estimator", c->estimator, text);
	sim_put_text(table, text);
	put_mean(table, &s.right, true);
	put_mean(table, &s.regret, true);
	put_mean(table, &s.late, true);
	put_mean(table, &s.cancels, false);
	put_mean(table, &s.wrong, false);
	put_mean(table, &s.none, false);
	return 0;
}

static size_t plan(const struct sim_run *run, struct combination *all)
{
	size_t count = 0;
	bool cross = sim_flag(run, "cross");
	for (size_t p = 0; p < sim_count(run, "reported"); p++)
		for (size_t c = 0; c < sim_count(run, "choose"); c++)
			for (size_t e = 0; e < sim_count(run, "estimator"); e++)
				if (cross || c == 0 || e == 0)
					all[count++] =
						(struct combination){ sim_item(run, "reported", p),
							sim_item(run, "choose", c),
							sim_item(run, "estimator", e) };
	return count;
}

static int run_wrong_progress(struct sim_run *run)
{
	struct sim_table *table =
		sim_report_table(run->report, "choices", "The first cancel against the oracle's",
			SIM_TABLE_ALL, columns, sizeof columns / sizeof *columns);
	struct combination *all = sim_alloc(
		sim_count(run, "reported") * sim_count(run, "choose") * sim_count(run, "estimator"),
		sizeof *all);
	size_t count = plan(run, all);
	int status = 0;
	for (size_t i = 0; status == 0 && i < count; i++) {
		status = run_combination(run, table, &all[i]);
		sim_progress(run, i + 1, count);
	}
	free(all);
	sim_note(run->report,
		"%u seeds, the same tasks for every row. The oracle takes the task with "
		"most left to do; a guess among six is right in 16.7 %% of runs.",
		run->seeds);
	return status;
}

const struct sim_lane sim_lane_wrong_progress = {
	.name = "wrong-progress",
	.what = "Progress that is scaled, biased, stuck, missing, over 100 %: is the choice still "
		"right?",
	.keys = keys,
	.seeds = 20,
	.run = run_wrong_progress,
};

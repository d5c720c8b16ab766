/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane wrong-progress: six long tasks crowd a server, and what they say of their progress is wrong.
 * How often does the first cancel hit the task with most left to do, which is what the estimators
 * are after; and how far is it from the best one, the one whose cancel alone leaves the fewest late
 * seconds (an oracle tries all six)? By chooser and by estimator.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/lanes/lanes.h"
#include "sim/setups/long_tasks.h"
#include "sim/setups/trial.h"

#define TIE_BINS 1 /* of 100 ms: so little more than the best is as good */

const struct sim_key sim_wrong_progress_keys[] = {
	{ "scene", SIM_KEY_CHOICES, "slots,queues", 0, 0, "slots|queues|pool",
		"six tasks on worker slots; slots of two queues, or of both; three that read more "
		"pages than the pool has" },
	{ "reported", SIM_KEY_CHOICES, "all", 0, 0, "missing|true|scaled|biased|stuck|over",
		"what tasks say: nothing; the truth; expected times 10^±spread; done plus up to "
		"half the total; done stops somewhere; expected too small, so that it passes "
		"100 %" },
	{ "spread", SIM_KEY_REAL, "1", 0, 3, NULL, "decimal orders a scaled estimate is off by" },
	{ "choose", SIM_KEY_CHOICES,
		"multi-objective,greedy,current-usage,published,relief,longest", 0, 0, SIM_CHOOSERS,
		"choosers, each with the first estimator" },
	{ "estimator", SIM_KEY_CHOICES, "all", 0, 0, SIM_ESTIMATORS,
		"estimators, each with the first chooser" },
	{ "cross", SIM_KEY_FLAG, "no", 0, 0, NULL, "every chooser with every estimator" },
	{ "load", SIM_KEY_INT, "500", 1, 100000, NULL, "requests a second, Poisson" },
	{ "service_ms", SIM_KEY_REAL, "5", 0.001, 100000, NULL, "mean service, exponential" },
	{ "left_min_s", SIM_KEY_REAL, "1", 0.1, 1000, NULL,
		"what a long task has left at 15 s, log-uniform from" },
	{ "left_max_s", SIM_KEY_REAL, "40", 0.1, 1000, NULL, "… to (at least left_min_s)" },
	{ "slo_ms", SIM_KEY_INT, "100", 1, 1000000, NULL, "a request's objective" },
	{ "duration_s", SIM_KEY_INT, "25", 16, 10000, NULL, "arrivals end here" },
	SIM_KEYS_WATCH_TIMES,
	{ 0 },
};

static const char columns[] =
	"scene|reported|choose|estimator|most_left_pct:1?|most_left_ci95:1~? +-|best_pct:1?|"
	"best_ci95:1~? +-|regret_s:2? late - the best's|regret_ci95:2~? +-|"
	"late_s:2 all cancels|late_s_ci95:2~ +-|cancels:1|wrong_cancels:1 a request|"
	"no_cancel_pct:1";

struct oracle { /* of one scene and seed: late bins when only that task is cancelled */
	uint64_t bins[SIM_LONG_TASKS], best;
};

enum { MOST_LEFT, BEST, REGRET, LATE, CANCELS, WRONG, NO_CANCEL, FIGURES };

static const char *const scenes[] = { "scene", NULL };
static const char *const shown[] = { "scene", "reported", "choose", "estimator", NULL };
static const char *const *const ways = &shown[1];

static void describe(const struct sim_run *run, int64_t reported, uint64_t seed,
	struct sim_long_tasks *tasks, struct cancel_pipeline_config *pipeline)
{
	*tasks = (struct sim_long_tasks){
		.scene = (enum sim_long_task_scene)sim_int(run, "scene"),
		.reported = (enum sim_progress)reported,
		.spread = sim_real(run, "spread"),
		.left_min_s = sim_real(run, "left_min_s"),
		.left_max_s = sim_real(run, "left_max_s"),
		.seed = seed,
		.load_qps = (uint64_t)sim_int(run, "load"),
		.service_ns = sim_ns(run, "service_ms"),
		.slo_ns = sim_ns(run, "slo_ms"),
		.duration_ns = sim_ns(run, "duration_s"),
	};
	sim_watch_read(run, &tasks->world, pipeline);
}

/* Runs one world to its end; the caller frees it. NULL after sim_fail. */
static struct sim_world *play(
	struct sim_run *run, struct sim_long_tasks *tasks, struct sim_result *result)
{
	const char *why;
	struct sim_world *w = sim_long_tasks_new(tasks, &why);
	if (sim_play_world(run, w, why, result, "a run") == 0)
		return w;
	sim_world_free(w);
	return NULL;
}

static int ask_oracle(struct sim_run *run, uint64_t seed, struct oracle *oracle)
{
	struct cancel_pipeline_config pipeline;
	struct sim_long_tasks tasks;
	struct sim_result result;
	oracle->best = UINT64_MAX;
	for (int i = 0; i < SIM_LONG_TASKS; i++) {
		describe(run, SIM_PROGRESS_TRUE, seed, &tasks, &pipeline);
		pipeline.policy = &sim_long_task_only[i];
		struct sim_world *w = play(run, &tasks, &result);
		if (!w)
			return -1;
		oracle->bins[i] = sim_world_late_bins(w, SIM_LONG_TASKS_FROM_NS, UINT64_MAX);
		if (oracle->bins[i] < oracle->best)
			oracle->best = oracle->bins[i];
		sim_world_free(w);
	}
	return 0;
}

static uint64_t left_ns(const struct sim_long_tasks *tasks, uint32_t i, uint64_t now_ns)
{
	uint64_t end_ns = tasks->task[i].start_ns + tasks->task[i].undisturbed_ns;
	return tasks->task[i].start_ns <= now_ns && end_ns > now_ns ? end_ns - now_ns : 0;
}

static void judge_first(const struct sim_long_tasks *tasks, const struct sim_decision *first,
	const struct oracle *oracle, struct sim_stats *sums)
{
	uint64_t most_ns = 0;
	if (first->client < SIM_LONG_TASK_CLIENT) {
		sim_stats_add(&sums[MOST_LEFT], 0);
		sim_stats_add(&sums[BEST], 0);
		return;
	}
	uint32_t task = first->client - SIM_LONG_TASK_CLIENT;
	for (uint32_t i = 0; i < SIM_LONG_TASKS; i++) {
		uint64_t ns = left_ns(tasks, i, first->decided_ns);
		most_ns = ns > most_ns ? ns : most_ns;
	}
	sim_stats_add(
		&sums[MOST_LEFT], left_ns(tasks, task, first->decided_ns) == most_ns ? 100 : 0);
	sim_stats_add(&sums[BEST], oracle->bins[task] <= oracle->best + TIE_BINS ? 100 : 0);
	sim_stats_add(&sums[REGRET], (double)(oracle->bins[task] - oracle->best) / 10);
}

static void judge(const struct sim_world *w, const struct sim_result *r,
	const struct sim_long_tasks *tasks, const struct oracle *oracle, struct sim_stats *sums)
{
	uint64_t late_bins = sim_world_late_bins(w, SIM_LONG_TASKS_FROM_NS, UINT64_MAX), wrong = 0;
	for (size_t i = 0; i < r->decision_count; i++)
		wrong += r->decisions[i].client < SIM_LONG_TASK_CLIENT;
	if (r->decision_count > 0)
		judge_first(tasks, &r->decisions[0], oracle, sums);
	const double values[] = { (double)late_bins / 10, (double)r->decisions_total, (double)wrong,
		r->decision_count > 0 ? 0 : 100 };
	sim_stats_add_each(&sums[LATE], values, FIGURES - LATE);
}

static int run_once(
	struct sim_run *run, uint64_t seed, const struct oracle *oracle, struct sim_stats *sums)
{
	struct cancel_pipeline_config pipeline;
	struct sim_long_tasks tasks;
	struct sim_result result;
	describe(run, sim_int(run, "reported"), seed, &tasks, &pipeline);
	pipeline.policy = cancel_policy_find(sim_choice(run, "choose"));
	pipeline.estimator = cancel_estimator_find(sim_choice(run, "estimator"));
	struct sim_world *w = play(run, &tasks, &result);
	if (!w)
		return -1;
	judge(w, &result, &tasks, oracle, sums);
	sim_world_free(w);
	return 0;
}

static int run_combination(struct sim_run *run, struct sim_table *table, struct sim_series *series,
	const struct oracle *oracles)
{
	struct sim_stats sums[FIGURES] = { 0 };
	for (uint32_t i = 0; i < run->seeds; i++)
		if (run_once(run, run->seed + i, &oracles[i], sums) != 0)
			return -1;
	sim_key_row(run, table, shown);
	sim_put_figures(table, sums, FIGURES);
	if (sums[MOST_LEFT].count)
		sim_plot_point(
			series, (double)sim_int(run, "reported"), sim_stats_mean(&sums[MOST_LEFT]));
	return 0;
}

static struct sim_series *new_series(const struct sim_run *run, struct sim_plot *plot)
{
	char label[72];
	snprintf(label, sizeof label, "%s, %s", sim_choice(run, "choose"),
		sim_choice(run, "estimator"));
	return sim_plot_series(plot, label, SIM_LINES_POINTS);
}

/* Every way to report, every chooser and estimator, in the current scene. */
static int run_ways(struct sim_run *run, struct sim_table *table, struct sim_plot *plot,
	const struct oracle *oracles)
{
	size_t lines = sim_combinations(run, &ways[1]);
	struct sim_series **series = sim_alloc(lines, sizeof(struct sim_series *));
	int status = 0;
	for (size_t i = 0; status == 0 && sim_vary(run, ways, i); i++) {
		bool beside = !sim_first(run, "choose") && !sim_first(run, "estimator");
		if (beside && !sim_flag(run, "cross"))
			continue;
		if (!series[i % lines])
			series[i % lines] = new_series(run, plot);
		status = run_combination(run, table, series[i % lines], oracles);
	}
	free(series);
	return status;
}

static int run_scene(struct sim_run *run, struct sim_table *table)
{
	static const char *const titles[] = { "Six tasks on worker slots", "Two worker queues",
		"Slots and a page pool" };
	struct sim_plot *plot = sim_report_plot(run->report, titles[sim_int(run, "scene")],
		"reported: 0 nothing, 1 truth, 2 scaled, 3 biased, 4 stuck, 5 over 100 %",
		"% of first cancels that hit the task with most left", SIM_AXIS_LINEAR);
	struct oracle *oracles = sim_alloc(run->seeds, sizeof *oracles);
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < run->seeds; i++)
		status = ask_oracle(run, run->seed + i, &oracles[i]);
	if (status == 0)
		status = run_ways(run, table, plot, oracles);
	free(oracles);
	return status;
}

int sim_wrong_progress_run(struct sim_run *run)
{
	struct sim_table *table =
		sim_table(run, "choices", "The first cancel against the oracle's", columns);
	if (sim_real(run, "left_max_s") < sim_real(run, "left_min_s"))
		return sim_fail(run, "left_max_s must be at least left_min_s (%g)",
			sim_real(run, "left_min_s"));
	for (size_t i = 0; sim_vary(run, scenes, i); i++)
		if (run_scene(run, table) != 0)
			return -1;
	sim_note(run->report,
		"%u seeds, the same tasks for every row; a guess among six is right in 16.7 %%. "
		"The best is the one whose cancel alone leaves the fewest late seconds, or within "
		"0.1 s of that.",
		run->seeds);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane many-culprits: one to forty medium tasks, each holding a table of its own, behind one worker
 * queue. What does the pause between cancels cost, and what the second wave, when every rerun may
 * not be cancelled? (The Atropos paper names both as why its cases 3 and 12 miss their SLO.)
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

#define TABLES	 64
#define START_NS (10 * SIM_NS_PER_S)

const struct sim_key sim_many_culprits_keys[] = {
	{ "culprits", SIM_KEY_INTS, "1,5,10,20,40", 1, TABLES, NULL, "all at once, from 10 s" },
	{ "pause", SIM_KEY_INTS, "1,100,1000,10000", 1, 1000000, NULL,
		"milliseconds between two cancels, swept" },
	{ "release_wait_ms", SIM_KEY_INTS, "1000", 1, 1000000, NULL,
		"the next cancel waits for the last target's release at most so long, swept" },
	{ "burst", SIM_KEY_INTS, "5", 1, 1000, NULL, "cancels at once before the bucket runs dry" },
	{ "rerun", SIM_KEY_CHOICES, "all", 0, 0, "no|yes",
		"the server runs each cancelled culprit once more when calm; then it stays" },
	{ "hold_ms", SIM_KEY_INT, "5000", 10, 1000000, NULL, "a culprit keeps its table, if left" },
	{ "load", SIM_KEY_INT, "800", 1, 100000, NULL, "requests a second, Poisson" },
	{ "workers", SIM_KEY_INT, "32", 1, 100000, NULL, "slots of the worker queue" },
	{ "slo_ms", SIM_KEY_INT, "50", 1, 1000000, NULL, "a request's objective" },
	{ "duration_s", SIM_KEY_INT, "45", 12, 10000, NULL, "arrivals end here" },
	SIM_KEYS_WATCH,
	{ 0 },
};

enum { WORKERS, TABLE };
enum { REQUEST, CULPRIT };

struct setup {
	uint32_t culprits, pause_ms, release_wait_ms, burst;
	uint64_t hold_ns;
	bool watched, rerun;
};
static const char *const paced_by[] = { "rerun", "burst", "release_wait_ms", "pause", NULL };

enum { LATE, WAVE, IN_SLO, LAST, CANCELS, WRONG, RERUNS, FIGURES };

static void draw_request(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	(void)arg;
	(void)sequence;
	args[0] = sim_rng_below(rng, TABLES);
	args[1] = sim_dist_draw(
		&(struct sim_dist){ .shape = SIM_EXPONENTIAL, .mean = 5 * SIM_NS_PER_MS }, rng);
}

static void draw_culprit(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	const struct setup *s = arg;
	args[0] = sequence;
	args[1] = s->hold_ns * 3 / 4 + sim_rng_below(rng, s->hold_ns / 2 + 1);
}

static bool build(struct sim_trial *trial)
{
	const struct setup *s = trial->variant;
	const struct sim_run *run = trial->run;
	const struct sim_resource_options resources[] = {
		{ .name = "workers",
			.type = CANCEL_QUEUE,
			.capacity = (uint64_t)sim_int(run, "workers") },
		{ .name = "tables", .type = CANCEL_LOCK, .instances = TABLES },
	};
	const struct sim_step request[] = { SIM_TAKE(WORKERS, 1),
		SIM_LOCK_ARG(TABLE, 1, CANCEL_SHARED), SIM_COMPUTE_ARG(2),
		SIM_UNLOCK_ARG(TABLE, 1, CANCEL_SHARED), SIM_FREE(WORKERS, 1) };
	const struct sim_step culprit[] = { SIM_LOCK_ARG(TABLE, 1, CANCEL_EXCLUSIVE),
		SIM_COMPUTE_ARG(2), SIM_UNLOCK_ARG(TABLE, 1, CANCEL_EXCLUSIVE) };
	const struct sim_script scripts[] = { SIM_SCRIPT(request), SIM_SCRIPT(culprit) };
	struct sim_client_options clients[] = { sim_requests(run, "request"),
		sim_background_task("culprit", CULPRIT, 0xc1, START_NS) };
	clients[REQUEST].draw = draw_request;
	clients[CULPRIT].rerun = s->rerun;
	clients[CULPRIT].limit = s->culprits;
	clients[CULPRIT].gap.mean = SIM_NS_PER_MS;
	clients[CULPRIT].draw = draw_culprit;
	clients[CULPRIT].draw_arg = (void *)s;
	return SIM_BUILD(trial->world, resources, scripts, clients);
}

static void read(struct sim_trial *trial, void *found)
{
	const struct setup *s = trial->variant;
	const struct sim_result *r = &trial->result;
	/* The second wave begins when the first rerun takes its table; never without one. */
	uint64_t wave_ns =
		r->hold_count > s->culprits ? r->holds[s->culprits].taken_ns : UINT64_MAX;
	uint64_t last_ns = START_NS;
	for (size_t i = 0; i < r->hold_count && i < s->culprits; i++)
		last_ns = r->holds[i].given_ns > last_ns ? r->holds[i].given_ns : last_ns;
	const double values[FIGURES] = {
		[LATE] = (double)sim_world_late_bins(trial->world, 0, wave_ns) / 10,
		[WAVE] = (double)sim_world_late_bins(trial->world, wave_ns, UINT64_MAX) / 10,
		[IN_SLO] = sim_in_slo_pct(sim_world_totals(trial->world, REQUEST)),
		[LAST] = (double)(last_ns - START_NS) / 1e9,
		[CANCELS] = (double)r->decisions_total,
		[WRONG] = (double)(r->decision_count - sim_decisions_on(r, CULPRIT)),
		[RERUNS] = (double)sim_world_totals(trial->world, CULPRIT)->reruns,
	};
	sim_stats_add_each(found, values, FIGURES);
}

static void describe(struct sim_trial *trial)
{
	const struct setup *s = trial->variant;
	trial->pipeline.pace_gap_ms = s->pause_ms;
	trial->pipeline.release_wait_ms = s->release_wait_ms;
	trial->pipeline.pace_burst = s->burst;
	if (!s->watched)
		trial->options.pipeline = NULL;
	snprintf(trial->subject, sizeof(trial->subject), "a run with %u culprits", s->culprits);
}

static const char columns[] =
	"culprits|policy|pause_ms|release_wait_ms|burst|rerun|late_s:2 first wave|"
	"late_s_ci95:2~ +-|second_wave_late_s:2|second_wave_ci95:2~ +-|in_slo_pct:2|"
	"last_release_s:2 of the first wave|cancels:1|wrong_cancels:1|reruns:1";

static int run_setup(
	struct sim_run *run, struct sim_table *table, const struct setup *s, double *late_s)
{
	static const struct sim_world_lane lane = { describe, build, read };
	const uint32_t paces[] = { s->pause_ms, s->release_wait_ms, s->burst };
	struct sim_stats sums[FIGURES] = { 0 };
	if (sim_trials(run, &lane, s, sums) != 0)
		return -1;
	SIM_ROW(table, SIM_INT(s->culprits), SIM_TEXT(s->watched ? "cancel" : "none"));
	for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) {
		sim_put(table, s->watched ? SIM_INT(paces[i]) : SIM_NONE);
	}
	sim_put(table, SIM_BOOL(s->rerun));
	sim_put_figures(table, sums, FIGURES);
	*late_s = sim_stats_mean(&sums[LATE]) + sim_stats_mean(&sums[WAVE]);
	return 0;
}

/* Every number of culprits under the current way to pace, or with nobody watching. */
static int run_line(
	struct sim_run *run, struct sim_table *table, struct sim_plot *plot, bool watched)
{
	char label[64] = "none";
	struct setup s = { .hold_ns = sim_ns(run, "hold_ms"), .watched = watched };
	if (watched) {
		s.rerun = sim_int(run, "rerun") == 1;
		s.burst = (uint32_t)sim_int(run, "burst");
		s.release_wait_ms = (uint32_t)sim_int(run, "release_wait_ms");
		s.pause_ms = (uint32_t)sim_int(run, "pause");
		snprintf(label, sizeof label, "pause %u, wait %u, burst %u%s", s.pause_ms,
			s.release_wait_ms, s.burst, s.rerun ? ", rerun" : "");
	}
	struct sim_series *series = sim_plot_series(plot, label, SIM_LINES_POINTS);
	for (size_t i = 0; i < sim_count(run, "culprits"); i++) {
		double late_s;
		s.culprits = (uint32_t)sim_item(run, "culprits", i);
		if (run_setup(run, table, &s, &late_s) != 0)
			return -1;
		sim_plot_point(series, s.culprits, late_s);
	}
	return 0;
}

int sim_many_culprits_run(struct sim_run *run)
{
	struct sim_table *table =
		sim_table(run, "culprits", "Medium culprits, each on its own table", columns);
	struct sim_plot *plot = sim_report_plot(run->report, "Late seconds, both waves", "culprits",
		"late seconds", SIM_AXIS_LINEAR);
	if (run_line(run, table, plot, false) != 0)
		return -1;
	for (size_t i = 0; sim_vary(run, paced_by, i); i++)
		if (run_line(run, table, plot, true) != 0)
			return -1;
	sim_note(run->report,
		"Means of %u seeds, 95 %% intervals beside them. The second wave begins "
		"when the first rerun takes its table.",
		run->seeds);
	return 0;
}

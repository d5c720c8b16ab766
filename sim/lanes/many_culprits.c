/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane many-culprits: one to forty medium tasks, each holding a table of its own, behind one worker
 * queue. What does the pause between cancels cost, and what the second wave, when every rerun may
 * not be cancelled? (The Atropos paper names both as why its cases 3 and 12 miss their SLO.)
 */
#include "sim/report/lane.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/base/stats.h"
#include "sim/setups/world_keys.h"

#define TABLES	 64
#define START_NS (10 * SIM_NS_PER_S)

static const struct sim_key keys[] = {
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

enum {
	REQUEST,
	CULPRIT,
};

struct setup {
	uint32_t culprits, pause_ms, release_wait_ms, burst;
	bool watched, rerun;
};

struct outcome { /* of one run */
	double late_s, second_wave_s, cancels, wrong, reruns, last_release_s, success_pct;
};

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
	const uint64_t *hold_ns = arg;
	args[0] = sequence;
	args[1] = *hold_ns * 3 / 4 + sim_rng_below(rng, *hold_ns / 2 + 1);
}

static bool add_scripts(struct sim_world *w, const struct sim_run *run)
{
	uint8_t slot = 0, table = 1;
	struct sim_step request[] = {
		{ .kind = SIM_STEP_SLOT, .resource = slot, .amount = 1 },
		{ .kind = SIM_STEP_LOCK,
			.resource = table,
			.instance_arg = 1,
			.mode = CANCEL_SHARED },
		{ .kind = SIM_STEP_COMPUTE, .amount_arg = 2 },
		{ .kind = SIM_STEP_UNLOCK,
			.resource = table,
			.instance_arg = 1,
			.mode = CANCEL_SHARED },
		{ .kind = SIM_STEP_FREE, .resource = slot, .amount = 1 },
	};
	struct sim_step culprit[] = {
		{ .kind = SIM_STEP_LOCK,
			.resource = table,
			.instance_arg = 1,
			.mode = CANCEL_EXCLUSIVE },
		{ .kind = SIM_STEP_COMPUTE, .amount_arg = 2 },
		{ .kind = SIM_STEP_UNLOCK,
			.resource = table,
			.instance_arg = 1,
			.mode = CANCEL_EXCLUSIVE },
	};
	struct sim_resource_options workers = { .name = "workers",
		.type = CANCEL_QUEUE,
		.capacity = (uint64_t)sim_int(run, "workers") };
	struct sim_resource_options tables = {
		.name = "tables", .type = CANCEL_LOCK, .instances = TABLES
	};
	return sim_world_resource(w, &workers) == slot && sim_world_resource(w, &tables) == table &&
	       sim_world_script(w, request, 5) == REQUEST &&
	       sim_world_script(w, culprit, 3) == CULPRIT;
}

static bool add_clients(
	struct sim_world *w, const struct sim_run *run, const struct setup *s, uint64_t *hold_ns)
{
	struct sim_client_options request = {
		.struct_size = sizeof request,
		.name = "request",
		.script = REQUEST,
		.flags = CANCEL_CANCELLABLE,
		.slo_ns = (uint64_t)sim_int(run, "slo_ms") * SIM_NS_PER_MS,
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL,
			.mean = SIM_NS_PER_S / (uint64_t)sim_int(run, "load") },
		.draw = draw_request,
	};
	struct sim_client_options culprit = {
		.struct_size = sizeof culprit,
		.name = "culprit",
		.script = CULPRIT,
		.class_index = 1,
		.flags = CANCEL_CANCELLABLE | CANCEL_BACKGROUND,
		.signature = 0xc1,
		.trigger = true,
		.rerun = s->rerun,
		.first_ns = START_NS,
		.limit = s->culprits,
		.gap = { .shape = SIM_FIXED, .mean = SIM_NS_PER_MS },
		.progress = SIM_PROGRESS_TRUE,
		.draw = draw_culprit,
		.draw_arg = hold_ns,
	};
	return sim_world_client(w, &request) == REQUEST && sim_world_client(w, &culprit) == CULPRIT;
}

/* When the first rerun takes its table; the end of the run without one. */
static uint64_t second_wave_ns(const struct sim_result *r, uint32_t culprits)
{
	return r->hold_count > culprits ? r->holds[culprits].taken_ns : UINT64_MAX;
}

static void read_outcome(const struct sim_world *w, const struct setup *s, struct outcome *out)
{
	struct sim_result r;
	sim_world_result(w, &r);
	const struct sim_client_totals *requests = sim_world_totals(w, REQUEST);
	const struct sim_client_totals *culprits = sim_world_totals(w, CULPRIT);
	uint64_t wave_ns = second_wave_ns(&r, s->culprits), last_ns = START_NS;
	for (size_t i = 0; i < r.hold_count && i < s->culprits; i++)
		last_ns = r.holds[i].given_ns > last_ns ? r.holds[i].given_ns : last_ns;
	uint64_t wrong = 0;
	for (size_t i = 0; i < r.decision_count; i++)
		wrong += r.decisions[i].client != CULPRIT;
	*out = (struct outcome){
		.late_s = (double)sim_world_late_bins(w, 0, wave_ns) / 10,
		.second_wave_s = (double)sim_world_late_bins(w, wave_ns, UINT64_MAX) / 10,
		.cancels = (double)r.decisions_total,
		.wrong = (double)wrong,
		.reruns = (double)culprits->reruns,
		.last_release_s = (double)(last_ns - START_NS) / 1e9,
		.success_pct = 100.0 * (double)(requests->succeeded - requests->late) /
			       (double)requests->originals,
	};
}

static int run_once(struct sim_run *run, const struct setup *s, uint64_t seed, struct outcome *out)
{
	struct sim_world_options options = { 0 };
	struct cancel_pipeline_config pipeline;
	uint64_t hold_ns = (uint64_t)sim_int(run, "hold_ms") * SIM_NS_PER_MS;
	const char *why = "the world's tables do not hold this lane";
	sim_watch_read(run, &options, &pipeline);
	pipeline.pace_gap_ms = s->pause_ms;
	pipeline.release_wait_ms = s->release_wait_ms;
	pipeline.pace_burst = s->burst;
	options.pipeline = s->watched ? &pipeline : NULL;
	options.duration_ns = (uint64_t)sim_int(run, "duration_s") * SIM_NS_PER_S;
	options.seed = seed;
	struct sim_world *w = sim_world_new(&options, &why);
	bool built = w && add_scripts(w, run) && add_clients(w, run, s, &hold_ns);
	if (built) {
		struct sim_result result;
		sim_world_run(w);
		sim_world_result(w, &result);
		why = result.broken;
		if (result.bound)
			sim_note(run->report,
				"a run with %u culprits stopped at its bound on the %s",
				s->culprits, result.bound);
		read_outcome(w, s, out);
	}
	sim_world_free(w);
	return why ? sim_fail(run, "many-culprits: %s", why) : 0;
}

static const struct sim_column columns[] = {
	{ "culprits", NULL, 0 },
	{ "policy", NULL, 0 },
	{ "pause_ms", NULL, 0 },
	{ "release_wait_ms", NULL, 0 },
	{ "burst", NULL, 0 },
	{ "rerun", NULL, 0 },
	{ "late_s", "first wave", 2 },
	{ "late_s_ci95", "+-", 2 },
	{ "second_wave_late_s", NULL, 2 },
	{ "second_wave_ci95", "+-", 2 },
	{ "in_slo_pct", NULL, 2 },
	{ "last_release_s", "of the first wave", 2 },
	{ "cancels", NULL, 1 },
	{ "wrong_cancels", NULL, 1 },
	{ "reruns", NULL, 1 },
};

struct means {
	struct sim_stats late, wave, success, last, cancels, wrong, reruns;
};

static void put_row(struct sim_table *table, const struct setup *s, const struct means *m)
{
	sim_row(table);
	sim_put_int(table, s->culprits);
	sim_put_text(table, s->watched ? "cancel" : "none");
	const uint32_t paces[] = { s->pause_ms, s->release_wait_ms, s->burst };
	for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) {
		if (s->watched)
			sim_put_int(table, paces[i]);
		else
			sim_put_none(table);
	}
	sim_put_bool(table, s->rerun);
	sim_put_real(table, sim_stats_mean(&m->late));
	sim_put_real(table, sim_stats_ci95(&m->late));
	sim_put_real(table, sim_stats_mean(&m->wave));
	sim_put_real(table, sim_stats_ci95(&m->wave));
	sim_put_real(table, sim_stats_mean(&m->success));
	sim_put_real(table, sim_stats_mean(&m->last));
	sim_put_real(table, sim_stats_mean(&m->cancels));
	sim_put_real(table, sim_stats_mean(&m->wrong));
	sim_put_real(table, sim_stats_mean(&m->reruns));
}

static int run_setup(
	struct sim_run *run, struct sim_table *table, const struct setup *s, double *late_s)
{
	struct means m = { 0 };
	for (uint32_t i = 0; i < run->seeds; i++) {
		struct outcome o = { 0 };
		if (run_once(run, s, run->seed + i, &o) != 0)
			return -1;
		sim_stats_add(&m.late, o.late_s);
		sim_stats_add(&m.wave, o.second_wave_s);
		sim_stats_add(&m.success, o.success_pct);
		sim_stats_add(&m.last, o.last_release_s);
		sim_stats_add(&m.cancels, o.cancels);
		sim_stats_add(&m.wrong, o.wrong);
		sim_stats_add(&m.reruns, o.reruns);
	}
	put_row(table, s, &m);
	*late_s = sim_stats_mean(&m.late) + sim_stats_mean(&m.wave);
	return 0;
}

static size_t combinations(const struct sim_run *run)
{
	return sim_count(run, "pause") * sim_count(run, "release_wait_ms") *
	       sim_count(run, "burst") * sim_count(run, "rerun");
}

/* The line-th way to pace, after line 0, which is nobody watching. */
static struct setup describe(const struct sim_run *run, size_t line, char *label, size_t bytes)
{
	struct setup s = { .watched = line > 0 };
	snprintf(label, bytes, "none");
	if (line == 0)
		return s;
	size_t pauses = sim_count(run, "pause"), waits = sim_count(run, "release_wait_ms");
	size_t bursts = sim_count(run, "burst"), i = line - 1;
	s.pause_ms = (uint32_t)sim_item(run, "pause", i % pauses);
	s.release_wait_ms = (uint32_t)sim_item(run, "release_wait_ms", i / pauses % waits);
	s.burst = (uint32_t)sim_item(run, "burst", i / pauses / waits % bursts);
	s.rerun = sim_item(run, "rerun", i / pauses / waits / bursts) == 1;
	snprintf(label, bytes, "pause %u, wait %u, burst %u%s", s.pause_ms, s.release_wait_ms,
		s.burst, s.rerun ? ", rerun" : "");
	return s;
}

static int run_many(struct sim_run *run)
{
	struct sim_table *table =
		sim_report_table(run->report, "culprits", "Medium culprits, each on its own table",
			SIM_TABLE_ALL, columns, sizeof columns / sizeof *columns);
	struct sim_plot *plot = sim_report_plot(run->report, "Late seconds, both waves", "culprits",
		"late seconds", SIM_AXIS_LINEAR);
	size_t counts = sim_count(run, "culprits"), lines = 1 + combinations(run);
	for (size_t line = 0; line < lines; line++) {
		char label[64];
		struct setup s = describe(run, line, label, sizeof label);
		struct sim_series *series = sim_plot_series(plot, label, SIM_LINES_POINTS);
		for (size_t i = 0; i < counts; i++) {
			double late_s;
			s.culprits = (uint32_t)sim_item(run, "culprits", i);
			if (run_setup(run, table, &s, &late_s) != 0)
				return -1;
			sim_plot_point(series, s.culprits, late_s);
			sim_progress(run, line * counts + i + 1, lines * counts);
		}
	}
	sim_note(run->report,
		"Means of %u seeds, 95 %% intervals beside them. The second wave begins "
		"when the first rerun takes its table.",
		run->seeds);
	return 0;
}

const struct sim_lane sim_lane_many_culprits = {
	.name = "many-culprits",
	.what = "One to forty medium culprits: the pause between cancels, and the wave of reruns",
	.keys = keys,
	.seeds = 5,
	.run = run_many,
};

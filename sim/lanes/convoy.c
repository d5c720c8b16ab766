/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane convoy: a long task holds a table, somebody waits for it exclusively, and readers queue
 * behind the waiter. Two variants: the holder reads (removing the waiter would do) or writes (it
 * would not). Whom does the core cancel, and what does each choice cost?
 */
#include "sim/report/lane.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/base/stats.h"
#include "sim/setups/world_keys.h"

#define HOLDER_NS (10 * SIM_NS_PER_S)
#define WAITER_NS (12 * SIM_NS_PER_S)

enum { READS, WRITES };
enum { BOTH, HOLDER_ONLY, WAITER_ONLY, NOBODY, GIVES_UP };
enum { READER, HOLDER, WAITER };

static const struct sim_key keys[] = {
	{ "holder", SIM_KEY_CHOICES, "all", 0, 0, "reads|writes", "what the long task does" },
	{ "cancellable", SIM_KEY_CHOICES, "all", 0, 0, "both|holder|waiter|nobody|gives-up",
		"whom the core may cancel; gives-up: no core, the waiter has a lock timeout" },
	{ "lock_timeout_ms", SIM_KEY_INT, "200", 1, 1000000, NULL,
		"after which a waiter that gives up does" },
	{ "load", SIM_KEY_INT, "400", 1, 100000, NULL, "readers a second, Poisson" },
	{ "read_ms", SIM_KEY_REAL, "2", 0.001, 100000, NULL, "mean time a reader holds the table" },
	{ "holder_s", SIM_KEY_REAL, "20", 0.001, 10000, NULL, "the long task holds it, from 10 s" },
	{ "waiter_s", SIM_KEY_REAL, "0.5", 0.001, 10000, NULL,
		"the exclusive waiter, from 12 s, holds it once it is in" },
	{ "workers", SIM_KEY_INT, "16", 1, 100000, NULL, "slots of the readers' worker queue" },
	{ "slo_ms", SIM_KEY_INT, "50", 1, 1000000, NULL, "a reader's objective" },
	{ "duration_s", SIM_KEY_INT, "60", 13, 10000, NULL, "arrivals end here" },
	SIM_KEYS_WATCH,
	{ 0 },
};

static const struct sim_column columns[] = {
	{ "holder", NULL, 0 },
	{ "cancellable", NULL, 0 },
	{ "first_target", "share of seeds", 0 },
	{ "decided_ms", "from the stall", 1 },
	{ "drained_ms", "from the stall", 1 },
	{ "late_s", NULL, 2 },
	{ "late_s_ci95", "+-", 2 },
	{ "in_slo_pct", NULL, 2 },
	{ "cancels", NULL, 1 },
	{ "wrong_cancels", NULL, 1 },
	{ "wasted_s", NULL, 2 },
	{ "holder_done", NULL, 0 },
	{ "waiter_done", NULL, 0 },
};

struct sums {
	struct sim_stats late, in_slo, cancels, wrong, wasted, decided, drained;
	uint32_t first[3], nobody, holder_done, waiter_done;
};

static void draw_reader(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	(void)sequence;
	args[0] = sim_dist_draw(arg, rng);
}

static bool add_scripts(struct sim_world *w, const struct sim_run *run, int64_t holder)
{
	uint8_t slot = 0, table = 1;
	uint8_t mode = holder == WRITES ? CANCEL_EXCLUSIVE : CANCEL_SHARED;
	struct sim_step reader[] = {
		{ .kind = SIM_STEP_SLOT, .resource = slot, .amount = 1 },
		{ .kind = SIM_STEP_LOCK, .resource = table, .mode = CANCEL_SHARED },
		{ .kind = SIM_STEP_COMPUTE, .amount_arg = 1 },
		{ .kind = SIM_STEP_UNLOCK, .resource = table, .mode = CANCEL_SHARED },
		{ .kind = SIM_STEP_FREE, .resource = slot, .amount = 1 },
	};
	struct sim_step hold[] = {
		{ .kind = SIM_STEP_LOCK, .resource = table, .mode = mode },
		{ .kind = SIM_STEP_COMPUTE, .amount = (uint64_t)(sim_real(run, "holder_s") * 1e9) },
		{ .kind = SIM_STEP_UNLOCK, .resource = table, .mode = mode },
	};
	struct sim_step wait[] = {
		{ .kind = SIM_STEP_LOCK, .resource = table, .mode = CANCEL_EXCLUSIVE },
		{ .kind = SIM_STEP_COMPUTE, .amount = (uint64_t)(sim_real(run, "waiter_s") * 1e9) },
		{ .kind = SIM_STEP_UNLOCK, .resource = table, .mode = CANCEL_EXCLUSIVE },
	};
	struct sim_resource_options workers = { .name = "workers",
		.type = CANCEL_QUEUE,
		.capacity = (uint64_t)sim_int(run, "workers") };
	struct sim_resource_options lock = { .name = "table", .type = CANCEL_LOCK };
	return sim_world_resource(w, &workers) == slot && sim_world_resource(w, &lock) == table &&
	       sim_world_script(w, reader, 5) == READER && sim_world_script(w, hold, 3) == HOLDER &&
	       sim_world_script(w, wait, 3) == WAITER;
}

static bool add_long(
	struct sim_world *w, int script, uint64_t first_ns, bool cancellable, uint64_t timeout_ns)
{
	struct sim_client_options o = {
		.struct_size = sizeof o,
		.name = script == HOLDER ? "holder" : "waiter",
		.script = (uint32_t)script,
		.class_index = (uint8_t)script,
		.flags = (uint8_t)(CANCEL_BACKGROUND | (cancellable ? CANCEL_CANCELLABLE : 0)),
		.signature = 0xc0 + (uint64_t)script,
		.first_ns = first_ns,
		.limit = 1,
		.gap = { .shape = SIM_FIXED, .mean = 1 },
		.timeout_ns = timeout_ns,
		.progress = SIM_PROGRESS_TRUE,
	};
	return sim_world_client(w, &o) == script;
}

static bool add_clients(
	struct sim_world *w, const struct sim_run *run, int64_t cancellable, struct sim_dist *read)
{
	struct sim_client_options reader = {
		.struct_size = sizeof reader,
		.name = "reader",
		.script = READER,
		.flags = CANCEL_CANCELLABLE,
		.slo_ns = (uint64_t)sim_int(run, "slo_ms") * SIM_NS_PER_MS,
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL,
			.mean = SIM_NS_PER_S / (uint64_t)sim_int(run, "load") },
		.draw = draw_reader,
		.draw_arg = read,
	};
	*read = (struct sim_dist){ .shape = SIM_EXPONENTIAL,
		.mean = (uint64_t)(sim_real(run, "read_ms") * 1e6) };
	bool holder = cancellable == BOTH || cancellable == HOLDER_ONLY;
	bool waiter = cancellable == BOTH || cancellable == WAITER_ONLY;
	uint64_t lock_timeout_ns =
		cancellable == GIVES_UP ? (uint64_t)sim_int(run, "lock_timeout_ms") * SIM_NS_PER_MS
					: 0;
	return sim_world_client(w, &reader) == READER &&
	       add_long(w, HOLDER, HOLDER_NS, holder, 0) &&
	       add_long(w, WAITER, WAITER_NS, waiter, lock_timeout_ns);
}

static void add_outcome(const struct sim_world *w, uint64_t stall_ns, struct sums *sums)
{
	struct sim_result r;
	sim_world_result(w, &r);
	const struct sim_client_totals *readers = sim_world_totals(w, READER);
	const struct sim_client_totals *holder = sim_world_totals(w, HOLDER);
	const struct sim_client_totals *waiter = sim_world_totals(w, WAITER);
	uint64_t wrong = 0;
	for (size_t i = 0; i < r.decision_count; i++)
		wrong += r.decisions[i].client == READER;
	if (r.decision_count > 0) {
		const struct sim_decision *d = &r.decisions[0];
		sums->first[d->client <= WAITER ? d->client : READER]++;
		sim_stats_add(&sums->decided, (double)(d->decided_ns - stall_ns) / 1e6);
		if (d->released_ns)
			sim_stats_add(&sums->drained, (double)(d->released_ns - stall_ns) / 1e6);
	} else {
		sums->nobody++;
	}
	sim_stats_add(&sums->late, (double)r.late_bins / 10);
	sim_stats_add(&sums->in_slo,
		100.0 * (double)(readers->succeeded - readers->late) / (double)readers->originals);
	sim_stats_add(&sums->cancels, (double)r.decisions_total);
	sim_stats_add(&sums->wrong, (double)wrong);
	sim_stats_add(&sums->wasted, (double)(holder->wasted_ns + waiter->wasted_ns) / 1e9);
	sums->holder_done += holder->succeeded > 0;
	sums->waiter_done += waiter->succeeded > 0;
}

static int run_once(
	struct sim_run *run, int64_t holder, int64_t cancellable, uint64_t seed, struct sums *sums)
{
	struct sim_world_options options = { 0 };
	struct cancel_pipeline_config pipeline;
	struct sim_dist read;
	const char *why = "the world's tables do not hold this lane";
	sim_watch_read(run, &options, &pipeline);
	options.duration_ns = (uint64_t)sim_int(run, "duration_s") * SIM_NS_PER_S;
	options.seed = seed;
	options.zombies = SIM_ZOMBIES_DROP_QUEUED;
	if (cancellable == GIVES_UP)
		options.pipeline = NULL;
	struct sim_world *w = sim_world_new(&options, &why);
	if (w && add_scripts(w, run, holder) && add_clients(w, run, cancellable, &read)) {
		struct sim_result result;
		sim_world_run(w);
		sim_world_result(w, &result);
		why = result.broken;
		add_outcome(w, holder == WRITES ? HOLDER_NS : WAITER_NS, sums);
		if (result.bound)
			sim_note(run->report, "a run stopped at its bound on the %s", result.bound);
	}
	sim_world_free(w);
	return why ? sim_fail(run, "convoy: %s", why) : 0;
}

static void put_mean(struct sim_table *table, const struct sim_stats *stats)
{
	if (stats->count)
		sim_put_real(table, sim_stats_mean(stats));
	else
		sim_put_none(table);
}

static void put_first(struct sim_table *table, const struct sums *s)
{
	char text[64];
	const char *name = s->first[HOLDER] >= s->first[WAITER] ? "holder" : "waiter";
	uint32_t most = s->first[HOLDER] >= s->first[WAITER] ? s->first[HOLDER] : s->first[WAITER];
	uint32_t all = s->first[READER] + s->first[HOLDER] + s->first[WAITER] + s->nobody;
	if (s->first[READER] > most || s->nobody > most) {
		name = s->nobody >= s->first[READER] ? "nobody" : "reader";
		most = s->nobody >= s->first[READER] ? s->nobody : s->first[READER];
	}
	snprintf(text, sizeof text, "%s %u/%u", name, most, all);
	sim_put_text(table, text);
}

static int run_variant(struct sim_run *run, struct sim_table *table, struct sim_series *series,
	int64_t holder, int64_t cancellable)
{
	static const char *const may[] = { "both", "holder", "waiter", "nobody", "gives-up" };
	struct sums s = { 0 };
	for (uint32_t i = 0; i < run->seeds; i++)
		if (run_once(run, holder, cancellable, run->seed + i, &s) != 0)
			return -1;
	sim_row(table);
	sim_put_text(table, holder == WRITES ? "writes" : "reads");
	sim_put_text(table, may[cancellable]);
	put_first(table, &s);
	put_mean(table, &s.decided);
	put_mean(table, &s.drained);
	put_mean(table, &s.late);
	sim_put_real(table, sim_stats_ci95(&s.late));
	put_mean(table, &s.in_slo);
	put_mean(table, &s.cancels);
	put_mean(table, &s.wrong);
	put_mean(table, &s.wasted);
	sim_plot_point(series, (double)cancellable, sim_stats_mean(&s.late));
	sim_put_int(table, s.holder_done);
	sim_put_int(table, s.waiter_done);
	return 0;
}

static int run_convoy(struct sim_run *run)
{
	struct sim_table *table = sim_report_table(run->report, "convoy",
		"A long holder, an exclusive waiter, readers behind", SIM_TABLE_ALL, columns,
		sizeof columns / sizeof *columns);
	struct sim_plot *plot = sim_report_plot(run->report, "Late seconds",
		"may be cancelled: 0 both, 1 holder, 2 waiter, 3 nobody; 4 the waiter gives up",
		"late seconds", SIM_AXIS_LINEAR);
	struct sim_series *series[] = { sim_plot_series(plot, "the holder reads", SIM_LINES_POINTS),
		sim_plot_series(plot, "the holder writes", SIM_LINES_POINTS) };
	size_t holders = sim_count(run, "holder"), mays = sim_count(run, "cancellable");
	for (size_t i = 0; i < holders * mays; i++) {
		int64_t holder = sim_item(run, "holder", i / mays);
		if (run_variant(run, table, series[holder == WRITES], holder,
			    sim_item(run, "cancellable", i % mays)) != 0)
			return -1;
		sim_progress(run, i + 1, holders * mays);
	}
	sim_note(run->report,
		"%u seeds. The stall begins at 12 s when the holder reads (the waiter "
		"arrives) and at 10 s when it writes.",
		run->seeds);
	return 0;
}

const struct sim_lane sim_lane_convoy = {
	.name = "convoy",
	.what = "A long holder, an exclusive waiter, readers behind: whom to cancel",
	.keys = keys,
	.seeds = 10,
	.run = run_convoy,
};

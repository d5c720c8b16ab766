/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane convoy: a long task holds a table, somebody waits for it exclusively, and readers queue
 * behind the waiter. Two variants: the holder reads (removing the waiter would do) or writes (it
 * would not). Whom does the core cancel, and what does each choice cost?
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

#define HOLDER_NS (10 * SIM_NS_PER_S)
#define WAITER_NS (12 * SIM_NS_PER_S)

enum { READS, WRITES };
enum { BOTH, HOLDER_ONLY, WAITER_ONLY, NOBODY, GIVES_UP };
enum { WORKERS, TABLE };
enum { READER, HOLDER, WAITER };

const struct sim_key sim_convoy_keys[] = {
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

static const char columns[] =
	"holder|cancellable|first_target share of seeds|decided_ms:1? from the stall|"
	"drained_ms:1? from the stall|late_s:2|late_s_ci95:2~ +-|in_slo_pct:2|cancels:1|"
	"wrong_cancels:1|wasted_s:2|holder_done|waiter_done";

enum { DECIDED, DRAINED, LATE, SLO, CANCELS, WRONG, WASTED, FIGURES };

static const char *const swept[] = { "holder", "cancellable", NULL };

struct sums {
	struct sim_stats figures[FIGURES];
	uint32_t first[3], nobody, holder_done, waiter_done;
};

static struct sim_client_options long_task(const char *name, uint32_t script, uint64_t first_ns)
{
	struct sim_client_options made = sim_background_task(name, script, 0xc0 + script, first_ns);
	made.class_index = (uint8_t)script;
	made.trigger = false;
	return made;
}

static bool build(struct sim_trial *trial)
{
	const struct sim_run *run = trial->run;
	int64_t cancellable = sim_int(run, "cancellable");
	uint8_t mode = sim_int(run, "holder") == WRITES ? CANCEL_EXCLUSIVE : CANCEL_SHARED;
	const struct sim_resource_options resources[] = {
		{ .name = "workers",
			.type = CANCEL_QUEUE,
			.capacity = (uint64_t)sim_int(run, "workers") },
		{ .name = "table", .type = CANCEL_LOCK },
	};
	const struct sim_step reader[] = { SIM_TAKE(WORKERS, 1), SIM_LOCK(TABLE, CANCEL_SHARED),
		SIM_COMPUTE_ARG(1), SIM_UNLOCK(TABLE, CANCEL_SHARED), SIM_FREE(WORKERS, 1) };
	const struct sim_step holder[] = { SIM_LOCK(TABLE, mode),
		SIM_COMPUTE(sim_ns(run, "holder_s")), SIM_UNLOCK(TABLE, mode) };
	const struct sim_step waiter[] = { SIM_LOCK(TABLE, CANCEL_EXCLUSIVE),
		SIM_COMPUTE(sim_ns(run, "waiter_s")), SIM_UNLOCK(TABLE, CANCEL_EXCLUSIVE) };
	const struct sim_script scripts[] = { SIM_SCRIPT(reader), SIM_SCRIPT(holder),
		SIM_SCRIPT(waiter) };
	struct sim_client_options clients[] = { sim_requests(run, "reader"),
		long_task("holder", HOLDER, HOLDER_NS), long_task("waiter", WAITER, WAITER_NS) };
	clients[READER].draw = sim_draw_dist;
	clients[READER].draw_arg = (void *)trial->variant;
	if (cancellable != BOTH && cancellable != HOLDER_ONLY)
		clients[HOLDER].flags = CANCEL_BACKGROUND;
	if (cancellable != BOTH && cancellable != WAITER_ONLY)
		clients[WAITER].flags = CANCEL_BACKGROUND;
	if (cancellable == GIVES_UP)
		clients[WAITER].patience.timeout_ns = sim_ns(run, "lock_timeout_ms");
	return SIM_BUILD(trial->world, resources, scripts, clients);
}

static void read(struct sim_trial *trial, void *found)
{
	const struct sim_result *r = &trial->result;
	const struct sim_client_totals *holder = sim_world_totals(trial->world, HOLDER);
	const struct sim_client_totals *waiter = sim_world_totals(trial->world, WAITER);
	struct sums *sums = found;
	uint64_t stall_ns = sim_int(trial->run, "holder") == WRITES ? HOLDER_NS : WAITER_NS;
	const struct sim_decision *d = r->decisions;
	if (r->decision_count > 0) {
		sums->first[d->client <= WAITER ? d->client : READER]++;
		sim_stats_add(&sums->figures[DECIDED], (double)(d->decided_ns - stall_ns) / 1e6);
	} else {
		sums->nobody++;
	}
	if (r->decision_count > 0 && d->released_ns)
		sim_stats_add(&sums->figures[DRAINED], (double)(d->released_ns - stall_ns) / 1e6);
	const double values[] = {
		(double)r->late_bins / 10,
		sim_in_slo_pct(sim_world_totals(trial->world, READER)),
		(double)r->decisions_total,
		(double)sim_decisions_on(r, READER),
		(double)(holder->wasted_ns + waiter->wasted_ns) / 1e9,
	};
	sim_stats_add_each(&sums->figures[LATE], values, FIGURES - LATE);
	sums->holder_done += holder->succeeded > 0;
	sums->waiter_done += waiter->succeeded > 0;
}

static void describe(struct sim_trial *trial)
{
	trial->options.zombies = SIM_ZOMBIES_DROP_QUEUED;
	if (sim_int(trial->run, "cancellable") == GIVES_UP)
		trial->options.pipeline = NULL;
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
	sim_put(table, SIM_TEXT(text));
}

static int run_variant(struct sim_run *run, struct sim_table *table, struct sim_series *series)
{
	static const struct sim_world_lane lane = { describe, build, read };
	struct sim_dist read_ns = { .shape = SIM_EXPONENTIAL, .mean = sim_ns(run, "read_ms") };
	struct sums s = { 0 };
	if (sim_trials(run, &lane, &read_ns, &s) != 0)
		return -1;
	sim_key_row(run, table, swept);
	put_first(table, &s);
	sim_put_figures(table, s.figures, FIGURES);
	sim_plot_point(
		series, (double)sim_int(run, "cancellable"), sim_stats_mean(&s.figures[LATE]));
	sim_put(table, SIM_INT(s.holder_done));
	sim_put(table, SIM_INT(s.waiter_done));
	return 0;
}

int sim_convoy_run(struct sim_run *run)
{
	struct sim_table *table = sim_table(
		run, "convoy", "A long holder, an exclusive waiter, readers behind", columns);
	struct sim_plot *plot = sim_report_plot(run->report, "Late seconds",
		"may be cancelled: 0 both, 1 holder, 2 waiter, 3 nobody; 4 the waiter gives up",
		"late seconds", SIM_AXIS_LINEAR);
	struct sim_series *series[] = { sim_plot_series(plot, "the holder reads", SIM_LINES_POINTS),
		sim_plot_series(plot, "the holder writes", SIM_LINES_POINTS) };
	for (size_t i = 0; sim_vary(run, swept, i); i++)
		if (run_variant(run, table, series[sim_int(run, "holder") == WRITES]) != 0)
			return -1;
	sim_note(run->report,
		"%u seeds. The stall begins at 12 s when the holder reads (the waiter "
		"arrives) and at 10 s when it writes.",
		run->seeds);
	return 0;
}

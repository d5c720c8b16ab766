/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane cancel-tree: a request fans out over two services into one database, where its grandchildren
 * hold two tables. The core sits on the database's node and sees only them. What becomes of the
 * rest of the tree when the cancel is local or goes to the root, and messages are lost, late or cut
 * off?
 */
#include <stdio.h>

#include "sim/lanes/lanes.h"
#include "sim/setups/trial.h"

#define ROOT_NS (10 * SIM_NS_PER_S)
#define TABLES	4
#define DB_NODE 3

#define CALL(client) SIM_STEP(CALL, 0, .instance = (client))
#define JOIN	     SIM_STEP(JOIN, 0, 0)

enum { WORKERS, TABLE };
enum { REQUEST, ROOT, MIDDLE_A, MIDDLE_B, LEAF_A, LEAF_B };
enum { TARGET_LEAF, TARGET_ROOT, TARGET_NOBODY };
enum { LINK_GOOD, LINK_LATE, LINK_LOSSY, LINK_CUT };

const struct sim_key sim_cancel_tree_keys[] = {
	{ "target", SIM_KEY_CHOICES, "all", 0, 0, "leaf|root|nobody",
		"what a verdict on a leaf stops: the leaf, the root of its tree; nobody: no core" },
	{ "children", SIM_KEY_CHOICES, "all", 0, 0, "forgotten|told|told-again",
		"what a stopped parent does: nothing, one message, messages until one arrives" },
	{ "link", SIM_KEY_CHOICES, "all", 0, 0, "good|late|lossy|cut", "between the nodes" },
	{ "lease_ms", SIM_KEY_INTS, "0,500", 0, 1000000, NULL,
		"a child stops when its parent cannot be reached for so long; 0: never" },
	{ "late_ms", SIM_KEY_REAL, "300", 0.001, 100000, NULL, "one way, on a late link" },
	{ "loss_pct", SIM_KEY_REAL, "30", 0, 100, NULL, "of cancel messages, on a lossy link" },
	{ "cut_ms", SIM_KEY_INT, "5000", 1, 1000000, NULL,
		"how long nothing passes on a cut link, from 10.1 s" },
	{ "resend_ms", SIM_KEY_INT, "100", 1, 1000000, NULL, "until it arrives, every" },
	{ "hold_s", SIM_KEY_REAL, "20", 0.1, 10000, NULL, "a leaf keeps its table, if left" },
	{ "load", SIM_KEY_INT, "400", 1, 100000, NULL,
		"requests a second at the database, Poisson" },
	{ "slo_ms", SIM_KEY_INT, "50", 1, 1000000, NULL, "a request's objective" },
	{ "duration_s", SIM_KEY_INT, "40", 11, 10000, NULL, "arrivals end here" },
	SIM_KEYS_WATCH,
	{ 0 },
};

static const char columns[] =
	"target|children|link|lease_ms|first_release_ms:1 from the tables' taking|"
	"last_release_ms:1|last_release_ci95:1~ +-|late_s:2|late_s_ci95:2~ +-|"
	"cancels:1 by the core|wrong_cancels:1|orphan_s:2 held for a dead root|"
	"root_stopped_ms:1?";

enum { FIRST, LAST, LATE, CANCELS, WRONG, ORPHAN, STOPPED, FIGURES };

static const char *const swept[] = { "target", "children", "lease_ms", "link", NULL };
static const char *const shown[] = { "target", "children", "link", "lease_ms", NULL };

static void draw(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	(void)arg;
	(void)sequence;
	args[0] = sim_rng_below(rng, TABLES);
}

static struct sim_client_options part(const char *name, uint32_t script, uint32_t node)
{
	struct sim_client_options made = sim_background_task(name, script, 0xc0 + script, ROOT_NS);
	made.node = node;
	made.service = script != ROOT;
	return made;
}

static bool build(struct sim_trial *trial)
{
	const struct sim_run *run = trial->run;
	uint64_t hold_ns = sim_ns(run, "hold_s");
	const struct sim_resource_options resources[] = {
		{ .name = "workers", .type = CANCEL_QUEUE, .capacity = 16 },
		{ .name = "tables", .type = CANCEL_LOCK, .instances = TABLES },
	};
	const struct sim_step request[] = { SIM_TAKE(WORKERS, 1),
		SIM_LOCK_ARG(TABLE, 1, CANCEL_SHARED), SIM_COMPUTE(2 * SIM_NS_PER_MS),
		SIM_UNLOCK_ARG(TABLE, 1, CANCEL_SHARED), SIM_FREE(WORKERS, 1) };
	const struct sim_step root[] = { CALL(MIDDLE_A), CALL(MIDDLE_B), JOIN };
	const struct sim_step middle_a[] = { CALL(LEAF_A), JOIN };
	const struct sim_step middle_b[] = { CALL(LEAF_B), JOIN };
	const struct sim_step leaf_a[] = { SIM_LOCK(TABLE, CANCEL_EXCLUSIVE), SIM_COMPUTE(hold_ns),
		SIM_UNLOCK(TABLE, CANCEL_EXCLUSIVE) };
	struct sim_step leaf_b[] = { leaf_a[0], leaf_a[1], leaf_a[2] };
	leaf_b[0].instance = leaf_b[2].instance = 1;
	const struct sim_script scripts[] = { SIM_SCRIPT(request), SIM_SCRIPT(root),
		SIM_SCRIPT(middle_a), SIM_SCRIPT(middle_b), SIM_SCRIPT(leaf_a),
		SIM_SCRIPT(leaf_b) };
	struct sim_client_options clients[] = { sim_requests(run, "request"), part("root", ROOT, 0),
		part("middle", MIDDLE_A, 1), part("middle", MIDDLE_B, 2),
		part("leaf", LEAF_A, DB_NODE), part("leaf", LEAF_B, DB_NODE) };
	clients[REQUEST].node = DB_NODE;
	clients[REQUEST].draw = draw;
	return SIM_BUILD(trial->world, resources, scripts, clients);
}

static void read(struct sim_trial *trial, void *found)
{
	const struct sim_result *r = &trial->result;
	struct sim_stats *sums = found;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	uint64_t root_ns = sim_world_totals(trial->world, ROOT)->ended_ns, orphan_ns = 0;
	for (size_t i = 0; i < r->hold_count; i++) {
		uint64_t given_ns = r->holds[i].given_ns ? r->holds[i].given_ns : r->end_ns;
		first_ns = given_ns < first_ns ? given_ns : first_ns;
		last_ns = given_ns > last_ns ? given_ns : last_ns;
		if (root_ns && given_ns > root_ns)
			orphan_ns += given_ns - root_ns;
	}
	const double values[] = {
		[FIRST] = (double)(first_ns - ROOT_NS) / 1e6,
		[LAST] = (double)(last_ns - ROOT_NS) / 1e6,
		[LATE] = (double)r->late_bins / 10,
		[CANCELS] = (double)r->decisions_total,
		[WRONG] = (double)sim_decisions_on(r, REQUEST),
		[ORPHAN] = (double)orphan_ns / 1e9,
	};
	sim_stats_add_each(sums, values, STOPPED);
	if (root_ns)
		sim_stats_add(&sums[STOPPED], (double)(root_ns - ROOT_NS) / 1e6);
}

static void describe(struct sim_trial *trial)
{
	const struct sim_run *run = trial->run;
	int64_t target = sim_int(run, "target"), link = sim_int(run, "link");
	struct sim_world_options *options = &trial->options;
	options->controlled_nodes = 1u << DB_NODE;
	options->cancel_root = target == TARGET_ROOT;
	options->propagation = (enum sim_propagation)sim_int(run, "children");
	options->lease_ns = sim_ns(run, "lease_ms");
	options->resend_ns = sim_ns(run, "resend_ms");
	if (target == TARGET_NOBODY)
		options->pipeline = NULL;
	if (link == LINK_LATE)
		options->net_ns = sim_ns(run, "late_ms");
	if (link == LINK_LOSSY)
		options->loss_ppm = (uint32_t)(sim_real(run, "loss_pct") * 1e4);
	if (link == LINK_CUT) {
		options->partition_start_ns = ROOT_NS + 100 * SIM_NS_PER_MS;
		options->partition_ns = sim_ns(run, "cut_ms");
	}
}

static int run_setup(struct sim_run *run, struct sim_table *table, struct sim_series *series)
{
	static const struct sim_world_lane lane = { describe, build, read };
	struct sim_stats sums[FIGURES] = { 0 };
	if (sim_trials(run, &lane, NULL, sums) != 0)
		return -1;
	sim_key_row(run, table, shown);
	sim_put_figures(table, sums, FIGURES);
	sim_plot_point(series, (double)sim_int(run, "link"), sim_stats_mean(&sums[LAST]) / 1e3);
	return 0;
}

int sim_cancel_tree_run(struct sim_run *run)
{
	struct sim_table *table =
		sim_table(run, "trees", "A cancel at the leaf of a call tree", columns);
	struct sim_plot *plot = sim_report_plot(run->report, "When the last table is free",
		"link: 0 good, 1 late, 2 lossy, 3 cut", "seconds", SIM_AXIS_LOG_Y);
	struct sim_series *series = NULL;
	for (size_t i = 0; sim_vary(run, swept, i); i++) {
		bool first = sim_first(run, "children") && sim_first(run, "lease_ms");
		if (sim_int(run, "target") == TARGET_NOBODY && !first)
			continue; /* nothing is stopped: one row a link says it */
		if (i % sim_count(run, "link") == 0) {
			char label[64];
			snprintf(label, sizeof label, "%s, %s, lease %lld ms",
				sim_choice(run, "target"), sim_choice(run, "children"),
				(long long)sim_int(run, "lease_ms"));
			series = sim_plot_series(plot, label, SIM_LINES_POINTS);
		}
		if (run_setup(run, table, series) != 0)
			return -1;
	}
	sim_note(run->report,
		"Means of %u seeds. The two leaves take their tables at 10 s; a link "
		"that is cut holds calls and replies back and loses cancels.",
		run->seeds);
	return 0;
}

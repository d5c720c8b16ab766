/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane cancel-tree: a request fans out over two services into one database, where its grandchildren
 * hold two tables. The core sits on the database's node and sees only them. What becomes of the
 * rest of the tree when the cancel is local or goes to the root, and messages are lost, late or cut
 * off?
 */
#include "sim/report/lane.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/base/stats.h"
#include "sim/setups/world_keys.h"

#define ROOT_NS (10 * SIM_NS_PER_S)
#define TABLES	4
#define DB_NODE 3

enum { REQUEST, ROOT, MIDDLE_A, MIDDLE_B, LEAF_A, LEAF_B };
enum { TARGET_LEAF, TARGET_ROOT, TARGET_NOBODY };
enum { LINK_GOOD, LINK_LATE, LINK_LOSSY, LINK_CUT };

static const struct sim_key keys[] = {
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

static const struct sim_column columns[] = {
	{ "target", NULL, 0 },
	{ "children", NULL, 0 },
	{ "link", NULL, 0 },
	{ "lease_ms", NULL, 0 },
	{ "first_release_ms", "from the tables' taking", 1 },
	{ "last_release_ms", NULL, 1 },
	{ "last_release_ci95", "+-", 1 },
	{ "late_s", NULL, 2 },
	{ "late_s_ci95", "+-", 2 },
	{ "cancels", "by the core", 1 },
	{ "wrong_cancels", NULL, 1 },
	{ "orphan_s", "held for a dead root", 2 },
	{ "root_stopped_ms", NULL, 1 },
};

static const char *const target_names[] = { "leaf", "root", "nobody" };
static const char *const children_names[] = { "forgotten", "told", "told-again" };

struct setup {
	int64_t target, children, link;
	uint64_t lease_ms;
};

struct sums {
	struct sim_stats first, last, late, cancels, wrong, orphan, stopped;
};

static void draw(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args)
{
	(void)arg;
	(void)sequence;
	args[0] = sim_rng_below(rng, TABLES);
}

static bool add_leaf(struct sim_world *w, uint8_t table, uint32_t instance, uint64_t hold_ns)
{
	struct sim_step leaf[] = {
		{ .kind = SIM_STEP_LOCK,
			.resource = table,
			.instance = instance,
			.mode = CANCEL_EXCLUSIVE },
		{ .kind = SIM_STEP_COMPUTE, .amount = hold_ns },
		{ .kind = SIM_STEP_UNLOCK,
			.resource = table,
			.instance = instance,
			.mode = CANCEL_EXCLUSIVE },
	};
	return sim_world_script(w, leaf, 3) >= 0;
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
		{ .kind = SIM_STEP_COMPUTE, .amount = 2 * SIM_NS_PER_MS },
		{ .kind = SIM_STEP_UNLOCK,
			.resource = table,
			.instance_arg = 1,
			.mode = CANCEL_SHARED },
		{ .kind = SIM_STEP_FREE, .resource = slot, .amount = 1 },
	};
	struct sim_step root[] = {
		{ .kind = SIM_STEP_CALL, .instance = MIDDLE_A },
		{ .kind = SIM_STEP_CALL, .instance = MIDDLE_B },
		{ .kind = SIM_STEP_JOIN },
	};
	struct sim_step middle_a[] = {
		{ .kind = SIM_STEP_CALL, .instance = LEAF_A },
		{ .kind = SIM_STEP_JOIN },
	};
	struct sim_step middle_b[] = {
		{ .kind = SIM_STEP_CALL, .instance = LEAF_B },
		{ .kind = SIM_STEP_JOIN },
	};
	struct sim_resource_options workers = {
		.name = "workers", .type = CANCEL_QUEUE, .capacity = 16
	};
	struct sim_resource_options tables = {
		.name = "tables", .type = CANCEL_LOCK, .instances = TABLES
	};
	uint64_t hold_ns = (uint64_t)(sim_real(run, "hold_s") * 1e9);
	return sim_world_resource(w, &workers) == slot && sim_world_resource(w, &tables) == table &&
	       sim_world_script(w, request, 5) == REQUEST && sim_world_script(w, root, 3) == ROOT &&
	       sim_world_script(w, middle_a, 2) == MIDDLE_A &&
	       sim_world_script(w, middle_b, 2) == MIDDLE_B && add_leaf(w, table, 0, hold_ns) &&
	       add_leaf(w, table, 1, hold_ns);
}

static bool add_clients(struct sim_world *w, const struct sim_run *run)
{
	struct sim_client_options request = {
		.struct_size = sizeof request,
		.name = "request",
		.script = REQUEST,
		.node = DB_NODE,
		.flags = CANCEL_CANCELLABLE,
		.slo_ns = (uint64_t)sim_int(run, "slo_ms") * SIM_NS_PER_MS,
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL,
			.mean = SIM_NS_PER_S / (uint64_t)sim_int(run, "load") },
		.draw = draw,
	};
	if (sim_world_client(w, &request) != REQUEST)
		return false;
	static const uint32_t nodes[] = { DB_NODE, 0, 1, 2, DB_NODE, DB_NODE };
	for (int i = ROOT; i <= LEAF_B; i++) {
		struct sim_client_options part = {
			.struct_size = sizeof part,
			.name = i == ROOT     ? "root"
				: i >= LEAF_A ? "leaf"
					      : "middle",
			.script = (uint32_t)i,
			.node = nodes[i],
			.class_index = 1,
			.flags = CANCEL_CANCELLABLE | CANCEL_BACKGROUND,
			.signature = 0xc0 + (uint64_t)i,
			.service = i != ROOT,
			.trigger = true,
			.first_ns = ROOT_NS,
			.limit = 1,
			.gap = { .shape = SIM_FIXED, .mean = 1 },
			.progress = SIM_PROGRESS_TRUE,
		};
		if (sim_world_client(w, &part) != i)
			return false;
	}
	return true;
}

static void add_outcome(const struct sim_world *w, struct sums *sums)
{
	struct sim_result r;
	sim_world_result(w, &r);
	uint64_t first_ns = UINT64_MAX, last_ns = 0, wrong = 0;
	uint64_t root_ns = sim_world_totals(w, ROOT)->ended_ns, orphan_ns = 0;
	for (size_t i = 0; i < r.hold_count; i++) {
		uint64_t given_ns = r.holds[i].given_ns ? r.holds[i].given_ns : r.end_ns;
		first_ns = given_ns < first_ns ? given_ns : first_ns;
		last_ns = given_ns > last_ns ? given_ns : last_ns;
		if (root_ns && given_ns > root_ns)
			orphan_ns += given_ns - root_ns;
	}
	for (size_t i = 0; i < r.decision_count; i++)
		wrong += r.decisions[i].client == REQUEST;
	sim_stats_add(&sums->first, (double)(first_ns - ROOT_NS) / 1e6);
	sim_stats_add(&sums->last, (double)(last_ns - ROOT_NS) / 1e6);
	sim_stats_add(&sums->late, (double)r.late_bins / 10);
	sim_stats_add(&sums->cancels, (double)r.decisions_total);
	sim_stats_add(&sums->wrong, (double)wrong);
	sim_stats_add(&sums->orphan, (double)orphan_ns / 1e9);
	if (root_ns)
		sim_stats_add(&sums->stopped, (double)(root_ns - ROOT_NS) / 1e6);
}

static void describe(
	const struct sim_run *run, const struct setup *s, struct sim_world_options *options)
{
	options->controlled_nodes = 1u << DB_NODE;
	options->duration_ns = (uint64_t)sim_int(run, "duration_s") * SIM_NS_PER_S;
	options->cancel_root = s->target == TARGET_ROOT;
	options->propagation = (enum sim_propagation)s->children;
	options->lease_ns = s->lease_ms * SIM_NS_PER_MS;
	options->resend_ns = (uint64_t)sim_int(run, "resend_ms") * SIM_NS_PER_MS;
	if (s->link == LINK_LATE)
		options->net_ns = (uint64_t)(sim_real(run, "late_ms") * 1e6);
	if (s->link == LINK_LOSSY)
		options->loss_ppm = (uint32_t)(sim_real(run, "loss_pct") * 1e4);
	if (s->link == LINK_CUT) {
		options->partition_start_ns = ROOT_NS + 100 * SIM_NS_PER_MS;
		options->partition_ns = (uint64_t)sim_int(run, "cut_ms") * SIM_NS_PER_MS;
	}
}

static int run_once(struct sim_run *run, const struct setup *s, uint64_t seed, struct sums *sums)
{
	struct sim_world_options options = { 0 };
	struct cancel_pipeline_config pipeline;
	const char *why = "the world's tables do not hold this lane";
	sim_watch_read(run, &options, &pipeline);
	describe(run, s, &options);
	if (s->target == TARGET_NOBODY)
		options.pipeline = NULL;
	options.seed = seed;
	struct sim_world *w = sim_world_new(&options, &why);
	if (w && add_scripts(w, run) && add_clients(w, run)) {
		struct sim_result result;
		sim_world_run(w);
		sim_world_result(w, &result);
		why = result.broken;
		add_outcome(w, sums);
		if (result.bound)
			sim_note(run->report, "a run stopped at its bound on the %s", result.bound);
	}
	sim_world_free(w);
	return why ? sim_fail(run, "cancel-tree: %s", why) : 0;
}

static int run_setup(struct sim_run *run, struct sim_table *table, struct sim_series *series,
	const struct setup *s)
{
	static const char *const links[] = { "good", "late", "lossy", "cut" };
	struct sums sums = { 0 };
	for (uint32_t i = 0; i < run->seeds; i++)
		if (run_once(run, s, run->seed + i, &sums) != 0)
			return -1;
	sim_row(table);
	sim_put_text(table, target_names[s->target]);
	sim_put_text(table, children_names[s->children]);
	sim_put_text(table, links[s->link]);
	sim_put_int(table, (int64_t)s->lease_ms);
	sim_put_real(table, sim_stats_mean(&sums.first));
	sim_put_real(table, sim_stats_mean(&sums.last));
	sim_put_real(table, sim_stats_ci95(&sums.last));
	sim_put_real(table, sim_stats_mean(&sums.late));
	sim_put_real(table, sim_stats_ci95(&sums.late));
	sim_put_real(table, sim_stats_mean(&sums.cancels));
	sim_put_real(table, sim_stats_mean(&sums.wrong));
	sim_put_real(table, sim_stats_mean(&sums.orphan));
	sim_plot_point(series, (double)s->link, sim_stats_mean(&sums.last) / 1e3);
	if (sums.stopped.count)
		sim_put_real(table, sim_stats_mean(&sums.stopped));
	else
		sim_put_none(table);
	return 0;
}

static int run_cancel_tree(struct sim_run *run)
{
	struct sim_table *table =
		sim_report_table(run->report, "trees", "A cancel at the leaf of a call tree",
			SIM_TABLE_ALL, columns, sizeof columns / sizeof *columns);
	size_t targets = sim_count(run, "target"), children = sim_count(run, "children");
	size_t links = sim_count(run, "link"), leases = sim_count(run, "lease_ms");
	struct sim_plot *plot = sim_report_plot(run->report, "When the last table is free",
		"link: 0 good, 1 late, 2 lossy, 3 cut", "seconds", SIM_AXIS_LOG_Y);
	size_t ways = targets * children * leases;
	for (size_t way = 0; way < ways; way++) {
		struct setup s = { .lease_ms = (uint64_t)sim_item(run, "lease_ms", way % leases),
			.children = sim_item(run, "children", way / leases % children),
			.target = sim_item(run, "target", way / leases / children) };
		char label[64];
		if (s.target == TARGET_NOBODY && (way % leases > 0 || way / leases % children > 0))
			continue; /* nothing is stopped: one row a link says it */
		snprintf(label, sizeof label, "%s, %s, lease %llu ms", target_names[s.target],
			children_names[s.children], (unsigned long long)s.lease_ms);
		struct sim_series *series = sim_plot_series(plot, label, SIM_LINES_POINTS);
		for (size_t link = 0; link < links; link++) {
			s.link = sim_item(run, "link", link);
			if (run_setup(run, table, series, &s) != 0)
				return -1;
		}
		sim_progress(run, way + 1, ways);
	}
	sim_note(run->report,
		"Means of %u seeds. The two leaves take their tables at 10 s; a link "
		"that is cut holds calls and replies back and loses cancels.",
		run->seeds);
	return 0;
}

const struct sim_lane sim_lane_cancel_tree = {
	.name = "cancel-tree",
	.what = "Cancelling a call tree from its leaf: children forgotten, told, late, lost, cut "
		"off",
	.keys = keys,
	.seeds = 5,
	.run = run_cancel_tree,
};

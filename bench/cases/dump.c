/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump query. Reads over a hot set that fills 80 to 90 % of the page pool; now and then
 * somebody dumps several cold tables, which together are much larger than the pool, and every page
 * of the dump pushes out a hot one. A slow report that reads the hot table row by row has been
 * there before the dump and is harmless: whoever stops it stops the wrong one. Source of the
 * scenario: Atropos (SOSP 2025), motivation 1 (a dump over MySQL's buffer pool).
 */
#include "bench/cases/case.h"

#define DUMP_START_NS	  3000000000u
#define DUMP_EVERY_NS	  20000000000u
#define SERVER_DUMP_POOLS 16 /* cold tables of the server, in pools */

const struct actor case_dump_actor = {
	.name = "dump",
	.label = LABEL_CULPRIT,
	.start_ns = DUMP_START_NS,
	.every_ns = DUMP_EVERY_NS,
	.begin = "BEGIN",
	.end = "COMMIT",
	.rows_out = true,
	.statements = { "SELECT * FROM archive_1", "SELECT * FROM archive_2",
		"SELECT * FROM archive_3", "SELECT * FROM archive_4" },
};

/* One autocommit statement whose rows stay inside: what a cancel may run again. */
static const struct actor dump_autocommit = {
	.name = "dump",
	.label = LABEL_CULPRIT,
	.start_ns = DUMP_START_NS,
	.statements = { "SELECT count(*), sum(length(hex(payload))) FROM ("
			"SELECT payload FROM archive_1 UNION ALL SELECT payload FROM archive_2 "
			"UNION ALL SELECT payload FROM archive_3 UNION ALL "
			"SELECT payload FROM archive_4)" },
};

/* --share: dumps as a part of the requests, by as many clients as may dump at once. */
static void plan_share(double share_pct, struct case_plan *plan)
{
	if (share_pct <= 0 || plan->rate_qps <= 0)
		return;
	uint64_t gap_ns = (uint64_t)(100e9 / (share_pct * plan->rate_qps));
	for (uint32_t i = 0; i < CASE_DUMPS_MAX; i++) {
		struct actor *actor = case_add(plan, &case_dump_actor);
		actor->start_ns = DUMP_START_NS + i * gap_ns;
		actor->every_ns = CASE_DUMPS_MAX * gap_ns;
	}
}

/* On a server the dump goes on until its time is over, and the report keeps one of the workers. */
static void plan_server(const struct bench_options *options, struct case_plan *plan)
{
	case_shape_plan(options, &case_culprit_shape, plan);
	struct actor rows = case_dump_actor;
	rows.name = "rows"; /* the trigger's name in reports */
	case_trigger(options, &rows, plan);
	plan->rho = plan->rho * (plan->workers - 1) / plan->workers;
	plan->archive_pools = SERVER_DUMP_POOLS;
	case_add(plan, &case_report_actor)->statements[0] = "SELECT * FROM items";
}

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	if (options->target == SERVER_TARGET) {
		plan_server(options, plan);
		return;
	}
	case_add(plan, &case_report_actor);
	if (options->share_pct >= 0)
		plan_share(options->share_pct, plan);
	else
		case_add(plan, options->rerun ? &dump_autocommit : &case_dump_actor);
}

const struct bench_case case_dump = {
	.name = "dump",
	.what = { "reads of a hot set, and a dump of cold tables that empties the page pool",
		"reads, a slow report, and a dump of cold tables that empties the page pool" },
	.policies = { CASE_ENGINE_POLICIES, CASE_SERVER_POLICIES },
	.seconds = 16,
	.rerun_seconds = 40,
	.has_culprit = true,
	.plan = plan,
};

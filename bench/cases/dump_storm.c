/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case dump-storm: reads of a hot set that fills most of the page pool, and a transaction that
 * reads cold tables many times the pool. Requests become slow because their pages are gone, clients
 * time out and retry, and what they retry competes with what refills the pool. Not pinned: capacity
 * is what CPUs and disk give.
 */
#include "bench/cases/case.h"

#define ARCHIVE_POOLS 16

/* Its rows stay in the server. */
static const struct actor dump = {
	.name = "dump",
	.label = LABEL_CULPRIT,
	.begin = "BEGIN",
	.end = "COMMIT",
	.statements = { "SELECT sum(length(payload)) FROM archive_1",
		"SELECT sum(length(payload)) FROM archive_2",
		"SELECT sum(length(payload)) FROM archive_3",
		"SELECT sum(length(payload)) FROM archive_4" },
};

static void plan(const struct bench_options *options, struct case_plan *plan)
{
	struct case_shape shape = case_culprit_shape;
	shape.before_s = 3;
	shape.after_s = 8;
	case_shape_plan(options, &shape, plan);
	case_trigger(options, &dump, plan);
	plan->archive_pools = ARCHIVE_POOLS;
}

const struct bench_case case_dump_storm = {
	.name = "dump-storm",
	.what = { [SERVER_TARGET] = "live: a dump empties the page pool while clients retry" },
	.policies = { [SERVER_TARGET] = "none,budget,cancel,cancel+budget,cancel+gate" },
	.plan = plan,
};

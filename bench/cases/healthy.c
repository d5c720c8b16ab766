/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No culprit at all, and yet not quiet: loads of 60, 80 and 95 %, steps, short bursts over the
 * saturated rate, updates that fill the log so that checkpoints run, and a slow harmless report.
 * Nothing may be cancelled, and no resource named.
 */
#include "bench/cases/case.h"

#include "common/random.h"

#define STEP_NS	   ((uint64_t)4000000000u)
#define BURST_NS   200000000u
#define UPDATES_OF 20 /* one question in so many is an update */

static void ask(const void *arg, uint64_t draw, struct target_request *request)
{
	const struct case_plan *plan = arg;
	if (draw % UPDATES_OF != 0) {
		case_ask_read(plan, draw, request);
		return;
	}
	request->sql = "UPDATE items SET stock = stock + 1 WHERE id = ?1";
	request->arg_count = 1;
	request->args[0] = (int64_t)random_below(random_mix(&draw), plan->data.items) + 1;
}

static void add_step(struct case_plan *plan, uint64_t at_ns, uint32_t load_pct)
{
	if (plan->step_count < CASE_STEPS_MAX)
		plan->steps[plan->step_count++] =
			(struct schedule_step){ .at_ns = at_ns, .load_pct = load_pct };
}

/* Full load, down to two thirds, up again, and a burst of a fifth of a second in every other round.
 */
static void plan(const struct bench_options *options, struct case_plan *plan)
{
	(void)options;
	plan->ask = ask;
	case_add(plan, &case_report_actor);
	uint64_t end_ns = plan->length_ns;
	add_step(plan, 0, 100);
	for (uint64_t at_ns = STEP_NS; at_ns + STEP_NS <= end_ns; at_ns += 2 * STEP_NS) {
		add_step(plan, at_ns, 66);
		add_step(plan, at_ns + STEP_NS - BURST_NS, 130);
		add_step(plan, at_ns + STEP_NS, 100);
	}
}

const struct bench_case case_healthy = {
	.name = "healthy",
	.what = { "no culprit: steps, bursts and checkpoints at 60, 80 and 95 % load" },
	.policies = { "cancel" },
	.seconds = 100,
	.levels_pct = { 60, 80, 95 },
	.plan = plan,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a user may not ask of a case, and the descriptors that its connections need. */
#include <sys/resource.h>

#include "bench/experiment/suite.h"

#define OTHER_FDS 256 /* of this process and of a server, beside connections */

/* A connection is a descriptor here and one in the server, which inherits the limit. */
static void make_room(uint32_t connections)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_max < connections + OTHER_FDS)
		bench_refuse("--connections %u needs %u open files, and the limit is %llu",
			connections, connections + OTHER_FDS, (unsigned long long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool has_culprit(const struct case_plan *plan)
{
	for (uint32_t i = 0; i < plan->actor_count; i++)
		if (plan->actors[i].label == LABEL_CULPRIT && !plan->actors[i].operates)
			return true;
	return false;
}

void suite_check(const struct bench_options *options, const struct bench_case *bench_case)
{
	static struct case_plan plan;
	if (!options->policy_count)
		bench_refuse("--policy: no policy to run");
	bench_case_plan(bench_case, options, &plan);
	if (options->stall_s > 0 && !plan.trigger)
		bench_refuse("--stall: case %s has no trigger", bench_case->name);
	if (options->resends && !has_culprit(&plan))
		bench_refuse("--culprit-retries: case %s has no culprit", bench_case->name);
	if (plan.onset_ns + plan.timeout_ns * (plan.retries + 1) >= plan.length_ns)
		bench_refuse("--seconds: the trigger comes at %.1f s, requests need %.1f s, and "
			     "the run has %.1f s",
			(double)plan.onset_ns / 1e9,
			(double)(plan.timeout_ns * (plan.retries + 1)) / 1e9,
			(double)plan.length_ns / 1e9);
	make_room(options->connections);
}

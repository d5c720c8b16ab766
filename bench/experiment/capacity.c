/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns how much a target can take: a closed loop with the plan's requests. Where the clients wait
 * forever it is the median of samples that agree; where they time out capacity is pinned, and one
 * long sample of whole rounds of the workers says it.
 */
#include <math.h>

#include "bench/experiment/run.h"
#include "bench/experiment/stability.h"
#include "bench/experiment/warmup.h"
#include "bench/load/saturation.h"
#include "bench/machine/machine.h"

#define NS_PER_S       1000000000ull
#define DEPTH	       64
#define PINNED_LOOPS   4 /* requests in flight for each worker */
#define PINNED_WARM_NS (NS_PER_S / 2)
#define PINNED_MOST_NS (3 * NS_PER_S)
#define SAMPLE_NS      400000000u
#define SLO_NS	       5000000u

struct probe {
	const struct run_setup *setup;
	struct target *target;
	struct machine *machine;
	double query_cpu_us;
	char *error;
	int status;
};

uint32_t run_saturate_depth(const struct case_plan *plan)
{
	return plan->timeout_ns ? plan->workers * PINNED_LOOPS : DEPTH;
}

/* A quarter of a run's length, within bounds. */
static uint64_t pinned_ns(const struct case_plan *plan)
{
	uint64_t part_ns = plan->length_ns / 4;
	if (part_ns < NS_PER_S)
		return NS_PER_S;
	return part_ns < PINNED_MOST_NS ? part_ns : PINNED_MOST_NS;
}

static double take_sample(void *arg, struct machine_second *second)
{
	struct probe *probe = arg;
	const struct case_plan *plan = probe->setup->plan;
	bool pinned = plan->timeout_ns > 0;
	struct saturation saturation = { .target = probe->target,
		.ask = plan->ask,
		.ask_arg = plan,
		.seed = probe->setup->options->seed,
		.depth = run_saturate_depth(plan),
		.rounds_of = pinned ? plan->workers : 0,
		.warm_ns = pinned ? PINNED_WARM_NS : 0,
		.length_ns = pinned ? pinned_ns(plan) : SAMPLE_NS };
	uint64_t cpu_ns = target_cpu_ns(probe->target);
	machine_read(probe->machine, second);
	if (probe->status == 0)
		probe->status = saturation_run(&saturation, probe->error);
	machine_read(probe->machine, second);
	cpu_ns = target_cpu_ns(probe->target) - cpu_ns;
	probe->query_cpu_us = cpu_ns && saturation.replies
				      ? (double)cpu_ns / 1e3 / (double)saturation.replies
				      : NAN;
	return saturation.answers_per_s;
}

static int probe_steadily(struct probe *probe, struct run_capacity *capacity)
{
	const struct run_setup *setup = probe->setup;
	const struct bench_options *options = setup->options;
	bool pinned = setup->plan->timeout_ns > 0;
	const struct stability_probe steady = { .take = take_sample,
		.arg = probe,
		.samples = pinned ? 1 : STEADY_SAMPLES,
		.rounds = options->allow_disturbed ? 1
			  : pinned		   ? 1 + DISTURBANCE_EXTRA_RUNS
						   : STEADY_ROUNDS,
		.quiet = options->quiet };
	probe->machine = machine_open(target_process(probe->target));
	int status = stability_saturation(&steady, &capacity->qps, &capacity->disturbance);
	machine_close(probe->machine);
	capacity->query_cpu_us = probe->query_cpu_us;
	return probe->status ? probe->status : status;
}

static void ignore_decision(void *arg, const struct target_decision *decision)
{
	(void)arg;
	(void)decision;
}

int run_saturation(
	const struct run_setup *setup, struct run_capacity *capacity, char error[TARGET_ERROR_MAX])
{
	struct probe probe = { .setup = setup, .error = error };
	struct warm warm = { 0 };
	struct target_options options = run_target_options(setup);
	options.on_decision = ignore_decision;
	if (!setup->plan->timeout_ns)
		options.slo_ns = SLO_NS;
	int status = target_open(&options, &probe.target, error);
	if (status == 0)
		status = warm_up(&warm, probe.target, setup->plan, WARM_SATURATE_QPS,
			setup->options->seed, error);
	if (status == 0)
		status = probe_steadily(&probe, capacity);
	target_close(probe.target);
	warm_free(&warm);
	return status;
}

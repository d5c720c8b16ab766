/* SPDX-License-Identifier: Apache-2.0 */
/* From the keys of a lane to the single-server model, and the words for how a run ended. */
#include "sim/setups/single_keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t value(const struct sim_run *run, const char *key)
{
	return sim_options_find(&run->options, key) ? (uint64_t)sim_int(run, key) : 0;
}

struct sim_single sim_single_read(const struct sim_run *run, uint64_t load_qps)
{
	return (struct sim_single){
		.interval_ns = SIM_NS_PER_S / load_qps,
		.service_ns = value(run, "service_ns"),
		.timeout_ns = value(run, "timeout_ms") * SIM_NS_PER_MS,
		.retries = (uint32_t)value(run, "retries"),
		.outage_start_ns = value(run, "outage_start_ms") * SIM_NS_PER_MS,
		.outage_ns = value(run, "outage_ms") * SIM_NS_PER_MS,
		.duration_ns = value(run, "duration_s") * SIM_NS_PER_S,
	};
}

/* Falling: lower at the end than halfway from the end of the outage. */
static bool draining(const struct sim_windows *windows, const struct sim_single *single)
{
	size_t from = (single->outage_start_ns + single->outage_ns) / SIM_NS_PER_S;
	if (from + 2 >= windows->count)
		return false;
	uint64_t *backlog = sim_windows_backlog(windows);
	size_t last = windows->count - 1;
	bool falls = backlog[last] < backlog[from + (last - from) / 2];
	free(backlog);
	return falls;
}

enum sim_end sim_single_end(
	const struct sim_windows *windows, const struct sim_single *single, int64_t *second)
{
	*second = sim_heal_second(windows, single);
	if (*second >= 0)
		return SIM_HEALED;
	return draining(windows, single) ? SIM_UNDECIDED : SIM_METASTABLE;
}

const char *sim_end_name(enum sim_end end)
{
	static const char *const names[] = { "healed", "undecided", "metastable" };
	return names[end];
}

enum sim_end sim_single_play(struct sim_run *run, const struct sim_single *single,
	struct sim_guard *guard, bool causal, struct sim_windows *windows, int64_t *second)
{
	struct sim_policy policy = guard ? sim_guard_policy(guard) : (struct sim_policy){ 0 };
	struct sim_causal_options options = { .policy = &policy,
		.events_limit = run->events_limit };
	if (causal)
		sim_causal(single, &options, windows, NULL);
	else
		sim_sweep(single, guard ? sim_budget_allows : NULL, guard ? &guard->budget : NULL,
			run->events_limit, windows);
	return sim_single_end(windows, single, second);
}

enum sim_end sim_single_try(struct sim_run *run, const struct sim_single *single,
	struct sim_guard *guard, int64_t *second, const char *format, ...)
{
	bool causal = guard && guard->options.budget.kind != SIM_BUDGET_BUCKET;
	struct sim_windows windows;
	char subject[128];
	va_list args;
	enum sim_end end = sim_single_play(run, single, guard, causal, &windows, second);
	va_start(args, format);
	vsnprintf(subject, sizeof(subject), format, args);
	va_end(args);
	sim_note_bound(run, windows.bound, "%s:", subject);
	sim_windows_free(&windows);
	return end;
}

uint64_t sim_largest(uint64_t fails, bool (*holds)(void *state, uint64_t value), void *state)
{
	uint64_t good = 0;
	while (fails - good > 1) {
		uint64_t middle = good + (fails - good) / 2;
		if (holds(state, middle))
			good = middle;
		else
			fails = middle;
	}
	return good;
}

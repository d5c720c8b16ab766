/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pBox's rule: who was deferred beyond its goal, and how long the one who caused it sleeps. The
 * caller walks the waiters.
 */
#include <cancel/admission/pbox.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define GOAL_PPM_DEFAULT       500000u
#define PENALTY_MIN_NS_DEFAULT 10000u
#define PENALTY_MAX_NS_DEFAULT 100000000u
#define STEP_MAX	       8u
#define AVERAGE_SHIFT	       3		       /* 1/8 of the new value */
#define RATIO_NS_MAX	       UINT64_C(3600000000000) /* an hour: products stay in 64 bits */

int cancel_pbox_init(struct cancel_pbox *pbox, const struct cancel_pbox_options *options)
{
	struct cancel_pbox_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	*pbox = (struct cancel_pbox){
		.goal_ppm = o.goal_ppm ? o.goal_ppm : GOAL_PPM_DEFAULT,
		.penalty_min_ns = o.penalty_min_ns ? o.penalty_min_ns : PENALTY_MIN_NS_DEFAULT,
		.penalty_max_ns = o.penalty_max_ns ? o.penalty_max_ns : PENALTY_MAX_NS_DEFAULT,
	};
	return 0;
}

static uint64_t average(uint64_t mean, uint64_t value)
{
	if (!mean)
		return value;
	return mean - (mean >> AVERAGE_SHIFT) + (value >> AVERAGE_SHIFT);
}

void cancel_pbox_observe(struct cancel_pbox_task *task, uint64_t execution_ns, uint64_t deferral_ns)
{
	task->mean_execution_ns = average(task->mean_execution_ns, execution_ns);
	task->mean_deferral_ns = average(task->mean_deferral_ns, deferral_ns);
}

static uint64_t bounded(uint64_t value_ns)
{
	return value_ns < RATIO_NS_MAX ? value_ns : RATIO_NS_MAX;
}

void cancel_pbox_waiter(struct cancel_pbox *pbox, const struct cancel_pbox_task *waiter,
	uint64_t deferral_ns, uint64_t execution_ns)
{
	const uint64_t executed_ns = bounded(execution_ns);
	const uint64_t ratio_ppm =
		bounded(deferral_ns) * CANCEL_PPM / (executed_ns ? executed_ns : 1);

	if (ratio_ppm <= pbox->goal_ppm)
		return;
	pbox->victims++;
	if (ratio_ppm <= pbox->worst_ratio_ppm)
		return;
	pbox->worst_ratio_ppm = ratio_ppm;
	pbox->worst_deferral_ns = bounded(deferral_ns);
	pbox->worst_execution_ns = waiter->mean_execution_ns;
}

static uint64_t starting_penalty_ns(
	const struct cancel_pbox *pbox, const struct cancel_pbox_task *holder)
{
	const uint64_t execution_ns = bounded(holder->mean_execution_ns);
	const uint64_t own_goal_ns = fixed_part(execution_ns, pbox->goal_ppm);
	const uint64_t mean_ns = fixed_root(pbox->worst_deferral_ns) * fixed_root(execution_ns);
	const uint64_t penalty_ns = fixed_minus(mean_ns, pbox->worst_execution_ns);
	return penalty_ns < own_goal_ns ? penalty_ns : own_goal_ns;
}

static uint32_t next_step(const struct cancel_pbox *pbox, const struct cancel_pbox_task *holder)
{
	if (!holder->step || pbox->worst_ratio_ppm < holder->last_ratio_ppm)
		return 1;
	return holder->step < STEP_MAX ? holder->step * 2 : STEP_MAX;
}

uint64_t cancel_pbox_release(struct cancel_pbox *pbox, struct cancel_pbox_task *holder)
{
	uint64_t penalty_ns = 0;
	if (pbox->victims && pbox->worst_deferral_ns >= pbox->penalty_min_ns) {
		holder->step = next_step(pbox, holder);
		holder->last_ratio_ppm = pbox->worst_ratio_ppm;
		penalty_ns = fixed_times(starting_penalty_ns(pbox, holder), holder->step);
	}
	pbox->victims = 0;
	pbox->worst_ratio_ppm = pbox->worst_deferral_ns = pbox->worst_execution_ns = 0;
	return penalty_ns < pbox->penalty_max_ns ? penalty_ns : pbox->penalty_max_ns;
}

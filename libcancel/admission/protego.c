/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protego: a hill climb on throughput over load, and a test at the door of a lock. The caller keeps
 * one small object for each lock it monitors.
 */
#include <cancel/admission/protego.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define WINDOW_NS_DEFAULT   10000000u
#define SLOPE_PPM_DEFAULT   250000u
#define STEP_PPM_DEFAULT    1000u
#define MAX_CREDITS_DEFAULT 65536u

int cancel_protego_init(
	struct cancel_protego *protego, const struct cancel_protego_options *options)
{
	struct cancel_protego_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	if (!o.min_credits)
		o.min_credits = 1;
	if (!o.max_credits)
		o.max_credits = MAX_CREDITS_DEFAULT;
	if (!o.start_credits)
		o.start_credits = o.max_credits;
	if (o.start_credits < o.min_credits || o.start_credits > o.max_credits)
		return CANCEL_EINVAL;
	const uint64_t step_micro = (uint64_t)(o.clients ? o.clients : 1) *
				    (o.step_ppm ? o.step_ppm : STEP_PPM_DEFAULT);
	*protego = (struct cancel_protego){
		.window_ns = o.window_ns ? o.window_ns : WINDOW_NS_DEFAULT,
		.slope_ppm = o.slope_ppm ? o.slope_ppm : SLOPE_PPM_DEFAULT,
		.step_micro = step_micro > CANCEL_PPM ? step_micro : CANCEL_PPM,
		.min_micro = (uint64_t)o.min_credits * CANCEL_PPM,
		.max_micro = (uint64_t)o.max_credits * CANCEL_PPM,
		.pool_micro = (uint64_t)o.start_credits * CANCEL_PPM,
		.window_start_ns = o.start_ns,
	};
	return 0;
}

/* Did throughput follow load since the window before? More load must have brought at least the
 * slope; less load must have cost at least the slope, else it was no loss and the pool goes on
 * shrinking. Equal load says nothing about the slope: then the window's own yield must reach it. */
static bool throughput_follows_load(const struct cancel_protego *protego)
{
	uint64_t load = protego->arrived, yield = protego->completed;
	if (protego->arrived > protego->last_arrived) {
		load = protego->arrived - protego->last_arrived;
		yield = fixed_minus(protego->completed, protego->last_completed);
	} else if (protego->arrived < protego->last_arrived) {
		load = protego->last_arrived - protego->arrived;
		yield = fixed_minus(protego->last_completed, protego->completed);
	}
	return fixed_times(yield, CANCEL_PPM) >= fixed_times(load, protego->slope_ppm);
}

static void close_window(struct cancel_protego *protego, uint64_t now_ns)
{
	if (protego->compared) {
		if (throughput_follows_load(protego))
			protego->pool_micro += protego->step_micro;
		else
			protego->pool_micro = fixed_minus(protego->pool_micro, protego->step_micro);
		if (protego->pool_micro < protego->min_micro)
			protego->pool_micro = protego->min_micro;
		if (protego->pool_micro > protego->max_micro)
			protego->pool_micro = protego->max_micro;
	}
	protego->compared = true;
	protego->last_arrived = protego->arrived;
	protego->last_completed = protego->completed;
	protego->arrived = protego->completed = 0;
	protego->window_start_ns = now_ns;
}

static void close_if_due(struct cancel_protego *protego, uint64_t now_ns)
{
	if (fixed_minus(now_ns, protego->window_start_ns) >= protego->window_ns)
		close_window(protego, now_ns);
}

bool cancel_protego_admit(struct cancel_protego *protego, uint64_t now_ns)
{
	close_if_due(protego, now_ns);
	if (protego->in_flight >= protego->pool_micro / CANCEL_PPM)
		return false;
	protego->in_flight++;
	protego->arrived++;
	return true;
}

void cancel_protego_observe(struct cancel_protego *protego, uint64_t now_ns, bool useful)
{
	close_if_due(protego, now_ns);
	protego->in_flight = fixed_minus(protego->in_flight, 1);
	protego->completed += useful;
}

void cancel_protego_lock_init(struct cancel_protego_lock *lock)
{
	*lock = (struct cancel_protego_lock){ 0 };
}

void cancel_protego_lock_observe(
	struct cancel_protego_lock *lock, uint64_t now_ns, uint64_t waited_ns)
{
	(void)now_ns;
	lock->delay_ns = waited_ns;
}

bool cancel_protego_lock_admit(const struct cancel_protego_lock *lock, uint64_t now_ns,
	uint64_t oldest_since_ns, uint64_t budget_ns)
{
	if (!oldest_since_ns)
		return true;
	return fixed_plus(lock->delay_ns, fixed_minus(now_ns, oldest_since_ns)) <= budget_ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DAGOR gate: a histogram of requested levels, the delays observed, and the cursor they lead
 * to. It owns Algorithm 1 of the paper and its windows.
 */
#include <cancel/admission/dagor.h>

#include "libcancel/admission/dagor.h"
#include "libcancel/base/fixed.h"
#include "libcancel/base/hash.h"
#include "libcancel/base/struct_size.h"

#define WINDOW_NS_DEFAULT	1000000000u
#define WINDOW_REQUESTS_DEFAULT 2000u
#define QUEUING_NS_DEFAULT	20000000u
#define RESPONSE_NS_DEFAULT	250000000u
#define ALPHA_PPM_DEFAULT	50000u
#define BETA_PPM_DEFAULT	10000u
#define BUSINESS_LEVELS_DEFAULT 64u
#define USER_LEVELS_DEFAULT	128u
#define ROTATE_NS_DEFAULT	3600000000000u
#define FRACTION_ONE_PPB	1000000000u

static void options_default(struct cancel_dagor_options *o)
{
	if (!o->business_levels)
		o->business_levels = BUSINESS_LEVELS_DEFAULT;
	if (!o->user_levels)
		o->user_levels = USER_LEVELS_DEFAULT;
	if (!o->window_ns)
		o->window_ns = WINDOW_NS_DEFAULT;
	if (!o->window_requests)
		o->window_requests = WINDOW_REQUESTS_DEFAULT;
	if (!o->threshold_ns)
		o->threshold_ns = o->signal == CANCEL_DAGOR_RESPONSE_TIME ? RESPONSE_NS_DEFAULT
									  : QUEUING_NS_DEFAULT;
	if (!o->alpha_ppm)
		o->alpha_ppm = ALPHA_PPM_DEFAULT;
	if (!o->beta_ppm)
		o->beta_ppm = BETA_PPM_DEFAULT;
	if (!o->rotate_ns)
		o->rotate_ns = ROTATE_NS_DEFAULT;
}

int cancel_dagor_init(struct cancel_dagor *gate, const struct cancel_dagor_options *options)
{
	struct cancel_dagor_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	options_default(&o);
	if (o.business_levels > CANCEL_DAGOR_LEVELS_MAX / o.user_levels ||
		o.alpha_ppm > CANCEL_PPM || o.beta_ppm > CANCEL_PPM ||
		o.rule > CANCEL_DAGOR_FRACTION)
		return CANCEL_EINVAL;
	memset(gate, 0, sizeof *gate);
	gate->levels = o.business_levels * o.user_levels;
	gate->business_levels = o.business_levels;
	gate->user_levels = o.user_levels;
	gate->window_requests = o.window_requests;
	gate->alpha_ppm = o.alpha_ppm;
	gate->beta_ppm = o.beta_ppm;
	gate->rule = o.rule;
	gate->window_ns = o.window_ns;
	gate->threshold_ns = o.threshold_ns;
	gate->rotate_ns = o.rotate_ns;
	gate->salt = o.salt;
	gate->cursor = gate->levels;
	gate->cursor_set_ns = o.start_ns;
	gate->fraction_ppb = FRACTION_ONE_PPB;
	gate->window_start_ns = o.start_ns;
	return 0;
}

uint32_t cancel_dagor_priority(
	const struct cancel_dagor *gate, uint64_t now_ns, uint32_t business, uint64_t user)
{
	const uint32_t last = gate->business_levels - 1;
	const uint64_t rotation = hash_mix(gate->salt ^ hash_mix(now_ns / gate->rotate_ns));
	const uint64_t hash = hash_mix(user ^ rotation);
	return (business < last ? business : last) * gate->user_levels +
	       (uint32_t)(hash % gate->user_levels);
}

static bool window_overloaded(const struct cancel_dagor *gate)
{
	if (!gate->observed)
		return false;
	const uint64_t mean_ns = gate->delay_sum_ns / gate->observed;
	return mean_ns > gate->threshold_ns ||
	       (mean_ns == gate->threshold_ns && gate->delay_sum_ns % gate->observed);
}

/* N_exp of the next window, in millionths of a request. */
static uint64_t expect(struct cancel_dagor *gate, uint64_t n, bool overloaded)
{
	const uint64_t n_micro = fixed_times(n, CANCEL_PPM);
	const uint64_t grow_micro = fixed_times(n, gate->beta_ppm);
	uint64_t base_micro = gate->windows ? gate->expected_micro : n_micro;
	if (gate->rule == CANCEL_DAGOR_FRACTION) {
		const uint32_t f = gate->fraction_ppb;
		const uint32_t up = f + gate->beta_ppm * 1000;
		const uint32_t down = f - (uint32_t)fixed_part(f, gate->alpha_ppm);
		gate->fraction_ppb = overloaded		     ? down
				     : up < FRACTION_ONE_PPB ? up
							     : FRACTION_ONE_PPB;
		return fixed_times(n, gate->fraction_ppb) / 1000;
	}
	if (gate->rule == CANCEL_DAGOR_MEMORYLESS)
		base_micro = fixed_times(gate->admitted, CANCEL_PPM);
	if (overloaded)
		return base_micro - fixed_part(base_micro, gate->alpha_ppm);
	/* Nothing was refused, so nothing is known of a limit: a load that grows must not be
	 * taken for one that exceeds it. */
	if (gate->admitted == n)
		return n_micro;
	const uint64_t grown_micro = fixed_plus(base_micro, grow_micro);
	return grown_micro < n_micro ? grown_micro : n_micro;
}

/* The number of levels, from the highest, whose requests together still fit into N_exp. Requests
 * refused upstream are spread over the levels the old cursor kept out. */
static uint32_t cursor_for(const struct cancel_dagor *gate)
{
	const uint32_t closed = gate->cursor < gate->levels ? gate->cursor : gate->levels - 1;
	const uint64_t span = gate->levels - closed;
	uint64_t prefix = 0;
	uint32_t level = 0;
	for (; level < gate->levels; level++) {
		uint64_t spread = 0;
		prefix += gate->histogram[level];
		if (level >= closed)
			spread = gate->missed / span * (level - closed + 1) +
				 gate->missed % span * (level - closed + 1) / span;
		if (fixed_times(prefix + spread, CANCEL_PPM) > gate->expected_micro)
			break;
	}
	return level ? level : 1;
}

void dagor_close_window(struct cancel_dagor *gate, uint64_t now_ns)
{
	const uint64_t n = gate->requests + gate->missed;
	const bool stalled = gate->admitted && !gate->observed;
	if (n && !stalled) {
		gate->overloaded = window_overloaded(gate);
		gate->expected_micro = expect(gate, n, gate->overloaded);
		gate->cursor = cursor_for(gate);
		gate->windows++;
	}
	if (n)
		memset(gate->histogram, 0, gate->levels * sizeof *gate->histogram);
	gate->cursor_set_ns = now_ns;
	gate->window_start_ns = now_ns;
	gate->requests = gate->admitted = gate->observed = gate->missed = 0;
	gate->delay_sum_ns = 0;
}

static void close_if_due(struct cancel_dagor *gate, uint64_t now_ns)
{
	if (now_ns > gate->window_start_ns && now_ns - gate->window_start_ns >= gate->window_ns)
		dagor_close_window(gate, now_ns);
}

bool cancel_dagor_admit(struct cancel_dagor *gate, uint64_t now_ns, uint32_t priority)
{
	const uint32_t level = priority < gate->levels ? priority : gate->levels - 1;
	close_if_due(gate, now_ns);
	gate->requests++;
	if (gate->histogram[level] != UINT32_MAX)
		gate->histogram[level]++;
	if (level >= gate->cursor)
		return false;
	gate->admitted++;
	return true;
}

void cancel_dagor_observe(struct cancel_dagor *gate, uint64_t now_ns, uint64_t delay_ns)
{
	close_if_due(gate, now_ns);
	gate->observed++;
	gate->delay_sum_ns = fixed_plus(gate->delay_sum_ns, delay_ns);
	if (gate->observed >= gate->window_requests)
		dagor_close_window(gate, now_ns);
}

void cancel_dagor_missed(struct cancel_dagor *gate, uint64_t now_ns, uint64_t count)
{
	close_if_due(gate, now_ns);
	gate->missed = fixed_plus(gate->missed, count);
}

struct cancel_dagor_level cancel_dagor_current_level(
	const struct cancel_dagor *gate, uint64_t now_ns)
{
	return (struct cancel_dagor_level){
		.cursor = gate->cursor,
		.serial = gate->windows,
		.age_ns = fixed_minus(now_ns, gate->cursor_set_ns),
	};
}

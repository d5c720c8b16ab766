/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PARTIES: one trial at a time, judged a step later. It owns the allocation and the order in which
 * resources are tried.
 */
#include <cancel/admission/parties.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define LOW_PPM_DEFAULT	 50000u
#define HIGH_PPM_DEFAULT 200000u
#define STEP_NS_DEFAULT	 1000000000u
#define STEPS_IN_A_ROW	 2u
#define UNITS_MIN	 1u			 /* nobody is left with nothing */
#define LATENCY_NS_MAX	 UINT64_C(3600000000000) /* an hour: slack stays in 64 bits */

static bool options_valid(const struct cancel_parties_options *o)
{
	if (!o->classes || o->classes > CANCEL_PARTIES_CLASSES_MAX || !o->resources ||
		o->resources > CANCEL_PARTIES_RESOURCES_MAX)
		return false;
	for (uint32_t r = 0; r < o->resources; r++)
		if (o->units[r] < o->classes * UNITS_MIN)
			return false;
	for (uint32_t c = 0; c < o->classes; c++)
		if (!o->goal_ns[c] || o->goal_ns[c] > LATENCY_NS_MAX)
			return false;
	return true;
}

int cancel_parties_init(
	struct cancel_parties *parties, const struct cancel_parties_options *options)
{
	struct cancel_parties_options o;
	if (!struct_size_read(&o, sizeof o, options) || !options_valid(&o))
		return CANCEL_EINVAL;
	*parties = (struct cancel_parties){
		.classes = o.classes,
		.resources = o.resources,
		.low_ppm = o.low_ppm ? o.low_ppm : LOW_PPM_DEFAULT,
		.high_ppm = o.high_ppm ? o.high_ppm : HIGH_PPM_DEFAULT,
		.step_ns = o.step_ns ? o.step_ns : STEP_NS_DEFAULT,
	};
	parties->next_step_ns = fixed_plus(o.start_ns, parties->step_ns);
	for (uint32_t c = 0; c < o.classes; c++) {
		parties->goal_ns[c] = o.goal_ns[c];
		for (uint32_t r = 0; r < o.resources; r++)
			parties->held[c][r] =
				o.units[r] / o.classes + (c < o.units[r] % o.classes ? 1 : 0);
	}
	return 0;
}

static int64_t slack_ppm(const struct cancel_parties *parties, uint32_t c)
{
	const int64_t goal_ns = (int64_t)parties->goal_ns[c];
	return (goal_ns - (int64_t)parties->p99_ns[c]) * (int64_t)CANCEL_PPM / goal_ns;
}

static void take_in(struct cancel_parties *parties, const uint64_t *p99_ns)
{
	for (uint32_t c = 0; c < parties->classes; c++) {
		parties->p99_ns[c] = p99_ns[c] < LATENCY_NS_MAX ? p99_ns[c] : LATENCY_NS_MAX;
		const int64_t slack = slack_ppm(parties, c);
		const bool low = slack<parties->low_ppm, high = slack> parties->high_ppm;

		parties->low_steps[c] =
			low ? (uint8_t)(parties->low_steps[c] + (parties->low_steps[c] < 255)) : 0;
		parties->high_steps[c] =
			high ? (uint8_t)(parties->high_steps[c] + (parties->high_steps[c] < 255))
			     : 0;
	}
}

/* Judges the trial under way. Returns true when it was taken back. */
static bool judge_trial(struct cancel_parties *parties)
{
	const uint32_t c = parties->trial_class, r = parties->trial_resource;
	const bool more = parties->trial == CANCEL_PARTIES_MORE;
	const bool helped = parties->p99_ns[c] < parties->trial_p99_ns;
	const bool failed = more ? !helped : slack_ppm(parties, c) < parties->low_ppm;
	parties->trial = CANCEL_PARTIES_NONE;
	if (!failed)
		return false;
	parties->turn[c] = (uint8_t)((r + 1) % parties->resources);
	if (more) {
		parties->held[c][r]--;
		if (parties->trial_donor < 0)
			parties->free[r]++;
		else
			parties->held[parties->trial_donor][r]++;
		return true;
	}
	if (!parties->free[r])
		return false;
	parties->free[r]--;
	parties->held[c][r]++;
	return true;
}

/* The class with the least (or most) slack among those `steps` long enough beyond the line. */
static int extreme(const struct cancel_parties *parties, const uint8_t *steps, bool least)
{
	int found = -1;
	for (uint32_t c = 0; c < parties->classes; c++) {
		if (steps[c] < STEPS_IN_A_ROW)
			continue;
		if (found < 0) {
			found = (int)c;
			continue;
		}
		const int64_t here = slack_ppm(parties, c);
		const int64_t there = slack_ppm(parties, (uint32_t)found);
		if (least ? here < there : here > there)
			found = (int)c;
	}
	return found;
}

/* The class with the most slack that can spare a unit of `r` and is not in trouble itself. */
static int donor_of(const struct cancel_parties *parties, uint32_t r, uint32_t needy)
{
	int found = -1;
	for (uint32_t c = 0; c < parties->classes; c++) {
		const int64_t slack = slack_ppm(parties, c);
		if (c == needy || parties->held[c][r] <= UNITS_MIN || slack < parties->low_ppm)
			continue;
		if (found < 0 || slack > slack_ppm(parties, (uint32_t)found))
			found = (int)c;
	}
	return found;
}

static bool give_more(struct cancel_parties *parties, uint32_t c)
{
	for (uint32_t i = 0; i < parties->resources; i++) {
		const uint32_t r = (parties->turn[c] + i) % parties->resources;
		const int donor = parties->free[r] ? -1 : donor_of(parties, r, c);
		if (!parties->free[r] && donor < 0)
			continue;
		if (donor < 0)
			parties->free[r]--;
		else
			parties->held[donor][r]--;
		parties->held[c][r]++;
		parties->turn[c] = (uint8_t)r;
		parties->trial = CANCEL_PARTIES_MORE;
		parties->trial_class = c;
		parties->trial_resource = r;
		parties->trial_donor = donor;
		parties->trial_p99_ns = parties->p99_ns[c];
		return true;
	}
	parties->stuck++;
	return false;
}

static bool take_some(struct cancel_parties *parties, uint32_t c)
{
	for (uint32_t i = 0; i < parties->resources; i++) {
		const uint32_t r = (parties->turn[c] + i) % parties->resources;
		if (parties->held[c][r] <= UNITS_MIN)
			continue;
		parties->held[c][r]--;
		parties->free[r]++;
		parties->turn[c] = (uint8_t)r;
		parties->trial = CANCEL_PARTIES_LESS;
		parties->trial_class = c;
		parties->trial_resource = r;
		return true;
	}
	return false;
}

bool cancel_parties_observe(struct cancel_parties *parties, uint64_t now_ns, const uint64_t *p99_ns)
{
	if (now_ns < parties->next_step_ns)
		return false;
	parties->next_step_ns = fixed_plus(now_ns, parties->step_ns);
	take_in(parties, p99_ns);
	const bool reverted = parties->trial != CANCEL_PARTIES_NONE && judge_trial(parties);
	const int needy = extreme(parties, parties->low_steps, true);

	if (needy >= 0)
		return give_more(parties, (uint32_t)needy) || reverted;
	if (reverted)
		return true;
	const int rich = extreme(parties, parties->high_steps, false);
	return rich >= 0 && take_some(parties, (uint32_t)rich);
}

bool cancel_parties_admit(const struct cancel_parties *parties, uint64_t now_ns,
	uint32_t class_index, uint32_t resource, uint32_t in_use)
{
	(void)now_ns;
	return class_index < parties->classes && resource < parties->resources &&
	       in_use < parties->held[class_index][resource];
}

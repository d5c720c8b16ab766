/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CoDel, for servers and for packets. It owns the interval and the drop schedule. The caller tells
 * it each delay as a request leaves.
 */
#include <cancel/admission/codel.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define INTERVAL_NS_DEFAULT 100000000u
#define TARGET_NS_DEFAULT   5000000u
/* A dropping state this many intervals after the last one starts from its rate (RFC 8289, 5.5). */
#define RESUME_INTERVALS 16u

static bool options_known(
	struct cancel_codel_options *o, const struct cancel_codel_options *options)
{
	if (!struct_size_read(o, sizeof *o, options))
		return false;
	if (!o->interval_ns)
		o->interval_ns = INTERVAL_NS_DEFAULT;
	if (!o->target_ns)
		o->target_ns = TARGET_NS_DEFAULT;
	if (!o->shed_ns)
		o->shed_ns = fixed_times(o->target_ns, 2);
	return true;
}

int cancel_codel_init(struct cancel_codel *codel, const struct cancel_codel_options *options)
{
	struct cancel_codel_options o;
	if (!options_known(&o, options))
		return CANCEL_EINVAL;
	*codel = (struct cancel_codel){
		.interval_ns = o.interval_ns,
		.target_ns = o.target_ns,
		.shed_ns = o.shed_ns,
		.min_delay_ns = UINT64_MAX,
	};
	return 0;
}

bool cancel_codel_admit(struct cancel_codel *codel, uint64_t now_ns, uint64_t delay_ns)
{
	if (now_ns >= codel->interval_end_ns) {
		codel->overloaded =
			codel->min_delay_ns != UINT64_MAX && codel->min_delay_ns > codel->target_ns;
		codel->interval_end_ns = fixed_plus(now_ns, codel->interval_ns);
		codel->min_delay_ns = UINT64_MAX;
	}
	if (delay_ns < codel->min_delay_ns)
		codel->min_delay_ns = delay_ns;
	return !codel->overloaded || delay_ns <= codel->shed_ns;
}

int cancel_codel_packet_init(
	struct cancel_codel_packet *codel, const struct cancel_codel_options *options)
{
	struct cancel_codel_options o;
	if (!options_known(&o, options) || o.interval_ns > UINT32_MAX)
		return CANCEL_EINVAL;
	*codel = (struct cancel_codel_packet){
		.interval_ns = o.interval_ns,
		.target_ns = o.target_ns,
	};
	return 0;
}

/* t + interval / sqrt(count) */
static uint64_t control_law(const struct cancel_codel_packet *codel, uint64_t t_ns)
{
	return t_ns + fixed_root(codel->interval_ns * codel->interval_ns / codel->count);
}

static bool above_for_an_interval(
	struct cancel_codel_packet *codel, uint64_t now_ns, uint64_t delay_ns, uint64_t behind)
{
	if (delay_ns < codel->target_ns || !behind) {
		codel->first_above_ns = 0;
		return false;
	}
	if (!codel->first_above_ns) {
		codel->first_above_ns = now_ns + codel->interval_ns;
		return false;
	}
	return now_ns >= codel->first_above_ns;
}

static void start_dropping(struct cancel_codel_packet *codel, uint64_t now_ns)
{
	const uint64_t recent = codel->count - codel->last_count;
	const bool resume = recent > 1 && fixed_minus(now_ns, codel->drop_next_ns) <
						  RESUME_INTERVALS * codel->interval_ns;
	codel->dropping = true;
	codel->advance = false;
	codel->count = resume ? recent : 1;
	codel->last_count = codel->count;
	codel->drop_next_ns = control_law(codel, now_ns);
}

bool cancel_codel_packet_admit(
	struct cancel_codel_packet *codel, uint64_t now_ns, uint64_t delay_ns, uint64_t behind)
{
	const bool above = above_for_an_interval(codel, now_ns, delay_ns, behind);
	if (!codel->dropping) {
		if (above)
			start_dropping(codel, now_ns);
		return !above;
	}
	if (!above) {
		codel->dropping = false;
		return true;
	}
	if (codel->advance) {
		codel->drop_next_ns = control_law(codel, codel->drop_next_ns);
		codel->advance = false;
	}
	if (now_ns < codel->drop_next_ns)
		return true;
	codel->count++;
	codel->advance = true;
	return false;
}

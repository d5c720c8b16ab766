/* SPDX-License-Identifier: Apache-2.0 */
/* CockroachDB's slots: a count in use and a limit that follows the run queue. */
#include <cancel/admission/slots.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define MAX_SLOTS_DEFAULT 100000u
#define RUNNABLE_DEFAULT  32u
#define PERIOD_NS_DEFAULT 1000000u

int cancel_slots_init(struct cancel_slots *slots, const struct cancel_slots_options *options)
{
	struct cancel_slots_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	if (!o.min_slots)
		o.min_slots = 1;
	if (!o.max_slots)
		o.max_slots = MAX_SLOTS_DEFAULT;
	if (!o.start_slots)
		o.start_slots = o.min_slots;
	if (o.start_slots < o.min_slots || o.start_slots > o.max_slots)
		return CANCEL_EINVAL;
	*slots = (struct cancel_slots){
		.min_slots = o.min_slots,
		.max_slots = o.max_slots,
		.runnable_a_cpu = o.runnable_a_cpu ? o.runnable_a_cpu : RUNNABLE_DEFAULT,
		.period_ns = o.period_ns ? o.period_ns : PERIOD_NS_DEFAULT,
		.total = o.start_slots,
	};
	return 0;
}

bool cancel_slots_admit(struct cancel_slots *slots, uint64_t now_ns)
{
	(void)now_ns;
	if (slots->used >= slots->total)
		return false;
	slots->used++;
	return true;
}

void cancel_slots_release(struct cancel_slots *slots, uint64_t now_ns)
{
	(void)now_ns;
	slots->used = (uint32_t)fixed_minus(slots->used, 1);
}

void cancel_slots_observe(
	struct cancel_slots *slots, uint64_t now_ns, uint32_t runnable, uint32_t cpus)
{
	const uint64_t high = (uint64_t)slots->runnable_a_cpu * cpus;
	const uint64_t low = high / 2 ? high / 2 : 1;
	if (now_ns < slots->next_sample_ns)
		return;
	slots->next_sample_ns = fixed_plus(now_ns, slots->period_ns);
	if (runnable >= high) {
		/* A limit that nobody reaches, or that is exceeded, tells nothing when lowered. */
		if (slots->used && slots->used <= slots->total && slots->total > slots->min_slots)
			slots->total--;
	} else if (runnable <= low && slots->used >= slots->total &&
		   slots->total < slots->max_slots) {
		slots->total++;
	}
}

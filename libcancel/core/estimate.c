/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what the estimators share (when progress says something, and within which bounds), and the
 * record of how long tasks of a class and signature took. Each estimator is a file of
 * libcancel/core/estimators.
 */
#include "libcancel/core/estimate.h"

#include "libcancel/base/fixed.h"

#include <string.h>

#define FACTOR_MAX	 10u /* the factor stays within [1/10, 10] */
#define NEARLY_DONE_PPM	 950000u
#define STALLED_NS	 500000000ull
#define WORTH_KEEPING_NS 10000000ull

bool estimate_progress_is_known(const struct cancel_estimate_input *in)
{
	return in->done > 0 && in->expected > 0 &&
	       fixed_ppm(in->done, in->expected) < NEARLY_DONE_PPM &&
	       in->since_advance_ns < STALLED_NS;
}

bool estimate_is_informed(const struct cancel_estimate_input *in)
{
	return estimate_progress_is_known(in) || in->class_median_ns > in->age_ns;
}

uint64_t estimate_scale(uint64_t value, uint64_t remaining, uint64_t done)
{
	uint64_t scaled = fixed_scale(value, remaining, done);
	return fixed_min(fixed_max(scaled, value / FACTOR_MAX), fixed_scale(value, FACTOR_MAX, 1));
}

static uint32_t find_record(const struct class_history *h, uint8_t class_index, uint64_t signature)
{
	for (uint32_t i = 0; i < h->record_count; i++) {
		if (h->records[i].signature == signature &&
			h->records[i].class_index == class_index)
			return i;
	}
	return NONE;
}

static struct class_record *new_record(struct class_history *h)
{
	uint32_t oldest = 0;
	if (h->record_count < CLASS_KEYS_MAX)
		return &h->records[h->record_count++];
	for (uint32_t i = 1; i < CLASS_KEYS_MAX; i++) {
		if (h->records[i].used_window < h->records[oldest].used_window)
			oldest = i;
	}
	return &h->records[oldest];
}

void class_history_add(struct class_history *h, const struct past_end *end, uint32_t window_number)
{
	struct class_record *record;
	uint32_t index;
	if (end->cancelled || end->active_ns < WORTH_KEEPING_NS)
		return;
	index = find_record(h, end->class_index, end->signature);
	record = index == NONE ? new_record(h) : &h->records[index];
	if (index == NONE)
		*record = (struct class_record){ .signature = end->signature,
			.class_index = end->class_index };
	record->used_window = window_number;
	record->durations_ns[record->next] = end->active_ns;
	record->next = (record->next + 1) % CLASS_DURATIONS_MAX;
	if (record->count < CLASS_DURATIONS_MAX)
		record->count++;
}

uint64_t class_history_median_ns(
	const struct class_history *h, uint8_t class_index, uint64_t signature)
{
	uint64_t durations_ns[CLASS_DURATIONS_MAX];
	uint32_t index = find_record(h, class_index, signature);
	if (index == NONE)
		return 0;
	memcpy(durations_ns, h->records[index].durations_ns, sizeof durations_ns);
	return fixed_median(durations_ns, h->records[index].count);
}

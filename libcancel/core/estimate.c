/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the estimators: from what a task has used so far to what it would still use, and the record
 * of how long its like took.
 *
 * The proportional model, usage x remaining / done, is the one of Atropos (SOSP 2025), which calls
 * it strong and possibly imprecise; hence the bounds.
 */
#include "libcancel/core/estimate.h"

#include "libcancel/base/fixed.h"

#include <string.h>

#define FACTOR_MAX	 10u /* the factor stays within [1/10, 10] */
#define NEARLY_DONE_PPM	 950000u
#define STALLED_NS	 500000000ull
#define WORTH_KEEPING_NS 10000000ull

static bool progress_is_known(const struct cancel_estimate_input *in)
{
	return in->done > 0 && in->expected > 0 &&
	       fixed_ppm(in->done, in->expected) < NEARLY_DONE_PPM &&
	       in->since_advance_ns < STALLED_NS;
}

bool estimate_is_informed(const struct cancel_estimate_input *in)
{
	return progress_is_known(in) || in->class_median_ns > in->age_ns;
}

/* value x remaining / done within the bounds. */
static uint64_t scale_within_bounds(uint64_t value, uint64_t remaining, uint64_t done)
{
	uint64_t scaled = fixed_scale(value, remaining, done);
	return fixed_min(fixed_max(scaled, value / FACTOR_MAX), fixed_scale(value, FACTOR_MAX, 1));
}

static uint64_t proportional(const struct cancel_estimate_input *in)
{
	if (!progress_is_known(in))
		return in->used_micro;
	return scale_within_bounds(in->used_micro, in->expected - in->done, in->done);
}

/* A cancelled task goes on using the resource, at its rate so far, while it is undone. */
static uint64_t undo_aware(const struct cancel_estimate_input *in)
{
	uint64_t gain = proportional(in);
	if (in->rollback_ns == 0 || in->age_ns == 0)
		return gain;
	return fixed_minus(gain, fixed_scale(in->used_micro, in->rollback_ns, in->age_ns));
}

/* What tasks of its class and signature usually take, less its age. One that has outlived the
 * median is an exception already, and its own progress says more. */
static uint64_t class_history(const struct cancel_estimate_input *in)
{
	if (in->age_ns == 0 || in->class_median_ns <= in->age_ns)
		return proportional(in);
	return scale_within_bounds(in->used_micro, in->class_median_ns - in->age_ns, in->age_ns);
}

static const struct cancel_estimator proportional_estimator = {
	.name = "proportional",
	.what = "usage so far x remaining / done (the paper)",
	.gain_micro = proportional,
};
static const struct cancel_estimator undo_aware_estimator = {
	.name = "undo-aware",
	.what = "proportional, less what the rollback would still use",
	.gain_micro = undo_aware,
};
static const struct cancel_estimator class_history_estimator = {
	.name = "class-history",
	.what = "from the median duration of completed tasks of its class and signature",
	.gain_micro = class_history,
};

const struct cancel_estimator *const cancel_estimators[] = {
	&proportional_estimator,
	&undo_aware_estimator,
	&class_history_estimator,
	NULL,
};

const struct cancel_estimator *cancel_estimator_find(const char *name)
{
	for (uint32_t i = 0; cancel_estimators[i]; i++) {
		if (strcmp(cancel_estimators[i]->name, name) == 0)
			return cancel_estimators[i];
	}
	return NULL;
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

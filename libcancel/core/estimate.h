/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate.h - how much a task would still use, and how long tasks like it take.
 */
#ifndef CANCEL_CORE_ESTIMATE_H
#define CANCEL_CORE_ESTIMATE_H

#include "libcancel/core/window.h"

#define CLASS_KEYS_MAX	    64u
#define CLASS_DURATIONS_MAX 15u /* odd: the median is one of them */

/* Durations of completed tasks by class and signature. */
struct class_record {
	uint64_t signature, used_window;
	uint64_t durations_ns[CLASS_DURATIONS_MAX];
	uint32_t count, next;
	uint8_t class_index;
};

struct class_history {
	struct class_record records[CLASS_KEYS_MAX];
	uint32_t record_count;
};

/* Takes in a task that ended. Short ones are skipped: they never become culprits, and there are
 * many. A full table forgets the key used longest ago. */
void class_history_add(
	struct class_history *history, const struct past_end *end, uint32_t window_number);
/* 0 when no such task has completed. */
uint64_t class_history_median_ns(
	const struct class_history *history, uint8_t class_index, uint64_t signature);

/* ---- For estimators -------------------------------------------------------------------------- */

/* Whether progress was declared, has moved of late and is not nearly done. */
bool estimate_progress_is_known(const struct cancel_estimate_input *input);
/* value x remaining / done, within a tenth of the value and ten times it. */
uint64_t estimate_scale(uint64_t value, uint64_t remaining, uint64_t done);

#define X(symbol, name, what)                                                                      \
	uint64_t estimator_##symbol(const struct cancel_estimate_input *input);
CANCEL_ESTIMATORS(X)
#undef X

/* ---- For whoever uses an estimate ------------------------------------------------------------ */

/* True when the estimate rests on something but the assumption that half is done. */
bool estimate_is_informed(const struct cancel_estimate_input *input);

#endif

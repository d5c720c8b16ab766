/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome.h - what became of each decision, told from events: delivered, acknowledged, released,
 * recovered; ignored and escalated; run again or dropped.
 */
#ifndef CANCEL_CORE_OUTCOME_H
#define CANCEL_CORE_OUTCOME_H

#include "libcancel/core/detect.h"
#include "libcancel/core/effect.h"
#include "libcancel/core/settings.h"
#include "libcancel/core/window.h"

#define RELEASES_MAX 15u /* odd: the median is one of them */

struct outcome_record {
	struct cancel_outcome outcome;
	uint32_t slot, missing;	  /* ledgers in a row that do not have it */
	bool used, acted, second; /* second: the escalation */
	bool ignored;		  /* the action found it gone or blocked */
	bool ended;
	bool changed; /* since last reported */
	struct effect effect;
	bool helpless; /* it has been waited for in vain */
};

struct outcomes {
	struct outcome_record records[CANCEL_CANDIDATES_MAX];
	uint64_t last_serial;		    /* of the newest decision that was acted on */
	uint64_t releases_ns[RELEASES_MAX]; /* decision to release */
	uint32_t release_count, next_release;
	struct drains drains;
	uint32_t fresh_helpless; /* cancels given up on in this step: nobody got on by them */
};

/* A new decision; its outcome is first reported by the next step. */
void outcomes_add(struct outcomes *outcomes, const struct cancel_decision *decision, uint32_t slot,
	const struct detect *detect, const struct effect_view *view);
void outcomes_take_events(struct outcomes *outcomes, const struct cancel_ledger *ledger);
/* Notices who has gone, who ignores two deliveries (marks it excluded), what takes effect, and
 * recovery. Closes the oldest as it stands when all records are taken, so that the next decision
 * finds room. */
void outcomes_step(struct outcomes *outcomes, struct history *history, const struct detect *detect,
	const struct settings *settings, const struct effect_view *view);
void outcomes_report(struct outcomes *outcomes, struct cancel_verdict *verdict);

/* Marks the instances where an earlier target has answered and still holds, or has let go without
 * effect so far, and neither has had its time. */
void outcomes_bar(const struct outcomes *outcomes, const struct settings *settings,
	const struct effect_view *view);
/* The last target still holds, and has not had its time yet. */
bool outcomes_await_release(
	const struct outcomes *outcomes, const struct settings *settings, uint64_t now_ns);
/* Did the last target give everything back within the last second? */
bool outcomes_just_released(const struct outcomes *outcomes, uint64_t now_ns);
/* This task has ignored its cancel, and may be asked once more. */
bool outcomes_escalation_due(const struct outcomes *outcomes, uint64_t task,
	const struct settings *settings, uint64_t now_ns);
/* Decision to release, the median of the last few; 0 before the first. */
uint64_t outcomes_median_release_ns(const struct outcomes *outcomes);

#endif

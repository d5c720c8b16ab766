/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the numbers behind a decision, in the order in which they mattered. Words, names and symbols
 * are put to them outside the core.
 */
#include <cancel/policy.h>

#include "libcancel/base/fixed.h"

#define CAUSE(cause, text) [CANCEL_CAUSE_##cause] = text

const char *cancel_cause_name(enum cancel_cause cause)
{
	static const char *const names[CANCEL_CAUSE_COUNT] = {
		CAUSE(NONE, "none"),
		CAUSE(WARM_UP, "warm-up"),
		CAUSE(NOT_CANCELLABLE, "not-cancellable"),
		CAUSE(BLOCKED, "blocked"),
		CAUSE(ALREADY_CANCELLED, "already-cancelled"),
		CAUSE(EXEMPT, "exempt"),
		CAUSE(LOW_BLAME, "low-blame"),
		CAUSE(SHORT_HOLD, "short-hold"),
		CAUSE(PACE, "pace"),
		CAUSE(AWAIT_RELEASE, "await-release"),
		CAUSE(NO_CULPRIT, "no-culprit"),
		CAUSE(MONITOR, "monitor"),
		CAUSE(ACTION_STUCK, "action-stuck"),
		CAUSE(POLICY, "policy"),
		CAUSE(IGNORES_CANCELS, "ignores-cancels"),
		CAUSE(CANCELS_DO_NOT_HELP, "cancels-do-not-help"),
		CAUSE(IDLE_HOLDER, "idle-holder"),
	};
	return (uint32_t)cause < CANCEL_CAUSE_COUNT ? names[cause] : "unknown";
}

/* Largest part of the score first; the lower resource of equals. */
static void add_part(struct cancel_explanation *x, const struct cancel_explanation_part *part)
{
	uint32_t at = x->part_count < CANCEL_REASONS_MAX ? x->part_count++ : CANCEL_REASONS_MAX;
	for (; at > 0 && x->parts[at - 1].score_micro < part->score_micro; at--) {
		if (at < CANCEL_REASONS_MAX)
			x->parts[at] = x->parts[at - 1];
	}
	if (at < CANCEL_REASONS_MAX)
		x->parts[at] = *part;
}

static const struct cancel_contender *strongest_held(const struct cancel_decision *d)
{
	for (uint32_t i = 0; i < d->contender_count; i++) {
		if (d->contenders[i].held_back)
			return &d->contenders[i];
	}
	return NULL;
}

void cancel_explain(const struct cancel_decision *d, struct cancel_explanation *x)
{
	const struct cancel_candidate *target = &d->target;
	const struct cancel_contender *held = strongest_held(d);
	*x = (struct cancel_explanation){
		.task = target->task,
		.key = target->key,
		.score_micro = target->score_micro,
		.runner_up_task = d->runner_up.task,
		.runner_up_key = d->runner_up.key,
		.runner_up_score_micro = d->runner_up.score_micro,
		.late_ns = d->onset_ns ? fixed_minus(d->decided_ns, d->onset_ns) : 0,
		.age_ns = target->age_ns,
		.remaining_ns = target->remaining_ns,
		.progress_ppm = fixed_ppm(target->done, target->expected),
	};
	if (held)
		x->held = *held;
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		struct cancel_explanation_part part = {
			.resource = r,
			.contention_ppm = d->contention_ppm[r],
			.blame_ppm = target->blame_ppm[r],
			.gain_micro = target->gain_micro[r],
			.score_micro = fixed_scale(
				target->gain_micro[r], d->contention_ppm[r], CANCEL_PPM),
		};
		if (d->blamed_mask >> r & 1 && part.blame_ppm)
			add_part(x, &part);
	}
}

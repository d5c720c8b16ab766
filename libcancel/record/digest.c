/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verdict as one number: FNV-1a over everything a caller can see.
 */
#include "libcancel/record/record.h"

static uint64_t mix(uint64_t digest, uint64_t value)
{
	/* FNV-1a, a word at a time. */
	return (digest ^ value) * 1099511628211ull;
}

static uint64_t mix_candidate(uint64_t d, const struct cancel_candidate *c)
{
	d = mix(d, c->task);
	d = mix(d, c->score_micro);
	d = mix(d, c->age_ns);
	d = mix(d, c->remaining_ns);
	d = mix(d, c->held_back);
	d = mix(d, c->dominated);
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		d = mix(d, c->gain_micro[r]);
		d = mix(d, c->used_micro[r]);
		d = mix(d, c->blame_ppm[r]);
	}
	return d;
}

static uint64_t mix_decision(uint64_t d, const struct cancel_decision *x)
{
	d = mix(d, x->serial);
	d = mix(d, (uint64_t)x->acted | (uint64_t)x->escalation << 1 | (uint64_t)x->returning << 2);
	d = mix_candidate(d, &x->target);
	d = mix_candidate(d, &x->runner_up);
	d = mix(d, x->top_resource);
	d = mix(d, x->blamed_mask);
	d = mix(d, x->candidate_count);
	d = mix(d, x->eligible_count);
	for (uint32_t i = 0; i < CANCEL_CAUSE_COUNT; i++)
		d = mix(d, x->held_back[i]);
	for (uint32_t i = 0; i < x->contender_count; i++) {
		d = mix(d, x->contenders[i].task);
		d = mix(d, x->contenders[i].score_micro);
		d = mix(d, x->contenders[i].blame_ppm);
	}
	return d;
}

static uint64_t mix_outcome(uint64_t d, const struct cancel_outcome *o)
{
	d = mix(d, o->serial);
	d = mix(d, o->task);
	d = mix(d, o->times.delivered_ns);
	d = mix(d, o->times.acknowledged_ns);
	d = mix(d, o->times.released_ns);
	d = mix(d, o->times.recovered_ns);
	d = mix(d, o->wasted_ns);
	return mix(d, (uint64_t)o->final | (uint64_t)o->excluded << 1 | (uint64_t)o->dropped << 2);
}

uint64_t record_digest(const struct cancel_verdict *v)
{
	uint64_t d = 14695981039346656037ull;
	d = mix(d, v->now_ns);
	d = mix(d, v->overload);
	d = mix(d, v->held_back);
	d = mix(d, v->held.task);
	d = mix(d, v->held.score_micro);
	d = mix(d, v->precise);
	d = mix(d, v->late_share_ppm);
	d = mix(d, v->late_tasks);
	d = mix(d, v->window_ns);
	d = mix(d, v->onset_ns);
	d = mix(d, v->calm_mask);
	d = mix(d, (uint64_t)v->cancel | (uint64_t)v->decided << 1);
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		d = mix(d, v->contention_ppm[r]);
		d = mix(d, v->raw_metric[r]);
	}
	if (v->decided)
		d = mix_decision(d, &v->decision);
	for (uint32_t i = 0; i < v->outcome_count; i++)
		d = mix_outcome(d, &v->outcomes[i]);
	return d;
}

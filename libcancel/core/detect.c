/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the suspicion: latency over the SLO while throughput stays flat or falls (the rule Atropos
 * takes from Breakwater), its confirmation and its end.
 */
#include "libcancel/core/detect.h"

#include "libcancel/base/fixed.h"

#define NS_PER_S	  1000000000ull
#define SAMPLE_GAP_NS	  25000000ull
#define SECONDS_BEFORE	  10u
#define SHRINK_SPAN_NS	  250000000ull
#define TOLERANCE_PERCENT 5u
#define TOLERANCE_SIGMAS  3u
#define CONFIRM_MASK	  6u /* the two windows before this one */
#define CLEAN_WINDOWS	  10u

/* The room chance needs: 5 %, or three standard deviations of a Poisson count. */
static uint64_t tolerance(uint64_t count)
{
	return fixed_max(count / 100 * TOLERANCE_PERCENT + count % 100 * TOLERANCE_PERCENT / 100,
		TOLERANCE_SIGMAS * fixed_root(count));
}

/* The sample `back` before the newest. */
static const struct detect_sample *sample_at(const struct detect *d, uint32_t back)
{
	return &d->samples[(d->next_sample + DETECT_SAMPLES - 1 - back) % DETECT_SAMPLES];
}

/* Shorter windows than the ring is made for share a sample. */
static void add_sample(struct detect *d, const struct window *w)
{
	bool fresh = d->sample_count < 2 ||
		     sample_at(d, 0)->at_ns - sample_at(d, 1)->at_ns >= SAMPLE_GAP_NS;
	if (fresh) {
		d->next_sample = (d->next_sample + 1) % DETECT_SAMPLES;
		if (d->sample_count < DETECT_SAMPLES)
			d->sample_count++;
	}
	d->samples[(d->next_sample + DETECT_SAMPLES - 1) % DETECT_SAMPLES] = (struct detect_sample){
		.at_ns = w->now_ns, .completed = d->completed, .in_flight = w->in_flight
	};
}

/* Completions up to `at_ns`, between samples in proportion. `back` walks towards the past. False
 * when the samples do not reach that far. */
static bool completed_at(struct detect *d, uint64_t at_ns, uint32_t *back, uint64_t *completed)
{
	const struct detect_sample *older, *newer;
	while (*back < d->sample_count && sample_at(d, *back)->at_ns > at_ns)
		++*back;
	if (*back == d->sample_count)
		return false;
	older = sample_at(d, *back);
	*completed = older->completed;
	if (older->at_ns == at_ns || *back == 0)
		return true;
	newer = sample_at(d, *back - 1);
	*completed += fixed_scale(newer->completed - older->completed, at_ns - older->at_ns,
		newer->at_ns - older->at_ns);
	return true;
}

/* Completions of the last second against the best of the ten before it. */
static bool flat_or_falling(struct detect *d, uint64_t now_ns)
{
	uint64_t end = d->completed, start, last, best = 0;
	uint32_t back = 0;
	if (now_ns < NS_PER_S || !completed_at(d, now_ns - NS_PER_S, &back, &start))
		return true; /* too early to tell: the warm-up keeps it from mattering */
	last = end - start;
	for (uint32_t s = 2; s <= SECONDS_BEFORE + 1; s++) {
		end = start;
		if (now_ns < s * NS_PER_S || !completed_at(d, now_ns - s * NS_PER_S, &back, &start))
			break;
		best = fixed_max(best, end - start);
	}
	return last <= best + tolerance(best);
}

static uint64_t mean_in_flight(struct detect *d, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0, count = 0;
	for (uint32_t back = 0; back < d->sample_count; back++) {
		const struct detect_sample *s = sample_at(d, back);
		if (s->at_ns <= from_ns)
			break;
		if (s->at_ns > to_ns)
			continue;
		sum += s->in_flight;
		count++;
	}
	return count ? sum / count : 0;
}

/* A queue that drains is the end of an overload, however late its tasks are. */
static bool work_shrinks(struct detect *d, uint64_t now_ns)
{
	uint64_t recent, before;
	if (now_ns < 2 * SHRINK_SPAN_NS)
		return false;
	recent = mean_in_flight(d, now_ns - SHRINK_SPAN_NS, now_ns);
	before = mean_in_flight(d, now_ns - 2 * SHRINK_SPAN_NS, now_ns - SHRINK_SPAN_NS);
	return recent + tolerance(before) < before;
}

uint64_t detect_onset_ns(const struct detect *d, uint64_t task)
{
	return d->onset_task == task && d->other_onset_ns ? d->other_onset_ns : d->onset_ns;
}

bool detect_drains(const struct detect *d)
{
	const struct detect_sample *newest = sample_at(d, 0), *before = sample_at(d, 1);
	return d->sample_count >= 2 &&
	       newest->in_flight + tolerance(before->in_flight) < before->in_flight;
}

static bool is_late(struct detect *d, const struct window *w, const struct settings *s, bool stuck)
{
	/* Long tasks that run on count only where little else gets done: then all is stuck. */
	uint64_t stale = w->stale_in_flight > w->completed ? w->stale_in_flight : 0;
	uint64_t open = w->late_in_flight + stale, late = w->late + open;

	d->late_tasks = (uint32_t)fixed_min(late, UINT32_MAX);
	d->late_share_ppm = fixed_ppm(late, w->completed + open);
	return stuck || (d->late_share_ppm >= s->late_share_ppm && d->late_tasks >= s->late_tasks);
}

/* When somebody but the one that began the row was first late in this window; 0: nobody was. */
static uint64_t other_late_ns(const struct detect *d, const struct window *w)
{
	uint64_t late_ns = w->first_late_task == d->late_task ? w->other_late_ns : w->first_late_ns;
	if (w->late)
		return w->start_ns;
	return late_ns ? fixed_max(w->start_ns, late_ns) : 0;
}

/* The row of windows with any noticeable lateness that the onset lies in. */
static void follow_lateness(
	struct detect *d, const struct window *w, const struct settings *s, bool late)
{
	bool any = late || (d->late_tasks && d->late_share_ppm >= s->late_share_ppm);
	if (!any) {
		d->late_since_ns = d->other_since_ns = 0;
		return;
	}
	if (d->late_since_ns == 0) {
		d->late_since_ns = w->late ? w->start_ns : fixed_max(w->start_ns, w->first_late_ns);
		d->late_task = w->late ? 0 : w->first_late_task;
	}
	if (d->other_since_ns == 0)
		d->other_since_ns = other_late_ns(d, w);
}

static void follow_suspicion(struct detect *d, const struct window *w, bool raw, bool late)
{
	d->ended = false;
	if (raw && !d->suspicious) {
		d->suspicious = true;
		d->suspected_ns = w->now_ns;
		d->onset_ns = fixed_min(d->late_since_ns, w->now_ns);
		d->onset_task = d->late_task;
		d->other_onset_ns = fixed_min(d->other_since_ns, w->now_ns);
	}
	if (!d->suspicious)
		return;
	if (late) {
		d->clean_windows = 0;
		return;
	}
	if (d->clean_windows++ == 0)
		d->clean_since_ns = w->start_ns;
	if (d->clean_windows < CLEAN_WINDOWS)
		return;
	d->suspicious = false;
	d->ended = true;
	d->recovered_ns = d->clean_since_ns;
	d->clean_windows = 0;
	d->onset_ns = d->suspected_ns = 0;
}

/* With this window: two of the last three. */
static bool met_before(const struct detect *d)
{
	return d->raw_history & CONFIRM_MASK;
}

void detect_step(struct detect *d, const struct window *w, const struct settings *s, bool stuck)
{
	bool late, raw;
	if (d->started_ns == 0)
		d->started_ns = w->start_ns;
	d->completed += w->completed;
	add_sample(d, w);
	late = is_late(d, w, s, stuck);
	follow_lateness(d, w, s, late);
	raw = late && flat_or_falling(d, w->now_ns) && !work_shrinks(d, w->now_ns);
	d->raw_history = d->raw_history << 1 | raw;
	d->warm = w->now_ns - d->started_ns >= s->warm_up_ms * NS_PER_MS;
	d->confirmed = raw && met_before(d);
	follow_suspicion(d, w, raw, late);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns C_r, the share of SLO-bearing execution time lost to a resource, and what is usual for it.
 */
#include "libcancel/core/contention.h"

#include "libcancel/base/fixed.h"

#include <string.h>

#define NS_PER_S 1000000000ull
#define CALM_NS	 NS_PER_S

static uint64_t healthy_median_ppm(const struct contention *c, uint32_t r)
{
	uint64_t values[REFERENCE_SECONDS];
	for (uint32_t i = 0; i < c->second_count; i++)
		values[i] = c->seconds_ppm[r][i];
	return fixed_median(values, c->second_count);
}

/* From where r counts: a multiple of what is usual, but, as a share cannot pass 1, of what is left
 * above it no more than the same ratio leaves: a queue that costs 60 % of the time on a good day
 * counts from 80 %. */
static uint32_t threshold_ppm(
	const struct contention *c, uint32_t r, const struct settings *settings)
{
	uint64_t median_ppm = healthy_median_ppm(c, r), ratio = settings->contention_ratio;
	uint64_t multiple_ppm = fixed_scale(median_ppm, ratio, 1);
	uint64_t rest_ppm = (CANCEL_PPM - median_ppm) * (ratio - 1) / ratio;
	return (uint32_t)fixed_max(
		settings->contention_ppm, fixed_min(multiple_ppm, median_ppm + rest_ppm));
}

void contention_measure(struct contention *c, const struct attribution *a, const struct window *w,
	const struct settings *settings)
{
	memset(c->ppm, 0, sizeof c->ppm);
	for (uint32_t r = 0; r < w->resource_count; r++) {
		c->ppm[r] = fixed_ppm(a->rooted_ns[r], w->active_ns);
		c->threshold_ppm[r] = settings->contention_ppm;
		/* The median is only asked for where it can matter. */
		if (c->ppm[r] >= settings->contention_ppm / 2)
			c->threshold_ppm[r] = threshold_ppm(c, r, settings);
		if (c->ppm[r] >= c->threshold_ppm[r] / 2)
			c->hot_ns[r] = w->now_ns;
	}
}

static void close_second(struct contention *c)
{
	if (c->active_ns) {
		for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++)
			c->seconds_ppm[r][c->next_second] =
				fixed_ppm(c->rooted_ns[r], c->active_ns);
		c->next_second = (c->next_second + 1) % REFERENCE_SECONDS;
		if (c->second_count < REFERENCE_SECONDS)
			c->second_count++;
	}
	c->length_ns = c->active_ns = 0;
	memset(c->rooted_ns, 0, sizeof c->rooted_ns);
}

void contention_learn(
	struct contention *c, const struct attribution *a, const struct window *w, bool suspect)
{
	if (suspect) { /* the running second may already hold the onset: drop it */
		c->length_ns = c->active_ns = 0;
		memset(c->rooted_ns, 0, sizeof c->rooted_ns);
		return;
	}
	c->length_ns += w->length_ns;
	c->active_ns += w->active_ns;
	for (uint32_t r = 0; r < w->resource_count; r++)
		c->rooted_ns[r] += a->rooted_ns[r];
	if (c->length_ns >= NS_PER_S)
		close_second(c);
}

uint64_t contention_contended(const struct contention *c, const struct window *w)
{
	uint64_t mask = 0;
	for (uint32_t r = 0; r < w->resource_count; r++) {
		if (c->ppm[r] && c->ppm[r] >= c->threshold_ppm[r])
			mask |= 1ull << r;
	}
	return mask;
}

uint64_t contention_calm(const struct contention *c, const struct window *w)
{
	uint64_t mask = 0;
	for (uint32_t r = 0; r < w->resource_count; r++) {
		if (c->hot_ns[r] == 0 || w->now_ns - c->hot_ns[r] >= CALM_NS)
			mask |= 1ull << r;
	}
	return mask;
}

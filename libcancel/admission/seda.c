/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SEDA's controller: samples of a window, their percentile, a smoothed error and a rate. The rate
 * is spent by a token bucket.
 */
#include <cancel/admission/seda.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define TARGET_NS_DEFAULT      100000000u
#define RESPONSES_DEFAULT      100u
#define WINDOW_NS_DEFAULT      1000000000u
#define PERCENTILE_PPM_DEFAULT 990000u
#define KEEP_PPM_DEFAULT       700000u
#define DIVIDE_MILLI_DEFAULT   1100u
#define ADD_PER_S_DEFAULT      4u
#define MIN_PER_S_DEFAULT      2u
#define MAX_PER_S_DEFAULT      10000u
#define MAX_PER_S_MAX	       1000000u
#define BURST_DEFAULT	       4u
#define RATE_PER_NS	       UINT64_C(1000000000000) /* a rate in thousandths: each 1000 s */
#define INCREASE_BELOW_PPM     (-500000)
#define INCREASE_OFFSET_PPM    100000
#define SAMPLE_NS_MAX	       UINT64_C(3600000000000) /* an hour; keeps errors in 64 bits */

static void options_default(struct cancel_seda_options *o)
{
	if (!o->target_ns)
		o->target_ns = TARGET_NS_DEFAULT;
	if (!o->window_responses)
		o->window_responses = RESPONSES_DEFAULT;
	if (!o->window_ns)
		o->window_ns = WINDOW_NS_DEFAULT;
	if (!o->percentile_ppm)
		o->percentile_ppm = PERCENTILE_PPM_DEFAULT;
	if (!o->keep_ppm)
		o->keep_ppm = KEEP_PPM_DEFAULT;
	if (!o->divide_milli)
		o->divide_milli = DIVIDE_MILLI_DEFAULT;
	if (!o->add_per_s)
		o->add_per_s = ADD_PER_S_DEFAULT;
	if (!o->min_per_s)
		o->min_per_s = MIN_PER_S_DEFAULT;
	if (!o->max_per_s)
		o->max_per_s = MAX_PER_S_DEFAULT;
	if (!o->start_per_s)
		o->start_per_s = o->max_per_s;
	if (!o->burst)
		o->burst = BURST_DEFAULT;
}

int cancel_seda_init(struct cancel_seda *seda, const struct cancel_seda_options *options)
{
	struct cancel_seda_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	options_default(&o);
	if (o.window_responses > CANCEL_SEDA_RESPONSES_MAX || o.percentile_ppm > CANCEL_PPM ||
		o.keep_ppm > CANCEL_PPM || o.divide_milli < 1000 || o.max_per_s > MAX_PER_S_MAX ||
		o.min_per_s > o.max_per_s || o.start_per_s < o.min_per_s ||
		o.start_per_s > o.max_per_s)
		return CANCEL_EINVAL;
	*seda = (struct cancel_seda){
		.target_ns = o.target_ns,
		.window_ns = o.window_ns,
		.window_responses = o.window_responses,
		.percentile_ppm = o.percentile_ppm,
		.keep_ppm = o.keep_ppm,
		.divide_milli = o.divide_milli,
		.add_per_s = o.add_per_s,
		.min_milli = o.min_per_s * UINT64_C(1000),
		.max_milli = o.max_per_s * UINT64_C(1000),
		.rate_milli = o.start_per_s * UINT64_C(1000),
		.window_start_ns = o.start_ns,
	};
	const struct cancel_bucket_options bucket = {
		.struct_size = sizeof bucket,
		.rate = seda->rate_milli,
		.burst = o.burst,
		.per_ns = RATE_PER_NS,
		.start_ns = o.start_ns,
	};
	return cancel_bucket_init(&seda->bucket, &bucket);
}

bool cancel_seda_admit(struct cancel_seda *seda, uint64_t now_ns)
{
	return cancel_bucket_admit(&seda->bucket, now_ns, 1);
}

/* Nearest rank: the smallest sample that at least `ppm` of them do not exceed. Takes the largest
 * away until that one is the largest; reorders the samples. */
static uint64_t percentile(uint64_t *samples, uint32_t count, uint32_t ppm)
{
	const uint64_t scaled = (uint64_t)count * ppm;
	const uint32_t rank = (uint32_t)(scaled / CANCEL_PPM) + (scaled % CANCEL_PPM ? 1 : 0);
	const uint32_t keep = rank ? rank : 1;
	for (uint32_t n = count;; n--) {
		uint32_t largest = 0;
		for (uint32_t i = 1; i < n; i++)
			if (samples[i] > samples[largest])
				largest = i;
		if (n == keep)
			return samples[largest];
		samples[largest] = samples[n - 1];
	}
}

static uint64_t next_rate(const struct cancel_seda *seda)
{
	uint64_t rate = seda->rate_milli;
	if (seda->error_ppm > 0) {
		rate = rate * 1000 / seda->divide_milli;
	} else if (seda->error_ppm < INCREASE_BELOW_PPM) {
		const uint64_t weight_ppm = (uint64_t)(-seda->error_ppm - INCREASE_OFFSET_PPM);
		rate += weight_ppm * seda->add_per_s / 1000;
	}
	if (rate < seda->min_milli)
		return seda->min_milli;
	return rate < seda->max_milli ? rate : seda->max_milli;
}

static void close_window(struct cancel_seda *seda, uint64_t now_ns)
{
	const uint64_t sample_ns =
		percentile(seda->samples_ns, seda->responses, seda->percentile_ppm);

	if (!seda->current_ns)
		seda->current_ns = sample_ns;
	else
		seda->current_ns = fixed_part(seda->current_ns, seda->keep_ppm) +
				   fixed_part(sample_ns, CANCEL_PPM - seda->keep_ppm);
	seda->error_ppm = ((int64_t)seda->current_ns - (int64_t)seda->target_ns) *
			  (int64_t)CANCEL_PPM / (int64_t)seda->target_ns;
	seda->rate_milli = next_rate(seda);
	cancel_bucket_set_rate(&seda->bucket, now_ns, seda->rate_milli);
	seda->responses = 0;
	seda->window_start_ns = now_ns;
}

void cancel_seda_observe(struct cancel_seda *seda, uint64_t now_ns, uint64_t response_ns)
{
	seda->samples_ns[seda->responses++] =
		response_ns < SAMPLE_NS_MAX ? response_ns : SAMPLE_NS_MAX;
	if (seda->responses == seda->window_responses ||
		fixed_minus(now_ns, seda->window_start_ns) >= seda->window_ns)
		close_window(seda, now_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the arithmetic of the log-linear histogram: bounds and quantiles. The recording side is the
 * inline histogram_index().
 */
#include "libcancel/base/histogram.h"

uint64_t histogram_lower_ns(uint32_t index)
{
	uint32_t octave = index >> HISTOGRAM_SUB_BITS;
	if (octave == 0)
		return index;
	return (uint64_t)(HISTOGRAM_SUB + (index & (HISTOGRAM_SUB - 1))) << (octave - 1);
}

uint64_t histogram_middle_ns(uint32_t index)
{
	uint64_t lower_ns = histogram_lower_ns(index);
	return lower_ns + (histogram_lower_ns(index + 1) - lower_ns) / 2;
}

uint64_t histogram_total(const uint64_t counts[CANCEL_HISTOGRAM_MAX])
{
	uint64_t total = 0;
	for (uint32_t i = 0; i < CANCEL_HISTOGRAM_MAX; i++)
		total += counts[i];
	return total;
}

uint64_t histogram_quantile_ns(const uint64_t counts[CANCEL_HISTOGRAM_MAX], uint32_t share_ppm)
{
	uint64_t total = histogram_total(counts);
	uint64_t share = share_ppm < CANCEL_PPM ? share_ppm : CANCEL_PPM;
	/* total * share / 1e6, rounded up, without overflow */
	uint64_t rank = total / CANCEL_PPM * share +
			(total % CANCEL_PPM * share + CANCEL_PPM - 1) / CANCEL_PPM;
	uint64_t seen = 0;

	if (total == 0)
		return 0;
	if (rank == 0)
		rank = 1;
	for (uint32_t i = 0; i < CANCEL_HISTOGRAM_MAX; i++) {
		seen += counts[i];
		if (seen >= rank)
			return histogram_middle_ns(i);
	}
	return histogram_middle_ns(CANCEL_HISTOGRAM_MAX - 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic the admission objects share: shares, roots, and sums that saturate. */
#ifndef CANCEL_ADMISSION_FIXED_H
#define CANCEL_ADMISSION_FIXED_H

#include <stdint.h>

#define PPM 1000000u /* the unit of shares, and of counts kept in millionths */

/* floor(value * ppm / 1e6), exact for every value; ppm up to 2^32 - 1, saturating. */
static inline uint64_t part_ppm(uint64_t value, uint32_t ppm)
{
	const uint64_t whole = value / PPM;
	const uint64_t rest = value % PPM * ppm / PPM;

	if (ppm && whole > (UINT64_MAX - rest) / ppm)
		return UINT64_MAX;
	return whole * ppm + rest;
}

static inline uint64_t add_sat(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t mul_sat(uint64_t a, uint64_t b)
{
	return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static inline uint64_t sub_floor(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* floor(sqrt(x)), bit by bit: 32 steps, no libm. */
static inline uint64_t root_floor(uint64_t x)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 62; bit; bit >>= 2) {
		const uint64_t trial = root + bit;

		root >>= 1;
		if (x >= trial) {
			x -= trial;
			root += bit;
		}
	}
	return root;
}

#endif

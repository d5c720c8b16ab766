/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed.h - the integer arithmetic of the library's decisions: no floating point, no overflow, no
 * trap. Shares are parts per million (CANCEL_PPM).
 */
#ifndef CANCEL_BASE_FIXED_H
#define CANCEL_BASE_FIXED_H

#include <cancel/policy.h>

static inline uint64_t fixed_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t fixed_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* later - earlier, never below zero: clocks and counters of two readers may disagree a little. */
static inline uint64_t fixed_minus(uint64_t later, uint64_t earlier)
{
	return later > earlier ? later - earlier : 0;
}

static inline uint64_t fixed_plus(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t fixed_times(uint64_t a, uint64_t b)
{
	uint64_t product;
	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* What of a product beyond 64 bits remains after a division, where that fits: a bit a turn. */
static inline uint64_t fixed_divide_wide(uint64_t high, uint64_t low, uint64_t denominator)
{
	uint64_t quotient = 0;
	for (uint32_t bit = 64; bit-- > 0;) {
		uint64_t carry = high >> 63;
		high = high << 1 | (low >> bit & 1);
		if (carry || high >= denominator) {
			high -= denominator;
			quotient |= 1ull << bit;
		}
	}
	return quotient;
}

/* value * numerator / denominator, rounded down, so shares of a whole never add up to more than the
 * whole; the largest value where that does not fit or the denominator is 0. */
static inline uint64_t fixed_scale(uint64_t value, uint64_t numerator, uint64_t denominator)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t product, high;

	if (!__builtin_mul_overflow(value, numerator, &product))
		return denominator ? product / denominator : UINT64_MAX;
	high = (uint64_t)(((wide)value * numerator) >> 64);
	return high < denominator ? fixed_divide_wide(high, product, denominator) : UINT64_MAX;
}

/* `ppm` millionths of the value, rounded down; ppm may be more than the whole. */
static inline uint64_t fixed_part(uint64_t value, uint32_t ppm)
{
	return fixed_scale(value, ppm, CANCEL_PPM);
}

/* part / whole in parts per million, at most the whole; 0 of nothing. */
static inline uint32_t fixed_ppm(uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return 0;
	return (uint32_t)fixed_min(fixed_scale(part, CANCEL_PPM, whole), CANCEL_PPM);
}

/* The integer square root, rounded down. Newton's method from above. */
static inline uint64_t fixed_root(uint64_t value)
{
	uint64_t guess, better;
	if (value < 2)
		return value;
	guess = 1ull << ((64u - (uint32_t)__builtin_clzll(value) + 1) / 2);
	for (;;) {
		better = (guess + value / guess) / 2;
		if (better >= guess)
			return guess;
		guess = better;
	}
}

/* The lower median of `count` values; 0 of none. Sorts `values` by insertion: for short lists. */
static inline uint64_t fixed_median(uint64_t *values, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		uint64_t value = values[i];
		uint32_t j = i;
		for (; j > 0 && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
	return count ? values[(count - 1) / 2] : 0;
}

#endif

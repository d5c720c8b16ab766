/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - a hash of one 64-bit number, for tables and for shares by user.
 */
#ifndef CANCEL_BASE_HASH_H
#define CANCEL_BASE_HASH_H

#include <stdint.h>

/* A bijection in which every input bit reaches every output bit: the finaliser of SplitMix64
 * (Steele, Lea, Flood 2014, variant 13 of Stafford). */
static inline uint64_t hash_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h - random numbers: the same seed gives the same bits on every machine and compiler.
 * Generator: xoshiro256** seeded by splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom
 * number generators", 2021).
 */
#ifndef COMMON_RANDOM_H
#define COMMON_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state[4];
};

/* A good 64-bit hash of a number: the finalizer of splitmix64. */
static inline uint64_t random_hash(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

/* splitmix64 (Steele, Lea, Flood 2014): the next number of a sequence. */
static inline uint64_t random_mix(uint64_t *seed)
{
	return random_hash(*seed += 0x9e3779b97f4a7c15u);
}

static inline void random_seed(struct random *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->state[i] = random_mix(&seed);
}

static inline uint64_t random_rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t random_next(struct random *r)
{
	uint64_t *s = r->state, result = random_rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = random_rotate(s[3], 45);
	return result;
}

/* Uniform in (0, 1]: never zero, so that its logarithm is finite. */
static inline double random_unit(struct random *r)
{
	return ((double)(random_next(r) >> 11) + 1.0) / 9007199254740992.0;
}

/* Uniform in [0, limit), limit <= 2^32, from one draw: the multiply-shift of Lemire (2019). */
static inline uint64_t random_below(uint64_t draw, uint64_t limit)
{
	return ((draw >> 32) * limit) >> 32;
}

#endif

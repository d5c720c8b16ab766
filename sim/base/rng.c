/* SPDX-License-Identifier: Apache-2.0 */
/* Random bits and uniform draws; integers only. Shapes are dist.c's business. */
#include "sim/base/rng.h"

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

uint64_t sim_hash(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

void sim_rng_init(struct sim_rng *rng, uint64_t seed, uint64_t stream)
{
	uint64_t at = sim_hash(seed + 0x9e3779b97f4a7c15ull) ^ sim_hash(~stream);
	for (int i = 0; i < 4; i++) {
		at += 0x9e3779b97f4a7c15ull;
		rng->state[i] = sim_hash(at);
	}
}

uint64_t sim_rng_next(struct sim_rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t mixed = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= mixed;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t sim_rng_below(struct sim_rng *rng, uint64_t bound)
{
	uint64_t skip =
		(0 - bound) % bound; /* the first 2^64 mod bound values would be drawn twice */
	uint64_t draw;
	do {
		draw = sim_rng_next(rng);
	} while (draw < skip);
	return draw % bound;
}

double sim_rng_unit(struct sim_rng *rng)
{
	return (double)(sim_rng_next(rng) >> 11) * 0x1p-53;
}

bool sim_rng_chance(struct sim_rng *rng, uint32_t share_ppm)
{
	return sim_rng_below(rng, 1000000) < share_ppm;
}

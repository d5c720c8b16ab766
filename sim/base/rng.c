/* SPDX-License-Identifier: Apache-2.0 */
/* Random bits and uniform draws; integers only. Shapes are dist.c's business. */
#include "sim/base/rng.h"

uint64_t sim_hash(uint64_t value)
{
	return random_hash(value);
}

void sim_rng_init(struct sim_rng *rng, uint64_t seed, uint64_t stream)
{
	random_seed(&rng->random, sim_hash(seed + 0x9e3779b97f4a7c15ull) ^ sim_hash(~stream));
}

uint64_t sim_rng_next(struct sim_rng *rng)
{
	return random_next(&rng->random);
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

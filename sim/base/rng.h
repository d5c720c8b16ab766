/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng.h - random numbers, the same bits on every machine and compiler.
 *
 * xoshiro256** seeded through splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2021). A stream is a (seed, stream) pair: give each source of randomness its own, so
 * that adding one does not shift the others.
 */
#ifndef SIM_BASE_RNG_H
#define SIM_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/random.h"

struct sim_rng {
	struct random random;
};

void sim_rng_init(struct sim_rng *rng, uint64_t seed, uint64_t stream);
uint64_t sim_rng_next(struct sim_rng *rng);
/* Uniform in [0, bound), without bias; bound > 0. */
uint64_t sim_rng_below(struct sim_rng *rng, uint64_t bound);
/* Uniform in [0, 1) with 53 bits. */
double sim_rng_unit(struct sim_rng *rng);
/* True with probability share_ppm / 1,000,000. */
bool sim_rng_chance(struct sim_rng *rng, uint32_t share_ppm);
/* A good 64-bit hash of a number (the finalizer of splitmix64). */
uint64_t sim_hash(uint64_t value);

#endif

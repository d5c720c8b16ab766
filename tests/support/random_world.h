/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_world.h - scripted worlds in which everything happens at random, from a seed.
 */
#ifndef SUPPORT_RANDOM_WORLD_H
#define SUPPORT_RANDOM_WORLD_H

#include "scripted.h"

struct random_world {
	struct scripted *s;
	uint64_t state;
	uint32_t lock, table, workers, pool;
};

void random_world_begin(struct random_world *w, uint64_t seed, bool act);
void random_world_end(struct random_world *w);
/* One window: arrivals, heavy tasks, releases, evictions, ends; then a step. The cancel of the last
 * step is delivered first, and ignored, acknowledged or obeyed as chance has it. */
void random_world_step(struct random_world *w);
uint64_t random_draw(uint64_t *state, uint64_t below);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transitions.c - prints transitions.pml: the states and moves of the word as the code has them, for
 * lifecycle.pml. Sets of states are masks.
 */
#include <stdio.h>

#include "libcancel/track/state_word.h"

static const char *const states[] = {
	[SLOT_FREE] = "FREE",
	[SLOT_ENDING] = "ENDING",
	[SLOT_RUNNING] = "RUNNING",
	[SLOT_BLOCKED] = "BLOCKED",
	[SLOT_CHANGING] = "CHANGING",
	[SLOT_DELIVERING] = "DELIVERING",
	[SLOT_DELIVERED] = "DELIVERED",
};
#define STATES (sizeof states / sizeof *states)

static const struct {
	const char *name, *to;
	unsigned from, waits, stays;
} moves[] = {
#define MOVE(move, to, from, waits, stays) { #move, #to, from, waits, stays },
	STATE_WORD_MOVES(MOVE)
#undef MOVE
};

/* What the code says of a word in this state: is its task there, is its cancel there to be seen. */
static bool lives(uint64_t state)
{
	return state_word_is((uint64_t)1 << STATE_WORD_GENERATION_SHIFT | state, id_make(0, 1));
}

static bool requested(uint64_t state)
{
	static struct slot_cold cold = { .acknowledged = true };
	static struct slot slot = { .cold = &cold };
	store_relaxed(&slot.state_word,
		(uint64_t)1 << STATE_WORD_GENERATION_SHIFT | STATE_WORD_BOUND | state);
	current_slot = &slot;
	return cancel_requested();
}

static unsigned where(bool (*is)(uint64_t state))
{
	unsigned mask = 0;
	for (unsigned i = 0; i < STATES; i++)
		mask |= (unsigned)is(i) << i;
	return mask;
}

int main(void)
{
	for (unsigned i = 0; i < STATES; i++)
		printf("#define %s %u\n", states[i], i);
	printf("#define lives %u\n#define requested %u\n", where(lives), where(requested));
	for (unsigned i = 0; i < sizeof moves / sizeof *moves; i++) {
		const char *name = moves[i].name;
		printf("#define %s_to %s\n#define %s_from %u\n", name, moves[i].to, name,
			moves[i].from);
		printf("#define %s_waits %u\n#define %s_stays %u\n", name, moves[i].waits, name,
			moves[i].stays);
	}
	return 0;
}

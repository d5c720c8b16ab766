/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_word.h - the state word of a slot, and the rules that make a cancel safe. See state_word.c.
 */
#ifndef CANCEL_TRACK_STATE_WORD_H
#define CANCEL_TRACK_STATE_WORD_H

#include "libcancel/track/slot.h"

/* ---- The owner ------------------------------------------------------------------------------- */

/* Opens a new task in a slot just taken: RUNNING and bound. Returns its id. */
uint64_t state_word_open(struct slot *s);
/* RUNNING or BLOCKED or DELIVERED → ENDING; waits for an action. The generation ends here. */
void state_word_end(struct slot *s);
/* ENDING → FREE. */
void state_word_close(struct slot *s);
/* RUNNING → BLOCKED: 0; CANCEL_EREQUESTED where a cancel was delivered. Waits for an action. */
int state_word_block(struct slot *s);
void state_word_allow(struct slot *s);
/* Around a change of what the delivery thread reads and writes; waits for an action. Ends where it
 * came from, or in RUNNING: a cancelled task starts anew. */
enum slot_state state_word_change_begin(struct slot *s);
void state_word_change_end(struct slot *s, enum slot_state before);
/* Waits for an action; the state then. */
enum slot_state state_word_settle(struct slot *s);

/* The task of this id becomes bound to the caller; the slot, or NULL (ended, or bound). */
struct slot *state_word_bind(uint64_t id, enum cancel_counter *why);
void state_word_unbind(struct slot *s);

/* ---- The delivery thread --------------------------------------------------------------------- */

enum state_word_delivery {
	STATE_WORD_DELIVER, /* the caller runs the action, then calls state_word_delivered */
	STATE_WORD_GONE,    /* another generation, or another attempt */
	STATE_WORD_IS_BLOCKED,
};
/* RUNNING or DELIVERED → DELIVERING; `spare_rerun`: not from RUNNING of a task that began anew. */
enum state_word_delivery state_word_deliver(struct slot *s, uint64_t id, bool spare_rerun);
/* DELIVERING → DELIVERED; wakes whoever waits for the action. */
void state_word_delivered(struct slot *s);

/* Lock around fork(), so that the child finds it free and without the parent's waiters. */
void state_word_lock_for_fork(void);
void state_word_unlock_after_fork(bool child);

static inline bool state_word_is(uint64_t word, uint64_t id)
{
	return generation_in(word) == id_generation(id) && state_in(word) > SLOT_ENDING;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_word.h - the state word of a slot, and the rules that make a cancel safe. See state_word.c.
 */
#ifndef CANCEL_TRACK_STATE_WORD_H
#define CANCEL_TRACK_STATE_WORD_H

#include "libcancel/track/slot.h"

/* ---- Every move of the state ----------------------------------------------------------------- */

/*
 * What state_word.c is written from, and what tests/model proves. A call that finds the state in
 * `from` moves it to `to`; in `waits` it waits until somebody else has moved it; in `stays` it
 * gives up and leaves the word as it is. It is never made in another state. `close` begins the next
 * generation. To bind and to unbind is no move.
 */
enum {
	NOWHERE = 0,
	IN_FREE = 1 << SLOT_FREE,
	IN_ENDING = 1 << SLOT_ENDING,
	IN_RUNNING = 1 << SLOT_RUNNING,
	IN_BLOCKED = 1 << SLOT_BLOCKED,
	IN_CHANGING = 1 << SLOT_CHANGING,
	IN_DELIVERING = 1 << SLOT_DELIVERING,
	IN_DELIVERED = 1 << SLOT_DELIVERED,
};
/* X(move, to, from, waits, stays) */
#define STATE_WORD_MOVES(X)                                                                        \
	X(open, RUNNING, IN_FREE, NOWHERE, NOWHERE)                                                \
	X(block, BLOCKED, IN_RUNNING, IN_DELIVERING, IN_DELIVERED)                                 \
	X(allow, RUNNING, IN_BLOCKED, NOWHERE, NOWHERE)                                            \
	X(change, CHANGING, IN_RUNNING | IN_DELIVERED, IN_DELIVERING, IN_BLOCKED)                  \
	X(resume, RUNNING, IN_CHANGING, NOWHERE, NOWHERE)                                          \
	X(keep, DELIVERED, IN_CHANGING, NOWHERE, NOWHERE)                                          \
	X(end, ENDING, IN_RUNNING | IN_BLOCKED | IN_DELIVERED, IN_DELIVERING, NOWHERE)             \
	X(close, FREE, IN_ENDING, NOWHERE, NOWHERE)                                                \
	X(deliver, DELIVERING, IN_RUNNING | IN_DELIVERED, IN_CHANGING,                             \
		IN_FREE | IN_ENDING | IN_BLOCKED)                                                  \
	X(delivered, DELIVERED, IN_DELIVERING, NOWHERE, NOWHERE)

/* ---- The owner ------------------------------------------------------------------------------- */

/* open: a new task in a slot just taken, bound. Returns its id. */
uint64_t state_word_open(struct slot *s);
/* end: waits for an action. The generation ends here. */
void state_word_end(struct slot *s);
/* close. */
void state_word_close(struct slot *s);
/* block: 0; CANCEL_EREQUESTED where a cancel was delivered. Waits for an action. */
int state_word_block(struct slot *s);
/* allow. */
void state_word_allow(struct slot *s);
/* change; then keep, resume, or what it was. Around a change of what the delivery thread reads and
 * writes; waits for an action. A cancelled task that starts anew ends in RUNNING. */
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
/* deliver; `spare_rerun`: not from RUNNING of a task that began anew. */
enum state_word_delivery state_word_deliver(struct slot *s, uint64_t id, bool spare_rerun);
/* delivered; wakes whoever waits for the action. */
void state_word_delivered(struct slot *s);

/* Lock around fork(), so that the child finds it free and without the parent's waiters. */
void state_word_lock_for_fork(void);
void state_word_unlock_after_fork(bool child);

static inline bool state_word_is(uint64_t word, uint64_t id)
{
	return generation_in(word) == id_generation(id) && state_in(word) > SLOT_ENDING;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * word.h - the state word of a slot, and the rules that make a cancel safe. See word.c.
 */
#ifndef CANCEL_TRACK_WORD_H
#define CANCEL_TRACK_WORD_H

#include "libcancel/track/slot.h"

/* ---- The owner ------------------------------------------------------------------------------- */

/* Opens a new task in a slot just taken: RUNNING and bound. Returns its id. */
uint64_t word_open(struct slot *s);
/* RUNNING or BLOCKED or DELIVERED → ENDING; waits for an action. The generation ends here. */
void word_end(struct slot *s);
/* ENDING → FREE. */
void word_close(struct slot *s);
/* RUNNING → BLOCKED: 0; CANCEL_EREQUESTED where a cancel was delivered. Waits for an action. */
int word_block(struct slot *s);
void word_allow(struct slot *s);
/* Around an exchange of the action; waits for an action. */
enum slot_state word_change_begin(struct slot *s);
void word_change_end(struct slot *s, enum slot_state before);
/* DELIVERED → RUNNING: a cancelled task starts anew. */
void word_restart(struct slot *s);

/* The task of this id becomes bound to the caller; the slot, or NULL (ended, or bound). */
struct slot *word_bind(uint64_t id, enum cancel_counter *why);
void word_unbind(struct slot *s);

/* ---- The delivery thread --------------------------------------------------------------------- */

enum word_delivery {
	WORD_DELIVER, /* the caller runs the action, then calls word_delivered */
	WORD_GONE,    /* another generation, or another attempt */
	WORD_IS_BLOCKED,
};
/* RUNNING or DELIVERED → DELIVERING; `spare_rerun`: not from RUNNING of a task that began anew. */
enum word_delivery word_deliver(struct slot *s, uint64_t id, bool spare_rerun);
/* DELIVERING → DELIVERED; wakes whoever waits for the action. */
void word_delivered(struct slot *s);

/* Lock around fork(), so that the child finds it free and without the parent's waiters. */
void word_lock_for_fork(void);
void word_unlock_after_fork(bool child);

static inline bool word_is(uint64_t word, uint64_t id)
{
	return word_generation(word) == id_generation(id) && word_state(word) > SLOT_ENDING;
}

#endif

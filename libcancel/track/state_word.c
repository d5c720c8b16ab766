/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_word.c - owns the state word: generation | bound | state. Why a cancel reaches only its
 * target:
 *
 *	FREE → RUNNING ⇄ BLOCKED
 *	         │ └⇄ CHANGING ⇄┐              owner: exchange of the action; rerun
 *	         ↓              │              (DELIVERED → CHANGING → RUNNING)
 *	     DELIVERING → DELIVERED            delivery thread
 *	RUNNING, BLOCKED, DELIVERED → ENDING → FREE with the next generation        owner
 *
 * 1. Every change is a compare-and-swap of the whole word, generation included, or is made by the
 *    only thread that may leave the state it is in. The action runs only inside DELIVERING.
 * 2. The delivery thread enters DELIVERING from RUNNING or DELIVERED of the generation it was
 *    given. The swap fails for any other generation; so an action never *starts* for another task.
 * 3. Only the delivery thread leaves DELIVERING, after the action has returned. The owner's ways
 *    on (end, block, change the action, rerun) all start from other states, so each of them waits.
 *    Hence when cancel_task_end, cancel_block or cancel_set_action returns, no action is running,
 *    and since the word has left RUNNING or the generation is over, none will start.
 * 4. The owner publishes the action before the word (release in state_word_open and
 *    state_word_change_end); the delivery thread reads it after its swap (acquire). While
 *    DELIVERING the owner does not write it (rule 3).
 * 5. The generation only grows, and has 56 bits: it never comes back.
 *
 * The moves are a table, STATE_WORD_MOVES. tests/model proves from it what is said here, for every
 * order of steps; docs/trust.md tells how.
 *
 * The binding is a bit of the same word: two threads that bind the same task swap the same word,
 * and one of them fails. What the former owner stored is released by its unbind and acquired by
 * the next bind.
 *
 * Waiting for an action is rare, so all waiters share one lock and one condition. It is a leaf:
 * nothing else is locked while it is held and no host code runs under it. Cancellation of the
 * waiting thread is off meanwhile, since a thread's own cancel may be the action it waits for.
 */
#include "libcancel/track/state_word.h"

#include <sched.h>

static pthread_mutex_t action_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t action_over = PTHREAD_COND_INITIALIZER;

/* Returns once the state is not DELIVERING. */
static void wait_for_action(struct slot *s)
{
	int cancel_state;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&action_lock);
	while (state_in(load_acquire(&s->state_word)) == SLOT_DELIVERING)
		pthread_cond_wait(&action_over, &action_lock);
	pthread_mutex_unlock(&action_lock);
	pthread_setcancelstate(cancel_state, NULL);
}

#define MOVE(move, to, from, waits, stays)                                                         \
	move##_to = SLOT_##to, move##_from = (from), move##_waits = (waits), move##_stays = (stays),
enum { STATE_WORD_MOVES(MOVE) };
#undef MOVE

static inline bool is_in(uint64_t word, uint32_t states)
{
	return 1u << state_in(word) & states;
}

static inline uint64_t with_state(uint64_t word, uint32_t state)
{
	return (word & ~(uint64_t)STATE_WORD_STATE) | state;
}

uint64_t state_word_open(struct slot *s)
{
	uint64_t generation = generation_in(load_relaxed(&s->state_word));
	uint64_t bound = generation << STATE_WORD_GENERATION_SHIFT | STATE_WORD_BOUND;
	store_release(&s->state_word, bound | open_to);
	return id_make(s->index, generation);
}

/* The owner's way on, which waits out an action. Returns where it came from. */
static inline enum slot_state leave(struct slot *s, uint32_t waits, uint32_t to)
{
	uint64_t word = load_acquire(&s->state_word);
	for (;;) {
		if (unlikely(is_in(word, waits))) {
			wait_for_action(s);
			word = load_acquire(&s->state_word);
		} else if (likely(cas_acq_rel(&s->state_word, &word, with_state(word, to)))) {
			return state_in(word);
		}
	}
}

void state_word_end(struct slot *s)
{
	leave(s, end_waits, end_to);
}

void state_word_close(struct slot *s)
{
	uint64_t generation = generation_in(load_relaxed(&s->state_word)) + 1;
	store_release(&s->state_word, generation << STATE_WORD_GENERATION_SHIFT | close_to);
}

int state_word_block(struct slot *s)
{
	uint64_t word = load_acquire(&s->state_word);
	for (;;) {
		if (is_in(word, block_waits)) {
			wait_for_action(s);
			word = load_acquire(&s->state_word);
		} else if (!is_in(word, block_from)) {
			return CANCEL_EREQUESTED;
		} else if (cas_acq_rel(&s->state_word, &word, with_state(word, block_to))) {
			return 0;
		}
	}
}

/* A plain store: nobody else changes the word of a bound task in BLOCKED or CHANGING. */
void state_word_allow(struct slot *s)
{
	store_release(&s->state_word, with_state(load_relaxed(&s->state_word), allow_to));
}

enum slot_state state_word_change_begin(struct slot *s)
{
	uint64_t word = load_relaxed(&s->state_word);
	if (is_in(word, change_stays))
		return state_in(word);
	return leave(s, change_waits, change_to);
}

void state_word_change_end(struct slot *s, enum slot_state before)
{
	store_release(&s->state_word, with_state(load_relaxed(&s->state_word), before));
}

enum slot_state state_word_settle(struct slot *s)
{
	enum slot_state state;
	while ((state = state_in(load_acquire(&s->state_word))) == SLOT_DELIVERING)
		wait_for_action(s);
	return state;
}

struct slot *state_word_bind(uint64_t id, enum cancel_counter *why)
{
	struct slot *s = slot_at(id_index(id));
	*why = CANCEL_COUNT_stale_task;
	if (!s)
		return NULL;
	uint64_t word = load_acquire(&s->state_word);
	while (state_word_is(word, id)) {
		if (word & STATE_WORD_BOUND) {
			*why = CANCEL_COUNT_wrong_thread;
			return NULL;
		}
		if (cas_acq_rel(&s->state_word, &word, word | STATE_WORD_BOUND))
			return s;
	}
	return NULL;
}

void state_word_unbind(struct slot *s)
{
	uint64_t word = load_relaxed(&s->state_word);
	while (!cas_acq_rel(&s->state_word, &word, word & ~(uint64_t)STATE_WORD_BOUND))
		;
}

/* The flag is set before the restart is released: who sees RUNNING again sees it too. */
static bool runs_again(const struct slot *s, enum slot_state state)
{
	return state == SLOT_RUNNING && load_relaxed(&s->flags) & CANCEL_RERUNNING;
}

enum state_word_delivery state_word_deliver(struct slot *s, uint64_t id, bool spare_rerun)
{
	uint64_t word = load_acquire(&s->state_word);
	while (state_word_is(word, id)) {
		enum slot_state state = state_in(word);
		if (is_in(word, deliver_stays))
			return STATE_WORD_IS_BLOCKED;
		if (spare_rerun && runs_again(s, state))
			return STATE_WORD_GONE;
		if (is_in(word, deliver_waits)) {
			sched_yield();
			word = load_acquire(&s->state_word);
		} else if (cas_acq_rel(&s->state_word, &word, with_state(word, deliver_to))) {
			return STATE_WORD_DELIVER;
		}
	}
	return STATE_WORD_GONE;
}

void state_word_delivered(struct slot *s)
{
	uint64_t word = load_relaxed(&s->state_word);
	while (!cas_acq_rel(&s->state_word, &word, with_state(word, delivered_to)))
		;
	pthread_mutex_lock(&action_lock);
	pthread_cond_broadcast(&action_over);
	pthread_mutex_unlock(&action_lock);
}

void state_word_lock_for_fork(void)
{
	pthread_mutex_lock(&action_lock);
}

void state_word_unlock_after_fork(bool child)
{
	if (child)
		action_over = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_mutex_unlock(&action_lock);
}

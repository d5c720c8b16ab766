/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of state_word.c make the moves that STATE_WORD_MOVES says, and no others. Each call is
 * made in each state for which its row has an answer: it moves, it waits until somebody else has
 * moved the word, or it leaves the word alone. tests/model proves what follows from that table.
 */
#include "runtime.h"

#include "libcancel/track/state_word.h"

#define GENERATION 7u
#define STATES	   (SLOT_DELIVERED + 1u)

enum outcome { MOVED, STAYED };

static struct slot slot;
static uint64_t id;

/* ---- A call for each row: a row without one does not compile --------------------------------- */

static enum outcome call_open(void)
{
	assert_int_equal(state_word_open(&slot), id);
	return MOVED;
}

static enum outcome call_block(void)
{
	return state_word_block(&slot) == 0 ? MOVED : STAYED;
}

static enum outcome call_allow(void)
{
	state_word_allow(&slot);
	return MOVED;
}

static enum outcome call_change(void)
{
	return state_word_change_begin(&slot) == SLOT_BLOCKED ? STAYED : MOVED;
}

static enum outcome call_resume(void)
{
	state_word_change_end(&slot, SLOT_RUNNING);
	return MOVED;
}

static enum outcome call_keep(void)
{
	state_word_change_end(&slot, SLOT_DELIVERED);
	return MOVED;
}

static enum outcome call_end(void)
{
	state_word_end(&slot);
	return MOVED;
}

static enum outcome call_close(void)
{
	state_word_close(&slot);
	return MOVED;
}

static enum outcome call_deliver(void)
{
	return state_word_deliver(&slot, id, true) == STATE_WORD_DELIVER ? MOVED : STAYED;
}

static enum outcome call_delivered(void)
{
	state_word_delivered(&slot);
	return MOVED;
}

static const struct row {
	const char *name;
	enum outcome (*call)(void);
	enum slot_state to;
	uint32_t from, waits, stays;
} rows[] = {
#define ROW(move, to, from, waits, stays) { #move, call_##move, SLOT_##to, from, waits, stays },
	STATE_WORD_MOVES(ROW)
#undef ROW
};
#define ROWS (sizeof rows / sizeof *rows)

/* ---- In every state -------------------------------------------------------------------------- */

static void set_word(enum slot_state state)
{
	uint64_t bound = state > SLOT_ENDING ? STATE_WORD_BOUND : 0;
	store_relaxed(&slot.state_word,
		(uint64_t)GENERATION << STATE_WORD_GENERATION_SHIFT | bound | state);
}

static enum slot_state state_now(void)
{
	return state_in(load_acquire(&slot.state_word));
}

/* A row's call on a thread of its own, since it may wait. */
struct caller {
	const struct row *row;
	_Atomic bool calls;
	enum outcome outcome;
};

static void *caller_main(void *arg)
{
	struct caller *c = arg;
	store_release(&c->calls, true);
	c->outcome = c->row->call();
	return NULL;
}

/* What the thread does that is waited for. */
static void move_on(enum slot_state from)
{
	if (from == SLOT_DELIVERING)
		state_word_delivered(&slot);
	else
		state_word_change_end(&slot, SLOT_RUNNING);
}

/* A call that did not wait would have its move undone by ours. A few turns of the processor give it
 * the time to do so; one that does wait never fails here. */
static enum outcome outcome_of_waiting(const struct row *row, enum slot_state from)
{
	struct caller c = { .row = row };
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, caller_main, &c), 0);
	WAIT_UNTIL(load_acquire(&c.calls));
	for (int i = 0; i < 100; i++)
		sched_yield();
	assert_int_equal(state_now(), from);
	move_on(from);
	pthread_join(thread, NULL);
	return c.outcome;
}

static void check(const struct row *row, enum slot_state from)
{
	uint32_t in = 1u << from;
	set_word(from);
	if (in & row->stays) {
		assert_int_equal(row->call(), STAYED);
		assert_int_equal(state_now(), from);
		return;
	}
	/* Whom a block waited for has delivered. */
	bool refused = in & row->waits && from == SLOT_DELIVERING && row->stays & IN_DELIVERED;
	enum outcome outcome = in & row->waits ? outcome_of_waiting(row, from) : row->call();
	assert_int_equal(outcome, refused ? STAYED : MOVED);
	assert_int_equal(state_now(), refused ? SLOT_DELIVERED : row->to);
}

static void every_call_makes_the_moves_of_its_row(void **state)
{
	(void)state;
	uint32_t checked = 0;
	for (size_t i = 0; i < ROWS; i++) {
		for (uint32_t from = 0; from < STATES; from++) {
			if (!((rows[i].from | rows[i].waits | rows[i].stays) >> from & 1))
				continue;
			check(&rows[i], (enum slot_state)from);
			checked++;
		}
	}
	assert_true(checked >= ROWS);
}

static void a_state_has_one_answer_in_a_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		assert_int_equal(rows[i].from & rows[i].waits, NOWHERE);
		assert_int_equal(rows[i].from & rows[i].stays, NOWHERE);
		assert_int_equal(rows[i].waits & rows[i].stays, NOWHERE);
		assert_true(rows[i].from != NOWHERE);
	}
}

static void every_state_can_be_left(void **state)
{
	(void)state;
	uint32_t left = NOWHERE, entered = NOWHERE;
	for (size_t i = 0; i < ROWS; i++) {
		left |= rows[i].from;
		entered |= 1u << rows[i].to;
	}
	assert_int_equal(left, (1u << STATES) - 1);
	assert_int_equal(entered, (1u << STATES) - 1);
}

static void a_cancel_of_another_generation_finds_nobody(void **state)
{
	(void)state;
	for (uint32_t from = 0; from < STATES; from++) {
		set_word((enum slot_state)from);
		assert_int_equal(state_word_deliver(&slot, id_make(0, GENERATION - 1), false),
			STATE_WORD_GONE);
		assert_int_equal(state_word_deliver(&slot, id_make(0, GENERATION + 1), false),
			STATE_WORD_GONE);
		assert_int_equal(state_now(), from);
	}
}

static void close_begins_the_next_generation(void **state)
{
	(void)state;
	set_word(SLOT_ENDING);
	state_word_close(&slot);
	assert_int_equal(generation_in(load_relaxed(&slot.state_word)), GENERATION + 1);
}

static void a_task_that_runs_again_is_spared_by_all_but_operators(void **state)
{
	(void)state;
	store_relaxed(&slot.flags, CANCEL_RERUNNING);
	set_word(SLOT_RUNNING);
	assert_int_equal(state_word_deliver(&slot, id, true), STATE_WORD_GONE);
	assert_int_equal(state_now(), SLOT_RUNNING);
	assert_int_equal(state_word_deliver(&slot, id, false), STATE_WORD_DELIVER);
	store_relaxed(&slot.flags, 0);
}

int main(void)
{
	id = id_make(0, GENERATION);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_makes_the_moves_of_its_row),
		cmocka_unit_test(a_state_has_one_answer_in_a_row),
		cmocka_unit_test(every_state_can_be_left),
		cmocka_unit_test(a_cancel_of_another_generation_finds_nobody),
		cmocka_unit_test(close_begins_the_next_generation),
		cmocka_unit_test(a_task_that_runs_again_is_spared_by_all_but_operators),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

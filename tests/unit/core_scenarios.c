/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole situations: who is blamed, who is cancelled, and when nobody is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "scripted.h"

#define SLO	(10 * MS)
#define START	80u /* healthy windows before anything happens: warm, with a reference */
#define ARRIVAL 10u /* victims a window */

static void arrive(struct scripted *s, uint32_t count, uint32_t r, uint32_t instance, uint64_t mode)
{
	for (uint32_t i = 0; i < count; i++)
		scripted_wait(s, scripted_task(s, SLO), r, instance, mode);
}

/* Victims arrive until a decision is made, at most `windows` long. */
static void until_decided(struct scripted *s, uint32_t r, uint64_t mode, uint32_t windows)
{
	for (uint32_t i = 0; i < windows && s->decisions == 0; i++) {
		arrive(s, ARRIVAL, r, 0, mode);
		scripted_step(s);
	}
}

static bool is_contender(const struct cancel_decision *d, uint64_t task)
{
	for (uint32_t i = 0; i < d->contender_count; i++) {
		if (d->contenders[i].task == task)
			return true;
	}
	return false;
}

/* The paper's second motivation: the waiting backup is not the cure. */
static void victims_behind_a_waiting_backup_blame_the_update_it_waits_for(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t table = scripted_resource(s, CANCEL_LOCK, 0);
	uint32_t global = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *update, *backup;

	(void)state;
	scripted_healthy(s, START);
	update = scripted_task(s, 0);
	scripted_hold(s, update, table, 17, CANCEL_EXCLUSIVE);
	scripted_hold(s, update, global, 0, CANCEL_SHARED);
	scripted_healthy(s, 10); /* alone it hurts nobody */
	backup = scripted_task(s, 0);
	scripted_wait(s, backup, global, 0, CANCEL_EXCLUSIVE);
	s->now_ns += MS;
	until_decided(s, global, CANCEL_SHARED, 10);
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.target.task, update->t.id);
	assert_true(s->last.target.blame_ppm[global] > 900000);
	assert_int_equal(s->last.eligible_count, 1);
	assert_false(is_contender(&s->last, backup->t.id));
	scripted_free(s);
}

/* Victims that wait for the update's table hold the global lock shared, and the backup waits for
 * them: the chain backup -> victim -> update has two hops. */
static void a_chain_ends_at_the_one_who_does_not_wait(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t table = scripted_resource(s, CANCEL_LOCK, 0);
	uint32_t global = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *update, *victim, *backup;

	(void)state;
	scripted_healthy(s, START);
	update = scripted_task(s, 0);
	scripted_hold(s, update, table, 17, CANCEL_EXCLUSIVE);
	victim = scripted_task(s, 0);
	scripted_hold(s, victim, global, 0, CANCEL_SHARED);
	scripted_wait(s, victim, table, 17, CANCEL_SHARED);
	s->now_ns += MS;
	backup = scripted_task(s, 0);
	scripted_wait(s, backup, global, 0, CANCEL_EXCLUSIVE);
	s->now_ns += MS;
	until_decided(s, global, CANCEL_SHARED, 10);
	assert_int_equal(s->last.target.task, update->t.id);
	assert_int_equal(s->last.top_resource, table);
	assert_true(s->last.contention_ppm[table] > 900000);
	assert_true(s->last.contention_ppm[global] < 50000);
	assert_int_equal(s->last.candidate_count, 1);
	scripted_free(s);
}

static void a_full_worker_queue_behind_a_lock_is_blamed_on_the_lock(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t workers = scripted_resource(s, CANCEL_QUEUE, 4);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 4; i++) {
		struct scripted_task *worker = scripted_task(s, SLO);

		scripted_hold(s, worker, workers, 0, 1);
		scripted_wait(s, worker, lock, 0, CANCEL_EXCLUSIVE);
	}
	until_decided(s, workers, 0, 10);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_int_equal(s->last.top_resource, lock);
	assert_true(s->last.contention_ppm[lock] > 900000);
	assert_true(s->last.contention_ppm[workers] < 10000);
	scripted_free(s);
}

/* The lock's holder may not be cancelled; when it ends, the workers that waited for it have held
 * their slots for long. That was not their doing. */
static void a_worker_that_waited_for_a_lock_is_no_culprit_once_it_runs(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t workers = scripted_resource(s, CANCEL_QUEUE, 4);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *holder, *worker[4];

	(void)state;
	scripted_healthy(s, START);
	holder = scripted_task(s, 0);
	holder->t.flags |= CANCEL_RERUNNING;
	scripted_hold(s, holder, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 4; i++) {
		worker[i] = scripted_task(s, SLO);
		scripted_hold(s, worker[i], workers, 0, 1);
		s->now_ns += MS;
		scripted_wait(s, worker[i], lock, 0, CANCEL_SHARED);
	}
	until_decided(s, workers, 0, 60);
	scripted_end(s, holder);
	for (uint32_t i = 0; i < 4; i++) {
		scripted_stop_waiting(s, worker[i], lock, 0);
		scripted_hold(s, worker[i], lock, 0, CANCEL_SHARED);
	}
	for (uint32_t i = 0; i < 3; i++) { /* 1 ms of work before, 3 ms after: short for the SLO */
		s->now_ns += MS;
		arrive(s, ARRIVAL, workers, 0, 0);
		scripted_judge(s);
	}
	assert_int_equal(s->decisions, 0);
	scripted_free(s);
}

/* An M/D/4 queue at 1.5 times its capacity, in steps of 5 ms. */
static void overload_of_cpu_alone_is_regular_and_cancels_nobody(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t cpu = scripted_resource(s, CANCEL_QUEUE, 4), head = 0, tail = 0, regular = 0;
	static struct scripted_task *line[600 * 6];
	struct scripted_task *running[4] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < START; i++) { /* full throughput, in time */
		scripted_complete(s, 40, 6 * MS, false);
		scripted_step(s);
	}
	for (uint32_t step = 1; step <= 600; step++) {
		for (uint32_t k = 0; k < 4; k++) {
			if (running[k])
				scripted_end(s, running[k]);
			running[k] = head < tail ? line[head++] : NULL;
			if (running[k])
				scripted_hold(s, running[k], cpu, 0, 1);
		}
		for (uint32_t k = 0; k < 6; k++) {
			line[tail] = scripted_task(s, SLO);
			scripted_wait(s, line[tail++], cpu, 0, 0);
		}
		s->now_ns += 5 * MS;
		if (step % 10 == 0) {
			scripted_judge(s);
			regular += s->verdict.overload == CANCEL_REGULAR;
			assert_int_not_equal(s->verdict.overload, CANCEL_RESOURCE);
		}
	}
	assert_int_equal(s->decisions, 0);
	assert_true(regular > 20);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_NO_CULPRIT);
	scripted_free(s);
}

/* Ten times the load for half a second; some of it late, all of it served. */
static void a_healthy_burst_is_nothing(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *long_reader;

	(void)state;
	scripted_healthy(s, START);
	long_reader = scripted_task(s, 0);
	scripted_hold(s, long_reader, lock, 0, CANCEL_SHARED);
	for (uint32_t i = 0; i < 10; i++) {
		scripted_complete(s, 400, 3 * MS, false);
		scripted_complete(s, 100, 15 * MS, true);
		scripted_step(s);
		assert_int_equal(s->verdict.overload, CANCEL_HEALTHY);
	}
	for (uint32_t i = 0; i < 40; i++) {
		scripted_healthy(s, 1);
		assert_int_equal(s->verdict.overload, CANCEL_HEALTHY);
	}
	assert_int_equal(s->decisions, 0);
	scripted_free(s);
}

static void an_ignored_cancel_escalates_once_and_is_then_left_alone(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;
	uint64_t first_ns;
	bool excluded = false;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	first_ns = s->now_ns;
	assert_false(s->last.escalation);
	culprit->t.state = CANCEL_DELIVERED;
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	for (uint32_t i = 0; i < 19; i++) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		assert_int_equal(s->decisions, 1);
		assert_int_equal(s->verdict.overload, CANCEL_RESOURCE);
		assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_AWAIT_RELEASE);
	}
	for (uint32_t i = 0; i < 60; i++) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		if (s->verdict.decided) {
			assert_true(s->last.escalation);
			assert_int_equal(s->last.target.task, culprit->t.id);
			assert_int_equal(s->now_ns - first_ns, S);
			scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
		}
		for (uint32_t k = 0; k < s->verdict.outcome_count; k++)
			excluded |= s->verdict.outcomes[k].excluded;
	}
	assert_int_equal(s->decisions, 2);
	assert_true(excluded);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_ALREADY_CANCELLED);
	assert_int_equal(s->verdict.held.task, culprit->t.id);
	assert_true(s->verdict.held.score_micro > 0);
	scripted_free(s);
}

static void an_acknowledged_cancel_does_not_escalate(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	culprit->t.state = CANCEL_DELIVERED;
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	scripted_event(s, CANCEL_EVENT_ACKNOWLEDGED, culprit->t.id, 0);
	for (uint32_t i = 0; i < 60; i++) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 1);
	scripted_free(s);
}

static void a_task_blocked_when_the_action_came_is_asked_again_afterwards(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	culprit->t.state = CANCEL_BLOCKED;
	scripted_event(s, CANCEL_EVENT_IGNORED, culprit->t.id, 0);
	for (uint32_t i = 0; i < 10; i++) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_BLOCKED);
		assert_int_equal(s->verdict.held.task, culprit->t.id);
	}
	culprit->t.state = CANCEL_RUNNING;
	scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_true(s->last.escalation);
	scripted_free(s);
}

/* Twelve culprits, each with a table of its own; each is gone in the window after its cancel. */
static void cancels_are_paced_by_gap_and_bucket(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0), count = 0;
	struct scripted_task *culprits[12];
	uint64_t decided_ns[12];

	(void)state;
	scripted_healthy(s, START);
	for (uint32_t i = 0; i < 12; i++) {
		culprits[i] = scripted_task(s, 0);
		scripted_hold(s, culprits[i], lock, i, CANCEL_EXCLUSIVE);
		arrive(s, 10, lock, i, CANCEL_EXCLUSIVE);
	}
	for (uint32_t w = 0; w < 120 && count < 8; w++) {
		scripted_step(s);
		if (!s->verdict.decided)
			continue;
		decided_ns[count++] = s->now_ns;
		for (uint32_t i = 0; i < 12; i++) {
			if (culprits[i]->live && culprits[i]->t.id == s->last.target.task) {
				scripted_event(s, CANCEL_EVENT_RELEASED, culprits[i]->t.id, 0);
				scripted_end(s, culprits[i]);
			}
		}
	}
	assert_int_equal(count, 8);
	for (uint32_t i = 1; i < count; i++)
		assert_true(decided_ns[i] - decided_ns[i - 1] >= 100 * MS);
	/* A burst of five, then one a second, less what came in meanwhile. */
	assert_true(decided_ns[4] - decided_ns[0] <= 500 * MS);
	assert_true(decided_ns[5] - decided_ns[0] >= 900 * MS);
	assert_true(decided_ns[7] - decided_ns[6] >= 900 * MS);
	scripted_free(s);
}

static void the_next_cancel_waits_until_the_last_target_has_released(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *first, *second;
	uint64_t first_ns;

	(void)state;
	scripted_healthy(s, START);
	first = scripted_task(s, 0);
	scripted_hold(s, first, lock, 0, CANCEL_EXCLUSIVE);
	s->now_ns += MS;
	second = scripted_task(s, 0);
	scripted_hold(s, second, lock, 1, CANCEL_EXCLUSIVE);
	arrive(s, 30, lock, 1, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	first_ns = s->now_ns;
	assert_int_equal(s->last.target.task, first->t.id);
	assert_int_equal(s->last.runner_up.task, second->t.id);
	while (s->now_ns - first_ns < 300 * MS) {
		scripted_step(s);
		assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_AWAIT_RELEASE);
	}
	scripted_event(s, CANCEL_EVENT_RELEASED, first->t.id, 0);
	scripted_end(s, first);
	scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_int_equal(s->last.target.task, second->t.id);
	scripted_free(s);
}

/* The gain of the paper's example, through the whole pipeline: a lock held for one second by a task
 * that is 40 % done. */
static void a_lock_held_for_a_second_at_forty_percent_gains_one_and_a_half(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	scripted_healthy(s, 18);
	culprit->t.progress_done = 40;
	culprit->t.progress_expected = 100;
	until_decided(s, lock, CANCEL_EXCLUSIVE, 2);
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->last.target.used_micro[lock], 1000000);
	assert_int_equal(s->last.target.gain_micro[lock], 1500000);
	assert_int_equal(s->last.target.remaining_ns, 1500 * MS);
	scripted_free(s);
}

static void k_sharers_gain_a_kth_each(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *sharers[4];

	(void)state;
	scripted_healthy(s, START);
	for (uint32_t i = 0; i < 4; i++) {
		sharers[i] = scripted_task(s, 0);
		scripted_hold(s, sharers[i], lock, 0, CANCEL_SHARED);
	}
	scripted_healthy(s, 18);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 2);
	assert_int_equal(s->last.target.used_micro[lock], 250000);
	assert_int_equal(s->last.target.task, sharers[0]->t.id); /* the oldest of equals */
	assert_int_equal(s->last.eligible_count, 4);
	scripted_free(s);
}

static void a_task_in_a_blocked_phase_or_rerunning_is_never_chosen(void **state)
{
	const struct {
		uint8_t flags, task_state;
		enum cancel_cause cause;
	} cases[] = {
		{ CANCEL_CANCELLABLE, CANCEL_BLOCKED, CANCEL_CAUSE_BLOCKED },
		{ CANCEL_CANCELLABLE | CANCEL_RERUNNING, CANCEL_RUNNING,
			CANCEL_CAUSE_ALREADY_CANCELLED },
		{ CANCEL_CANCELLABLE | CANCEL_EXEMPT, CANCEL_RUNNING, CANCEL_CAUSE_EXEMPT },
		{ 0, CANCEL_RUNNING, CANCEL_CAUSE_NOT_CANCELLABLE },
		{ CANCEL_CANCELLABLE, CANCEL_DELIVERED, CANCEL_CAUSE_ALREADY_CANCELLED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scripted *s = scripted_new(NULL);
		uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
		struct scripted_task *culprit;

		scripted_healthy(s, START);
		culprit = scripted_task(s, 0);
		culprit->t.flags = cases[i].flags;
		culprit->t.state = cases[i].task_state;
		scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
		until_decided(s, lock, CANCEL_EXCLUSIVE, 30);
		assert_int_equal(s->decisions, 0);
		assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
		assert_int_equal(s->verdict.held_back, cases[i].cause);
		assert_int_equal(s->verdict.held.task, culprit->t.id);
		scripted_free(s);
	}
}

/* Most of the blame is with a task that may not be cancelled: cancelling the other would not help.
 */
static void a_minor_sharer_is_not_cancelled_in_place_of_an_exempt_one(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);

	(void)state;
	scripted_healthy(s, START);
	for (uint32_t i = 0; i < 3; i++) {
		struct scripted_task *t = scripted_task(s, 0);

		scripted_hold(s, t, lock, 0, CANCEL_SHARED);
		if (i < 2)
			t->t.flags |= CANCEL_EXEMPT;
	}
	until_decided(s, lock, CANCEL_EXCLUSIVE, 30);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_EXEMPT);
	scripted_free(s);
}

static void monitor_mode_decides_each_task_once_and_delivers_nothing(void **state)
{
	const struct cancel_pipeline_config monitor = { .struct_size = sizeof(monitor) };
	struct scripted *s = scripted_new(&monitor);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit, *another;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 40; i++) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->cancels, 0);
	assert_false(s->last.acted);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_int_equal(s->verdict.overload, CANCEL_RESOURCE);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_MONITOR);
	scripted_end(s, culprit);
	another = scripted_task(s, 0);
	scripted_hold(s, another, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 10; i++)
		scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_int_equal(s->last.target.task, another->t.id);
	scripted_free(s);
}

static void no_verdict_comes_before_the_warm_up_is_over(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	uint64_t start_ns;

	(void)state;
	scripted_healthy(s, 1);
	start_ns = s->now_ns;
	scripted_hold(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
	while (s->now_ns - start_ns < 1950 * MS) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
		assert_int_equal(s->decisions, 0);
	}
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_WARM_UP);
	scripted_step(s);
	assert_int_equal(s->decisions, 1);
	scripted_free(s);
}

static void a_culprit_that_comes_again_is_recognised(void **state)
{
	const struct cancel_pipeline_config config = {
		.struct_size = sizeof(config), .act = true, .quarantine_ms = 60000
	};
	struct scripted *s = scripted_new(&config);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);

	(void)state;
	for (uint32_t round = 0; round < 2; round++) {
		struct scripted_task *culprit;
		uint32_t before;

		scripted_healthy(s, START);
		before = s->decisions;
		culprit = scripted_task(s, 0);
		culprit->t.signature = 4711;
		scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
		for (uint32_t i = 0; i < 10 && s->decisions == before; i++) {
			arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
			scripted_step(s);
		}
		assert_int_equal(s->decisions, before + 1);
		assert_int_equal(s->last.returning, round == 1);
		assert_int_equal(s->last.quarantine_until_ns, s->now_ns + 60 * S);
		for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
			if (s->tasks[i].live)
				scripted_end(s, &s->tasks[i]);
		}
	}
	scripted_free(s);
}

/* A batch that takes a lock for 10 ms at a time, again and again: never long, always in the way. */
static void a_task_that_takes_the_lock_again_and_again_is_found(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *batch;

	(void)state;
	scripted_healthy(s, START);
	batch = scripted_task(s, 0);
	for (uint32_t w = 0; w < 10 && s->decisions == 0; w++) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		for (uint32_t i = 0; i < 4; i++) {
			scripted_hold(s, batch, lock, 0, CANCEL_EXCLUSIVE);
			s->now_ns += 12 * MS;
			scripted_release(s, batch, lock, 0);
			s->now_ns += MS / 2;
		}
		scripted_judge(s);
	}
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->last.target.task, batch->t.id);
	scripted_free(s);
}

/* Many short exclusive holders in turn: everybody waits, and it is nobody's fault. */
static void a_convoy_of_short_holders_has_no_culprit(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *holder = NULL;

	(void)state;
	scripted_healthy(s, START);
	for (uint32_t w = 0; w < 40; w++) {
		arrive(s, 20, lock, 0, CANCEL_EXCLUSIVE);
		for (uint32_t i = 0; i < 25; i++) {
			if (holder)
				scripted_end(s, holder);
			holder = scripted_task(s, SLO);
			scripted_hold(s, holder, lock, 0, CANCEL_EXCLUSIVE);
			s->now_ns += 2 * MS;
		}
		scripted_judge(s);
	}
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_NO_CULPRIT);
	assert_true(s->verdict.contention_ppm[lock] > 800000);
	scripted_free(s);
}

/* Reads of a hot set that a dump keeps evicting: 25 of each victim's 30 ms are stalls. */
static void dump_window(struct scripted *s, uint32_t pool, struct scripted_task *dump,
	struct scripted_task *other, bool charged)
{
	struct cancel_ledger_entry *d = scripted_entry(s, dump, pool, 0);
	struct cancel_ledger_entry *o = scripted_entry(s, other, pool, 0);

	scripted_complete(s, 20, 30 * MS, true);
	s->resources[pool].ended_wait_ns += 20 * 25 * MS;
	d->evicted += 500;
	o->evicted += 10;
	if (charged) {
		d->stall_caused_ns += 19 * 25 * MS;
		o->stall_caused_ns += 25 * MS;
	}
	scripted_step(s);
}

static void a_dump_that_empties_the_pool_is_cancelled(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 10000);
	struct scripted_task *dump, *other;

	(void)state;
	scripted_healthy(s, START);
	dump = scripted_task(s, 0);
	other = scripted_task(s, 0);
	for (uint32_t i = 0; i < 10 && s->decisions == 0; i++)
		dump_window(s, pool, dump, other, true);
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.target.task, dump->t.id);
	assert_int_equal(s->last.target.blame_ppm[pool], 950000);
	/* Evictions of at most 3 windows, decaying, in parts of 10,000 pages. */
	assert_in_range(s->last.target.used_micro[pool], 90000, 150000);
	/* The other has 5 % of the blame but only 2 % of the evictions. */
	assert_int_equal(s->last.held_back[CANCEL_CAUSE_SHORT_HOLD], 1);
	scripted_free(s);
}

static void cold_misses_are_nobodys_fault(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 10000);
	struct scripted_task *dump, *other;

	(void)state;
	scripted_healthy(s, START);
	dump = scripted_task(s, 0);
	other = scripted_task(s, 0);
	for (uint32_t i = 0; i < 20; i++)
		dump_window(s, pool, dump, other, false);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(s->verdict.contention_ppm[pool], 0);
	scripted_free(s);
}

/* The holder of the lock reads from a thrashing pool: its waiters wait for the dump. */
static void stalls_of_a_lock_holder_are_passed_on_to_the_evictor(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 10000);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *dump, *holder;

	(void)state;
	scripted_healthy(s, START);
	dump = scripted_task(s, 0);
	holder = scripted_task(s, SLO);
	scripted_hold(s, holder, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 10 && s->decisions == 0; i++) {
		struct cancel_ledger_entry *d = scripted_entry(s, dump, pool, 0);

		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		d->evicted += 500;
		d->stall_caused_ns += 45 * MS;
		scripted_entry(s, holder, pool, 0)->wait_ns += 45 * MS;
		scripted_step(s);
	}
	assert_int_equal(s->last.target.task, dump->t.id);
	assert_int_equal(s->last.top_resource, pool);
	scripted_free(s);
}

static void a_deadlock_ends_and_one_of_it_is_cancelled(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *a, *b;

	(void)state;
	scripted_healthy(s, START);
	a = scripted_task(s, 0);
	b = scripted_task(s, 0);
	scripted_hold(s, a, lock, 0, CANCEL_EXCLUSIVE);
	scripted_hold(s, b, lock, 1, CANCEL_EXCLUSIVE);
	scripted_wait(s, a, lock, 1, CANCEL_EXCLUSIVE);
	scripted_wait(s, b, lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->decisions, 1);
	assert_true(s->last.target.task == a->t.id || s->last.target.task == b->t.id);
	scripted_free(s);
}

static void one_task_that_waits_three_slos_is_enough(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	arrive(s, 1, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 10 && s->decisions == 0; i++)
		scripted_step(s);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_int_equal(s->verdict.late_tasks, 1);
	scripted_free(s);
}

static void an_outcome_is_timed_from_onset_to_recovery(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;
	const struct cancel_times *t;
	uint64_t begin_ns;

	(void)state;
	scripted_healthy(s, START);
	begin_ns = s->now_ns;
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	s->now_ns += 2 * MS;
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	culprit->t.state = CANCEL_DELIVERED;
	s->now_ns += 3 * MS;
	scripted_event(s, CANCEL_EVENT_ACKNOWLEDGED, culprit->t.id, 0);
	s->now_ns += 5 * MS;
	scripted_event(s, CANCEL_EVENT_RELEASED, culprit->t.id, 0);
	scripted_event(s, CANCEL_EVENT_ENDED, culprit->t.id, 160 * MS);
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
		if (s->tasks[i].live)
			scripted_end(s, &s->tasks[i]);
	}
	scripted_healthy(s, 1);
	assert_int_equal(s->verdict.calm_mask, 0);
	scripted_healthy(s, 40);
	t = &s->last_outcome.times;
	assert_int_equal(t->onset_ns, begin_ns + SLO);
	assert_int_equal(t->suspected_ns, begin_ns + 50 * MS);
	assert_int_equal(t->decided_ns, begin_ns + 100 * MS);
	assert_int_equal(t->delivered_ns, begin_ns + 102 * MS);
	assert_int_equal(t->acknowledged_ns, begin_ns + 105 * MS);
	assert_int_equal(t->released_ns, begin_ns + 110 * MS);
	assert_int_equal(t->recovered_ns, begin_ns + 160 * MS);
	assert_int_equal(s->last_outcome.wasted_ns, 160 * MS);
	assert_true(s->last_outcome.final);
	assert_int_equal(s->verdict.overload, CANCEL_HEALTHY);
	assert_int_equal(s->verdict.calm_mask, 1);
	assert_false(s->verdict.precise);
	scripted_free(s);
}

static void a_rerun_is_reported_with_its_wait_and_never_cancelled(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	scripted_event(s, CANCEL_EVENT_DELIVERED, culprit->t.id, 0);
	scripted_release(s, culprit, lock, 0);
	scripted_event(s, CANCEL_EVENT_RELEASED, culprit->t.id, 0);
	for (uint32_t i = 0; i < SCRIPTED_TASKS; i++) {
		if (s->tasks[i].live && &s->tasks[i] != culprit)
			scripted_end(s, &s->tasks[i]);
	}
	scripted_healthy(s, 40);
	scripted_event(s, CANCEL_EVENT_RERUN, culprit->t.id, 0);
	culprit->t.state = CANCEL_RUNNING;
	culprit->t.flags |= CANCEL_RERUNNING;
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	scripted_healthy(s, 1);
	assert_int_equal(s->last_outcome.reruns, 1);
	assert_int_equal(s->last_outcome.rerun_wait_ns, 2 * S);
	assert_true(s->last_outcome.final);
	for (uint32_t i = 0; i < 30; i++) {
		arrive(s, ARRIVAL, lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_ALREADY_CANCELLED);
	scripted_free(s);
}

/* What the core remembers of a task must not reach the next one on its slot. */
static void a_slot_reused_starts_clean(void **state)
{
	const struct cancel_pipeline_config monitor = { .struct_size = sizeof(monitor) };
	struct scripted *s = scripted_new(&monitor);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0), slot;
	struct scripted_task *culprit;

	(void)state;
	scripted_healthy(s, START);
	culprit = scripted_task(s, 0);
	slot = culprit->t.slot;
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->decisions, 1);
	scripted_end(s, culprit);
	culprit = scripted_task(s, 0);
	assert_int_equal(culprit->t.slot, slot);
	scripted_hold(s, culprit, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 5; i++)
		scripted_step(s);
	assert_int_equal(s->decisions, 2);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_true(s->last.target.used_micro[lock] <= 250000);
	scripted_free(s);
}

static void a_stuck_action_stops_new_cancels(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);

	(void)state;
	scripted_healthy(s, START);
	s->ledger.action_stuck = true;
	scripted_hold(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
	until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.held_back, CANCEL_CAUSE_ACTION_STUCK);
	s->ledger.action_stuck = false;
	scripted_step(s);
	assert_int_equal(s->cancels, 1);
	scripted_free(s);
}

/* A lock that always costs half of the time is not what is wrong today. */
static void what_is_usual_for_a_resource_does_not_count(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *reader;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) { /* 5 of 10 ms */
		s->resources[lock].ended_wait_ns += 50 * 5 * MS;
		scripted_complete(s, 50, 10 * MS, false);
		scripted_step(s);
	}
	assert_int_equal(s->verdict.contention_ppm[lock], 500000);
	reader = scripted_task(s, 0);
	scripted_hold(s, reader, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 20; i++) { /* late for another reason */
		s->resources[lock].ended_wait_ns += 50 * 15 * MS;
		scripted_complete(s, 50, 30 * MS, true);
		scripted_step(s);
	}
	assert_int_equal(s->decisions, 0);
	assert_int_equal(s->verdict.overload, CANCEL_REGULAR);
	scripted_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(victims_behind_a_waiting_backup_blame_the_update_it_waits_for),
		cmocka_unit_test(a_chain_ends_at_the_one_who_does_not_wait),
		cmocka_unit_test(a_full_worker_queue_behind_a_lock_is_blamed_on_the_lock),
		cmocka_unit_test(a_worker_that_waited_for_a_lock_is_no_culprit_once_it_runs),
		cmocka_unit_test(overload_of_cpu_alone_is_regular_and_cancels_nobody),
		cmocka_unit_test(a_healthy_burst_is_nothing),
		cmocka_unit_test(an_ignored_cancel_escalates_once_and_is_then_left_alone),
		cmocka_unit_test(an_acknowledged_cancel_does_not_escalate),
		cmocka_unit_test(a_task_blocked_when_the_action_came_is_asked_again_afterwards),
		cmocka_unit_test(cancels_are_paced_by_gap_and_bucket),
		cmocka_unit_test(the_next_cancel_waits_until_the_last_target_has_released),
		cmocka_unit_test(a_lock_held_for_a_second_at_forty_percent_gains_one_and_a_half),
		cmocka_unit_test(k_sharers_gain_a_kth_each),
		cmocka_unit_test(a_task_in_a_blocked_phase_or_rerunning_is_never_chosen),
		cmocka_unit_test(a_minor_sharer_is_not_cancelled_in_place_of_an_exempt_one),
		cmocka_unit_test(monitor_mode_decides_each_task_once_and_delivers_nothing),
		cmocka_unit_test(no_verdict_comes_before_the_warm_up_is_over),
		cmocka_unit_test(a_culprit_that_comes_again_is_recognised),
		cmocka_unit_test(a_task_that_takes_the_lock_again_and_again_is_found),
		cmocka_unit_test(a_convoy_of_short_holders_has_no_culprit),
		cmocka_unit_test(a_dump_that_empties_the_pool_is_cancelled),
		cmocka_unit_test(cold_misses_are_nobodys_fault),
		cmocka_unit_test(stalls_of_a_lock_holder_are_passed_on_to_the_evictor),
		cmocka_unit_test(a_deadlock_ends_and_one_of_it_is_cancelled),
		cmocka_unit_test(one_task_that_waits_three_slos_is_enough),
		cmocka_unit_test(an_outcome_is_timed_from_onset_to_recovery),
		cmocka_unit_test(a_rerun_is_reported_with_its_wait_and_never_cancelled),
		cmocka_unit_test(a_slot_reused_starts_clean),
		cmocka_unit_test(a_stuck_action_stops_new_cancels),
		cmocka_unit_test(what_is_usual_for_a_resource_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

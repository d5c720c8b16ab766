/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole situations in which somebody is to blame: the right one is found.
 */
#include "test.h"

#include "scripted.h"

static bool is_contender(const struct cancel_decision *d, uint64_t task)
{
	for (uint32_t i = 0; i < d->contender_count; i++) {
		if (d->contenders[i].task == task)
			return true;
	}
	return false;
}

#define SHARERS 600

/* More are eligible than the list holds: the policy's choice is still that of all. Each sharer came
 * later than the one before and took the lock sooner, so the oldest gives back the least. */
static uint64_t chosen_of_many(const char *policy, uint64_t *oldest, uint64_t *longest_hold)
{
	const struct cancel_pipeline_config config = { .struct_size = sizeof config,
		.act = true,
		.policy = cancel_policy_find(policy),
		.blame_ppm = 1 };
	struct scripted *s = scripted_new(&config);
	uint32_t table = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *sharers[SHARERS];
	uint64_t target;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t i = 0; i < SHARERS; i++) {
		sharers[i] = scripted_task(s, 0);
		s->now_ns += 1000;
	}
	for (uint32_t i = SHARERS; i-- > 0;) {
		scripted_hold(s, sharers[i], table, 0, CANCEL_SHARED);
		s->now_ns += MS;
	}
	scripted_healthy(s, 10);
	scripted_until_decided(s, table, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.eligible_count, SHARERS);
	*oldest = sharers[0]->t.id;
	*longest_hold = sharers[SHARERS - 1]->t.id;
	target = s->last.target.task;
	assert_int_not_equal(s->last.runner_up.task, 0);
	assert_int_not_equal(s->last.runner_up.task, target);
	scripted_free(s);
	return target;
}

static void many_candidates_do_not_change_the_choice(void **state)
{
	uint64_t oldest, longest_hold;
	(void)state;
	uint64_t chosen = chosen_of_many("longest", &oldest, &longest_hold);
	assert_int_equal(chosen, oldest);
	chosen = chosen_of_many("multi-objective", &oldest, &longest_hold);
	assert_int_equal(chosen, longest_hold);
	chosen = chosen_of_many("greedy", &oldest, &longest_hold);
	assert_int_equal(chosen, longest_hold);
}

/* The paper's second motivation: the waiting backup is not the cure. */
static void victims_behind_a_waiting_backup_blame_the_update_it_waits_for(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t table = scripted_resource(s, CANCEL_LOCK, 0);
	uint32_t global = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *update, *backup;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	update = scripted_task(s, 0);
	scripted_hold(s, update, table, 17, CANCEL_EXCLUSIVE);
	scripted_hold(s, update, global, 0, CANCEL_SHARED);
	scripted_healthy(s, 10); /* alone it hurts nobody */
	backup = scripted_task(s, 0);
	backup->t.flags |= CANCEL_MAINTENANCE;
	scripted_wait(s, backup, global, 0, CANCEL_EXCLUSIVE);
	s->now_ns += MS;
	scripted_until_decided(s, global, CANCEL_SHARED, 10);
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
	scripted_healthy(s, SCRIPTED_START);
	update = scripted_task(s, 0);
	scripted_hold(s, update, table, 17, CANCEL_EXCLUSIVE);
	victim = scripted_task(s, 0);
	scripted_hold(s, victim, global, 0, CANCEL_SHARED);
	scripted_wait(s, victim, table, 17, CANCEL_SHARED);
	s->now_ns += MS;
	backup = scripted_task(s, 0);
	backup->t.flags |= CANCEL_MAINTENANCE;
	scripted_wait(s, backup, global, 0, CANCEL_EXCLUSIVE);
	s->now_ns += MS;
	scripted_until_decided(s, global, CANCEL_SHARED, 10);
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
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct scripted_task *worker = scripted_task(s, SCRIPTED_SLO_NS);
		scripted_hold(s, worker, workers, 0, 1);
		scripted_wait(s, worker, lock, 0, CANCEL_EXCLUSIVE);
	}
	scripted_until_decided(s, workers, 0, 10);
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
	scripted_healthy(s, SCRIPTED_START);
	holder = scripted_task(s, 0);
	holder->t.flags |= CANCEL_RERUNNING;
	scripted_hold(s, holder, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 4; i++) {
		worker[i] = scripted_task(s, SCRIPTED_SLO_NS);
		scripted_hold(s, worker[i], workers, 0, 1);
		s->now_ns += MS;
		scripted_wait(s, worker[i], lock, 0, CANCEL_SHARED);
	}
	scripted_until_decided(s, workers, 0, 60);
	scripted_end(s, holder);
	for (uint32_t i = 0; i < 4; i++) {
		scripted_stop_waiting(s, worker[i], lock, 0);
		scripted_hold(s, worker[i], lock, 0, CANCEL_SHARED);
	}
	for (uint32_t i = 0; i < 3; i++) { /* 1 ms of work before, 3 ms after: short for the SLO */
		s->now_ns += MS;
		scripted_arrive(s, SCRIPTED_ARRIVALS, workers, 0, 0);
		scripted_judge(s);
	}
	assert_int_equal(s->decisions, 0);
	scripted_free(s);
}

/* The gain of the paper's example, through the whole pipeline: a lock held for one second by a task
 * that is 40 % done. */
static void a_lock_held_for_a_second_at_forty_percent_gains_one_and_a_half(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	scripted_healthy(s, 18);
	culprit->t.progress_done = 40;
	culprit->t.progress_expected = 100;
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 2);
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
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t i = 0; i < 4; i++) {
		sharers[i] = scripted_task(s, 0);
		scripted_hold(s, sharers[i], lock, 0, CANCEL_SHARED);
	}
	scripted_healthy(s, 18);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 2);
	assert_int_equal(s->last.target.used_micro[lock], 250000);
	assert_int_equal(s->last.target.task, sharers[0]->t.id); /* the oldest of equals */
	assert_int_equal(s->last.eligible_count, 4);
	scripted_free(s);
}

/* A batch that takes a lock for 10 ms at a time, again and again: never long, always in the way. */
static void a_task_that_takes_the_lock_again_and_again_is_found(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *batch;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	batch = scripted_task(s, 0);
	for (uint32_t w = 0; w < 10 && s->decisions == 0; w++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
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

static void a_dump_that_empties_the_pool_is_cancelled(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 10000);
	struct scripted_task *dump, *other;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	dump = scripted_task(s, 0);
	other = scripted_task(s, 0);
	for (uint32_t i = 0; i < 10 && s->decisions == 0; i++)
		scripted_dump(s, pool, dump, other, true);
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.target.task, dump->t.id);
	assert_int_equal(s->last.target.blame_ppm[pool], 950000);
	/* Evictions of at most 3 windows, decaying, in parts of 10,000 pages. */
	assert_in_range(s->last.target.used_micro[pool], 90000, 150000);
	/* The other has 5 % of the blame but only 2 % of the evictions. */
	assert_int_equal(s->last.held_back[CANCEL_CAUSE_SHORT_HOLD], 1);
	assert_int_equal(
		s->last.held_back[CANCEL_CAUSE_NONE], 0); /* not those that could be chosen */
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
	scripted_healthy(s, SCRIPTED_START);
	dump = scripted_task(s, 0);
	holder = scripted_task(s, SCRIPTED_SLO_NS);
	scripted_hold(s, holder, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 10 && s->decisions == 0; i++) {
		struct cancel_ledger_entry *d = scripted_entry(s, dump, pool, 0);
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
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
	scripted_healthy(s, SCRIPTED_START);
	a = scripted_task(s, 0);
	b = scripted_task(s, 0);
	scripted_hold(s, a, lock, 0, CANCEL_EXCLUSIVE);
	scripted_hold(s, b, lock, 1, CANCEL_EXCLUSIVE);
	scripted_wait(s, a, lock, 1, CANCEL_EXCLUSIVE);
	scripted_wait(s, b, lock, 0, CANCEL_EXCLUSIVE);
	scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
	assert_int_equal(s->decisions, 1);
	assert_true(s->last.target.task == a->t.id || s->last.target.task == b->t.id);
	scripted_free(s);
}

static void one_task_that_waits_three_slos_is_enough(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprit = scripted_culprit(s, lock);
	(void)state;
	scripted_arrive(s, 1, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 10 && s->decisions == 0; i++)
		scripted_step(s);
	assert_int_equal(s->last.target.task, culprit->t.id);
	assert_int_equal(s->verdict.late_tasks, 1);
	scripted_free(s);
}

/* Work memory: it is given out and given back, and nobody evicts. */
static void who_holds_memory_that_others_wait_for_is_found(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t memory = scripted_resource(s, CANCEL_MEMORY, 1000);
	struct scripted_task *sort, *small;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	small = scripted_task(s, 0);
	scripted_hold(s, small, memory, 0, 100);
	sort = scripted_task(s, 0);
	scripted_hold(s, sort, memory, 0, 850);
	scripted_until_decided(s, memory, 0, 10);
	assert_int_equal(s->cancels, 1);
	assert_int_equal(s->last.target.task, sort->t.id);
	assert_int_equal(s->last.runner_up.task, small->t.id);
	/* 85 % of the memory for 100 ms */
	assert_int_equal(s->last.target.used_micro[memory], 85000);
	assert_true(s->last.target.blame_ppm[memory] >= 840000);
	scripted_free(s);
}

/* Cold misses of a pool that still fills up. */
static void nobody_is_to_blame_for_a_pool_that_is_not_full(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 1000);
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	scripted_hold(s, scripted_task(s, 0), pool, 0, 850);
	scripted_until_decided(s, pool, 0, 20);
	assert_int_equal(s->decisions, 0);
	scripted_free(s);
}

/* Nine of ten rows of this statement are read; its transaction has run others before. */
static void progress_of_a_statement_is_not_that_of_its_transaction(void **state)
{
	(void)state;
	for (int earlier = 0; earlier <= 1; earlier++) {
		struct scripted *s = scripted_new(NULL);
		uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
		struct scripted_task *transaction = scripted_culprit(s, lock);
		transaction->active_ns = earlier ? S : 0;
		transaction->t.progress_done = 90;
		transaction->t.progress_expected = 100;
		scripted_until_decided(s, lock, CANCEL_EXCLUSIVE, 10);
		assert_int_equal(s->decisions, 1);
		if (earlier)
			assert_int_equal(
				s->last.target.gain_micro[lock], s->last.target.used_micro[lock]);
		else
			assert_true(s->last.target.gain_micro[lock] <
				    s->last.target.used_micro[lock] / 5);
		scripted_free(s);
	}
}

/* A session whose statements take the lock for 9 ms each, 1 ms apart: between them it is idle and
 * holds nothing. */
static void many_short_statements_of_one_session_add_up(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0), windows = 0;
	struct scripted_task *session;
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	session = scripted_task(s, 0);
	while (s->decisions == 0 && windows++ < 20) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
		for (uint32_t i = 0; i < 5; i++) {
			session->t.episode_start_ns = s->now_ns;
			scripted_hold(s, session, lock, 0, CANCEL_EXCLUSIVE);
			s->now_ns += 9 * MS;
			scripted_release(s, session, lock, 0);
			session->active_ns += 9 * MS;
			session->t.episode_start_ns = 0;
			s->now_ns += MS;
		}
		scripted_judge(s);
	}
	assert_int_equal(s->decisions, 1);
	assert_int_equal(s->last.target.task, session->t.id);
	assert_true(s->last.decided_ns - s->last.onset_ns <= 150 * MS);
	assert_int_equal(s->last.strength, CANCEL_END_STATEMENT);
	assert_true(s->last.target.used_micro[lock] > 80000);
	scripted_free(s);
}

/* The same use by as many tasks is nobody's. */
static void short_statements_of_many_do_not_add_up(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t window = 0; window < 20; window++) {
		scripted_arrive(s, SCRIPTED_ARRIVALS, lock, 0, CANCEL_EXCLUSIVE);
		for (uint32_t i = 0; i < 5; i++) {
			struct scripted_task *one = scripted_task(s, 0);
			scripted_hold(s, one, lock, 0, CANCEL_EXCLUSIVE);
			s->now_ns += 9 * MS;
			scripted_end(s, one);
			s->now_ns += MS;
		}
		scripted_judge(s);
	}
	assert_int_equal(s->decisions, 0);
	scripted_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_candidates_do_not_change_the_choice),
		cmocka_unit_test(victims_behind_a_waiting_backup_blame_the_update_it_waits_for),
		cmocka_unit_test(a_chain_ends_at_the_one_who_does_not_wait),
		cmocka_unit_test(a_full_worker_queue_behind_a_lock_is_blamed_on_the_lock),
		cmocka_unit_test(a_worker_that_waited_for_a_lock_is_no_culprit_once_it_runs),
		cmocka_unit_test(a_lock_held_for_a_second_at_forty_percent_gains_one_and_a_half),
		cmocka_unit_test(k_sharers_gain_a_kth_each),
		cmocka_unit_test(a_task_that_takes_the_lock_again_and_again_is_found),
		cmocka_unit_test(a_dump_that_empties_the_pool_is_cancelled),
		cmocka_unit_test(stalls_of_a_lock_holder_are_passed_on_to_the_evictor),
		cmocka_unit_test(a_deadlock_ends_and_one_of_it_is_cancelled),
		cmocka_unit_test(one_task_that_waits_three_slos_is_enough),
		cmocka_unit_test(who_holds_memory_that_others_wait_for_is_found),
		cmocka_unit_test(nobody_is_to_blame_for_a_pool_that_is_not_full),
		cmocka_unit_test(progress_of_a_statement_is_not_that_of_its_transaction),
		cmocka_unit_test(many_short_statements_of_one_session_add_up),
		cmocka_unit_test(short_statements_of_many_do_not_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

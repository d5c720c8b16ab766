/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A waiter that bars others against the holders it waits for: who goes?
 */
#include "test.h"

#include "scripted.h"

#define SELECT_NS (5 * S)

/* A long SELECT reads a table, an ALTER waits for it, and readers queue behind the ALTER. */
struct queue {
	struct scripted *s;
	uint32_t table;
	struct scripted_task *select, *alter;
};

static struct queue ddl_queue(void)
{
	struct queue q = { .s = scripted_new(NULL) };
	q.table = scripted_resource(q.s, CANCEL_LOCK, 0);
	scripted_healthy(q.s, SCRIPTED_START);
	q.select = scripted_task(q.s, 0);
	scripted_hold(q.s, q.select, q.table, 0, CANCEL_SHARED);
	scripted_healthy(q.s, (uint32_t)(SELECT_NS / q.s->window_ns)); /* alone it hurts nobody */
	q.alter = scripted_task(q.s, 0);
	scripted_wait(q.s, q.alter, q.table, 0, CANCEL_EXCLUSIVE);
	q.s->now_ns += MS;
	return q;
}

static uint64_t target_of(struct queue *q)
{
	uint64_t target;
	scripted_until_decided(q->s, q->table, CANCEL_SHARED, 10);
	target = q->s->decisions ? q->s->last.target.task : 0;
	return target;
}

static void a_ddl_queue_gives_up_the_ddl(void **state)
{
	struct queue q = ddl_queue();
	const struct cancel_candidate *target = &q.s->last.target;
	(void)state;
	assert_int_equal(target_of(&q), q.alter->t.id);
	assert_int_equal(q.s->last.eligible_count, 1);
	assert_int_equal(target->blame_ppm[q.table], CANCEL_PPM);
	assert_int_equal(target->used_micro[q.table], 101000); /* its wait */
	/* Everybody, for as long as the SELECT has held: as far as is known half is done. */
	assert_int_equal(target->gain_micro[q.table], 5101000);
	scripted_event(q.s, CANCEL_EVENT_RELEASED, q.alter->t.id, 0);
	scripted_end_all_but(q.s, q.select);
	scripted_healthy(q.s, 40);
	assert_int_equal(q.s->decisions, 1);
	scripted_free(q.s);
}

static void maintenance_stays_and_the_holder_goes(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	q.alter->t.flags |= CANCEL_MAINTENANCE;
	assert_int_equal(target_of(&q), q.select->t.id);
	scripted_free(q.s);
}

static void a_waiter_that_ranks_above_the_holder_stays(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	q.alter->t.rank = 2;
	q.select->t.rank = 1;
	assert_int_equal(target_of(&q), q.select->t.id);
	scripted_free(q.s);
}

static void a_waiter_of_the_same_rank_goes(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	q.alter->t.rank = q.select->t.rank = 2;
	assert_int_equal(target_of(&q), q.alter->t.id);
	scripted_free(q.s);
}

/* Others would wait for the holder all the same. */
static void a_waiter_behind_an_exclusive_holder_is_not_the_cure(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	scripted_release(q.s, q.select, q.table, 0);
	scripted_hold(q.s, q.select, q.table, 0, CANCEL_EXCLUSIVE);
	assert_int_equal(target_of(&q), q.select->t.id);
	scripted_free(q.s);
}

/* One end or two: the holder's. */
static void two_waiters_are_not_given_up_for_one_holder(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	scripted_wait(q.s, scripted_task(q.s, 0), q.table, 0, CANCEL_EXCLUSIVE);
	q.s->now_ns += MS;
	assert_int_equal(target_of(&q), q.select->t.id);
	scripted_free(q.s);
}

/* Who has only just begun loses less than who has waited long. */
static void a_holder_that_loses_less_goes(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	q.select->t.episode_start_ns = q.s->now_ns;
	scripted_release(q.s, q.select, q.table, 0);
	scripted_hold(q.s, q.select, q.table, 0, CANCEL_SHARED);
	assert_int_equal(target_of(&q), q.select->t.id);
	scripted_free(q.s);
}

static void a_waiter_goes_where_the_holder_must_stay(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	q.select->t.flags = CANCEL_EXEMPT | CANCEL_CANCELLABLE;
	assert_int_equal(target_of(&q), q.alter->t.id);
	scripted_free(q.s);
}

static void the_holder_goes_where_the_waiter_must_stay(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	q.alter->t.flags = 0;
	assert_int_equal(target_of(&q), q.select->t.id);
	scripted_free(q.s);
}

/* Until the ALTER has left, nobody else is to blame. */
static void a_waiter_on_its_way_out_does_not_cost_the_holder(void **state)
{
	struct queue q = ddl_queue();
	(void)state;
	assert_int_equal(target_of(&q), q.alter->t.id);
	q.alter->t.state = CANCEL_DELIVERED;
	scripted_event(q.s, CANCEL_EVENT_DELIVERED, q.alter->t.id, 0);
	scripted_event(q.s, CANCEL_EVENT_ACKNOWLEDGED, q.alter->t.id, 0);
	scripted_crowd(q.s, q.table, CANCEL_SHARED, 60);
	assert_int_equal(q.s->decisions, 1);
	scripted_free(q.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ddl_queue_gives_up_the_ddl),
		cmocka_unit_test(maintenance_stays_and_the_holder_goes),
		cmocka_unit_test(a_waiter_that_ranks_above_the_holder_stays),
		cmocka_unit_test(a_waiter_of_the_same_rank_goes),
		cmocka_unit_test(a_waiter_behind_an_exclusive_holder_is_not_the_cure),
		cmocka_unit_test(two_waiters_are_not_given_up_for_one_holder),
		cmocka_unit_test(a_holder_that_loses_less_goes),
		cmocka_unit_test(a_waiter_goes_where_the_holder_must_stay),
		cmocka_unit_test(the_holder_goes_where_the_waiter_must_stay),
		cmocka_unit_test(a_waiter_on_its_way_out_does_not_cost_the_holder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

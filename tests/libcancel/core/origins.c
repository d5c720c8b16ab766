/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancels that do not help are bounded: by origin, and in sum.
 */
#include "test.h"

#include "scripted.h"

#define SIGNATURE 4711u

/* Victims arrive all the time; whoever is cancelled is gone in the next window, and another comes
 * in its place. */
struct loop {
	struct scripted *s;
	uint32_t lock;
	struct scripted_task *culprit;
	uint64_t signature, origin;
	uint32_t windows;
	bool strangers; /* each has a signature of its own */
};

static struct loop start(const struct cancel_pipeline_config *config)
{
	struct loop l = { .s = scripted_new(config), .signature = SIGNATURE };
	l.lock = scripted_resource(l.s, CANCEL_LOCK, 0);
	scripted_healthy(l.s, SCRIPTED_START);
	return l;
}

static void come(struct loop *l)
{
	l->culprit = scripted_task(l->s, 0);
	l->culprit->t.signature = l->strangers ? l->signature++ : l->signature;
	l->culprit->t.origin = l->origin;
	scripted_hold(l->s, l->culprit, l->lock, 0, CANCEL_EXCLUSIVE);
}

static void run(struct loop *l, uint32_t windows)
{
	for (uint32_t i = 0; i < windows; i++) {
		if (!l->culprit)
			come(l);
		if (++l->windows % 40 == 0) /* they have waited for two seconds, and give up */
			scripted_end_all_but(l->s, l->culprit);
		scripted_arrive(l->s, 4, l->lock, 0, CANCEL_EXCLUSIVE);
		scripted_step(l->s);
		if (!l->s->verdict.cancel || l->s->last.target.task != l->culprit->t.id)
			continue;
		scripted_event(l->s, CANCEL_EVENT_RELEASED, l->culprit->t.id, 0);
		scripted_end_all_but(l->s, NULL); /* those who waited got in */
		l->culprit = NULL;
	}
}

static void what_keeps_coming_back_is_cancelled_six_times(void **state)
{
	struct loop l = start(NULL);
	(void)state;
	run(&l, 600); /* 30 s */
	assert_int_equal(l.s->cancels, 6);
	assert_int_equal(l.s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(l.s->verdict.held_back, CANCEL_CAUSE_CANCELS_DO_NOT_HELP);
	assert_int_equal(l.s->verdict.held.task, l.culprit->t.id);
	scripted_free(l.s);
}

static void origins_a_host_gives_count_in_place_of_signatures(void **state)
{
	struct loop l = start(NULL);
	(void)state;
	l.origin = 12;
	for (uint32_t i = 0; i < 20; i++) {
		l.signature = SIGNATURE + i;
		run(&l, 10);
	}
	assert_int_equal(l.s->cancels, 6);
	scripted_free(l.s);
}

/* Each is a stranger: nothing tells that these belong together. */
static void strangers_are_cancelled_one_after_the_other(void **state)
{
	struct loop l = start(NULL);
	(void)state;
	l.strangers = true;
	run(&l, 600);
	assert_true(l.s->cancels > 20);
	scripted_free(l.s);
}

static void in_sum_eight_that_come_back_are_the_end(void **state)
{
	struct loop l = start(NULL);
	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		l.signature = SIGNATURE + i % 10;
		run(&l, 20);
	}
	assert_true(l.s->cancels <= 18); /* ten strangers, and eight of them again */
	assert_int_equal(l.s->verdict.overload, CANCEL_REGULAR);
	assert_int_equal(l.s->verdict.held_back, CANCEL_CAUSE_CANCELS_DO_NOT_HELP);
	scripted_free(l.s);
}

/* A culprit of the night before, and one of tonight. */
static void who_stays_away_for_a_minute_has_not_come_back(void **state)
{
	struct loop l = start(NULL);
	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t before = l.s->cancels;
		run(&l, 3);
		assert_int_equal(l.s->cancels, before + 1);
		scripted_end_all_but(l.s, NULL);
		l.culprit = NULL;
		scripted_healthy(l.s, 1300);
	}
	scripted_free(l.s);
}

/* It comes every two seconds, and each time all is well after its cancel. */
static void cancels_that_make_all_well_do_not_count(void **state)
{
	struct loop l = start(NULL);
	(void)state;
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t before = l.s->cancels;
		run(&l, 3);
		assert_int_equal(l.s->cancels, before + 1);
		scripted_end_all_but(l.s, NULL);
		l.culprit = NULL;
		scripted_healthy(l.s, 40);
	}
	scripted_free(l.s);
}

/* Five of one kind that were all there from the start are five culprits. */
static void many_of_one_signature_at_once_have_not_come_back(void **state)
{
	struct scripted *s = scripted_new(NULL);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *culprits[5];
	(void)state;
	scripted_healthy(s, SCRIPTED_START);
	for (uint32_t i = 0; i < 5; i++) {
		culprits[i] = scripted_task(s, 0);
		culprits[i]->t.signature = SIGNATURE;
		scripted_hold(s, culprits[i], lock, i, CANCEL_EXCLUSIVE);
		scripted_arrive(s, 10, lock, i, CANCEL_EXCLUSIVE);
	}
	for (uint32_t w = 0; w < 60; w++) {
		scripted_step(s);
		for (uint32_t i = 0; i < 5 && s->verdict.cancel; i++) {
			if (!culprits[i]->live || culprits[i]->t.id != s->last.target.task)
				continue;
			scripted_event(s, CANCEL_EVENT_RELEASED, culprits[i]->t.id, 0);
			for (uint32_t k = 0; k < SCRIPTED_TASKS; k++) { /* and those behind */
				if (s->tasks[k].live && s->tasks[k].entries[0].instance == i)
					scripted_end(s, &s->tasks[k]);
			}
		}
	}
	assert_int_equal(s->cancels, 5);
	scripted_free(s);
}

static void monitor_mode_goes_on_naming(void **state)
{
	const struct cancel_pipeline_config monitor = { .struct_size = sizeof monitor };
	struct loop l = start(&monitor);
	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		run(&l, 30);
		scripted_end_all_but(l.s, NULL);
		l.culprit = NULL;
		scripted_step(l.s);
	}
	assert_int_equal(l.s->cancels, 0);
	assert_int_equal(l.s->decisions, 10);
	assert_true(l.s->last.returning);
	scripted_free(l.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_keeps_coming_back_is_cancelled_six_times),
		cmocka_unit_test(origins_a_host_gives_count_in_place_of_signatures),
		cmocka_unit_test(strangers_are_cancelled_one_after_the_other),
		cmocka_unit_test(in_sum_eight_that_come_back_are_the_end),
		cmocka_unit_test(who_stays_away_for_a_minute_has_not_come_back),
		cmocka_unit_test(cancels_that_make_all_well_do_not_count),
		cmocka_unit_test(many_of_one_signature_at_once_have_not_come_back),
		cmocka_unit_test(monitor_mode_goes_on_naming),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

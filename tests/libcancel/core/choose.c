/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "libcancel/core/choose.h"

#define MICRO 1000000ull
#define MANY  40u

static const uint32_t paper_contention[CANCEL_RESOURCES_MAX] = { 600000, 400000 };

/* Candidates of two resources, marked and scored as the pipeline does it. */
struct table {
	struct cancel_candidate candidates[MANY];
	struct cancel_choice choice;
};

static void add(struct table *t, uint64_t gain_0, uint64_t gain_1)
{
	struct cancel_candidate *c = &t->candidates[t->choice.candidate_count++];
	memset(c, 0, sizeof *c);
	c->task = c->sequence = t->choice.candidate_count;
	c->gain_micro[0] = c->used_micro[0] = gain_0;
	c->gain_micro[1] = c->used_micro[1] = gain_1;
	t->choice.candidates = t->candidates;
	t->choice.resource_count = 2;
	if (!t->choice.contention_ppm)
		t->choice.contention_ppm = paper_contention;
}

static int choose(struct table *t, const char *policy)
{
	for (uint32_t i = 0; i < t->choice.candidate_count; i++)
		t->candidates[i].score_micro = choose_score(&t->choice, &t->candidates[i]);
	choose_mark_dominated(t->candidates, &t->choice);
	return cancel_policy_find(policy)->choose(&t->choice);
}

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void the_default_is_the_papers_policy(void **state)
{
	(void)state;
	assert_string_equal(cancel_policies[0]->name, "multi-objective");
	assert_string_equal(cancel_estimators[0]->name, "proportional");
}

static void two_point_two_beats_two_point_zero(void **state)
{
	struct table t = { 0 };
	(void)state;
	add(&t, 3 * MICRO, 1 * MICRO);
	add(&t, 2 * MICRO, 2 * MICRO);
	assert_int_equal(choose(&t, cancel_policies[0]->name), 0);
	assert_int_equal(t.candidates[0].score_micro, 2200000);
	assert_int_equal(t.candidates[1].score_micro, 2000000);
	assert_false(t.candidates[0].dominated);
	assert_false(t.candidates[1].dominated);
}

static void the_published_form_reverses_the_papers_example(void **state)
{
	struct table t = { 0 };
	(void)state;
	add(&t, 3 * MICRO, 1 * MICRO);
	add(&t, 2 * MICRO, 2 * MICRO);
	assert_int_equal(choose(&t, "published"), 1);
}

static void a_third_candidate_never_flips_the_winner(void **state)
{
	(void)state;
	for (uint64_t a = 0; a <= 6; a++) {
		for (uint64_t b = 0; b <= 6; b++) {
			struct table t = { 0 };
			int winner;
			add(&t, 3 * MICRO, 1 * MICRO);
			add(&t, 2 * MICRO, 2 * MICRO);
			add(&t, a * MICRO, b * MICRO);
			winner = choose(&t, "multi-objective");
			assert_int_not_equal(winner, 1);
			assert_int_equal(winner == 2, 6 * a + 4 * b > 22);
		}
	}
}

static void a_third_candidate_can_flip_the_published_form(void **state)
{
	struct table t = { 0 };
	(void)state;
	add(&t, 3 * MICRO, 1 * MICRO);
	add(&t, 2 * MICRO, 2 * MICRO);
	assert_int_equal(choose(&t, "published"), 1);
	add(&t, 1 * MICRO, 3 * MICRO);
	assert_int_equal(choose(&t, "published"), 0);
}

static void greedy_looks_at_the_most_contended_resource_only(void **state)
{
	struct table t = { 0 };
	(void)state;
	add(&t, 3 * MICRO, 1 * MICRO);
	add(&t, 2 * MICRO, 9 * MICRO);
	assert_int_equal(choose(&t, "greedy"), 0);
	assert_int_equal(choose(&t, "multi-objective"), 1);
}

static void current_usage_does_not_ask_for_progress(void **state)
{
	struct table t = { 0 };
	(void)state;
	add(&t, 9 * MICRO, 0);
	add(&t, 1 * MICRO, 0);
	t.candidates[0].used_micro[0] = 2 * MICRO;
	t.candidates[1].used_micro[0] = 3 * MICRO;
	assert_int_equal(choose(&t, "current-usage"), 1);
	assert_int_equal(choose(&t, "multi-objective"), 0);
}

static void relief_weighs_blame_by_what_is_left_of_a_second(void **state)
{
	struct table t = { 0 };
	(void)state;
	add(&t, 9 * MICRO, 0);
	add(&t, 1 * MICRO, 0);
	t.candidates[0].blame_ppm[0] = 600000;
	t.candidates[0].remaining_ns = 100000000;
	t.candidates[1].blame_ppm[0] = 200000;
	t.candidates[1].remaining_ns = 5000000000;
	assert_int_equal(choose(&t, "relief"), 1);
	t.candidates[0].remaining_ns = 0; /* unknown: taken for a whole second */
	assert_int_equal(choose(&t, "relief"), 0);
}

static void longest_takes_the_oldest_and_none_nobody(void **state)
{
	struct table t = { 0 };
	(void)state;
	add(&t, 9 * MICRO, 0);
	add(&t, 1 * MICRO, 0);
	t.candidates[1].age_ns = 1;
	assert_int_equal(choose(&t, "longest"), 1);
	assert_int_equal(choose(&t, "none"), -1);
}

static void equals_go_by_sequence_in_any_order(void **state)
{
	(void)state;
	for (uint32_t i = 0; cancel_policies[i]; i++) {
		struct table t = { 0 };
		int winner;
		add(&t, 2 * MICRO, 2 * MICRO);
		add(&t, 2 * MICRO, 2 * MICRO);
		t.candidates[0].sequence = 7;
		t.candidates[1].sequence = 5;
		winner = choose(&t, cancel_policies[i]->name);
		assert_int_equal(winner, strcmp(cancel_policies[i]->name, "none") == 0 ? -1 : 1);
	}
}

static void nobody_to_choose_from_is_nobody(void **state)
{
	struct table t = { .choice = { .resource_count = 2, .contention_ppm = paper_contention } };
	(void)state;
	for (uint32_t i = 0; cancel_policies[i]; i++)
		assert_int_equal(choose(&t, cancel_policies[i]->name), -1);
}

static void resources_that_do_not_count_neither_score_nor_dominate(void **state)
{
	const uint32_t only_first[CANCEL_RESOURCES_MAX] = { 600000, 0 };
	struct table t = { .choice = { .contention_ppm = only_first } };
	(void)state;
	add(&t, 2 * MICRO, 9 * MICRO);
	add(&t, 3 * MICRO, 0);
	assert_int_equal(choose(&t, "multi-objective"), 1);
	assert_true(t.candidates[0].dominated);
	assert_false(t.candidates[1].dominated);
}

/* The ablation: with weights that do not depend on the candidates, dominance decides nothing. */
static void the_dominance_step_never_changes_the_weighted_choice(void **state)
{
	uint64_t seed = 20251013, random = seed;
	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (uint32_t round = 0; round < 2000; round++) {
		struct table t = { 0 };
		uint32_t count = 1 + (uint32_t)(draw(&random) % (MANY - 1)), best = 0;
		int winner;
		for (uint32_t i = 0; i < count; i++)
			add(&t, draw(&random) % 8 * MICRO, draw(&random) % 8 * MICRO);
		winner = choose(&t, "multi-objective");
		for (uint32_t i = 1; i < count; i++) {
			if (t.candidates[i].score_micro > t.candidates[best].score_micro)
				best = i;
		}
		assert_int_equal(winner, best);
		assert_false(t.candidates[winner].dominated);
	}
}

static void names_are_found_and_unknown_ones_are_not(void **state)
{
	(void)state;
	for (uint32_t i = 0; cancel_policies[i]; i++)
		assert_ptr_equal(cancel_policy_find(cancel_policies[i]->name), cancel_policies[i]);
	for (uint32_t i = 0; cancel_estimators[i]; i++)
		assert_ptr_equal(
			cancel_estimator_find(cancel_estimators[i]->name), cancel_estimators[i]);
	assert_null(cancel_policy_find("newest"));
	assert_null(cancel_estimator_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_is_the_papers_policy),
		cmocka_unit_test(two_point_two_beats_two_point_zero),
		cmocka_unit_test(the_published_form_reverses_the_papers_example),
		cmocka_unit_test(a_third_candidate_never_flips_the_winner),
		cmocka_unit_test(a_third_candidate_can_flip_the_published_form),
		cmocka_unit_test(greedy_looks_at_the_most_contended_resource_only),
		cmocka_unit_test(current_usage_does_not_ask_for_progress),
		cmocka_unit_test(relief_weighs_blame_by_what_is_left_of_a_second),
		cmocka_unit_test(longest_takes_the_oldest_and_none_nobody),
		cmocka_unit_test(equals_go_by_sequence_in_any_order),
		cmocka_unit_test(nobody_to_choose_from_is_nobody),
		cmocka_unit_test(resources_that_do_not_count_neither_score_nor_dominate),
		cmocka_unit_test(the_dominance_step_never_changes_the_weighted_choice),
		cmocka_unit_test(names_are_found_and_unknown_ones_are_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

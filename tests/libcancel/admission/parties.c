/* SPDX-License-Identifier: Apache-2.0 */
/* PARTIES: trials, reverts, and an allocation that adds up. */
#include <cancel/admission/parties.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static struct cancel_parties parties;
static uint64_t now_ns;

/* Two classes with goals of 100 ms, ten units each of two resources. */
static void made(void)
{
	const struct cancel_parties_options options = { .struct_size = sizeof options,
		.classes = 2,
		.resources = 2,
		.units = { 10, 10 },
		.goal_ns = { 100 * MS, 100 * MS } };
	assert_int_equal(cancel_parties_init(&parties, &options), 0);
	now_ns = 0;
}

static bool step(uint64_t first_ms, uint64_t second_ms)
{
	const uint64_t p99_ns[] = { first_ms * MS, second_ms * MS };
	now_ns += S;
	return cancel_parties_observe(&parties, now_ns, p99_ns);
}

static void units_add_up(void)
{
	for (uint32_t r = 0; r < parties.resources; r++) {
		uint32_t sum = parties.free[r];
		for (uint32_t c = 0; c < parties.classes; c++) {
			assert_true(parties.held[c][r] >= 1);
			sum += parties.held[c][r];
		}
		assert_int_equal(sum, 10);
	}
}

static void units_are_dealt_evenly_at_first(void **state)
{
	(void)state;
	made();
	assert_int_equal(parties.held[0][0], 5);
	assert_int_equal(parties.held[1][1], 5);
	assert_true(cancel_parties_admit(&parties, 0, 0, 0, 4));
	assert_false(cancel_parties_admit(&parties, 0, 0, 0, 5));
}

static void two_steps_below_the_line_bring_a_unit_from_the_best_off(void **state)
{
	(void)state;
	made();
	assert_false(step(96, 90)); /* slack 0.04 */
	assert_true(step(96, 90));
	assert_int_equal(parties.held[0][0], 6);
	assert_int_equal(parties.held[1][0], 4);
	units_add_up();
}

static void a_unit_that_did_not_help_goes_back_and_another_resource_is_tried(void **state)
{
	(void)state;
	made();
	step(120, 90);
	step(120, 90);
	assert_int_equal(parties.held[0][0], 6);
	assert_true(step(120, 90));
	assert_int_equal(parties.held[0][0], 5);
	assert_int_equal(parties.held[0][1], 6);
	assert_true(step(110, 90)); /* that one helped: another of the same */
	assert_int_equal(parties.held[0][1], 7);
	units_add_up();
}

static void a_rich_class_gives_a_unit_up_and_gets_it_back_if_it_suffers(void **state)
{
	(void)state;
	made();
	assert_false(step(50, 90));
	assert_true(step(50, 90));
	assert_int_equal(parties.held[0][0], 4);
	assert_int_equal(parties.free[0], 1);
	assert_true(step(99, 90));
	assert_int_equal(parties.held[0][0], 5);
	assert_int_equal(parties.free[0], 0);
	units_add_up();
}

static void what_is_free_is_given_before_anyone_is_robbed(void **state)
{
	(void)state;
	made();
	step(50, 90);
	step(50, 90); /* class 0 gives one of resource 0 up */
	step(85, 97);
	assert_true(step(85, 97));
	assert_int_equal(parties.held[1][0], 6);
	assert_int_equal(parties.held[0][0], 4);
	assert_int_equal(parties.free[0], 0);
}

static void nobody_robs_a_class_that_is_in_trouble_itself(void **state)
{
	(void)state;
	made();
	step(150, 140);
	assert_false(step(150, 140));
	assert_int_equal(parties.stuck, 1);
	units_add_up();
}

static void a_step_that_is_not_over_changes_nothing(void **state)
{
	const uint64_t bad_ns[] = { S, 0 };
	(void)state;
	made();
	for (unsigned i = 0; i < 100; i++)
		assert_false(cancel_parties_observe(&parties, S - 1, bad_ns));
	assert_int_equal(parties.low_steps[0], 0);
}

static void an_idle_class_gives_until_one_unit_is_left(void **state)
{
	(void)state;
	made();
	for (unsigned i = 0; i < 50; i++)
		step(0, 90);
	assert_int_equal(parties.held[0][0], 1);
	assert_int_equal(parties.held[0][1], 1);
	units_add_up();
}

static void units_add_up_whatever_happens(void **state)
{
	uint64_t random = 1;
	(void)state;
	made();
	print_message("seed 1\n");
	for (unsigned i = 0; i < 20000; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		step(random >> 40 & 255, random >> 50 & 255);
		units_add_up();
	}
}

static void a_class_that_needs_one_resource_ends_up_with_it(void **state)
{
	/* Latency of class 0 is 800 ms over its units of resource 1; class 1 is content. */
	(void)state;
	made();
	for (unsigned i = 0; i < 60; i++)
		step(800 / parties.held[0][1], 85);
	assert_in_range(parties.held[0][1], 8, 9);
	assert_in_range(800 / parties.held[0][1], 80, 100);
}

static void options_that_cannot_work_are_refused(void **state)
{
	struct cancel_parties_options options = { .struct_size = sizeof options,
		.classes = 2,
		.resources = 1,
		.units = { 1 },
		.goal_ns = { MS, MS } };
	(void)state;
	assert_int_equal(cancel_parties_init(&parties, &options), CANCEL_EINVAL);
	options.units[0] = 2;
	options.goal_ns[1] = 0;
	assert_int_equal(cancel_parties_init(&parties, &options), CANCEL_EINVAL);
	options.goal_ns[1] = 1;
	assert_int_equal(cancel_parties_init(&parties, &options), 0);
	assert_int_equal(cancel_parties_init(&parties, NULL), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_dealt_evenly_at_first),
		cmocka_unit_test(two_steps_below_the_line_bring_a_unit_from_the_best_off),
		cmocka_unit_test(a_unit_that_did_not_help_goes_back_and_another_resource_is_tried),
		cmocka_unit_test(a_rich_class_gives_a_unit_up_and_gets_it_back_if_it_suffers),
		cmocka_unit_test(what_is_free_is_given_before_anyone_is_robbed),
		cmocka_unit_test(nobody_robs_a_class_that_is_in_trouble_itself),
		cmocka_unit_test(a_step_that_is_not_over_changes_nothing),
		cmocka_unit_test(an_idle_class_gives_until_one_unit_is_left),
		cmocka_unit_test(units_add_up_whatever_happens),
		cmocka_unit_test(a_class_that_needs_one_resource_ends_up_with_it),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_parties", tests, NULL, NULL);
}

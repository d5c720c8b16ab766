/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "libcancel/core/estimate.h"

#define MICRO 1000000ull
#define MS    1000000ull
#define S     1000000000ull

static uint64_t gain(const char *name, struct cancel_estimate_input input)
{
	return cancel_estimator_find(name)->gain_micro(&input);
}

static void a_second_held_at_forty_percent_gains_one_and_a_half(void **state)
{
	(void)state;
	assert_int_equal(gain(cancel_estimators[0]->name,
				 (struct cancel_estimate_input){
					 .used_micro = MICRO, .done = 40, .expected = 100 }),
		1500000);
}

static void unknown_progress_assumes_as_much_again(void **state)
{
	const struct cancel_estimate_input unknown[] = {
		{ .used_micro = MICRO },			       /* no progress declared */
		{ .used_micro = MICRO, .done = 0, .expected = 100 },   /* nothing done yet */
		{ .used_micro = MICRO, .done = 40, .expected = 0 },    /* no end declared */
		{ .used_micro = MICRO, .done = 95, .expected = 100 },  /* nearly done, they say */
		{ .used_micro = MICRO, .done = 300, .expected = 100 }, /* more than all */
		{ .used_micro = MICRO, .done = 40, .expected = 100, .since_advance_ns = 500 * MS },
	};
	(void)state;
	for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
		assert_int_equal(gain("proportional", unknown[i]), MICRO);
		assert_false(estimate_is_informed(&unknown[i]));
	}
}

static void the_factor_stays_between_a_tenth_and_ten(void **state)
{
	(void)state;
	assert_int_equal(gain("proportional",
				 (struct cancel_estimate_input){
					 .used_micro = MICRO, .done = 1, .expected = 1000 }),
		10 * MICRO);
	assert_int_equal(gain("proportional",
				 (struct cancel_estimate_input){
					 .used_micro = MICRO, .done = 94, .expected = 100 }),
		MICRO / 10);
}

static void progress_never_gives_immunity(void **state)
{
	(void)state;
	for (uint64_t done = 0; done <= 200; done++)
		assert_true(
			gain("proportional", (struct cancel_estimate_input){ .used_micro = MICRO,
						     .done = done,
						     .expected = 100 }) >= MICRO / 10);
}

static void huge_numbers_do_not_overflow(void **state)
{
	(void)state;
	assert_int_equal(
		gain("proportional", (struct cancel_estimate_input){ .used_micro = UINT64_MAX,
					     .done = UINT64_MAX / 4,
					     .expected = UINT64_MAX / 2 }),
		UINT64_MAX);
	assert_in_range(gain("proportional", (struct cancel_estimate_input){ .used_micro = MICRO,
						     .done = UINT64_MAX / 4,
						     .expected = UINT64_MAX / 2 }),
		MICRO, MICRO + 1);
}

static void undoing_uses_the_resource_too(void **state)
{
	struct cancel_estimate_input input = { .used_micro = MICRO,
		.done = 40,
		.expected = 100,
		.age_ns = S,
		.rollback_ns = 500 * MS };
	(void)state;
	assert_int_equal(gain("undo-aware", input), MICRO);
	input.rollback_ns = 3 * S; /* longer than letting it finish */
	assert_int_equal(gain("undo-aware", input), 0);
	input.rollback_ns = 0; /* unknown */
	assert_int_equal(gain("undo-aware", input), 1500000);
}

static void the_class_median_says_how_long_it_usually_takes(void **state)
{
	struct cancel_estimate_input input = {
		.used_micro = MICRO, .age_ns = S, .class_median_ns = 4 * S
	};
	(void)state;
	assert_int_equal(gain("class-history", input), 3 * MICRO);
	assert_true(estimate_is_informed(&input));
	input.class_median_ns = S / 2; /* it has outlived its like: back to its own progress */
	input.done = 40;
	input.expected = 100;
	assert_int_equal(gain("class-history", input), 1500000);
	input.class_median_ns = 0;
	assert_int_equal(gain("class-history", input), 1500000);
}

static void add(struct class_history *h, uint8_t class_index, uint64_t signature,
	uint64_t active_ns, uint32_t window)
{
	const struct past_end end = {
		.signature = signature, .active_ns = active_ns, .class_index = class_index
	};
	class_history_add(h, &end, window);
}

static void medians_are_kept_by_class_and_signature(void **state)
{
	static struct class_history h;
	(void)state;
	add(&h, 1, 7, 100 * MS, 1);
	add(&h, 1, 7, 900 * MS, 2);
	add(&h, 1, 7, 300 * MS, 3);
	add(&h, 2, 7, 50 * MS, 4);
	assert_int_equal(class_history_median_ns(&h, 1, 7), 300 * MS);
	assert_int_equal(class_history_median_ns(&h, 2, 7), 50 * MS);
	assert_int_equal(class_history_median_ns(&h, 1, 8), 0);
	for (uint32_t i = 0; i < CLASS_DURATIONS_MAX; i++)
		add(&h, 1, 7, 20 * MS, 5); /* the old ones are forgotten */
	assert_int_equal(class_history_median_ns(&h, 1, 7), 20 * MS);
}

static void cancelled_and_short_tasks_teach_nothing(void **state)
{
	static struct class_history h;
	const struct past_end cancelled = { .active_ns = S, .cancelled = true };
	(void)state;
	class_history_add(&h, &cancelled, 1);
	add(&h, 0, 0, MS, 2);
	assert_int_equal(h.record_count, 0);
}

static void a_full_class_table_forgets_the_key_used_longest_ago(void **state)
{
	static struct class_history h;
	(void)state;
	for (uint32_t i = 0; i < CLASS_KEYS_MAX; i++)
		add(&h, 0, i + 1, S, i + 1);
	add(&h, 0, 1, S, 1000); /* the oldest is used again */
	add(&h, 0, 5000, 2 * S, 1001);
	assert_int_equal(h.record_count, CLASS_KEYS_MAX);
	assert_int_equal(class_history_median_ns(&h, 0, 5000), 2 * S);
	assert_int_equal(class_history_median_ns(&h, 0, 1), S);
	assert_int_equal(class_history_median_ns(&h, 0, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_held_at_forty_percent_gains_one_and_a_half),
		cmocka_unit_test(unknown_progress_assumes_as_much_again),
		cmocka_unit_test(the_factor_stays_between_a_tenth_and_ten),
		cmocka_unit_test(progress_never_gives_immunity),
		cmocka_unit_test(huge_numbers_do_not_overflow),
		cmocka_unit_test(undoing_uses_the_resource_too),
		cmocka_unit_test(the_class_median_says_how_long_it_usually_takes),
		cmocka_unit_test(medians_are_kept_by_class_and_signature),
		cmocka_unit_test(cancelled_and_short_tasks_teach_nothing),
		cmocka_unit_test(a_full_class_table_forgets_the_key_used_longest_ago),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The DAGOR gate: Algorithm 1 by hand, the contracts of lane 3, and the edges of its windows. */
#include <cancel/admission/dagor.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS     UINT64_C(1000000)
#define S      UINT64_C(1000000000)
#define LEVELS 4u
#define ROUND  400u

/* 32 KiB: kept off the stack. */
static struct cancel_dagor gate;
static uint64_t now_ns;

static void gate_made(struct cancel_dagor_options options)
{
	options.struct_size = sizeof options;
	assert_int_equal(cancel_dagor_init(&gate, &options), 0);
	now_ns = 0;
}

static void contract_gate(void)
{
	gate_made((struct cancel_dagor_options){
		.business_levels = LEVELS, .user_levels = 1, .window_requests = 100 });
}

/* 400 requests, priorities in turn, each admitted one observed right after its admit. */
static void rounds(unsigned count, uint64_t delay_ns)
{
	for (unsigned i = 0; i < count * ROUND; i++) {
		now_ns += 1000;
		if (cancel_dagor_admit(&gate, now_ns, i % LEVELS))
			cancel_dagor_observe(&gate, now_ns, delay_ns);
	}
}

/* One window over bare levels: `wanted[i]` requests of level i, all before the verdict. */
static void window(const unsigned *wanted, unsigned levels, uint64_t delay_ns)
{
	for (unsigned level = 0; level < levels; level++)
		for (unsigned i = 0; i < wanted[level]; i++)
			if (cancel_dagor_admit(&gate, now_ns, level))
				cancel_dagor_observe(&gate, now_ns, delay_ns);
	now_ns += S;
	cancel_dagor_missed(&gate, now_ns, 0); /* nothing but the clock: the window closes */
}

static void healthy_rounds_keep_every_level_open(void **state)
{
	(void)state;
	contract_gate();
	for (unsigned i = 0; i < 50; i++) {
		rounds(1, MS);
		assert_int_equal(gate.cursor, LEVELS);
	}
	assert_int_equal(gate.windows, 200);
}

static void overload_closes_low_levels_and_health_reopens_them(void **state)
{
	(void)state;
	contract_gate();
	rounds(50, 100 * MS);
	assert_in_range(gate.cursor, 1, LEVELS - 1);
	assert_true(cancel_dagor_admit(&gate, now_ns, 0));
	assert_false(cancel_dagor_admit(&gate, now_ns, 3));
	rounds(500, MS);
	assert_int_equal(gate.cursor, LEVELS);
}

static void the_expected_count_moves_by_exactly_alpha_and_beta(void **state)
{
	const unsigned wanted[] = { 25, 25, 25, 25 };
	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 4, .user_levels = 1 });
	window(wanted, 4, 100 * MS);
	assert_int_equal(gate.expected_micro, 95000000);
	window(wanted, 4, 100 * MS);
	assert_int_equal(gate.expected_micro, 90250000);
	for (unsigned i = 0; i < 40; i++) {
		const uint64_t before_micro = gate.expected_micro;
		window(wanted, 4, 100 * MS);
		assert_int_equal(gate.expected_micro, before_micro - before_micro * 5 / 100);
	}
	for (unsigned i = 0; i < 40; i++) {
		const uint64_t before_micro = gate.expected_micro;
		window(wanted, 4, MS);
		assert_int_equal(gate.expected_micro, before_micro + 1000000);
	}
}

static void the_expected_count_never_grows_past_what_is_asked_for(void **state)
{
	const unsigned many[] = { 50, 50 }, few[] = { 10, 10 };
	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 2, .user_levels = 1 });
	window(many, 2, MS);
	assert_int_equal(gate.expected_micro, 100000000);
	window(few, 2, MS);
	assert_int_equal(gate.expected_micro, 20000000);
}

static void a_load_that_grows_is_not_refused_while_nothing_is_overloaded(void **state)
{
	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 4, .user_levels = 1 });
	for (unsigned size = 10; size <= 400; size += size / 2) {
		const unsigned wanted[] = { size, size, size, size };
		window(wanted, 4, MS);
		assert_int_equal(gate.cursor, 4);
		assert_int_equal(gate.expected_micro, size * UINT64_C(4000000));
	}
}

static void algorithm_1_by_hand_over_ten_levels(void **state)
{
	/* 10 levels, 100 requests a window: prefix sums 5 15 30 38 50 62 72 80 95 100.
	 * The first column is the verdict, then N_exp by hand, then the last level that fits. */
	const unsigned wanted[] = { 5, 10, 15, 8, 12, 12, 10, 8, 15, 5 };
	static const struct {
		bool overloaded;
		uint64_t expected_micro;
		unsigned cursor;
	} steps[] = {
		{ true, 95000000, 9 },	/* 100 x 0.95 = 95: prefix 95 just fits */
		{ true, 90250000, 8 },	/* 80 fits, 95 does not */
		{ true, 85737500, 8 },	/* still */
		{ true, 81450625, 8 },	/* still */
		{ true, 77378094, 7 },	/* 72 fits; 77.37809375, the shrink rounded down */
		{ false, 78378094, 7 }, /* + 1 % of N = 1 */
		{ false, 79378094, 7 },
		{ false, 80378094, 8 }, /* 80 fits again */
		{ true, 76359190, 7 },
	};

	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 10, .user_levels = 1 });
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		window(wanted, 10, steps[i].overloaded ? 21 * MS : 20 * MS);
		assert_int_equal(gate.overloaded, steps[i].overloaded);
		assert_int_equal(gate.expected_micro, steps[i].expected_micro);
		assert_int_equal(gate.cursor, steps[i].cursor);
	}
}

static void the_memoryless_rule_starts_from_what_was_admitted(void **state)
{
	const unsigned wanted[] = { 25, 25, 25, 25 };
	(void)state;
	gate_made((struct cancel_dagor_options){
		.business_levels = 4, .user_levels = 1, .rule = CANCEL_DAGOR_MEMORYLESS });
	window(wanted, 4, 100 * MS);
	assert_int_equal(gate.expected_micro, 95000000); /* cursor 3: 75 */
	window(wanted, 4, 100 * MS);
	assert_int_equal(gate.expected_micro, 71250000); /* 75 x 0.95: cursor 2 */
	window(wanted, 4, MS);
	assert_int_equal(gate.expected_micro, 51000000); /* 50 + 1: a level is 25, none reopens */
	for (unsigned i = 0; i < 200; i++)
		window(wanted, 4, MS);
	assert_int_equal(gate.cursor, 2);
}

static void the_fraction_rule_scales_with_the_load(void **state)
{
	const unsigned wanted[] = { 25, 25, 25, 25 }, doubled[] = { 50, 50, 50, 50 };
	(void)state;
	gate_made((struct cancel_dagor_options){
		.business_levels = 4, .user_levels = 1, .rule = CANCEL_DAGOR_FRACTION });
	window(wanted, 4, 100 * MS);
	assert_int_equal(gate.expected_micro, 95000000);
	window(doubled, 4, 100 * MS);
	assert_int_equal(gate.expected_micro, 180500000);
	window(doubled, 4, MS);
	assert_int_equal(gate.expected_micro, 182500000);
	for (unsigned i = 0; i < 10; i++)
		window(doubled, 4, MS);
	assert_int_equal(gate.expected_micro, 200000000);
	assert_int_equal(gate.cursor, 4);
}

static void a_priority_gets_one_answer_within_a_window(void **state)
{
	bool answers[LEVELS];
	(void)state;
	contract_gate();
	rounds(20, 100 * MS);
	for (unsigned level = 0; level < LEVELS; level++)
		answers[level] = cancel_dagor_admit(&gate, now_ns, level);
	const uint64_t windows = gate.windows;
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(
			cancel_dagor_admit(&gate, now_ns, i % LEVELS), answers[i % LEVELS]);
	assert_int_equal(gate.windows, windows);
}

static void the_threshold_itself_is_healthy(void **state)
{
	(void)state;
	gate_made((struct cancel_dagor_options){
		.business_levels = 4, .user_levels = 1, .window_requests = 2 });
	cancel_dagor_admit(&gate, 1, 0);
	cancel_dagor_observe(&gate, 1, 20 * MS);
	cancel_dagor_observe(&gate, 1, 20 * MS);
	assert_false(gate.overloaded);
	cancel_dagor_admit(&gate, 2, 0);
	cancel_dagor_observe(&gate, 2, 20 * MS);
	cancel_dagor_observe(&gate, 2, 20 * MS + 1);
	assert_true(gate.overloaded);
}

static void a_window_ends_after_a_second_or_2000_observations(void **state)
{
	(void)state;
	gate_made((struct cancel_dagor_options){ 0 });
	cancel_dagor_admit(&gate, 1, 0);
	cancel_dagor_observe(&gate, 1, MS);
	cancel_dagor_admit(&gate, S - 1, 0);
	assert_int_equal(gate.windows, 0);
	cancel_dagor_admit(&gate, S, 0);
	assert_int_equal(gate.windows, 1);
	for (unsigned i = 0; i < 1999; i++)
		cancel_dagor_observe(&gate, S, MS);
	assert_int_equal(gate.windows, 1);
	cancel_dagor_observe(&gate, S, MS);
	assert_int_equal(gate.windows, 2);
}

static void an_idle_second_moves_no_cursor(void **state)
{
	const unsigned wanted[] = { 25, 25, 25, 25 };
	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 4, .user_levels = 1 });
	window(wanted, 4, 100 * MS);
	window(wanted, 4, 100 * MS);
	const uint32_t cursor = gate.cursor;
	const uint64_t expected_micro = gate.expected_micro;
	for (unsigned i = 0; i < 100; i++)
		cancel_dagor_observe(&gate, now_ns += 2 * S, 100 * MS);
	assert_int_equal(gate.cursor, cursor);
	assert_int_equal(gate.expected_micro, expected_micro);
}

static void a_stall_moves_no_cursor(void **state)
{
	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 4, .user_levels = 1 });
	for (unsigned i = 0; i < 40; i++)
		cancel_dagor_admit(&gate, now_ns += 100 * MS, i % 4);
	assert_int_equal(gate.windows, 0);
	assert_int_equal(gate.cursor, 4);
}

static void a_gate_that_refuses_everything_asked_of_it_reopens(void **state)
{
	(void)state;
	contract_gate();
	rounds(50, 100 * MS);
	assert_true(gate.cursor <= 3);
	/* From here only the lowest level comes: nothing is admitted, so nothing is observed. */
	unsigned refused = 0;
	while (!cancel_dagor_admit(&gate, now_ns += 10 * MS, 3))
		refused++;
	assert_in_range(refused, 1, 20000);
	assert_int_equal(gate.cursor, 4);
}

static void the_highest_level_is_never_refused(void **state)
{
	(void)state;
	contract_gate();
	for (unsigned i = 0; i < 1000; i++) {
		rounds(1, 10 * S);
		assert_true(cancel_dagor_admit(&gate, now_ns, 0));
	}
	assert_int_equal(gate.cursor, 1);
}

static void response_times_are_judged_at_250_ms(void **state)
{
	(void)state;
	gate_made((struct cancel_dagor_options){
		.signal = CANCEL_DAGOR_RESPONSE_TIME, .window_requests = 1 });
	cancel_dagor_admit(&gate, 1, 0);
	cancel_dagor_observe(&gate, 1, 250 * MS);
	assert_false(gate.overloaded);
	cancel_dagor_admit(&gate, 2, 0);
	cancel_dagor_observe(&gate, 2, 251 * MS);
	assert_true(gate.overloaded);
}

static void a_user_keeps_its_level_for_an_hour_and_no_longer(void **state)
{
	const uint64_t hour_ns = 3600 * S;
	unsigned moved = 0;
	(void)state;
	gate_made((struct cancel_dagor_options){ 0 });
	for (uint64_t user = 0; user < 1000; user++) {
		const uint32_t level = cancel_dagor_priority(&gate, 0, 5, user);
		assert_in_range(level, 5 * 128, 5 * 128 + 127);
		assert_int_equal(cancel_dagor_priority(&gate, hour_ns - 1, 5, user), level);
		moved += cancel_dagor_priority(&gate, hour_ns, 5, user) != level;
	}
	assert_in_range(moved, 950, 1000);
}

static void users_spread_evenly_and_every_user_has_its_bad_hours(void **state)
{
	unsigned by_level[128] = { 0 };
	unsigned worst_half_hours = 0;
	(void)state;
	gate_made((struct cancel_dagor_options){ 0 });
	for (uint64_t user = 0; user < 128000; user++)
		by_level[cancel_dagor_priority(&gate, 0, 0, user)]++;
	for (unsigned level = 0; level < 128; level++)
		assert_in_range(by_level[level], 840, 1160); /* 1000 +- 5 deviations */
	for (uint64_t hour = 0; hour < 1000; hour++)
		worst_half_hours += cancel_dagor_priority(&gate, hour * 3600 * S, 0, 42) >= 64;
	assert_in_range(worst_half_hours, 420, 580);
}

static void priorities_past_the_last_count_as_the_last(void **state)
{
	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 4, .user_levels = 128 });
	assert_in_range(cancel_dagor_priority(&gate, 0, 99, 1), 3 * 128, 4 * 128 - 1);
	assert_true(cancel_dagor_admit(&gate, 0, UINT32_MAX));
	assert_int_equal(gate.histogram[4 * 128 - 1], 1);
}

static void the_level_on_a_reply_carries_its_age(void **state)
{
	const unsigned wanted[] = { 25, 25, 25, 25 };
	(void)state;
	gate_made((struct cancel_dagor_options){ .start_ns = 5 * S });
	assert_int_equal(cancel_dagor_current_level(&gate, 5 * S + 30 * MS).age_ns, 30 * MS);
	gate_made((struct cancel_dagor_options){ .business_levels = 4, .user_levels = 1 });
	window(wanted, 4, 100 * MS);
	const struct cancel_dagor_level level = cancel_dagor_current_level(&gate, now_ns + 30 * MS);
	assert_int_equal(level.cursor, 3);
	assert_int_equal(level.serial, 1);
	assert_int_equal(level.age_ns, 30 * MS);
}

static void what_was_refused_upstream_keeps_the_gate_from_opening_wide(void **state)
{
	const unsigned all[] = { 25, 25, 25, 25 }, admitted[] = { 25, 25, 0, 0 };
	(void)state;
	gate_made((struct cancel_dagor_options){ .business_levels = 4, .user_levels = 1 });
	while (gate.cursor > 2)
		window(all, 4, 100 * MS);
	cancel_dagor_missed(&gate, now_ns, 50);
	window(admitted, 4, MS);
	assert_int_equal(gate.cursor, 2);
	window(admitted, 4, MS); /* nobody says what it refused: all that was asked fits */
	assert_int_equal(gate.cursor, 4);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_dagor_options wide = {
		.struct_size = sizeof wide, .business_levels = 65, .user_levels = 128
	};
	const struct cancel_dagor_options share = { .struct_size = sizeof share,
		.alpha_ppm = 1000001 };
	const struct cancel_dagor_options sizeless = { .business_levels = 4 };
	(void)state;
	assert_int_equal(cancel_dagor_init(&gate, &wide), CANCEL_EINVAL);
	assert_int_equal(cancel_dagor_init(&gate, &share), CANCEL_EINVAL);
	assert_int_equal(cancel_dagor_init(&gate, &sizeless), CANCEL_EINVAL);
	assert_int_equal(cancel_dagor_init(&gate, NULL), 0);
	assert_int_equal(gate.levels, 64 * 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_rounds_keep_every_level_open),
		cmocka_unit_test(overload_closes_low_levels_and_health_reopens_them),
		cmocka_unit_test(the_expected_count_moves_by_exactly_alpha_and_beta),
		cmocka_unit_test(the_expected_count_never_grows_past_what_is_asked_for),
		cmocka_unit_test(a_load_that_grows_is_not_refused_while_nothing_is_overloaded),
		cmocka_unit_test(algorithm_1_by_hand_over_ten_levels),
		cmocka_unit_test(the_memoryless_rule_starts_from_what_was_admitted),
		cmocka_unit_test(the_fraction_rule_scales_with_the_load),
		cmocka_unit_test(a_priority_gets_one_answer_within_a_window),
		cmocka_unit_test(the_threshold_itself_is_healthy),
		cmocka_unit_test(a_window_ends_after_a_second_or_2000_observations),
		cmocka_unit_test(an_idle_second_moves_no_cursor),
		cmocka_unit_test(a_stall_moves_no_cursor),
		cmocka_unit_test(a_gate_that_refuses_everything_asked_of_it_reopens),
		cmocka_unit_test(the_highest_level_is_never_refused),
		cmocka_unit_test(response_times_are_judged_at_250_ms),
		cmocka_unit_test(a_user_keeps_its_level_for_an_hour_and_no_longer),
		cmocka_unit_test(users_spread_evenly_and_every_user_has_its_bad_hours),
		cmocka_unit_test(priorities_past_the_last_count_as_the_last),
		cmocka_unit_test(the_level_on_a_reply_carries_its_age),
		cmocka_unit_test(what_was_refused_upstream_keeps_the_gate_from_opening_wide),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_dagor", tests, NULL, NULL);
}

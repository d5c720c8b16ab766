/* SPDX-License-Identifier: Apache-2.0 */
/* DARC: plans from profiles, stealing in one direction, and who goes first. */
#include <cancel/admission/darc.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define US   UINT64_C(1000)
#define NONE UINT64_MAX

static struct cancel_darc darc;

static void made(uint32_t workers, uint32_t types)
{
	const struct cancel_darc_options options = { .struct_size = sizeof options,
		.workers = workers,
		.types = types,
		.profile_samples = 1000 };
	assert_int_equal(cancel_darc_init(&darc, &options), 0);
}

/* A profile of 1000 completions: `shorts` of 1 us (type 1), the rest of 100 us (type 0). */
static void profile(unsigned shorts)
{
	for (unsigned i = 0; i < 1000; i++)
		cancel_darc_observe(&darc, 0, i < shorts, i < shorts ? US : 100 * US);
}

static void before_the_first_plan_the_oldest_goes_anywhere(void **state)
{
	const uint64_t oldest_ns[] = { 5, 7 };
	(void)state;
	made(4, 2);
	for (uint32_t worker = 0; worker < 4; worker++)
		assert_int_equal(cancel_darc_pick(&darc, 0, worker, oldest_ns), 0);
}

static void workers_are_reserved_by_share_of_the_work_at_least_one(void **state)
{
	(void)state;
	made(8, 2);
	profile(990); /* 990 us of short work, 1000 us of long: half each */
	assert_int_equal(darc.type[1].reserved, 0x0f);
	assert_int_equal(darc.type[0].reserved, 0xf0);
	made(8, 2);
	profile(500); /* shorts are 1 % of the work */
	assert_int_equal(darc.type[1].reserved, 0x01);
	assert_int_equal(darc.type[0].reserved, 0xfe);
}

static void short_types_steal_from_long_ones_and_never_the_reverse(void **state)
{
	(void)state;
	made(8, 2);
	profile(500);
	assert_true(cancel_darc_admit(&darc, 0, 0, 1));
	assert_true(cancel_darc_admit(&darc, 0, 7, 1));
	assert_false(cancel_darc_admit(&darc, 0, 0, 0));
	assert_true(cancel_darc_admit(&darc, 0, 1, 0));
}

static void a_reserved_worker_idles_rather_than_run_a_long_request(void **state)
{
	const uint64_t only_long_ns[] = { 1, NONE }, both_ns[] = { 1, 9 };
	(void)state;
	made(8, 2);
	profile(500);
	assert_int_equal(cancel_darc_pick(&darc, 0, 0, only_long_ns), -1);
	assert_int_equal(cancel_darc_pick(&darc, 0, 3, only_long_ns), 0);
	assert_int_equal(cancel_darc_pick(&darc, 0, 3, both_ns), 1); /* the short one first */
}

static void types_alike_share_a_group_and_go_by_age(void **state)
{
	const uint64_t oldest_ns[] = { NONE, 8, 3 };
	(void)state;
	made(4, 3);
	for (unsigned i = 0; i < 1000; i++)
		cancel_darc_observe(&darc, 0, i % 3, (i % 3 ? 10 + i % 3 * 5 : 500) * US);
	assert_int_equal(darc.type[1].group, darc.type[2].group);
	assert_int_equal(darc.type[1].reserved, darc.type[2].reserved);
	assert_true(darc.type[0].group > darc.type[1].group);
	assert_int_equal(cancel_darc_pick(&darc, 0, 0, oldest_ns), 2);
}

static void a_type_never_seen_runs_on_the_last_worker_after_all_others(void **state)
{
	const uint64_t oldest_ns[] = { 4, NONE, 1 };
	(void)state;
	made(8, 3);
	profile(500);
	assert_false(cancel_darc_admit(&darc, 0, 0, 2));
	assert_true(cancel_darc_admit(&darc, 0, 7, 2));
	assert_int_equal(cancel_darc_pick(&darc, 0, 7, oldest_ns), 0);
}

static void a_small_change_keeps_the_plan_and_a_large_one_makes_another(void **state)
{
	(void)state;
	made(8, 2);
	profile(990);
	profile(988); /* 45 % of the work */
	assert_int_equal(darc.plans, 1);
	profile(500);
	assert_int_equal(darc.plans, 2);
	assert_int_equal(darc.type[1].reserved, 0x01);
}

static void more_groups_than_workers_share_the_last(void **state)
{
	(void)state;
	made(2, 4);
	for (unsigned i = 0; i < 1000; i++) /* 1, 10, 100, 1000 us */
		cancel_darc_observe(&darc, 0, i % 4,
			(i % 4 == 0	     ? 1
				: i % 4 == 1 ? 10
				: i % 4 == 2 ? 100
					     : 1000) *
				US);
	assert_int_equal(darc.type[0].reserved, 1);
	for (unsigned t = 1; t < 4; t++)
		assert_int_equal(darc.type[t].reserved, 2);
}

static void sixty_four_workers_are_all_dealt_out(void **state)
{
	(void)state;
	made(64, 2);
	profile(990);
	assert_true((darc.type[0].reserved | darc.type[1].reserved) == UINT64_MAX);
	assert_true((darc.type[0].reserved & darc.type[1].reserved) == 0);
}

static void shares_are_exact_for_short_and_for_endless_service(void **state)
{
	(void)state;
	made(8, 2);
	for (unsigned i = 0; i < 1000; i++)
		cancel_darc_observe(&darc, 0, i % 2, i % 2 ? 3 : 1);
	assert_int_equal(darc.type[1].share_ppm, 750000);
	made(8, 2);
	for (unsigned i = 0; i < 1000; i++)
		cancel_darc_observe(&darc, 0, i % 2, i % 2 ? UINT64_C(3) << 50 : UINT64_C(1) << 50);
	assert_in_range(darc.type[1].share_ppm, 749990, 750000);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_darc_options one = {
		.struct_size = sizeof one, .workers = 1, .types = 2
	};
	const struct cancel_darc_options many = {
		.struct_size = sizeof many, .workers = 8, .types = 17
	};
	(void)state;
	assert_int_equal(cancel_darc_init(&darc, &one), CANCEL_EINVAL);
	assert_int_equal(cancel_darc_init(&darc, &many), CANCEL_EINVAL);
	assert_int_equal(cancel_darc_init(&darc, NULL), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_first_plan_the_oldest_goes_anywhere),
		cmocka_unit_test(workers_are_reserved_by_share_of_the_work_at_least_one),
		cmocka_unit_test(short_types_steal_from_long_ones_and_never_the_reverse),
		cmocka_unit_test(a_reserved_worker_idles_rather_than_run_a_long_request),
		cmocka_unit_test(types_alike_share_a_group_and_go_by_age),
		cmocka_unit_test(a_type_never_seen_runs_on_the_last_worker_after_all_others),
		cmocka_unit_test(a_small_change_keeps_the_plan_and_a_large_one_makes_another),
		cmocka_unit_test(more_groups_than_workers_share_the_last),
		cmocka_unit_test(sixty_four_workers_are_all_dealt_out),
		cmocka_unit_test(shares_are_exact_for_short_and_for_endless_service),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_darc", tests, NULL, NULL);
}

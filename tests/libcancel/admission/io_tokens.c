/* SPDX-License-Identifier: Apache-2.0 */
/* I/O tokens: the interpolation by hand, the dealing out, and a store kept from drowning. */
#include <cancel/admission/io_tokens.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS  UINT64_C(1000000)
#define S   UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static struct cancel_io_tokens io;

/* A debt of 64 MiB is a score of 1. */
static void made(void)
{
	const struct cancel_io_tokens_options options = { .struct_size = sizeof options,
		.threshold = 64 * MIB };
	assert_int_equal(cancel_io_tokens_init(&io, &options), 0);
}

/* Three intervals alike, 60 MiB drained in each: smoothing has nothing left to smooth. */
static uint64_t settled_tokens(uint64_t debt)
{
	made();
	for (uint64_t i = 1; i <= 40; i++)
		cancel_io_tokens_observe(&io, i * 15 * S, debt, i * 60 * MIB);
	return io.tokens;
}

static void a_small_debt_leaves_writes_unlimited(void **state)
{
	(void)state;
	settled_tokens(32 * MIB - 1);
	assert_false(io.limited);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(cancel_io_tokens_admit(&io, 1000 * S, 1000 * MIB));
}

static void tokens_follow_the_score(void **state)
{
	(void)state;
	assert_in_range(settled_tokens(32 * MIB), 120 * MIB - 64, 120 * MIB); /* 0.5: 2 x */
	assert_in_range(settled_tokens(48 * MIB), 90 * MIB - 64, 90 * MIB);   /* 0.75: 1.5 x */
	assert_in_range(settled_tokens(64 * MIB), 60 * MIB - 64, 60 * MIB);   /* 1: 1 x */
	assert_in_range(settled_tokens(96 * MIB), 45 * MIB - 64, 45 * MIB);   /* 1.5: 0.75 x */
	assert_in_range(settled_tokens(128 * MIB), 30 * MIB - 64, 30 * MIB);  /* 2: 0.5 x */
	assert_in_range(settled_tokens(999 * MIB), 30 * MIB - 64, 30 * MIB);
}

static void a_change_is_smoothed_by_halves(void **state)
{
	(void)state;
	settled_tokens(64 * MIB);
	cancel_io_tokens_observe(&io, 41 * 15 * S, 128 * MIB, 41 * 60 * MIB);
	assert_in_range(io.tokens, 45 * MIB - 64, 45 * MIB); /* between 60 and 30 */
}

static void tokens_are_dealt_out_in_sixty_ticks(void **state)
{
	uint64_t start_ns = 40 * 15 * S, taken = 0;
	(void)state;
	settled_tokens(64 * MIB);
	for (uint64_t ms = 1; ms <= 15000; ms++)
		while (cancel_io_tokens_admit(&io, start_ns + ms * MS, MIB / 16))
			taken += MIB / 16;
	/* What waited from before, 60 ticks, and the last one's overdraft. */
	assert_in_range(taken, 60 * MIB, 61 * MIB + MIB / 16);
}

static void nothing_is_saved_up_beyond_a_tick(void **state)
{
	uint64_t taken = 0;
	(void)state;
	settled_tokens(64 * MIB);
	while (cancel_io_tokens_admit(&io, 40 * 15 * S + 10 * S, MIB / 16))
		taken += MIB / 16;
	assert_in_range(taken, MIB, MIB + MIB / 16);
}

static void a_large_write_is_admitted_and_paid_off_later(void **state)
{
	const uint64_t start_ns = 40 * 15 * S;
	(void)state;
	settled_tokens(64 * MIB);
	assert_true(cancel_io_tokens_admit(&io, start_ns + 250 * MS, 5 * MIB));
	assert_false(cancel_io_tokens_admit(&io, start_ns + 1250 * MS, 1));
	assert_true(cancel_io_tokens_admit(&io, start_ns + 1500 * MS, 1));
}

static void what_was_not_written_is_given_back_and_more_is_charged(void **state)
{
	const uint64_t at_ns = 40 * 15 * S + 250 * MS;
	(void)state;
	settled_tokens(64 * MIB);
	assert_true(cancel_io_tokens_admit(&io, at_ns, MIB));
	const int64_t left = io.available;
	cancel_io_tokens_settle(&io, at_ns, MIB, MIB / 4);
	assert_int_equal(io.available - left, 3 * MIB / 4);
	cancel_io_tokens_settle(&io, at_ns, 0, 3 * MIB);
	assert_false(cancel_io_tokens_admit(&io, at_ns, 1));
}

static void a_store_that_drains_nothing_still_gets_the_floor(void **state)
{
	(void)state;
	made();
	for (uint64_t i = 1; i <= 40; i++)
		cancel_io_tokens_observe(&io, i * 15 * S, 999 * MIB, 0);
	assert_int_equal(io.tokens, MIB);
}

static void writers_at_twice_the_drain_rate_are_held_at_it(void **state)
{
	/* 8 MiB/s wanted, 4 MiB/s drained while there is debt: without tokens 600 s leave a debt of
	 * 2400 MiB. */
	uint64_t debt = 0, drained = 0, highest = 0;

	(void)state;
	made();
	for (uint64_t ms = 0; ms < 600000; ms += 10) {
		const uint64_t now_ns = ms * MS, drain = 4 * MIB / 100;
		if (cancel_io_tokens_admit(&io, now_ns, 8 * MIB / 100))
			debt += 8 * MIB / 100;
		drained += debt < drain ? debt : drain;
		debt -= debt < drain ? debt : drain;
		cancel_io_tokens_observe(&io, now_ns, debt, drained);
		highest = debt > highest ? debt : highest;
	}
	print_message("highest debt %u MiB, at the end %u MiB\n", (unsigned)(highest / MIB),
		(unsigned)(debt / MIB));
	assert_in_range(highest, 32 * MIB, 160 * MIB);
	assert_in_range(drained, 2200 * MIB, 2400 * MIB); /* and the store stays busy */
}

static void extremes_do_not_overflow(void **state)
{
	const struct cancel_io_tokens_options options = { .struct_size = sizeof options,
		.threshold = UINT64_MAX };
	(void)state;
	assert_int_equal(cancel_io_tokens_init(&io, &options), 0);
	cancel_io_tokens_observe(&io, S, UINT64_MAX, UINT64_MAX);
	assert_in_range(io.score_ppm, 999000, 1000001);
	for (unsigned i = 0; i < 10000; i++)
		cancel_io_tokens_settle(&io, S, 0, UINT64_MAX);
	assert_false(cancel_io_tokens_admit(&io, 2 * S, UINT64_MAX));
	assert_int_equal(cancel_io_tokens_init(&io, NULL), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_debt_leaves_writes_unlimited),
		cmocka_unit_test(tokens_follow_the_score),
		cmocka_unit_test(a_change_is_smoothed_by_halves),
		cmocka_unit_test(tokens_are_dealt_out_in_sixty_ticks),
		cmocka_unit_test(nothing_is_saved_up_beyond_a_tick),
		cmocka_unit_test(a_large_write_is_admitted_and_paid_off_later),
		cmocka_unit_test(what_was_not_written_is_given_back_and_more_is_charged),
		cmocka_unit_test(a_store_that_drains_nothing_still_gets_the_floor),
		cmocka_unit_test(writers_at_twice_the_drain_rate_are_held_at_it),
		cmocka_unit_test(extremes_do_not_overflow),
	};
	return cmocka_run_group_tests_name("admission_io_tokens", tests, NULL, NULL);
}

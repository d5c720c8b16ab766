/* SPDX-License-Identifier: Apache-2.0 */
/* Adaptive throttling with the constants of the SRE book. */
#include <cancel/admission/retry_sre.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "libcancel/base/hash.h"

#define S UINT64_C(1000000000)

static struct cancel_retry_sre throttle;

static void made(void)
{
	assert_int_equal(cancel_retry_sre_init(&throttle, NULL), 0);
}

static void a_server_that_accepts_half_is_not_throttled(void **state)
{
	(void)state;
	made();
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(cancel_retry_sre_admit(&throttle, S, 0));
		cancel_retry_sre_observe(&throttle, S, i % 2 == 0);
	}
}

static void the_odds_are_the_formula(void **state)
{
	(void)state;
	made();
	for (unsigned i = 0; i < 99; i++) {
		cancel_retry_sre_admit(&throttle, S, UINT32_MAX);
		cancel_retry_sre_observe(&throttle, S, i < 12);
	}
	/* requests 99, accepts 12: (99 - 24) / 100 = 3/4. A refused request still counts. */
	assert_false(cancel_retry_sre_admit(&throttle, S, 3u * (1u << 30) - 1));
	made();
	for (unsigned i = 0; i < 99; i++) {
		cancel_retry_sre_admit(&throttle, S, UINT32_MAX);
		cancel_retry_sre_observe(&throttle, S, i < 12);
	}
	assert_true(cancel_retry_sre_admit(&throttle, S, 3u * (1u << 30)));
}

static void about_k_times_what_is_accepted_goes_through(void **state)
{
	uint64_t accepted_this_second = 0, sent = 0, accepted = 0, second = 0;
	(void)state;
	made();
	/* 1000 requests a second at a server that accepts the first 50 of each second. */
	for (uint64_t ms = 0; ms < 600000; ms++) {
		const uint64_t now_ns = ms * 1000000;
		if (ms / 1000 != second) {
			second = ms / 1000;
			accepted_this_second = 0;
		}
		if (!cancel_retry_sre_admit(&throttle, now_ns, (uint32_t)hash_mix(ms)))
			continue;
		const bool ok = accepted_this_second < 50;
		accepted_this_second += ok;
		cancel_retry_sre_observe(&throttle, now_ns, ok);
		sent += ms >= 300000;
		accepted += ok && ms >= 300000;
	}
	print_message("seed none (hash_mix of the index): sent %u, accepted %u\n", (unsigned)sent,
		(unsigned)accepted);
	assert_in_range(sent * 100 / accepted, 185, 215);
}

static void two_minutes_after_an_outage_nothing_is_refused(void **state)
{
	(void)state;
	made();
	for (unsigned i = 0; i < 1000; i++)
		cancel_retry_sre_admit(&throttle, S, 0);
	assert_false(cancel_retry_sre_admit(&throttle, 60 * S, 0));
	assert_true(cancel_retry_sre_admit(&throttle, 200 * S, 0));
}

static void huge_counts_do_not_overflow(void **state)
{
	(void)state;
	made();
	throttle.requests.total = INT64_C(1) << 52;
	assert_false(cancel_retry_sre_admit(&throttle, 0, UINT32_MAX - 1));
	throttle.accepts.total = INT64_C(1) << 52;
	assert_true(cancel_retry_sre_admit(&throttle, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_accepts_half_is_not_throttled),
		cmocka_unit_test(the_odds_are_the_formula),
		cmocka_unit_test(about_k_times_what_is_accepted_goes_through),
		cmocka_unit_test(two_minutes_after_an_outage_nothing_is_refused),
		cmocka_unit_test(huge_counts_do_not_overflow),
	};
	return cmocka_run_group_tests_name("admission_retry_sre", tests, NULL, NULL);
}

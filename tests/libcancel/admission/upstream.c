/* SPDX-License-Identifier: Apache-2.0 */
/* Refusing before sending: freshness, and what a gate needs to hear to stay steady. */
#include <cancel/admission/upstream.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static struct cancel_upstream upstream;
static struct cancel_dagor gate;

static void fresh_objects(void)
{
	const struct cancel_dagor_options options = {
		.struct_size = sizeof options, .business_levels = 4, .user_levels = 128
	};
	assert_int_equal(cancel_upstream_init(&upstream, NULL), 0);
	assert_int_equal(cancel_dagor_init(&gate, &options), 0);
}

static struct cancel_dagor_level level(uint32_t cursor, uint64_t serial, uint64_t age_ns)
{
	return (struct cancel_dagor_level){ .cursor = cursor, .serial = serial, .age_ns = age_ns };
}

static void an_unknown_service_is_sent_everything(void **state)
{
	(void)state;
	fresh_objects();
	assert_true(cancel_upstream_admit(&upstream, 0, 511));
}

static void what_the_service_would_refuse_is_not_sent(void **state)
{
	(void)state;
	fresh_objects();
	cancel_upstream_observe(&upstream, S, level(200, 1, 0));
	assert_true(cancel_upstream_admit(&upstream, S, 199));
	assert_false(cancel_upstream_admit(&upstream, S, 200));
}

static void a_reply_that_was_overtaken_is_ignored(void **state)
{
	(void)state;
	fresh_objects();
	cancel_upstream_observe(&upstream, S, level(200, 5, 0));
	cancel_upstream_observe(&upstream, S + MS, level(500, 4, 0));
	assert_false(cancel_upstream_admit(&upstream, S + MS, 300));
	cancel_upstream_observe(&upstream, S + MS, level(500, 6, 0));
	assert_true(cancel_upstream_admit(&upstream, S + MS, 300));
}

static void a_level_expires_by_its_age_and_its_time_here(void **state)
{
	(void)state;
	fresh_objects();
	cancel_upstream_observe(&upstream, 10 * S, level(1, 1, 500 * MS));
	assert_false(cancel_upstream_admit(&upstream, 11 * S + 500 * MS, 300));
	assert_true(cancel_upstream_admit(&upstream, 11 * S + 500 * MS + 1, 300));
	cancel_upstream_observe(&upstream, 12 * S, level(1, 1, 3 * S)); /* an idle gate's */
	assert_true(cancel_upstream_admit(&upstream, 12 * S, 300));
}

static void a_restarted_service_is_believed_once_the_old_level_expired(void **state)
{
	(void)state;
	fresh_objects();
	cancel_upstream_observe(&upstream, S, level(1, 1000, 0));
	cancel_upstream_observe(&upstream, 2 * S, level(512, 0, 0));
	assert_false(cancel_upstream_admit(&upstream, 2 * S, 300));
	cancel_upstream_observe(&upstream, 4 * S, level(512, 1, 0));
	assert_true(cancel_upstream_admit(&upstream, 4 * S, 511));
}

static void refusals_are_counted_until_reported(void **state)
{
	(void)state;
	fresh_objects();
	cancel_upstream_observe(&upstream, S, level(1, 1, 0));
	for (unsigned i = 0; i < 7; i++)
		cancel_upstream_admit(&upstream, S, 1 + i);
	cancel_upstream_admit(&upstream, S, 0);
	assert_int_equal(cancel_upstream_take_shed(&upstream), 7);
	assert_int_equal(cancel_upstream_take_shed(&upstream), 0);
}

/* 600 requests a second over a server of 300, every reply carrying the level, for 300 s. Returns
 * the successes (within 500 ms) of the second half, in requests a second. */
static unsigned collaborative_goodput(bool report)
{
	const uint64_t service_ns = 3333333, gap_ns = S / 600, end_ns = 300 * S;
	uint64_t free_ns = 0, good = 0, sequence = 0;
	fresh_objects();
	for (uint64_t now_ns = 0; now_ns < end_ns; now_ns += gap_ns, sequence++) {
		const uint32_t priority = cancel_dagor_priority(
			&gate, now_ns, (uint32_t)(sequence % 4), sequence / 4);
		if (!cancel_upstream_admit(&upstream, now_ns, priority))
			continue;
		const uint64_t shed = cancel_upstream_take_shed(&upstream);
		if (report)
			cancel_dagor_missed(&gate, now_ns, shed);
		const bool admitted = cancel_dagor_admit(&gate, now_ns, priority);
		cancel_upstream_observe(
			&upstream, now_ns, cancel_dagor_current_level(&gate, now_ns));
		if (!admitted)
			continue;
		const uint64_t start_ns = now_ns > free_ns ? now_ns : free_ns;
		free_ns = start_ns + service_ns;
		cancel_dagor_observe(&gate, now_ns, start_ns - now_ns);
		good += free_ns - now_ns <= 500 * MS && now_ns >= end_ns / 2;
	}
	return (unsigned)(good / (end_ns / 2 / S));
}

static void reporting_what_was_shed_keeps_the_server_at_its_capacity(void **state)
{
	(void)state;
	const unsigned with = collaborative_goodput(true), without = collaborative_goodput(false);

	print_message("goodput of 300: %u with the count, %u without\n", with, without);
	assert_in_range(with, 285, 300);
	assert_true(without < with);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_service_is_sent_everything),
		cmocka_unit_test(what_the_service_would_refuse_is_not_sent),
		cmocka_unit_test(a_reply_that_was_overtaken_is_ignored),
		cmocka_unit_test(a_level_expires_by_its_age_and_its_time_here),
		cmocka_unit_test(a_restarted_service_is_believed_once_the_old_level_expired),
		cmocka_unit_test(refusals_are_counted_until_reported),
		cmocka_unit_test(reporting_what_was_shed_keeps_the_server_at_its_capacity),
	};
	return cmocka_run_group_tests_name("admission_upstream", tests, NULL, NULL);
}

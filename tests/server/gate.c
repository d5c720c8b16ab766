/* SPDX-License-Identifier: Apache-2.0 */
/* When a queue that nobody speaks of counts as one that stands; times are made by hand. */
#include "demo-db/server/admission/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <cancel/policy.h>

#define MS	 1000000ull
#define REQUESTS 100

static struct gate gate;
static uint64_t start_ns;

static int open_gate(void **state)
{
	static struct config config;
	(void)state;
	config_init(&config);
	gate = (struct gate){ 0 };
	start_ns = cancel_now_ns();
	return gate_init(&gate, &config);
}

static int close_gate(void **state)
{
	(void)state;
	gate_free(&gate);
	return 0;
}

/* Many ask in the second window, and the first request of the third ends it. */
static bool closes(void)
{
	struct gate_refusal refusal;
	for (uint64_t user = 0; user < REQUESTS; user++)
		gate_admit(&gate, start_ns + 1200 * MS, PRIORITY_READ, user, &refusal);
	gate_admit(&gate, start_ns + 2500 * MS, PRIORITY_SYSTEM, 0, &refusal);
	return gate_level(&gate, start_ns + 2500 * MS).cursor < PRIORITY_LEVELS * GATE_USER_LEVELS;
}

static void watch_in_the_second_window(void)
{
	struct gate_refusal refusal;
	gate_admit(&gate, start_ns + 1100 * MS, PRIORITY_READ, 0, &refusal);
	gate_watch(&gate, start_ns + 1150 * MS, 3);
}

static void a_queue_nobody_speaks_of_for_a_window_closes_the_gate(void **state)
{
	(void)state;
	gate_watch(&gate, start_ns, 0);
	watch_in_the_second_window();
	assert_true(closes());
}

static void a_queue_that_is_there_at_the_first_look_has_not_stood_for_ever(void **state)
{
	struct gate_refusal refusal;
	(void)state;
	gate_admit(&gate, start_ns + 100 * MS, PRIORITY_READ, 0, &refusal);
	gate_watch(&gate, start_ns + 900 * MS, 3);
	assert_false(closes());
}

static void a_queue_that_moved_while_victims_were_spared_has_not_stood(void **state)
{
	const struct cancel_verdict verdict = {
		.now_ns = start_ns, .overload = CANCEL_RESOURCE, .cancel = true
	};
	(void)state;
	gate_watch(&gate, start_ns, 0);
	gate_hear(&gate, &verdict); /* they are spared for a second */
	for (uint64_t ms = 0; ms < 1000; ms += 10)
		gate_observe(&gate, start_ns + ms * MS, MS);
	watch_in_the_second_window();
	assert_false(closes());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_gate, close_gate)
	const struct CMUnitTest tests[] = {
		TEST(a_queue_nobody_speaks_of_for_a_window_closes_the_gate),
		TEST(a_queue_that_is_there_at_the_first_look_has_not_stood_for_ever),
		TEST(a_queue_that_moved_while_victims_were_spared_has_not_stood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

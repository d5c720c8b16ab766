/* SPDX-License-Identifier: Apache-2.0 */
/* Breakwater's credit pool and how it is dealt out. */
#include <cancel/admission/breakwater.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define US UINT64_C(1000)

static struct cancel_breakwater server;
static struct cancel_breakwater_client clients[1000];

static void made(uint32_t client_count, struct cancel_breakwater_options options)
{
	options.struct_size = sizeof options;
	assert_int_equal(cancel_breakwater_init(&server, &options), 0);
	for (uint32_t i = 0; i < client_count; i++)
		cancel_breakwater_join(&server, &clients[i]);
}

static void below_the_target_a_thousandth_of_the_clients_is_added(void **state)
{
	(void)state;
	made(500, (struct cancel_breakwater_options){ .start_credits = 100 });
	cancel_breakwater_observe(&server, 0, 79 * US);
	assert_int_equal(server.pool_micro, 100500000);
}

static void above_it_the_pool_shrinks_with_the_excess_and_by_half_at_most(void **state)
{
	(void)state;
	made(500, (struct cancel_breakwater_options){ .start_credits = 100 });
	cancel_breakwater_observe(&server, 0, 160 * US); /* twice the target: - 2 % */
	assert_int_equal(server.pool_micro, 98000000);
	cancel_breakwater_observe(&server, 10 * US, 80 * US); /* at the target: - 0 % */
	assert_int_equal(server.pool_micro, 98000000);
	cancel_breakwater_observe(&server, 20 * US, 80000 * US);
	assert_int_equal(server.pool_micro, 49000000);
}

static void the_pool_moves_once_a_round_trip(void **state)
{
	(void)state;
	made(500, (struct cancel_breakwater_options){ .start_credits = 100 });
	cancel_breakwater_observe(&server, 0, 0);
	cancel_breakwater_observe(&server, 9 * US, 0);
	assert_int_equal(server.pool_micro, 100500000);
	cancel_breakwater_observe(&server, 10 * US, 0);
	assert_int_equal(server.pool_micro, 101000000);
}

static void the_pool_keeps_between_its_floor_and_what_clients_may_hold(void **state)
{
	(void)state;
	made(2, (struct cancel_breakwater_options){ .start_credits = 128, .min_credits = 4 });
	cancel_breakwater_observe(&server, 0, 0);
	assert_int_equal(server.pool_micro, 128000000);
	for (uint64_t i = 1; i < 50; i++)
		cancel_breakwater_observe(&server, i * 10 * US, 80000 * US);
	assert_int_equal(server.pool_micro, 4000000);
}

static void a_request_that_queued_twice_the_target_is_dropped(void **state)
{
	(void)state;
	made(1, (struct cancel_breakwater_options){ 0 });
	assert_true(cancel_breakwater_admit(&server, 0, 160 * US - 1));
	assert_false(cancel_breakwater_admit(&server, 0, 160 * US));
}

static void a_client_gets_its_demand_and_a_share_of_what_is_open(void **state)
{
	(void)state;
	made(10, (struct cancel_breakwater_options){ .start_credits = 100 });
	assert_int_equal(cancel_breakwater_grant(&server, &clients[0], 5), 15); /* 5 + 100/10 */
	assert_int_equal(server.issued, 15);
	assert_int_equal(cancel_breakwater_grant(&server, &clients[1], 0), 8);	   /* 0 + 85/10 */
	assert_int_equal(cancel_breakwater_grant(&server, &clients[2], 1000), 64); /* the cap */
	assert_int_equal(server.issued, 87);
}

static void credits_out_come_back_one_a_reply(void **state)
{
	(void)state;
	made(4, (struct cancel_breakwater_options){ .start_credits = 40 });
	cancel_breakwater_grant(&server, &clients[0], 40);
	assert_int_equal(server.issued, 40);
	for (uint64_t i = 0; i < 10; i++)
		cancel_breakwater_observe(&server, i * 10 * US, 80000 * US);
	assert_int_equal(cancel_breakwater_grant(&server, &clients[0], 40), 39);
	assert_int_equal(cancel_breakwater_grant(&server, &clients[0], 40), 38);
	assert_int_equal(cancel_breakwater_grant(&server, &clients[1], 40), 0);
}

static void what_a_leaving_client_held_is_free(void **state)
{
	(void)state;
	made(2, (struct cancel_breakwater_options){ .start_credits = 10 });
	assert_int_equal(cancel_breakwater_grant(&server, &clients[0], 10), 10);
	assert_int_equal(cancel_breakwater_grant(&server, &clients[1], 10), 0);
	cancel_breakwater_leave(&server, &clients[0]);
	assert_int_equal(cancel_breakwater_grant(&server, &clients[1], 10), 10);
}

static void what_is_out_always_equals_what_clients_hold(void **state)
{
	uint64_t held = 0;
	(void)state;
	made(100, (struct cancel_breakwater_options){ .start_credits = 500 });
	for (uint64_t i = 0; i < 20000; i++) {
		cancel_breakwater_observe(&server, i * 10 * US, i % 7 * 30 * US);
		cancel_breakwater_grant(&server, &clients[i * 31 % 100], (uint32_t)(i % 23));
	}
	for (unsigned i = 0; i < 100; i++)
		held += clients[i].credits;
	assert_int_equal(server.issued, held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_target_a_thousandth_of_the_clients_is_added),
		cmocka_unit_test(above_it_the_pool_shrinks_with_the_excess_and_by_half_at_most),
		cmocka_unit_test(the_pool_moves_once_a_round_trip),
		cmocka_unit_test(the_pool_keeps_between_its_floor_and_what_clients_may_hold),
		cmocka_unit_test(a_request_that_queued_twice_the_target_is_dropped),
		cmocka_unit_test(a_client_gets_its_demand_and_a_share_of_what_is_open),
		cmocka_unit_test(credits_out_come_back_one_a_reply),
		cmocka_unit_test(what_a_leaving_client_held_is_free),
		cmocka_unit_test(what_is_out_always_equals_what_clients_hold),
	};
	return cmocka_run_group_tests_name("admission_breakwater", tests, NULL, NULL);
}

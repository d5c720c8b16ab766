/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, slots, pools, patience and rollback of the world, with every invariant checked each step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "world_check.h"
#include "sim/base/clock.h"
#include "sim/world/world.h"

#define MS SIM_NS_PER_MS

static struct sim_world *new_world(uint64_t duration_ms)
{
	const char *why;
	struct sim_world_options options = {
		.duration_ns = duration_ms * MS, .seed = 7, .check = world_check
	};
	struct sim_world *w = sim_world_new(&options, &why);
	assert_non_null(w);
	return w;
}

static int one_shot(struct sim_world *w, int script, uint64_t at_ms)
{
	struct sim_client_options client = { .script = (uint32_t)script,
		.flags = CANCEL_CANCELLABLE,
		.measured = true,
		.first_ns = at_ms * MS,
		.limit = 1,
		.gap = { .shape = SIM_FIXED, .mean = 1 } };
	int index = sim_world_client(w, &client);
	assert_true(index >= 0);
	return index;
}

static void run(struct sim_world *w)
{
	int status = sim_world_run(w);
	struct sim_result result;
	sim_world_result(w, &result);
	if (result.broken)
		fail_msg("%s", result.broken);
	assert_int_equal(status, 0);
}

static uint64_t latency_ms(const struct sim_world *w, int client)
{
	const struct sim_client_totals *t = sim_world_totals(w, (uint32_t)client);
	assert_int_equal(t->succeeded, 1);
	return t->latency_max_ns / MS;
}

static int lock_script(struct sim_world *w, int lock, uint8_t mode, uint64_t hold_ms)
{
	const struct sim_step steps[] = { SIM_LOCK((uint8_t)lock, mode), SIM_COMPUTE(hold_ms * MS),
		SIM_UNLOCK((uint8_t)lock, mode) };
	int script = sim_world_script(w, steps, 3);
	assert_true(script >= 0);
	return script;
}

static void readers_share_and_nobody_overtakes_a_waiting_writer(void **state)
{
	(void)state;
	struct sim_world *w = new_world(1000);
	int lock = sim_world_resource(w, &(struct sim_resource_options){ .type = CANCEL_LOCK });
	int read = lock_script(w, lock, CANCEL_SHARED, 50);
	int write = lock_script(w, lock, CANCEL_EXCLUSIVE, 20);
	int first = one_shot(w, read, 0), beside = one_shot(w, read, 10);
	int writer = one_shot(w, write, 20), behind = one_shot(w, read, 30);
	run(w);
	assert_int_equal(latency_ms(w, first), 50);
	assert_int_equal(latency_ms(w, beside), 50);
	assert_int_equal(latency_ms(w, writer), 40 + 20);
	assert_int_equal(latency_ms(w, behind), 50 + 50);
	sim_world_free(w);
}

static void instances_of_a_lock_do_not_bar_each_other(void **state)
{
	(void)state;
	struct sim_world *w = new_world(1000);
	int lock = sim_world_resource(
		w, &(struct sim_resource_options){ .type = CANCEL_LOCK, .instances = 2 });
	struct sim_step steps[] = {
		{ .kind = SIM_STEP_LOCK, .resource = (uint8_t)lock, .instance = 1, .mode = 2 },
		{ .kind = SIM_STEP_COMPUTE, .amount = 30 * MS },
		{ .kind = SIM_STEP_UNLOCK, .resource = (uint8_t)lock, .instance = 1, .mode = 2 },
	};
	int zero = lock_script(w, lock, CANCEL_EXCLUSIVE, 30);
	int one = sim_world_script(w, steps, 3);
	int a = one_shot(w, zero, 0), b = one_shot(w, one, 0), c = one_shot(w, one, 0);
	run(w);
	assert_int_equal(latency_ms(w, a), 30);
	assert_int_equal(latency_ms(w, b), 30);
	assert_int_equal(latency_ms(w, c), 60);
	sim_world_free(w);
}

static void slots_are_given_in_order_and_a_wide_request_is_not_starved(void **state)
{
	(void)state;
	struct sim_world *w = new_world(1000);
	int slots = sim_world_resource(
		w, &(struct sim_resource_options){ .type = CANCEL_QUEUE, .capacity = 2 });
	int scripts[2];
	for (uint64_t wide = 1; wide <= 2; wide++) {
		const struct sim_step steps[] = { SIM_TAKE((uint8_t)slots, wide),
			SIM_COMPUTE(10 * MS), SIM_FREE((uint8_t)slots, wide) };
		scripts[wide - 1] = sim_world_script(w, steps, 3);
	}
	int a = one_shot(w, scripts[0], 0), both = one_shot(w, scripts[1], 1);
	int c = one_shot(w, scripts[0], 2);
	run(w);
	assert_int_equal(latency_ms(w, a), 10);
	assert_int_equal(latency_ms(w, both), 19);
	assert_int_equal(latency_ms(w, c), 28);
	sim_world_free(w);
}

static int read_script(struct sim_world *w, int pool, enum sim_read how, uint64_t pages,
	uint64_t first, uint64_t span)
{
	struct sim_step step = { .kind = SIM_STEP_READ,
		.resource = (uint8_t)pool,
		.mode = (uint8_t)how,
		.amount = pages,
		.first = first,
		.span = span };
	return sim_world_script(w, &step, 1);
}

static void a_second_read_hits_until_a_scan_has_evicted_the_pages(void **state)
{
	(void)state;
	struct sim_world *w = new_world(60000);
	int pool = sim_world_resource(w, &(struct sim_resource_options){ .type = CANCEL_MEMORY,
						 .capacity = 100,
						 .hit_ns = MS / 100,
						 .miss_ns = MS });
	int hot = read_script(w, pool, SIM_READ_SEQUENTIAL, 50, 0, 50);
	int scan = read_script(w, pool, SIM_READ_SEQUENTIAL, 100, 1000, 100);
	int cold = one_shot(w, hot, 0), warm = one_shot(w, hot, 1000);
	int dump = one_shot(w, scan, 2000), after = one_shot(w, hot, 5000);
	run(w);
	assert_int_equal(latency_ms(w, cold), 50);
	assert_int_equal(latency_ms(w, warm), 0);
	assert_int_equal(latency_ms(w, dump), 100);
	assert_int_equal(latency_ms(w, after), 50);
	sim_world_free(w);
}

static void a_device_with_one_slot_serves_one_miss_at_a_time(void **state)
{
	(void)state;
	struct sim_world *w = new_world(1000);
	int device = sim_world_resource(
		w, &(struct sim_resource_options){
			   .type = CANCEL_QUEUE, .capacity = 1, .untracked = true });
	int pool = sim_world_resource(w, &(struct sim_resource_options){ .type = CANCEL_MEMORY,
						 .capacity = 100,
						 .io_resource = (uint8_t)(device + 1),
						 .hit_ns = 1,
						 .miss_ns = 10 * MS });
	int a = one_shot(w, read_script(w, pool, SIM_READ_SEQUENTIAL, 1, 0, 1), 0);
	int b = one_shot(w, read_script(w, pool, SIM_READ_SEQUENTIAL, 1, 5, 1), 0);
	run(w);
	assert_int_equal(latency_ms(w, a), 10);
	assert_int_equal(latency_ms(w, b), 20);
	sim_world_free(w);
}

static void many_random_readers_and_scans_keep_every_invariant(void **state)
{
	(void)state;
	struct sim_world *w = new_world(2000);
	int device = sim_world_resource(
		w, &(struct sim_resource_options){ .type = CANCEL_QUEUE, .capacity = 2 });
	int pool = sim_world_resource(w, &(struct sim_resource_options){ .type = CANCEL_MEMORY,
						 .capacity = 40,
						 .io_resource = (uint8_t)(device + 1),
						 .read_ahead = 8,
						 .hit_ns = 1000,
						 .miss_ns = MS,
						 .next_page_ns = MS / 20 });
	struct sim_client_options client = { .script = (uint32_t)read_script(
						     w, pool, SIM_READ_RANDOM, 3, 0, 30),
		.measured = true,
		.gap = { .shape = SIM_EXPONENTIAL, .mean = 5 * MS },
		.patience.timeout_ns = 40 * MS,
		.patience.retries = 2,
		.patience.backoff_ns = MS,
		.patience.backoff_jitter = true };
	int point = sim_world_client(w, &client);
	client.script = (uint32_t)read_script(w, pool, SIM_READ_SEQUENTIAL, 60, 100, 60);
	client.gap.mean = 300 * MS;
	int scan = sim_world_client(w, &client);
	run(w);
	assert_true(sim_world_totals(w, (uint32_t)point)->succeeded > 100);
	assert_true(sim_world_totals(w, (uint32_t)scan)->attempts > 3);
	sim_world_free(w);
}

static void a_statement_timeout_stops_a_waiter_at_once_and_a_holder_after_its_rollback(void **state)
{
	(void)state;
	const char *why;
	struct sim_world_options options = { .duration_ns = 2000 * MS,
		.statement_timeout_ns = 100 * MS,
		.ack_ns = 5 * MS,
		.rollback_ppm = 200000,
		.check = world_check };
	struct sim_world *w = sim_world_new(&options, &why);
	int lock = sim_world_resource(w, &(struct sim_resource_options){ .type = CANCEL_LOCK });
	int hold = lock_script(w, lock, CANCEL_EXCLUSIVE, 1000);
	int brief = lock_script(w, lock, CANCEL_EXCLUSIVE, 10);
	int holder = one_shot(w, hold, 0), waiter = one_shot(w, brief, 10);
	int lucky = one_shot(w, brief, 60);
	run(w);
	assert_int_equal(sim_world_totals(w, (uint32_t)holder)->stopped, 1);
	assert_int_equal(sim_world_totals(w, (uint32_t)holder)->wasted_ns, 105 * MS);
	assert_int_equal(sim_world_totals(w, (uint32_t)waiter)->stopped, 1);
	/* 100 timeout + 5 to the checkpoint + 20 % of 105 to roll back, then its own 10. */
	assert_int_equal(latency_ms(w, lucky), 126 + 10 - 60);
	sim_world_free(w);
}

static void a_client_that_leaves_retries_and_its_old_attempt_is_a_zombie(void **state)
{
	(void)state;
	struct sim_world *w = new_world(1000);
	int slots = sim_world_resource(
		w, &(struct sim_resource_options){ .type = CANCEL_QUEUE, .capacity = 1 });
	const struct sim_step steps[] = { SIM_TAKE((uint8_t)slots, 1), SIM_COMPUTE_ARG(1) };
	struct sim_client_options client = { .script = (uint32_t)sim_world_script(w, steps, 2),
		.measured = true,
		.limit = 1,
		.gap = { .shape = SIM_FIXED, .mean = 1 },
		.patience.timeout_ns = 30 * MS,
		.patience.retries = 2 };
	const struct sim_step busy[] = { SIM_TAKE((uint8_t)slots, 1), SIM_COMPUTE(50 * MS) };
	int blocker = one_shot(w, sim_world_script(w, busy, 2), 0);
	int impatient = sim_world_client(w, &client);
	run(w);
	const struct sim_client_totals *t = sim_world_totals(w, (uint32_t)impatient);
	assert_int_equal(latency_ms(w, blocker), 50);
	assert_int_equal(t->attempts, 2);
	assert_int_equal(t->zombies, 1);
	assert_int_equal(t->succeeded, 1);
	assert_int_equal(t->latency_max_ns / MS, 50);
	sim_world_free(w);
}

static void a_description_out_of_range_is_refused(void **state)
{
	(void)state;
	const char *why;
	struct sim_world_options options = { 0 };
	assert_null(sim_world_new(&options, &why));
	assert_non_null(why);
	struct sim_world *w = new_world(10);
	assert_int_equal(sim_world_resource(w, &(struct sim_resource_options){ 0 }), -1);
	struct sim_step unlock = { .kind = SIM_STEP_UNLOCK, .resource = 0, .mode = 1 };
	assert_int_equal(sim_world_script(w, &unlock, 1), -1);
	assert_int_equal(sim_world_script(w, &unlock, 0), -1);
	struct sim_client_options client = { .script = 3 };
	assert_int_equal(sim_world_client(w, &client), -1);
	sim_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_share_and_nobody_overtakes_a_waiting_writer),
		cmocka_unit_test(instances_of_a_lock_do_not_bar_each_other),
		cmocka_unit_test(slots_are_given_in_order_and_a_wide_request_is_not_starved),
		cmocka_unit_test(a_second_read_hits_until_a_scan_has_evicted_the_pages),
		cmocka_unit_test(a_device_with_one_slot_serves_one_miss_at_a_time),
		cmocka_unit_test(many_random_readers_and_scans_keep_every_invariant),
		cmocka_unit_test(
			a_statement_timeout_stops_a_waiter_at_once_and_a_holder_after_its_rollback),
		cmocka_unit_test(a_client_that_leaves_retries_and_its_old_attempt_is_a_zombie),
		cmocka_unit_test(a_description_out_of_range_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The world as lane 1: a held lock does what an outage does, to the request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/base/clock.h"
#include "sim/setups/storm.h"
#include "sim/single/single.h"

static void same_windows(uint64_t load, uint32_t retries, uint64_t hold_ns, uint64_t seconds)
{
	struct sim_storm storm = { .load_qps = load,
		.retries = retries,
		.hold_ns = hold_ns,
		.duration_ns = seconds * SIM_NS_PER_S };
	struct sim_single single = { .interval_ns = SIM_NS_PER_S / load,
		.service_ns = 3333333,
		.timeout_ns = SIM_NS_PER_S,
		.outage_start_ns = 30 * SIM_NS_PER_S,
		.outage_ns = hold_ns,
		.duration_ns = storm.duration_ns,
		.retries = retries };
	struct sim_windows sweep;
	struct sim_result result;
	const char *why;
	sim_sweep(&single, NULL, NULL, UINT64_MAX, &sweep);
	struct sim_world *world = sim_storm_new(&storm, &why);
	assert_non_null(world);
	assert_int_equal(sim_world_run(world), 0);
	sim_world_result(world, &result);
	assert_int_equal(result.window_count, sweep.count);
	for (size_t i = 0; i < sweep.count; i++) {
		assert_int_equal(result.windows[i].offered, sweep.rows[i].offered);
		assert_int_equal(result.windows[i].goodput, sweep.rows[i].goodput);
	}
	sim_windows_free(&sweep);
	sim_world_free(world);
}

static void a_lock_held_for_10_s_gives_the_golden_windows_of_lane_1(void **state)
{
	(void)state;
	same_windows(280, 1, 10 * SIM_NS_PER_S, 200);
	same_windows(140, 1, 10 * SIM_NS_PER_S, 200);
}

static void other_loads_holds_and_retries_give_the_windows_of_the_sweep(void **state)
{
	(void)state;
	same_windows(299, 1, SIM_NS_PER_S, 100);
	same_windows(74, 3, 10 * SIM_NS_PER_S, 150);
	same_windows(199, 2, 123456789, 60);
	same_windows(1, 0, 5 * SIM_NS_PER_S, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_held_for_10_s_gives_the_golden_windows_of_lane_1),
		cmocka_unit_test(other_loads_holds_and_retries_give_the_windows_of_the_sweep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The memory gate: evict before refusing, refuse only what grows. */
#include <cancel/admission/memory_gate.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct cancel_memory_gate gate;
static uint64_t evict;

static void made(uint64_t limit, int64_t used)
{
	const struct cancel_memory_gate_options options = { .struct_size = sizeof options,
		.limit_bytes = limit };
	assert_int_equal(cancel_memory_gate_init(&gate, &options), 0);
	cancel_memory_gate_observe(&gate, 0, used);
	evict = 77;
}

static void what_fits_goes_and_is_counted(void **state)
{
	(void)state;
	made(100, 60);
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 40, 0, &evict), CANCEL_MEMORY_GO);
	assert_int_equal(evict, 0);
	assert_int_equal(gate.used_bytes, 100);
}

static void what_does_not_fit_first_asks_for_evictions(void **state)
{
	(void)state;
	made(100, 90);
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 30, 50, &evict), CANCEL_MEMORY_EVICT);
	assert_int_equal(evict, 20);
	assert_int_equal(gate.used_bytes, 90);
	cancel_memory_gate_observe(&gate, 0, -20);
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 30, 30, &evict), CANCEL_MEMORY_GO);
}

static void nothing_is_evicted_in_vain(void **state)
{
	(void)state;
	made(100, 90);
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 30, 19, &evict), CANCEL_MEMORY_REFUSE);
	assert_int_equal(evict, 0);
	assert_int_equal(gate.refused, 1);
}

static void what_grows_nothing_always_goes(void **state)
{
	(void)state;
	made(100, 130);
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 0, 0, &evict), CANCEL_MEMORY_GO);
	assert_int_equal(evict, 0);
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 0, 50, &evict), CANCEL_MEMORY_GO);
	assert_int_equal(evict, 30); /* and says what should go soon */
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 1, 0, NULL), CANCEL_MEMORY_REFUSE);
}

static void what_can_never_fit_is_told_apart(void **state)
{
	(void)state;
	made(100, 0);
	assert_int_equal(
		cancel_memory_gate_admit(&gate, 0, 101, 1000, &evict), CANCEL_MEMORY_TOO_LARGE);
}

static void sums_do_not_wrap(void **state)
{
	(void)state;
	made(100, 10);
	cancel_memory_gate_observe(&gate, 0, INT64_MIN);
	assert_int_equal(gate.used_bytes, 0);
	gate.used_bytes = UINT64_MAX - 1;
	cancel_memory_gate_observe(&gate, 0, INT64_MAX);
	assert_int_equal(cancel_memory_gate_admit(&gate, 0, 50, 0, NULL), CANCEL_MEMORY_REFUSE);
}

static void options_that_cannot_work_are_refused(void **state)
{
	(void)state;
	assert_int_equal(cancel_memory_gate_init(&gate, NULL), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_goes_and_is_counted),
		cmocka_unit_test(what_does_not_fit_first_asks_for_evictions),
		cmocka_unit_test(nothing_is_evicted_in_vain),
		cmocka_unit_test(what_grows_nothing_always_goes),
		cmocka_unit_test(what_can_never_fit_is_told_apart),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_memory_gate", tests, NULL, NULL);
}

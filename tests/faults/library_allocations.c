/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_allocations.c - each allocation and each start of a thread of libcancel fails once. The
 * library says so, keeps nothing, and starts the next time.
 */
#include "test.h"
#include "moments.h"
#include "tries.h"

#include <cancel/admission_shared.h>
#include <cancel/cancel.h>

static const struct cancel_class classes[] = { { .name = "test", .slo_ns = 1000000000 } };

static void use_a_task(void)
{
	const struct cancel_task_options options = { .struct_size = sizeof(options), .key = 1 };
	struct cancel_task task = cancel_task_begin(&options);
	assert_true(task.id);
	cancel_task_end(task);
}

static bool try_start(uint64_t k, uint64_t *refused)
{
	const struct cancel_config config = { .struct_size = sizeof(config),
		.classes = classes,
		.class_count = 1,
		.max_tasks = 4096 };
	moments_arm(k);
	int error = cancel_start(&config);
	bool reached = moments_disarm() >= k;
	if (error) {
		assert_true(error == CANCEL_ENOMEM || error == CANCEL_ETHREAD);
		*refused += 1;
		assert_int_equal(cancel_stop(), CANCEL_ESTATE);
		assert_int_equal(cancel_task_begin(NULL).id, 0); /* nothing, and no harm */
		assert_int_equal(cancel_start(&config), 0);
	}
	use_a_task();
	assert_int_equal(cancel_stop(), 0);
	return reached;
}

static void a_library_short_of_memory_does_not_start_and_keeps_nothing(void **state)
{
	uint64_t k = 1, refused = 0;
	(void)state;
	while (try_start(k, &refused))
		k++;
	print_message("tried: %llu allocations of starting the library, %llu refused it\n",
		(unsigned long long)k - 1, (unsigned long long)refused);
	assert_true(refused > 0);
}

static void shared_objects_short_of_memory_are_not_made(void **state)
{
	struct cancel_dagor_shared *gate;
	struct cancel_retry_shared *budget;
	(void)state;
	moments_arm(1);
	gate = cancel_dagor_shared_create(NULL);
	assert_int_equal(moments_disarm(), 1);
	assert_null(gate);
	moments_arm(1);
	budget = cancel_retry_shared_create(CANCEL_RETRY_BUCKET, NULL);
	assert_int_equal(moments_disarm(), 1);
	assert_null(budget);
}

int main(int argc, char **argv)
{
	if (!tries_read(argc, argv, 1))
		return 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_short_of_memory_does_not_start_and_keeps_nothing),
		cmocka_unit_test(shared_objects_short_of_memory_are_not_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

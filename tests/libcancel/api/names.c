/* SPDX-License-Identifier: Apache-2.0 */
/* A host with functions of the same names: at compile time it leaves the short names out, at link
 * time there is nothing to clash with. */
#define CANCEL_NO_SHORT_NAMES

#include "test.h"

#include <cancel/observe.h>

int getResource(const char *url);
int freeResource(int handle);
int createCancel(void);

int getResource(const char *url)
{
	return url[0];
}

int freeResource(int handle)
{
	return handle - 1;
}

int createCancel(void)
{
	return 3;
}

static void the_hosts_own_functions_are_its_own(void **state)
{
	(void)state;
	assert_int_equal(getResource("x"), 'x');
	assert_int_equal(freeResource(7), 6);
	assert_int_equal(createCancel(), 3);
}

static void the_library_is_there_under_its_prefix(void **state)
{
	struct cancel_config config = { .struct_size = sizeof config };
	(void)state;
	assert_int_equal(cancel_start(&config), 0);
	struct cancel_task task = cancel_task_begin(NULL);
	assert_int_not_equal(task.id, 0);
	cancel_task_end(task);
	assert_int_equal(cancel_stop(), 0);
}

static void every_error_has_a_text(void **state)
{
	(void)state;
	for (int error = -1; error >= CANCEL_EBUSY; error--)
		assert_string_not_equal(cancel_error_text(error), "unknown error");
	assert_string_equal(cancel_error_text(0), "no error");
	assert_string_equal(cancel_error_text(-99), "unknown error");
	assert_string_equal(cancel_error_text(1), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hosts_own_functions_are_its_own),
		cmocka_unit_test(the_library_is_there_under_its_prefix),
		cmocka_unit_test(every_error_has_a_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

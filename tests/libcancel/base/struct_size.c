/* SPDX-License-Identifier: Apache-2.0 */
/* One rule for every struct that begins with struct_size: older and newer callers both work. */
#include "test.h"

#include "libcancel/base/struct_size.h"

struct known { /* what this side was compiled with */
	size_t struct_size;
	uint64_t first, second;
};

struct newer { /* what a newer caller has */
	size_t struct_size;
	uint64_t first, second, third;
};

static void what_an_older_caller_does_not_have_is_zero(void **state)
{
	const struct known from = {
		.struct_size = offsetof(struct known, second), .first = 7, .second = 8
	};
	struct known to = { .second = 9 };
	(void)state;
	assert_true(struct_size_read(&to, sizeof to, &from));
	assert_int_equal(to.first, 7);
	assert_int_equal(to.second, 0);
}

static void what_a_newer_caller_has_more_is_ignored(void **state)
{
	const struct newer from = {
		.struct_size = sizeof from, .first = 7, .second = 8, .third = 9
	};
	struct {
		struct known known;
		uint64_t behind;
	} to = { .behind = 1 };

	(void)state;
	assert_true(struct_size_read(&to.known, sizeof to.known, &from));
	assert_int_equal(to.known.first, 7);
	assert_int_equal(to.known.second, 8);
	assert_int_equal(to.behind, 1);
}

static void no_struct_means_all_defaults(void **state)
{
	struct known to = { .first = 1, .second = 2 };
	(void)state;
	assert_true(struct_size_read(&to, sizeof to, NULL));
	assert_int_equal(to.first, 0);
	assert_int_equal(to.second, 0);
}

static void a_forgotten_size_is_told_and_leaves_defaults(void **state)
{
	const struct known forgotten = { .first = 7 };
	const struct known half = { .struct_size = sizeof(size_t) - 1, .first = 7 };
	struct known to = { .first = 1 };
	(void)state;
	assert_false(struct_size_read(&to, sizeof to, &forgotten));
	assert_int_equal(to.first, 0);
	to.first = 1;
	assert_false(struct_size_read(&to, sizeof to, &half));
	assert_int_equal(to.first, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_older_caller_does_not_have_is_zero),
		cmocka_unit_test(what_a_newer_caller_has_more_is_ignored),
		cmocka_unit_test(no_struct_means_all_defaults),
		cmocka_unit_test(a_forgotten_size_is_told_and_leaves_defaults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

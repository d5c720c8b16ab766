/* SPDX-License-Identifier: Apache-2.0 */
/* Lane 3 and the exercises: the figures of the model, through the real binary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

static json_t *rows_of(json_t *root, const char *table)
{
	json_t *rows = json_object_get(json_object_get(root, "tables"), table);
	assert_true(json_is_array(rows));
	return rows;
}

/* The first row whose text columns are as asked; `value` may hold several "column=text" by ','. */
static json_t *row_where(json_t *rows, const char *conditions)
{
	size_t index;
	json_t *row;
	json_array_foreach(rows, index, row)
	{
		char copy[256], *rest = copy, *part;
		bool all = true;
		snprintf(copy, sizeof(copy), "%s", conditions);
		while (all && (part = strsep(&rest, ","))) {
			char *value = strchr(part, '=');
			*value++ = '\0';
			json_t *cell = json_object_get(row, part);
			char text[64];
			if (json_is_integer(cell))
				snprintf(text, sizeof(text), "%lld",
					(long long)json_integer_value(cell));
			else if (json_is_boolean(cell))
				snprintf(text, sizeof(text), "%s",
					json_boolean_value(cell) ? "yes" : "no");
			else
				snprintf(text, sizeof(text), "%s", json_string_value(cell));
			all = strcmp(text, value) == 0;
		}
		if (all)
			return row;
	}
	fail_msg("no row where %s", conditions);
	return NULL;
}

static double number(json_t *row, const char *column)
{
	json_t *cell = json_object_get(row, column);
	if (!json_is_number(cell))
		fail_msg("%s is not a number", column);
	return json_number_value(cell);
}

static int64_t whole(json_t *row, const char *column)
{
	json_t *cell = json_object_get(row, column);
	return json_is_integer(cell) ? json_integer_value(cell) : -1;
}

static void hidden_capacity_is_capacity_over_one_plus_retries(void **state)
{
	(void)state;
	static const int expected[] = { 149, 99, 74 };
	json_t *root = tool_json("lane hidden-capacity --format json");
	for (size_t i = 0; i < 3; i++) {
		json_t *row = json_array_get(rows_of(root, "hidden_capacity"), i);
		assert_int_equal(whole(row, "retries"), i + 1);
		assert_int_equal(whole(row, "largest_load_qps"), expected[i]);
	}
	json_decref(root);
}

static void the_survivable_outage_shrinks_with_load(void **state)
{
	(void)state;
	static const int loads[] = { 151, 160, 200, 250, 280, 290, 299 };
	static const int survives[] = { 1499, 1455, 1218, 1036, 1005, 1001, 1000 };
	json_t *root = tool_json("lane trigger-intensity --format json");
	for (size_t i = 0; i < 7; i++) {
		json_t *row = json_array_get(rows_of(root, "trigger_intensity"), i);
		assert_int_equal(whole(row, "load_qps"), loads[i]);
		assert_int_equal(whole(row, "survives_ms"), survives[i]);
		assert_true(whole(row, "any_start_ms") <= survives[i]);
		if (loads[i] >= 250)
			assert_true(number(row, "any_start_ms") - number(row, "formula_ms") < 6.5 &&
				    number(row, "formula_ms") - number(row, "any_start_ms") < 4.0);
	}
	json_decref(root);
}

static void healing_time_follows_the_formula(void **state)
{
	(void)state;
	static const int full[] = { 226, 316, 586, 2746 }, drip[] = { 224, 306, 556, 2058 };
	json_t *root = tool_json("lane healing-time --format json");
	for (size_t i = 0; i < 4; i++) {
		json_t *row = json_array_get(rows_of(root, "budgets"), i);
		assert_int_equal(whole(row, "heal_second"), full[i]);
		assert_int_equal(whole(row, "heal_second_burst_1"), drip[i]);
		assert_true(number(row, "formula_s") - full[i] < 2.0);
		assert_true(full[i] - number(row, "formula_s") < 2.0);
	}
	json_decref(root);
}

static void a_share_of_originals_heals_only_below_the_headroom(void **state)
{
	(void)state;
	json_t *root = tool_json("lane healing-time --format json");
	json_t *rows = rows_of(root, "shares");
	assert_int_equal(whole(row_where(rows, "share_pct=5"), "heal_second"), 496);
	row_where(rows, "share_pct=10,heal_second=never,heal_second_finagle=never");
	row_where(rows, "share_pct=20,heal_second=never,heal_second_finagle=never");
	json_decref(root);
}

static void without_a_gate_overload_leaves_nothing(void **state)
{
	(void)state;
	json_t *root = tool_json("lane 3 --format json");
	json_t *row = row_where(rows_of(root, "gates"), "scope=second half,gate=none");
	assert_true(number(row, "goodput_qps") == 0.0);
	json_decref(root);
}

static void user_levels_keep_the_server_full_by_every_rule(void **state)
{
	(void)state;
	static const char *const rules[] = { "accumulating", "memoryless", "fraction" };
	json_t *root = tool_json("lane 3 --format json");
	for (size_t i = 0; i < 3; i++) {
		char where[96];
		snprintf(where, sizeof(where), "scope=second half,gate=fine,rule=%s", rules[i]);
		json_t *row = row_where(rows_of(root, "gates"), where);
		assert_true(number(row, "goodput_qps") >= 285.0);
		assert_true(number(row, "p0_success_pct") >= 99.0);
		assert_true(number(row, "p3_success_pct") <= 1.0);
		assert_true(number(row, "p99_ms") < 130.0);
	}
	json_decref(root);
}

static void bare_levels_depend_on_the_rule(void **state)
{
	(void)state;
	json_t *root = tool_json("lane 3 --format json"), *rows = rows_of(root, "gates");
	json_t *stuck = row_where(rows, "scope=second half,gate=coarse,rule=memoryless");
	assert_true(number(stuck, "goodput_qps") == 150.0);
	assert_int_equal(whole(stuck, "cursor"), 1);
	json_t *carried = row_where(rows, "scope=second half,gate=coarse,rule=accumulating");
	assert_true(number(carried, "goodput_qps") > 280.0);
	json_decref(root);
}

static void with_retries_the_bare_gate_alone_fails_and_a_budget_saves_it(void **state)
{
	(void)state;
	json_t *root = tool_json("lane composition --scenario overload --format json");
	json_t *rows = rows_of(root, "composition");
	json_t *alone =
		row_where(rows, "gate=coarse,rule=accumulating,budget_per_s=0,retry_on_reject=no");
	json_t *both =
		row_where(rows, "gate=coarse,rule=accumulating,budget_per_s=15,retry_on_reject=no");
	json_t *fine =
		row_where(rows, "gate=fine,rule=accumulating,budget_per_s=0,retry_on_reject=no");
	assert_true(number(alone, "goodput_qps") == 0.0);
	assert_true(number(both, "goodput_qps") >= 280.0);
	assert_true(number(fine, "goodput_qps") >= 290.0);
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_capacity_is_capacity_over_one_plus_retries),
		cmocka_unit_test(the_survivable_outage_shrinks_with_load),
		cmocka_unit_test(healing_time_follows_the_formula),
		cmocka_unit_test(a_share_of_originals_heals_only_below_the_headroom),
		cmocka_unit_test(without_a_gate_overload_leaves_nothing),
		cmocka_unit_test(user_levels_keep_the_server_full_by_every_rule),
		cmocka_unit_test(bare_levels_depend_on_the_rule),
		cmocka_unit_test(with_retries_the_bare_gate_alone_fails_and_a_budget_saves_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

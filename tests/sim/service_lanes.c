/* SPDX-License-Identifier: Apache-2.0 */
/* The service lanes: what each says must hold, on runs cut short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

#define SHORT_FANOUT "--seeds 2 --ramp-s 20 --settle-s 15 --measure-s 20 --format json"

static json_t *rows_of(json_t *root, const char *table)
{
	json_t *rows = json_object_get(json_object_get(root, "tables"), table);
	assert_true(json_is_array(rows));
	return rows;
}

/* The row whose first two columns named are as asked; `second` NULL: one column only. */
static json_t *row_where(
	json_t *rows, const char *first, const char *is, const char *second, const char *and_is)
{
	size_t index;
	json_t *row;
	json_array_foreach(rows, index, row)
	{
		const char *one = json_string_value(json_object_get(row, first));
		const char *two = second ? json_string_value(json_object_get(row, second)) : "";
		if (one && two && strcmp(one, is) == 0 && (!second || strcmp(two, and_is) == 0))
			return row;
	}
	fail_msg("no row where %s is %s", first, is);
	return NULL;
}

static double number(json_t *row, const char *column)
{
	json_t *cell = json_object_get(row, column);
	if (!json_is_number(cell))
		fail_msg("%s is not a number", column);
	return json_number_value(cell);
}

static double success(json_t *rows, const char *workload, const char *policy)
{
	return number(row_where(rows, "workload", workload, "policy", policy), "success_pct");
}

static void random_shedding_leaves_half_to_the_power_of_the_calls(void **state)
{
	(void)state;
	static const char *const workloads[] = { "M^1", "M^2", "M^3", "M^4" };
	json_t *root = tool_json("lane fan-out --part depth --policy random " SHORT_FANOUT);
	double expected = 100.0;
	for (size_t i = 0; i < 4; i++) {
		double got = success(rows_of(root, "depth"), workloads[i], "random");
		expected *= 0.5;
		assert_true(got > expected - 1.5 && got < expected + 1.5);
	}
	json_decref(root);
}

static void dagor_leads_where_tasks_call_twice_and_leads_more_at_four(void **state)
{
	(void)state;
	json_t *root =
		tool_json("lane fan-out --part depth --policy codel,seda,dagor-q " SHORT_FANOUT);
	json_t *rows = rows_of(root, "depth");
	double lead[2], ones[] = { success(rows, "M^1", "codel"), success(rows, "M^1", "seda"),
		success(rows, "M^1", "dagor-q") };
	static const char *const deep[] = { "M^2", "M^4" };
	for (size_t i = 0; i < 2; i++) {
		double codel = success(rows, deep[i], "codel"),
		       seda = success(rows, deep[i], "seda");
		double dagor = success(rows, deep[i], "dagor-q");
		lead[i] = dagor / (codel > seda ? codel : seda);
	}
	for (size_t i = 0; i < 3; i++)
		assert_true(ones[i] > 40.0 && ones[i] < 60.0); /* about equal on M^1 */
	assert_true(lead[0] > 1.2);
	assert_true(lead[1] > lead[0]);
	json_decref(root);
}

static void the_response_gate_sheds_before_the_queuing_gate(void **state)
{
	(void)state;
	json_t *root =
		tool_json("lane fan-out --part start --start-feeds 540..810:30 " SHORT_FANOUT);
	double by_response = number(json_object_get(root, "dagor_r"), "sheds_from_qps");
	double by_queuing = number(json_object_get(root, "dagor_q"), "sheds_from_qps");
	assert_true(by_response < by_queuing);
	assert_true(by_queuing >= 690.0 && by_queuing <= 810.0);
	json_decref(root);
}

static void two_overloaded_services_halve_twice_unless_shed_alike(void **state)
{
	(void)state;
	json_t *root = tool_json("lane fan-out --part two --policy random,dagor-q " SHORT_FANOUT);
	json_t *rows = rows_of(root, "two");
	assert_true(success(rows, "M+N", "random") < 28.0);
	assert_true(success(rows, "M+N", "dagor-q") > 36.0);
	json_decref(root);
}

static void a_mixed_load_is_fair_only_under_priorities(void **state)
{
	(void)state;
	json_t *root = tool_json("lane fan-out --part mixed --policy codel,dagor-q " SHORT_FANOUT);
	json_t *rows = rows_of(root, "mixed");
	assert_true(number(row_where(rows, "policy", "codel", NULL, NULL), "fairness") < 0.5);
	assert_true(number(row_where(rows, "policy", "dagor-q", NULL, NULL), "fairness") > 0.7);
	json_decref(root);
}

static void rejects_that_cost_are_better_made_by_the_callers(void **state)
{
	(void)state;
	json_t *root = tool_json("lane fan-out --part reject --reject-cost-us 50000 " SHORT_FANOUT);
	json_t *rows = rows_of(root, "reject");
	json_t *alone = row_where(rows, "policy", "dagor-q", NULL, NULL);
	json_t *together = row_where(rows, "policy", "dagor-q-upstream", NULL, NULL);
	assert_true(number(alone, "m2_success_pct") < 10.0);
	assert_true(number(together, "m2_success_pct") > 30.0);
	json_decref(root);
}

static void dice_reward_relogins_and_a_user_hash_does_not(void **state)
{
	(void)state;
	json_t *root = tool_json("lane gaming --rotations 12 --seeds 1 --format json");
	json_t *rows = rows_of(root, "gaming");
	json_t *dice = row_where(rows, "scheme", "session-dice", NULL, NULL);
	json_t *hash = row_where(rows, "scheme", "user-hash", NULL, NULL);
	json_t *fixed = row_where(rows, "scheme", "fixed-hash", NULL, NULL);
	assert_true(number(dice, "gamer_pct") > 2.0 * number(dice, "honest_pct"));
	assert_true(number(hash, "gamer_pct") < 1.1 * number(hash, "honest_pct"));
	assert_true(number(hash, "starved_pct") < 1.0);
	assert_true(number(fixed, "starved_pct") > 30.0);
	json_decref(root);
}

static void a_lost_cache_stays_cold_until_the_right_loop_is_broken(void **state)
{
	(void)state;
	json_t *root =
		tool_json("lane cache-loss --seeds 1 --duration-s 150 "
			  "--cure none,no-retries,single-flight,load-drop,load-ramp --format json");
	json_t *rows = rows_of(root, "cache_loss");
	static const char *const fails[] = { "none", "no-retries", "load-drop" };
	static const char *const heals[] = { "single-flight", "load-ramp" };
	for (size_t i = 0; i < 3; i++) {
		json_t *row = row_where(rows, "cure", fails[i], NULL, NULL);
		assert_true(number(row, "before_qps") > 2500.0);
		assert_true(number(row, "after_qps") < 100.0);
	}
	for (size_t i = 0; i < 2; i++)
		assert_true(number(row_where(rows, "cure", heals[i], NULL, NULL), "after_qps") >
			    2500.0);
	json_decref(root);
}

static void a_recent_first_pool_stays_on_the_slow_link(void **state)
{
	(void)state;
	json_t *root = tool_json("lane link-imbalance --seeds 2 --duration-s 120 --format json");
	json_t *rows = rows_of(root, "link_imbalance");
	json_t *before = row_where(rows, "pool", "mru", "phase", "before");
	json_t *after = row_where(rows, "pool", "mru", "phase", "after");
	json_t *cured = row_where(rows, "pool", "lru", "phase", "after");
	assert_true(number(before, "late_pct") < 1.0);
	assert_true(number(after, "late_pct") > 30.0);
	assert_true(number(after, "busiest_link_pct") > 45.0);
	assert_true(number(cured, "late_pct") < 1.0);
	json_decref(root);
}

static void a_closed_loop_hides_what_an_open_one_shows(void **state)
{
	(void)state;
	json_t *root = tool_json("lane omission --users 10 --format json");
	json_t *rows = rows_of(root, "omission");
	json_t *open = row_where(rows, "clients", "open loop", NULL, NULL);
	json_t *hidden = row_where(rows, "clients", "paced, from sending", NULL, NULL);
	json_t *honest = row_where(rows, "clients", "paced, from the schedule", NULL, NULL);
	assert_true(number(open, "p99_ms") > 8000.0);
	assert_true(number(hidden, "p99_ms") < 100.0);
	assert_true(number(honest, "p99_ms") > 8000.0);
	json_decref(root);
}

static json_t *signal_row(json_t *rows, const char *scenario, const char *tier, const char *signal)
{
	size_t index;
	json_t *row;
	json_array_foreach(rows, index, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "scenario")), scenario) == 0 &&
			strcmp(json_string_value(json_object_get(row, "tier")), tier) == 0 &&
			strcmp(json_string_value(json_object_get(row, "signal")), signal) == 0)
			return row;
	}
	fail_msg("no row %s %s %s", scenario, tier, signal);
	return NULL;
}

static double alarm_pct(json_t *rows, const char *scenario, const char *tier, const char *signal)
{
	return number(signal_row(rows, scenario, tier, signal), "alarm_pct_1000ms");
}

static void each_signal_is_wrong_where_theory_says(void **state)
{
	(void)state;
	json_t *root = tool_json("lane signals --seeds 1 --format json");
	json_t *rows = rows_of(root, "signals");
	/* An overloaded leaf makes its callers look slow, but only itself queues. */
	assert_true(alarm_pct(rows, "leaf", "A", "response time") == 100.0);
	assert_true(alarm_pct(rows, "leaf", "A", "queuing time") == 0.0);
	assert_true(alarm_pct(rows, "leaf", "C", "queuing time") == 100.0);
	/* Batch work keeps the CPU busy and harms nobody. */
	assert_true(alarm_pct(rows, "batch", "C", "CPU") > 95.0);
	assert_true(alarm_pct(rows, "batch", "C", "queuing time") == 0.0);
	/* A burst drains by itself: its minimum sojourn falls to zero. */
	assert_true(alarm_pct(rows, "burst", "A", "queuing time") > 10.0);
	assert_true(alarm_pct(rows, "burst", "A", "minimum sojourn") == 0.0);
	assert_true(alarm_pct(rows, "standing", "C", "minimum sojourn") == 100.0);
	/* Threads that wait carry the queue up to the entry. */
	assert_true(alarm_pct(rows, "leaf-sync", "A", "queuing time") == 100.0);
	json_decref(root);
}

static void cures_leave_the_loop_so_a_second_trigger_strikes_again(void **state)
{
	(void)state;
	json_t *root = tool_json("lane lifecycle --trigger outage,culprit --load 140,280 --cure "
				 "none,shed,restart-into-less,retries-off --format json");
	json_t *rows = rows_of(root, "cures");
	json_t *none = row_where(rows, "trigger", "outage", "cure", "none");
	json_t *shed = row_where(rows, "trigger", "culprit", "cure", "shed");
	json_t *off = row_where(rows, "trigger", "outage", "cure", "retries-off");
	assert_string_equal(json_string_value(json_object_get(none, "after_cure")), "metastable");
	assert_string_equal(json_string_value(json_object_get(shed, "after_cure")), "vulnerable");
	assert_string_equal(
		json_string_value(json_object_get(shed, "after_second_trigger")), "metastable");
	assert_string_equal(
		json_string_value(json_object_get(off, "after_second_trigger")), "stable");
	json_t *states = rows_of(root, "states");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(states, 0), "long_after")),
		"stable");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(states, 2), "long_after")),
		"metastable");
	json_decref(root);
}

static void random_lanes_repeat_to_the_byte(void **state)
{
	(void)state;
	static const char *const commands[] = {
		"lane fan-out --part mixed --policy dagor-q --seeds 1 --measure-s 10",
		"lane gaming --rotations 4 --format csv",
		"lane link-imbalance --duration-s 60 --seeds 1 --format json",
		"lane signals --seeds 1 --duration-s 30",
	};
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct tool_result first = tool_run(commands[i]), second = tool_run(commands[i]);
		assert_int_equal(first.status, 0);
		assert_string_equal(first.out, second.out);
		tool_free(&first);
		tool_free(&second);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_shedding_leaves_half_to_the_power_of_the_calls),
		cmocka_unit_test(dagor_leads_where_tasks_call_twice_and_leads_more_at_four),
		cmocka_unit_test(the_response_gate_sheds_before_the_queuing_gate),
		cmocka_unit_test(two_overloaded_services_halve_twice_unless_shed_alike),
		cmocka_unit_test(a_mixed_load_is_fair_only_under_priorities),
		cmocka_unit_test(rejects_that_cost_are_better_made_by_the_callers),
		cmocka_unit_test(dice_reward_relogins_and_a_user_hash_does_not),
		cmocka_unit_test(a_lost_cache_stays_cold_until_the_right_loop_is_broken),
		cmocka_unit_test(a_recent_first_pool_stays_on_the_slow_link),
		cmocka_unit_test(a_closed_loop_hides_what_an_open_one_shows),
		cmocka_unit_test(each_signal_is_wrong_where_theory_says),
		cmocka_unit_test(cures_leave_the_loop_so_a_second_trigger_strikes_again),
		cmocka_unit_test(random_lanes_repeat_to_the_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

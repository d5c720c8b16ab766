/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of culprits through the real binary: what issue and docs promise of them. */
#include <stdio.h>
#include <string.h>

#include "answer.h"

static json_t *storm(const char *more)
{
	char command[512];
	snprintf(command, sizeof command, "lane culprit-storm --format json %s", more);
	return tool_json(command);
}

/* Rows of a table, counted; each is handed to `each`. */
static size_t for_rows(json_t *answer, const char *table, void (*each)(json_t *row))
{
	json_t *rows = answer_rows(answer, table), *row;
	size_t i;
	json_array_foreach(rows, i, row) each(row);
	return json_array_size(rows);
}

static void a_lock_held_1000_ms_heals_at_280_qps_and_1015_ms_do_not(void **state)
{
	(void)state;
	const char *rest = "--load 280 --policy none --culprit-retries 0 --release-ms";
	char command[128];
	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof command, "%s %s", rest, i ? "1015" : "1000");
		json_t *answer = storm(command);
		assert_int_equal(answer_yes(answer, "heals"), i == 0);
		assert_int_equal((int)answer_number(answer, "time_to_release_ms"), i ? 1015 : 1000);
		json_decref(answer);
	}
}

static void expect_cancelled_in_time(json_t *row)
{
	assert_true(answer_number(row, "time_to_release_ms") <= 500);
	assert_true(answer_yes(row, "heals"));
	assert_true(answer_number(row, "wrong_cancels") == 0);
	assert_true(answer_number(row, "reports_stopped") == 0);
	assert_true(answer_number(row, "cancels") <= 1);
}

static void the_core_frees_the_lock_within_500_ms_at_every_load_and_hold(void **state)
{
	(void)state;
	json_t *answer = storm("--policy cancel --culprit-retries 0 --slo-ms 50 --duration-s 50 "
			       "--load 140..299:53,280 --hold-s 0.1,0.3,60");
	assert_int_equal(for_rows(answer, "runs", expect_cancelled_in_time), 5 * 3);
	json_decref(answer);
}

static void expect_cancelled_anew(json_t *row)
{
	assert_true(answer_yes(row, "heals"));
	assert_true(answer_number(row, "holds") == answer_number(row, "culprit_retries") + 1);
	assert_true(answer_number(row, "cancels") == answer_number(row, "holds"));
	assert_true(answer_number(row, "wrong_cancels") == 0);
	assert_true(answer_yes(row, "closed_form_heals"));
}

static void each_retry_of_the_culprit_is_cancelled_anew(void **state)
{
	(void)state;
	json_t *answer = storm("--policy cancel --culprit-retries 1..3 --load 280");
	assert_int_equal(for_rows(answer, "runs", expect_cancelled_anew), 3);
	json_decref(answer);
}

static void a_late_cancel_does_not_heal(void **state)
{
	(void)state;
	json_t *answer =
		storm("--policy cancel --culprit-retries 0 --deliver-ms 900 --duration-s 45");
	assert_false(answer_yes(answer, "heals"));
	assert_true(answer_number(answer, "time_to_release_ms") >
		    answer_number(answer, "survivable_ms"));
	json_decref(answer);
}

static void expect_dropped_zombies_to_heal(json_t *row)
{
	bool overload = strcmp(answer_word(row, "scenario"), "overload") == 0;
	bool deadline = strcmp(answer_word(row, "zombies"), "deadline") == 0;
	bool serve = strcmp(answer_word(row, "zombies"), "serve") == 0;
	assert_true(answer_number(row, "cancels") == 0);
	if (overload)
		assert_true(answer_number(row, "goodput_qps") == (deadline ? 300 : 0));
	else
		assert_int_equal(answer_yes(row, "heals"), !serve);
}

static void dropping_abandoned_work_breaks_the_loop_that_a_cancel_cannot(void **state)
{
	(void)state;
	json_t *answer = tool_json("lane zombies --format json --load 280 --policy cancel "
				   "--storm-s 80 --overload-s 10");
	assert_int_equal(for_rows(answer, "zombies", expect_dropped_zombies_to_heal), 8);
	json_decref(answer);
}

static void nothing_is_cancelled_where_there_is_no_culprit(void **state)
{
	(void)state;
	json_t *answer = tool_json(
		"lane no-culprit --format json --seeds 1 --duration-s 10 --load-pct 80,150,300");
	assert_true(answer_number(answer, "cancels") == 0);
	json_decref(answer);
}

static void expect_the_holder_first(json_t *row)
{
	assert_string_equal(answer_word(row, "first_target"), "holder 2/2");
	assert_true(answer_number(row, "wrong_cancels") == 0);
	assert_true(answer_number(row, "late_s") < 1.5);
}

static void expect_the_waiter_alone(json_t *row)
{
	assert_string_equal(answer_word(row, "first_target"), "waiter 2/2");
	assert_true(answer_number(row, "cancels") == 1);
	assert_true(answer_number(row, "wasted_s") == 0);
	assert_true(answer_number(row, "late_s") < 0.5);
}

/* Removing the waiter frees everybody behind a holder that reads, and loses no work. */
static void a_waiter_that_alone_bars_others_is_the_one_to_go(void **state)
{
	(void)state;
	json_t *answer = tool_json("lane convoy --format json --seeds 2 --cancellable both,waiter "
				   "--holder reads --duration-s 20");
	assert_int_equal(for_rows(answer, "convoy", expect_the_waiter_alone), 2);
	json_decref(answer);
}

static void behind_a_waiter_that_is_not_the_cure_the_long_holder_is_cancelled(void **state)
{
	(void)state;
	json_t *answer = tool_json(
		"lane convoy --format json --seeds 2 --cancellable holder --duration-s 20");
	assert_int_equal(for_rows(answer, "convoy", expect_the_holder_first), 2);
	json_decref(answer);
	answer = tool_json("lane convoy --format json --seeds 2 --cancellable both --holder writes "
			   "--duration-s 20");
	assert_int_equal(for_rows(answer, "convoy", expect_the_holder_first), 1);
	json_decref(answer);
}

static void a_lane_prints_the_same_bytes_twice(void **state)
{
	(void)state;
	static const char *const commands[] = {
		"lane many-culprits --format csv --seeds 1 --culprits 5 --pause 100 --duration-s "
		"16",
		"lane wrong-progress --format csv --seeds 1 --duration-s 17 --reported scaled "
		"--scene queues",
		"lane cancel-tree --format json --seeds 1 --duration-s 13 --link lossy,cut",
		"lane culprit-storm --format json --duration-s 40 --map no --culprit-retries 1",
	};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		answer_same(commands[i], commands[i]);
}

static void nonsense_is_refused_in_one_line(void **state)
{
	(void)state;
	tool_refuses("lane culprit-storm --policy panic", "policy");
	tool_refuses("lane culprit-storm --hold-s -1", "hold_s");
	tool_refuses("lane many-culprits --culprits 65", "culprits");
	tool_refuses("lane zombies --zombies eat", "zombies");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_held_1000_ms_heals_at_280_qps_and_1015_ms_do_not),
		cmocka_unit_test(the_core_frees_the_lock_within_500_ms_at_every_load_and_hold),
		cmocka_unit_test(each_retry_of_the_culprit_is_cancelled_anew),
		cmocka_unit_test(a_late_cancel_does_not_heal),
		cmocka_unit_test(dropping_abandoned_work_breaks_the_loop_that_a_cancel_cannot),
		cmocka_unit_test(nothing_is_cancelled_where_there_is_no_culprit),
		cmocka_unit_test(a_waiter_that_alone_bars_others_is_the_one_to_go),
		cmocka_unit_test(behind_a_waiter_that_is_not_the_cure_the_long_holder_is_cancelled),
		cmocka_unit_test(a_lane_prints_the_same_bytes_twice),
		cmocka_unit_test(nonsense_is_refused_in_one_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

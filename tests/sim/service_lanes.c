/* SPDX-License-Identifier: Apache-2.0 */
/* The service lanes: what each says must hold, on runs cut short. */
#include <stdio.h>
#include <string.h>

#include "answer.h"

#define SHORT_FANOUT "--seeds 2 --ramp-s 20 --settle-s 15 --measure-s 20 --format json"

static double success(json_t *rows, const char *workload, const char *policy)
{
	char where[64];
	snprintf(where, sizeof(where), "workload=%s;policy=%s", workload, policy);
	return answer_number(answer_row(rows, where), "success_pct");
}

static void random_shedding_leaves_half_to_the_power_of_the_calls(void **state)
{
	(void)state;
	static const char *const workloads[] = { "M^1", "M^2", "M^3", "M^4" };
	json_t *root = tool_json("lane fan-out --part depth --policy random " SHORT_FANOUT);
	double expected = 100.0;
	for (size_t i = 0; i < 4; i++) {
		double got = success(answer_rows(root, "depth"), workloads[i], "random");
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
	json_t *rows = answer_rows(root, "depth");
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
	double by_response = answer_number(json_object_get(root, "dagor_r"), "sheds_from_qps");
	double by_queuing = answer_number(json_object_get(root, "dagor_q"), "sheds_from_qps");
	assert_true(by_response < by_queuing);
	assert_true(by_queuing >= 690.0 && by_queuing <= 810.0);
	json_decref(root);
}

static void two_overloaded_services_halve_twice_unless_shed_alike(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane fan-out --part two --policy random,dagor-q " SHORT_FANOUT, "two",
		{ "workload=M+N;policy=random", "success_pct", 0, 28 },
		{ "workload=M+N;policy=dagor-q", "success_pct", 36, 100 });
}

static void a_mixed_load_is_fair_only_under_priorities(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane fan-out --part mixed --policy codel,dagor-q " SHORT_FANOUT, "mixed",
		{ "policy=codel", "fairness", 0, 0.5 }, { "policy=dagor-q", "fairness", 0.7, 1 });
}

static void rejects_that_cost_are_better_made_by_the_callers(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane fan-out --part reject --reject-cost-us 50000 " SHORT_FANOUT, "reject",
		{ "policy=dagor-q", "m2_success_pct", 0, 10 },
		{ "policy=dagor-q-upstream", "m2_success_pct", 30, 100 });
}

static void dice_reward_relogins_and_a_user_hash_does_not(void **state)
{
	(void)state;
	json_t *root = tool_json("lane gaming --rotations 12 --seeds 1 --format json");
	json_t *rows = answer_rows(root, "gaming");
	json_t *dice = answer_row(rows, "scheme=session-dice");
	json_t *hash = answer_row(rows, "scheme=user-hash");
	assert_true(answer_number(dice, "gamer_pct") > 2.0 * answer_number(dice, "honest_pct"));
	assert_true(answer_number(hash, "gamer_pct") < 1.1 * answer_number(hash, "honest_pct"));
	const struct answer_bound starved[] = { { "scheme=user-hash", "starved_pct", 0, 1 },
		{ "scheme=fixed-hash", "starved_pct", 30, 100 } };
	answer_within(root, "gaming", starved, 2);
	json_decref(root);
}

static void a_lost_cache_stays_cold_until_the_right_loop_is_broken(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane cache-loss --seeds 1 --duration-s 150 "
		      "--cure none,no-retries,single-flight,load-drop,load-ramp --format json",
		"cache_loss", { "cure=none", "before_qps", 2500, 1e9 },
		{ "cure=no-retries", "before_qps", 2500, 1e9 },
		{ "cure=load-drop", "before_qps", 2500, 1e9 }, { "cure=none", "after_qps", 0, 100 },
		{ "cure=no-retries", "after_qps", 0, 100 },
		{ "cure=load-drop", "after_qps", 0, 100 },
		{ "cure=single-flight", "after_qps", 2500, 1e9 },
		{ "cure=load-ramp", "after_qps", 2500, 1e9 });
}

static void a_recent_first_pool_stays_on_the_slow_link(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane link-imbalance --seeds 2 --duration-s 120 --format json",
		"link_imbalance", { "pool=mru;phase=before", "late_pct", 0, 1 },
		{ "pool=mru;phase=after", "late_pct", 30, 100 },
		{ "pool=mru;phase=after", "busiest_link_pct", 45, 100 },
		{ "pool=lru;phase=after", "late_pct", 0, 1 });
}

static void a_closed_loop_hides_what_an_open_one_shows(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane omission --users 10 --format json", "omission",
		{ "clients=open loop", "p99_ms", 8000, 1e9 },
		{ "clients=paced, from sending", "p99_ms", 0, 100 },
		{ "clients=paced, from the schedule", "p99_ms", 8000, 1e9 });
}

#define ALARM "alarm_pct_1000ms"

static void each_signal_is_wrong_where_theory_says(void **state)
{
	(void)state;
	ANSWER_EXPECT("lane signals --seeds 1 --format json", "signals",
		/* An overloaded leaf makes its callers look slow, but only itself queues. */
		{ "scenario=leaf;tier=A;signal=response time", ALARM, 100, 100 },
		{ "scenario=leaf;tier=A;signal=queuing time", ALARM, 0, 0 },
		{ "scenario=leaf;tier=C;signal=queuing time", ALARM, 100, 100 },
		/* Batch work keeps the CPU busy and harms nobody. */
		{ "scenario=batch;tier=C;signal=CPU", ALARM, 95, 100 },
		{ "scenario=batch;tier=C;signal=queuing time", ALARM, 0, 0 },
		/* A burst drains by itself: its minimum sojourn falls to zero. */
		{ "scenario=burst;tier=A;signal=queuing time", ALARM, 10, 100 },
		{ "scenario=burst;tier=A;signal=minimum sojourn", ALARM, 0, 0 },
		{ "scenario=standing;tier=C;signal=minimum sojourn", ALARM, 100, 100 },
		/* Threads that wait carry the queue up to the entry. */
		{ "scenario=leaf-sync;tier=A;signal=queuing time", ALARM, 100, 100 });
}

static void cures_leave_the_loop_so_a_second_trigger_strikes_again(void **state)
{
	(void)state;
	json_t *root = tool_json("lane lifecycle --trigger outage,culprit --load 140,280 --cure "
				 "none,shed,restart-into-less,retries-off --format json");
	json_t *rows = answer_rows(root, "cures"), *states = answer_rows(root, "states");
	json_t *none = answer_row(rows, "trigger=outage;cure=none");
	json_t *shed = answer_row(rows, "trigger=culprit;cure=shed");
	json_t *off = answer_row(rows, "trigger=outage;cure=retries-off");
	assert_string_equal(answer_word(none, "after_cure"), "metastable");
	assert_string_equal(answer_word(shed, "after_cure"), "vulnerable");
	assert_string_equal(answer_word(shed, "after_second_trigger"), "metastable");
	assert_string_equal(answer_word(off, "after_second_trigger"), "stable");
	assert_string_equal(answer_word(json_array_get(states, 0), "long_after"), "stable");
	assert_string_equal(answer_word(json_array_get(states, 2), "long_after"), "metastable");
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
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		answer_same(commands[i], commands[i]);
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

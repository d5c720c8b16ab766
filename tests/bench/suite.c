/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of an experiment, what it does about disturbed runs, and what its report says about
 * them. The test stands in for the runs and for the machine, so no time passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "bench/target/data.h"
#include "bench/policies/policy.h"
#include "bench/report/report.h"
#include "bench/experiment/run.h"
#include "bench/experiment/suite.h"

#define SECONDS	       4u
#define SATURATION_QPS 100
#define QUICK_US       1000u
#define RUNS_MAX       64

static const struct machine_second calm = {
	.known = true, .cpus = 2, .own = 1, .others = 0.02, .waited = 3
};
static const struct machine_second beside_others = {
	.known = true, .cpus = 2, .own = 1, .others = 0.9, .waited = 3
};

/* What happens, by run: one letter each, D for a disturbed one; runs after the last are calm. */
static struct world {
	const char *script;
	bool saturation_disturbed;
	uint32_t slow_second_us; /* what is due in the second second takes so long */
	char order[1024];	 /* titles of the runs, a blank after each */
	uint32_t runs;
	uint64_t slo_ns[RUNS_MAX], seeds[RUNS_MAX];
} world;

static struct bench_options options;
static struct suite_result result;
static char error[TARGET_ERROR_MAX];

/* ---- Stand-ins ------------------------------------------------------------------------------- */

void data_prepare(const struct bench_options *ignored, uint32_t pool_mb, uint32_t archive_pools,
	char folder[DATA_PATH_MAX], struct case_data *data)
{
	(void)ignored;
	(void)pool_mb;
	(void)archive_pools;
	folder[0] = '\0';
	*data = (struct case_data){ .items = 100, .rows_per_archive = 100, .accounts = 100 };
}

int run_saturation(
	const struct run_setup *setup, struct run_capacity *capacity, char why[TARGET_ERROR_MAX])
{
	(void)setup;
	(void)why;
	*capacity = (struct run_capacity){ .qps = SATURATION_QPS };
	if (world.saturation_disturbed)
		disturbance_mark(&capacity->disturbance, "others had half of it");
	return 0;
}

static bool is_disturbed(uint32_t run)
{
	return run < strlen(world.script) && world.script[run] == 'D';
}

int run_execute(const struct run_setup *setup, struct samples **data, char why[TARGET_ERROR_MAX])
{
	(void)why;
	assert_int_equal(samples_make(data, setup->schedule, setup->slo_ns), 0);
	assert_true(world.runs < RUNS_MAX);
	strncat(world.order, setup->title, sizeof world.order - strlen(world.order) - 1);
	strncat(world.order, " ", sizeof world.order - strlen(world.order) - 1);
	world.slo_ns[world.runs] = setup->slo_ns;
	world.seeds[world.runs] = setup->schedule->arrivals[0].draw;
	(*data)->io = "none";
	(*data)->watch.count = (uint32_t)(setup->schedule->length_ns / 1000000000u);
	for (uint32_t i = 0; i < (*data)->watch.count; i++)
		(*data)->watch.seconds[i] = is_disturbed(world.runs) ? beside_others : calm;
	for (size_t i = 0; i < setup->schedule->count; i++) {
		bool slow = setup->schedule->arrivals[i].due_ns / 1000000000u == 1;
		(*data)->outcomes[i].done_us =
			slow && world.slow_second_us ? world.slow_second_us : QUICK_US;
		(*data)->outcomes[i].kind = OUTCOME_OK;
	}
	world.runs++;
	return 0;
}

/* ---- The experiment -------------------------------------------------------------------------- */

static void plan(const struct bench_options *ignored, struct case_plan *planned)
{
	(void)ignored;
	(void)planned;
}

static const struct bench_case with_culprit = { .name = "made-up",
	.what = { "a test" },
	.seconds = SECONDS,
	.has_culprit = true,
	.plan = plan };
static const struct bench_case without_culprit = {
	.name = "made-up", .what = { "a test" }, .seconds = SECONDS, .plan = plan
};

static int set_up(void **state)
{
	(void)state;
	world = (struct world){ .script = "" };
	error[0] = '\0';
	options_defaults(&options);
	options.quiet = true;
	options_policies(&options, "none,cancel");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	suite_free(&result);
	return 0;
}

static int run(const char *script, uint32_t reps)
{
	world.script = script;
	options.reps = reps;
	return suite_run(&options, &with_culprit, &result, error);
}

static char *written(enum report_format format)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	assert_int_equal(report_write(file, &result.summary, format), 0);
	fclose(file);
	return text;
}

static json_t *written_json(void)
{
	char *text = written(FORMAT_JSON);
	json_t *root = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(root);
	return root;
}

static const json_t *json_row(json_t *root, size_t i)
{
	return json_array_get(json_object_get(root, "summary"), i);
}

static uint32_t occurrences(const char *text, const char *needle)
{
	uint32_t count = 0;
	for (const char *at = text; (at = strstr(at, needle)); at += strlen(needle))
		count++;
	return count;
}

/* ---- The order ------------------------------------------------------------------------------- */

static void policies_take_turns_within_each_repetition(void **state)
{
	(void)state;
	assert_int_equal(run("", 3), 0);
	assert_string_equal(world.order, "reference none cancel reference none cancel "
					 "reference none cancel ");
	assert_int_equal(world.seeds[0], world.seeds[2]);
	assert_int_not_equal(world.seeds[0], world.seeds[3]);
	assert_false(summary_is_disturbed(&result.summary));
}

static void a_disturbed_run_is_made_again_before_the_next_policy_has_its_turn(void **state)
{
	(void)state;
	assert_int_equal(run("..D.D", 2), 0);
	assert_string_equal(
		world.order, "reference none cancel cancel reference reference none cancel ");
	assert_int_equal(world.seeds[2], world.seeds[3]);
	for (uint32_t i = 0; i < result.summary.row_count; i++)
		assert_int_equal(result.summary.rows[i].choice.left_out_count, 0);
	assert_false(summary_is_disturbed(&result.summary));
}

/* ---- What all rests on ----------------------------------------------------------------------- */

static void a_reference_that_stays_disturbed_ends_it_with_one_line(void **state)
{
	(void)state;
	assert_int_equal(run("DDD", 1), DISTURBANCE_EXIT_STATUS);
	assert_string_equal(world.order, "reference reference reference ");
	assert_non_null(strstr(error, "the reference is not credible: in second 1 others had"));
	assert_non_null(strstr(error, "--allow-disturbed"));
	assert_null(strchr(error, '\n'));
	assert_int_equal(result.summary.row_count, 0);
}

static void the_reference_of_a_case_without_a_culprit_is_judged_too(void **state)
{
	(void)state;
	world.script = "DDD";
	assert_int_equal(
		suite_run(&options, &without_culprit, &result, error), DISTURBANCE_EXIT_STATUS);
	assert_int_equal(world.runs, 3);
}

static void loads_that_were_measured_before_are_kept(void **state)
{
	(void)state;
	struct bench_case two_loads = with_culprit;
	two_loads.levels_pct[0] = 60;
	two_loads.levels_pct[1] = 80;
	world.script = "...DDD";
	assert_int_equal(suite_run(&options, &two_loads, &result, error), DISTURBANCE_EXIT_STATUS);
	assert_non_null(strstr(error, "the reference 80% is not credible"));
	assert_int_equal(result.summary.row_count, 3);
	assert_false(summary_is_disturbed(&result.summary));
	char *table = written(FORMAT_TABLE);
	assert_non_null(strstr(table, "cancel"));
	free(table);
}

static void a_disturbed_saturation_ends_it_before_the_first_run(void **state)
{
	(void)state;
	world.saturation_disturbed = true;
	assert_int_equal(run("", 1), DISTURBANCE_EXIT_STATUS);
	assert_non_null(strstr(error, "the saturation is not credible"));
	assert_int_equal(world.runs, 0);
}

static void the_slo_does_not_follow_one_slow_second(void **state)
{
	(void)state;
	world.slow_second_us = 9 * QUICK_US;
	assert_int_equal(run("", 1), 0);
	assert_int_equal(world.slo_ns[1], 10 * QUICK_US * 1000);
	assert_float_equal((float)result.summary.slo_ms, 10, 0.001);
}

static void a_second_far_above_the_median_one_is_no_reference(void **state)
{
	(void)state;
	world.slow_second_us = 500 * QUICK_US;
	assert_int_equal(run("", 1), DISTURBANCE_EXIT_STATUS);
	assert_non_null(strstr(error, "500.0 ms in second 2"));
	suite_free(&result);
	options.allow_disturbed = true;
	assert_int_equal(run("", 1), 0);
	assert_float_equal((float)result.summary.slo_ms, 10, 0.001);
}

/* ---- Repetitions ----------------------------------------------------------------------------- */

static void a_repetition_that_stays_disturbed_is_left_out_by_name(void **state)
{
	(void)state;
	assert_int_equal(run("....DDD", 2), 0);
	assert_string_equal(world.order, "reference none cancel reference none none none cancel ");
	assert_false(summary_is_disturbed(&result.summary));
	json_t *root = written_json();
	const json_t *left_out = json_object_get(json_row(root, 1), "left_out");
	assert_int_equal(json_array_size(left_out), 1);
	assert_int_equal(json_integer_value(json_array_get(left_out, 0)), 2);
	assert_int_equal(json_array_size(json_object_get(json_row(root, 2), "left_out")), 0);
	assert_true(json_is_false(json_object_get(json_row(root, 1), "disturbed")));
	json_decref(root);
	char *table = written(FORMAT_TABLE);
	assert_non_null(strstr(table, "none: left out, because disturbed: repetition 2\n"));
	assert_null(strstr(table, "[disturbed]"));
	free(table);
}

static void without_its_reference_a_later_repetition_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(run("...DDD", 3), 0);
	assert_string_equal(world.order, "reference none cancel reference reference reference "
					 "reference none cancel ");
	for (uint32_t i = 0; i < result.summary.row_count; i++) {
		assert_int_equal(result.summary.rows[i].choice.used_count, 2);
		assert_int_equal(result.summary.rows[i].choice.left_out[0], 1);
		assert_int_equal(result.summary.rows[i].figures[FIGURE_ok].count, 2);
	}
	assert_false(summary_is_disturbed(&result.summary));
}

static void a_row_without_a_good_repetition_is_printed_with_its_mark(void **state)
{
	(void)state;
	assert_int_equal(run(".DDD", 1), 0);
	assert_true(summary_is_disturbed(&result.summary));
	assert_false(result.summary.rows[0].disturbed);
	assert_true(result.summary.rows[1].disturbed);
	assert_false(result.summary.rows[2].disturbed);
	char *table = written(FORMAT_TABLE);
	assert_int_equal(occurrences(table, "[disturbed]\n"), 1);
	free(table);
	assert_true(result.traces[1].disturbed);
	assert_false(result.traces[2].disturbed);
}

/* ---- --allow-disturbed ----------------------------------------------------------------------- */

static void what_is_allowed_is_run_once_and_marked_everywhere(void **state)
{
	(void)state;
	options.allow_disturbed = true;
	assert_int_equal(run("DDD", 1), 0);
	assert_string_equal(world.order, "reference none cancel ");
	char *table = written(FORMAT_TABLE), *csv = written(FORMAT_CSV);
	assert_int_equal(occurrences(table, "[disturbed]\n"), 3);
	assert_int_equal(occurrences(csv, ",1,\n"), 3);
	assert_non_null(strstr(csv, ",disturbed,left_out\n"));
	free(table);
	free(csv);
	json_t *root = written_json();
	assert_true(json_is_true(json_object_get(root, "disturbed")));
	for (size_t i = 0; i < 3; i++) {
		const json_t *row = json_row(root, i);
		assert_true(json_is_true(json_object_get(row, "disturbed")));
		const json_t *others = json_object_get(row, "others_ms_per_s"),
			     *waited = json_object_get(row, "run_queue_ms_per_s");
		assert_int_equal(json_number_value(json_object_get(others, "median")), 900);
		assert_int_equal(json_number_value(json_object_get(waited, "median")), 3000);
		assert_non_null(json_object_get(row, "lag_p99_ms"));
	}
	json_decref(root);
}

static void a_disturbed_reference_marks_all_rows(void **state)
{
	(void)state;
	options.allow_disturbed = true;
	assert_int_equal(run("D", 1), 0);
	for (uint32_t i = 0; i < result.summary.row_count; i++)
		assert_true(result.summary.rows[i].disturbed);
}

static void a_disturbed_saturation_marks_all_rows(void **state)
{
	(void)state;
	options.allow_disturbed = true;
	world.saturation_disturbed = true;
	assert_int_equal(run("", 1), 0);
	for (uint32_t i = 0; i < result.summary.row_count; i++)
		assert_true(result.summary.rows[i].disturbed);
}

static void a_calm_machine_leaves_no_mark(void **state)
{
	(void)state;
	options.allow_disturbed = true;
	assert_int_equal(run("", 1), 0);
	char *table = written(FORMAT_TABLE);
	assert_null(strstr(table, "disturbed"));
	free(table);
	json_t *root = written_json();
	assert_true(json_is_false(json_object_get(root, "disturbed")));
	json_decref(root);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(policies_take_turns_within_each_repetition),
		TEST(a_disturbed_run_is_made_again_before_the_next_policy_has_its_turn),
		TEST(a_reference_that_stays_disturbed_ends_it_with_one_line),
		TEST(the_reference_of_a_case_without_a_culprit_is_judged_too),
		TEST(loads_that_were_measured_before_are_kept),
		TEST(a_disturbed_saturation_ends_it_before_the_first_run),
		TEST(the_slo_does_not_follow_one_slow_second),
		TEST(a_second_far_above_the_median_one_is_no_reference),
		TEST(a_repetition_that_stays_disturbed_is_left_out_by_name),
		TEST(without_its_reference_a_later_repetition_is_left_out),
		TEST(a_row_without_a_good_repetition_is_printed_with_its_mark),
		TEST(what_is_allowed_is_run_once_and_marked_everywhere),
		TEST(a_disturbed_reference_marks_all_rows),
		TEST(a_disturbed_saturation_marks_all_rows),
		TEST(a_calm_machine_leaves_no_mark),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

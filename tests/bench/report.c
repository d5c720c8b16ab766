/* SPDX-License-Identifier: Apache-2.0 */
/* The forms a result is printed in, and the file it goes to. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/output.h"
#include <cmocka.h>
#include <jansson.h>

#include "bench/report/report.h"

static struct bench_options options;
static struct summary summary;
static struct measures own[6], reference[6];

static int set_up(void **state)
{
	(void)state;
	options_defaults(&options);
	options.reps = 6;
	for (int i = 0; i < 6; i++) {
		reference[i].goodput_qps = 100;
		own[i].goodput_qps = 90 + i;
		own[i].cancel_ms.count = 1;
		own[i].cancel_ms.ms[0] = 100 + i;
	}
	summary = (struct summary){ .case_name = "dump",
		.what = "a test",
		.options = &options,
		.io = "fake",
		.slo_ms = 5,
		.rho = 0.6,
		.row_count = 1 };
	snprintf(summary.rows[0].policy, sizeof summary.rows[0].policy, "cancel");
	summary_fill(&summary.rows[0], own, reference, 6);
	return 0;
}

static json_t *written_json(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	assert_int_equal(report_write(file, &summary, FORMAT_JSON), 0);
	fclose(file);
	json_t *root = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(root);
	return root;
}

static void json_carries_every_figure_under_its_name(void **state)
{
	(void)state;
	static const char *const heads[] = { "case", "seed", "rho", "slo_ms", "rate_qps", "io" };
	static const char *const names[] = { "policy", "throughput_ratio", "goodput_ratio",
		"p99_ratio", "late_share_during", "late_s_per_culprit", "drop_rate",
		"victims_dropped", "cancels", "wrong_cancels", "culprits_completed", "reruns",
		"wasted_ms", "time_to_detect_ms", "time_to_cancel_ms", "time_to_release_ms",
		"time_to_recover_ms", "late_s_rerun", "resource_overloads" };
	json_t *root = written_json(), *row = json_array_get(json_object_get(root, "summary"), 0);
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		assert_non_null(json_object_get(root, heads[i]));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_non_null(json_object_get(row, names[i]));
	json_t *goodput = json_object_get(row, "goodput_ratio");
	assert_true(json_is_number(json_object_get(goodput, "median")));
	json_decref(root);
}

static void json_figures_are_ranges_with_an_interval_from_six_on(void **state)
{
	(void)state;
	json_t *root = written_json(), *row = json_array_get(json_object_get(root, "summary"), 0);
	json_t *time = json_object_get(row, "time_to_cancel_ms");
	assert_float_equal(json_number_value(json_object_get(time, "median")), 102.5, 1e-3);
	assert_float_equal(json_number_value(json_object_get(time, "min")), 100, 1e-3);
	assert_float_equal(json_number_value(json_object_get(time, "max")), 105, 1e-3);
	assert_int_equal(json_array_size(json_object_get(time, "ci95")), 2);
	json_t *none = json_object_get(row, "time_to_detect_ms");
	assert_true(json_is_null(json_object_get(none, "median")));
	json_decref(root);
}

static void csv_has_as_many_cells_in_each_row(void **state)
{
	(void)state;
	char *text = NULL;
	size_t bytes = 0, commas[2] = { 0 }, line = 0;
	FILE *file = open_memstream(&text, &bytes);
	assert_int_equal(report_write(file, &summary, FORMAT_CSV), 0);
	fclose(file);
	for (const char *at = text; *at && line < 2; at++) {
		commas[line] += *at == ',';
		line += *at == '\n';
	}
	assert_int_equal(commas[0], commas[1]);
	assert_true(commas[0] > 40);
	free(text);
}

static int files_in(const char *folder)
{
	int count = 0;
	DIR *open = opendir(folder);
	assert_non_null(open);
	for (const struct dirent *entry; (entry = readdir(open));)
		count += entry->d_name[0] != '.';
	closedir(open);
	return count;
}

static void a_file_appears_only_when_it_is_complete(void **state)
{
	(void)state;
	char folder[] = "/tmp/bench_report_XXXXXX", path[64];
	struct output output;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/result", folder);
	assert_null(output_open(&output, path));
	fputs("half", output.file);
	assert_int_not_equal(access(path, F_OK), 0);
	output_discard(&output);
	assert_int_equal(files_in(folder), 0);
	assert_null(output_open(&output, path));
	fputs("whole", output.file);
	assert_int_equal(output_commit(&output), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(files_in(folder), 1);
	output_discard(&output);
	assert_int_equal(files_in(folder), 1);
	unlink(path);
	rmdir(folder);
}

static void an_unwritable_path_is_refused_before_the_work(void **state)
{
	(void)state;
	struct output output;
	assert_non_null(output_open(&output, "/nowhere/at/all/result"));
	assert_non_null(output_open(&output, "/dev/null"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_carries_every_figure_under_its_name),
		cmocka_unit_test(json_figures_are_ranges_with_an_interval_from_six_on),
		cmocka_unit_test(csv_has_as_many_cells_in_each_row),
		cmocka_unit_test(a_file_appears_only_when_it_is_complete),
		cmocka_unit_test(an_unwritable_path_is_refused_before_the_work),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Options: the default, the host's word, the operator's word; and while it runs. */
#include "runtime.h"

#include <stdlib.h>

#include "libcancel/track/library_state.h"

static char *option_value(const char *wanted, bool *writable)
{
	static char value[CANCEL_TEXT_MAX];
	const char *name;
	for (uint32_t i = 0; cancel_option(i, &name, value, writable) == 0; i++)
		if (strcmp(name, wanted) == 0)
			return value;
	return NULL;
}

static void assert_option(const char *name, const char *value)
{
	bool writable;
	assert_non_null(option_value(name, &writable));
	assert_string_equal(option_value(name, &writable), value);
}

static void zero_means_the_default(void **state)
{
	(void)state;
	start_quietly();
	assert_option("mode", "monitor");
	assert_option("window_ms", "50");
	assert_option("max_tasks", "4096");
	assert_option("policy", "multi-objective");
	assert_option("estimator", "proportional");
	assert_option("rerun_max_ms", "10000");
	assert_option("action_max_ms", "1000");
	assert_option("thread_cancel", "0");
	assert_option("journal", "");
	assert_option("record", "");
	assert_option("record_flight", "0");
	assert_option("slo_ms", "default=0");
	assert_option("contention_ppm", "200000");
	assert_option("late_tasks", "3");
	assert_option("release_wait_ms", "1000");
	assert_option("quarantine_ms", "0");
	assert_int_equal(stopCancel(), 0);
}

static void the_host_sets_them(void **state)
{
	static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = 5500000 },
		{ .name = "dump" } };
	struct cancel_pipeline_config pipeline = {
		.struct_size = sizeof pipeline,
		.contention_ppm = 123456,
	};
	(void)state;
	start_with((struct cancel_config){
		.mode = CANCEL_ACT,
		.window_ms = 20,
		.policy = "greedy",
		.estimator = "undo-aware",
		.classes = classes,
		.class_count = 2,
		.pipeline = &pipeline,
	});
	assert_option("mode", "act");
	assert_option("window_ms", "20");
	assert_option("policy", "greedy");
	assert_option("estimator", "undo-aware");
	assert_option("slo_ms", "reads=5.5,dump=0");
	assert_option("contention_ppm", "123456");
	assert_int_equal(stopCancel(), 0);
}

static void the_environment_wins(void **state)
{
	static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = 5000000 },
		{ .name = "dump" } };
	(void)state;
	setenv("CANCEL_MODE", "act", 1);
	setenv("CANCEL_WINDOW_MS", "100", 1);
	setenv("CANCEL_POLICY", "longest", 1);
	setenv("CANCEL_SLO_MS", "dump=70,reads=0.25", 1);
	setenv("CANCEL_BLAME_PPM", "999", 1);
	setenv("CANCEL_THREAD_CANCEL", "1", 1);
	start_with((struct cancel_config){
		.mode = CANCEL_MONITOR,
		.window_ms = 20,
		.classes = classes,
		.class_count = 2,
	});
	assert_option("mode", "act");
	assert_option("window_ms", "100");
	assert_option("policy", "longest");
	assert_option("slo_ms", "reads=0.25,dump=70");
	assert_option("blame_ppm", "999");
	assert_option("thread_cancel", "1");
	assert_int_equal(stopCancel(), 0);
	unsetenv("CANCEL_MODE");
	unsetenv("CANCEL_WINDOW_MS");
	unsetenv("CANCEL_POLICY");
	unsetenv("CANCEL_SLO_MS");
	unsetenv("CANCEL_BLAME_PPM");
	unsetenv("CANCEL_THREAD_CANCEL");
}

static void a_typing_mistake_is_said_and_ignored(void **state)
{
	static const char *const mistakes[][2] = {
		{ "CANCEL_MODE", "Act" },
		{ "CANCEL_WINDOW_MS", "50ms" },
		{ "CANCEL_MAX_TASKS", "-1" },
		{ "CANCEL_RERUN_MAX_MS", "99999999999999999999" },
		{ "CANCEL_ACTION_MAX_MS", "" },
		{ "CANCEL_POLICY", "bravest" },
		{ "CANCEL_ESTIMATOR", "bravest" },
		{ "CANCEL_SLO_MS", "nobody=5" },
		{ "CANCEL_NO_PRECISE", "2" },
		{ "CANCEL_CONTENTION_PPM", "1000001" },
	};
	setenv("CANCEL_JOURNAL", "/nonexistent/journal", 1);
	setenv("CANCEL_RECORD", "/nonexistent/record", 1);
	size_t n = sizeof mistakes / sizeof mistakes[0];
	(void)state;
	for (size_t i = 0; i < n; i++)
		setenv(mistakes[i][0], mistakes[i][1], 1);
	start_quietly();
	for (size_t i = 0; i < n; i++) {
		assert_non_null(strstr(log_lines, mistakes[i][0]));
		unsetenv(mistakes[i][0]);
	}
	unsetenv("CANCEL_JOURNAL");
	unsetenv("CANCEL_RECORD");
	assert_non_null(strstr(log_lines, "/nonexistent/journal"));
	assert_non_null(strstr(log_lines, "/nonexistent/record"));
	assert_option("journal", "");
	assert_option("record", "");
	assert_int_equal(counters_now().options_rejected, n);
	assert_option("mode", "monitor");
	assert_option("window_ms", "50");
	assert_int_equal(stopCancel(), 0);
}

static void a_host_mistake_is_an_error_and_nothing_runs(void **state)
{
	static const struct cancel_class nameless[] = { { .slo_ns = 1 } };
	const struct cancel_config mistakes[] = {
		{ .window_ms = 9 },
		{ .window_ms = 60001 },
		{ .max_tasks = SLOTS_MAX + 1 },
		{ .policy = "bravest" },
		{ .estimator = "bravest" },
		{ .mode = (enum cancel_mode)2 },
		{ .class_count = 1 },
		{ .class_count = CANCEL_CLASSES_MAX + 1, .classes = nameless },
		{ .class_count = 1, .classes = nameless },
		{ .journal_path = "/nonexistent/journal" },
		{ .record_path = "/nonexistent/record" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
		struct cancel_config config = mistakes[i];
		config.struct_size = sizeof config;
		config.log = keep_line;
		assert_int_equal(startCancel(&config), CANCEL_EINVAL);
		assert_int_equal(stopCancel(), CANCEL_ESTATE);
	}
	struct cancel_config sizeless = { .window_ms = 50 };
	assert_int_equal(startCancel(&sizeless), CANCEL_EINVAL);
}

static void a_threshold_out_of_its_range_is_named_with_the_range(void **state)
{
	struct cancel_pipeline_config pipeline = { .struct_size = sizeof pipeline,
		.blame_ppm = 1000001 };
	struct cancel_config config = {
		.struct_size = sizeof config, .log = keep_line, .pipeline = &pipeline
	};
	(void)state;
	log_lines[0] = '\0';
	assert_int_equal(startCancel(&config), CANCEL_EINVAL);
	assert_non_null(strstr(log_lines, "pipeline.blame_ppm is 1000001: it takes 1 to 1000000"));
	setenv("CANCEL_PACE_BURST", "1001", 1);
	start_quietly();
	unsetenv("CANCEL_PACE_BURST");
	assert_non_null(strstr(
		log_lines, "CANCEL_PACE_BURST=1001 is ignored: it takes a number from 1 to 1000"));
	assert_option("pace_burst", "5");
	assert_int_equal(stopCancel(), 0);
}

/* By each name that policy.h lists, and not only by those that somebody thought of. */
static void every_threshold_can_be_set_by_name(void **state)
{
	static const struct {
		const char *name, *fallback;
	} rows[] = {
#define X(name, fallback, min, max, text) { #name, #fallback },
		CANCEL_THRESHOLDS(X)
#undef X
	};
	bool writable;
	(void)state;
	start_quietly();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_option(rows[i].name, rows[i].fallback);
		assert_true(option_value(rows[i].name, &writable) && writable);
		assert_int_equal(cancel_set_option(rows[i].name, "1"), 0);
		assert_option(rows[i].name, "1");
		assert_int_equal(cancel_set_option(rows[i].name, "1x"), CANCEL_EINVAL);
		assert_int_equal(cancel_set_option(rows[i].name, "4294967296"), CANCEL_EINVAL);
	}
	assert_int_equal(stopCancel(), 0);
}

static void options_change_while_it_runs(void **state)
{
	struct cancel_status status;
	(void)state;
	start_with((struct cancel_config){ .window_ms = 10 });
	cancel_read_status(&status);
	assert_true(status.running);
	assert_false(status.acting);
	assert_int_equal(cancel_set_option("mode", "act"), 0);
	assert_int_equal(cancel_set_option("slo_ms", "default=7"), 0);
	assert_int_equal(cancel_set_option("always_precise", "1"), 0);
	WAIT_UNTIL((cancel_read_status(&status), status.acting && status.precise));
	assert_int_equal(status.slo_ns[0], 7000000);
	assert_option("mode", "act");
	assert_int_equal(cancel_set_option("window_ms", "20"), CANCEL_ESTATE);
	assert_int_equal(cancel_set_option("policy", "bravest"), CANCEL_EINVAL);
	assert_int_equal(cancel_set_option("no such", "1"), CANCEL_EINVAL);
	assert_int_equal(cancel_set_option("mode", NULL), CANCEL_EINVAL);
	assert_int_equal(stopCancel(), 0);
}

static void an_slo_taken_back_is_learned(void **state)
{
	struct cancel_status status;
	(void)state;
	start_with((struct cancel_config){ .window_ms = 10 });
	assert_int_equal(cancel_set_option("slo_ms", "7"), 0);
	WAIT_UNTIL((cancel_read_status(&status), status.slo_ns[0] == 7000000));
	assert_int_equal(cancel_set_option("slo_ms", "0"), 0);
	WAIT_UNTIL((cancel_read_status(&status), status.slo_ns[0] == 0));
	assert_true(load_relaxed(&library_state.learning));
	assert_int_equal(stopCancel(), 0);
}

static void one_number_is_the_slo_of_every_class(void **state)
{
	static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = 5000000 },
		{ .name = "dump" } };
	(void)state;
	start_with((struct cancel_config){ .classes = classes, .class_count = 2 });
	assert_int_equal(cancel_set_option("slo_ms", "7"), 0);
	assert_option("slo_ms", "reads=7,dump=7");
	assert_int_equal(cancel_set_option("slo_ms", "8,dump=0"), 0);
	assert_option("slo_ms", "reads=8,dump=0");
	assert_int_equal(cancel_set_option("slo_ms", "9,dump=x"), CANCEL_EINVAL);
	assert_int_equal(cancel_set_option("slo_ms", ""), CANCEL_EINVAL);
	assert_option("slo_ms", "reads=8,dump=0");
	assert_int_equal(stopCancel(), 0);
}

static void an_slo_for_all_leaves_a_class_by_name_alone_and_says_so(void **state)
{
	static const struct cancel_class classes[] = { { .name = "reads" }, { .name = "writes" },
		{ .name = "dump", .by_name = true } };
	(void)state;
	setenv("CANCEL_SLO_MS", "50", 1);
	start_with((struct cancel_config){ .classes = classes, .class_count = 3 });
	unsetenv("CANCEL_SLO_MS");
	assert_non_null(strstr(
		log_lines, "CANCEL_SLO_MS=50 sets reads, writes; dump is set by its name alone"));
	assert_option("slo_ms", "reads=50,writes=50,dump=0");
	assert_int_equal(cancel_set_option("slo_ms", "7,dump=900"), 0);
	assert_int_equal(cancel_set_option("slo_ms", "8"), 0);
	assert_option("slo_ms", "reads=8,writes=8,dump=900");
	assert_int_equal(stopCancel(), 0);
}

static void every_option_says_what_it_takes(void **state)
{
	const char *name;
	char text[CANCEL_TEXT_MAX];
	bool writable;
	(void)state;
	start_quietly();
	for (uint32_t i = 0; cancel_option(i, &name, text, &writable) == 0; i++) {
		assert_int_equal(cancel_option_choices(name, text), 0);
		assert_int_not_equal(text[0], '\0');
	}
	assert_int_equal(cancel_option_choices("mode", text), 0);
	assert_string_equal(text, "monitor or act");
	assert_int_equal(cancel_option_choices("window_ms", text), 0);
	assert_string_equal(text, "a number from 10 to 60000");
	assert_int_equal(cancel_option_choices("policy", text), 0);
	for (uint32_t i = 0; cancel_policies[i]; i++)
		assert_non_null(strstr(text, cancel_policies[i]->name));
	assert_int_equal(cancel_option_choices("no such", text), CANCEL_ENOTASK);
	assert_int_equal(stopCancel(), 0);
	assert_int_equal(cancel_option_choices("mode", text), CANCEL_ESTATE);
}

static void no_precise_beats_the_detector_and_stamps_stay_coarse(void **state)
{
	struct cancel_status status;
	(void)state;
	start_with((struct cancel_config){ .no_precise = true, .always_precise = true });
	WAIT_UNTIL(counters_now().turns > 1);
	cancel_read_status(&status);
	assert_false(status.precise);
	assert_int_not_equal(load_relaxed(&clock_page.coarse_ns), 0);
	assert_int_equal(stopCancel(), 0);
}

/* Slots used before keep their numbers; a task in one of them is as good as any. */
static void with_fewer_tasks_than_before_every_task_is_seen(void **state)
{
	struct cancel_task tasks[8];
	struct cancel_status status;
	(void)state;
	start_with((struct cancel_config){ .max_tasks = 8 });
	for (int i = 0; i < 8; i++) {
		tasks[i] = createCancel(NULL);
		unbindCancel(tasks[i], CANCEL_QUEUED);
	}
	for (int i = 0; i < 8; i++)
		freeCancel(tasks[i]);
	assert_int_equal(stopCancel(), 0);
	start_with((struct cancel_config){ .max_tasks = 2, .window_ms = 10 });
	struct cancel_task task = createCancel(NULL);
	WAIT_UNTIL((cancel_read_status(&status), status.live_tasks == 1));
	freeCancel(task);
	assert_int_equal(stopCancel(), 0);
}

static void no_slo_is_said_once(void **state)
{
	(void)state;
	start_quietly();
	assert_non_null(strstr(log_lines, "no class has an SLO"));
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_means_the_default),
		cmocka_unit_test(the_host_sets_them),
		cmocka_unit_test(the_environment_wins),
		cmocka_unit_test(a_typing_mistake_is_said_and_ignored),
		cmocka_unit_test(a_host_mistake_is_an_error_and_nothing_runs),
		cmocka_unit_test(a_threshold_out_of_its_range_is_named_with_the_range),
		cmocka_unit_test(every_threshold_can_be_set_by_name),
		cmocka_unit_test(options_change_while_it_runs),
		cmocka_unit_test(an_slo_taken_back_is_learned),
		cmocka_unit_test(an_slo_for_all_leaves_a_class_by_name_alone_and_says_so),
		cmocka_unit_test(every_option_says_what_it_takes),
		cmocka_unit_test(one_number_is_the_slo_of_every_class),
		cmocka_unit_test(no_precise_beats_the_detector_and_stamps_stay_coarse),
		cmocka_unit_test(with_fewer_tasks_than_before_every_task_is_seen),
		cmocka_unit_test(no_slo_is_said_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* SLOs for classes that were given none; time is the test's. */
#include "runtime.h"

#include "libcancel/control/log.h"
#include "libcancel/control/slo_learner.h"
#include "libcancel/track/library_state.h"

#define SECOND_NS 1000000000ull

static struct options two_classes(void)
{
	struct options o = { .class_count = 2 };
	strcpy(o.classes[0].name, "reads");
	strcpy(o.classes[1].name, "dump");
	return o;
}

static int prepare(void **state)
{
	(void)state;
	log_lines[0] = '\0';
	log_to(keep_line, NULL);
	totals_reset();
	store_relaxed(&library_state.class_count, 2);
	for (int i = 0; i < 2; i++)
		store_relaxed(&library_state.classes[i].slo_ns, 0);
	strcpy(library_state.classes[0].name, "reads");
	return 0;
}

static void episodes(uint32_t n, uint64_t latency_ns)
{
	for (uint32_t i = 0; i < n; i++)
		totals_learn(0, latency_ns);
}

static uint32_t option_index(const char *wanted)
{
	const struct options o = two_classes();
	const char *name;
	char text[CANCEL_TEXT_MAX];
	bool writable;
	for (uint32_t i = 0; options_text(&o, i, &name, text, &writable) == 0; i++)
		if (strcmp(name, wanted) == 0)
			return i;
	fail_msg("there is no option %s", wanted);
	return 0;
}

static void an_slo_is_three_times_the_p99_of_the_first_30_s(void **state)
{
	struct options o = two_classes();
	const char *name;
	char text[CANCEL_TEXT_MAX];
	bool writable;
	(void)state;
	slo_learner_start(&o, SECOND_NS);
	assert_true(load_relaxed(&library_state.learning));
	episodes(985, 2000000);
	episodes(15, 4000000);
	slo_learner_step(30 * SECOND_NS, totals_read_learned);
	assert_int_equal(load_relaxed(&library_state.classes[0].slo_ns), 0);
	slo_learner_step(31 * SECOND_NS, totals_read_learned);
	uint64_t slo_ns = load_relaxed(&library_state.classes[0].slo_ns);
	assert_true(slo_ns > 11600000 && slo_ns < 12400000);
	assert_non_null(strstr(log_lines, "class reads: SLO "));
	assert_non_null(strstr(log_lines, "of 1000 episodes"));
	assert_int_equal(options_text(&o, option_index("slo_ms"), &name, text, &writable), 0);
	assert_memory_equal(text, "reads=1", 7);
	assert_non_null(strstr(text, " (learned),dump=0"));
}

static void a_class_with_few_episodes_goes_on_learning(void **state)
{
	struct options o = two_classes();
	(void)state;
	slo_learner_start(&o, 0);
	episodes(99, 2000000);
	slo_learner_step(40 * SECOND_NS, totals_read_learned);
	assert_int_equal(load_relaxed(&library_state.classes[0].slo_ns), 0);
	assert_true(load_relaxed(&library_state.learning));
	episodes(1, 2000000);
	slo_learner_step(41 * SECOND_NS, totals_read_learned);
	assert_int_not_equal(load_relaxed(&library_state.classes[0].slo_ns), 0);
	assert_true(load_relaxed(&library_state.learning)); /* dump has none yet */
}

static void a_learned_slo_is_at_least_a_millisecond(void **state)
{
	struct options o = two_classes();
	(void)state;
	slo_learner_start(&o, 0);
	episodes(1000, 10000);
	slo_learner_step(31 * SECOND_NS, totals_read_learned);
	assert_int_equal(load_relaxed(&library_state.classes[0].slo_ns), 1000000);
}

static void with_every_slo_given_nothing_is_learned_or_said(void **state)
{
	struct options o = two_classes();
	(void)state;
	o.classes[0].slo_ns = o.classes[1].slo_ns = 5;
	slo_learner_start(&o, 0);
	assert_false(load_relaxed(&library_state.learning));
	assert_string_equal(log_lines, "");
}

static void one_slo_is_enough_not_to_warn(void **state)
{
	struct options o = two_classes();
	(void)state;
	o.classes[0].slo_ns = 5;
	slo_learner_start(&o, 0);
	assert_true(load_relaxed(&library_state.learning));
	assert_string_equal(log_lines, "");
}

static void live_episodes_teach_their_class(void **state)
{
	static uint64_t counts[CANCEL_HISTOGRAM_MAX];
	struct cancel_task_options background = {
		.struct_size = sizeof background,
		.flags = CANCEL_BACKGROUND,
	};
	uint64_t sum = 0;
	(void)state;
	start_quietly();
	for (int i = 0; i < 10; i++)
		freeCancel(createCancel(NULL));
	freeCancel(createCancel(&background));
	totals_read_learned(0, counts);
	for (int i = 0; i < CANCEL_HISTOGRAM_MAX; i++)
		sum += counts[i];
	assert_int_equal(sum, 10);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup(test, prepare)
	const struct CMUnitTest tests[] = {
		EACH(an_slo_is_three_times_the_p99_of_the_first_30_s),
		EACH(a_class_with_few_episodes_goes_on_learning),
		EACH(a_learned_slo_is_at_least_a_millisecond),
		EACH(with_every_slo_given_nothing_is_learned_or_said),
		EACH(one_slo_is_enough_not_to_warn),
		cmocka_unit_test(live_episodes_teach_their_class),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

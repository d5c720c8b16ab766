/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions and outcomes as lines of JSON. */
#include "test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcancel/diag/journal.h"

static char path[] = "/tmp/cancel-journal-XXXXXX";
static struct cancel_decision_record record;

static int prepare(void **state)
{
	(void)state;
	strcpy(path, "/tmp/cancel-journal-XXXXXX");
	int fd = mkstemp(path);
	memset(&record, 0, sizeof record);
	record.serial = 3;
	record.decision.serial = 3;
	record.decision.policy = "greedy";
	record.decision.target.key = 812;
	record.decision.acted = true;
	strcpy(record.text, "a \"quoted\" \\ text\n");
	strcpy(record.stack, "one+0x1 (server)\ntwo+0x2 (server)\n");
	return fd < 0 ? -1 : close(fd);
}

static int clean(void **state)
{
	(void)state;
	journal_close();
	return unlink(path);
}

static json_t *line(int wanted)
{
	static char text[20000];
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	for (int i = 0; i <= wanted; i++)
		assert_non_null(fgets(text, sizeof text, f));
	fclose(f);
	json_t *parsed = json_loads(text, 0, NULL);
	assert_non_null(parsed);
	return parsed;
}

static const char *string_of(json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void a_decision_is_a_line(void **state)
{
	(void)state;
	assert_int_equal(journal_open(path), 0);
	assert_true(journal_decision(CANCEL_CHANGE_DECIDED, &record));
	json_t *l = line(0);
	assert_string_equal(string_of(l, "event"), "decided");
	assert_string_equal(string_of(l, "text"), record.text);
	assert_string_equal(string_of(l, "policy"), "greedy");
	assert_int_equal(json_integer_value(json_object_get(l, "key")), 812);
	assert_true(json_is_true(json_object_get(l, "acted")));
	json_decref(l);
}

static void outcomes_and_stacks_follow(void **state)
{
	(void)state;
	record.outcome.times.released_ns = 77;
	assert_int_equal(journal_open(path), 0);
	assert_true(journal_decision(CANCEL_CHANGE_OUTCOME, &record));
	assert_true(journal_decision(CANCEL_CHANGE_STACK, &record));
	assert_true(journal_decision(CANCEL_CHANGE_FINAL, &record));
	json_t *l = line(0);
	assert_int_equal(json_integer_value(json_object_get(l, "released_ns")), 77);
	json_decref(l);
	l = line(1);
	assert_string_equal(string_of(l, "stack"), record.stack);
	json_decref(l);
	l = line(2);
	assert_string_equal(string_of(l, "event"), "final");
	json_decref(l);
}

static void it_is_appended_to(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(journal_open(path), 0);
		assert_true(journal_decision(CANCEL_CHANGE_DECIDED, &record));
		journal_close();
	}
	json_decref(line(1));
}

static void a_full_disk_closes_it_once(void **state)
{
	(void)state;
	assert_int_equal(journal_open("/dev/full"), 0);
	assert_false(journal_decision(CANCEL_CHANGE_DECIDED, &record));
	assert_true(journal_decision(CANCEL_CHANGE_DECIDED, &record));
}

static void a_path_that_cannot_be_opened_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(journal_open("/nonexistent/journal"), CANCEL_EINVAL);
	assert_true(journal_decision(CANCEL_CHANGE_DECIDED, &record));
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, prepare, clean)
	const struct CMUnitTest tests[] = {
		EACH(a_decision_is_a_line),
		EACH(outcomes_and_stacks_follow),
		EACH(it_is_appended_to),
		EACH(a_full_disk_closes_it_once),
		EACH(a_path_that_cannot_be_opened_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

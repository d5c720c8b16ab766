/* SPDX-License-Identifier: Apache-2.0 */
/* The cases over the wire, and a culprit that comes back, on the real binaries. Runs are short;
 * what heals, and when, is for the bench to say and not asserted here. */
#include "tests/bench/server_tool.h"

#include <stdio.h>

static void a_culprit_that_is_sent_again_is_cancelled_again(void **state)
{
	(void)state;
	json_t *result = tool_json(
		"run culprit-storm --policy none,cancel --quiet --allow-disturbed --format json "
		"--stall 1 --timeout-ms 300 --service-ms 10 --slo-ms 50 "
		"--seconds 7 --culprit-retries 2");
	json_t *none = server_row_of(result, "none"), *cancel = server_row_of(result, "cancel");
	assert_int_equal(json_integer_value(json_object_get(result, "culprit_retries")), 2);
	assert_int_equal(server_median(none, "resends"), 0);
	assert_true(server_median(cancel, "resends") >= 1);
	assert_true(server_median(cancel, "cancels") >= server_median(cancel, "resends"));
	json_decref(result);
	server_nothing_left();
}

/* The policies are shared out among the cases. The result, its data gone. */
static json_t *run_over_the_wire(const char *name, const char *policies)
{
	char arguments[320];
	snprintf(arguments, sizeof arguments,
		"run %s --target server --policy %s --quiet --allow-disturbed --format json "
		"--stall 1 "
		"--slo-ms 40 --timeout-ms 200 --seconds 6 --pool-mb 4 --data %s/data",
		name, policies, server_folder);
	json_t *result = tool_json(arguments);
	assert_string_equal(json_string_value(json_object_get(result, "case")), name);
	assert_true(json_is_true(json_object_get(result, "wire")));
	snprintf(arguments, sizeof arguments, "%s/data", server_folder);
	server_remove(arguments);
	server_nothing_left();
	return result;
}

static void a_dump_goes_over_the_wire_with_a_report_beside_it(void **state)
{
	(void)state;
	json_t *result = run_over_the_wire("dump", "none");
	json_t *none = server_row_of(result, "none");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "rows");
	assert_true(server_median(none, "trigger_ms") > 500);
	assert_int_equal(server_median(none, "cancels"), 0);
	assert_int_equal(server_median(none, "company_cancelled"), 0);
	assert_true(server_median(none, "attempts") ==
		    server_median(none, "offered") + server_median(none, "retries"));
	json_decref(result);
}

static void a_backup_goes_over_the_wire_behind_an_update(void **state)
{
	(void)state;
	json_t *result = run_over_the_wire("backup-lock", "longest,limit,timeout");
	json_t *longest = server_row_of(result, "longest"), *limit = server_row_of(result, "limit");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "update");
	assert_true(server_median(longest, "cancels") >= 1);
	assert_int_equal(server_median(limit, "company_cancelled"), 0);
	assert_true(server_median(limit, "rejected") > 0);
	/* the backup waits for the update, which lasts longer than a statement may */
	assert_true(server_median(server_row_of(result, "timeout"), "company_cancelled") >= 1);
	json_decref(result);
}

static void a_scan_over_the_wire_is_cancelled_while_its_client_thinks(void **state)
{
	(void)state;
	json_t *result = run_over_the_wire("scan-backup", "cancel");
	json_t *cancel = server_row_of(result, "cancel");
	assert_string_equal(json_string_value(json_object_get(result, "trigger")), "scan");
	assert_true(server_median(cancel, "cancels") >= 1);
	assert_int_equal(json_array_size(json_object_get(cancel, "success_pct_by_priority")), 1);
	json_decref(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_culprit_that_is_sent_again_is_cancelled_again),
		cmocka_unit_test(a_dump_goes_over_the_wire_with_a_report_beside_it),
		cmocka_unit_test(a_backup_goes_over_the_wire_behind_an_update),
		cmocka_unit_test(a_scan_over_the_wire_is_cancelled_while_its_client_thinks),
	};
	return cmocka_run_group_tests(tests, server_begin, server_end);
}

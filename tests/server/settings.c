/* SPDX-License-Identifier: Apache-2.0 */
/* SET, SHOW and RESET: values are checked, and a transaction that rolls back takes them along. */
#include "demo-db/server/session/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct settings settings;
static struct settings_error error;

static int begin(void **state)
{
	(void)state;
	settings_init(&settings);
	return 0;
}

static int end(void **state)
{
	(void)state;
	settings_free(&settings);
	return 0;
}

static void assert_set(const char *name, const char *value, const char *shown)
{
	if (settings_set(&settings, name, value, false, false, &error))
		fail_msg("%s = %s: %s", name, value, error.message);
	assert_string_equal(settings_show(&settings, name, &error), shown);
}

static void assert_refused(const char *name, const char *value, const char *sqlstate)
{
	assert_int_equal(settings_set(&settings, name, value, false, false, &error), -1);
	assert_string_equal(error.sqlstate, sqlstate);
	assert_non_null(strstr(error.message, name));
}

static void values_are_kept_as_postgresql_shows_them(void **state)
{
	(void)state;
	assert_set("statement_timeout", "5000", "5s");
	assert_set("statement_timeout", "1 min", "1min");
	assert_set("statement_timeout", "90s", "90s");
	assert_set("statement_timeout", "0", "0");
	assert_set("Application_Name", "a b", "a b");
	assert_set("client_encoding", "utf-8", "UTF8");
	assert_set("default_transaction_read_only", "TRUE", "on");
	assert_set("datestyle", "iso, dmy", "ISO, MDY");
	assert_set("cancel.priority", "ANALYTICAL", "analytical");
	assert_set("my.own", "anything", "anything");
}

static void what_makes_no_sense_is_refused(void **state)
{
	(void)state;
	assert_refused("statement_timeout", "soon", "22023");
	assert_refused("statement_timeout", "5 parsecs", "22023");
	assert_refused("statement_timeout", "-1", "22023");
	assert_refused("statement_timeout", "99999999999999999999", "22023");
	assert_refused("client_encoding", "latin2", "22023");
	assert_refused("cancel.priority", "highest", "22023");
	assert_refused("cancel.nonsense", "1", "42704");
	assert_refused("no_such_setting", "1", "42704");
	assert_refused("server_version", "16", "55P02");
	assert_set("standard_conforming_strings", "on", "on");
	assert_refused("standard_conforming_strings", "off", "55P02");
}

static void a_rollback_undoes_a_set(void **state)
{
	(void)state;
	assert_set("application_name", "before", "before");
	assert_int_equal(settings_set(&settings, "application_name", "in", false, true, &error), 0);
	settings_end_block(&settings, false);
	assert_string_equal(settings_get(&settings, SETTING_application_name), "before");
	assert_int_equal(settings_set(&settings, "application_name", "in", false, true, &error), 0);
	settings_end_block(&settings, true);
	assert_string_equal(settings_get(&settings, SETTING_application_name), "in");
}

static void set_local_ends_with_its_block(void **state)
{
	(void)state;
	assert_int_equal(settings_set(&settings, "statement_timeout", "7s", true, true, &error), 0);
	assert_int_equal(settings_ms(&settings, SETTING_statement_timeout), 7000);
	settings_end_block(&settings, true);
	assert_int_equal(settings_ms(&settings, SETTING_statement_timeout), 0);
}

static void reset_goes_back_to_the_start_of_the_session(void **state)
{
	(void)state;
	assert_int_equal(settings_start(&settings, "application_name", "psql", &error), 0);
	assert_set("application_name", "other", "other");
	assert_set("application_name", NULL, "psql");
	assert_set("statement_timeout", "1s", "1s");
	settings_reset_all(&settings, false);
	assert_string_equal(settings_get(&settings, SETTING_statement_timeout), "0");
	assert_int_equal(settings_start(&settings, "nonsense", "1", &error), -1);
}

static void the_client_is_told_what_changed_and_only_that(void **state)
{
	(void)state;
	struct wire_out out = { 0 };
	settings_report(&settings, &out);
	assert_true(out.bytes > 100);
	out.bytes = 0;
	settings_report(&settings, &out);
	assert_int_equal(out.bytes, 0);
	assert_set("statement_timeout", "1s", "1s"); /* not one that is reported */
	settings_report(&settings, &out);
	assert_int_equal(out.bytes, 0);
	assert_set("application_name", "new", "new");
	settings_report(&settings, &out);
	assert_int_equal(out.bytes, 5 + sizeof "application_name" + sizeof "new");
	settings_tell(&settings, SETTING_cancel_level, "12");
	out.bytes = 0;
	settings_report(&settings, &out);
	assert_int_equal(out.bytes, 5 + sizeof "cancel.level" + sizeof "12");
	wire_out_free(&out);
}

static void own_parameters_are_bounded(void **state)
{
	(void)state;
	char name[32];
	for (int i = 0; i < SETTINGS_CUSTOM_MAX; i++) {
		snprintf(name, sizeof name, "my.p%d", i);
		assert_set(name, "1", "1");
	}
	assert_refused("my.last", "1", "54000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			values_are_kept_as_postgresql_shows_them, begin, end),
		cmocka_unit_test_setup_teardown(what_makes_no_sense_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_rollback_undoes_a_set, begin, end),
		cmocka_unit_test_setup_teardown(set_local_ends_with_its_block, begin, end),
		cmocka_unit_test_setup_teardown(
			reset_goes_back_to_the_start_of_the_session, begin, end),
		cmocka_unit_test_setup_teardown(
			the_client_is_told_what_changed_and_only_that, begin, end),
		cmocka_unit_test_setup_teardown(own_parameters_are_bounded, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

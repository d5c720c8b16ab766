/* SPDX-License-Identifier: Apache-2.0 */
/*
 * psql runs the scripts of postgres/ and must show, letter for letter, what it shows when
 * PostgreSQL 15 answers them; postgres/record.sh made those files with one.
 */
#include "tests/server/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <cmocka.h>

static char said[65536];

/* The name of the test is that of the script. */
static void psql_shows_what_postgresql_shows(void **state)
{
	const char *script = *state;
	char line[1024];
	snprintf(line, sizeof line,
		"export PGHOST=%s PGPORT=%u PGUSER=demo PGDATABASE=demo; cd %s && psql -X -a -f "
		"%s.sql "
		"2>&1 | diff -U2 %s.out -",
		server.dir, server.port, SCRIPTS, script, script);
	FILE *pipe = popen(line, "r");
	assert_non_null(pipe);
	said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
	int status = pclose(pipe);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s.sql answers otherwise:\n%s", script, said);
}

#define script_test(script)                                                                        \
	{                                                                                          \
		.name = script, .test_func = psql_shows_what_postgresql_shows,                     \
		.setup_func = start, .teardown_func = stop, .initial_state = script                \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		script_test("ddl"),
		script_test("described"),
		script_test("dml"),
		script_test("transactions"),
		script_test("errors"),
		script_test("types"),
		script_test("columns"),
		script_test("numbers"),
		script_test("dates"),
		script_test("defaults"),
		script_test("notices"),
		script_test("lists"),
		script_test("short"),
		script_test("keys"),
		script_test("functions"),
		script_test("settings"),
		script_test("catalog"),
		script_test("prepared"),
		script_test("names"),
		script_test("hidden"),
		script_test("definitions"),
		script_test("spelling"),
		script_test("arithmetic"),
		script_test("calendar"),
		script_test("typed"),
		script_test("views"),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

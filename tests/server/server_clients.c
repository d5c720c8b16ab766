/* SPDX-License-Identifier: Apache-2.0 */
/* psql, pgbench and sysbench, unchanged, against the real server. */
#include "tests/server/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

static char said[65536];

/* Runs a shell command with the server's address in the environment; its output is in `said`. */
static int run(const char *command)
{
	char line[1024];
	snprintf(line, sizeof line,
		"export PGHOST=%s PGPORT=%u PGUSER=demo PGDATABASE=demo; exec 2>&1; %s", server.dir,
		server.port, command);
	FILE *pipe = popen(line, "r");
	assert_non_null(pipe);
	said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
	int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int start_with_pgbench(void **state)
{
	start(state);
	assert_int_equal(wire_server_stop(&server), 0);
	const char *const init[] = { "demo-db", "init", "--data", server.dir, "--pgbench-scale",
		"1", NULL };
	if (wire_run(init, "", said, sizeof said))
		fail_msg("init: %s", said);
	wire_server_restart(&server, NULL);
	return 0;
}

static void psql_shows_what_postgresql_shows(void **state)
{
	(void)state;
	assert_int_equal(
		run("psql -X -v VERBOSITY=verbose -c \"create table p(a int primary key, b "
		    "text)\" -c \"insert into p values (1,'x'),(2,null)\" -c \"select a, b "
		    "as second from p order by a\" -c 'drop table p'"),
		0);
	assert_string_equal(said, "CREATE TABLE\n"
				  "INSERT 0 2\n"
				  " a | second \n"
				  "---+--------\n"
				  " 1 | x\n"
				  " 2 | \n"
				  "(2 rows)\n\n"
				  "DROP TABLE\n");
	assert_int_equal(run("psql -X -v VERBOSITY=verbose -c 'select * from nope'"), 1);
	assert_string_equal(said, "ERROR:  42P01: relation \"nope\" does not exist\n"
				  "LINE 1: select * from nope\n"
				  "                      ^\n");
	assert_int_equal(run("psql -X -1 -c 'create table q(a int)' -c 'selec'"), 1);
	assert_int_equal(run("psql -X -c 'select * from q'"), 1);
}

static void psql_s_lists_of_what_there_is(void **state)
{
	(void)state;
	assert_int_equal(run("psql -X -At -c '\\l'"), 0);
	assert_string_equal(said, "demo|demo|UTF8|C.UTF-8|C.UTF-8||libc|\n");
	assert_int_equal(run("psql -X -At -c '\\dn'"), 0);
	assert_string_equal(said, "public|demo\n");
	assert_int_equal(run("psql -X -At -c '\\du'"), 0);
	assert_string_equal(said, "demo||{}\n");
	assert_int_equal(run("psql -X -v VERBOSITY=verbose -c '\\df'"), 1);
	assert_non_null(strstr(said, "0A000"));
	assert_non_null(strstr(said, "HINT"));
}

static long number_behind(const char *label)
{
	const char *at = strstr(said, label);
	if (!at)
		fail_msg("no \"%s\" in: %s", label, said);
	return strtol(at + strlen(label), NULL, 10);
}

static void pgbench_reads_in_every_mode(void **state)
{
	(void)state;
	static const char *const modes[] = { "simple", "extended", "prepared" };
	for (int i = 0; i < 3; i++) {
		char command[128];
		snprintf(command, sizeof command, "pgbench -n -S -c 8 -j 2 -t 250 -M %s", modes[i]);
		assert_int_equal(run(command), 0);
		assert_int_equal(number_behind("transactions actually processed: "), 2000);
		assert_int_equal(number_behind("number of failed transactions: "), 0);
	}
}

static void pgbench_transfers_and_the_balances_add_up(void **state)
{
	(void)state;
	static const char *const modes[] = { "simple", "extended", "prepared" };
	for (int i = 0; i < 3; i++) {
		char command[128];
		snprintf(command, sizeof command, "pgbench -n -c 8 -j 2 -t 50 -M %s", modes[i]);
		assert_int_equal(run(command), 0);
		assert_int_equal(number_behind("transactions actually processed: "), 400);
		assert_int_equal(number_behind("number of failed transactions: "), 0);
	}
	assert_int_equal(
		run("psql -X -Atc \"select (select sum(abalance) from pgbench_accounts) = (select "
		    "sum(delta) from pgbench_history) and (select sum(tbalance) from "
		    "pgbench_tellers) = (select sum(bbalance) from pgbench_branches) and (select "
		    "sum(bbalance) from pgbench_branches) = (select sum(delta) from "
		    "pgbench_history), (select count(*) from pgbench_history)\""),
		0);
	assert_string_equal(said, "t|1200\n");
}

static void pgbench_rolls_back_to_savepoints(void **state)
{
	(void)state;
	static const char *const modes[] = { "simple", "extended", "prepared" };
	static const char script[] =
		"begin;\nsavepoint s;\nupdate pgbench_branches set filler = 'x';\n"
		"rollback to s;\nrelease s;\nselect count(*) from pgbench_branches;\nend;\n";
	char command[512];
	for (int i = 0; i < 3; i++) {
		snprintf(command, sizeof command,
			"printf '%%s' \"%s\" | pgbench -n -c 4 -j 2 -t 25 -M %s -f /dev/stdin",
			script, modes[i]);
		if (run(command))
			fail_msg("%s", said);
		assert_int_equal(number_behind("number of failed transactions: "), 0);
	}
	assert_int_equal(
		run("psql -X -Atc \"select count(*) from pgbench_branches where filler = 'x'\""),
		0);
	assert_string_equal(said, "0\n");
}

static void pgbench_s_own_initialisation_is_refused_with_a_hint(void **state)
{
	(void)state;
	assert_int_not_equal(run("pgbench -i -s 1"), 0);
	assert_non_null(strstr(said, "demo-db init --pgbench-scale"));
}

static void sysbench_runs_without_errors(void **state)
{
	(void)state;
	static const char *const workloads[] = { "oltp_point_select", "oltp_read_write",
		"oltp_update_index" };
	static const char *const options =
		"--db-driver=pgsql --pgsql-host=$PGHOST --pgsql-port=$PGPORT --pgsql-user=demo "
		"--pgsql-db=demo --tables=2 --table-size=1000 --threads=8 --events=400 --time=0";
	char command[512];
	snprintf(command, sizeof command, "sysbench %s oltp_read_write prepare", options);
	assert_int_equal(run(command), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(command, sizeof command, "sysbench %s %s run", options, workloads[i]);
		if (run(command))
			fail_msg("%s", said);
		assert_int_equal(number_behind("total number of events:"), 400);
		assert_int_equal(number_behind("ignored errors:"), 0);
		assert_int_equal(number_behind("reconnects:"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psql_shows_what_postgresql_shows),
		cmocka_unit_test(psql_s_lists_of_what_there_is),
		cmocka_unit_test(pgbench_reads_in_every_mode),
		cmocka_unit_test(pgbench_transfers_and_the_balances_add_up),
		cmocka_unit_test(pgbench_rolls_back_to_savepoints),
		cmocka_unit_test(sysbench_runs_without_errors),
		cmocka_unit_test(pgbench_s_own_initialisation_is_refused_with_a_hint),
	};
	return cmocka_run_group_tests(tests, start_with_pgbench, stop);
}

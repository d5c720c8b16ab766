/* SPDX-License-Identifier: Apache-2.0 */
/* What the server records is judged again by cancel-replay, with the same verdicts. */
#include "patience.h"
#include "wire_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define WAITERS 6

static struct wire_server server;
static struct wire_client holder, operator, waiters[WAITERS];
static char folder[] = "/tmp/cancel-record-XXXXXX";

static int prepare(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int clean(void **state)
{
	char command[64];
	(void)state;
	wire_server_clean(&server);
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) ? -1 : 0;
}

/* A transaction holds the write lock and others wait for it until somebody is named. */
static void get_stuck(void)
{
	wire_login(&holder, &server, "u");
	wire_login(&operator, & server, "u");
	wire_query(&holder, "create table t(a int); insert into t values (1)");
	wire_query(&holder, "begin; update t set a = 2");
	for (int i = 0; i < WAITERS; i++) {
		wire_login(&waiters[i], &server, "u");
		wire_send_query(&waiters[i], "update t set a = 3");
	}
	WAIT_UNTIL(
		strstr(wire_query(&operator, "select count(*) > 0 from cancel_decisions"), "D(t)"));
}

static void the_servers_record_gives_its_decisions_again(void **state)
{
	char path[64], option[96], command[256], text[4096] = "", reason[512];
	const char *const options[] = { "--set", option, "--set", "cancel.warm_up_ms=1", "--set",
		"cancel.slo_ms=20", "--set", "server.workers=16", NULL };
	struct stat there;
	(void)state;
	snprintf(path, sizeof path, "%s/record", folder);
	snprintf(option, sizeof option, "cancel.record=%s", path);
	wire_server_start(&server, options);
	get_stuck();
	snprintf(reason, sizeof reason, "%s",
		wire_query(
			&operator, "select reason from cancel_decisions order by serial limit 1"));
	char *begin = strstr(reason, "D("), *end = strstr(reason, ") C(SELECT");
	assert_true(begin && end);
	*end = '\0';
	wire_close(&holder);
	wire_close(&operator);
	for (int i = 0; i < WAITERS; i++)
		wire_close(&waiters[i]);
	assert_int_equal(wire_server_stop(&server), 0);
	assert_int_equal(stat(path, &there), 0);
	assert_int_equal(there.st_mode & 0777, 0600);
	snprintf(command, sizeof command, "%s %s", CANCEL_REPLAY_BINARY, path);
	FILE *out = popen(command, "r");
	assert_non_null(out);
	text[fread(text, 1, sizeof text - 1, out)] = '\0';
	assert_int_equal(pclose(out), 0);
	assert_non_null(strstr(text, begin + 2));
	assert_non_null(strstr(text, "the core gives the verdicts recorded"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_servers_record_gives_its_decisions_again, prepare, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

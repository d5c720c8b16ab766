/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up, passwords, limits, timeouts, cancels, the way down, and what a bad client does. */
#include "patience.h"
#include "wire_client.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define LONG_QUERY                                                                                 \
	"with recursive n(i) as (select 1 union all select i+1 from n) select count(*) from n"

static struct wire_server server;
static struct wire_client a, b;

static void start_with(const char *const *options)
{
	wire_server_start(&server, options);
}

static int clean(void **state)
{
	(void)state;
	wire_server_clean(&server);
	return 0;
}

static void encryption_is_declined_and_the_session_begins(void **state)
{
	static const uint8_t ssl[] = { 0, 0, 0, 8, 4, 210, 22, 47 };
	static const uint8_t gss[] = { 0, 0, 0, 8, 4, 210, 22, 48 };
	const char *const pairs[] = { "user", "u", NULL };
	char answer = 0;
	(void)state;
	start_with(NULL);
	wire_open(&a, &server);
	for (int i = 0; i < 2; i++) {
		wire_raw(&a, i ? gss : ssl, 8);
		wire_flush(&a);
		assert_int_equal(recv(a.fd, &answer, 1, 0), 1);
		assert_int_equal(answer, 'N');
	}
	wire_startup(&a, pairs);
	assert_string_equal(wire_talk(&a), "Z(I)");
	assert_string_equal(wire_query(&a, "select current_user, current_database()"),
		"T(current_user:19,current_database:19) D(u,u) C(SELECT 1) Z(I)");
	wire_close(&a);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void a_bad_start_gets_an_error(void **state)
{
	const char *const nobody[] = { "database", "d", NULL };
	const char *const nonsense[] = { "user", "u", "no_such_setting", "1", NULL };
	const char *const options[] = { "user", "u", "options", "-c statement_timeout=5s", NULL };
	static const uint8_t version_2[] = { 0, 0, 0, 8, 0, 2, 0, 0 };
	static const uint8_t huge[] = { 0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0 };
	(void)state;
	start_with(NULL);
	wire_open(&a, &server);
	wire_startup(&a, nobody);
	assert_string_equal(wire_talk(&a), "E(28000) EOF");
	wire_close(&a);
	wire_open(&a, &server);
	wire_startup(&a, nonsense);
	assert_string_equal(wire_talk(&a), "E(42704) EOF");
	wire_close(&a);
	wire_open(&a, &server);
	wire_raw(&a, version_2, 8);
	assert_string_equal(wire_talk(&a), "E(0A000) EOF");
	wire_close(&a);
	wire_open(&a, &server);
	wire_raw(&a, huge, 8);
	assert_string_equal(wire_talk(&a), "E(08P01) EOF");
	wire_close(&a);
	wire_open(&a, &server);
	wire_startup(&a, options);
	assert_string_equal(wire_talk(&a), "Z(I)");
	assert_string_equal(wire_query(&a, "show statement_timeout"),
		"T(statement_timeout:25) D(5s) C(SHOW) Z(I)");
	wire_close(&a);
}

static void messages_that_are_none_end_the_connection(void **state)
{
	static const uint8_t huge[] = { 'Q', 0x7f, 0xff, 0xff, 0xff };
	static const uint8_t unknown[] = { 'y', 0, 0, 0, 4 };
	static const uint8_t small[] = { 'Q', 0, 0, 0, 1 };
	static const uint8_t open_text[] = { 'Q', 0, 0, 0, 6, 'a', 'b' };
	static const struct {
		const uint8_t *data;
		size_t bytes;
	} bad[] = { { huge, 5 }, { unknown, 5 }, { small, 5 }, { open_text, 7 } };
	(void)state;
	start_with(NULL);
	for (size_t i = 0; i < 4; i++) {
		wire_login(&a, &server, "u");
		wire_raw(&a, bad[i].data, bad[i].bytes);
		assert_string_equal(wire_talk(&a), "E(08P01) EOF");
		wire_close(&a);
	}
	/* half a message, then the end: the server goes on for the others */
	wire_login(&a, &server, "u");
	wire_raw(&a, "Q\0\0\1", 4);
	wire_flush(&a);
	wire_close(&a);
	wire_login(&b, &server, "u");
	assert_string_equal(wire_query(&b, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	wire_close(&b);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void a_message_may_come_byte_by_byte(void **state)
{
	static const char message[] = "Q\0\0\0\x0dselect 1";
	(void)state;
	start_with(NULL);
	wire_login(&a, &server, "u");
	for (size_t i = 0; i < sizeof message; i++) {
		wire_raw(&a, message + i, 1);
		wire_flush(&a);
	}
	assert_string_equal(wire_talk(&a), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	wire_close(&a);
}

static void a_cancel_request_hits_what_runs_and_nothing_else(void **state)
{
	(void)state;
	start_with(NULL);
	wire_login(&a, &server, "u");
	wire_login(&b, &server, "u");
	wire_send_query(&a, LONG_QUERY);
	/* what is not its key does nothing */
	wire_cancel(&server, a.process, a.secret + 1);
	wire_cancel(&server, b.process, b.secret);
	assert_string_equal(wire_query(&b, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	/* the statement may not have begun when the first request comes */
	pid_t asking = fork();
	if (asking == 0) {
		uint64_t end_ns = patience_end_ns();
		do
			wire_cancel(&server, a.process, a.secret);
		while (patience_nap(end_ns));
		_exit(0);
	}
	assert_string_equal(wire_talk(&a), "T(count:20) E(57014) Z(I)");
	kill(asking, SIGKILL);
	waitpid(asking, NULL, 0);
	wire_cancel(&server, a.process, a.secret);
	assert_string_equal(a.last_error, "canceling statement due to user request");
	assert_string_equal(wire_query(&a, "select 2"), "T(?column?:23) D(2) C(SELECT 1) Z(I)");
	wire_close(&a);
	wire_close(&b);
}

static void statements_and_sessions_time_out(void **state)
{
	(void)state;
	start_with(NULL);
	wire_login(&a, &server, "u");
	wire_query(&a, "set statement_timeout = 200");
	assert_string_equal(wire_query(&a, LONG_QUERY), "T(count:20) E(57014) Z(I)");
	assert_string_equal(a.last_error, "canceling statement due to statement timeout");
	assert_string_equal(wire_query(&a, "set statement_timeout = 0; select 1"),
		"C(SET) T(?column?:23) D(1) C(SELECT 1) Z(I)");
	wire_query(&a, "set idle_in_transaction_session_timeout = 200; begin");
	assert_string_equal(wire_talk(&a), "E(25P03) EOF");
	wire_close(&a);
	wire_login(&a, &server, "u");
	wire_query(&a, "set idle_session_timeout = 200");
	assert_string_equal(wire_talk(&a), "E(57P05) EOF");
	wire_close(&a);
}

static void the_operator_s_timeouts_are_every_session_s_own(void **state)
{
	const char *const options[] = { "--set", "server.statement_timeout_ms=200", "--set",
		"server.idle_timeout_s=1", "--set", "server.lock_timeout_ms=1500", NULL };
	/* it has other things to wait for before it may be ended for being idle */
	const char *const patient[] = { "user", "u", "options", "-c idle_session_timeout=0", NULL };
	(void)state;
	start_with(options);
	wire_open(&a, &server);
	wire_startup(&a, patient);
	assert_string_equal(wire_talk(&a), "Z(I)");
	assert_string_equal(
		wire_query(&a, "show lock_timeout"), "T(lock_timeout:25) D(1500ms) C(SHOW) Z(I)");
	assert_string_equal(wire_query(&a, LONG_QUERY), "T(count:20) E(57014) Z(I)");
	wire_query(&a, "set statement_timeout = '1min'");
	assert_string_equal(wire_query(&a, "reset statement_timeout; show statement_timeout"),
		"C(RESET) T(statement_timeout:25) D(200ms) C(SHOW) Z(I)");
	wire_close(&a);
	wire_login(&a, &server, "u");
	assert_string_equal(wire_talk(&a), "E(57P05) EOF");
	wire_close(&a);
}

static void a_start_that_goes_nowhere_is_ended(void **state)
{
	const char *const options[] = { "--set", "server.startup_timeout_s=1", NULL };
	(void)state;
	start_with(options);
	wire_open(&a, &server);
	assert_string_equal(wire_talk(&a), "E(57P05) EOF");
	wire_close(&a);
}

static void too_many_sessions_are_told_so(void **state)
{
	const char *const options[] = { "--connections", "2", "--set", "server.reserved=0", NULL };
	const char *const pairs[] = { "user", "u", NULL };
	static struct wire_client third;
	(void)state;
	start_with(options);
	wire_login(&a, &server, "u");
	wire_login(&b, &server, "u");
	wire_open(&third, &server);
	wire_startup(&third, pairs);
	assert_string_equal(wire_talk(&third), "E(53300) EOF");
	wire_close(&third);
	/* their cancel requests still come through */
	wire_cancel(&server, a.process, a.secret);
	wire_close(&b);
	const char *said;
	do { /* until the server has seen the end of b */
		wire_open(&third, &server);
		wire_startup(&third, pairs);
		said = wire_talk(&third);
		if (strcmp(said, "Z(I)") != 0)
			wire_close(&third);
	} while (third.fd < 0);
	wire_close(&third);
	wire_close(&a);
}

static void an_operator_comes_in_when_all_connections_are_taken(void **state)
{
	const char *const options[] = { "--connections", "2", "--set", "server.reserved=2",
		"--listen", "127.0.0.1", "--set", "roles.boss=system raise", NULL };
	const char *const user[] = { "user", "u", NULL }, *const boss[] = { "user", "boss", NULL };
	static struct wire_client others[3];
	(void)state;
	start_with(options);
	for (int i = 0; i < 2; i++) {
		wire_open_tcp(&others[i], server.port);
		wire_startup(&others[i], user);
		assert_string_equal(wire_talk(&others[i]), "Z(I)");
	}
	wire_open_tcp(&others[2], server.port);
	wire_startup(&others[2], user);
	assert_string_equal(wire_talk(&others[2]), "E(53300) EOF");
	wire_close(&others[2]);
	wire_open_tcp(&others[2], server.port);
	wire_startup(&others[2], boss);
	assert_string_equal(wire_talk(&others[2]), "Z(I)");
	wire_login(&a, &server, "u"); /* by the local socket */
	wire_open(&b, &server);
	wire_startup(&b, user);
	assert_string_equal(wire_talk(&b), "E(53300) EOF");
	wire_close(&b);
	wire_close(&a);
	for (int i = 0; i < 3; i++)
		wire_close(&others[i]);
}

#define NO_HURRY "--set", "server.drain_s=3600"

static void sigterm_lets_transactions_end(void **state)
{
	const char *const options[] = { NO_HURRY, NULL };
	(void)state;
	start_with(options);
	wire_login(&a, &server, "u");
	wire_login(&b, &server, "u");
	wire_query(&a, "create table t(a int); begin; insert into t values (1)");
	kill(server.pid, SIGTERM);
	assert_string_equal(wire_talk(&b), "E(57P01) EOF"); /* it was idle */
	assert_string_equal(wire_query(&a, "insert into t values (2)"), "C(INSERT 0 1) Z(T)");
	assert_string_equal(wire_query(&a, "commit"), "C(COMMIT) Z(I)");
	assert_string_equal(wire_talk(&a), "E(57P01) EOF");
	assert_int_equal(wire_server_stop(&server), 0);
	wire_close(&a);
	wire_close(&b);
	wire_server_restart(&server, NULL);
	wire_login(&a, &server, "u");
	assert_string_equal(
		wire_query(&a, "select count(*) from t"), "T(count:20) D(2) C(SELECT 1) Z(I)");
	wire_close(&a);
}

/* `demo-db serve 2>&1 | head`: what it says at SIGTERM finds nobody. */
static void a_log_that_nobody_reads_does_not_end_the_server(void **state)
{
	const char *const options[] = { NO_HURRY, NULL };
	(void)state;
	start_with(options);
	wire_login(&a, &server, "u");
	wire_query(&a, "create table t(a int); begin; insert into t values (1)");
	close(server.errors);
	server.errors = open("/dev/null", O_RDONLY | O_CLOEXEC);
	wire_login(&b, &server, "u");
	kill(server.pid, SIGTERM);
	assert_string_equal(wire_talk(&b), "E(57P01) EOF"); /* it has been heard */
	wire_close(&b);
	assert_string_equal(wire_query(&a, "commit"), "C(COMMIT) Z(I)");
	assert_int_equal(wire_server_stop(&server), 0);
	wire_close(&a);
}

static void the_most_workers_start(void **state)
{
	const char *const options[] = { "--workers", "1024", NULL };
	(void)state;
	start_with(options);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void a_closed_terminal_ends_it_in_order(void **state)
{
	(void)state;
	start_with(NULL);
	wire_login(&a, &server, "u");
	kill(server.pid, SIGHUP);
	assert_string_equal(wire_talk(&a), "E(57P01) EOF");
	wire_close(&a);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void draining_ends_after_its_time(void **state)
{
	const char *const options[] = { "--set", "server.drain_s=0", NULL };
	(void)state;
	start_with(options);
	wire_login(&a, &server, "u");
	wire_login(&b, &server, "u");
	wire_query(&a, "begin");
	wire_send_query(&b, LONG_QUERY);
	assert_int_equal(wire_server_stop(&server), 0);
	assert_string_equal(wire_talk(&a), "E(57P01) EOF");
	assert_non_null(strstr(wire_until(&b, 'x'), "E(57P01) EOF"));
	wire_close(&a);
	wire_close(&b);
}

static void an_acknowledged_commit_survives_a_kill(void **state)
{
	(void)state;
	start_with(NULL);
	wire_login(&a, &server, "u");
	wire_query(&a, "create table t(a int)");
	wire_query(&a, "insert into t values (1)");
	wire_query(&a, "begin; insert into t values (2)");
	wire_server_kill(&server);
	wire_close(&a);
	wire_server_restart(&server, NULL);
	wire_login(&a, &server, "u");
	assert_string_equal(wire_query(&a, "select a from t"), "T(a:23) D(1) C(SELECT 1) Z(I)");
	wire_close(&a);
}

static void a_client_that_does_not_read_is_disconnected(void **state)
{
	const char *const options[] = { "--set", "output.soft_s=1", "--set", "output.soft_kb=64",
		NULL };
	(void)state;
	start_with(options);
	wire_login(&a, &server, "u");
	wire_send_query(&a, "with recursive n(i) as (select 1 union all select i+1 from n) "
			    "select i, 'some text' from n");
	wire_login(&b, &server, "u");
	assert_string_equal(wire_query(&b, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	/* it never ends by itself: the server ends it, with what it had already sent */
	WAIT_UNTIL(strstr(wire_query(&b, "select count(*) from cancel_sessions"), "D(1)"));
	const char *said = wire_until(&a, 'Z');
	assert_non_null(strstr(said, "EOF"));
	wire_close(&a);
	wire_close(&b);
}

static void a_client_that_hangs_up_stops_its_statement(void **state)
{
	const char *const options[] = { "--workers", "1", NULL };
	(void)state;
	start_with(options);
	wire_login(&a, &server, "u");
	wire_send_query(&a, LONG_QUERY);
	wire_close(&a);
	wire_login(&b, &server, "u");
	/* the only worker is free again, or this would never be answered */
	assert_string_equal(wire_query(&b, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	wire_close(&b);
}

static void passwords_are_asked_for_where_they_are_needed(void **state)
{
	char port[8], config[128], line[512], command[512];
	const char *const password[] = { "demo-db", "password", "ann", NULL };
	(void)state;
	assert_int_equal(wire_run(password, "sesame\n", line, sizeof line), 0);
	snprintf(config, sizeof config, "/tmp/demo-users-%d", (int)getpid());
	FILE *file = fopen(config, "w");
	assert_non_null(file);
	fprintf(file, "[server]\ntrust_local = off\n[users]\n%s", line);
	fclose(file);
	uint16_t number = wire_free_port();
	snprintf(port, sizeof port, "%u", number);
	const char *const options[] = { "--listen", "127.0.0.1", "--port", port, "--config", config,
		NULL };
	start_with(options);
	snprintf(command, sizeof command,
		"PGPASSWORD=sesame psql -X -h 127.0.0.1 -p %s -U ann -d demo -Atc 'select 7' "
		">/dev/null 2>&1",
		port);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof command,
		"PGPASSWORD=wrong psql -X -h 127.0.0.1 -p %s -U ann -d demo -Atc 'select 7' "
		">/dev/null 2>&1",
		port);
	assert_int_not_equal(system(command), 0);
	snprintf(command, sizeof command,
		"PGPASSWORD=sesame psql -X -h 127.0.0.1 -p %s -U bob -d demo -Atc 'select 7' "
		">/dev/null 2>&1",
		port);
	assert_int_not_equal(system(command), 0);
	unlink(config);
}

static void nonsense_on_the_command_line_is_one_line_and_status_2(void **state)
{
	static const char *const lines[][8] = {
		{ "demo-db", NULL },
		{ "demo-db", "dance", NULL },
		{ "demo-db", "serve", NULL },
		{ "demo-db", "serve", "--data", "/tmp/x", "--port", "0", NULL },
		{ "demo-db", "serve", "--data", "/tmp/x", "--listen", "0.0.0.0", NULL },
		{ "demo-db", "serve", "--data", "/proc/nope", NULL },
		{ "demo-db", "serve", "--data", "/tmp/x", "--set", "cancel.nonsense=1", NULL },
		{ "demo-db", "init", "--data", "/tmp/x", NULL },
		{ "demo-db", "init", "--data", "/tmp/x", "--size", "huge", NULL },
		{ "demo-db", "init", "--data", "/tmp/x", "--pgbench-scale", "0", NULL },
		{ "demo-db", "password", NULL },
	};
	char said[4096];
	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_int_equal(wire_run(lines[i], "", said, sizeof said), 2);
		assert_int_not_equal(said[0], 0);
	}
	server.dir[0] = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(encryption_is_declined_and_the_session_begins, clean),
		cmocka_unit_test_teardown(a_bad_start_gets_an_error, clean),
		cmocka_unit_test_teardown(messages_that_are_none_end_the_connection, clean),
		cmocka_unit_test_teardown(a_message_may_come_byte_by_byte, clean),
		cmocka_unit_test_teardown(a_cancel_request_hits_what_runs_and_nothing_else, clean),
		cmocka_unit_test_teardown(statements_and_sessions_time_out, clean),
		cmocka_unit_test_teardown(the_operator_s_timeouts_are_every_session_s_own, clean),
		cmocka_unit_test_teardown(a_start_that_goes_nowhere_is_ended, clean),
		cmocka_unit_test_teardown(too_many_sessions_are_told_so, clean),
		cmocka_unit_test_teardown(
			an_operator_comes_in_when_all_connections_are_taken, clean),
		cmocka_unit_test_teardown(sigterm_lets_transactions_end, clean),
		cmocka_unit_test_teardown(draining_ends_after_its_time, clean),
		cmocka_unit_test_teardown(the_most_workers_start, clean),
		cmocka_unit_test_teardown(a_closed_terminal_ends_it_in_order, clean),
		cmocka_unit_test_teardown(a_log_that_nobody_reads_does_not_end_the_server, clean),
		cmocka_unit_test_teardown(an_acknowledged_commit_survives_a_kill, clean),
		cmocka_unit_test_teardown(a_client_that_does_not_read_is_disconnected, clean),
		cmocka_unit_test_teardown(a_client_that_hangs_up_stops_its_statement, clean),
		cmocka_unit_test_teardown(passwords_are_asked_for_where_they_are_needed, clean),
		cmocka_unit_test(nonsense_on_the_command_line_is_one_line_and_status_2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

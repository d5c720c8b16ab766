/* SPDX-License-Identifier: Apache-2.0 */
/* The admission gate, the pause and the BUSY answer, as clients meet them. */
#include "patience.h"
#include "wire_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define CLIENTS 12
#define CROWD	200

static struct wire_server server;
static struct wire_client clients[CLIENTS], boss, other;

static int clean(void **state)
{
	(void)state;
	wire_server_clean(&server);
	return 0;
}

/* Twelve clients on one worker of 5 ms a statement: the queue alone is over the threshold. */
static void start_overload(const char *more)
{
	const char *const options[] = { "--workers", "1", "--service-ms", "5", "--set",
		"admission.window_ms=50", "--set", "roles.boss=system raise", "--set", more, NULL };
	char user[64];
	wire_server_start(&server, options);
	for (int i = 0; i < CLIENTS; i++) {
		snprintf(user, sizeof user, "user%d", i);
		wire_login(&clients[i], &server, user);
	}
	wire_login(&boss, &server, "boss");
	assert_string_equal(wire_query(&boss, "set cancel.priority = system"), "C(SET) Z(I)");
}

/* System work, whose levels are the lowest, is refused last: were the server overloaded for that
 * long. */
static int was_refused(struct wire_client *client, unsigned lowest, unsigned highest)
{
	unsigned level;
	if (!strstr(wire_talk(client), "E("))
		return 0;
	assert_non_null(strstr(client->said, "E(53000)"));
	assert_int_equal(sscanf(client->last_error,
				 "the server is overloaded: %*s work of level %u is", &level),
		1);
	assert_in_range(level, lowest, highest);
	return 1;
}

/* One round of a query by everybody; how many were refused. */
static int round_of_queries(const char *sql)
{
	int refused = 0;
	wire_send_query(&boss, sql);
	for (int i = 0; i < CLIENTS; i++)
		wire_send_query(&clients[i], sql);
	for (int i = 0; i < CLIENTS; i++)
		refused += was_refused(&clients[i], 256, 383);
	return refused + was_refused(&boss, 0, 127);
}

static void close_all(void)
{
	for (int i = 0; i < CLIENTS; i++)
		wire_close(&clients[i]);
	wire_close(&boss);
}

static void an_overload_is_refused_with_a_hint_and_told_in_the_level(void **state)
{
	int refused = 0;
	(void)state;
	start_overload("admission.gate=on");
	/* the level falls 5 % a window until somebody is below it */
	WAIT_UNTIL((refused = round_of_queries("select 1")) > 0);
	struct wire_client *turned_away = NULL;
	for (int i = 0; i < CLIENTS; i++)
		if (strstr(clients[i].last_hint, "retry after"))
			turned_away = &clients[i];
	assert_non_null(turned_away);
	assert_true(atoi(turned_away->last_hint + strlen("retry after ")) > 0);
	assert_non_null(strstr(turned_away->last_error, "overloaded"));
	assert_non_null(strstr(turned_away->level, "/512 "));
	assert_true(atoi(turned_away->level) < 512);
	close_all();
	assert_int_equal(wire_server_stop(&server), 0);
}

/* To receive and read an INSERT of 2.7 MB takes some 10 ms or more, but nobody queues. On a machine
 * that is busy one window may look otherwise, but not each of them. */
static void one_client_that_loads_is_no_overload(void **state)
{
	enum { ROWS = 27000, ROW_BYTES = 100, LOADS = 12 };
	static char sql[ROWS * (ROW_BYTES + 1) + 64];
	const char *const options[] = { "--set", "admission.gate=on", "--set",
		"admission.window_ms=10", NULL };
	int calm = 0;
	(void)state;
	wire_server_start(&server, options);
	wire_login(&other, &server, "u");
	wire_query(&other, "create table t(a text)");
	size_t used = (size_t)snprintf(sql, sizeof sql, "insert into t values ");
	for (int i = 0; i < ROWS; i++)
		used += (size_t)snprintf(sql + used, sizeof sql - used, "%s('%0*d')", i ? "," : "",
			ROW_BYTES - 4, i);
	for (int i = 0; i < LOADS; i++) {
		assert_string_equal(wire_query(&other, sql), "C(INSERT 0 27000) Z(I)");
		wire_query(&other, "select mean_queue_ms < 5 from cancel_admission limit 1");
		calm += i > 2 && strstr(other.said, "D(t)");
	}
	assert_true(calm > 0);
	wire_close(&other);
}

static void without_the_gate_nothing_is_refused(void **state)
{
	(void)state;
	start_overload("admission.gate=off");
	for (int i = 0; i < 20; i++)
		assert_int_equal(round_of_queries("select 1"), 0);
	assert_string_equal(boss.level, "");
	close_all();
}

static void a_transaction_under_way_is_not_refused(void **state)
{
	(void)state;
	start_overload("admission.gate=on");
	wire_login(&other, &server, "u");
	wire_query(&other, "set cancel.priority = analytical");
	assert_string_equal(wire_query(&other, "begin"), "C(BEGIN) Z(T)");
	WAIT_UNTIL(round_of_queries("select 1") > 0);
	assert_null(strstr(wire_query(&other, "select 1"), "E("));
	assert_null(strstr(wire_query(&other, "commit"), "E("));
	wire_close(&other);
	close_all();
}

/* One has the worker and waits for the lock; those behind it cannot tell how long they wait. */
static void a_queue_that_stands_still_is_an_overload(void **state)
{
	static struct wire_client crowd[CROWD];
	int came = 0;
	(void)state;
	start_overload("admission.gate=on");
	wire_login(&other, &server, "u");
	wire_query(&other, "create table t(a int)");
	assert_string_equal(
		wire_query(&other, "begin; lock table t"), "C(BEGIN) C(LOCK TABLE) Z(T)");
	wire_send_query(&clients[0], "select * from t");
	while (!strstr(
		wire_query(&boss, "select sum(refused) > 0 from cancel_admission"), "D(t)")) {
		assert_true(came < CROWD); /* the level falls by what is asked meanwhile */
		wire_login(&crowd[came], &server, "u");
		wire_query(&crowd[came], "set cancel.priority = analytical");
		wire_send_query(&crowd[came++], "select 1");
		usleep(10000); /* until the server has looked again */
	}
	assert_string_equal(wire_query(&other, "commit"), "C(COMMIT) Z(I)");
	for (int i = 0; i < came; i++)
		wire_close(&crowd[i]);
	wire_close(&other);
	close_all();
}

static void nobody_lifts_itself(void **state)
{
	(void)state;
	start_overload("roles.batch=analytical");
	wire_login(&other, &server, "batch");
	assert_string_equal(wire_query(&other, "set cancel.priority = system"), "E(42501) Z(I)");
	/* nor where sockets are served in order */
	wire_query(&clients[0], "set cancel.priority = write");
	wire_query(&clients[1], "set cancel.priority = analytical");
	wire_query(&clients[0], "select 1");
	wire_query(&clients[1], "select 1");
	assert_string_equal(wire_query(&boss, "select max(level), min(level) from cancel_sessions "
					      "where usename like 'user%'"),
		"T(max:20,min:20) D(3,2) C(SELECT 1) Z(I)");
	assert_string_equal(wire_query(&other, "pause"), "E(42501) Z(I)");
	assert_string_equal(wire_query(&other, "checkpoint"), "E(42501) Z(I)");
	wire_close(&other);
	close_all();
}

static void a_user_level_is_the_roles_and_no_client_rolls_it_again(void **state)
{
	const char *const options[] = { "--set", "roles.front=auto raise", NULL };
	const char *const pairs[] = { "user", "u", "options", "-c cancel.user=lucky", NULL };
	(void)state;
	wire_server_start(&server, options);
	wire_login(&other, &server, "u");
	assert_string_equal(wire_query(&other, "set cancel.user = 'lucky'"), "E(42501) Z(I)");
	assert_string_equal(wire_query(&other, "reset cancel.user"), "C(RESET) Z(I)");
	assert_string_equal(wire_query(&other, "set cancel.user to default"), "C(SET) Z(I)");
	wire_close(&other);
	wire_open(&other, &server);
	wire_startup(&other, pairs);
	assert_non_null(strstr(wire_talk(&other), "E(42501)"));
	wire_close(&other);
	/* a front-end says whose request it is */
	wire_login(&boss, &server, "front");
	assert_string_equal(wire_query(&boss, "set cancel.user = 'somebody'"), "C(SET) Z(I)");
	wire_close(&boss);
}

static void where_there_are_no_roles_everybody_may_raise_its_priority(void **state)
{
	(void)state;
	wire_server_start(&server, NULL);
	wire_login(&other, &server, "u");
	wire_login(&boss, &server, "v");
	assert_string_equal(wire_query(&other, "set cancel.priority = 'system'"), "C(SET) Z(I)");
	wire_query(&other, "select 1");
	assert_string_equal(
		wire_query(&boss, "select level from cancel_sessions where usename = 'u'"),
		"T(level:20) D(0) C(SELECT 1) Z(I)");
	assert_string_equal(wire_query(&other, "set cancel.user = 'lucky'"), "E(42501) Z(I)");
	wire_close(&other);
	wire_close(&boss);
}

static void a_pause_holds_new_transactions_until_resume(void **state)
{
	char byte;
	(void)state;
	start_overload("admission.gate=on");
	wire_login(&other, &server, "u");
	assert_string_equal(wire_query(&other, "begin"), "C(BEGIN) Z(T)");
	assert_string_equal(wire_query(&boss, "pause"), "C(PAUSE) Z(I)");
	wire_send_query(&clients[0], "select 1");
	/* one under way goes on, and settings are answered */
	assert_null(strstr(wire_query(&other, "select 1; commit"), "E("));
	assert_string_equal(wire_query(&other, "show server_version"),
		"T(server_version:25) D(15.0) C(SHOW) Z(I)");
	assert_int_equal(recv(clients[0].fd, &byte, 1, MSG_DONTWAIT), -1);
	/* one that leaves while it waits is no trouble */
	wire_send_query(&clients[1], "select 1");
	wire_close(&clients[1]);
	assert_string_equal(wire_query(&boss, "resume"), "C(RESUME) Z(I)");
	assert_string_equal(wire_talk(&clients[0]), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	wire_close(&other);
	close_all();
	assert_int_equal(wire_server_stop(&server), 0);
}

static void a_checkpoint_waits_for_the_writer_and_not_for_its_own(void **state)
{
	(void)state;
	start_overload("admission.gate=on");
	wire_login(&other, &server, "u");
	assert_string_equal(
		wire_query(&boss, "begin; checkpoint; rollback"), "C(BEGIN) E(25001) Z(E)");
	assert_string_equal(wire_query(&boss, "rollback"), "C(ROLLBACK) Z(I)");
	assert_null(strstr(wire_query(&other, "begin; create table c(n int)"), "E("));
	wire_send_query(&boss, "checkpoint");
	/* whoever reads is served meanwhile */
	assert_string_equal(
		wire_query(&clients[0], "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	assert_string_equal(wire_query(&other, "commit"), "C(COMMIT) Z(I)");
	assert_string_equal(wire_talk(&boss), "C(CHECKPOINT) Z(I)");
	wire_close(&other);
	close_all();
	assert_int_equal(wire_server_stop(&server), 0);
}

static void a_pause_does_not_hold_the_way_down(void **state)
{
	(void)state;
	start_overload("admission.gate=on");
	assert_string_equal(wire_query(&boss, "pause"), "C(PAUSE) Z(I)");
	wire_send_query(&clients[0], "select 1");
	assert_int_equal(wire_server_stop(&server), 0);
	assert_string_equal(wire_talk(&clients[0]), "E(57P01) EOF");
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			an_overload_is_refused_with_a_hint_and_told_in_the_level, clean),
		cmocka_unit_test_teardown(one_client_that_loads_is_no_overload, clean),
		cmocka_unit_test_teardown(without_the_gate_nothing_is_refused, clean),
		cmocka_unit_test_teardown(a_transaction_under_way_is_not_refused, clean),
		cmocka_unit_test_teardown(a_queue_that_stands_still_is_an_overload, clean),
		cmocka_unit_test_teardown(nobody_lifts_itself, clean),
		cmocka_unit_test_teardown(
			a_user_level_is_the_roles_and_no_client_rolls_it_again, clean),
		cmocka_unit_test_teardown(
			where_there_are_no_roles_everybody_may_raise_its_priority, clean),
		cmocka_unit_test_teardown(a_pause_holds_new_transactions_until_resume, clean),
		cmocka_unit_test_teardown(
			a_checkpoint_waits_for_the_writer_and_not_for_its_own, clean),
		cmocka_unit_test_teardown(a_pause_does_not_hold_the_way_down, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

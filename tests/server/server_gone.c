/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that is gone, or that the server has decided to end: nothing more of what it sent runs.
 *
 * Each test sends a statement that never ends by itself and, behind it, one that would empty `src`.
 * It ends the client once the first statement is seen running, waits until the server has forgotten
 * the client, and looks at the tables.
 */
#include "patience.h"
#include "wire_client.h"

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

#define ENDLESS	     "insert into dst select count(*) from generate_series(1, 1000000000000) n, src"
#define ENDLESS_READ "select count(*) from generate_series(1, 1000000000000) n"
#define EMPTY	     "delete from src"

static struct wire_server server;
static struct wire_client boss, holder, gone;

static void start(const char *const *options)
{
	wire_server_start(&server, options);
	wire_login(&boss, &server, "boss");
	wire_login(&holder, &server, "holder");
	assert_null(strstr(
		wire_query(&boss, "create table src(n int); create table dst(n int); "
				  "create table held(n int); insert into src values (1), (2), (3)"),
		"E("));
}

static int start_plain(void **state)
{
	static const char *const options[] = { "--listen", "127.0.0.1", "--set", "server.drain_s=0",
		NULL };
	(void)state;
	start(options);
	return 0;
}

static int clean(void **state)
{
	(void)state;
	wire_close(&boss);
	wire_close(&holder);
	wire_close(&gone);
	wire_server_clean(&server);
	return 0;
}

static void stop(void)
{
	wire_close(&boss);
	wire_close(&holder);
	assert_int_equal(wire_server_stop(&server), 0);
}

/* ---- Waiting for events --------------------------------------------------------------------- */

static void wait_until(const char *sql)
{
	WAIT_UNTIL(strstr(wire_query(&boss, sql), "D(t)"));
}

/* The client's statement after `served` others runs, or waits for something. */
static void await_statement(unsigned served)
{
	char sql[160];
	snprintf(sql, sizeof sql,
		"select state = 'running' and statements = %u as t from cancel_sessions where "
		"process = %u",
		served, gone.process);
	wait_until(sql);
}

static void await_end(void)
{
	char sql[128];
	snprintf(sql, sizeof sql,
		"select count(*) = 0 as t from cancel_sessions where process = %u", gone.process);
	wait_until(sql);
}

static void assert_nothing_lost(void)
{
	assert_string_equal(wire_query(&boss, "select distinct paused from cancel_admission"),
		"T(paused:16) D(f) C(SELECT 1) Z(I)");
	assert_string_equal(wire_query(&boss, "select (select count(*) from src) as src, "
					      "(select count(*) from dst) as dst"),
		"T(src:20,dst:20) D(3,0) C(SELECT 1) Z(I)");
}

/* ---- The client and its ends ---------------------------------------------------------------- */

enum ending {
	CLOSED_SOCKET, /* close(), over the Unix socket */
	CLOSED,	       /* close(), over TCP */
	RESET,	       /* over TCP, with a reset in place of the normal end */
	HALF_CLOSED,   /* it would still read */
	ENDING_COUNT
};

static void open_gone(enum ending ending)
{
	static const char *const pairs[] = { "user", "gone", "database", "demo", NULL };
	if (ending == CLOSED_SOCKET)
		wire_open(&gone, &server);
	else
		wire_open_tcp(&gone, server.port);
	wire_startup(&gone, pairs);
	assert_string_equal(wire_talk(&gone), "Z(I)");
}

static void end_gone(enum ending ending)
{
	const struct linger reset = { .l_onoff = 1 };
	if (ending == HALF_CLOSED)
		assert_int_equal(shutdown(gone.fd, SHUT_WR), 0);
	if (ending == RESET)
		assert_int_equal(
			setsockopt(gone.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
	if (ending != HALF_CLOSED)
		wire_close(&gone);
}

/* However it ends while the statement behind `served` others runs, the rest of what `send` sends
 * is not run. */
static void nothing_more_runs(void (*send)(void), unsigned served)
{
	for (enum ending ending = 0; ending < ENDING_COUNT; ending++) {
		open_gone(ending);
		send();
		wire_flush(&gone);
		await_statement(served);
		end_gone(ending);
		await_end();
		assert_nothing_lost();
		wire_close(&gone);
	}
}

static void query(const char *sql)
{
	wire_message(&gone, 'Q', sql, strlen(sql) + 1);
}

static void execute(const char *sql)
{
	wire_parse(&gone, "", sql);
	wire_bind(&gone, "", "", NULL, 0, 0);
	wire_describe(&gone, 'P', "");
	wire_execute(&gone, "", 0);
}

/* ---- The forms in which input comes --------------------------------------------------------- */

static void send_one_message(void)
{
	query(ENDLESS "; " EMPTY);
}

static void several_statements_in_one_message(void **state)
{
	(void)state;
	nothing_more_runs(send_one_message, 0);
	stop();
}

static void send_messages(void)
{
	query(ENDLESS);
	query(EMPTY);
}

static void several_query_messages(void **state)
{
	(void)state;
	nothing_more_runs(send_messages, 0);
	stop();
}

static void send_pipeline(void)
{
	execute(ENDLESS);
	wire_sync(&gone);
	execute(EMPTY);
	wire_sync(&gone);
}

static void a_pipeline_of_the_extended_protocol(void **state)
{
	(void)state;
	nothing_more_runs(send_pipeline, 0);
	stop();
}

static void send_pipeline_without_sync(void)
{
	execute(EMPTY);
	execute(ENDLESS);
	wire_sync(&gone);
	query("commit");
	execute(EMPTY);
}

static void a_pipeline_that_is_one_transaction(void **state)
{
	(void)state;
	nothing_more_runs(send_pipeline_without_sync, 1);
	stop();
}

static void send_prepared(void)
{
	wire_parse(&gone, "endless", ENDLESS);
	wire_parse(&gone, "empty", EMPTY);
	wire_bind(&gone, "p", "endless", NULL, 0, 0);
	wire_execute(&gone, "p", 0);
	wire_sync(&gone);
	wire_bind(&gone, "p", "empty", NULL, 0, 0);
	wire_execute(&gone, "p", 0);
	wire_sync(&gone);
}

static void named_statements_and_portals(void **state)
{
	(void)state;
	nothing_more_runs(send_prepared, 0);
	stop();
}

static void send_execute(void)
{
	query("prepare endless as " ENDLESS);
	query("prepare empty as " EMPTY);
	query("execute endless");
	query("execute empty");
}

static void prepared_statements_of_sql(void **state)
{
	(void)state;
	nothing_more_runs(send_execute, 0);
	stop();
}

static void send_block(void)
{
	query("begin");
	query(EMPTY);
	query("savepoint s");
	query(ENDLESS_READ);
	query("rollback to s");
	query("commit");
}

static void a_block_that_would_go_on_from_a_savepoint(void **state)
{
	(void)state;
	nothing_more_runs(send_block, 3);
	stop();
}

static void send_extended_block(void)
{
	static const char *const statements[] = { "begin", EMPTY, "savepoint s", ENDLESS_READ,
		"rollback to s", "commit" };
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		execute(statements[i]);
		wire_sync(&gone);
	}
}

static void a_block_of_the_extended_protocol(void **state)
{
	(void)state;
	nothing_more_runs(send_extended_block, 3);
	stop();
}

static void send_two_blocks(void)
{
	query("begin; " ENDLESS "; commit");
	query("rollback; begin; " EMPTY "; commit");
}

static void a_block_behind_a_block(void **state)
{
	(void)state;
	nothing_more_runs(send_two_blocks, 1);
	stop();
}

static void send_terminated(void)
{
	send_messages();
	wire_message(&gone, 'X', "", 0);
}

static void a_client_that_says_goodbye_without_waiting(void **state)
{
	(void)state;
	nothing_more_runs(send_terminated, 0);
	stop();
}

/* ---- What the first statement waits for ----------------------------------------------------- */

static void send_behind_a_lock(void)
{
	query("alter table held add column m int");
	query(EMPTY);
}

static void a_statement_that_waits_for_a_lock(void **state)
{
	(void)state;
	assert_null(strstr(wire_query(&holder, "begin; select * from held"), "E("));
	nothing_more_runs(send_behind_a_lock, 0);
	assert_string_equal(wire_query(&holder, "commit"), "C(COMMIT) Z(I)");
	stop();
}

/* An open block that reads keeps a backup waiting, but no statement behind it. */
static void send_backup(void)
{
	query("backup to 'copy.db'");
	query(EMPTY);
}

static void a_backup(void **state)
{
	(void)state;
	assert_null(strstr(wire_query(&holder, "begin; select * from held"), "E("));
	nothing_more_runs(send_backup, 0);
	assert_string_equal(wire_query(&holder, "commit"), "C(COMMIT) Z(I)");
	stop();
}

static void await_held(void)
{
	char sql[128];
	snprintf(sql, sizeof sql,
		"select state = 'held' as t from cancel_sessions where process = %u", gone.process);
	wait_until(sql);
}

/* The RESUME behind it is not held by a pause: it would let the rest in. */
static void a_statement_that_a_pause_holds(void **state)
{
	(void)state;
	for (enum ending ending = 0; ending < ENDING_COUNT; ending++) {
		open_gone(ending);
		assert_string_equal(wire_query(&boss, "pause"), "C(PAUSE) Z(I)");
		query(EMPTY);
		query("resume");
		query(EMPTY);
		wire_flush(&gone);
		await_held();
		end_gone(ending);
		await_end();
		assert_string_equal(
			wire_query(&boss, "select distinct waiting, paused from cancel_admission"),
			"T(waiting:20,paused:16) D(0,t) C(SELECT 1) Z(I)");
		assert_string_equal(wire_query(&boss, "resume"), "C(RESUME) Z(I)");
		assert_nothing_lost();
		wire_close(&gone);
	}
	stop();
}

static void send_local(void)
{
	query(ENDLESS);
	query("pause");
}

/* A statement the server answers without the engine is a statement, too. */
static void a_command_to_the_server(void **state)
{
	(void)state;
	nothing_more_runs(send_local, 0);
	stop();
}

/* The server's own statements cannot be cancelled: this one ends well, after its client is gone. */
static void behind_a_statement_that_ends_well(const char *first, const char *second)
{
	for (enum ending ending = 0; ending < ENDING_COUNT; ending++) {
		open_gone(ending);
		assert_null(
			strstr(wire_query(&holder, "begin; insert into held values (1)"), "E("));
		query(first);
		query(second);
		wire_flush(&gone);
		wait_until("select count(*) > 0 as t from cancel_tasks where background "
			   "and waits_for = 'write_gate'");
		end_gone(ending);
		/* the server polls in order: when this is answered it knows of the end */
		wait_until("select count(*) > 0 as t from cancel_tasks");
		assert_string_equal(wire_query(&holder, "rollback"), "C(ROLLBACK) Z(I)");
		await_end();
		assert_nothing_lost();
		wire_close(&gone);
	}
}

static void the_next_message_after_one_that_ended_well(void **state)
{
	(void)state;
	behind_a_statement_that_ends_well("checkpoint", EMPTY);
	stop();
}

static void the_next_statement_after_one_that_ended_well(void **state)
{
	(void)state;
	behind_a_statement_that_ends_well("checkpoint; " EMPTY, EMPTY);
	stop();
}

/* ---- When nothing runs yet ------------------------------------------------------------------ */

/* The server finds the input and its end at the same moment. */
static void freeze(void)
{
	int status;
	assert_int_equal(kill(server.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(server.pid, &status, WUNTRACED), server.pid);
	assert_true(WIFSTOPPED(status));
}

static void thaw(void)
{
	assert_int_equal(kill(server.pid, SIGCONT), 0);
}

static void what_comes_together_with_the_end_is_not_run(void **state)
{
	(void)state;
	for (enum ending ending = 0; ending < ENDING_COUNT; ending++) {
		open_gone(ending);
		freeze();
		query(EMPTY);
		execute(EMPTY);
		wire_sync(&gone);
		wire_flush(&gone);
		end_gone(ending);
		thaw();
		await_end();
		assert_nothing_lost();
		wire_close(&gone);
	}
	stop();
}

/* Its senders need not wait for an answer; some close at once. */
static void a_cancel_request_counts_although_its_sender_is_gone(void **state)
{
	static const uint8_t head[] = { 0, 0, 0, 16, 4, 210, 22, 46 };
	static struct wire_client sender;
	uint8_t key[8];
	(void)state;
	open_gone(CLOSED);
	query(ENDLESS_READ);
	wire_flush(&gone);
	await_statement(0);
	for (int i = 0; i < 4; i++) {
		key[i] = (uint8_t)(gone.process >> (24 - 8 * i));
		key[4 + i] = (uint8_t)(gone.secret >> (24 - 8 * i));
	}
	wire_open_tcp(&sender, server.port);
	freeze();
	wire_raw(&sender, head, sizeof head);
	wire_raw(&sender, key, sizeof key);
	wire_flush(&sender);
	wire_close(&sender);
	thaw();
	assert_non_null(strstr(wire_talk(&gone), "E(57014) Z(I)"));
	stop();
}

/* ---- Whom the server ends ------------------------------------------------------------------- */

static void assert_nothing_lost_after_restart(void)
{
	wire_server_restart(&server, NULL);
	wire_login(&boss, &server, "boss");
	assert_nothing_lost();
	wire_close(&boss);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void a_shutdown_that_waits_no_longer(void **state)
{
	static const struct {
		void (*send)(void);
		unsigned served;
	} forms[] = { { send_one_message, 0 }, { send_messages, 0 }, { send_pipeline, 0 },
		{ send_block, 3 }, { send_extended_block, 3 }, { send_two_blocks, 1 } };
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		start_plain(state);
		open_gone(CLOSED_SOCKET);
		forms[i].send();
		wire_flush(&gone);
		await_statement(forms[i].served);
		stop();
		assert_non_null(strstr(wire_until(&gone, 'x'), "E(57P01) EOF"));
		assert_null(strstr(gone.said, "COMMIT"));
		wire_close(&gone);
		assert_nothing_lost_after_restart();
		wire_server_clean(&server);
	}
}

static void a_client_that_does_not_read(void **state)
{
	static const char *const options[] = { "--set", "output.soft_s=1", "--set",
		"output.soft_kb=64", NULL };
	(void)state;
	start(options);
	open_gone(CLOSED_SOCKET);
	query("select n, 'some text' from generate_series(1, 1000000000000) n");
	query(EMPTY);
	wire_flush(&gone);
	await_end();
	assert_nothing_lost();
	stop();
}

#define form(test) cmocka_unit_test_setup_teardown(test, start_plain, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		form(several_statements_in_one_message),
		form(several_query_messages),
		form(a_pipeline_of_the_extended_protocol),
		form(a_pipeline_that_is_one_transaction),
		form(named_statements_and_portals),
		form(prepared_statements_of_sql),
		form(a_block_that_would_go_on_from_a_savepoint),
		form(a_block_of_the_extended_protocol),
		form(a_block_behind_a_block),
		form(a_client_that_says_goodbye_without_waiting),
		form(a_statement_that_waits_for_a_lock),
		form(a_backup),
		form(a_statement_that_a_pause_holds),
		form(a_command_to_the_server),
		form(the_next_message_after_one_that_ended_well),
		form(the_next_statement_after_one_that_ended_well),
		form(what_comes_together_with_the_end_is_not_run),
		form(a_cancel_request_counts_although_its_sender_is_gone),
		cmocka_unit_test_teardown(a_shutdown_that_waits_no_longer, clean),
		cmocka_unit_test_teardown(a_client_that_does_not_read, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What waits: for the intake, for the writer, for a client that reads slowly. It can be cancelled,
 * it times out as what it is, and nobody else is kept waiting for longer than need be. */
#include "patience.h"
#include "wire_client.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define THREADS	    16 /* more than two workers' server has */
#define SLOW_PIECES 50 /* fewer than an answer has */
#define ROWS(n)                                                                                    \
	"with recursive n(i) as (select 1 union all select i+1 from n where i < " n ") "           \
	"select i, printf('%.100c', 'x') from n"

static struct wire_server server;
static struct wire_client a, boss, many[THREADS];

static int clean(void **state)
{
	(void)state;
	wire_server_clean(&server);
	return 0;
}

static void start(const char *const *options)
{
	wire_server_start(&server, options);
	wire_login(&a, &server, "u");
	wire_login(&boss, &server, "boss");
}

static void stop(void)
{
	wire_close(&a);
	wire_close(&boss);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void wait_until(const char *sql)
{
	WAIT_UNTIL(strstr(wire_query(&boss, sql), "D(t)"));
}

#define HELD "select waiting > 0 as t from cancel_admission limit 1"

static void a_session_sets_how_long_it_waits_for_a_lock(void **state)
{
	(void)state;
	start(NULL);
	wire_query(&a, "create table t(n int)");
	wire_query(&a, "begin; alter table t add column m int");
	assert_string_equal(wire_query(&boss, "set lock_timeout = 30; select * from t"),
		"C(SET) E(55P03) Z(I)");
	assert_string_equal(
		wire_query(&boss, "begin; set local lock_timeout = '20ms'; select * from t"),
		"C(BEGIN) C(SET) E(55P03) Z(E)");
	wire_query(&boss, "rollback; set lock_timeout = 0");
	wire_send_query(&boss, "select count(*) as n from t");
	wire_query(&a, "rollback");
	assert_string_equal(wire_talk(&boss), "T(n:20) D(0) C(SELECT 1) Z(I)");
	stop();
}

static void what_a_pause_holds_can_be_cancelled(void **state)
{
	(void)state;
	start(NULL);
	wire_query(&boss, "pause");
	wire_send_query(&a, "select 1");
	wait_until(HELD);
	assert_string_equal(
		wire_query(&boss, "select state from cancel_sessions where usename = 'u'"),
		"T(state:25) D(held) C(SELECT 1) Z(I)");
	wire_cancel(&server, a.process, a.secret);
	assert_string_equal(wire_talk(&a), "E(57014) Z(I)");
	assert_string_equal(a.last_error, "canceling statement due to user request");
	/* and the next one is none the worse for it */
	wire_send_query(&a, "select 2");
	wait_until(HELD);
	wire_query(&boss, "resume");
	assert_string_equal(wire_talk(&a), "T(?column?:23) D(2) C(SELECT 1) Z(I)");
	stop();
}

#define SHORT_LIMITS "set idle_session_timeout = 200; set statement_timeout = 600"

static void what_a_pause_holds_is_not_idle_and_times_out(void **state)
{
	(void)state;
	start(NULL);
	wire_query(&boss, "pause");
	/* both at once: between them it could be idle for too long */
	wire_message(&a, 'Q', SHORT_LIMITS, sizeof SHORT_LIMITS);
	wire_message(&a, 'Q', "begin", sizeof "begin");
	assert_string_equal(wire_talk(&a), "C(SET) C(SET) Z(I)");
	assert_string_equal(wire_talk(&a), "E(57014) Z(I)");
	assert_string_equal(a.last_error, "canceling statement due to statement timeout");
	assert_string_equal(
		wire_query(&boss, "select distinct waiting, paused from cancel_admission"),
		"T(waiting:20,paused:16) D(0,t) C(SELECT 1) Z(I)");
	stop();
}

static void checkpoints_leave_threads_to_serve_the_writer(void **state)
{
	static const char *const options[] = { "--workers", "2", NULL };
	int refused = 0;
	(void)state;
	start(options);
	assert_null(strstr(wire_query(&a, "begin; create table t(n int)"), "E("));
	for (int i = 0; i < THREADS; i++) {
		wire_login(&many[i], &server, "u");
		wire_send_query(&many[i], "checkpoint");
	}
	assert_string_equal(wire_query(&a, "commit"), "C(COMMIT) Z(I)");
	for (int i = 0; i < THREADS; i++) {
		const char *said = wire_talk(&many[i]);
		refused += strcmp(said, "E(55006) Z(I)") == 0;
		assert_true(strstr(said, "E(55006)") || strcmp(said, "C(CHECKPOINT) Z(I)") == 0);
		wire_close(&many[i]);
	}
	assert_true(refused < THREADS);
	stop();
}

/* Reads an answer in pieces, with a pause after each until `slow_ns` have passed. False: the
 * connection ended before it. */
static bool read_slowly(int fd, uint64_t slow_ns)
{
	uint64_t end_ns = patience_now_ns() + slow_ns;
	static const char end[] = "Z\0\0\0\005I";
	static char piece[32768];
	size_t bytes = 0, size = sizeof end - 1;
	do {
		size_t keep = bytes < size ? bytes : size;
		memmove(piece, piece + bytes - keep, keep);
		ssize_t n;
		do
			n = recv(fd, piece + keep, sizeof piece - keep, 0);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return false;
		bytes = keep + (size_t)n;
		if (patience_now_ns() < end_ns)
			usleep((useconds_t)(slow_ns / 1000 / SLOW_PIECES));
	} while (bytes < size || memcmp(piece + bytes - size, end, size) != 0);
	return true;
}

/* Its answer is never all sent, but something of it is read again and again. */
static void a_client_that_reads_slowly_is_left_alone(void **state)
{
	const uint64_t limit_s = patience_s() / 4;
	char soft_s[32];
	const char *const options[] = { "--set", soft_s, "--set", "output.soft_kb=512", NULL };
	(void)state;
	snprintf(soft_s, sizeof soft_s, "output.soft_s=%u", (unsigned)limit_s);
	start(options);
	wire_send_query(&a, ROWS("30000"));
	assert_true(read_slowly(a.fd, limit_s * 1200000000));
	assert_string_equal(wire_query(&a, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	stop();
}

static void a_row_over_the_limit_is_an_error_and_no_disconnect(void **state)
{
	static const char *const options[] = { "--set", "output.hard_mb=1", "--set",
		"output.soft_kb=64", NULL };
	(void)state;
	start(options);
	assert_string_equal(
		wire_query(&a, "select 1 as n union all select length(hex(zeroblob(9)))"),
		"T(n:23) D(1) D(18) C(SELECT 2) Z(I)");
	assert_non_null(strstr(wire_query(&a, "select hex(zeroblob(1000000))"), "E(54000) Z(I)"));
	assert_non_null(strstr(a.last_error, "output.hard_mb = 1"));
	assert_non_null(strstr(wire_query(&a, "select hex(zeroblob(400000))"), "C(SELECT 1) Z(I)"));
	stop();
}

static void a_shutdown_lets_the_last_answer_be_read(void **state)
{
	static const char *const options[] = { "--set", "server.drain_s=3600", NULL };
	(void)state;
	start(options);
	wire_send_query(&a, ROWS("8000"));
	wait_until("select unread_bytes > 0 and state = 'idle' as t from cancel_sessions where "
		   "usename = 'u'");
	kill(server.pid, SIGTERM);
	assert_string_equal(wire_talk(&boss), "E(57P01) EOF");
	assert_non_null(strstr(wire_talk(&a), "C(SELECT 8000) Z(I)"));
	assert_string_equal(wire_talk(&a), "E(57P01) EOF");
	wire_close(&a);
	wire_close(&boss);
	assert_int_equal(wire_server_stop(&server), 0);
}

/* They may use the slots that are kept for COMMIT. */
static void views_do_not_keep_their_slots_for_long(void **state)
{
	(void)state;
	start(NULL);
	assert_string_equal(
		wire_query(&a, "select count(*) from cancel_settings a, cancel_settings b, "
			       "cancel_settings c, cancel_settings d, cancel_settings e, "
			       "cancel_settings f"),
		"T(count:20) E(57014) Z(I)");
	stop();
}

static void nobody_sends_much_before_the_password(void **state)
{
	static const char *const options[] = { "--set", "server.trust_local=off", NULL };
	static const char *const pairs[] = { "user", "u", NULL };
	static const uint8_t begun[] = { 'p', 0, 1, 0, 0, 'x' }; /* 64 KiB are to follow */
	(void)state;
	wire_server_start(&server, options);
	wire_open(&a, &server);
	wire_startup(&a, pairs);
	wire_flush(&a);
	wire_raw(&a, begun, sizeof begun);
	assert_string_equal(wire_talk(&a), "E(08P01) EOF");
	wire_close(&a);
	assert_int_equal(wire_server_stop(&server), 0);
}

/* Both reach the server in one turn of its poll. */
static void bytes_and_the_end_at_once_are_noticed(void **state)
{
	static const uint8_t half[] = { 'Q', 0, 0, 0, 40, 's', 'e' };
	(void)state;
	start(NULL);
	kill(server.pid, SIGSTOP);
	assert_int_equal(waitpid(server.pid, NULL, WUNTRACED), server.pid);
	wire_raw(&a, half, sizeof half);
	wire_flush(&a);
	wire_close(&a);
	wire_open(&a, &server); /* the same before the session begins */
	wire_raw(&a, half, sizeof half);
	wire_flush(&a);
	wire_close(&a);
	kill(server.pid, SIGCONT);
	wait_until("select count(*) = 1 as t from cancel_sessions");
	stop();
}

static int open_files(void)
{
	char path[64];
	int count = 0;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)server.pid);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

/* Nothing more happens on the listening socket that would tell of it. */
static void who_came_when_descriptors_were_short_is_served_later(void **state)
{
	static const char *const pairs[] = { "user", "u", NULL };
	struct rlimit before;
	(void)state;
	start(NULL);
	assert_string_equal(wire_query(&a, "select 1"), "T(?column?:23) D(1) C(SELECT 1) Z(I)");
	assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, NULL, &before), 0);
	struct rlimit none_left = { .rlim_cur = (rlim_t)open_files(), .rlim_max = before.rlim_max };
	assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, &none_left, NULL), 0);
	wire_open(&many[0], &server);
	wire_startup(&many[0], pairs);
	wire_flush(&many[0]);
	for (int i = 0; i < 10; i++) /* the server polls meanwhile, and cannot accept */
		wire_query(&a, "select 1");
	assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, &before, NULL), 0);
	assert_string_equal(wire_talk(&many[0]), "Z(I)");
	wire_close(&many[0]);
	stop();
}

/* The kernel's table of connections says so: a keep-alive timer runs on the server's end. */
static bool is_kept_alive(uint16_t port)
{
	char line[256];
	bool found = false;
	FILE *table = fopen("/proc/net/tcp", "r");
	assert_non_null(table);
	while (fgets(line, sizeof line, table)) {
		unsigned local_port, state, timer;
		if (sscanf(line, " %*d: %*x:%x %*x:%*x %x %*x:%*x %x:", &local_port, &state,
			    &timer) == 3)
			found |= local_port == port && state == 1 && timer == 2;
	}
	fclose(table);
	return found;
}

static void who_vanished_is_asked_for(void **state)
{
	static const char *const options[] = { "--listen", "127.0.0.1", NULL };
	static const char *const pairs[] = { "user", "u", NULL };
	(void)state;
	start(options);
	wire_open_tcp(&many[0], server.port);
	wire_startup(&many[0], pairs);
	assert_string_equal(wire_talk(&many[0]), "Z(I)");
	WAIT_UNTIL(is_kept_alive(server.port)); /* once it has sent what it was to send */
	wire_close(&many[0]);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_session_sets_how_long_it_waits_for_a_lock, clean),
		cmocka_unit_test_teardown(what_a_pause_holds_can_be_cancelled, clean),
		cmocka_unit_test_teardown(what_a_pause_holds_is_not_idle_and_times_out, clean),
		cmocka_unit_test_teardown(checkpoints_leave_threads_to_serve_the_writer, clean),
		cmocka_unit_test_teardown(a_client_that_reads_slowly_is_left_alone, clean),
		cmocka_unit_test_teardown(
			a_row_over_the_limit_is_an_error_and_no_disconnect, clean),
		cmocka_unit_test_teardown(a_shutdown_lets_the_last_answer_be_read, clean),
		cmocka_unit_test_teardown(views_do_not_keep_their_slots_for_long, clean),
		cmocka_unit_test_teardown(bytes_and_the_end_at_once_are_noticed, clean),
		cmocka_unit_test_teardown(
			who_came_when_descriptors_were_short_is_served_later, clean),
		cmocka_unit_test_teardown(who_vanished_is_asked_for, clean),
		cmocka_unit_test_teardown(nobody_sends_much_before_the_password, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Kills, full disks, failing reads, floods: an error or a disconnect, and nothing lost. */
#include "demo-db/engine/session/state.h"
#include "demo-db/server/server.h"
#include "demo-db/views/view.h"
#include "patience.h"
#include "wire_client.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define WRITERS 6
#define FLOOD	400

static struct wire_server server;
static struct wire_client clients[WRITERS], client;

static int clean(void **state)
{
	(void)state;
	server.file_limit_bytes = 0;
	wire_server_clean(&server);
	return 0;
}

static unsigned seed_of_this_run(void)
{
	const char *given = getenv("SEED");
	unsigned seed = given ? (unsigned)atoi(given) : (unsigned)time(NULL);
	print_message("SEED=%u\n", seed);
	return seed;
}

static long number_by(struct wire_client *asking, const char *sql)
{
	const char *said = wire_query(asking, sql);
	const char *row = strstr(said, "D(");
	if (!row)
		fail_msg("%s: %s", sql, said);
	return atol(row + 2);
}

static long number_of(const char *sql)
{
	return number_by(&client, sql);
}

static void assert_sound(void)
{
	assert_non_null(strstr(wire_query(&client, "pragma integrity_check"), "D(ok)"));
}

/* ---- kill -9 ------------------------------------------------------------------------------- */

static void kill_later(unsigned after_us)
{
	pid_t victim = server.pid, killer = fork();
	assert_true(killer >= 0);
	if (killer == 0) {
		usleep(after_us);
		kill(victim, SIGKILL);
		_exit(0);
	}
}

/* Every writer puts its next number into the ledger and moves an amount, in one transaction. A
 * transaction counts as acknowledged once its COMMIT's answer has arrived. */
static void write_until_killed(long acknowledged[WRITERS], unsigned *seed)
{
	char sql[256];
	bool alive = true;
	while (alive) {
		for (int i = 0; i < WRITERS; i++) {
			int from = rand_r(seed) % 10, to = rand_r(seed) % 10;
			snprintf(sql, sizeof sql,
				"begin; insert into ledger values (%d, %ld); update accounts set b "
				"= b "
				"- 7 where a = %d; update accounts set b = b + 7 where a = %d; "
				"commit",
				i, acknowledged[i] + 1, from, to);
			wire_send_query(&clients[i], sql);
		}
		for (int i = 0; i < WRITERS; i++) {
			const char *said = wire_talk(&clients[i]);
			if (strstr(said, "C(COMMIT)"))
				acknowledged[i]++;
			alive = alive && !strstr(said, "EOF");
		}
	}
}

static void nothing_acknowledged_is_lost_by_a_kill(void **state)
{
	char sql[128];
	long acknowledged[WRITERS] = { 0 };
	unsigned seed = seed_of_this_run();
	(void)state;
	wire_server_start(&server, NULL);
	wire_login(&client, &server, "u");
	wire_query(&client,
		"create table ledger(writer int, number int); create table accounts(a "
		"integer primary key, b int); insert into accounts values (0,100), "
		"(1,100),(2,100),(3,100),(4,100),(5,100),(6,100),(7,100),(8,100),(9,100)");
	wire_close(&client);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < WRITERS; i++)
			wire_login(&clients[i], &server, "u");
		kill_later(20000 + (unsigned)rand_r(&seed) % 200000);
		write_until_killed(acknowledged, &seed);
		for (int i = 0; i < WRITERS; i++)
			wire_close(&clients[i]);
		wire_server_kill(&server); /* reaps it, and the child that killed it */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		wire_server_restart(&server, NULL);
		wire_login(&client, &server, "u");
		assert_sound();
		assert_int_equal(number_of("select sum(b) from accounts where a >= 0"), 1000);
		for (int i = 0; i < WRITERS; i++) {
			snprintf(sql, sizeof sql,
				"select max(number) from ledger where writer = %d", i);
			long last = number_of(sql);
			snprintf(sql, sizeof sql, "select count(*) from ledger where writer = %d",
				i);
			assert_int_equal(number_of(sql), last); /* no gap, nothing twice */
			assert_in_range(last, acknowledged[i], acknowledged[i] + 1);
			acknowledged[i] = last;
		}
		wire_close(&client);
	}
}

/* ---- A full disk ---------------------------------------------------------------------------- */

static void a_full_disk_is_said_and_what_was_committed_stays(void **state)
{
	const char *insert =
		"insert into t with recursive n(i) as (select 1 union all select i+1 from "
		"n where i < 500) select hex(zeroblob(500)) from n";
	long committed = 0;
	const char *said;
	(void)state;
	server.file_limit_bytes = 4 << 20;
	wire_server_start(&server, NULL);
	wire_login(&client, &server, "u");
	wire_query(&client, "create table t(a text)");
	while (strstr(said = wire_query(&client, insert), "C(INSERT"))
		committed += 500;
	assert_string_equal(said, "E(53100) Z(I)");
	assert_non_null(strstr(client.last_error, "disk full"));
	assert_true(committed > 0);
	/* it goes on reading, and in a transaction the error ends it */
	assert_int_equal(number_of("select count(*) from t"), committed);
	assert_string_equal(wire_query(&client, "begin"), "C(BEGIN) Z(T)");
	while (strstr(said = wire_query(&client, insert), "C(INSERT"))
		continue; /* until its pages no longer fit the statement's memory */
	assert_string_equal(said, "E(53100) Z(E)");
	assert_string_equal(wire_query(&client, "commit"), "C(ROLLBACK) Z(I)");
	assert_int_equal(number_of("select count(*) from t"), committed);
	assert_sound();
	wire_close(&client);
	wire_server_stop(&server);
	server.file_limit_bytes = 0;
	wire_server_restart(&server, NULL);
	wire_login(&client, &server, "u");
	assert_sound();
	assert_int_equal(number_of("select count(*) from t"), committed);
	assert_non_null(strstr(wire_query(&client, insert), "C(INSERT"));
	wire_close(&client);
}

/* ---- Failing reads: the server in this process, its file layer told to fail ---------------- */

static void a_failing_read_is_an_error_and_no_more(void **state)
{
	static struct config config;
	struct db_pool_faults faults = { .read_fails_at = 1, .error = EIO };
	const struct server_views views = { views_install, views_are_guarded };
	struct server *inside;
	char message[CONFIG_MESSAGE_MAX], set[128];
	(void)state;
	snprintf(server.dir, sizeof server.dir, "/tmp/demo-wire-XXXXXX");
	assert_non_null(mkdtemp(server.dir));
	server.port = 5433;
	config_init(&config);
	snprintf(set, sizeof set, "%s", server.dir);
	strcpy(config.data_dir, set);
	strcpy(config.listen, "none");
	config.pool_mb = 1;
	if (server_start(&inside, &config, &views, message))
		fail_msg("%s", message);
	wire_login(&client, &server, "u");
	wire_query(&client,
		"create table t(a integer primary key, b text); insert into t with "
		"recursive n(i) as (select 1 union all select i+1 from n where i < 20000) "
		"select i, hex(zeroblob(100)) from n");
	assert_int_equal(db_checkpoint(inside->services.engine, DB_CHECKPOINT_TRUNCATE), 0);
	db_pool_inject(inside->services.engine->storage.pool, &faults);
	/* (no range of rowids, whose plan would read first and take the fault for "unknown") */
	const char *said = wire_query(&client, "select count(b) from t where b like '00%'");
	assert_non_null(strstr(said, "E(58030) Z(I)"));
	db_pool_inject(inside->services.engine->storage.pool, NULL);
	assert_int_equal(number_of("select count(b) from t where a > 0"), 20000);
	assert_sound();
	wire_close(&client);
	server_drain(inside);
	server_stop(inside);
}

/* ---- Floods -------------------------------------------------------------------------------- */

static void a_flood_of_connections_leaves_sessions_alone(void **state)
{
	const char *const options[] = { "--connections", "20", "--set", "server.reserved=0",
		"--set", "server.startup_timeout_s=3600", NULL };
	static struct wire_client flood[FLOOD];
	(void)state;
	wire_server_start(&server, options);
	wire_login(&client, &server, "u");
	for (int i = 0; i < FLOOD; i++) { /* they say nothing, or half a word */
		wire_open(&flood[i], &server);
		wire_raw(&flood[i], "\0\0\0", (size_t)(i % 4));
		wire_flush(&flood[i]);
	}
	assert_int_equal(number_of("select 7"), 7);
	/* those beyond the limit were turned away with a reason */
	int refused = 0;
	for (int i = FLOOD - 50; i < FLOOD; i++)
		refused += strstr(wire_talk(&flood[i]), "E(53300)") != NULL;
	assert_int_equal(refused, 50);
	for (int i = 0; i < FLOOD; i++)
		wire_close(&flood[i]);
	assert_int_equal(number_of("select 8"), 8);
	wire_close(&client);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void clients_that_come_and_go_leave_nothing_behind(void **state)
{
	(void)state;
	wire_server_start(&server, NULL);
	for (int i = 0; i < 300; i++) {
		wire_login(&client, &server, "u");
		if (i % 3 == 0)
			wire_send_query(&client, "select count(*) from cancel_sessions");
		if (i % 3 == 1)
			wire_query(&client, "begin; create table if not exists t(a int)");
		wire_close(&client);
	}
	wire_login(&client, &server, "u");
	WAIT_UNTIL(number_of("select count(*) from cancel_sessions") == 1);
	assert_int_equal(number_of("select count(*) from cancel_tasks"), 1);
	assert_int_equal(
		number_of("select coalesce(sum(holders), 0) from cancel_resources where name "
			  "like '%lock%' or name like '%gate%'"),
		0);
	wire_close(&client);
	assert_int_equal(wire_server_stop(&server), 0);
}

static void maintenance_that_takes_too_long_is_not_waited_for(void **state)
{
	const char *const options[] = { "--set", "admission.busy_ms=1", NULL };
	static struct wire_client holder, asking;
	(void)state;
	wire_server_start(&server, options);
	wire_login(&client, &server, "u");
	wire_login(&holder, &server, "u");
	wire_login(&asking, &server, "u");
	wire_query(&holder, "create table t(a int)");
	wire_query(&holder, "begin; select * from t");
	wire_send_query(&client, "vacuum"); /* it waits for the holder, and whoever comes for it */
	WAIT_UNTIL(
		number_by(&asking, "select count(*) from cancel_tasks where statement = 'vacuum' "
				   "and waits_for is not null and age_ms > 20"));
	assert_string_equal(wire_query(&asking, "select * from t"), "E(55P03) Z(I)");
	wire_query(&holder, "rollback");
	assert_string_equal(wire_talk(&client), "C(VACUUM) Z(I)");
	assert_string_equal(wire_query(&asking, "select * from t"), "T(a:23) C(SELECT 0) Z(I)");
	wire_close(&asking);
	wire_close(&holder);
	wire_close(&client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(nothing_acknowledged_is_lost_by_a_kill, clean),
		cmocka_unit_test_teardown(a_full_disk_is_said_and_what_was_committed_stays, clean),
		cmocka_unit_test_teardown(a_failing_read_is_an_error_and_no_more, clean),
		cmocka_unit_test_teardown(a_flood_of_connections_leaves_sessions_alone, clean),
		cmocka_unit_test_teardown(clients_that_come_and_go_leave_nothing_behind, clean),
		cmocka_unit_test_teardown(maintenance_that_takes_too_long_is_not_waited_for, clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hundreds of cancels, aborts, checkpoints and backups over transactions that write. Afterwards the
 * database is whole, the ledger balances, every acknowledged transfer is there exactly once and no
 * refused one is. Built twice: over the real library (an operator's cancels) and over the fake one
 * (culprits that run again).
 */
#include "engine_fixture.h"

#ifdef STORM_FAKE
#include "engine_fake.h"
#else
#include <cancel/observe.h>
#endif

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CLIENTS	    5
#define ACCOUNTS    50
#define BALANCE	    1000
#define TRANSFERS   40000
#define BATCH	    40
#define STORM_NS    1500000000ull
#define STATE_NONE  0
#define STATE_ACKED 1
#define STATE_ERROR 2

static struct fixture fixture;
static _Atomic bool stop, acked_any;
static _Atomic uint64_t next_id;
static _Atomic uint8_t states[TRANSFERS]; /* what the client was told of transfer i */
static struct db_statement insert_transfer;

struct client {
	struct db_session *session;
	pthread_t thread;
	uint64_t random;
	uint64_t acked, cancelled, reruns, other;
	char complaint[DB_MESSAGE_MAX];
};
static struct client clients[CLIENTS];

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static int send(struct client *client, const struct db_request *request)
{
	struct db_result result;
	int rc = db_execute(client->session, request, &result);
	client->cancelled += result.cancelled;
	client->reruns += result.reruns;
	if (rc && rc != DB_ECANCELLED && rc != DB_EFAILED && rc != DB_EDEADLOCK &&
		rc != DB_ESERIALIZE && !client->complaint[0])
		snprintf(client->complaint, sizeof(client->complaint), "%d %s", rc, result.message);
	return rc;
}

static int say(struct client *client, const char *sql)
{
	const struct db_request request = { .struct_size = sizeof(request), .sql = sql };
	return send(client, &request);
}

static int transfer(struct client *client, uint64_t id)
{
	uint64_t from = 1 + draw(&client->random) % ACCOUNTS;
	const struct db_value values[] = { { .type = DB_INTEGER, .integer = (int64_t)id },
		{ .type = DB_INTEGER, .integer = (int64_t)from },
		{ .type = DB_INTEGER, .integer = (int64_t)(from % ACCOUNTS) + 1 },
		{ .type = DB_INTEGER, .integer = 1 + (int64_t)(draw(&client->random) % 9) } };
	const struct db_request request = { .struct_size = sizeof(request),
		.statement = insert_transfer,
		.parameters = values,
		.parameter_count = 4 };
	return send(client, &request);
}

static void settle(struct client *client, const uint64_t *ids, uint32_t count, int rc)
{
	for (uint32_t i = 0; i < count; i++)
		states[ids[i]] = rc ? STATE_ERROR : STATE_ACKED;
	if (rc == 0)
		client->acked += count;
	if (client->acked)
		acked_any = true;
}

static bool new_id(uint64_t *id)
{
	*id = next_id++;
	return *id < TRANSFERS;
}

static void transfer_alone(struct client *client)
{
	uint64_t id;
	if (new_id(&id))
		settle(client, &id, 1, transfer(client, id));
}

static void transfer_many(struct client *client, uint32_t wanted)
{
	uint64_t ids[BATCH];
	uint32_t count = 0;
	int rc = say(client, "BEGIN");
	while (rc == 0 && count < wanted && new_id(&ids[count])) {
		rc = transfer(client, ids[count]);
		count++;
	}
	if (rc == 0 && draw(&client->random) % 8)
		rc = say(client, "COMMIT");
	else
		rc = DB_ECANCELLED;
	say(client, "ROLLBACK"); /* a notice if nothing is open */
	settle(client, ids, count, rc);
}

static int keep_integer(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_row_integer(row, 0);
	return 0;
}

static void read_balance(struct client *client, const char *begin)
{
	int64_t sum = ACCOUNTS * BALANCE;
	const struct db_request request = { .struct_size = sizeof(request),
		.sql = "SELECT sum(balance) FROM accounts",
		.on_row = keep_integer,
		.arg = &sum };
	int rc = say(client, begin);
	for (int i = 0; i < 2 && rc == 0; i++) {
		rc = send(client, &request);
		if (rc == 0 && sum != ACCOUNTS * BALANCE)
			snprintf(client->complaint, sizeof(client->complaint),
				"a reader saw a sum of %lld", (long long)sum);
	}
	say(client, "ROLLBACK");
}

static void *run_client(void *arg)
{
	struct client *client = arg;
	while (!stop) {
		switch (draw(&client->random) % 8) {
		case 0:
			transfer_many(client, BATCH);
			break;
		case 1:
		case 2:
			transfer_many(client, 2);
			break;
		case 3:
			read_balance(client, "BEGIN");
			break;
		case 4:
			read_balance(client, "BEGIN ISOLATION LEVEL REPEATABLE READ");
			break;
		default:
			transfer_alone(client);
			break;
		}
	}
	return NULL;
}

/* ---- The storm ---------------------------------------------------------------------------------
 */

static uint64_t deliveries;

#ifdef STORM_FAKE
static void deliver(uint64_t random)
{
	static const enum cancel_rerun_answer answers[] = { CANCEL_RERUN, CANCEL_RERUN, CANCEL_WAIT,
		CANCEL_DROP };
	fake_answer(answers[random % 4]);
	deliveries += fake_deliver_any(random >> 8, CANCEL_REASON_CULPRIT);
}
#else
static void deliver(uint64_t random)
{
	static struct cancel_task_info infos[32];
	size_t count = cancel_snapshot_tasks(infos, 32);
	if (count && cancel_deliver(infos[random % count].task) == 0)
		deliveries++;
}
#endif

static void strike(uint64_t *random, const char *copy)
{
	const struct db_backup_options backup = { .struct_size = sizeof(backup), .path = copy };
	uint64_t kind = draw(random) % 32;
	struct db_session *victim = clients[draw(random) % CLIENTS].session;
	if (kind < 8)
		deliveries += db_cancel_session(victim);
	else if (kind < 10)
		deliveries += db_abort_session(victim);
	else if (kind < 28)
		deliver(draw(random));
	else if (kind == 28)
		(void)!db_checkpoint(fixture.engine, DB_CHECKPOINT_RESTART);
	else if (kind == 29)
		(void)!db_checkpoint(fixture.engine, DB_CHECKPOINT_PASSIVE);
	else if (kind == 30)
		(void)!db_backup(fixture.engine, &backup);
	else
		db_cancel_backup(fixture.engine);
}

static void storm(const char *copy)
{
	uint64_t random = 99;
	const struct timespec pause = { .tv_nsec = 300000 };
	uint64_t end_ns = cancel_now_ns() + STORM_NS;
	while ((cancel_now_ns() < end_ns && next_id < TRANSFERS) || deliveries <= 100 ||
		!acked_any) {
		strike(&random, copy);
		nanosleep(&pause, NULL);
	}
	stop = true;
#ifdef STORM_FAKE
	fake_answer(CANCEL_RERUN);
#endif
}

static void make_ledger(struct db_session *session)
{
	char sql[256];
	must(session, "CREATE TABLE accounts(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
	must(session, "CREATE TABLE transfers(id INTEGER PRIMARY KEY, source INTEGER, "
		      "target INTEGER, amount INTEGER)");
	must(session, "CREATE INDEX by_source ON transfers(source)");
	must(session, "CREATE TRIGGER move AFTER INSERT ON transfers BEGIN "
		      "UPDATE accounts SET balance = balance - new.amount WHERE id = new.source; "
		      "UPDATE accounts SET balance = balance + new.amount WHERE id = new.target; "
		      "END");
	for (int i = 1; i <= ACCOUNTS; i++) {
		snprintf(sql, sizeof(sql), "INSERT INTO accounts VALUES (%d, %d)", i, BALANCE);
		must(session, sql);
	}
	assert_int_equal(db_prepare(fixture.engine, "INSERT INTO transfers VALUES (?1, ?2, ?3, ?4)",
				 &insert_transfer, NULL),
		DB_OK);
}

static void check_ledger(struct db_session *session, uint64_t acked)
{
	assert_string_equal(ask_text(session, "PRAGMA integrity_check"), "ok");
	assert_int_equal(ask(session, "SELECT sum(balance) FROM accounts"), ACCOUNTS * BALANCE);
	assert_int_equal(ask(session, "SELECT count(*) FROM accounts a WHERE balance <> 1000 "
				      "- coalesce((SELECT sum(amount) FROM transfers WHERE source "
				      "= a.id), 0) + coalesce((SELECT sum(amount) FROM transfers "
				      "WHERE target = a.id), 0)"),
		0);
	assert_int_equal(ask(session, "SELECT count(*) FROM transfers"), acked);
	uint64_t end = next_id < TRANSFERS ? next_id : TRANSFERS;
	for (uint64_t id = 0; id < end; id++) {
		char sql[96];
		if (id % 16 && states[id] == STATE_ACKED)
			continue; /* the count covers them; a sample is looked up */
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM transfers WHERE id = %llu",
			(unsigned long long)id);
		assert_int_equal(ask(session, sql), states[id] == STATE_ACKED);
	}
}

static void cancels_leave_the_database_whole(void **state)
{
	(void)state;
	char copy[160];
	struct db_options options = { .workers = 3,
		.pool_bytes = 2u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1000,
		.wal_limit_bytes = 1u << 20,
		.deadlock_check_ns = 5000000 };
	fixture_open(&fixture, &options);
	snprintf(copy, sizeof(copy), "%s/copy.db", fixture.dir);
	struct db_session *session = open_session(&fixture);
	make_ledger(session);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i].random = 7 + (uint64_t)i;
		clients[i].session = open_session(&fixture);
		assert_int_equal(
			pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
	}
	storm(copy);
	struct client sum = { 0 };
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i].thread, NULL);
		sum.acked += clients[i].acked;
		sum.cancelled += clients[i].cancelled;
		sum.reruns += clients[i].reruns;
		db_session_close(clients[i].session);
		assert_string_equal(clients[i].complaint, "");
	}
	print_message("%llu cancels sent, %llu statements cancelled, %llu reruns, %llu transfers\n",
		(unsigned long long)deliveries, (unsigned long long)sum.cancelled,
		(unsigned long long)sum.reruns, (unsigned long long)sum.acked);
	check_ledger(session, sum.acked);
	db_session_close(session);
	fixture_reopen(&fixture, &options); /* and it is so on disk */
	session = open_session(&fixture);
	check_ledger(session, sum.acked);
	db_session_close(session);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cancels_leave_the_database_whole) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

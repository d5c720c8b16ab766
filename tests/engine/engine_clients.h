/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_clients.h - six clients on an engine of two workers and a short queue, with the library
 * faked: what the tests of cancels and of tasks have in common.
 */
#ifndef ENGINE_CLIENTS_H
#define ENGINE_CLIENTS_H

#include "engine_fake.h"
#include "engine_fixture.h"

#include "demo-db/engine/session/session.h"

#define UNUSED	    __attribute__((unused))
#define CLIENTS	    6
#define QUEUE_LIMIT 3
#define TEST(name)  cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static struct fixture fixture;
static struct db_session *s[CLIENTS];
static struct pending p[CLIENTS];

static UNUSED int set_up(void **state)
{
	(void)state;
	fake_reset();
	struct db_options options = { .workers = 2,
		.queue_limit = QUEUE_LIMIT,
		.pool_bytes = 4u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1000,
		.deadlock_check_ns = 20000000,
		.on_connection = fixture_functions };
	fixture_open(&fixture, &options);
	for (int i = 0; i < CLIENTS; i++)
		s[i] = open_session(&fixture);
	must(s[0], "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)");
	must(s[0], "INSERT INTO t VALUES (1, 0)");
	return 0;
}

static UNUSED int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < CLIENTS; i++)
		db_session_close(s[i]);
	fixture_close(&fixture);
	assert_int_equal(fake_misuse(), 0);
	assert_int_equal(fake_live_tasks(), 0);
	return 0;
}

static UNUSED uint64_t key(int client)
{
	return db_session_number(s[client]);
}

static UNUSED bool cancel_culprit(int client)
{
	return fake_deliver(key(client), CANCEL_REASON_CULPRIT);
}

static UNUSED void hold_table(void)
{
	must(s[0], "BEGIN");
	must(s[0], "LOCK TABLE t");
}

#endif

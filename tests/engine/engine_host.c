/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions on worker threads, over the real library with thread_cancel: a function outside
 * the engine's core that only pthread_cancel can stop. Nothing is persisted, and the worker is
 * replaced.
 */
#include "engine_fixture.h"

#include <cancel/observe.h>

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

static struct fixture fixture;
static struct db_session *session;
static sem_t entered;
static _Atomic uint32_t cleaned_up, finished;

static int set_up(void **state)
{
	(void)state;
	static const struct cancel_class classes[] = { { .name = "host", .slo_ns = 1000000000 } };
	const struct cancel_config config = { .struct_size = sizeof(config),
		.mode = CANCEL_ACT,
		.thread_cancel = true,
		.classes = classes,
		.class_count = 1 };
	assert_int_equal(cancel_start(&config), 0);
	sem_init(&entered, 0, 0);
	cleaned_up = finished = 0;
	struct db_options options = {
		.workers = 2, .pool_bytes = 1u << 20, .io = DB_IO_BUFFERED, .read_latency_ns = 1000
	};
	fixture_open(&fixture, &options);
	fixture.library = true;
	session = open_session(&fixture);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_session_close(session);
	fixture_close(&fixture);
	sem_destroy(&entered);
	return 0;
}

static void note_clean_up(void *arg)
{
	(void)arg;
	cleaned_up++;
}

/* Goes on for ever and asks nobody but pthread_cancel whether to stop. (A blocking call would be a
 * cancellation point too, but the thread sanitizer loses its way when a thread ends in one.) */
static int go_on_for_ever(void *arg)
{
	(void)arg;
	pthread_cleanup_push(note_clean_up, NULL);
	sem_post(&entered);
	for (;;) {
		pthread_testcancel();
		sched_yield();
	}
	pthread_cleanup_pop(0);
	return 0;
}

static int return_at_once(void *arg)
{
	finished++;
	return arg ? DB_EINVAL : 0;
}

/* The function's argument is the request's, so the result must find its way without one. */
static struct db_result done_result;
static sem_t done;

static void on_done(void *arg, const struct db_result *result)
{
	(void)arg;
	done_result = *result;
	sem_post(&done);
}

static struct cancel_task only_task(void)
{
	struct cancel_task_info infos[8];
	for (;;) {
		size_t count = cancel_snapshot_tasks(infos, 8);
		for (size_t i = 0; i < count; i++)
			if (infos[i].flags & CANCEL_THREAD)
				return infos[i].task;
	}
}

static void start_endless(void)
{
	const struct db_request request = {
		.struct_size = sizeof(request), .function = go_on_for_ever, .on_done = on_done
	};
	sem_init(&done, 0, 0);
	assert_int_equal(db_submit(session, &request), DB_OK);
	while (sem_wait(&entered))
		;
}

static void only_pthread_cancel_stops_a_host_function(void **state)
{
	(void)state;
	start_endless();
	assert_true(db_cancel_session(session)); /* noted, but the function does not look */
	assert_int_equal(cancel_deliver(only_task()), 0);
	while (sem_wait(&done))
		;
	assert_int_equal(done_result.status, DB_ETHREADSTOP);
	assert_string_equal(done_result.sqlstate, "57014");
	assert_true(done_result.cancelled);
	assert_int_equal(cleaned_up, 1);
	must(session, "CREATE TABLE t(a)"); /* the session goes on */
}

static bool no_slot_is_used(void *arg)
{
	(void)arg;
	struct db_stats stats;
	db_stats(fixture.engine, &stats);
	return stats.slots_used == 0;
}

static void the_lost_worker_is_replaced(void **state)
{
	(void)state;
	struct pending pending[4];
	struct db_session *others[4];
	for (int i = 0; i < 8; i++) { /* more than there are threads */
		start_endless();
		assert_int_equal(cancel_deliver(only_task()), 0);
		while (sem_wait(&done))
			;
	}
	assert_int_equal(cleaned_up, 8);
	for (int i = 0; i < 4; i++) {
		others[i] = open_session(&fixture);
		begin(&pending[i], others[i], "SELECT 1");
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(await(&pending[i]), DB_OK);
		db_session_close(others[i]);
	}
	await_true(no_slot_is_used, NULL);
}

static void a_host_function_that_ends_reports_its_status(void **state)
{
	(void)state;
	struct db_request request = { .struct_size = sizeof(request), .function = return_at_once };
	assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	request.arg = &request;
	assert_int_equal(db_execute(session, &request, &last_result), DB_EINVAL);
	assert_int_equal(finished, 2);
}

/* A pthread_cancel that comes when the function has just returned must not end the next one. */
static void a_late_cancel_hits_nobody_else(void **state)
{
	(void)state;
	const struct db_request request = { .struct_size = sizeof(request),
		.function = return_at_once };
	uint32_t delivered = 0;
	sem_init(&done, 0, 0);
	struct db_request submitted = request;
	submitted.on_done = on_done;
	for (int i = 0; i < 300; i++) {
		struct cancel_task_info infos[4];
		assert_int_equal(db_submit(session, &submitted), DB_OK);
		size_t count = cancel_snapshot_tasks(infos, 4);
		for (size_t j = 0; j < count; j++)
			delivered += cancel_deliver(infos[j].task) == 0;
		while (sem_wait(&done))
			;
		assert_true(done_result.status == DB_OK || done_result.cancelled);
		/* this one nobody cancels */
		assert_int_equal(db_execute(session, &request, &last_result), DB_OK);
	}
	print_message("%u cancels sent, %u functions finished\n", delivered, finished);
}

static void a_host_function_cannot_run_inside_a_block(void **state)
{
	(void)state;
	const struct db_request request = { .struct_size = sizeof(request),
		.function = return_at_once };
	must(session, "BEGIN");
	assert_int_equal(db_execute(session, &request, &last_result), DB_EACTIVE);
	must(session, "ROLLBACK");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_pthread_cancel_stops_a_host_function),
		TEST(the_lost_worker_is_replaced),
		TEST(a_host_function_that_ends_reports_its_status),
		TEST(a_late_cancel_hits_nobody_else),
		TEST(a_host_function_cannot_run_inside_a_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

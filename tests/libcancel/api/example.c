/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example of the README: a server's lock, buffer pool and worker queue, instrumented. What lies
 * between the two marks is quoted there word for word; the rest is a toy server that runs it.
 */
#include "test.h"

#include <stdbool.h>

/* ---- The toy server: one table lock, one page, one worker slot, all free. -------------------- */

struct request {
	uint64_t number;
	bool stop;
};

static void worker_wait(void)
{
}

static void worker_done(void)
{
}

static void table_lock(void)
{
}

static void table_unlock(void)
{
}

static bool page_cached(int page)
{
	return page < 3;
}

static void page_load(int page)
{
	(void)page;
}

static void request_wake(struct request *r)
{
	r->stop = true;
}

/* [example] */
#include <cancel/cancel.h>

static struct cancel_resource orders, pool, workers;
static struct cancel_task last_in_frame; /* a real pool keeps one of these in every frame */

static void stop_request(const struct cancel_request *why, void *request)
{
	(void)why;
	request_wake(request); /* the server's own way: set a flag, wake its wait */
}

static int server_start(void)
{
	struct cancel_config config = { .struct_size = sizeof config, .mode = CANCEL_ACT };
	struct cancel_resource_options eight = { .struct_size = sizeof eight, .capacity = 8 };
	int error = startCancel(&config);
	orders = createResource("orders", CANCEL_LOCK, NULL);
	pool = createResource("pool", CANCEL_MEMORY, &eight);
	workers = createResource("workers", CANCEL_QUEUE, &eight);
	return error;
}

static void read_page(int page)
{
	if (page_cached(page))
		return;
	slowByResource(pool, 1);
	evictResource(pool, last_in_frame, 1); /* this task takes the frame from its last user */
	page_load(page);
	last_in_frame = currentCancel();
	getResource(pool, 0);
}

static bool serve(struct request *request)
{
	struct cancel_task_options options = { .struct_size = sizeof options,
		.key = request->number,
		.flags = CANCEL_CANCELLABLE,
		.action = stop_request,
		.action_arg = request };
	struct cancel_task task = createCancel(&options);
	slowByResource(workers, 1);
	worker_wait();
	getResource(workers, 1);
	slowByResource(orders, CANCEL_SHARED);
	table_lock();
	getResource(orders, CANCEL_SHARED);
	int page = 0;
	for (; page < 10 && !cancelRequested(); page++) {
		read_page(page);
		setProgress((uint64_t)page, 10);
	}
	table_unlock();
	freeResource(orders, CANCEL_SHARED);
	worker_done();
	freeResource(workers, 1);
	freeCancel(task); /* from here on, no cancel can reach this thread, or this request */
	return page == 10;
}
/* [example] */

#include <cancel/observe.h>

static void a_request_runs_to_its_end_and_leaks_nothing(void **state)
{
	struct cancel_counters counters;
	struct request request = { .number = 1 };
	(void)state;
	assert_int_equal(server_start(), 0);
	assert_true(serve(&request));
	cancel_read_counters(&counters);
	assert_int_equal(counters.leaked_holds, 0);
	assert_int_equal(counters.leaked_waits, 0);
	assert_int_equal(counters.release_without_acquire, 0);
	assert_int_equal(counters.give_up_without_wait, 0);
	assert_false(request.stop);
	assert_int_equal(stopCancel(), 0);
}

static void what_it_used_is_seen(void **state)
{
	struct cancel_resource_info info[3];
	struct request request = { .number = 2 };
	(void)state;
	assert_int_equal(server_start(), 0);
	assert_true(serve(&request));
	assert_int_equal(cancel_snapshot_resources(info, 3), 3);
	assert_string_equal(info[0].name, "orders");
	assert_int_equal(info[0].ledger.acquires, 1);
	assert_int_equal(info[1].ledger.ended_evicted, 1);
	assert_int_equal(info[2].ledger.acquires, 1);
	assert_int_equal(stopCancel(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_runs_to_its_end_and_leaks_nothing),
		cmocka_unit_test(what_it_used_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

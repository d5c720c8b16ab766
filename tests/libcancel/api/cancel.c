/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way once: threads that share a lock, one of them keeps it, and the library cancels that
 * one. Real threads, the real core, short windows.
 */
#include "test.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include <cancel/observe.h>

#include "libcancel/sys/order.h"

#include "patience.h"

#define VICTIMS	     6
#define CULPRIT_KEY  812
#define HEALTHY_RUNS 400

enum { READS, DUMP };

static struct cancel_resource table;
static pthread_rwlock_t real_lock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic bool stopping, action_ran, culprit_saw;
static _Atomic uint32_t served;

static void pause_ms(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };
	nanosleep(&t, NULL);
}

/* A read: waits for the lock, has it for a moment. */
static void serve(void)
{
	struct cancel_task_options o = { .struct_size = sizeof o, .class_index = READS };
	struct cancel_task task = createCancel(&o);
	slowByResource(table, CANCEL_SHARED);
	pthread_rwlock_rdlock(&real_lock);
	getResource(table, CANCEL_SHARED);
	pthread_rwlock_unlock(&real_lock);
	freeResource(table, CANCEL_SHARED);
	freeCancel(task);
	add_relaxed(&served, 1);
}

static void *victim(void *ignored)
{
	(void)ignored;
	while (!load_relaxed(&stopping)) {
		serve();
		pause_ms(1);
	}
	return NULL;
}

static void act(const struct cancel_request *request, void *arg)
{
	(void)arg;
	if (request->key == CULPRIT_KEY && request->reason == CANCEL_REASON_CULPRIT)
		store_relaxed(&action_ran, true);
}

static void *culprit(void *ignored)
{
	struct cancel_task_options o = {
		.struct_size = sizeof o,
		.key = CULPRIT_KEY,
		.class_index = DUMP,
		.flags = CANCEL_CANCELLABLE | CANCEL_BACKGROUND,
		.action = act,
	};
	uint64_t end_ns = patience_end_ns();
	(void)ignored;
	struct cancel_task task = createCancel(&o);
	getResource(table, CANCEL_EXCLUSIVE);
	pthread_rwlock_wrlock(&real_lock);
	while (!cancelRequested() && !load_relaxed(&stopping) && patience_nap(end_ns))
		continue;
	store_relaxed(&culprit_saw, cancelRequested());
	pthread_rwlock_unlock(&real_lock);
	freeResource(table, CANCEL_EXCLUSIVE);
	freeCancel(task);
	return NULL;
}

static void begin(enum cancel_mode mode, pthread_t *threads)
{
	static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = 20000000 },
		{ .name = "dump", .slo_ns = 3600000000000 } };
	struct cancel_pipeline_config pipeline = {
		.struct_size = sizeof pipeline,
		.warm_up_ms = 100,
	};
	struct cancel_config config = {
		.struct_size = sizeof config,
		.mode = mode,
		.window_ms = 20,
		.classes = classes,
		.class_count = 2,
		.pipeline = &pipeline,
	};
	store_relaxed(&stopping, false);
	store_relaxed(&action_ran, false);
	store_relaxed(&served, 0);
	assert_int_equal(startCancel(&config), 0);
	table = createResource("orders", CANCEL_LOCK, NULL);
	for (int i = 0; i < VICTIMS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, victim, NULL), 0);
	while (load_relaxed(&served) < HEALTHY_RUNS)
		pause_ms(1);
	assert_int_equal(pthread_create(&threads[VICTIMS], NULL, culprit, NULL), 0);
}

static void end(pthread_t *threads)
{
	store_relaxed(&stopping, true);
	for (int i = 0; i < VICTIMS + 1; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(stopCancel(), 0);
}

/* The newest record, once it says so. */
static struct cancel_decision_record wait_for(bool (*enough)(const struct cancel_decision_record *))
{
	struct cancel_decision_record r = { 0 };
	WAIT_UNTIL(cancel_recent_decisions(&r, 1) == 1 && enough(&r));
	return r;
}

static bool released(const struct cancel_decision_record *r)
{
	return r->outcome.times.released_ns && r->stack[0];
}

static bool decided(const struct cancel_decision_record *r)
{
	return r->serial != 0;
}

static void the_task_that_keeps_the_lock_is_cancelled(void **state)
{
	pthread_t threads[VICTIMS + 1];
	struct cancel_counters counters;
	struct cancel_status status;
	(void)state;
	begin(CANCEL_ACT, threads);
	struct cancel_decision_record r = wait_for(released);
	/* and off again once all is well */
	WAIT_UNTIL((cancel_read_status(&status), !status.precise));
	end(threads);
	assert_true(load_relaxed(&action_ran));
	assert_true(load_relaxed(&culprit_saw));
	assert_int_equal(r.decision.target.key, CULPRIT_KEY);
	assert_true(r.decision.acted);
	assert_non_null(strstr(r.text, "task 812 (dump) cancelled: "));
	assert_non_null(strstr(r.text, "lost to orders"));
	const struct cancel_times *t = &r.outcome.times;
	assert_true(t->onset_ns && t->onset_ns <= t->decided_ns);
	assert_true(t->decided_ns <= t->delivered_ns);
	assert_true(t->delivered_ns <= t->acknowledged_ns);
	assert_true(t->acknowledged_ns <= t->released_ns);
	cancel_read_counters(&counters);
	assert_int_equal(counters.delivered, 1);
	assert_int_equal(counters.acknowledged, 1);
}

static void in_monitor_mode_it_is_only_named(void **state)
{
	pthread_t threads[VICTIMS + 1];
	(void)state;
	struct cancel_status status;
	begin(CANCEL_MONITOR, threads);
	struct cancel_decision_record r = wait_for(decided);
	/* the detector has turned the stamps of every event on by itself */
	cancel_read_status(&status);
	assert_true(status.precise);
	end(threads);
	assert_int_equal(r.decision.target.key, CULPRIT_KEY);
	assert_false(r.decision.acted);
	assert_non_null(strstr(r.text, "task 812 (dump) would be cancelled: "));
	assert_false(load_relaxed(&action_ran));
	assert_false(load_relaxed(&culprit_saw));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_task_that_keeps_the_lock_is_cancelled),
		cmocka_unit_test(in_monitor_mode_it_is_only_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The shared gate and budgets under threads: nothing is lost, nothing is given twice. */
#include <cancel/admission_shared.h>

#include <cancel/admission/bucket.h>
#include <cancel/admission/retry_envoy.h>
#include <cancel/admission/retry_finagle.h>

#include <pthread.h>
#include <stdatomic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MS	 UINT64_C(1000000)
#define S	 UINT64_C(1000000000)
#define THREADS	 4u
#define REQUESTS 40000u /* a thread */

static struct cancel_dagor_shared *gate;
static struct cancel_retry_shared *budget;
static _Atomic uint64_t clock_ns, admitted, refused, broken;
static uint64_t delay_ns;

static void on_threads(void *(*work)(void *arg))
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void reset(void)
{
	atomic_store(&clock_ns, 0);
	atomic_store(&admitted, 0);
	atomic_store(&refused, 0);
	atomic_store(&broken, 0);
}

static void gate_made(uint32_t window_requests)
{
	const struct cancel_dagor_options options = { .struct_size = sizeof options,
		.business_levels = 4,
		.user_levels = 128,
		.window_requests = window_requests };
	reset();
	gate = cancel_dagor_shared_create(&options);
	assert_non_null(gate);
}

static void *use_gate(void *arg)
{
	const uint64_t salt = (uintptr_t)arg << 32;
	for (uint64_t i = 0; i < REQUESTS; i++) {
		const uint64_t now_ns = atomic_fetch_add(&clock_ns, 100000);
		const uint32_t priority =
			cancel_dagor_shared_priority(gate, now_ns, (uint32_t)(i % 4), salt + i);
		const struct cancel_dagor_level level = cancel_dagor_shared_level(gate, now_ns);

		if (level.cursor < 1 || level.cursor > 512)
			atomic_fetch_add(&broken, 1);
		if (cancel_dagor_shared_admit(gate, now_ns, priority)) {
			cancel_dagor_shared_observe(gate, now_ns, delay_ns);
			atomic_fetch_add(&admitted, 1);
		} else {
			atomic_fetch_add(&refused, 1);
		}
	}
	return NULL;
}

/* Two closings collect what is left: the first may still hold counts of the last window. */
static void collect(struct cancel_dagor_stats *stats)
{
	const uint64_t now_ns = atomic_load(&clock_ns);
	cancel_dagor_shared_missed(gate, now_ns + 2 * S, 0);
	cancel_dagor_shared_missed(gate, now_ns + 4 * S, 0);
	cancel_dagor_shared_stats(gate, stats);
}

static void every_request_is_counted_exactly_once(void **state)
{
	struct cancel_dagor_stats stats;
	(void)state;
	gate_made(100);
	delay_ns = MS;
	on_threads(use_gate);
	collect(&stats);
	assert_int_equal(stats.requests, THREADS * REQUESTS);
	assert_int_equal(atomic_load(&admitted), THREADS * REQUESTS);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(stats.cursor, 512);
	assert_int_equal(stats.mean_delay_ns, MS);
	assert_int_equal(atomic_load(&broken), 0);
	/* Windows of 100 observations, or a few more that came while one closed. */
	assert_in_range(stats.windows, THREADS * REQUESTS / 1000, THREADS * REQUESTS / 100 + 2);
	cancel_dagor_shared_free(gate);
}

static void overload_seen_by_any_thread_closes_low_levels_for_all(void **state)
{
	struct cancel_dagor_stats stats;
	(void)state;
	gate_made(100);
	delay_ns = 100 * MS;
	on_threads(use_gate);
	cancel_dagor_shared_stats(gate, &stats);
	assert_true(stats.overloaded);
	assert_in_range(stats.cursor, 1, 128); /* at 5 % a window, soon the first level */
	collect(&stats);
	assert_int_equal(stats.requests, THREADS * REQUESTS);
	assert_true(atomic_load(&refused) > THREADS * REQUESTS / 2);
	assert_int_equal(atomic_load(&broken), 0);
	assert_true(cancel_dagor_shared_admit(gate, atomic_load(&clock_ns), 0));
	assert_false(cancel_dagor_shared_admit(gate, atomic_load(&clock_ns), 511));
	cancel_dagor_shared_free(gate);
}

static void one_thread_gets_the_answers_of_the_pure_gate(void **state)
{
	static struct cancel_dagor pure;
	const struct cancel_dagor_options options = { .struct_size = sizeof options,
		.window_requests = 100 };
	uint64_t random = 3;
	(void)state;
	print_message("seed 3\n");
	assert_int_equal(cancel_dagor_init(&pure, &options), 0);
	gate = cancel_dagor_shared_create(&options);
	assert_non_null(gate);
	for (uint64_t i = 0; i < 200000; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		const uint64_t now_ns = i * 200000, delay = random >> 39; /* up to 33 ms */
		const uint32_t priority =
			cancel_dagor_priority(&pure, now_ns, (uint32_t)(random >> 58), random);
		const bool answer = cancel_dagor_admit(&pure, now_ns, priority);

		assert_int_equal(cancel_dagor_shared_admit(gate, now_ns, priority), answer);
		if (!answer)
			continue;
		cancel_dagor_observe(&pure, now_ns, delay);
		cancel_dagor_shared_observe(gate, now_ns, delay);
	}
	assert_int_equal(cancel_dagor_shared_level(gate, 0).serial, pure.windows);
	cancel_dagor_shared_free(gate);
}

static void *use_budget(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct cancel_retry_call call = { 0 };
		if (cancel_retry_shared_retry(budget, S, &call, false, 0))
			atomic_fetch_add(&admitted, 1);
	}
	return NULL;
}

static void a_bucket_gives_no_token_twice(void **state)
{
	const struct cancel_bucket_options options = { .struct_size = sizeof options,
		.burst = 777 };
	(void)state;
	reset();
	budget = cancel_retry_shared_create(CANCEL_RETRY_BUCKET, &options);
	assert_non_null(budget);
	on_threads(use_budget);
	assert_int_equal(atomic_load(&admitted), 777);
	cancel_retry_shared_free(budget);
}

static void *send_and_retry(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct cancel_retry_call call = { 0 };
		if (!cancel_retry_shared_send(budget, S, &call, UINT32_MAX))
			continue;
		cancel_retry_shared_end(budget, S, &call, CANCEL_RETRY_FAILURE);
		if (!cancel_retry_shared_retry(budget, S, &call, false, UINT32_MAX))
			continue;
		atomic_fetch_add(&admitted, 1);
		cancel_retry_shared_end(budget, S, &call, CANCEL_RETRY_SUCCESS);
	}
	return NULL;
}

static void finagle_counts_the_requests_of_all_threads(void **state)
{
	(void)state;
	reset();
	budget = cancel_retry_shared_create(CANCEL_RETRY_FINAGLE, NULL);
	assert_non_null(budget);
	on_threads(send_and_retry);
	assert_int_equal(atomic_load(&admitted), THREADS * REQUESTS / 5 + 100);
	cancel_retry_shared_free(budget);
}

static void envoy_has_nothing_in_flight_once_all_have_ended(void **state)
{
	struct cancel_retry_call calls[4] = { 0 };
	unsigned count = 0;
	(void)state;
	reset();
	budget = cancel_retry_shared_create(CANCEL_RETRY_ENVOY, NULL);
	assert_non_null(budget);
	on_threads(send_and_retry);
	for (unsigned i = 0; i < 4; i++)
		count += cancel_retry_shared_retry(budget, S, &calls[i], false, 0);
	assert_int_equal(count, 3);
	cancel_retry_shared_free(budget);
}

static void every_kind_answers_to_its_name(void **state)
{
	(void)state;
	for (unsigned kind = CANCEL_RETRY_BUCKET; kind <= CANCEL_RETRY_SRE; kind++) {
		const char *name = cancel_retry_kind_name((enum cancel_retry_kind)kind);
		const struct cancel_bucket_options bucket = { .struct_size = sizeof bucket,
			.rate = 10 };
		struct cancel_retry_call call = { 0 };
		assert_non_null(name);
		assert_int_equal(cancel_retry_kind_find(name), kind);
		budget = cancel_retry_shared_create(
			(enum cancel_retry_kind)kind, kind == CANCEL_RETRY_BUCKET ? &bucket : NULL);
		assert_non_null(budget);
		assert_true(cancel_retry_shared_send(budget, S, &call, UINT32_MAX));
		cancel_retry_shared_end(budget, S, &call, CANCEL_RETRY_REFUSED);
		assert_true(cancel_retry_shared_retry(budget, S, &call, true, UINT32_MAX));
		cancel_retry_shared_end(budget, S, &call, CANCEL_RETRY_SUCCESS);
		cancel_retry_shared_free(budget);
	}
	assert_int_equal(cancel_retry_kind_find("none"), 0);
	assert_null(cancel_retry_kind_name(0));
	assert_null(cancel_retry_kind_name((enum cancel_retry_kind)99));
	assert_null(cancel_retry_shared_create((enum cancel_retry_kind)99, NULL));
}

static void invalid_options_make_nothing(void **state)
{
	const struct cancel_dagor_options wide = { .struct_size = sizeof wide,
		.business_levels = 65 };
	const struct cancel_retry_finagle_options brief = { .struct_size = sizeof brief,
		.ttl_ns = 1 };
	(void)state;
	assert_null(cancel_dagor_shared_create(&wide));
	assert_null(cancel_retry_shared_create(CANCEL_RETRY_FINAGLE, &brief));
	cancel_dagor_shared_free(NULL);
	cancel_retry_shared_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_is_counted_exactly_once),
		cmocka_unit_test(overload_seen_by_any_thread_closes_low_levels_for_all),
		cmocka_unit_test(one_thread_gets_the_answers_of_the_pure_gate),
		cmocka_unit_test(a_bucket_gives_no_token_twice),
		cmocka_unit_test(finagle_counts_the_requests_of_all_threads),
		cmocka_unit_test(envoy_has_nothing_in_flight_once_all_have_ended),
		cmocka_unit_test(every_kind_answers_to_its_name),
		cmocka_unit_test(invalid_options_make_nothing),
	};
	return cmocka_run_group_tests_name("admission_shared", tests, NULL, NULL);
}

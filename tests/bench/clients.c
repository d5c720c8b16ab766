/* SPDX-License-Identifier: Apache-2.0 */
/* The clients under a clock of the test's own: timeouts, retries, budgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/load/clients.h"

#define S  1000000000ull
#define MS 1000000ull

static struct arrival arrivals[64];
static struct outcome outcomes[64];
static struct schedule schedule;
static struct clients *clients;

/* `count` requests, one every `gap_ns`, the first at gap_ns. */
static struct clients_options options_for(size_t count, uint64_t gap_ns)
{
	for (size_t i = 0; i < count; i++)
		arrivals[i] = (struct arrival){ .due_ns = (i + 1) * gap_ns, .draw = i * 7919 };
	memset(outcomes, 0, sizeof outcomes);
	schedule = (struct schedule){ .arrivals = arrivals, .count = count };
	return (struct clients_options){ .struct_size = sizeof(struct clients_options),
		.schedule = &schedule,
		.outcomes = outcomes,
		.slo_ns = S,
		.timeout_ns = S };
}

static void start(const struct clients_options *options)
{
	clients = clients_new(options);
	assert_non_null(clients);
}

static int stop(void **state)
{
	(void)state;
	clients_free(clients);
	clients = NULL;
	return 0;
}

static struct clients_counts counts(void)
{
	struct clients_counts now;
	clients_counts(clients, &now);
	return now;
}

static enum outcome_kind kind_of(size_t index)
{
	return (enum outcome_kind)outcomes[index].kind;
}

static int64_t take(uint64_t now_ns)
{
	struct clients_request ignored;
	clients_expire(clients, now_ns);
	return clients_take(clients, now_ns, &ignored);
}

static void answer(
	uint64_t number, uint64_t now_ns, enum target_status status, uint32_t retry_after_ms)
{
	const struct target_answer given = { .status = status, .retry_after_ms = retry_after_ms };
	clients_answered(clients, number, now_ns, &given);
}

/* Sends all that is due; how many that were. */
static uint32_t take_all(uint64_t now_ns)
{
	uint32_t sent = 0;
	while (take(now_ns) >= 0)
		sent++;
	return sent;
}

static void a_request_is_due_when_the_schedule_says(void **state)
{
	(void)state;
	struct clients_options options = options_for(2, S / 10);
	start(&options);
	assert_int_equal(clients_next_ns(clients), S / 10);
	assert_int_equal(take(S / 10 - 1), -1);
	assert_int_equal(take(S / 10), 0);
	assert_int_equal(take(S / 10), -1);
	assert_int_equal(clients_next_ns(clients), S / 5);
	assert_int_equal(counts().offered, 1);
}

static void an_answer_in_time_is_a_success(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	start(&options);
	answer((uint64_t)take(MS), S, TARGET_OK, 0);
	assert_int_equal(kind_of(0), OUTCOME_OK);
	assert_int_equal(outcomes[0].done_us, (S - MS) / 1000);
	take_all(2 * S);
	assert_int_equal(counts().timeouts, 0);
	assert_int_equal(clients_next_ns(clients), UINT64_MAX);
}

static void an_answer_after_the_timeout_helps_nobody(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	start(&options);
	uint64_t number = (uint64_t)take(MS);
	assert_int_equal(clients_next_ns(clients), S + MS);
	assert_int_equal(take(S + MS), -1);
	answer(number, S + 2 * MS, TARGET_OK, 0);
	assert_int_equal(kind_of(0), OUTCOME_TIMED_OUT);
	assert_int_equal(outcomes[0].done_us, S / 1000);
	assert_int_equal(counts().unheard, 1);
	assert_int_equal(counts().ok, 0);
}

static void a_client_that_left_tries_again_as_often_as_it_may(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	options.retries = 2;
	start(&options);
	assert_int_equal(take(MS), 0);
	assert_int_equal(take(S + MS), 1);
	assert_int_equal(take(2 * S + MS), 2);
	assert_int_equal(take(3 * S + MS), -1);
	assert_int_equal(kind_of(0), OUTCOME_TIMED_OUT);
	assert_int_equal(counts().attempts, 3);
	assert_int_equal(counts().retries, 2);
}

static void the_retry_counts_when_the_first_answer_comes_late(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	options.retries = 1;
	start(&options);
	uint64_t first = (uint64_t)take(MS), second = (uint64_t)take(S + MS);
	answer(first, S + 5 * MS, TARGET_OK, 0);
	assert_int_equal(kind_of(0), OUTCOME_PENDING);
	answer(second, S + 9 * MS, TARGET_OK, 0);
	assert_int_equal(kind_of(0), OUTCOME_OK);
}

static void without_retries_the_load_is_what_is_offered(void **state)
{
	(void)state;
	struct clients_options options = options_for(40, S / 10);
	start(&options);
	assert_int_equal(take_all(4 * S), 40);
	assert_int_equal(take_all(8 * S), 0);
	assert_int_equal(counts().timeouts, 40);
	assert_int_equal(counts().ended, 40);
}

static void one_retry_doubles_a_load_that_is_not_answered(void **state)
{
	(void)state;
	struct clients_options options = options_for(40, S / 10);
	options.retries = 1;
	start(&options);
	uint32_t sent = 0;
	for (uint64_t now_ns = 0; now_ns < 8 * S; now_ns += S / 20)
		sent += take_all(now_ns);
	assert_int_equal(sent, 80);
}

/* 40 requests in 4 s, none answered: a burst of one, then two a second while attempts time out. */
static void a_budget_bounds_the_retries_a_second(void **state)
{
	(void)state;
	struct clients_options options = options_for(40, S / 10);
	options.retries = 1;
	options.budget_milli_per_s = 2000;
	start(&options);
	for (uint64_t now_ns = 0; now_ns < 8 * S; now_ns += S / 20)
		take_all(now_ns);
	/* first attempts time out from 1.1 s to 5.0 s; retries too, which are not retried again */
	assert_int_equal(counts().retries, 1 + 7);
	assert_int_equal(counts().denied, 40 - 8);
	assert_int_equal(counts().ended, 40);
}

static void a_fraction_of_a_retry_a_second_is_kept_exactly(void **state)
{
	(void)state;
	struct clients_options options = options_for(40, S / 10);
	options.retries = 1;
	options.budget_milli_per_s = 500;
	start(&options);
	for (uint64_t now_ns = 0; now_ns < 8 * S; now_ns += S / 20)
		take_all(now_ns);
	assert_int_equal(counts().retries, 1 + 1);
}

static void a_refused_client_gives_up_unless_told_otherwise(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	options.retries = 1;
	start(&options);
	answer((uint64_t)take(MS), 2 * MS, TARGET_REJECTED, 500);
	assert_int_equal(kind_of(0), OUTCOME_REJECTED);
	assert_int_equal(take(S), -1);
}

static void a_refused_client_may_retry_at_once(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	options.retries = 1;
	options.on_refusal = CLIENTS_RETRY;
	start(&options);
	answer((uint64_t)take(MS), 2 * MS, TARGET_REJECTED, 500);
	assert_int_equal(take(2 * MS), 1);
}

static void a_client_that_honours_the_hint_waits_for_it(void **state)
{
	(void)state;
	struct clients_options options = options_for(3, MS);
	options.retries = 1;
	options.on_refusal = CLIENTS_RETRY_LATER;
	start(&options);
	uint64_t first = (uint64_t)take(MS), second = (uint64_t)take(2 * MS);
	answer(first, 2 * MS, TARGET_REJECTED, 500);
	answer(second, 2 * MS, TARGET_REJECTED, 300);
	assert_int_equal(take(3 * MS), 2); /* the third request, in between */
	assert_int_equal(clients_next_ns(clients), 302 * MS);
	struct clients_request asked;
	assert_int_equal(clients_take(clients, 302 * MS - 1, &asked), -1);
	assert_int_equal(clients_take(clients, 302 * MS, &asked), 3);
	assert_int_equal(asked.index, 1);
	assert_int_equal(clients_take(clients, 502 * MS, &asked), 4);
	assert_int_equal(asked.index, 0);
}

static void an_error_is_retried_at_once(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	options.retries = 1;
	start(&options);
	answer((uint64_t)take(MS), 2 * MS, TARGET_FAILED, 0);
	answer((uint64_t)take(2 * MS), 3 * MS, TARGET_FAILED, 0);
	assert_int_equal(kind_of(0), OUTCOME_FAILED);
	assert_int_equal(counts().errors, 2);
}

static void priorities_and_users_are_the_requests_own(void **state)
{
	uint32_t seen[TARGET_PRIORITIES] = { 0 };
	uint16_t user, again;
	uint8_t priority;
	(void)state;
	for (uint64_t draw = 0; draw < 64; draw++) {
		clients_who(draw * 7919, TARGET_PRIORITIES, &user, &priority);
		assert_true(user < CLIENTS_USERS);
		seen[priority]++;
		clients_who(draw * 7919, 1, &again, &priority);
		assert_int_equal(again, user);
		assert_int_equal(priority, 0);
	}
	for (int p = 0; p < TARGET_PRIORITIES; p++)
		assert_true(seen[p] > 4);
}

static void without_a_timeout_a_client_waits_for_ever(void **state)
{
	(void)state;
	struct clients_options options = options_for(1, MS);
	options.timeout_ns = 0;
	options.slo_ns = 10 * MS;
	start(&options);
	uint64_t number = (uint64_t)take(MS);
	assert_int_equal(take(900 * S), -1);
	assert_int_equal(clients_next_ns(clients), UINT64_MAX);
	assert_int_equal(kind_of(0), OUTCOME_PENDING);
	answer(number, 1000 * S, TARGET_OK, 0);
	assert_int_equal(kind_of(0), OUTCOME_OK);
	assert_int_equal(counts().late, 1);
	assert_int_equal(counts().good, 0);
}

static void what_is_far_behind_is_skipped(void **state)
{
	(void)state;
	struct clients_options options = options_for(3, S);
	options.timeout_ns = 0;
	options.skip_ns = S / 2;
	start(&options);
	assert_int_equal(take_all(3 * S), 1);
	assert_int_equal(kind_of(0), OUTCOME_SKIPPED);
	assert_int_equal(kind_of(1), OUTCOME_SKIPPED);
	assert_int_equal(counts().offered, 3);
	assert_int_equal(counts().dropped, 2);
}

static void a_quantile_is_the_upper_edge_of_its_bucket(void **state)
{
	(void)state;
	struct clients_options options = options_for(3, MS);
	start(&options);
	for (uint64_t i = 1; i <= 3; i++)
		answer((uint64_t)take(i * MS), i * MS + i * i * 100000, TARGET_OK, 0);
	struct clients_counts now = counts();
	assert_in_range(clients_quantile_ns(&now, 0.5), 400000, 500000);
	assert_in_range(clients_quantile_ns(&now, 0.99), 900000, 1125000);
	assert_in_range(clients_quantile_ns(&now, 0.1), 100000, 125000);
}

#define TEST(name) cmocka_unit_test_teardown(name, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_due_when_the_schedule_says),
		TEST(an_answer_in_time_is_a_success),
		TEST(an_answer_after_the_timeout_helps_nobody),
		TEST(a_client_that_left_tries_again_as_often_as_it_may),
		TEST(the_retry_counts_when_the_first_answer_comes_late),
		TEST(without_retries_the_load_is_what_is_offered),
		TEST(one_retry_doubles_a_load_that_is_not_answered),
		TEST(a_budget_bounds_the_retries_a_second),
		TEST(a_fraction_of_a_retry_a_second_is_kept_exactly),
		TEST(a_refused_client_gives_up_unless_told_otherwise),
		TEST(a_refused_client_may_retry_at_once),
		TEST(a_client_that_honours_the_hint_waits_for_it),
		TEST(an_error_is_retried_at_once),
		TEST(priorities_and_users_are_the_requests_own),
		TEST(without_a_timeout_a_client_waits_for_ever),
		TEST(what_is_far_behind_is_skipped),
		TEST(a_quantile_is_the_upper_edge_of_its_bucket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

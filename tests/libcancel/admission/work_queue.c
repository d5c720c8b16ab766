/* SPDX-License-Identifier: Apache-2.0 */
/* The work queue: both orders, fairness by weight, removal, and agreement with a plain search. */
#include <cancel/admission/work_queue.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define WORKS 500u

static struct cancel_work_queue queue;
static struct cancel_work works[WORKS];

static void made(struct cancel_work_queue_options options)
{
	options.struct_size = sizeof options;
	assert_int_equal(cancel_work_queue_init(&queue, &options), 0);
	for (unsigned i = 0; i < WORKS; i++)
		works[i] = (struct cancel_work){ 0 };
}

static void push(unsigned i, uint32_t tenant, uint32_t priority)
{
	works[i].tenant = tenant;
	works[i].priority = priority;
	assert_true(cancel_work_queue_push(&queue, i, &works[i]));
}

static int popped(void)
{
	const struct cancel_work *work = cancel_work_queue_pop(&queue, 0);
	return work ? (int)(work - works) : -1;
}

static void the_highest_priority_goes_first_then_the_oldest(void **state)
{
	(void)state;
	made((struct cancel_work_queue_options){ 0 });
	push(0, 0, 2);
	push(1, 0, 1);
	push(2, 0, 2);
	push(3, 0, 0);
	push(4, 0, 1);
	assert_int_equal(popped(), 3);
	assert_int_equal(popped(), 1);
	assert_int_equal(popped(), 4);
	assert_int_equal(popped(), 0);
	assert_int_equal(popped(), 2);
	assert_int_equal(popped(), -1);
}

static void tenant_first_serves_the_one_that_used_least(void **state)
{
	(void)state;
	made((struct cancel_work_queue_options){ .tenants = 2 });
	push(0, 0, 0);
	push(1, 1, 9);
	cancel_work_queue_charge(&queue, 0, 1);
	assert_int_equal(popped(), 1); /* whatever its priority */
	assert_int_equal(popped(), 0);
}

static void priority_first_serves_the_priority_and_tenants_break_ties(void **state)
{
	(void)state;
	made((struct cancel_work_queue_options){
		.tenants = 2, .order = CANCEL_WORK_PRIORITY_FIRST });
	push(0, 1, 9);
	push(1, 0, 3);
	push(2, 1, 3);
	cancel_work_queue_charge(&queue, 0, 1);
	assert_int_equal(popped(), 2);
	assert_int_equal(popped(), 1);
	assert_int_equal(popped(), 0);
}

static void tenants_share_by_weight_however_much_they_ask(void **state)
{
	unsigned served[2] = { 0 }, next = 0;
	(void)state;
	made((struct cancel_work_queue_options){ .tenants = 2, .weights = { 3, 1 } });
	for (; next < WORKS; next++) /* tenant 1 asks nine times as much */
		push(next, next % 10 ? 1 : 0, 5);
	for (unsigned i = 0; i < 60; i++) {
		const struct cancel_work *work = cancel_work_queue_pop(&queue, 0);
		cancel_work_queue_charge(&queue, work->tenant, 100);
		served[work->tenant]++;
	}
	assert_int_equal(served[0], 45);
	assert_int_equal(served[1], 15);
}

static void slots_given_back_no_longer_count(void **state)
{
	(void)state;
	made((struct cancel_work_queue_options){ .tenants = 2 });
	push(0, 0, 0);
	push(1, 1, 0);
	cancel_work_queue_charge(&queue, 0, 2);
	cancel_work_queue_charge(&queue, 1, 1);
	cancel_work_queue_refund(&queue, 0, 2);
	assert_int_equal(popped(), 0);
	cancel_work_queue_charge(&queue, 0, 9);
	cancel_work_queue_forget(&queue);
	push(0, 0, 0);
	assert_int_equal(popped(), 1); /* equal again: the older one */
}

static void work_can_be_taken_out_anywhere(void **state)
{
	(void)state;
	made((struct cancel_work_queue_options){ 0 });
	for (unsigned i = 0; i < 10; i++)
		push(i, 0, i * 7 % 10);
	assert_int_equal(popped(), 0);
	cancel_work_queue_remove(&queue, &works[3]); /* priority 1, now first */
	cancel_work_queue_remove(&queue, &works[5]);
	cancel_work_queue_remove(&queue, &works[5]);
	assert_int_equal(queue.waiting, 7);
	const int rest[] = { 6, 9, 2, 8, 1, 4, 7 }; /* priorities 2 3 4 6 7 8 9 */
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(popped(), rest[i]);
}

static void a_full_queue_an_unknown_tenant_and_a_second_push_are_refused(void **state)
{
	(void)state;
	made((struct cancel_work_queue_options){ .limit = 2, .tenants = 2 });
	push(0, 0, 0);
	assert_false(cancel_work_queue_push(&queue, 0, &works[0]));
	works[1].tenant = 2;
	assert_false(cancel_work_queue_push(&queue, 0, &works[1]));
	push(2, 1, 0);
	assert_false(cancel_work_queue_push(&queue, 0, &works[3]));
	popped();
	assert_true(cancel_work_queue_push(&queue, 0, &works[3]));
}

/* What a plain search over all works would serve next. */
static int expected(enum cancel_work_order order)
{
	int best = -1;
	for (unsigned i = 0; i < WORKS; i++) {
		const struct cancel_work *a = &works[i], *b = &works[best < 0 ? 0 : best];
		const uint64_t used_a = queue.used[a->tenant], used_b = queue.used[b->tenant];
		if (!a->queued)
			continue;
		bool wins = best < 0;
		if (!wins && order == CANCEL_WORK_PRIORITY_FIRST && a->priority != b->priority)
			wins = a->priority < b->priority;
		else if (!wins && a->tenant != b->tenant)
			wins = used_a < used_b;
		else if (!wins && a->priority != b->priority)
			wins = a->priority < b->priority;
		else if (!wins)
			wins = a->sequence < b->sequence;
		if (wins)
			best = (int)i;
	}
	return best;
}

static void a_long_random_run_agrees_with_a_plain_search(enum cancel_work_order order)
{
	uint64_t random = 7;
	print_message("seed 7\n");
	made((struct cancel_work_queue_options){ .tenants = 4, .order = order });
	for (uint32_t t = 0; t < 4; t++)
		cancel_work_queue_charge(&queue, t, t + 1); /* with steps of 4, never equal */
	for (unsigned i = 0; i < 6000; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		const unsigned which = (unsigned)(random >> 33) % WORKS;
		const unsigned what = (unsigned)(random >> 55) % 8;

		if (what < 5 && !works[which].queued) {
			push(which, (uint32_t)(random >> 20) % 4, (uint32_t)(random >> 13) % 16);
		} else if (what == 5) {
			cancel_work_queue_remove(&queue, &works[which]);
		} else if (what > 5) {
			const int should = expected(order);
			const int did = popped();
			assert_int_equal(did, should);
			if (did >= 0)
				cancel_work_queue_charge(&queue, works[did].tenant, 4);
		}
	}
}

static void tenant_first_agrees_with_a_plain_search(void **state)
{
	(void)state;
	a_long_random_run_agrees_with_a_plain_search(CANCEL_WORK_TENANT_FIRST);
}

static void priority_first_agrees_with_a_plain_search(void **state)
{
	(void)state;
	a_long_random_run_agrees_with_a_plain_search(CANCEL_WORK_PRIORITY_FIRST);
}

static void options_that_cannot_work_are_refused(void **state)
{
	const struct cancel_work_queue_options many = { .struct_size = sizeof many, .tenants = 65 };
	(void)state;
	assert_int_equal(cancel_work_queue_init(&queue, &many), CANCEL_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_highest_priority_goes_first_then_the_oldest),
		cmocka_unit_test(tenant_first_serves_the_one_that_used_least),
		cmocka_unit_test(priority_first_serves_the_priority_and_tenants_break_ties),
		cmocka_unit_test(tenants_share_by_weight_however_much_they_ask),
		cmocka_unit_test(slots_given_back_no_longer_count),
		cmocka_unit_test(work_can_be_taken_out_anywhere),
		cmocka_unit_test(a_full_queue_an_unknown_tenant_and_a_second_push_are_refused),
		cmocka_unit_test(tenant_first_agrees_with_a_plain_search),
		cmocka_unit_test(priority_first_agrees_with_a_plain_search),
		cmocka_unit_test(options_that_cannot_work_are_refused),
	};
	return cmocka_run_group_tests_name("admission_work_queue", tests, NULL, NULL);
}

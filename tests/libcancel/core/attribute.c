/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow of blame: to whom, how much, and that none of it is lost on the way.
 */
#include "test.h"

#include <string.h>

#include "libcancel/core/attribute.h"

#include "random_world.h"

#define ROOM 2048u

/* The parts of a pipeline up to the attribution, in the open. */
struct rig {
	struct history h;
	struct contended c;
	struct attribution a;
	struct window w;
	uint8_t seen[ROOM];
	struct past_task tasks[ROOM];
	struct past_entry entries[ROOM * CANCEL_ENTRIES_MAX];
	struct past_usage usage[ROOM * CANCEL_ENTRIES_MAX];
	struct waiting waits[ROOM * 2];
	struct instance instances[ROOM];
	struct use uses[ROOM * 4];
	uint32_t buckets[ROOM * 2];
};

static struct rig rig;

static void begin(void)
{
	memset(&rig, 0, sizeof rig);
	rig.h = (struct history){ .task_limit = ROOM,
		.wait_limit = ROOM * 2,
		.seen = rig.seen,
		.tasks = rig.tasks,
		.entries = rig.entries,
		.usage = rig.usage,
		.waits = rig.waits };
	rig.c = (struct contended){ .instance_limit = ROOM,
		.use_limit = ROOM * 4,
		.bucket_count = ROOM * 2,
		.instances = rig.instances,
		.uses = rig.uses,
		.buckets = rig.buckets };
}

static void ignore(void *arg, const struct past_end *end)
{
	(void)arg;
	(void)end;
}

/* False for the first ledger. */
static bool look(const struct scripted *s)
{
	bool window = window_take(&rig.h, &s->ledger, &rig.w, ignore, NULL);
	if (window)
		attribute_step(&rig.a, &rig.c, &rig.h, &s->ledger, &rig.w, true);
	return window;
}

/* A world with one ledger behind it. */
static struct scripted *start(void)
{
	struct scripted *s = scripted_new(NULL);
	begin();
	return s;
}

static void step(struct scripted *s)
{
	scripted_step(s);
	look(s);
}

static uint64_t blame_ns(const struct scripted *s, const struct scripted_task *t)
{
	uint64_t sum_ns = 0;
	for (uint32_t i = 0; i < rig.c.use_count; i++) {
		if (s->ledger.tasks[rig.c.uses[i].task].id == t->t.id)
			sum_ns += rig.c.uses[i].blame_ns;
	}
	return sum_ns;
}

static void assert_ms(uint64_t ns, uint64_t ms)
{
	assert_in_range(ns, ms * MS - MS / 100, ms * MS + MS / 100);
}

/* It held one slot of ten all along; somebody waited during the last five of fifty milliseconds. */
static void a_slot_is_blamed_for_the_time_in_which_somebody_waited(void **state)
{
	struct scripted *s = start();
	uint32_t queue = scripted_resource(s, CANCEL_QUEUE, 10);
	struct scripted_task *reader = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, reader, queue, 0, 1);
	step(s);
	step(s);
	s->now_ns += 45 * MS;
	scripted_arrive(s, 20, queue, 0, 1);
	s->now_ns += 5 * MS;
	scripted_judge(s);
	look(s);
	assert_ms(blame_ns(s, reader), 20 * 5 / 10);
	scripted_free(s);
}

static void sharers_are_blamed_by_how_long_they_held(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *whole = scripted_task(s, 0), *half = scripted_task(s, 0);
	(void)state;
	step(s);
	scripted_hold(s, whole, lock, 0, CANCEL_SHARED);
	scripted_arrive(s, 3, lock, 0, CANCEL_EXCLUSIVE);
	s->now_ns += 25 * MS;
	scripted_hold(s, half, lock, 0, CANCEL_SHARED);
	s->window_ns = 25 * MS;
	step(s);
	assert_ms(blame_ns(s, whole), 100);
	assert_ms(blame_ns(s, half), 50);
	assert_ms(rig.a.rooted_ns[lock], 150);
	scripted_free(s);
}

static void a_holder_is_not_blamed_for_the_time_before_it_held(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *t = scripted_task(s, 0);
	(void)state;
	step(s);
	scripted_arrive(s, 1, lock, 0, CANCEL_EXCLUSIVE);
	s->now_ns += 40 * MS;
	scripted_hold(s, t, lock, 0, CANCEL_EXCLUSIVE);
	s->window_ns = 10 * MS;
	step(s);
	assert_ms(blame_ns(s, t), 10);
	assert_ms(rig.a.rooted_ns[lock], 50);
	scripted_free(s);
}

static void slots_are_blamed_by_slot_time(void **state)
{
	struct scripted *s = start();
	uint32_t workers = scripted_resource(s, CANCEL_QUEUE, 4);
	struct scripted_task *two = scripted_task(s, 0), *one = scripted_task(s, 0);
	(void)state;
	step(s);
	scripted_hold(s, two, workers, 0, 2);
	scripted_hold(s, one, workers, 0, 1);
	scripted_arrive(s, 2, workers, 0, 0);
	step(s);
	assert_ms(blame_ns(s, two), 50);
	assert_ms(blame_ns(s, one), 25);
	assert_ms(rig.a.rooted_ns[workers], 100); /* a quarter is nobody's: a slot stood free */
	scripted_free(s);
}

/* PostgreSQL's names: ACCESS SHARE, ROW EXCLUSIVE, SHARE, ACCESS EXCLUSIVE. */
enum { AS = 1, RE, SH, AE };

static void declare_table_modes(struct scripted *s, uint32_t lock)
{
	uint8_t *conflicts = s->resources[lock].conflicts;
	conflicts[AS - 1] = 1u << (AE - 1);
	conflicts[RE - 1] = 1u << (SH - 1) | 1u << (AE - 1);
	conflicts[SH - 1] = 1u << (RE - 1) | 1u << (AE - 1);
	conflicts[AE - 1] = 15;
}

static void a_waiter_that_blocks_passes_its_blame_to_its_holder(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *writer = scripted_task(s, 0), *reader = scripted_task(s, 0);
	struct scripted_task *index_build = scripted_task(s, 0);
	(void)state;
	declare_table_modes(s, lock);
	scripted_hold(s, writer, lock, 0, RE);
	scripted_hold(s, reader, lock, 0, AS);
	step(s);
	index_build->t.flags |= CANCEL_MAINTENANCE; /* it stays */
	scripted_wait(s, index_build, lock, 0, SH);
	s->now_ns += MS;
	s->window_ns = 50 * MS;
	scripted_arrive(
		s, 1, lock, 0, RE); /* beside the writer it could run: the waiter blocks it */
	scripted_arrive(
		s, 1, lock, 0, AS); /* conflicts with nobody: but first come, first served */
	step(s);
	assert_ms(blame_ns(s, writer), 100);
	assert_int_equal(blame_ns(s, reader), 0);
	assert_int_equal(blame_ns(s, index_build), 0);
	scripted_free(s);
}

static void a_waiter_behind_is_no_hindrance(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *writer = scripted_task(s, 0), *share = scripted_task(s, 0);
	(void)state;
	declare_table_modes(s, lock);
	scripted_hold(s, writer, lock, 0, RE);
	scripted_hold(s, share, lock, 0, AS);
	step(s);
	scripted_arrive(s, 1, lock, 0, SH); /* waits for the writer alone */
	s->now_ns += MS;
	scripted_wait(s, scripted_task(s, 0), lock, 0, AE); /* for both */
	step(s);
	assert_ms(blame_ns(s, writer), 51);
	assert_int_equal(blame_ns(s, share), 0);
	scripted_free(s);
}

/* Coarse stamps repeat for about 10 ms. */
static void waiters_with_equal_stamps_block_each_other(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *reader = scripted_task(s, 0), *backup = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, reader, lock, 0, CANCEL_SHARED);
	step(s);
	scripted_arrive(s, 1, lock, 0, CANCEL_SHARED);
	backup->t.flags |= CANCEL_MAINTENANCE;
	scripted_wait(s, backup, lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	assert_ms(blame_ns(s, reader), 50);
	scripted_free(s);
}

static void an_upgrade_waits_for_the_other_holders(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *upgrader = scripted_task(s, SCRIPTED_SLO_NS);
	struct scripted_task *other = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, upgrader, lock, 0, CANCEL_SHARED);
	scripted_hold(s, other, lock, 0, CANCEL_SHARED);
	step(s);
	scripted_wait(s, upgrader, lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	assert_true(blame_ns(s, other) > 49 * MS);
	assert_true(blame_ns(s, upgrader) < MS);
	assert_ms(rig.a.rooted_ns[lock], 50);
	scripted_free(s);
}

static void a_holder_passes_on_the_part_it_waited(void **state)
{
	struct scripted *s = start();
	uint32_t workers = scripted_resource(s, CANCEL_QUEUE, 1);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *worker = scripted_task(s, 0), *holder = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, worker, workers, 0, 1);
	scripted_hold(s, holder, lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	scripted_arrive(s, 2, workers, 0, 0);
	s->now_ns += 30 * MS;
	scripted_wait(s, worker, lock, 0, CANCEL_EXCLUSIVE);
	s->window_ns = 20 * MS;
	step(s);
	assert_ms(blame_ns(s, worker), 60);
	assert_ms(blame_ns(s, holder), 40);
	assert_ms(rig.a.rooted_ns[workers], 60);
	assert_ms(rig.a.rooted_ns[lock], 40);
	scripted_free(s);
}

/* Its wait for the slot came before it had the slot: nothing to pass on. */
static void a_wait_that_came_first_is_not_passed_on(void **state)
{
	struct scripted *s = start();
	uint32_t workers = scripted_resource(s, CANCEL_QUEUE, 1);
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *t = scripted_task(s, 0), *before = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, before, workers, 0, 1);
	step(s);
	scripted_wait(s, t, workers, 0, 0);
	s->now_ns += 20 * MS;
	scripted_release(s, before, workers, 0);
	scripted_hold(s, t, workers, 0, 1);
	scripted_hold(s, t, lock, 0, CANCEL_EXCLUSIVE);
	scripted_arrive(s, 2, lock, 0, CANCEL_EXCLUSIVE);
	s->window_ns = 30 * MS;
	step(s);
	assert_ms(blame_ns(s, t), 60);
	assert_int_equal(blame_ns(s, before), 0);
	scripted_free(s);
}

static void waits_of_ended_tasks_are_diluted_by_time(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *t = scripted_task(s, 0);
	(void)state;
	step(s);
	s->resources[lock].ended_wait_ns += 400 * MS;
	s->now_ns += 40 * MS;
	scripted_hold(s, t, lock, 0, CANCEL_EXCLUSIVE);
	scripted_arrive(s, 1, lock, 0, CANCEL_EXCLUSIVE);
	s->window_ns = 10 * MS;
	step(s);
	/* All of the waiter that is still there, a fifth of those that are gone. */
	assert_ms(blame_ns(s, t), 10 + 80);
	assert_ms(rig.a.rooted_ns[lock], 410);
	scripted_free(s);
}

/* The long holder of another table has nothing to do with them. */
static void waits_of_ended_tasks_go_where_others_still_wait(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *busy = scripted_task(s, 0), *aside = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, busy, lock, 17, CANCEL_EXCLUSIVE);
	scripted_hold(s, aside, lock, 3, CANCEL_EXCLUSIVE);
	step(s);
	s->resources[lock].ended_wait_ns += 400 * MS;
	scripted_arrive(s, 1, lock, 17, CANCEL_EXCLUSIVE);
	step(s);
	assert_ms(blame_ns(s, busy), 450);
	assert_int_equal(blame_ns(s, aside), 0);
	scripted_free(s);
}

/* Four workers, all of them with tasks of a millisecond that wait half of it for pages. */
static void slots_of_tasks_that_are_gone_pass_on_what_those_waited_for(void **state)
{
	struct scripted *s = start();
	uint32_t workers = scripted_resource(s, CANCEL_QUEUE, 4);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 1000);
	struct scripted_task *dump = scripted_task(s, 0);
	(void)state;
	step(s);
	scripted_arrive(s, 10, workers, 0, 0);
	s->resources[workers].ended_hold_ns += 200 * MS;
	s->resources[pool].ended_wait_ns += 100 * MS;
	scripted_entry(s, dump, pool, 0)->evicted += 100;
	scripted_entry(s, dump, pool, 0)->stall_caused_ns += 100 * MS;
	step(s);
	assert_ms(rig.a.rooted_ns[workers], 250);
	assert_ms(rig.a.rooted_ns[pool], 100 + 250);
	assert_ms(blame_ns(s, dump), 350);
	scripted_free(s);
}

/* Slots of a disk, held within the stall: what waits for them does not wait for the pool. */
static void waits_that_do_not_fit_into_the_slots_are_not_passed_on(void **state)
{
	struct scripted *s = start();
	uint32_t disk = scripted_resource(s, CANCEL_QUEUE, 4);
	uint32_t pool = scripted_resource(s, CANCEL_MEMORY, 1000);
	struct scripted_task *dump = scripted_task(s, 0);
	(void)state;
	step(s);
	scripted_arrive(s, 10, disk, 0, 0);
	s->resources[disk].ended_hold_ns += 50 * MS;
	s->resources[pool].ended_wait_ns += 100 * MS;
	scripted_entry(s, dump, pool, 0)->evicted += 100;
	scripted_entry(s, dump, pool, 0)->stall_caused_ns += 100 * MS;
	step(s);
	assert_ms(rig.a.rooted_ns[disk], 500);
	assert_ms(rig.a.rooted_ns[pool], 100);
	scripted_free(s);
}

static void a_wait_on_what_nobody_holds_is_rooted_and_blamed_on_nobody(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	(void)state;
	step(s);
	scripted_arrive(s, 4, lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	assert_ms(rig.a.rooted_ns[lock], 200);
	assert_int_equal(rig.c.use_count, 0);
	scripted_free(s);
}

static void tasks_without_an_slo_do_not_count_as_delayed(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *t = scripted_task(s, 0);
	(void)state;
	scripted_hold(s, t, lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	scripted_wait(s, scripted_task(s, 0), lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	assert_int_equal(rig.a.rooted_ns[lock], 0);
	assert_int_equal(blame_ns(s, t), 0);
	scripted_free(s);
}

static void a_ring_of_waiting_holders_comes_to_an_end(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *ring[5];
	uint64_t sum_ns = 0;
	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		ring[i] = scripted_task(s, SCRIPTED_SLO_NS);
		scripted_hold(s, ring[i], lock, i, CANCEL_EXCLUSIVE);
	}
	step(s);
	for (uint32_t i = 0; i < 5; i++)
		scripted_wait(s, ring[i], lock, (i + 1) % 5, CANCEL_EXCLUSIVE);
	step(s);
	for (uint32_t i = 0; i < 5; i++)
		sum_ns += blame_ns(s, ring[i]);
	assert_ms(sum_ns, 250);
	assert_ms(rig.a.rooted_ns[lock], 250);
	scripted_free(s);
}

/* Seven links are followed; the eighth hop is the last. */
static void a_long_chain_is_followed_to_the_eighth_hop(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *chain[10];
	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		chain[i] = scripted_task(s, 0);
		scripted_hold(s, chain[i], lock, i, CANCEL_EXCLUSIVE);
	}
	step(s);
	scripted_arrive(s, 1, lock, 0, CANCEL_EXCLUSIVE);
	for (uint32_t i = 0; i < 9; i++)
		scripted_wait(s, chain[i], lock, i + 1, CANCEL_EXCLUSIVE);
	step(s);
	assert_ms(blame_ns(s, chain[7]), 50);
	assert_int_equal(blame_ns(s, chain[9]), 0);
	scripted_free(s);
}

static void a_full_table_blames_nobody_and_keeps_the_contention(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *t = scripted_task(s, 0);
	(void)state;
	rig.h.wait_limit = 3;
	scripted_hold(s, t, lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	scripted_arrive(s, 4, lock, 0, CANCEL_EXCLUSIVE);
	step(s);
	assert_false(rig.a.blamed);
	assert_int_equal(rig.a.overflows, 1);
	assert_ms(rig.a.rooted_ns[lock], 200);
	scripted_free(s);
}

/* What a task is known for follows it when its entries change places. */
static void entries_that_move_keep_their_past(void **state)
{
	struct scripted *s = start();
	uint32_t lock = scripted_resource(s, CANCEL_LOCK, 0);
	struct scripted_task *t = scripted_task(s, 0);
	struct cancel_ledger_entry first;
	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		scripted_hold(s, t, lock, i, CANCEL_EXCLUSIVE);
	scripted_arrive(s, 1, lock, 2, CANCEL_EXCLUSIVE);
	step(s);
	step(s);
	assert_ms(blame_ns(s, t), 50);
	first = t->entries[0]; /* the table's first place is taken by another */
	t->entries[0] = t->entries[2];
	t->entries[2] = first;
	step(s);
	assert_ms(blame_ns(s, t), 50);
	assert_int_equal(attribute_blame_us(past_usages(&rig.h, t->t.slot), rig.w.number), 100000);
	assert_int_equal(attribute_blame_us(past_usages(&rig.h, t->t.slot) + 2, rig.w.number), 0);
	scripted_free(s);
}

/* Blame is neither made nor lost, whatever happens. */
static void delay_is_conserved(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_world w;
		begin();
		random_world_begin(&w, seed, false);
		for (uint32_t i = 0; i < 100; i++) {
			uint64_t rooted_ns = 0, charged_ns = 0,
				 blamed_ns[CANCEL_RESOURCES_MAX] = { 0 };
			random_world_step(&w);
			if (!look(w.s))
				continue;
			for (uint32_t r = 0; r < rig.w.resource_count; r++) {
				const struct window_resource *res = &rig.w.resources[r];
				bool cold = r == w.pool && res->use_ns < res->wait_ns;
				rooted_ns += rig.a.rooted_ns[r];
				charged_ns += cold ? res->use_ns : res->wait_ns;
			}
			for (uint32_t k = 0; k < rig.c.use_count; k++) {
				const struct use *h = &rig.c.uses[k];
				blamed_ns[rig.c.instances[h->instance].resource] += h->blame_ns;
			}
			for (uint32_t r = 0; r < rig.w.resource_count; r++)
				assert_true(blamed_ns[r] <= rig.a.rooted_ns[r]);
			assert_in_range(rooted_ns, charged_ns - charged_ns / 1000, charged_ns);
		}
		random_world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_is_blamed_for_the_time_in_which_somebody_waited),
		cmocka_unit_test(sharers_are_blamed_by_how_long_they_held),
		cmocka_unit_test(a_holder_is_not_blamed_for_the_time_before_it_held),
		cmocka_unit_test(slots_are_blamed_by_slot_time),
		cmocka_unit_test(a_waiter_that_blocks_passes_its_blame_to_its_holder),
		cmocka_unit_test(a_waiter_behind_is_no_hindrance),
		cmocka_unit_test(waiters_with_equal_stamps_block_each_other),
		cmocka_unit_test(an_upgrade_waits_for_the_other_holders),
		cmocka_unit_test(a_holder_passes_on_the_part_it_waited),
		cmocka_unit_test(a_wait_that_came_first_is_not_passed_on),
		cmocka_unit_test(waits_of_ended_tasks_are_diluted_by_time),
		cmocka_unit_test(waits_of_ended_tasks_go_where_others_still_wait),
		cmocka_unit_test(slots_of_tasks_that_are_gone_pass_on_what_those_waited_for),
		cmocka_unit_test(waits_that_do_not_fit_into_the_slots_are_not_passed_on),
		cmocka_unit_test(a_wait_on_what_nobody_holds_is_rooted_and_blamed_on_nobody),
		cmocka_unit_test(tasks_without_an_slo_do_not_count_as_delayed),
		cmocka_unit_test(a_ring_of_waiting_holders_comes_to_an_end),
		cmocka_unit_test(a_long_chain_is_followed_to_the_eighth_hop),
		cmocka_unit_test(a_full_table_blames_nobody_and_keeps_the_contention),
		cmocka_unit_test(entries_that_move_keep_their_past),
		cmocka_unit_test(delay_is_conserved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How a cancel travels in the world, with libcancel's core deciding and every invariant checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "world_check.h"
#include "sim/base/clock.h"
#include "sim/world/world.h"

#define MS SIM_NS_PER_MS
#define S  SIM_NS_PER_S

enum { VICTIM, CULPRIT };

static const struct cancel_pipeline_config act = { .act = true };

static struct sim_world_options watched(uint64_t seconds)
{
	return (struct sim_world_options){
		.duration_ns = seconds * S, .pipeline = &act, .check = world_check
	};
}

/* One table; readers hold it for 2 ms, the culprit's script is the test's. */
static struct sim_world *table_world(const struct sim_world_options *options,
	struct sim_script culprit_script, const struct sim_client_options *culprit)
{
	const char *why;
	struct sim_world *w = sim_world_new(options, &why);
	assert_non_null(w);
	const struct sim_resource_options table[] = { { .type = CANCEL_LOCK } };
	const struct sim_step reader[] = { SIM_LOCK(0, CANCEL_SHARED), SIM_COMPUTE(2 * MS),
		SIM_UNLOCK(0, CANCEL_SHARED) };
	const struct sim_script scripts[] = { SIM_SCRIPT(reader), culprit_script };
	const struct sim_client_options clients[] = {
		{ .flags = CANCEL_CANCELLABLE,
			.slo_ns = 20 * MS,
			.measured = true,
			.gap = { .shape = SIM_FIXED, .mean = 10 * MS } },
		*culprit
	};
	assert_true(SIM_BUILD(w, table, scripts, clients));
	return w;
}

static struct sim_client_options culprit_options(void)
{
	return (struct sim_client_options){ .script = CULPRIT,
		.class_index = 1,
		.flags = CANCEL_CANCELLABLE,
		.signature = 7,
		.trigger = true,
		.first_ns = 4 * S,
		.limit = 1,
		.gap = { .shape = SIM_FIXED, .mean = 1 },
		.progress = SIM_PROGRESS_TRUE };
}

static void run(struct sim_world *w, struct sim_result *result)
{
	int status = sim_world_run(w);
	sim_world_result(w, result);
	if (result->broken)
		fail_msg("%s", result->broken);
	assert_int_equal(status, 0);
}

/* The culprit holds the table for ten seconds, if left; to the end. */
static struct sim_world *held_world(const struct sim_world_options *options,
	const struct sim_client_options *culprit, struct sim_result *result)
{
	const struct sim_step hold[] = { SIM_LOCK(0, CANCEL_EXCLUSIVE), SIM_COMPUTE(10 * S),
		SIM_UNLOCK(0, CANCEL_EXCLUSIVE) };
	struct sim_world *w = table_world(options, SIM_SCRIPT(hold), culprit);
	run(w, result);
	return w;
}

static void a_verdict_takes_delivery_a_checkpoint_and_a_rollback(void **state)
{
	(void)state;
	struct sim_world_options options = watched(8);
	struct sim_client_options culprit = culprit_options();
	struct sim_result r;
	options.deliver_ns = 3 * MS;
	options.ack_ns = 7 * MS;
	options.rollback_ppm = 500000;
	struct sim_world *w = held_world(&options, &culprit, &r);
	assert_int_equal(r.decision_count, 1);
	const struct sim_decision *d = &r.decisions[0];
	assert_int_equal(d->client, CULPRIT);
	assert_int_equal(d->delivered_ns - d->decided_ns, 3 * MS);
	assert_int_equal(d->acknowledged_ns - d->delivered_ns, 7 * MS);
	uint64_t worked_ns = d->acknowledged_ns - r.holds[0].taken_ns;
	assert_int_equal(d->released_ns - d->acknowledged_ns, worked_ns / 2);
	assert_int_equal(r.holds[0].given_ns, d->released_ns);
	assert_int_equal(sim_world_totals(w, CULPRIT)->cancelled, 1);
	assert_int_equal(sim_world_totals(w, VICTIM)->cancelled, 0);
	sim_world_free(w);
}

static void a_phase_that_must_not_be_cancelled_is_waited_for(void **state)
{
	(void)state;
	struct sim_world_options options = watched(12);
	struct sim_client_options culprit = culprit_options();
	struct sim_result r;
	const struct sim_step steps[] = { SIM_LOCK(0, CANCEL_EXCLUSIVE), SIM_STEP(BLOCK, 0, 0),
		SIM_COMPUTE(2 * S), SIM_STEP(ALLOW, 0, 0), SIM_COMPUTE(10 * S),
		SIM_UNLOCK(0, CANCEL_EXCLUSIVE) };
	struct sim_world *w = table_world(&options, SIM_SCRIPT(steps), &culprit);
	run(w, &r);
	assert_int_equal(r.hold_count, 1);
	uint64_t held_ns = r.holds[0].given_ns - r.holds[0].taken_ns;
	assert_true(held_ns >= 2 * S && held_ns < 3 * S);
	sim_world_free(w);
}

static void a_task_that_ignores_the_first_cancel_is_asked_once_more(void **state)
{
	(void)state;
	struct sim_world_options options = watched(12);
	struct sim_client_options culprit = culprit_options();
	struct sim_result r;
	culprit.deaf_deliveries = 1;
	struct sim_world *w = held_world(&options, &culprit, &r);
	assert_int_equal(r.decision_count, 2);
	assert_true(r.decisions[1].decision.escalation);
	assert_int_equal(sim_world_totals(w, CULPRIT)->cancelled, 1);
	sim_world_free(w);
}

static void a_rerun_waits_until_it_is_calm_and_then_stays(void **state)
{
	(void)state;
	struct sim_world_options options = watched(20);
	struct sim_client_options culprit = culprit_options();
	struct sim_result r;
	culprit.rerun = true;
	struct sim_world *w = held_world(&options, &culprit, &r);
	const struct sim_client_totals *t = sim_world_totals(w, CULPRIT);
	assert_int_equal(t->cancelled, 1);
	assert_int_equal(t->reruns, 1);
	assert_int_equal(t->succeeded, 1);
	assert_int_equal(r.hold_count, 2);
	assert_true(r.holds[1].taken_ns - r.holds[0].given_ns >= S);
	assert_int_equal(r.holds[1].given_ns - r.holds[1].taken_ns, 10 * S);
	sim_world_free(w);
}

static void each_retry_of_a_cancelled_client_is_a_new_task(void **state)
{
	(void)state;
	struct sim_world_options options = watched(12);
	struct sim_client_options culprit = culprit_options();
	struct sim_result r;
	culprit.retries_on_cancel = 2;
	culprit.patience.backoff_ns = 200 * MS;
	struct sim_world *w = held_world(&options, &culprit, &r);
	assert_int_equal(sim_world_totals(w, CULPRIT)->cancelled, 3);
	assert_int_equal(sim_world_totals(w, CULPRIT)->failed, 1);
	assert_int_equal(r.holds[1].taken_ns - r.holds[0].given_ns, 200 * MS);
	assert_int_equal(r.holds[2].taken_ns - r.holds[1].given_ns, 400 * MS);
	sim_world_free(w);
}

static void a_quarantined_signature_is_kept_out_until_it_expires(void **state)
{
	(void)state;
	const struct cancel_pipeline_config quarantine = { .act = true, .quarantine_ms = 3000 };
	struct sim_world_options options = watched(11);
	struct sim_client_options culprit = culprit_options();
	struct sim_result r;
	options.pipeline = &quarantine;
	culprit.retries_on_cancel = 4;
	culprit.patience.backoff_ns = 500 * MS; /* returns after 0.5, 1, 2 s more */
	struct sim_world *w = held_world(&options, &culprit, &r);
	assert_int_equal(sim_world_totals(w, CULPRIT)->barred, 2);
	assert_int_equal(sim_world_totals(w, CULPRIT)->cancelled, 2);
	assert_true(r.holds[1].taken_ns - r.decisions[0].decided_ns >= 3 * S);
	assert_true(r.decisions[1].decision.returning);
	sim_world_free(w);
}

static void nobody_is_cancelled_in_monitor_mode(void **state)
{
	(void)state;
	const struct cancel_pipeline_config monitor = { 0 };
	struct sim_world_options options = watched(8);
	struct sim_client_options culprit = culprit_options();
	struct sim_result r;
	options.pipeline = &monitor;
	struct sim_world *w = held_world(&options, &culprit, &r);
	assert_int_equal(r.decision_count, 1);
	assert_int_equal(r.decisions[0].client, CULPRIT);
	assert_int_equal(r.decisions[0].delivered_ns, 0);
	assert_int_equal(sim_world_totals(w, CULPRIT)->cancelled, 0);
	sim_world_free(w);
}

/* Root on node 0 calls a child on node 1, which computes for 5 s; the root's client leaves after
 * 1 s, and its server stops it then. */
static uint64_t child_stopped_ms(struct sim_world_options options)
{
	const char *why;
	struct sim_result r;
	options.duration_ns = 10 * S;
	options.zombies = SIM_ZOMBIES_CANCEL;
	options.net_ns = 2 * MS;
	options.ack_ns = 1 * MS;
	options.rollback_ppm = 1;
	options.check = world_check;
	struct sim_world *w = sim_world_new(&options, &why);
	const struct sim_step root[] = { SIM_STEP(CALL, 0, .instance = 1), SIM_STEP(JOIN, 0, 0) };
	const struct sim_step child[] = { SIM_TAKE(0, 1), SIM_COMPUTE(5 * S) };
	sim_world_resource(
		w, &(struct sim_resource_options){ .type = CANCEL_QUEUE, .capacity = 1 });
	assert_int_equal(sim_world_script(w, root, 2), 0);
	assert_int_equal(sim_world_script(w, child, 2), 1);
	struct sim_client_options client = { .measured = true,
		.limit = 1,
		.gap = { .shape = SIM_FIXED, .mean = 1 },
		.patience.timeout_ns = S };
	assert_int_equal(sim_world_client(w, &client), 0);
	client.script = client.node = 1;
	client.service = true;
	assert_int_equal(sim_world_client(w, &client), 1);
	run(w, &r);
	uint64_t ended_ns = sim_world_totals(w, 1)->ended_ns;
	sim_world_free(w);
	return ended_ns / MS;
}

static void a_child_hears_of_its_parents_end_or_its_lease_runs_out(void **state)
{
	(void)state;
	uint64_t told =
		child_stopped_ms((struct sim_world_options){ .propagation = SIM_CHILDREN_TOLD });
	uint64_t leased = child_stopped_ms((struct sim_world_options){ .lease_ns = 251 * MS });
	uint64_t cut =
		child_stopped_ms((struct sim_world_options){ .propagation = SIM_CHILDREN_TOLD_AGAIN,
			.partition_start_ns = 500 * MS,
			.partition_ns = 501 * MS,
			.resend_ns = MS });
	assert_int_equal(told, 1000 + 2 + 1);
	assert_int_equal(leased, 2 + 4 * 251 + 1);
	assert_int_equal(cut, 1001 + 2 + 1);
}

static bool admit_every_second(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	(void)state;
	(void)now_ns;
	return attempt->original % 2 == 0;
}

static void a_policy_rejects_and_a_reject_costs_what_it_costs(void **state)
{
	(void)state;
	const char *why;
	struct sim_result r;
	struct sim_world_options options = { .duration_ns = 2 * S,
		.policy = { .admit = admit_every_second },
		.check = world_check };
	struct sim_world *w = sim_world_new(&options, &why);
	sim_world_resource(
		w, &(struct sim_resource_options){ .type = CANCEL_QUEUE, .capacity = 1 });
	const struct sim_step work[] = { SIM_TAKE(0, 1), SIM_COMPUTE(10 * MS) };
	const struct sim_step refusal[] = { SIM_TAKE(0, 1), SIM_COMPUTE(4 * MS) };
	assert_int_equal(sim_world_script(w, work, 2), 0);
	assert_int_equal(sim_world_script(w, refusal, 2), 1);
	struct sim_client_options client = { .measured = true,
		.limit = 2,
		.reject_script = 2,
		.patience.retry_on_reject = true,
		.patience.retries = 2,
		.gap = { .shape = SIM_FIXED, .mean = MS } };
	assert_int_equal(sim_world_client(w, &client), 0);
	run(w, &r);
	const struct sim_client_totals *t = sim_world_totals(w, 0);
	assert_int_equal(t->succeeded, 1);
	assert_int_equal(t->failed, 1);
	assert_int_equal(t->attempts, 1 + 3);
	assert_int_equal(t->rejected, 3);
	assert_int_equal(t->tasks, 1);
	assert_int_equal(t->ended_ns, 10 * MS + 3 * 4 * MS);
	sim_world_free(w);
}

/* A stall of a second in ten: who waits for an answer before asking again sees it once. */
static void a_closed_loop_hides_a_stall_that_an_open_loop_shows(void **state)
{
	(void)state;
	struct sim_world_options options = { .duration_ns = 10 * S, .check = world_check };
	const struct sim_step stall[] = { SIM_LOCK(0, CANCEL_EXCLUSIVE), SIM_COMPUTE(S),
		SIM_UNLOCK(0, CANCEL_EXCLUSIVE) };
	struct sim_client_options culprit = culprit_options();
	struct sim_client_options user = {
		.slo_ns = 20 * MS, .users = 1, .think = { .shape = SIM_FIXED, .mean = 8 * MS }
	};
	struct sim_result r;
	struct sim_world *w = table_world(&options, SIM_SCRIPT(stall), &culprit);
	assert_int_equal(sim_world_client(w, &user), 2);
	run(w, &r);
	assert_int_equal(sim_world_totals(w, 2)->late, 1);
	assert_true(sim_world_totals(w, VICTIM)->late > 95);
	assert_true(sim_world_totals(w, VICTIM)->late < 100);
	sim_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verdict_takes_delivery_a_checkpoint_and_a_rollback),
		cmocka_unit_test(a_phase_that_must_not_be_cancelled_is_waited_for),
		cmocka_unit_test(a_task_that_ignores_the_first_cancel_is_asked_once_more),
		cmocka_unit_test(a_rerun_waits_until_it_is_calm_and_then_stays),
		cmocka_unit_test(each_retry_of_a_cancelled_client_is_a_new_task),
		cmocka_unit_test(a_quarantined_signature_is_kept_out_until_it_expires),
		cmocka_unit_test(nobody_is_cancelled_in_monitor_mode),
		cmocka_unit_test(a_child_hears_of_its_parents_end_or_its_lease_runs_out),
		cmocka_unit_test(a_policy_rejects_and_a_reject_costs_what_it_costs),
		cmocka_unit_test(a_closed_loop_hides_a_stall_that_an_open_loop_shows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

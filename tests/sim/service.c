/* SPDX-License-Identifier: Apache-2.0 */
/* Services in a call tree: the model against closed forms, the golden windows, and its own
 * invariants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/clock.h"
#include "sim/service/service.h"
#include "sim/single/single.h"

#define MS SIM_NS_PER_MS
#define S  SIM_NS_PER_S

static struct sim_services *start(uint64_t seconds)
{
	struct sim_services_options options = { .duration_ns = seconds * S, .seed = 1 };
	return sim_services_new(&options);
}

static void run(struct sim_services *services)
{
	const char *why;
	assert_int_equal(sim_services_run(services, &why), 0);
	assert_null(why);
	assert_null(sim_services_bound(services));
}

/* One service and its clients, with a change or none, to the end. */
static void play(struct sim_services *services, const struct sim_service_options *server,
	const struct sim_traffic_options *clients, const struct sim_change *change,
	struct sim_traffic_result *result)
{
	sim_services_add(services, server);
	sim_services_traffic(services, clients);
	if (change)
		sim_services_change(services, change);
	run(services);
	sim_services_traffic_result(services, 0, result);
}

static void one_service_gives_the_golden_windows_of_lane_1(void **state)
{
	(void)state;
	static const int loads[] = { 280, 140 };
	for (int i = 0; i < 2; i++) {
		struct sim_services *services = start(200);
		struct sim_service_options server = { .work = { .shape = SIM_FIXED,
							      .mean = 3333333 } };
		struct sim_traffic_options clients = {
			.loop = SIM_LOOP_FIXED,
			.rate_qps = loads[i],
			.patience.timeout_ns = S,
			.patience.retries = 1,
		};
		struct sim_change outage = { .kind = SIM_CHANGE_OUTAGE,
			.server = -1,
			.from_ns = 30 * S,
			.until_ns = 40 * S };
		struct sim_traffic_result result;
		char path[256], line[128];
		assert_int_equal(sim_services_add(services, &server), 0);
		assert_int_equal(sim_services_traffic(services, &clients), 0);
		assert_int_equal(sim_services_change(services, &outage), 0);
		run(services);
		sim_services_traffic_result(services, 0, &result);
		snprintf(path, sizeof(path), GOLDEN "/lane1_load%d.csv", loads[i]);
		FILE *golden = fopen(path, "r");
		assert_non_null(golden);
		assert_non_null(fgets(line, sizeof(line), golden));
		for (size_t second = 0; second < 200; second++) {
			unsigned row, offered, rejected, goodput;
			assert_non_null(fgets(line, sizeof(line), golden));
			assert_int_equal(
				sscanf(line, "%u,%u,%u,%u", &row, &offered, &rejected, &goodput),
				4);
			if (result.windows[second].attempts != offered ||
				result.windows[second].goodput != goodput)
				fail_msg("%d QPS, second %zu: %u/%u, golden %u/%u", loads[i],
					second, result.windows[second].attempts,
					result.windows[second].goodput, offered, goodput);
		}
		fclose(golden);
		sim_services_free(services);
	}
}

/* Erlang's C: the chance to wait with c workers at an offered load of a. */
static double erlang_c(double a, int c)
{
	double term = 1.0, sum = 1.0;
	for (int k = 1; k < c; k++) {
		term *= a / k;
		sum += term;
	}
	term *= a / c;
	double waiting = term * c / (c - a);
	return waiting / (sum + waiting);
}

static void waiting_time_follows_erlang_c(void **state)
{
	(void)state;
	struct sim_services_options options = { .duration_ns = 2000 * S, .seed = 3, .bin_ns = S };
	struct sim_services *services = sim_services_new(&options);
	struct sim_service_options server = { .workers = 4,
		.work = { .shape = SIM_EXPONENTIAL, .mean = 20 * MS } };
	struct sim_traffic_options clients = { .loop = SIM_LOOP_POISSON, .rate_qps = 170.0 };
	struct sim_service_result result;
	double waited = 0.0, started = 0.0, busy = 0.0;
	sim_services_add(services, &server);
	sim_services_traffic(services, &clients);
	run(services);
	sim_services_result(services, 0, &result);
	for (size_t i = 0; i < result.probe_count; i++) {
		waited += (double)result.probes[i].queuing_sum_ns;
		started += (double)result.probes[i].started;
		busy += (double)result.probes[i].busy_ns;
	}
	double expected = erlang_c(3.4, 4) / (4 / 0.020 - 170.0) * 1e9;
	assert_true(fabs(waited / started / expected - 1.0) < 0.05);
	assert_true(fabs(busy / (4.0 * 2000e9) / 0.85 - 1.0) < 0.01);
	sim_services_free(services);
}

/* A front that calls a back `calls` times, the back behind a gate that lets every call of a coin
 * in. */
struct coin_flips {
	uint64_t state, asked, observed, retries;
};

static bool flip(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct coin_flips *coin = state;
	(void)now_ns;
	(void)attempt;
	coin->asked++;
	coin->state = coin->state * 6364136223846793005ull + 1442695040888963407ull;
	return coin->state >> 63;
}

static bool count_retry(void *state, uint64_t now_ns, const struct sim_attempt *attempt)
{
	struct coin_flips *coin = state;
	(void)now_ns;
	(void)attempt;
	return ++coin->retries % 2 == 0;
}

static void count_queuing(void *state, uint64_t now_ns, uint64_t queuing_ns)
{
	struct coin_flips *coin = state;
	(void)now_ns;
	(void)queuing_ns;
	coin->observed++;
}

static struct sim_services *fanout(
	struct coin_flips *coin, uint32_t calls, bool sequential, uint64_t seconds)
{
	struct sim_services *services = start(seconds);
	struct sim_service_options front = {
		.workers = 100,
		.work = { .shape = SIM_FIXED, .mean = 1000 },
		.calls = { { .callee = 1, .count = calls, .sequential = sequential } },
		.call_lists = 1,
	};
	struct sim_service_options back = {
		.workers = 100,
		.work = { .shape = SIM_FIXED, .mean = 1 * MS },
		.gate = { .kind = SIM_SHED_HOOKS,
			.policy = { .state = coin,
				.admit = flip,
				.observe_queuing = count_queuing } },
	};
	struct sim_traffic_options clients = {
		.loop = SIM_LOOP_POISSON, .rate_qps = 1000.0, .stop_ns = (seconds - 1) * S
	};
	assert_int_equal(sim_services_add(services, &front), 0);
	assert_int_equal(sim_services_add(services, &back), 1);
	assert_int_equal(sim_services_traffic(services, &clients), 0);
	return services;
}

static void parallel_calls_shed_at_random_survive_by_the_power(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 4; k++) {
		struct coin_flips coin = { .state = k };
		struct sim_services *services = fanout(&coin, k, false, 41);
		struct sim_traffic_result traffic;
		struct sim_service_result back;
		run(services);
		sim_services_traffic_result(services, 0, &traffic);
		sim_services_result(services, 1, &back);
		double share = (double)traffic.succeeded / (double)traffic.originals;
		double wasted = (double)back.wasted / (double)back.served;
		assert_true(fabs(share - pow(0.5, k)) < 0.01);
		/* DAGOR 3.1: 1 - p^(k-1) of the admitted work is for tasks that fail. */
		assert_true(fabs(wasted - (1.0 - pow(0.5, k - 1))) < 0.015);
		assert_int_equal(traffic.succeeded + traffic.failed, traffic.originals);
		assert_int_equal(sim_services_alive(services), 0);
		sim_services_free(services);
	}
}

static void sequential_calls_stop_at_the_first_refusal(void **state)
{
	(void)state;
	struct coin_flips coin = { .state = 1 };
	struct sim_services *services = fanout(&coin, 4, true, 21);
	struct sim_traffic_result traffic;
	run(services);
	sim_services_traffic_result(services, 0, &traffic);
	double asked = (double)coin.asked / (double)traffic.originals;
	assert_true(fabs(asked - (1.0 + 0.5 + 0.25 + 0.125)) < 0.03);
	assert_int_equal(sim_services_alive(services), 0);
	sim_services_free(services);
}

static void a_user_supplies_a_policy_by_three_hooks(void **state)
{
	(void)state;
	struct coin_flips coin = { .state = 5 };
	struct sim_services *services = start(11);
	struct sim_service_options server = {
		.work = { .shape = SIM_FIXED, .mean = 1 * MS },
		.gate = { .kind = SIM_SHED_HOOKS,
			.policy = { &coin, flip, count_retry, count_queuing } },
	};
	struct sim_traffic_options clients = { .loop = SIM_LOOP_FIXED,
		.rate_qps = 100.0,
		.patience.retries = 1,
		.patience.retry_on_reject = true,
		.stop_ns = 10 * S };
	struct sim_traffic_result traffic;
	play(services, &server, &clients, NULL, &traffic);
	assert_int_equal(traffic.originals, 1000);
	assert_int_equal(coin.asked, traffic.attempts);
	assert_int_equal(coin.observed, traffic.succeeded);
	assert_true(coin.retries > 400 && traffic.attempts - 1000 == coin.retries / 2);
	sim_services_free(services);
}

static void a_paced_closed_loop_hides_an_outage_unless_corrected(void **state)
{
	(void)state;
	struct sim_services *services = start(100);
	struct sim_service_options server = { .workers = 8,
		.work = { .shape = SIM_FIXED, .mean = 1 * MS } };
	struct sim_traffic_options clients = {
		.loop = SIM_LOOP_PACED, .rate_qps = 100.0, .users = 2
	};
	struct sim_change outage = {
		.kind = SIM_CHANGE_OUTAGE, .server = -1, .from_ns = 30 * S, .until_ns = 50 * S
	};
	struct sim_traffic_result result;
	play(services, &server, &clients, &outage, &result);
	/* 2 of 10,000 sends waited; but for 20 s of 100 nothing was answered. */
	assert_true(sim_histogram_percentile(result.from_send, 99.9) < 2 * MS);
	assert_true(sim_histogram_percentile(result.latency, 90.0) > 5 * S);
	sim_services_free(services);
}

static void a_change_that_begins_as_another_ends_holds(void **state)
{
	(void)state;
	struct sim_services *services = start(30);
	struct sim_service_options server = { .work = { .shape = SIM_FIXED, .mean = 1 * MS } };
	struct sim_traffic_options clients = { .loop = SIM_LOOP_FIXED, .rate_qps = 100.0 };
	struct sim_change half = {
		.kind = SIM_CHANGE_LOAD, .from_ns = 5 * S, .until_ns = 10 * S, .value = 0.5
	};
	struct sim_change fifth = {
		.kind = SIM_CHANGE_LOAD, .from_ns = 10 * S, .until_ns = 20 * S, .value = 0.2
	};
	struct sim_traffic_result result;
	sim_services_add(services, &server);
	sim_services_traffic(services, &clients);
	sim_services_change(services, &half);
	sim_services_change(services, &fifth);
	run(services);
	sim_services_traffic_result(services, 0, &result);
	assert_in_range(result.windows[7].attempts, 49, 51);
	assert_in_range(result.windows[15].attempts, 19, 21);
	assert_in_range(result.windows[25].attempts, 99, 101);
	sim_services_free(services);
}

static void a_server_that_dies_fails_its_work_and_the_others_go_on(void **state)
{
	(void)state;
	struct sim_services *services = start(31);
	struct sim_service_options server = { .servers = 3,
		.work = { .shape = SIM_FIXED, .mean = 20 * MS } };
	struct sim_traffic_options clients = {
		.loop = SIM_LOOP_FIXED, .rate_qps = 90.0, .stop_ns = 30 * S
	};
	struct sim_change down = { .kind = SIM_CHANGE_DOWN,
		.server = 1,
		.from_ns = 10 * S + 15 * MS,
		.until_ns = 20 * S };
	struct sim_traffic_result result;
	play(services, &server, &clients, &down, &result);
	assert_in_range(result.failed, 1, 2);
	assert_int_equal(result.succeeded + result.failed, result.originals);
	assert_int_equal(sim_services_alive(services), 0);
	sim_services_free(services);
}

static struct sim_services *cached(bool single_flight, bool late, uint64_t db_ns)
{
	struct sim_services *services = start(21);
	struct sim_service_options app = {
		.workers = 100,
		.work = { .shape = SIM_FIXED, .mean = 1000 },
		.calls = { { .callee = 1, .count = 1, .cached = true } },
		.call_lists = 1,
		.cache = { .keys = 100,
			.ttl_ns = 1000 * S,
			.exponent = 0.8,
			.single_flight = single_flight,
			.fill_late = late },
	};
	struct sim_service_options db = { .workers = 4,
		.work = { .shape = SIM_FIXED, .mean = db_ns } };
	struct sim_traffic_options clients = { .loop = SIM_LOOP_POISSON,
		.rate_qps = 500.0,
		.patience.timeout_ns = 100 * MS,
		.stop_ns = 20 * S };
	sim_services_add(services, &app);
	sim_services_add(services, &db);
	sim_services_traffic(services, &clients);
	return services;
}

static void a_flight_asks_the_database_once_for_a_key(void **state)
{
	(void)state;
	struct sim_service_result db;
	struct sim_services *services = cached(true, false, 2 * MS);
	run(services);
	sim_services_result(services, 1, &db);
	assert_int_equal(db.arrivals, 100);
	assert_int_equal(sim_services_alive(services), 0);
	sim_services_free(services);
	services = cached(false, false, 2 * MS);
	run(services);
	sim_services_result(services, 1, &db);
	assert_true(db.arrivals > 100);
	sim_services_free(services);
}

static void an_answer_that_comes_late_fills_only_where_told(void **state)
{
	(void)state;
	struct sim_service_result app;
	struct sim_services *services = cached(false, false, 150 * MS);
	run(services);
	sim_services_result(services, 0, &app);
	assert_int_equal(app.cache_hit, 0);
	sim_services_free(services);
	services = cached(false, true, 150 * MS);
	run(services);
	sim_services_result(services, 0, &app);
	assert_true(app.cache_hit > 0);
	sim_services_free(services);
}

static void levels_on_replies_move_rejects_upstream(void **state)
{
	(void)state;
	uint64_t rejected[2], refused[2], succeeded[2];
	for (int collaborative = 0; collaborative < 2; collaborative++) {
		struct sim_services_options options = {
			.duration_ns = 241 * S, .warm_up_ns = 120 * S, .seed = 1
		};
		struct sim_services *services = sim_services_new(&options);
		struct sim_service_options front = {
			.workers = 100,
			.work = { .shape = SIM_FIXED, .mean = 1000 },
			.calls = { { .callee = 1, .count = 1 } },
			.call_lists = 1,
		};
		struct sim_service_options back = {
			.work = { .shape = SIM_EXPONENTIAL, .mean = 10 * MS },
			.gate = { .kind = SIM_SHED_DAGOR_Q,
				.business_levels = 1,
				.collaborative = collaborative == 1 },
		};
		struct sim_traffic_options clients = { .loop = SIM_LOOP_POISSON,
			.rate_qps = 200.0,
			.patience.timeout_ns = 500 * MS,
			.stop_ns = 240 * S };
		struct sim_service_result result;
		struct sim_traffic_result traffic;
		sim_services_add(services, &front);
		sim_services_add(services, &back);
		sim_services_traffic(services, &clients);
		run(services);
		sim_services_result(services, 1, &result);
		sim_services_traffic_result(services, 0, &traffic);
		rejected[collaborative] = result.rejected;
		refused[collaborative] = result.refused_upstream;
		succeeded[collaborative] = traffic.succeeded;
		sim_services_free(services);
	}
	assert_int_equal(refused[0], 0);
	assert_true(refused[1] > 5 * rejected[1]);
	assert_true(rejected[1] < rejected[0] / 5);
	assert_true(succeeded[1] > succeeded[0] * 8 / 10);
}

static void every_budget_keeps_retries_below_the_load(void **state)
{
	(void)state;
	for (enum sim_budget_kind kind = SIM_BUDGET_NONE; kind < SIM_BUDGET_KINDS; kind++) {
		struct sim_services *services = start(61);
		struct sim_service_options server = { .work = { .shape = SIM_FIXED,
							      .mean = 5 * MS } };
		struct sim_traffic_options clients = { .loop = SIM_LOOP_FIXED,
			.rate_qps = 180.0,
			.patience.timeout_ns = 500 * MS,
			.patience.retries = 3,
			.patience.retry_on_reject = true,
			.budget = kind,
			.budget_rate = kind == SIM_BUDGET_BUCKET ? 5.0 : 0.0,
			.stop_ns = 60 * S };
		struct sim_change outage = { .kind = SIM_CHANGE_OUTAGE,
			.server = -1,
			.from_ns = 10 * S,
			.until_ns = 20 * S };
		struct sim_traffic_result result;
		play(services, &server, &clients, &outage, &result);
		double amplified = (double)result.attempts / (double)result.originals;
		if (kind == SIM_BUDGET_NONE)
			assert_true(amplified > 2.5);
		else
			assert_true(amplified < 1.5);
		sim_services_free(services);
	}
}

static void a_reject_can_cost_the_server_its_capacity(void **state)
{
	(void)state;
	uint64_t served[2];
	for (int costly = 0; costly < 2; costly++) {
		struct sim_services *services = start(31);
		struct sim_service_options server = {
			.work = { .shape = SIM_FIXED, .mean = 10 * MS },
			.reject_cost_ns = costly ? 2 * MS : 0,
			.queue_limit = 10,
		};
		struct sim_traffic_options clients = { .loop = SIM_LOOP_FIXED, .rate_qps = 300.0 };
		struct sim_service_result result;
		sim_services_add(services, &server);
		sim_services_traffic(services, &clients);
		run(services);
		sim_services_result(services, 0, &result);
		served[costly] = result.served;
		sim_services_free(services);
	}
	/* 100/s without cost; with it x served and 300 − x rejected fill the second: x = 50. */
	assert_in_range(served[0], 3060, 3110);
	assert_in_range(served[1], 1500, 1620);
}

static void a_description_that_does_not_hold_together_is_refused(void **state)
{
	(void)state;
	const char *why = NULL;
	struct sim_services *services = start(10);
	struct sim_service_options one = {
		.work = { .mean = 1 }, .calls = { { .callee = 1, .count = 1 } }, .call_lists = 1
	};
	struct sim_service_options two = {
		.work = { .mean = 1 }, .calls = { { .callee = 0, .count = 1 } }, .call_lists = 1
	};
	sim_services_add(services, &one);
	assert_int_equal(sim_services_run(services, &why), -1);
	assert_non_null(strstr(why, "does not exist"));
	sim_services_add(services, &two);
	assert_int_equal(sim_services_run(services, &why), -1);
	assert_non_null(strstr(why, "circle"));
	sim_services_free(services);
}

static void a_bound_ends_the_run_and_is_named(void **state)
{
	(void)state;
	const char *why;
	struct sim_services_options options = {
		.duration_ns = 100 * S, .seed = 1, .live_limit = 1000
	};
	struct sim_services *services = sim_services_new(&options);
	struct sim_service_options server = { .work = { .shape = SIM_FIXED, .mean = S } };
	struct sim_traffic_options clients = { .loop = SIM_LOOP_FIXED, .rate_qps = 1000.0 };
	sim_services_add(services, &server);
	sim_services_traffic(services, &clients);
	assert_int_equal(sim_services_run(services, &why), 0);
	assert_string_equal(sim_services_bound(services), "number of calls alive at once");
	sim_services_free(services);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_service_gives_the_golden_windows_of_lane_1),
		cmocka_unit_test(waiting_time_follows_erlang_c),
		cmocka_unit_test(parallel_calls_shed_at_random_survive_by_the_power),
		cmocka_unit_test(sequential_calls_stop_at_the_first_refusal),
		cmocka_unit_test(a_user_supplies_a_policy_by_three_hooks),
		cmocka_unit_test(a_paced_closed_loop_hides_an_outage_unless_corrected),
		cmocka_unit_test(a_change_that_begins_as_another_ends_holds),
		cmocka_unit_test(a_server_that_dies_fails_its_work_and_the_others_go_on),
		cmocka_unit_test(a_flight_asks_the_database_once_for_a_key),
		cmocka_unit_test(an_answer_that_comes_late_fills_only_where_told),
		cmocka_unit_test(levels_on_replies_move_rejects_upstream),
		cmocka_unit_test(every_budget_keeps_retries_below_the_load),
		cmocka_unit_test(a_reject_can_cost_the_server_its_capacity),
		cmocka_unit_test(a_description_that_does_not_hold_together_is_refused),
		cmocka_unit_test(a_bound_ends_the_run_and_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

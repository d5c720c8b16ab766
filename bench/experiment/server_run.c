/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns one run: clients who ask when they are due, the trigger, a line a second, and what was
 * counted. A client that times out sends no CancelRequest and its connection stays open, so the
 * server does the abandoned work.
 */
#include "bench/experiment/server_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/cases/scripts.h"
#include "bench/experiment/kill_script.h"
#include "bench/report/retry_measure.h"
#include "bench/experiment/server_session.h"
#include "bench/experiment/script_task.h"
#include "bench/machine/watch.h"
#include "common/quantile.h"

#define OPEN_SPARE	  16
#define TASKS_MAX	  (1 + BACKGROUND_MAX)
#define REFUSALS_KEPT	  4096
#define SATURATE_LOOPS	  4 /* requests in flight for each worker */
#define SATURATE_WARM_NS  (BENCH_NS_PER_S / 2)
#define SATURATE_LEAST_NS ((uint64_t)BENCH_NS_PER_S)
#define SATURATE_MOST_NS  (3ull * BENCH_NS_PER_S)
#define SATURATE_MAX	  200000u
#define SATURATE_ROUNDS	  5 /* of the workers, at least: this process may have been stopped */
#define SATURATE_WAIT_NS  (30ull * BENCH_NS_PER_S)
#define REFUSE_NS	  (BENCH_NS_PER_S / 2)
#define REFUSED_SHARE	  0.95 /* else it is not the cost of refusals that was measured */

struct run;

struct asked { /* an attempt in flight */
	struct run *run;
	struct asked *next, *previous;
	uint64_t number, due_ns, sent_ns;
};

struct run {
	struct server_session session;
	const struct server_setup *setup;
	struct clients *clients;
	struct script_task tasks[TASKS_MAX]; /* the first is the trigger */
	struct kill_script killer;
	struct asked *asked;
	struct clients_counts last; /* of the line before */
	uint64_t next_line_ns, lag_max_ns, unsent;
	uint32_t in_flight_max, refusal_count;
	double refusals_ms[REFUSALS_KEPT];
	uint64_t server_cpu_ns, client_cpu_ns; /* at the start */
	struct watch watch;
};

static uint64_t own_cpu_ns(void)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * BENCH_NS_PER_S +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

/* ---- Attempts -------------------------------------------------------------------------------- */

static void forget(struct asked *asked)
{
	*(asked->previous ? &asked->previous->next : &asked->run->asked) = asked->next;
	if (asked->next)
		asked->next->previous = asked->previous;
	free(asked);
}

static void note_refusal(struct run *run, const struct asked *asked, uint64_t now_ns)
{
	if (run->refusal_count < REFUSALS_KEPT)
		run->refusals_ms[run->refusal_count++] = (double)(now_ns - asked->sent_ns) / 1e6;
}

static void on_answer(void *arg, const struct wire_answer *answer)
{
	struct asked *asked = arg;
	struct run *run = asked->run;
	uint64_t now_ns = server_session_now_ns(&run->session), number = asked->number;
	enum clients_reply reply = answer->status == WIRE_OK	    ? CLIENTS_REPLY_OK
				   : answer->status == WIRE_REFUSED ? CLIENTS_REPLY_REFUSED
								    : CLIENTS_REPLY_ERROR;
	if (reply == CLIENTS_REPLY_REFUSED)
		note_refusal(run, asked, now_ns);
	kill_script_hear(
		&run->killer, reply == CLIENTS_REPLY_OK ? now_ns - asked->due_ns : UINT64_MAX);
	forget(asked);
	clients_answered(run->clients, number, now_ns, reply,
		(uint64_t)answer->retry_after_ms * BENCH_NS_PER_MS);
}

static void ask(
	struct run *run, uint64_t number, const struct clients_request *request, uint64_t now_ns)
{
	char sql[SESSION_SQL_BYTES];
	struct asked *asked = calloc(1, sizeof *asked);
	if (asked) {
		*asked = (struct asked){ .run = run,
			.next = run->asked,
			.number = number,
			.due_ns = request->due_ns,
			.sent_ns = now_ns };
		if (run->asked)
			run->asked->previous = asked;
		run->asked = asked;
		server_session_question(&run->session, request, sql);
		if (wire_ask(run->session.pool, sql, on_answer, asked) == 0)
			return;
		forget(asked);
	}
	run->unsent++;
	clients_answered(run->clients, number, now_ns, CLIENTS_REPLY_ERROR, 0);
}

static void note_lag(struct run *run, uint64_t lag_ns)
{
	if (lag_ns > run->lag_max_ns)
		run->lag_max_ns = lag_ns;
	watch_lag(&run->watch, (double)lag_ns / 1e6);
}

static void send_due(struct run *run, uint64_t now_ns)
{
	const struct clients_request *request;
	int64_t number;
	clients_expire(run->clients, now_ns);
	while ((number = clients_take(run->clients, now_ns, &request)) >= 0) {
		if (request->attempts == 1)
			note_lag(run, now_ns - request->due_ns);
		ask(run, (uint64_t)number, request, now_ns);
	}
	wire_pool_open(run->session.pool, OPEN_SPARE);
}

/* ---- A line a second ------------------------------------------------------------------------- */

static void say_trigger(const struct run *run)
{
	static const char *const words[] = { "", "begins", "holds", "ends", "is over",
		"was refused" };
	const struct script_task *trigger = &run->tasks[0];
	if (trigger->script != SCRIPT_NONE && trigger->state != TASK_WAITS)
		fprintf(stderr, "  trigger %s", words[trigger->state]);
}

static void print_line(struct run *run, uint64_t now_ns)
{
	struct clients_counts counts;
	struct wire_stats stats;
	clients_counts(run->clients, &counts);
	wire_pool_stats(run->session.pool, &stats);
	if (stats.busy > run->in_flight_max)
		run->in_flight_max = stats.busy;
	run->next_line_ns += BENCH_NS_PER_S;
	if (!run->setup->quiet) {
		fprintf(stderr,
			"%-18s %5.1f s  offered %5.0f/s  sent %5.0f/s  goodput %5.0f/s  refused "
			"%5.0f/s  in flight %5u",
			run->setup->title, (double)now_ns / 1e9,
			(double)(counts.offered - run->last.offered),
			(double)(counts.attempts - run->last.attempts),
			(double)(counts.good - run->last.good),
			(double)(counts.refused - run->last.refused), stats.busy);
		say_trigger(run);
		fputc('\n', stderr);
	}
	run->last = counts;
}

/* ---- The run --------------------------------------------------------------------------------- */

static struct clients *make_clients(const struct server_setup *setup, char *error)
{
	const struct retry_plan *plan = setup->plan;
	const struct bench_policy *policy = setup->policy;
	double headroom_qps = fmax(0, setup->saturation_qps - setup->rate_qps);
	double budget_qps = headroom_qps * policy->budget_pct / 100;
	struct schedule schedule;
	const char *why = "out of memory for the clients";
	const struct schedule_options when = { .struct_size = sizeof when,
		.seed = setup->seed,
		.rate_qps = setup->rate_qps,
		.length_ns = plan->length_ns,
		.poisson = setup->poisson };
	struct clients *clients = NULL;
	if (schedule_make(&when, &schedule, &why) == 0) {
		const struct clients_options options = { .struct_size = sizeof options,
			.schedule = &schedule,
			.timeout_ns = plan->timeout_ns,
			.retries = plan->retries,
			.on_refusal = policy->on_refusal,
			.budget_milli_per_s =
				(uint64_t)fmax(policy->budget_pct ? 1 : 0, budget_qps * 1000),
			.budget_burst = (uint32_t)fmax(1, budget_qps),
			.priorities = plan->priorities };
		clients = clients_new(&options);
		schedule_free(&schedule);
	}
	if (!clients)
		snprintf(error, SERVER_ERROR_MAX, "%s", why);
	return clients;
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static uint64_t others_next_ns(const struct run *run)
{
	uint64_t next_ns =
		run->setup->policy->defences & DEFENCE_LONGEST ? run->killer.next_ns : UINT64_MAX;
	for (int i = 0; i < TASKS_MAX; i++)
		next_ns = sooner(next_ns, script_task_next_ns(&run->tasks[i]));
	return next_ns;
}

static int drive(struct run *run, char *error)
{
	uint64_t length_ns = run->setup->plan->length_ns;
	for (uint64_t now_ns = 0; now_ns < length_ns;
		now_ns = server_session_now_ns(&run->session)) {
		if (server_session_interrupted()) {
			snprintf(error, SERVER_ERROR_MAX, "interrupted");
			return -1;
		}
		for (int i = 0; i < TASKS_MAX; i++)
			script_task_step(&run->tasks[i], now_ns);
		send_due(run, now_ns);
		if (run->setup->policy->defences & DEFENCE_LONGEST) {
			run->killer.culprit = script_task_process(&run->tasks[0]);
			kill_script_step(&run->killer, run->clients, now_ns);
		}
		if (now_ns >= run->next_line_ns) {
			print_line(run, now_ns);
			watch_second(&run->watch);
			if (!server_process_listen(&run->session.server)) {
				snprintf(error, SERVER_ERROR_MAX, "the server has ended");
				return -1;
			}
		}
		server_session_wait(&run->session,
			sooner(sooner(length_ns, run->next_line_ns),
				sooner(clients_next_ns(run->clients), others_next_ns(run))));
	}
	print_line(run, length_ns);
	for (int i = 0; i < TASKS_MAX; i++)
		if (run->tasks[i].error[0]) {
			snprintf(error, SERVER_ERROR_MAX, "%s", run->tasks[i].error);
			return -1;
		}
	return 0;
}

/* NAN: there is no company. */
static double company_cancelled(const struct run *run)
{
	double cancelled = NAN;
	for (int i = 1; i < TASKS_MAX; i++)
		if (run->tasks[i].script != SCRIPT_NONE)
			cancelled = (isnan(cancelled) ? 0 : cancelled) + run->tasks[i].stopped;
	return cancelled;
}

static void count(const struct run *run, struct retry_measures *measures)
{
	double *figures = measures->figures;
	struct clients_counts counts;
	double seconds = (double)run->setup->plan->length_ns / BENCH_NS_PER_S;
	clients_counts(run->clients, &counts);
	figures[RETRY_offered] = (double)counts.offered;
	figures[RETRY_attempts] = (double)counts.attempts;
	figures[RETRY_retries] = (double)counts.retries;
	figures[RETRY_retries_denied] = (double)counts.denied;
	figures[RETRY_timeouts] = (double)counts.timeouts;
	figures[RETRY_rejected] = (double)counts.refused;
	figures[RETRY_failed] = (double)(counts.errors - run->unsent);
	figures[RETRY_unsent] = (double)run->unsent;
	figures[RETRY_in_flight_max] = run->in_flight_max;
	figures[RETRY_lag_max_ms] = (double)run->lag_max_ns / 1e6;
	uint64_t server_ns = server_process_cpu_ns(&run->session.server) - run->server_cpu_ns;
	figures[RETRY_server_cpu_pct] = (double)server_ns / 1e7 / seconds;
	figures[RETRY_client_cpu_pct] = (double)(own_cpu_ns() - run->client_cpu_ns) / 1e7 / seconds;
	uint64_t held_ns = script_task_held_ns(&run->tasks[0], run->setup->plan->length_ns);
	if (held_ns)
		figures[RETRY_trigger_ms] = (double)held_ns / 1e6;
	figures[RETRY_company_cancelled] = company_cancelled(run);
	if (run->setup->plan->resends)
		figures[RETRY_resends] = run->setup->plan->resends - run->tasks[0].resends;
}

/* A client that stood still looks like a server that did. */
static void judge_machine(const struct run *run, struct retry_measures *measures)
{
	double *figures = measures->figures;
	struct disturbance *disturbance = &measures->disturbance;
	watch_judge(&run->watch, DISTURBANCE_LAG_SHARE * (double)run->setup->plan->timeout_ns / 1e6,
		disturbance);
	figures[RETRY_own_ms_per_s] = disturbance->own_ms;
	figures[RETRY_others_ms_per_s] = disturbance->others_ms;
	figures[RETRY_run_queue_ms_per_s] = disturbance->run_queue_ms;
	figures[RETRY_taken_ms_per_s] = disturbance->taken_ms;
	figures[RETRY_disturbed_seconds] = disturbance->disturbed_seconds;
}

static int measure(struct run *run, struct retry_measures *measures, char *error)
{
	const struct retry_plan *plan = run->setup->plan;
	uint64_t grace_ns = plan->timeout_ns * (plan->retries + 1);
	struct retry_record record = { .onset_ns = plan->onset_ns,
		.settled_ns = plan->length_ns > grace_ns ? plan->length_ns - grace_ns : 0,
		.triggered = plan->trigger != SCRIPT_NONE,
		.saturation_qps = run->setup->saturation_qps };
	record.requests = clients_requests(run->clients, &record.count);
	count(run, measures);
	judge_machine(run, measures);
	retry_measure(&record, measures);
	if (run->refusal_count) {
		sort_doubles(run->refusals_ms, run->refusal_count);
		measures->figures[RETRY_reject_ms] = run->refusals_ms[run->refusal_count / 2];
	}
	if (!run->setup->trace || retry_trace_fill(run->setup->trace, &record) == 0)
		return 0;
	snprintf(error, SERVER_ERROR_MAX, "out of memory for the picture");
	return -1;
}

/* From the runtime's own views, which answer whatever state the workers are in. */
static int ask_decisions(struct run *run, struct retry_measures *measures, char *error)
{
	char sql[256];
	double numbers[3];
	double *figures = measures->figures;
	snprintf(sql, sizeof sql,
		"SELECT count(*), count(*) FILTER (WHERE process IS DISTINCT FROM %u), "
		"coalesce(max(CASE WHEN process = %u THEN ago_s END), -1) "
		"FROM cancel_decisions WHERE acted",
		script_task_process(&run->tasks[0]), script_task_process(&run->tasks[0]));
	if (server_session_numbers(&run->session, sql, numbers, 3, error) != 0)
		return -1;
	double now_s = (double)server_session_now_ns(&run->session) / BENCH_NS_PER_S;
	figures[RETRY_cancels] = numbers[0] + run->killer.kills;
	figures[RETRY_wrong_cancels] = numbers[1] + run->killer.wrong;
	uint64_t first_ns = run->tasks[0].first_ns;
	if (first_ns && first_ns < run->setup->plan->onset_ns)
		first_ns = run->setup->plan->onset_ns; /* before it harmed nobody */
	if (numbers[2] >= 0 && first_ns)
		figures[RETRY_decided_ms] = (now_s - numbers[2]) * 1e3 - (double)first_ns / 1e6;
	return 0;
}

/* ---- What a refusal costs -------------------------------------------------------------------- */

struct refusals {
	struct server_session *session;
	struct clients_request lowest;
	uint32_t refused, answered;
	uint64_t end_ns;
	bool over;
};

static void on_refusal(void *arg, const struct wire_answer *answer);

static void ask_refused(struct refusals *refusals)
{
	char sql[SESSION_SQL_BYTES];
	refusals->lowest.user = (uint16_t)((refusals->lowest.user + 1) % CLIENTS_USERS);
	server_session_question(refusals->session, &refusals->lowest, sql);
	refusals->over = wire_ask(refusals->session->pool, sql, on_refusal, refusals) != 0;
}

static void on_refusal(void *arg, const struct wire_answer *answer)
{
	struct refusals *refusals = arg;
	refusals->refused += answer->status == WIRE_REFUSED;
	refusals->answered++;
	if (server_session_now_ns(refusals->session) < refusals->end_ns)
		ask_refused(refusals);
	else
		refusals->over = true;
}

/* One client of the lowest priority asks again as soon as it is refused, while the gate is still
 * as closed as the run left it. */
static void measure_refusal(struct run *run, struct retry_measures *measures)
{
	uint64_t now_ns = server_session_now_ns(&run->session);
	struct refusals refusals = { .session = &run->session,
		.lowest = { .priority = CLIENTS_PRIORITIES - 1 },
		.end_ns = now_ns + REFUSE_NS };
	uint64_t cpu_ns = server_process_cpu_ns(&run->session.server);
	ask_refused(&refusals);
	while (!refusals.over)
		server_session_wait(&run->session, refusals.end_ns + BENCH_NS_PER_S);
	cpu_ns = server_process_cpu_ns(&run->session.server) - cpu_ns;
	if (refusals.refused > 0 && refusals.refused >= refusals.answered * REFUSED_SHARE)
		measures->figures[RETRY_reject_cpu_us] = (double)cpu_ns / 1e3 / refusals.answered;
}

static int begin(struct run *run, char *error)
{
	const struct retry_plan *plan = run->setup->plan;
	if (server_session_begin(&run->session, run->setup, error) != 0)
		return -1;
	run->clients = make_clients(run->setup, error);
	if (!run->clients)
		return -1;
	run->tasks[0] = (struct script_task){ .script = plan->trigger,
		.onset_ns = plan->onset_ns - plan->lead_ns,
		.hold_ns = plan->hold_ns + plan->lead_ns,
		.resends = plan->resends };
	for (int i = 0; i < BACKGROUND_MAX; i++)
		run->tasks[1 + i] = (struct script_task){ .script = plan->background[i].script,
			.onset_ns = plan->background[i].onset_ns };
	run->killer = (struct kill_script){ .session = &run->session,
		.slo_ns = plan->slo_ms * (uint64_t)BENCH_NS_PER_MS };
	for (int i = 0; i < TASKS_MAX; i++) {
		run->tasks[i].now_ns = server_session_now_ns;
		run->tasks[i].arg = &run->session;
		if (script_task_begin(&run->tasks[i], run->session.operators, run->session.pool)) {
			snprintf(error, SERVER_ERROR_MAX, "no connection for %s",
				script_find(run->tasks[i].script)->name);
			return -1;
		}
	}
	return 0;
}

static void nothing_measured(struct retry_measures *measures)
{
	for (int f = 0; f < RETRY_FIGURE_COUNT; f++)
		measures->figures[f] = NAN;
	for (int p = 0; p < CLIENTS_PRIORITIES; p++)
		measures->success_pct_by_priority[p] = NAN;
}

int server_run(const struct server_setup *setup, struct retry_measures *measures,
	char error[SERVER_ERROR_MAX])
{
	struct run *run = calloc(1, sizeof *run);
	int status = -1;
	nothing_measured(measures);
	if (!run) {
		snprintf(error, SERVER_ERROR_MAX, "out of memory");
		return -1;
	}
	run->setup = setup;
	if (begin(run, error) == 0) {
		run->server_cpu_ns = server_process_cpu_ns(&run->session.server);
		run->client_cpu_ns = own_cpu_ns();
		run->next_line_ns = BENCH_NS_PER_S;
		run->session.start_ns += server_session_now_ns(&run->session);
		watch_begin(&run->watch, run->session.server.pid);
		status = drive(run, error);
		watch_end(&run->watch);
	}
	if (status == 0)
		status = measure(run, measures, error);
	if (status == 0) {
		status = ask_decisions(run, measures, error);
		if (setup->plan->reject_cost && setup->policy->defences & DEFENCE_GATE)
			measure_refusal(run, measures);
	}
	server_session_end(&run->session);
	while (run->asked)
		forget(run->asked);
	clients_free(run->clients);
	free(run);
	return status;
}

/* ---- Saturation ------------------------------------------------------------------------------ */

struct saturation {
	struct server_session session;
	struct clients_request next;
	uint64_t draws;
	uint64_t done_ns[SATURATE_MAX]; /* of answers, after the warm-up */
	uint32_t count, answered;
	bool failed, over;
	struct watch watch;
	char *error;
};

static void on_saturated(void *arg, const struct wire_answer *answer);

static void ask_next(struct saturation *s)
{
	char sql[SESSION_SQL_BYTES];
	s->next.draw = s->draws * 0x9e3779b97f4a7c15u; /* spread evenly over the items */
	s->next.user = (uint16_t)(s->draws++ % CLIENTS_USERS);
	server_session_question(&s->session, &s->next, sql);
	if (wire_ask(s->session.pool, sql, on_saturated, s) != 0)
		s->failed = true;
}

static void on_saturated(void *arg, const struct wire_answer *answer)
{
	struct saturation *s = arg;
	uint64_t now_ns = server_session_now_ns(&s->session);
	if (s->over)
		return;
	if (answer->status != WIRE_OK) {
		snprintf(s->error, SERVER_ERROR_MAX, "while measuring saturation: %.200s",
			answer->message);
		s->failed = true;
		return;
	}
	s->answered++;
	if (now_ns >= SATURATE_WARM_NS && s->count < SATURATE_MAX)
		s->done_ns[s->count++] = now_ns;
	ask_next(s);
}

/* Whole rounds of the workers only: they end together when each statement takes equally long. */
static double rate_of(const struct saturation *s)
{
	uint32_t workers = s->session.setup->plan->workers;
	uint32_t rounds = s->count ? (s->count - 1) / workers : 0;
	if (!rounds)
		return 0;
	uint64_t took_ns = s->done_ns[rounds * workers] - s->done_ns[0];
	return took_ns ? (double)rounds * workers * 1e9 / (double)took_ns : 0;
}

/* A quarter of a run's length, within bounds. */
static uint64_t saturation_ns(const struct retry_plan *plan)
{
	uint64_t part_ns = plan->length_ns / 4;
	if (part_ns < SATURATE_LEAST_NS)
		return SATURATE_LEAST_NS;
	return part_ns < SATURATE_MOST_NS ? part_ns : SATURATE_MOST_NS;
}

static void saturate(struct saturation *s, struct disturbance *disturbance)
{
	watch_begin(&s->watch, s->session.server.pid);
	uint32_t loops = s->session.setup->plan->workers * SATURATE_LOOPS;
	for (uint32_t i = 0; i < loops && !s->failed; i++)
		ask_next(s);
	uint64_t end_ns = SATURATE_WARM_NS + saturation_ns(s->session.setup->plan);
	uint64_t give_up_ns = end_ns + SATURATE_WAIT_NS;
	uint32_t least = s->session.setup->plan->workers * SATURATE_ROUNDS;
	for (uint64_t now_ns = 0;
		!s->failed && !server_session_interrupted() && s->count < SATURATE_MAX &&
		now_ns < give_up_ns && (now_ns < end_ns || s->count < least);
		now_ns = server_session_now_ns(&s->session))
		server_session_wait(&s->session, now_ns < end_ns ? end_ns : give_up_ns);
	s->over = true;
	watch_second(&s->watch);
	watch_end(&s->watch);
	watch_judge(&s->watch, 0, disturbance);
	if (server_session_interrupted()) {
		snprintf(s->error, SERVER_ERROR_MAX, "interrupted");
		s->failed = true;
	}
}

int server_saturate(const struct server_setup *setup, struct server_capacity *capacity,
	char error[SERVER_ERROR_MAX])
{
	struct saturation *s = calloc(1, sizeof *s);
	int status = -1;
	if (!s) {
		snprintf(error, SERVER_ERROR_MAX, "out of memory");
		return -1;
	}
	s->error = error;
	if (server_session_begin(&s->session, setup, error) == 0) {
		snprintf(error, SERVER_ERROR_MAX, "no connections to measure saturation");
		s->session.start_ns += server_session_now_ns(&s->session);
		uint64_t cpu_ns = server_process_cpu_ns(&s->session.server);
		saturate(s, &capacity->disturbance);
		cpu_ns = server_process_cpu_ns(&s->session.server) - cpu_ns;
		capacity->qps = rate_of(s);
		capacity->query_cpu_us = s->answered ? (double)cpu_ns / 1e3 / s->answered : NAN;
		status = s->failed || capacity->qps <= 0 ? -1 : 0;
	}
	server_session_end(&s->session);
	free(s);
	return status;
}

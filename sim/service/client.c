/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients: when they send, how long they wait, whether they try again. Latency counts from the
 * scheduled start of the first attempt.
 */

#include "sim/base/math.h"
#include "sim/service/parts.h"

#define USERS_DEFAULT 1000000u
#define IDLE_LOOK_NS  (10 * SIM_NS_PER_MS) /* how often a traffic at rate 0 looks again */

/* ---- Tasks as memory ---- */

static uint32_t new_task(struct sim_services *s)
{
	uint32_t index;
	s->tasks = sim_slab_take(&s->task_slab, s->tasks, sizeof(*s->tasks), &index);
	return index;
}

/* Freed once nobody waits for it and nothing works for it. */
void task_release(struct sim_services *s, uint32_t index)
{
	struct task *task = &s->tasks[index];
	if (!task->used || task->waiting || task->live_calls > 0)
		return;
	bool wasted = !task->succeeded && task->sent_ns >= s->options.warm_up_ns;
	for (uint32_t i = 0; wasted && i < s->service_count; i++)
		s->services[i].result.wasted += task->served[i];
	task->used = false;
	task->generation++;
	sim_slab_give(&s->task_slab, index);
}

/* ---- Arrivals ---- */

static double rate_now(struct sim_services *s, const struct traffic *traffic)
{
	const struct sim_traffic_options *o = &traffic->options;
	double rate = o->rate_qps * traffic->load;
	return o->day_ns ? sim_daily_rate(now_of(s), o->day_ns, rate, o->peak_ratio) : rate;
}

static uint64_t gap_ns(struct sim_services *s, struct traffic *traffic)
{
	double rate = rate_now(s, traffic);
	if (traffic->options.burst_every_ns)
		return traffic->options.burst_every_ns;
	if (rate < 1e-6)
		return IDLE_LOOK_NS;
	if (traffic->options.loop == SIM_LOOP_FIXED)
		return rate < 1e9 ? (uint64_t)(1e9 / rate) : 1;
	int64_t gap = sim_round(-1e9 / rate * sim_ln(1.0 - sim_rng_unit(&traffic->rng)));
	return gap < 1 ? 1 : (uint64_t)gap;
}

static bool open_loop(const struct traffic *traffic)
{
	return traffic->options.loop == SIM_LOOP_FIXED || traffic->options.loop == SIM_LOOP_POISSON;
}

static void plan(struct sim_services *s, uint32_t index, uint64_t at_ns, uint32_t slot)
{
	const struct sim_traffic_options *o = &s->traffics[index]->options;
	uint64_t stop_ns = o->stop_ns ? o->stop_ns : s->options.duration_ns;
	if (at_ns < stop_ns && at_ns < s->options.duration_ns)
		sim_events_add(&s->events, at_ns, SIM_RANK_ARRIVAL, EVENT_NEXT, index, slot);
}

void traffic_begin(struct sim_services *s, uint32_t index)
{
	struct traffic *traffic = s->traffics[index];
	const struct sim_traffic_options *o = &traffic->options;
	if (open_loop(traffic)) {
		plan(s, index, o->start_ns, NOBODY);
		return;
	}
	traffic->schedule_ns = sim_alloc(o->users, sizeof(*traffic->schedule_ns));
	for (uint32_t user = 0; user < o->users; user++) {
		uint64_t at_ns = o->start_ns;
		if (o->loop == SIM_LOOP_PACED)
			at_ns += (uint64_t)(1e9 / o->rate_qps * (double)user);
		else
			at_ns += sim_dist_draw(&o->think, &traffic->rng);
		traffic->schedule_ns[user] = at_ns;
		plan(s, index, at_ns, user);
	}
}

/* A closed loop's user has its answer (or has given up). */
static void user_goes_on(struct sim_services *s, uint32_t index, uint32_t user)
{
	struct traffic *traffic = s->traffics[index];
	const struct sim_traffic_options *o = &traffic->options;
	uint64_t at_ns = now_of(s);
	if (o->loop == SIM_LOOP_CLOSED) {
		at_ns += sim_dist_draw(&o->think, &traffic->rng);
		traffic->schedule_ns[user] = at_ns;
	} else {
		traffic->schedule_ns[user] += (uint64_t)(1e9 / o->rate_qps * (double)o->users);
		if (traffic->schedule_ns[user] > at_ns)
			at_ns = traffic->schedule_ns[user];
	}
	plan(s, index, at_ns, user);
}

static uint32_t new_request(struct sim_services *s, uint32_t index, uint32_t slot)
{
	struct traffic *traffic = s->traffics[index];
	const struct sim_traffic_options *o = &traffic->options;
	const struct service *entry = &s->services[o->service];
	uint32_t task_index = new_task(s), levels = o->business_levels ? o->business_levels : 1;
	uint32_t generation = s->tasks[task_index].generation;
	struct task task = {
		.used = true,
		.generation = generation,
		.traffic = index,
		.slot = slot,
		.original = traffic->originals++,
		.scheduled_ns = slot == NOBODY ? now_of(s) : traffic->schedule_ns[slot],
	};
	bool people = open_loop(traffic) && o->users;
	task.user = slot != NOBODY
			    ? slot
			    : sim_rng_below(&traffic->rng, people ? o->users : USERS_DEFAULT);
	task.priority = cancel_dagor_priority(s->levels, task.scheduled_ns,
		o->business + (uint32_t)(task.original % levels), task.user);
	task.measured = task.scheduled_ns >= s->options.warm_up_ns;
	if (entry->options.cache.keys > 0)
		task.key = (uint32_t)sim_zipf_draw(&entry->cache.zipf, &traffic->rng);
	window_now(s, traffic)->originals++;
	if (task.measured) {
		traffic->result.originals++;
	}
	s->tasks[task_index] = task;
	return task_index;
}

static void task_send(struct sim_services *s, uint32_t index)
{
	struct task *task = &s->tasks[index];
	struct traffic *traffic = s->traffics[task->traffic];
	task->waiting = true;
	task->sent_ns = now_of(s);
	window_now(s, traffic)->attempts++;
	if (task->measured)
		traffic->result.attempts++;
	sim_budget_sent(&traffic->budget, now_of(s));
	if (traffic->options.patience.timeout_ns)
		sim_events_add(&s->events, now_of(s) + traffic->options.patience.timeout_ns,
			SIM_RANK_TIMEOUT, EVENT_TIMEOUT, index, task->generation);
	call_send(s, index, NOBODY, traffic->options.service, 0);
}

static void fail_request(struct sim_services *s, uint32_t index)
{
	struct task *task = &s->tasks[index];
	struct traffic *traffic = s->traffics[task->traffic];
	if (task->measured)
		traffic->result.failed++;
	if (task->slot != NOBODY)
		user_goes_on(s, task->traffic, task->slot);
	task_release(s, index);
}

static void send_one(struct sim_services *s, uint32_t index, uint32_t slot)
{
	struct traffic *traffic = s->traffics[index];
	uint32_t task = new_request(s, index, slot);
	if (sim_budget_first(&traffic->budget, now_of(s), &traffic->rng)) {
		task_send(s, task);
		return;
	}
	window_now(s, traffic)->rejected++;
	fail_request(s, task);
}

/* At most what may be alive at once: more would end the run anyway. */
static uint32_t burst_now(const struct sim_services *s, const struct traffic *traffic)
{
	double burst = (double)traffic->options.burst * traffic->load;
	double most = (double)s->options.live_limit;
	return (uint32_t)(burst < most ? burst : most);
}

void traffic_next(struct sim_services *s, const struct sim_event *event)
{
	struct traffic *traffic = s->traffics[event->who];
	uint32_t count = 1;
	if (event->arg != NOBODY) {
		send_one(s, event->who, (uint32_t)event->arg);
		return;
	}
	if (traffic->options.burst_every_ns)
		count = burst_now(s, traffic);
	else if (rate_now(s, traffic) < 1e-6)
		count = 0;
	for (uint32_t i = 0; i < count && !s->full; i++)
		send_one(s, event->who, NOBODY);
	plan(s, event->who, now_of(s) + gap_ns(s, traffic), NOBODY);
}

/* ---- Attempts ---- */

void task_again(struct sim_services *s, const struct sim_event *event)
{
	task_send(s, event->who);
}

static bool hooks_allow(struct sim_services *s, const struct task *task)
{
	const struct traffic *traffic = s->traffics[task->traffic];
	const struct sim_gate_options *gate = &s->services[traffic->options.service].options.gate;
	struct sim_attempt attempt = {
		.arrival_ns = task->sent_ns,
		.original = task->original,
		.attempt = task->attempt,
		.priority = task->priority,
		.user = task->user,
	};
	if (gate->kind != SIM_SHED_HOOKS || !gate->policy.allow_retry)
		return true;
	return gate->policy.allow_retry(gate->policy.state, now_of(s), &attempt);
}

/* The attempt is lost. Another one, or the request is. */
static void attempt_failed(struct sim_services *s, uint32_t index, bool timed_out)
{
	struct task *task = &s->tasks[index];
	struct traffic *traffic = s->traffics[task->traffic];
	task->waiting = false;
	sim_budget_ended(&traffic->budget, now_of(s), &task->aws, task->attempt > 0, false);
	bool again =
		task->attempt < traffic->retries &&
		(timed_out || traffic->options.patience.retry_on_reject) && hooks_allow(s, task) &&
		sim_budget_retry(&traffic->budget, now_of(s), &task->aws, timed_out, &traffic->rng);
	if (!again) {
		fail_request(s, index);
		return;
	}
	uint32_t next_index = new_task(s), generation = s->tasks[next_index].generation;
	struct task *next = &s->tasks[next_index];
	*next = s->tasks[index];
	next->generation = generation;
	next->attempt++;
	next->live_calls = 0;
	for (uint32_t i = 0; i < SIM_SERVICES_MAX; i++)
		next->served[i] = 0;
	sim_events_add(&s->events,
		now_of(s) + sim_backoff_ns(
				    &traffic->options.patience, next->attempt - 1, &traffic->rng),
		SIM_RANK_ARRIVAL, EVENT_ATTEMPT, next_index, 0);
	task_release(s, index);
}

void task_timeout(struct sim_services *s, const struct sim_event *event)
{
	struct task *task = &s->tasks[event->who];
	if (task->generation != event->arg || !task->waiting)
		return;
	window_now(s, s->traffics[task->traffic])->timed_out++;
	attempt_failed(s, event->who, true);
}

static void succeed(struct sim_services *s, uint32_t index)
{
	struct task *task = &s->tasks[index];
	struct traffic *traffic = s->traffics[task->traffic];
	task->waiting = false;
	task->succeeded = true;
	sim_budget_ended(&traffic->budget, now_of(s), &task->aws, task->attempt > 0, true);
	window_now(s, traffic)->goodput++;
	if (task->measured) {
		traffic->result.succeeded++;
		sim_histogram_add(&traffic->latency, now_of(s) - task->scheduled_ns);
		sim_histogram_add(&traffic->from_send, now_of(s) - task->sent_ns);
	}
	if (task->slot != NOBODY)
		user_goes_on(s, task->traffic, task->slot);
}

void task_answered(struct sim_services *s, uint32_t index, enum outcome outcome)
{
	struct task *task = &s->tasks[index];
	if (!task->waiting)
		return;
	if (outcome == OUTCOME_OK) {
		succeed(s, index);
		return;
	}
	if (outcome == OUTCOME_REJECTED)
		window_now(s, s->traffics[task->traffic])->rejected++;
	attempt_failed(s, index, false);
}

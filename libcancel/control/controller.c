/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller.c - owns the controller thread: a tick of 10 ms that publishes the coarse stamp, and a
 * turn each window. What a turn means is the core's; this file executes it.
 *
 * Two locks, both leaves: `wake` for the thread's sleep and the options handed to it, `shown` for
 * the copies of the last verdict that other threads read. None is held during a turn.
 */
#include "libcancel/control/controller.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcancel/control/collect.h"
#include "libcancel/control/decisions.h"
#include "libcancel/control/deliver.h"
#include "libcancel/control/feed.h"
#include "libcancel/control/log.h"
#include "libcancel/control/quarantine.h"
#include "libcancel/control/recording.h"
#include "libcancel/control/rerun.h"
#include "libcancel/control/slo_learner.h"
#include "libcancel/control/thread.h"
#include "libcancel/diag/probes.h"
#include "libcancel/sys/clock.h"
#include "libcancel/track/count.h"
#include "libcancel/track/event.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/resource.h"
#include "libcancel/track/slot.h"

#define TICK_NS	  10000000u
#define NS_PER_MS 1000000u
#define NS_PER_S  1000000000u

static struct {
	pthread_mutex_t wake; /* of stopping, wanted, options_changed */
	pthread_cond_t changed;
	bool stopping, options_changed;
	struct options wanted;
	pthread_t thread;

	/* The controller thread's own. */
	struct options options;
	bool fed; /* no threads: looks are handed in by the adapter's thread */
	cancel_sender send_fed;
	uint32_t task_limit;
	struct collector collector;
	struct cancel_pipeline *pipeline;
	struct cancel_verdict verdict;
	bool precise, action_stuck;
	uint64_t stuck_since_ns; /* start of the action last complained about */
	uint64_t next_second_ns;
	bool slo_given[CANCEL_CLASSES_MAX];

	pthread_mutex_t shown; /* of the rest */
	struct cancel_status status;
	uint32_t contention_ppm[CANCEL_RESOURCES_MAX];
	uint64_t raw_metric[CANCEL_RESOURCES_MAX];
	uint64_t calm_mask;
	uint64_t held_back[CANCEL_CAUSE_COUNT];
} c = { .wake = PTHREAD_MUTEX_INITIALIZER, .shown = PTHREAD_MUTEX_INITIALIZER };

/* ---- Time ------------------------------------------------------------------------------------ */

static void apply_precision(bool wanted)
{
	bool precise = (wanted || c.options.always_precise) && !c.options.no_precise;
	if (precise && !c.precise)
		clock_publish_precise();
	c.precise = precise;
}

static void publish(uint64_t now_ns)
{
	if (!c.precise)
		clock_publish_coarse(now_ns);
}

/* An action that runs too long is named once; while it runs nothing else is cancelled. */
static void watch_action(uint64_t now_ns)
{
	uint64_t task;
	uint64_t since_ns = deliver_running_since_ns(&task);
	uint64_t limit_ns = (uint64_t)c.options.action_max_ms * NS_PER_MS;
	c.action_stuck = since_ns && now_ns > since_ns && now_ns - since_ns > limit_ns;
	if (!c.action_stuck || since_ns == c.stuck_since_ns)
		return;
	c.stuck_since_ns = since_ns;
	count(CANCEL_COUNT_slow_actions);
	log_line("the cancel action of task %llu has run for more than %u ms: no new cancels until "
		 "it returns",
		(unsigned long long)load_relaxed(&slot_at(id_index(task))->key),
		c.options.action_max_ms);
}

/* ---- A turn ---------------------------------------------------------------------------------- */

static bool send(const struct cancel_decision *d)
{
	struct delivery delivery = {
		.task = d->target.task,
		.serial = d->serial,
		.blamed_mask = d->blamed_mask,
		.strength = d->strength,
		.reason = d->escalation ? CANCEL_REASON_ESCALATION : CANCEL_REASON_CULPRIT,
	};
	if (c.options.mode != CANCEL_ACT || c.action_stuck)
		return false;
	return c.fed ? c.send_fed(d) : deliver_push(&delivery);
}

/* What cannot be sent (the queue is full) was not acted on: all who are told of the decision hear
 * so, and the pipeline hears that it need not wait for a release. */
static void carry_out(struct cancel_verdict *v)
{
	if (!v->cancel || send(&v->decision))
		return;
	v->cancel = v->decision.acted = false;
	event_post(CANCEL_EVENT_IGNORED, v->decision.target.task, clock_precise_ns(), 0);
}

static void count_events(const struct cancel_ledger *l)
{
	for (uint32_t i = 0; i < l->event_count; i++) {
		const struct cancel_event *e = &l->events[i];
		if (e->kind == CANCEL_EVENT_ACKNOWLEDGED) {
			count(CANCEL_COUNT_acknowledged);
			PROBE1(acknowledged, e->task);
		} else if (e->kind == CANCEL_EVENT_RELEASED) {
			count(CANCEL_COUNT_released);
			PROBE1(released, e->task);
		}
	}
}

static void count_verdict(const struct cancel_verdict *v)
{
	count(CANCEL_COUNT_turns);
	if (v->overload == CANCEL_RESOURCE)
		count(CANCEL_COUNT_resource_overloads);
	else if (v->overload == CANCEL_REGULAR)
		count(CANCEL_COUNT_regular_overloads);
}

static void show(const struct cancel_ledger *l, const struct cancel_verdict *v, uint64_t took_ns)
{
	struct cancel_status *s = &c.status;
	pthread_mutex_lock(&c.shown);
	s->precise = c.precise;
	s->acting = c.options.mode == CANCEL_ACT;
	s->action_stuck = c.action_stuck;
	s->live_tasks = l->task_count;
	s->resource_count = l->resource_count;
	s->overload = v->overload;
	s->held_back = v->held_back;
	text_of_held(v, &library_names, s->held_back_text);
	s->late_share_ppm = v->late_share_ppm;
	s->completed = l->completed;
	s->late = l->late;
	s->turn_last_ns = took_ns;
	if (took_ns > s->turn_worst_ns)
		s->turn_worst_ns = took_ns;
	memcpy(c.contention_ppm, v->contention_ppm, sizeof c.contention_ppm);
	memcpy(c.raw_metric, v->raw_metric, sizeof c.raw_metric);
	c.calm_mask = v->calm_mask;
	if (v->held_back != CANCEL_CAUSE_NONE && v->held_back < CANCEL_CAUSE_COUNT)
		c.held_back[v->held_back]++;
	pthread_mutex_unlock(&c.shown);
}

static void each_second(uint64_t now_ns)
{
	const char *why = load_acquire(&library_state.disabled_by);
	if (now_ns < c.next_second_ns)
		return;
	c.next_second_ns = now_ns + NS_PER_S;
	slo_learner_step(now_ns, c.fed ? feed_read_learned : totals_read_learned);
	log_misuse();
	if (why) {
		store_relaxed(&library_state.disabled_by, NULL);
		log_line("internal inconsistency: %s; the library is off until it is started again",
			why);
	}
}

/* Judges one look, acts and remembers. began_ns: the library's clock when the look began. */
static void judge(struct cancel_ledger *ledger, uint64_t began_ns)
{
	ledger->action_stuck = c.action_stuck;
	cancel_pipeline_step(c.pipeline, ledger, &c.verdict);
	recording_take(ledger, &c.verdict);
	if (c.verdict.decided)
		quarantine_take(&c.verdict.decision); /* before its client can be back */
	carry_out(&c.verdict);
	apply_precision(c.verdict.precise);
	uint64_t took_ns = clock_precise_ns() - began_ns;
	rerun_turn(&c.verdict);
	count_events(ledger);
	count_verdict(&c.verdict);
	show(ledger, &c.verdict, took_ns);
	PROBE3(window, ledger->now_ns, c.verdict.overload, c.verdict.late_share_ppm);
	decisions_take(&c.verdict);
	decisions_window(ledger, &c.verdict);
	recording_flush();
}

/* One controller turn: look, then judge. */
static void turn(void)
{
	uint64_t now_ns = clock_precise_ns();
	publish(now_ns);
	collect(&c.collector, now_ns);
	judge(&c.collector.ledger, now_ns);
}

/* ---- Options that change while it runs ------------------------------------------------------- */

static void fill_pipeline_config(void)
{
	struct cancel_pipeline_config *config = &c.options.pipeline;
	config->task_limit = c.task_limit;
	config->window_ms = c.options.window_ms;
	config->act = c.options.mode == CANCEL_ACT;
}

/* An SLO taken back is learned; one that was learned stays until another is given. */
static void apply_slo(uint32_t index, uint64_t slo_ns)
{
	bool was_given = c.slo_given[index];
	c.slo_given[index] = slo_ns != 0;
	if (slo_ns || was_given) {
		store_relaxed(&library_state.classes[index].slo_ns, slo_ns);
		slo_learner_forget(index);
	}
	if (!slo_ns && was_given)
		store_relaxed(&library_state.learning, true);
}

/* options.c has checked each value; what the core still refuses leaves it as it was. */
static void apply_options(void)
{
	rerun_limit_ms(c.options.rerun_max_ms);
	for (uint32_t i = 0; i < c.options.class_count; i++)
		apply_slo(i, c.options.classes[i].slo_ns);
	fill_pipeline_config();
	if (cancel_pipeline_configure(c.pipeline, &c.options.pipeline))
		log_line("the thresholds do not fit each other: the old ones stay");
	else
		recording_configure(&c.options.pipeline);
	apply_precision(c.verdict.precise);
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* With `wake` held: takes over what has been set since. */
static bool take_options(void)
{
	bool changed = c.options_changed;
	c.options_changed = false;
	if (changed)
		c.options = c.wanted;
	return changed;
}

/* Sleeps until due_ns of CLOCK_MONOTONIC; false when it is time to stop. */
static bool sleep_until(uint64_t due_ns)
{
	struct timespec due = {
		.tv_sec = (time_t)(due_ns / NS_PER_S),
		.tv_nsec = (long)(due_ns % NS_PER_S),
	};
	pthread_mutex_lock(&c.wake);
	while (!c.stopping && !pthread_cond_timedwait(&c.changed, &c.wake, &due))
		;
	bool go_on = !c.stopping, changed = take_options();
	pthread_mutex_unlock(&c.wake);
	if (changed)
		apply_options();
	return go_on;
}

/* The next of a rhythm, but never so soon that it would only make up for a late one. */
static uint64_t next_due(uint64_t due_ns, uint64_t every_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t next_ns = due_ns + every_ns, soonest_ns = now_ns + every_ns / 2;
	return next_ns > soonest_ns ? next_ns : soonest_ns;
}

static void *controller_main(void *ignored)
{
	uint64_t window_ns = (uint64_t)c.options.window_ms * NS_PER_MS;
	uint64_t tick_ns = clock_monotonic_ns(), turn_ns = tick_ns + window_ns;
	(void)ignored;
	own_thread = true;
	do {
		uint64_t now_ns = clock_precise_ns();
		publish(now_ns);
		watch_action(now_ns);
		if (tick_ns >= turn_ns && library_is_on()) {
			if (clock_monotonic_ns() > turn_ns + window_ns)
				count(CANCEL_COUNT_late_turns);
			turn();
			turn_ns = next_due(turn_ns, window_ns);
		}
		each_second(now_ns);
		tick_ns = next_due(tick_ns, TICK_NS);
	} while (sleep_until(tick_ns));
	clock_publish_precise();
	return NULL;
}

static int prepare_pipeline(void)
{
	fill_pipeline_config();
	size_t bytes = cancel_pipeline_bytes(&c.options.pipeline);
	if (!bytes)
		return CANCEL_EINVAL;
	c.pipeline = malloc(bytes);
	if (!c.pipeline)
		return CANCEL_ENOMEM;
	return cancel_pipeline_init(c.pipeline, bytes, &c.options.pipeline);
}

static void release(void)
{
	recording_stop();
	free(c.pipeline);
	c.pipeline = NULL;
	collector_free(&c.collector);
}

static void prepare_wake(void)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c.changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	c.stopping = false;
	c.options_changed = false;
}

static void forget_shown(void)
{
	pthread_mutex_lock(&c.shown);
	c.calm_mask = 0;
	memset(c.held_back, 0, sizeof c.held_back);
	memset(c.contention_ppm, 0, sizeof c.contention_ppm);
	memset(c.raw_metric, 0, sizeof c.raw_metric);
	c.status = (struct cancel_status){ .started_ns = clock_precise_ns() };
	pthread_mutex_unlock(&c.shown);
}

static void begin(const struct options *o)
{
	prepare_wake();
	forget_shown();
	c.options = *o;
	c.precise = o->always_precise && !o->no_precise;
	c.action_stuck = false;
	c.stuck_since_ns = 0;
	c.next_second_ns = 0;
	for (uint32_t i = 0; i < o->class_count; i++)
		c.slo_given[i] = o->classes[i].slo_ns != 0;
	memset(&c.verdict, 0, sizeof c.verdict);
}

/* As many as may live at once; but slots that an earlier run with more of them used are used
 * again. */
static uint32_t slots_to_read(const struct options *o)
{
	uint32_t used = load_acquire(&slot_high);
	return o->max_tasks > used ? o->max_tasks : used;
}

int controller_start(const struct options *o)
{
	begin(o);
	c.fed = false;
	c.task_limit = slots_to_read(o);
	int error = collector_init(&c.collector, c.task_limit);
	if (!error)
		error = prepare_pipeline();
	if (!error)
		error = recording_start(&c.options);
	if (!error)
		error = deliver_start();
	if (error) {
		release();
		return error;
	}
	error = thread_start(&c.thread, controller_main, "cancel-control");
	if (error) {
		deliver_stop();
		release();
	}
	return error;
}

int controller_start_fed(const struct options *o, cancel_sender send_fed)
{
	begin(o);
	c.fed = true;
	c.send_fed = send_fed;
	c.task_limit = o->max_tasks;
	int error = prepare_pipeline();
	if (!error)
		error = recording_start(&c.options);
	if (error)
		release();
	return error;
}

void controller_take_look(struct cancel_ledger *ledger)
{
	pthread_mutex_lock(&c.wake);
	bool changed = take_options();
	pthread_mutex_unlock(&c.wake);
	if (changed)
		apply_options();
	own_thread = true;
	judge(ledger, clock_precise_ns());
	each_second(ledger->now_ns);
	own_thread = false;
}

void controller_stop(void)
{
	if (c.fed) {
		pthread_cond_destroy(&c.changed);
		log_misuse();
		release();
		return;
	}
	pthread_mutex_lock(&c.wake);
	c.stopping = true;
	pthread_cond_signal(&c.changed);
	pthread_mutex_unlock(&c.wake);
	pthread_join(c.thread, NULL);
	pthread_cond_destroy(&c.changed);
	deliver_stop();
	log_misuse(); /* what the last second brought */
	release();
}

void controller_change(const struct options *o)
{
	pthread_mutex_lock(&c.wake);
	c.wanted = *o;
	c.options_changed = true;
	pthread_mutex_unlock(&c.wake);
}

/* ---- For other threads ----------------------------------------------------------------------- */

void controller_status(struct cancel_status *status)
{
	pthread_mutex_lock(&c.shown);
	*status = c.status;
	pthread_mutex_unlock(&c.shown);
}

void controller_contention(struct cancel_resource_info *resources, size_t count)
{
	pthread_mutex_lock(&c.shown);
	for (size_t i = 0; i < count && i < CANCEL_RESOURCES_MAX; i++) {
		resources[i].contention_ppm = c.contention_ppm[i];
		resources[i].raw_metric = c.raw_metric[i];
		resources[i].calm = c.calm_mask >> i & 1;
	}
	pthread_mutex_unlock(&c.shown);
}

void controller_held_back(uint64_t held_back[CANCEL_CAUSE_COUNT])
{
	pthread_mutex_lock(&c.shown);
	memcpy(held_back, c.held_back, sizeof c.held_back);
	pthread_mutex_unlock(&c.shown);
}

void controller_lock_for_fork(void)
{
	pthread_mutex_lock(&c.wake);
	pthread_mutex_lock(&c.shown);
}

void controller_unlock_after_fork(bool child)
{
	if (child) /* start prepares the rest anew */
		recording_abandon();
	pthread_mutex_unlock(&c.shown);
	pthread_mutex_unlock(&c.wake);
}

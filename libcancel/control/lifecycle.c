/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c - owns start, stop, options while running, and fork.
 *
 * One lock, `lifecycle`, outermost of all: start, stop and option changes one after the other.
 *
 * Fork. Before it, every lock of the library is taken in the order of libcancel/README.md; so in
 * the child no lock is held by a thread that does not exist there. The child then forgets
 * everything that belonged to those threads: slots are free under new generations, every id it
 * inherited is stale, the library is off. It may be started again, as in a new process.
 */
#include <cancel/feed.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "libcancel/control/controller.h"
#include "libcancel/control/decisions.h"
#include "libcancel/control/deliver.h"
#include "libcancel/control/feed.h"
#include "libcancel/control/log.h"
#include "libcancel/control/quarantine.h"
#include "libcancel/control/recording.h"
#include "libcancel/control/rerun.h"
#include "libcancel/control/slo_learner.h"
#include "libcancel/diag/journal.h"
#include "libcancel/diag/stack.h"
#include "libcancel/sys/clock.h"
#include "libcancel/track/count.h"
#include "libcancel/track/event.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/resource.h"
#include "libcancel/track/slot.h"
#include "libcancel/track/state_word.h"
#include "libcancel/track/task.h"
#include "libcancel/track/totals.h"

static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static bool started;
static struct options options;

/* ---- Fork ------------------------------------------------------------------------------------ */

static void before_fork(void)
{
	pthread_mutex_lock(&lifecycle);
	controller_lock_for_fork();
	decisions_lock_for_fork();
	quarantine_lock_for_fork();
	rerun_lock_for_fork();
	resources_lock();
	deliver_lock_for_fork();
	events_lock_for_fork();
	stacks_lock_for_fork();
	state_word_lock_for_fork();
}

static void after_fork(bool child)
{
	state_word_unlock_after_fork(child);
	stacks_unlock_after_fork(child);
	events_unlock_after_fork(child);
	deliver_unlock_after_fork(child);
	resources_unlock();
	rerun_unlock_after_fork(child);
	quarantine_unlock_after_fork();
	decisions_unlock_after_fork(child);
	controller_unlock_after_fork(child);
	pthread_mutex_unlock(&lifecycle);
}

static void in_parent(void)
{
	after_fork(false);
}

static void in_child(void)
{
	started = false;
	store_relaxed(&library_state.phase, LIBRARY_OFF);
	clock_publish_precise();
	slots_forget();
	totals_reset();
	after_fork(true);
	feed_stop();
	quarantine_forget();
}

static void prepare_once(void)
{
	clock_init();
	task_init();
	pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- Start ----------------------------------------------------------------------------------- */

static void complain(const struct options *o, const char *line)
{
	log_to(o->log, o->log_arg);
	log_line("%s", line);
}

/* Is any slot in use? */
static bool tasks_alive(void)
{
	uint32_t high = load_acquire(&slot_high);
	for (uint32_t i = 0; i < high; i++)
		if (state_in(load_acquire(&slot_at(i)->state_word)) != SLOT_FREE)
			return true;
	return false;
}

static void publish_options(const struct options *o)
{
	for (uint32_t i = 0; i < o->class_count; i++) {
		struct library_class *class = &library_state.classes[i];
		snprintf(class->name, sizeof class->name, "%s", o->classes[i].name);
		store_relaxed(&class->slo_ns, o->classes[i].slo_ns);
		store_relaxed(&class->exempt, o->classes[i].exempt);
		store_relaxed(&class->rank, o->classes[i].rank);
	}
	store_relaxed(&library_state.class_count, o->class_count);
	store_relaxed(&library_state.max_tasks, o->max_tasks);
	store_relaxed(&library_state.thread_cancel, o->thread_cancel);
	store_relaxed(&library_state.disabled_by, NULL);
}

static void forget_last_run(void)
{
	events_forget();
	count_reset();
	log_forget();
	decisions_forget();
	quarantine_forget();
	rerun_forget();
	totals_reset();
	if (!tasks_alive())
		resources_forget();
}

/* A path the host gave must work; one from the environment is an operator's, and the host starts
 * without it. */
static int open_journal(const struct cancel_config *config)
{
	if (!options.journal[0] || !journal_open(options.journal))
		return 0;
	log_line("the journal %s cannot be opened", options.journal);
	bool hosts = config && config->journal_path &&
		     strcmp(config->journal_path, options.journal) == 0;
	options.journal[0] = '\0';
	return hosts ? CANCEL_EINVAL : 0;
}

static int start(const struct cancel_config *config, bool fed)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, prepare_once);
	forget_last_run();
	int error = options_read(&options, config, complain);
	if (error)
		return error;
	log_to(options.log, options.log_arg);
	if (!fed)
		error = slots_reserve(options.max_tasks);
	if (error)
		return error;
	error = open_journal(config);
	if (error)
		return error;
	publish_options(&options);
	store_release(&task_capture_stack, stack_capture);
	rerun_limit_ms(options.rerun_max_ms);
	if (!fed)
		slo_learner_start(&options, clock_precise_ns());
	error = fed ? feed_start(&options) : controller_start(&options);
	if (error)
		journal_close();
	else if (!recording_is_on())
		options.record[0] = '\0';
	return error;
}

static int start_as(const struct cancel_config *config, enum library_phase phase)
{
	int error = CANCEL_ESTATE;
	if (count_own_thread())
		return error;
	pthread_mutex_lock(&lifecycle);
	if (!started) {
		error = start(config, phase == LIBRARY_FED);
		started = !error;
		if (started)
			store_release(&library_state.phase, phase);
	}
	pthread_mutex_unlock(&lifecycle);
	return error;
}

int cancel_start(const struct cancel_config *config)
{
	return start_as(config, LIBRARY_ON);
}

int cancel_start_feed(const struct cancel_config *config)
{
	return start_as(config, LIBRARY_FED);
}

int cancel_stop(void)
{
	int error = CANCEL_ESTATE;
	if (count_own_thread())
		return error;
	pthread_mutex_lock(&lifecycle);
	if (started) {
		store_release(&library_state.phase, LIBRARY_OFF);
		controller_stop();
		feed_stop();
		quarantine_forget();
		journal_close();
		started = false;
		error = 0;
	}
	pthread_mutex_unlock(&lifecycle);
	return error;
}

/* ---- Options and small things ---------------------------------------------------------------- */

int cancel_set_option(const char *name, const char *value)
{
	int error = CANCEL_ESTATE;
	if (count_own_thread()) /* stop would wait for it, and it for stop */
		return error;
	pthread_mutex_lock(&lifecycle);
	if (started) {
		error = options_set(&options, name, value, true);
		if (!error)
			controller_change(&options);
	}
	pthread_mutex_unlock(&lifecycle);
	return error;
}

int cancel_option(uint32_t index, const char **name, char value[CANCEL_TEXT_MAX], bool *writable)
{
	if (count_own_thread())
		return CANCEL_ESTATE;
	pthread_mutex_lock(&lifecycle);
	int error = started ? options_text(&options, index, name, value, writable) : CANCEL_ESTATE;
	pthread_mutex_unlock(&lifecycle);
	return error;
}

int cancel_option_choices(const char *name, char text[CANCEL_TEXT_MAX])
{
	text[0] = '\0';
	if (count_own_thread())
		return CANCEL_ESTATE;
	pthread_mutex_lock(&lifecycle);
	int error = started ? options_choices(&options, name, text) : CANCEL_ESTATE;
	pthread_mutex_unlock(&lifecycle);
	return error;
}

uint64_t cancel_now_ns(void)
{
	return clock_precise_ns();
}

const char *cancel_error_text(int error)
{
	switch (error) {
#define X(name, number, text)                                                                      \
	case name:                                                                                 \
		return text;
		CANCEL_ERRORS(X)
#undef X
	default:
		return error ? "unknown error" : "no error";
	}
}

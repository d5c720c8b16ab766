/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller.c - owns start and stop, and the controller thread with its tick.
 */
#include <cancel/cancel.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libcancel/control/deliver.h"
#include "libcancel/control/thread.h"
#include "libcancel/track/resource.h"
#include "libcancel/track/run.h"
#include "libcancel/track/task.h"
#include "libcancel/track/totals.h"
#include "libcancel/track/word.h"

#define TICK_NS		  10000000u
#define MAX_TASKS_DEFAULT 4096u

static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;

static struct {
	pthread_mutex_t lock; /* of stopping */
	pthread_cond_t changed;
	bool stopping;
	pthread_t thread;
} controller = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *controller_main(void *ignored)
{
	(void)ignored;
	own_thread = true;
	uint64_t due_ns = clock_monotonic_ns();
	pthread_mutex_lock(&controller.lock);
	while (!controller.stopping) {
		due_ns += TICK_NS;
		struct timespec due = {
			.tv_sec = (time_t)(due_ns / 1000000000u),
			.tv_nsec = (long)(due_ns % 1000000000u),
		};
		clock_publish_coarse(clock_precise_ns());
		pthread_cond_timedwait(&controller.changed, &controller.lock, &due);
	}
	pthread_mutex_unlock(&controller.lock);
	clock_publish_precise();
	return NULL;
}

static void read_classes(const struct cancel_config *c)
{
	uint32_t n = c && c->class_count ? c->class_count : 1;
	snprintf(run.classes[0].name, CANCEL_NAME_MAX, "default");
	for (uint32_t i = 0; c && i < c->class_count; i++) {
		snprintf(run.classes[i].name, CANCEL_NAME_MAX, "%s", c->classes[i].name);
		store_relaxed(&run.classes[i].slo_ns, c->classes[i].slo_ns);
		store_relaxed(&run.classes[i].exempt, c->classes[i].exempt);
	}
	store_relaxed(&run.class_count, n);
}

static int start_threads(void)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&controller.changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	controller.stopping = false;
	if (deliver_start())
		return CANCEL_ETHREAD;
	if (thread_start(&controller.thread, controller_main, "cancel-control")) {
		deliver_stop();
		return CANCEL_ETHREAD;
	}
	return 0;
}

int cancel_start(const struct cancel_config *config)
{
	int error;
	if (config && config->class_count > CANCEL_CLASSES_MAX)
		return CANCEL_EINVAL;
	pthread_mutex_lock(&lifecycle);
	if (load_relaxed(&run.state) != RUN_OFF) {
		pthread_mutex_unlock(&lifecycle);
		return CANCEL_ESTATE;
	}
	clock_init();
	task_init();
	read_classes(config);
	store_relaxed(&run.max_tasks,
		config && config->max_tasks ? config->max_tasks : MAX_TASKS_DEFAULT);
	store_relaxed(&run.thread_cancel, config && config->thread_cancel);
	error = slots_reserve(load_relaxed(&run.max_tasks));
	if (!error)
		error = start_threads();
	if (!error)
		store_release(&run.state, RUN_ON);
	pthread_mutex_unlock(&lifecycle);
	return error;
}

int cancel_stop(void)
{
	if (own_thread)
		return CANCEL_ESTATE;
	pthread_mutex_lock(&lifecycle);
	if (load_relaxed(&run.state) == RUN_OFF) {
		pthread_mutex_unlock(&lifecycle);
		return CANCEL_ESTATE;
	}
	store_release(&run.state, RUN_OFF);
	pthread_mutex_lock(&controller.lock);
	controller.stopping = true;
	pthread_cond_signal(&controller.changed);
	pthread_mutex_unlock(&controller.lock);
	pthread_join(controller.thread, NULL);
	deliver_stop();
	pthread_mutex_unlock(&lifecycle);
	return 0;
}

uint64_t cancel_now_ns(void)
{
	return load_acquire(&clock_page.ready) ? clock_precise_ns() : clock_monotonic_ns();
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

enum cancel_rerun_answer cancel_rerun(struct cancel_task task, struct cancel_ticket *ticket)
{
	bool borrowed;
	struct slot *s = task.id ? task_hold(task.id, &borrowed) : NULL;
	(void)ticket;
	if (!s)
		return CANCEL_RERUN;
	store_relaxed(&s->flags, load_relaxed(&s->flags) | CANCEL_RERUNNING);
	store_relaxed(&s->cold->acknowledged, false);
	word_restart(s);
	task_let_go(s, borrowed);
	return CANCEL_RERUN;
}

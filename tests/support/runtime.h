/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - what tests of the running library share: a quiet start, a look at one's own task.
 */
#ifndef SUPPORT_RUNTIME_H
#define SUPPORT_RUNTIME_H

#include "test.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include <cancel/observe.h>

#include "libcancel/track/read.h"

#include "patience.h"

#define UNUSED __attribute__((unused))

/* TSan does not let a child of several threads have threads of its own. */
#if defined(__SANITIZE_THREAD__)
#define UNTHREADED_CHILD true
#elif defined(__has_feature)
#define UNTHREADED_CHILD __has_feature(thread_sanitizer)
#else
#define UNTHREADED_CHILD false
#endif

static char said[4096]; /* every line logged since the last start, a line each */
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static UNUSED void say(void *arg, const char *line)
{
	(void)arg;
	pthread_mutex_lock(&said_lock);
	size_t used = strlen(said), length = strlen(line);
	if (used + length + 2 <= sizeof said) {
		memcpy(said + used, line, length);
		memcpy(said + used + length, "\n", 2);
	}
	pthread_mutex_unlock(&said_lock);
}

/* While the library runs, its threads may be saying something. */
static UNUSED bool was_said(const char *text)
{
	pthread_mutex_lock(&said_lock);
	bool found = strstr(said, text) != NULL;
	pthread_mutex_unlock(&said_lock);
	return found;
}

/* Starts with this configuration's lines kept in `said`. */
static UNUSED void start_with(struct cancel_config config)
{
	config.struct_size = sizeof config;
	config.log = say;
	said[0] = '\0';
	assert_int_equal(startCancel(&config), 0);
}

static UNUSED void start_quietly(void)
{
	start_with((struct cancel_config){ 0 });
}

/* Ends a test, or a group of them. */
static UNUSED int stop(void **state)
{
	(void)state;
	return stopCancel();
}

static UNUSED struct cancel_counters counters_now(void)
{
	struct cancel_counters counters;
	cancel_read_counters(&counters);
	return counters;
}

/* The current task as the collector sees it. */
struct look {
	struct cancel_ledger_task task;
	struct cancel_ledger_entry entries[CANCEL_ENTRIES_MAX];
	struct ended_use folded[CANCEL_RESOURCES_MAX];
};

static UNUSED struct look look_at_current(void)
{
	struct look look;
	memset(&look, 0, sizeof look);
	assert_non_null(current_slot);
	assert_int_equal(slot_read(current_slot, clock_precise_ns(), CANCEL_RESOURCES_MAX,
				 &look.task, look.entries, look.folded),
		READ_LIVE);
	return look;
}

#endif

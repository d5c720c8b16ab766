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

/* TSan lets no child of several threads have threads of its own, and loses its way when
 * pthread_cancel ends a thread in a call that it wraps. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN false
#endif

static char log_lines[4096]; /* every line logged since the last start, a line each */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static UNUSED void keep_line(void *arg, const char *line)
{
	(void)arg;
	pthread_mutex_lock(&log_lock);
	size_t used = strlen(log_lines), length = strlen(line);
	if (used + length + 2 <= sizeof log_lines) {
		memcpy(log_lines + used, line, length);
		memcpy(log_lines + used + length, "\n", 2);
	}
	pthread_mutex_unlock(&log_lock);
}

/* While the library runs, its threads may be saying something. */
static UNUSED bool was_logged(const char *text)
{
	pthread_mutex_lock(&log_lock);
	bool found = strstr(log_lines, text) != NULL;
	pthread_mutex_unlock(&log_lock);
	return found;
}

/* Starts with this configuration's lines kept in `log_lines`. */
static UNUSED void start_with(struct cancel_config config)
{
	config.struct_size = sizeof config;
	config.log = keep_line;
	log_lines[0] = '\0';
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
struct inspection {
	struct cancel_ledger_task task;
	struct cancel_ledger_entry entries[CANCEL_ENTRIES_MAX];
	struct ended_use folded[CANCEL_RESOURCES_MAX];
};

static UNUSED struct inspection inspect_current(void)
{
	struct inspection seen;
	memset(&seen, 0, sizeof seen);
	assert_non_null(current_slot);
	assert_int_equal(slot_read(current_slot, clock_precise_ns(), CANCEL_RESOURCES_MAX,
				 &seen.task, seen.entries, seen.folded),
		READ_LIVE);
	return seen;
}

#endif

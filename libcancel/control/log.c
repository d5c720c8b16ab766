/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - owns the log, in which each kind of line stands once. Tracked threads never log: they
 * count, and the controller logs what was counted; so no host code runs inside a hot call.
 */
#include "libcancel/control/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "libcancel/track/count.h"

static void (*host_line)(void *arg, const char *line);
static void *host_arg;
static bool logged[CANCEL_COUNTER_COUNT];

#define LOGGED_ONCE CANCEL_COUNT_turns /* the counters before this one are misuse or full tables */

void log_to(void (*line)(void *arg, const char *line), void *arg)
{
	host_line = line;
	host_arg = arg;
}

void log_line(const char *format, ...)
{
	char text[CANCEL_TEXT_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (host_line)
		host_line(host_arg, text);
	else
		fprintf(stderr, "libcancel: %s\n", text);
}

void log_misuse(void)
{
	uint64_t totals[CANCEL_COUNTER_COUNT];
	count_read(totals);
	for (int i = 0; i < LOGGED_ONCE; i++) {
		if (logged[i] || !totals[i])
			continue;
		logged[i] = true;
		log_line("%s: %s; counted from now on, not said again",
			cancel_counter_name((enum cancel_counter)i),
			cancel_counter_text((enum cancel_counter)i));
	}
}

void log_forget(void)
{
	for (int i = 0; i < CANCEL_COUNTER_COUNT; i++)
		logged[i] = false;
}

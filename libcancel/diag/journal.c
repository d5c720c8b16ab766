/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c - owns the journal file. A line is one write to a descriptor opened for appending: a
 * crash leaves whole lines, a forked child shares no buffer, several processes may share the file.
 */
#include "libcancel/diag/journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 16384

static int file = -1;

struct line {
	size_t used;
	bool full;
	char text[LINE_MAX_BYTES];
};

__attribute__((format(printf, 2, 3))) static void put(struct line *l, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	size_t room = sizeof l->text - l->used;
	int n = vsnprintf(l->text + l->used, room, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= room)
		l->full = true;
	else
		l->used += (size_t)n;
}

static void put_string(struct line *l, const char *name, const char *value)
{
	put(l, ",\"%s\":\"", name);
	for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
		if (*c == '"' || *c == '\\')
			put(l, "\\%c", *c);
		else if (*c < 0x20)
			put(l, "\\u%04x", *c);
		else
			put(l, "%c", *c);
	}
	put(l, "\"");
}

static void put_number(struct line *l, const char *name, uint64_t value)
{
	put(l, ",\"%s\":%" PRIu64, name, value);
}

static void put_flag(struct line *l, const char *name, bool value)
{
	put(l, ",\"%s\":%s", name, value ? "true" : "false");
}

static void put_decision(struct line *l, const struct cancel_decision_record *r)
{
	const struct cancel_decision *d = &r->decision;
	char resource[CANCEL_NAME_MAX];
	put_string(l, "text", r->text);
	put_number(l, "task", d->target.task);
	put_number(l, "key", d->target.key);
	put_number(l, "signature", d->target.signature);
	put_flag(l, "acted", d->acted);
	put_flag(l, "escalation", d->escalation);
	put_flag(l, "returning", d->returning);
	put_string(l, "ends", d->strength == CANCEL_END_SESSION ? "session" : "statement");
	put_string(l, "policy", d->policy ? d->policy : "");
	put_string(l, "estimator", d->estimator ? d->estimator : "");
	put_number(l, "score_micro", d->target.score_micro);
	put_number(l, "runner_up_score_micro", d->runner_up.score_micro);
	put_number(l, "late_share_ppm", d->late_share_ppm);
	put(l, ",\"contention_ppm\":{");
	const char *comma = "";
	for (int i = 0; i < CANCEL_RESOURCES_MAX; i++) {
		if (!(d->blamed_mask >> i & 1))
			continue;
		cancel_resource_name(i, resource);
		put(l, "%s\"%s\":%" PRIu32, comma, resource, d->contention_ppm[i]);
		comma = ",";
	}
	put(l, "}");
}

static void put_outcome(struct line *l, const struct cancel_outcome *o)
{
	const struct cancel_times *t = &o->times;
	put_number(l, "onset_ns", t->onset_ns);
	put_number(l, "suspected_ns", t->suspected_ns);
	put_number(l, "decided_ns", t->decided_ns);
	put_number(l, "delivered_ns", t->delivered_ns);
	put_number(l, "acknowledged_ns", t->acknowledged_ns);
	put_number(l, "released_ns", t->released_ns);
	put_number(l, "effective_ns", t->effective_ns);
	put_number(l, "recovered_ns", t->recovered_ns);
	put_number(l, "wasted_ns", o->wasted_ns);
	put_number(l, "rerun_wait_ns", o->rerun_wait_ns);
	put_number(l, "reruns", o->reruns);
	put_flag(l, "dropped", o->dropped);
	put_flag(l, "excluded", o->excluded);
}

static const char *change_name(enum cancel_change change)
{
	switch (change) {
	case CANCEL_CHANGE_DECIDED:
		return "decided";
	case CANCEL_CHANGE_OUTCOME:
		return "outcome";
	case CANCEL_CHANGE_STACK:
		return "stack";
	case CANCEL_CHANGE_FINAL:
		return "final";
	}
	return "?";
}

int journal_open(const char *path)
{
	journal_close();
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return file < 0 ? CANCEL_EINVAL : 0;
}

void journal_close(void)
{
	if (file >= 0)
		close(file);
	file = -1;
}

bool journal_decision(enum cancel_change change, const struct cancel_decision_record *r)
{
	static struct line l; /* controller thread only; too big for its stack */
	if (file < 0)
		return true;
	l.used = 0;
	l.full = false;
	put(&l, "{\"event\":\"%s\",\"serial\":%" PRIu64, change_name(change), r->serial);
	if (change == CANCEL_CHANGE_DECIDED)
		put_decision(&l, r);
	else if (change == CANCEL_CHANGE_STACK)
		put_string(&l, "stack", r->stack);
	else
		put_outcome(&l, &r->outcome);
	put(&l, "}\n");
	if (l.full || write(file, l.text, l.used) == (ssize_t)l.used)
		return true;
	journal_close();
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - turns the core's structs into the one line an operator reads.
 */
#include "libcancel/recorder/text.h"

#include <stdio.h>

static unsigned percent(uint32_t ppm)
{
	return (ppm + 5000) / 10000;
}

static double whole(uint64_t micro)
{
	return (double)micro / 1e6;
}

static const char *what_happened(const struct cancel_decision *d)
{
	bool idle = d->strength == CANCEL_END_SESSION;
	if (!d->acted)
		return idle ? "would be cancelled while idle" : "would be cancelled";
	if (idle)
		return d->escalation ? "cancelled again while idle" : "cancelled while idle";
	return d->escalation ? "cancelled again" : "cancelled";
}

/* A task by the host's key, or by its order of creation where the host gave none. */
static void task_name(char *to, size_t room, const struct text_names *names, uint64_t key,
	uint64_t sequence, uint32_t class_index)
{
	char class_name[CANCEL_NAME_MAX];
	names->class_of(names->arg, class_index, class_name);
	if (key)
		snprintf(to, room, "task %llu (%s)", (unsigned long long)key, class_name);
	else
		snprintf(to, room, "task #%llu (%s)", (unsigned long long)sequence, class_name);
}

/* The resource that mattered most: the largest part of the score. */
static uint32_t main_resource(const struct cancel_decision *d)
{
	struct cancel_explanation x;
	cancel_explain(d, &x);
	if (x.part_count)
		return x.parts[0].resource;
	return d->top_resource < CANCEL_RESOURCES_MAX ? d->top_resource : 0;
}

void text_of_decision(
	const struct cancel_decision *d, const struct text_names *names, char text[CANCEL_TEXT_MAX])
{
	char task[80], resource[CANCEL_NAME_MAX], runner_up[48] = "", quarantine[48] = "";
	uint32_t r = main_resource(d);
	task_name(
		task, sizeof task, names, d->target.key, d->target.sequence, d->target.class_index);
	names->resource(names->arg, r, resource);
	if (d->runner_up.task)
		snprintf(runner_up, sizeof runner_up, "; runner-up %.2f",
			whole(d->runner_up.gain_micro[r]));
	if (d->quarantine_until_ns > d->decided_ns)
		snprintf(quarantine, sizeof quarantine, "; its origin %s kept out for %.1f s",
			d->acted ? "is" : "would be",
			(double)(d->quarantine_until_ns - d->decided_ns) / 1e9);
	snprintf(text, CANCEL_TEXT_MAX,
		"%s %s: %u %% of execution time lost to %s; gain %.2f%s%s%s", task,
		what_happened(d), percent(d->contention_ppm[r]), resource,
		whole(d->target.gain_micro[r]), runner_up, d->returning ? "; it has returned" : "",
		quarantine);
}

void text_of_excluded(
	const struct cancel_decision *d, const struct text_names *names, char text[CANCEL_TEXT_MAX])
{
	char task[80];
	task_name(
		task, sizeof task, names, d->target.key, d->target.sequence, d->target.class_index);
	snprintf(text, CANCEL_TEXT_MAX,
		"%s has ignored two cancels and is left alone; what it holds stays barred", task);
}

void text_of_held(
	const struct cancel_verdict *v, const struct text_names *names, char text[CANCEL_TEXT_MAX])
{
	char task[80];
	const struct cancel_contender *held = &v->held;
	if (v->held_back == CANCEL_CAUSE_NONE) {
		text[0] = '\0';
		return;
	}
	if (!held->task) {
		snprintf(text, CANCEL_TEXT_MAX, "nothing cancelled: %s",
			cancel_cause_name(v->held_back));
		return;
	}
	task_name(task, sizeof task, names, held->key, held->sequence, held->class_index);
	snprintf(text, CANCEL_TEXT_MAX, "nothing cancelled: %s carries %u %%, but %s", task,
		percent(held->blame_ppm), cancel_cause_name(held->held_back));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - owns the table of options: their names, ranges and defaults. Those of the thresholds
 * are the rows of policy.h.
 *
 * Three sources, later ones win: the default, the host's struct cancel_config, the environment. A
 * host's mistake is an error; an operator's typing mistake is one log line, and the host starts.
 */
#include "libcancel/control/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcancel/base/struct_size.h"
#include "libcancel/control/slo_learner.h"
#include "libcancel/core/settings.h"
#include "libcancel/track/count.h"
#include "libcancel/track/slot.h"

enum kind { NUMBER, SWITCH, MODE, POLICY, ESTIMATOR, TEXT, SLO };

struct option {
	const char *name;
	enum kind kind;
	bool writable; /* while running */
	size_t offset; /* in struct options */
	uint32_t fallback, min, max;
};

#define AT(field) offsetof(struct options, field)
static const struct option table[] = { { "mode", MODE, true, AT(mode), CANCEL_MONITOR, 0, 1 },
	{ "window_ms", NUMBER, false, AT(window_ms), 50, 10, 60000 },
	{ "max_tasks", NUMBER, false, AT(max_tasks), 4096, 1, SLOTS_MAX },
	{ "policy", POLICY, true, AT(policy), 0, 0, 0 },
	{ "estimator", ESTIMATOR, true, AT(estimator), 0, 0, 0 },
	{ "slo_ms", SLO, true, 0, 0, 0, 0 },
	{ "rerun_max_ms", NUMBER, true, AT(rerun_max_ms), 10000, 1, 3600000 },
	{ "action_max_ms", NUMBER, true, AT(action_max_ms), 1000, 1, 3600000 },
	{ "thread_cancel", SWITCH, false, AT(thread_cancel), 0, 0, 1 },
	{ "no_precise", SWITCH, true, AT(no_precise), 0, 0, 1 },
	{ "always_precise", SWITCH, true, AT(always_precise), 0, 0, 1 },
	{ "journal", TEXT, false, AT(journal), 0, 0, 0 },
	{ "record", TEXT, false, AT(record), 0, 0, 0 },
	{ "record_flight", SWITCH, false, AT(record_flight), 0, 0, 1 },
#define X(name, fallback, min, max, text)                                                          \
	{ #name, NUMBER, true, AT(pipeline.name), fallback, min, max },
	CANCEL_THRESHOLDS(X)
#undef X
};
#define OPTIONS (sizeof table / sizeof table[0])

static uint32_t *number_of(struct options *o, const struct option *option)
{
	return (uint32_t *)((char *)o + option->offset);
}

/* ---- One value ------------------------------------------------------------------------------- */

static int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;
	errno = 0;
	if (text[0] < '0' || text[0] > '9')
		return CANCEL_EINVAL;
	unsigned long long n = strtoull(text, &end, 10);
	if (errno || *end || n < min || n > max)
		return CANCEL_EINVAL;
	*value = n;
	return 0;
}

static int set_number(uint32_t *to, const struct option *option, const char *text)
{
	uint64_t value;
	int error = parse_number(text, option->min, option->max, &value);
	if (!error)
		*to = (uint32_t)value;
	return error;
}

static int set_mode(uint32_t *to, const char *text)
{
	if (strcmp(text, "monitor") == 0)
		*to = CANCEL_MONITOR;
	else if (strcmp(text, "act") == 0)
		*to = CANCEL_ACT;
	else
		return CANCEL_EINVAL;
	return 0;
}

static int set_text(char *to, size_t room, const char *text)
{
	if (strlen(text) >= room)
		return CANCEL_EINVAL;
	memcpy(to, text, strlen(text) + 1);
	return 0;
}

/* Milliseconds, decimals allowed: "0.5". */
static int parse_ms(const char *text, size_t length, uint64_t *ns)
{
	char number[32], *end;
	if (length == 0 || length >= sizeof number)
		return CANCEL_EINVAL;
	memcpy(number, text, length);
	number[length] = '\0';
	if (strspn(number, "0123456789.") != length)
		return CANCEL_EINVAL;
	double ms = strtod(number, &end);
	if (*end || ms > 3600e3)
		return CANCEL_EINVAL;
	*ns = (uint64_t)(ms * 1e6);
	return 0;
}

static int set_all_slos(struct options *o, const char *number, size_t length)
{
	uint64_t ns;
	uint32_t changed = 0;
	if (parse_ms(number, length, &ns))
		return CANCEL_EINVAL;
	for (uint32_t i = 0; i < o->class_count; i++) {
		if (o->classes[i].by_name)
			continue;
		o->classes[i].slo_ns = ns;
		changed++;
	}
	return changed ? 0 : CANCEL_EINVAL;
}

static int set_one_slo(struct options *o, const char *part, size_t length)
{
	const char *equals = memchr(part, '=', length);
	uint64_t ns;
	if (!equals)
		return set_all_slos(o, part, length);
	size_t name_length = (size_t)(equals - part);
	if (parse_ms(equals + 1, length - name_length - 1, &ns))
		return CANCEL_EINVAL;
	for (uint32_t i = 0; i < o->class_count; i++)
		if (strlen(o->classes[i].name) == name_length &&
			memcmp(o->classes[i].name, part, name_length) == 0) {
			o->classes[i].slo_ns = ns;
			return 0;
		}
	return CANCEL_EINVAL;
}

/* "5" for every class but those by name, "reads=5,dump=0" by name, or both, left to right; all or
 * nothing. */
static int set_slo(struct options *o, const char *text)
{
	struct options changed = *o;
	for (const char *part = text;; part++) {
		size_t length = strcspn(part, ",");
		if (set_one_slo(&changed, part, length))
			return CANCEL_EINVAL;
		part += length;
		if (!*part)
			break;
	}
	*o = changed;
	return 0;
}

static int set_policy(struct options *o, const char *text)
{
	const struct cancel_policy *policy = cancel_policy_find(text);
	if (!policy)
		return CANCEL_EINVAL;
	o->pipeline.policy = policy;
	return set_text(o->policy, sizeof o->policy, text);
}

static int set_estimator(struct options *o, const char *text)
{
	const struct cancel_estimator *estimator = cancel_estimator_find(text);
	if (!estimator)
		return CANCEL_EINVAL;
	o->pipeline.estimator = estimator;
	return set_text(o->estimator, sizeof o->estimator, text);
}

static int set_value(struct options *o, const struct option *option, const char *text)
{
	switch (option->kind) {
	case NUMBER:
	case SWITCH:
		return set_number(number_of(o, option), option, text);
	case MODE:
		return set_mode(number_of(o, option), text);
	case POLICY:
		return set_policy(o, text);
	case ESTIMATOR:
		return set_estimator(o, text);
	case TEXT:
		return set_text((char *)o + option->offset, OPTION_PATH_MAX, text);
	case SLO:
		return set_slo(o, text);
	}
	return CANCEL_EINVAL;
}

/* ---- What an option takes -------------------------------------------------------------------- */

/* "a, b and so on": the classes that an SLO without a name sets, or the others. */
static void class_names(const struct options *o, bool by_name, char *text, size_t room)
{
	size_t used = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < o->class_count && used < room; i++)
		if (o->classes[i].by_name == by_name)
			used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "",
				o->classes[i].name);
}

static void slo_choices(const struct options *o, char text[CANCEL_TEXT_MAX])
{
	char set[CANCEL_TEXT_MAX / 3], others[CANCEL_TEXT_MAX / 3];
	class_names(o, false, set, sizeof set);
	class_names(o, true, others, sizeof others);
	snprintf(text, CANCEL_TEXT_MAX,
		"milliseconds for %s, or CLASS=MS with commas between them%s%s", set,
		others[0] ? "; CLASS may be these and " : "", others);
}

static void policy_choices(char text[CANCEL_TEXT_MAX])
{
	size_t used = 0;
	for (uint32_t i = 0; cancel_policies[i] && used < CANCEL_TEXT_MAX; i++)
		used += (size_t)snprintf(text + used, CANCEL_TEXT_MAX - used, "%s%s",
			i ? ", " : "one of ", cancel_policies[i]->name);
}

static void estimator_choices(char text[CANCEL_TEXT_MAX])
{
	size_t used = 0;
	for (uint32_t i = 0; cancel_estimators[i] && used < CANCEL_TEXT_MAX; i++)
		used += (size_t)snprintf(text + used, CANCEL_TEXT_MAX - used, "%s%s",
			i ? ", " : "one of ", cancel_estimators[i]->name);
}

static void write_choices(
	const struct options *o, const struct option *option, char text[CANCEL_TEXT_MAX])
{
	switch (option->kind) {
	case NUMBER:
		snprintf(text, CANCEL_TEXT_MAX, "a number from %u to %u", option->min, option->max);
		break;
	case SWITCH:
		snprintf(text, CANCEL_TEXT_MAX, "0 or 1");
		break;
	case MODE:
		snprintf(text, CANCEL_TEXT_MAX, "monitor or act");
		break;
	case POLICY:
		policy_choices(text);
		break;
	case ESTIMATOR:
		estimator_choices(text);
		break;
	case TEXT:
		snprintf(text, CANCEL_TEXT_MAX, "a path under %d bytes", OPTION_PATH_MAX);
		break;
	case SLO:
		slo_choices(o, text);
		break;
	}
}

int options_choices(const struct options *o, const char *name, char text[CANCEL_TEXT_MAX])
{
	for (size_t i = 0; name && i < OPTIONS; i++) {
		if (strcmp(table[i].name, name) != 0)
			continue;
		write_choices(o, &table[i], text);
		return 0;
	}
	return CANCEL_ENOTASK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int set_from_host(uint32_t *to, const char *name, uint32_t value)
{
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *option = &table[i];
		if (strcmp(option->name, name) != 0)
			continue;
		if (!value)
			value = option->fallback;
		if (value < option->min || value > option->max)
			return CANCEL_EINVAL;
		*to = value;
		return 0;
	}
	return CANCEL_EINVAL;
}

static int read_classes(struct options *o, const struct cancel_config *c)
{
	if (c->class_count > CANCEL_CLASSES_MAX || (c->class_count && !c->classes))
		return CANCEL_EINVAL;
	o->class_count = c->class_count ? c->class_count : 1;
	snprintf(o->classes[0].name, CANCEL_NAME_MAX, "default");
	for (uint32_t i = 0; i < c->class_count; i++) {
		if (!c->classes[i].name)
			return CANCEL_EINVAL;
		snprintf(o->classes[i].name, CANCEL_NAME_MAX, "%s", c->classes[i].name);
		o->classes[i].slo_ns = c->classes[i].slo_ns;
		o->classes[i].exempt = c->classes[i].exempt;
		o->classes[i].rank = c->classes[i].rank;
		o->classes[i].by_name = c->classes[i].by_name;
	}
	return 0;
}

static int read_thresholds(struct options *o, option_complaint complain)
{
	char line[CANCEL_TEXT_MAX];
	settings_fill(&o->pipeline);
	const struct threshold *bad = settings_find_bad(&o->pipeline);
	if (!bad)
		return 0;
	snprintf(line, sizeof line, "pipeline.%s is %u: it takes %u to %u, or 0 for the default",
		bad->name, settings_value(&o->pipeline, bad), bad->min, bad->max);
	complain(o, line);
	return CANCEL_EINVAL;
}

static int read_pipeline(
	struct options *o, const struct cancel_config *c, option_complaint complain)
{
	if (!struct_size_read(&o->pipeline, sizeof o->pipeline, c->pipeline))
		return CANCEL_EINVAL;
	o->pipeline.struct_size = sizeof o->pipeline;
	if (read_thresholds(o, complain))
		return CANCEL_EINVAL;
	const char *policy = c->policy ? c->policy : cancel_policies[0]->name;
	const char *estimator = c->estimator ? c->estimator : cancel_estimators[0]->name;
	if (o->pipeline.policy && !c->policy)
		snprintf(o->policy, sizeof o->policy, "%s", o->pipeline.policy->name);
	else if (set_policy(o, policy))
		return CANCEL_EINVAL;
	if (o->pipeline.estimator && !c->estimator)
		snprintf(o->estimator, sizeof o->estimator, "%s", o->pipeline.estimator->name);
	else if (set_estimator(o, estimator))
		return CANCEL_EINVAL;
	return 0;
}

static int read_config(struct options *o, const struct cancel_config *c, option_complaint complain)
{
	o->mode = c->mode;
	o->thread_cancel = c->thread_cancel;
	o->no_precise = c->no_precise;
	o->always_precise = c->always_precise;
	o->log = c->log;
	o->log_arg = c->log_arg;
	if (c->mode > CANCEL_ACT || set_from_host(&o->window_ms, "window_ms", c->window_ms) ||
		set_from_host(&o->max_tasks, "max_tasks", c->max_tasks) ||
		set_from_host(&o->rerun_max_ms, "rerun_max_ms", c->rerun_max_ms) ||
		set_from_host(&o->action_max_ms, "action_max_ms", c->action_max_ms))
		return CANCEL_EINVAL;
	if (c->journal_path && set_text(o->journal, sizeof o->journal, c->journal_path))
		return CANCEL_EINVAL;
	if (c->record_path && set_text(o->record, sizeof o->record, c->record_path))
		return CANCEL_EINVAL;
	o->record_flight = c->record_flight;
	if (read_classes(o, c) || read_pipeline(o, c, complain))
		return CANCEL_EINVAL;
	return 0;
}

static void variable_name(char *to, size_t room, const char *name)
{
	snprintf(to, room, "CANCEL_%s", name);
	for (char *c = to; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
}

/* An SLO without a name, where it does not hold for every class: says which it sets. */
static void say_whose_slo(
	const struct options *o, const char *variable, const char *value, option_complaint complain)
{
	char line[CANCEL_TEXT_MAX], set[CANCEL_TEXT_MAX / 4], others[CANCEL_TEXT_MAX / 4];
	class_names(o, false, set, sizeof set);
	class_names(o, true, others, sizeof others);
	if (strchr(value, '=') || !others[0])
		return;
	snprintf(line, sizeof line, "%.40s=%.20s sets %s; %s is set by its name alone", variable,
		value, set, others);
	complain(o, line);
}

static void read_environment(struct options *o, option_complaint complain)
{
	for (size_t i = 0; i < OPTIONS; i++) {
		char variable[40], line[CANCEL_TEXT_MAX], choices[CANCEL_TEXT_MAX];
		variable_name(variable, sizeof variable, table[i].name);
		const char *value = secure_getenv(variable);
		if (!value)
			continue;
		if (!set_value(o, &table[i], value)) {
			if (table[i].kind == SLO)
				say_whose_slo(o, variable, value, complain);
			continue;
		}
		count(CANCEL_COUNT_options_rejected);
		options_choices(o, table[i].name, choices);
		snprintf(line, sizeof line, "%s=%.20s is ignored: it takes %.140s", variable, value,
			choices);
		complain(o, line);
	}
}

int options_read(struct options *o, const struct cancel_config *config, option_complaint complain)
{
	struct cancel_config c;
	*o = (struct options){ 0 };
	if (!struct_size_read(&c, sizeof c, config))
		return CANCEL_EINVAL;
	int error = read_config(o, &c, complain);
	if (error)
		return error;
	read_environment(o, complain);
	o->record_must = c.record_path && strcmp(c.record_path, o->record) == 0;
	return 0;
}

int options_set(struct options *o, const char *name, const char *value, bool live)
{
	for (size_t i = 0; name && value && i < OPTIONS; i++) {
		if (strcmp(table[i].name, name) != 0)
			continue;
		if (live && !table[i].writable)
			return CANCEL_ESTATE;
		return set_value(o, &table[i], value);
	}
	return CANCEL_EINVAL;
}

/* ---- As text --------------------------------------------------------------------------------- */

static void slo_text(const struct options *o, char *value)
{
	size_t used = 0;
	value[0] = '\0';
	for (uint32_t i = 0; i < o->class_count && used < CANCEL_TEXT_MAX; i++) {
		uint64_t given_ns = o->classes[i].slo_ns;
		uint64_t learned_ns = given_ns ? 0 : slo_learner_learned_ns(i);
		used += (size_t)snprintf(value + used, CANCEL_TEXT_MAX - used, "%s%s=%g%s",
			i ? "," : "", o->classes[i].name,
			(double)(given_ns ? given_ns : learned_ns) / 1e6,
			learned_ns ? " (learned)" : "");
	}
}

int options_text(const struct options *o, uint32_t index, const char **name,
	char value[CANCEL_TEXT_MAX], bool *writable)
{
	if (index >= OPTIONS)
		return CANCEL_ENOTASK;
	const struct option *option = &table[index];
	const char *at = (const char *)o + option->offset;
	uint32_t number;
	*name = option->name;
	*writable = option->writable;
	switch (option->kind) {
	case NUMBER:
	case SWITCH:
		memcpy(&number, at, sizeof number);
		snprintf(value, CANCEL_TEXT_MAX, "%u", number);
		break;
	case MODE:
		snprintf(value, CANCEL_TEXT_MAX, "%s", o->mode == CANCEL_ACT ? "act" : "monitor");
		break;
	case POLICY:
	case ESTIMATOR:
	case TEXT:
		snprintf(value, CANCEL_TEXT_MAX, "%s", at);
		break;
	case SLO:
		slo_text(o, value);
		break;
	}
	return 0;
}

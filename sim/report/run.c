/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a lane uses while it runs: its values, its one error line, the progress bar, the remark that
 * a bound was hit.
 */
#include "sim/report/lane.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR_CELLS   40
#define SUBJECT_MAX 160

static const struct sim_setting *setting(const struct sim_run *run, const char *key)
{
	const struct sim_setting *found = sim_options_find(&run->options, key);
	if (!found) {
		fprintf(stderr, "cancel-sim: lane %s asked for its undeclared key '%s'\n",
			run->lane->name, key);
		abort();
	}
	return found;
}

int64_t sim_int(const struct sim_run *run, const char *key)
{
	return setting(run, key)->integer;
}

double sim_real(const struct sim_run *run, const char *key)
{
	return setting(run, key)->real;
}

bool sim_flag(const struct sim_run *run, const char *key)
{
	return setting(run, key)->integer != 0;
}

const char *sim_text(const struct sim_run *run, const char *key)
{
	return setting(run, key)->text;
}

bool sim_given(const struct sim_run *run, const char *key)
{
	return setting(run, key)->given;
}

size_t sim_count(const struct sim_run *run, const char *key)
{
	return setting(run, key)->list_count;
}

int64_t sim_item(const struct sim_run *run, const char *key, size_t index)
{
	const struct sim_setting *list = setting(run, key);
	assert(list->list && index < list->list_count);
	return list->list[index];
}

const char *sim_name(const struct sim_run *run, const char *key, int64_t choice)
{
	const char *name = setting(run, key)->choices;
	for (; choice > 0; choice--)
		name += strlen(name) + 1;
	return name;
}

uint64_t sim_ns(const struct sim_run *run, const char *key)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = { { "_ms", SIM_NS_PER_MS }, { "_us", SIM_NS_PER_US }, { "_ns", 1 },
		{ "_s", SIM_NS_PER_S } };
	const struct sim_setting *found = setting(run, key);
	size_t length = strlen(key), i = 0;
	while (i < 3 && strcmp(key + length - 3, units[i].suffix) != 0)
		i++;
	return found->key->kind == SIM_KEY_REAL || found->reals
		       ? (uint64_t)(found->real * (double)units[i].ns)
		       : (uint64_t)found->integer * units[i].ns;
}

size_t sim_combinations(const struct sim_run *run, const char *const *keys)
{
	size_t count = 1;
	for (; *keys; keys++)
		count *= sim_count(run, *keys);
	return count;
}

bool sim_vary(struct sim_run *run, const char *const *keys, size_t index)
{
	size_t total = sim_combinations(run, keys), left = total;
	sim_progress(run, index, total);
	for (; index < total && *keys; keys++) {
		const struct sim_setting *found = setting(run, *keys);
		struct sim_setting *list = &run->options.settings[found - run->options.settings];
		left /= list->list_count;
		size_t at = index / left % list->list_count;
		if (list->reals)
			list->real = list->reals[at];
		else
			list->integer = list->list[at];
	}
	return index < total;
}

bool sim_first(const struct sim_run *run, const char *key)
{
	return sim_int(run, key) == sim_item(run, key, 0);
}

const char *sim_choice(const struct sim_run *run, const char *key)
{
	return sim_name(run, key, sim_int(run, key));
}

void sim_key_row(const struct sim_run *run, struct sim_table *table, const char *const *keys)
{
	sim_row(table);
	for (; *keys; keys++) {
		const struct sim_setting *value = setting(run, *keys);
		sim_put(table, value->choices ? SIM_TEXT(sim_choice(run, *keys))
			       : value->reals ? SIM_REAL(value->real)
					      : SIM_INT(value->integer));
	}
}

int sim_fail(struct sim_run *run, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(run->error, sizeof(run->error), format, args);
	va_end(args);
	return -1;
}

void sim_progress(const struct sim_run *run, size_t done, size_t total)
{
	if (!run->progress || total == 0)
		return;
	int filled = (int)(done * BAR_CELLS / total);
	fprintf(stderr, "\r%s [%.*s%*s] %zu/%zu", run->lane->name, filled,
		"########################################", BAR_CELLS - filled, "", done, total);
	if (done >= total)
		fprintf(stderr, "\r%*s\r", BAR_CELLS + 60, "");
	fflush(stderr);
}

void sim_note_bound(struct sim_run *run, const char *bound, const char *format, ...)
{
	char subject[SUBJECT_MAX] = "";
	va_list args;
	if (!bound)
		return;
	va_start(args, format);
	if (format)
		vsnprintf(subject, sizeof(subject), format, args);
	va_end(args);
	sim_note(run->report, "%s%sstopped at its bound on the %s", subject, format ? " " : "",
		bound);
}

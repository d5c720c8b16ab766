/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and values: parsing, bounds, the words of a refusal. */
#include "sim/report/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

#define CHOICE_MAX 64

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a == '-' ? '_' : *a, y = *b == '-' ? '_' : *b;
		if (x != y)
			return false;
	}
	return *a == *b;
}

bool sim_key_choice(const struct sim_key *key, size_t index, char *text, size_t text_bytes)
{
	const char *at = key->choices;
	for (; at && index > 0; index--) {
		at = strchr(at, '|');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return false;
	snprintf(text, text_bytes, "%.*s", (int)strcspn(at, "|"), at);
	return true;
}

static int64_t choice_index(const struct sim_key *key, const char *text)
{
	char choice[CHOICE_MAX];
	for (size_t i = 0; sim_key_choice(key, i, choice, sizeof(choice)); i++)
		if (strcmp(choice, text) == 0)
			return (int64_t)i;
	return -1;
}

void sim_key_range(const struct sim_key *key, char *text, size_t text_bytes)
{
	char choice[CHOICE_MAX];
	size_t used = 0;
	switch (key->kind) {
	case SIM_KEY_INT:
	case SIM_KEY_INTS:
		snprintf(text, text_bytes, "%.0f … %.0f", key->min, key->max);
		return;
	case SIM_KEY_REAL:
	case SIM_KEY_REALS:
		snprintf(text, text_bytes, "%g … %g", key->min, key->max);
		return;
	case SIM_KEY_FLAG:
		snprintf(text, text_bytes, "yes, no");
		return;
	case SIM_KEY_TEXT:
		snprintf(text, text_bytes, "at most %.0f bytes", key->max);
		return;
	case SIM_KEY_CHOICE:
	case SIM_KEY_CHOICES:
		break;
	}
	text[0] = '\0';
	for (size_t i = 0; sim_key_choice(key, i, choice, sizeof(choice)) && used < text_bytes; i++)
		used += (size_t)snprintf(
			text + used, text_bytes - used, "%s%s", i > 0 ? ", " : "", choice);
}

bool sim_parse_int(const char *text, int64_t min, int64_t max, int64_t *value)
{
	char *end;
	if (!isdigit((unsigned char)text[text[0] == '-' || text[0] == '+']))
		return false;
	errno = 0;
	long long parsed = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || parsed < min || parsed > max)
		return false;
	*value = parsed;
	return true;
}

static bool parse_real(const struct sim_key *key, const char *text, double *value)
{
	char *end;
	if (strspn(text, "+-.0123456789eE") != strlen(text) || !*text)
		return false;
	double parsed = strtod(text, &end);
	if (*end != '\0' || !isfinite(parsed) || parsed < key->min || parsed > key->max)
		return false;
	*value = parsed;
	return true;
}

static bool parse_flag(const char *text, int64_t *value)
{
	static const char *const words[] = { "no", "yes", "false", "true", "0", "1" };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*value = (int64_t)(i % 2);
			return true;
		}
	}
	return false;
}

/* False when the list is full. */
static bool append(struct sim_setting *setting, int64_t value)
{
	if (setting->list_count >= SIM_LIST_MAX)
		return false;
	setting->list = sim_grow(setting->list, &setting->list_capacity, setting->list_count + 1,
		sizeof(*setting->list));
	setting->list[setting->list_count++] = value;
	return true;
}

static bool append_real(struct sim_setting *setting, const struct sim_key *key, const char *text)
{
	double value;
	if (setting->list_count >= SIM_LIST_MAX || !parse_real(key, text, &value))
		return false;
	setting->reals = sim_grow(setting->reals, &setting->list_capacity, setting->list_count + 1,
		sizeof(*setting->reals));
	setting->reals[setting->list_count++] = value;
	return true;
}

/* "7" or "3..9" or "3..9:2", appended to the list. */
static bool parse_span(const struct sim_key *key, char *text, struct sim_setting *setting)
{
	int64_t min = (int64_t)key->min, max = (int64_t)key->max, first, last, step = 1;
	char *dots = strstr(text, ".."), *colon = dots ? strchr(dots, ':') : NULL;
	if (colon)
		*colon = '\0';
	if (dots)
		*dots = '\0';
	if (!sim_parse_int(text, min, max, &first))
		return false;
	last = first;
	if (dots && !sim_parse_int(dots + 2, first, max, &last))
		return false;
	if (colon && !sim_parse_int(colon + 1, 1, INT64_MAX / 2, &step))
		return false;
	for (int64_t value = first; value <= last; value += step) {
		if (!append(setting, value))
			return false;
		if (step > last - value)
			break;
	}
	return true;
}

static bool parse_item(const struct sim_key *key, char *item, struct sim_setting *setting)
{
	if (key->kind == SIM_KEY_INTS)
		return parse_span(key, item, setting);
	if (key->kind == SIM_KEY_REALS)
		return append_real(setting, key, item);
	int64_t index = choice_index(key, item);
	return index >= 0 && append(setting, index);
}

static bool parse_list(const struct sim_key *key, const char *text, struct sim_setting *setting)
{
	char choice[CHOICE_MAX];
	if (key->kind == SIM_KEY_CHOICES && strcmp(text, "all") == 0) {
		for (size_t i = 0; sim_key_choice(key, i, choice, sizeof(choice)); i++)
			append(setting, (int64_t)i);
		return true;
	}
	char *copy = sim_copy_text(text), *rest = copy, *item;
	bool good = *text != '\0';
	while (good && (item = strsep(&rest, ",")))
		good = parse_item(key, item, setting);
	free(copy);
	return good;
}

static bool parse_value(const struct sim_key *key, const char *text, struct sim_setting *setting)
{
	switch (key->kind) {
	case SIM_KEY_INT:
		return sim_parse_int(text, (int64_t)key->min, (int64_t)key->max, &setting->integer);
	case SIM_KEY_REAL:
		return parse_real(key, text, &setting->real);
	case SIM_KEY_FLAG:
		return parse_flag(text, &setting->integer);
	case SIM_KEY_CHOICE:
		setting->integer = choice_index(key, text);
		return setting->integer >= 0;
	case SIM_KEY_REALS:
	case SIM_KEY_INTS:
	case SIM_KEY_CHOICES:
		return parse_list(key, text, setting);
	case SIM_KEY_TEXT:
		return strlen(text) <= (size_t)key->max;
	}
	return false;
}

static void setting_free(struct sim_setting *setting)
{
	free(setting->text);
	free(setting->choices);
	free(setting->list);
	free(setting->reals);
}

static void refuse(const struct sim_key *key, const char *value, char *error)
{
	static const char *const forms[] = { "a whole number", "a number", "a flag", "one of",
		"a list of whole numbers (a,b or a..b or a..b:step)", "a list of, or all of",
		"a list of numbers", "a text" };
	char range[SIM_ERROR_MAX / 2];
	sim_key_range(key, range, sizeof(range));
	snprintf(error, SIM_ERROR_MAX, "%s: '%.60s' is not accepted; it takes %s: %s", key->name,
		value, forms[key->kind], range);
}

int sim_options_set(struct sim_options *options, const char *name, const char *value, char *error)
{
	for (size_t i = 0; i < options->count; i++) {
		const struct sim_key *key = options->settings[i].key;
		if (!same_name(key->name, name))
			continue;
		struct sim_setting next = {
			.key = key, .text = sim_copy_text(value), .given = true
		};
		next.choices = key->choices ? sim_copy_text(key->choices) : NULL;
		for (char *end = next.choices; end && (end = strchr(end, '|')); end++)
			*end = '\0';
		if (!parse_value(key, value, &next)) {
			refuse(key, value, error);
			setting_free(&next);
			return -1;
		}
		setting_free(&options->settings[i]);
		options->settings[i] = next;
		return 0;
	}
	size_t used =
		(size_t)snprintf(error, SIM_ERROR_MAX, "unknown key '%.60s'; this lane has", name);
	for (size_t i = 0; i < options->count && used < SIM_ERROR_MAX; i++)
		used += (size_t)snprintf(error + used, SIM_ERROR_MAX - used, "%s %s",
			i > 0 ? "," : ":", options->settings[i].key->name);
	return -1;
}

void sim_options_init(struct sim_options *options, const struct sim_key *keys)
{
	char error[SIM_ERROR_MAX];
	size_t count = 0;
	while (keys && keys[count].name)
		count++;
	options->settings = sim_alloc(count, sizeof(*options->settings));
	options->count = count;
	for (size_t i = 0; i < count; i++)
		options->settings[i].key = &keys[i];
	for (size_t i = 0; i < count; i++) {
		if (sim_options_set(options, keys[i].name, keys[i].fallback, error) < 0) {
			fprintf(stderr, "cancel-sim: fault in a lane's own table: %s\n", error);
			abort();
		}
		options->settings[i].given = false;
	}
}

void sim_options_free(struct sim_options *options)
{
	for (size_t i = 0; i < options->count; i++)
		setting_free(&options->settings[i]);
	free(options->settings);
	*options = (struct sim_options){ 0 };
}

const struct sim_setting *sim_options_find(const struct sim_options *options, const char *name)
{
	for (size_t i = 0; i < options->count; i++)
		if (same_name(options->settings[i].key->name, name))
			return &options->settings[i];
	return NULL;
}

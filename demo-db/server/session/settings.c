/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the table of settings, how values are checked, and how a transaction undoes them.
 */
#include "demo-db/server/session/settings.h"
#include "demo-db/server/net/encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum kind { TEXT, BOOL, INTEGER, TIME, WORD, WORDS, ENCODING, STYLE };
enum { REPORT = 1, FIXED = 2 };

struct entry {
	const char *name, *value;
	enum kind kind;
	unsigned flags;
	int64_t least, most;
	const char *words, *what;
};

static const struct entry entries[] = {
#define X(name, value, kind, flags, least, most, words, what)                                      \
	{ #name, value, kind, flags, least, most, words, what },
	SETTINGS(X)
#undef X
};
_Static_assert(SETTING_COUNT <= 64, "settings.local is one word");

const char *setting_name(enum setting setting)
{
	switch (setting) {
	case SETTING_cancel_priority:
		return "cancel.priority";
	case SETTING_cancel_user:
		return "cancel.user";
	case SETTING_cancel_level:
		return "cancel.level";
	default:
		return entries[setting].name;
	}
}

const char *setting_text(enum setting setting)
{
	return entries[setting].what;
}

static int find(const char *name)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (strcasecmp(name, setting_name((enum setting)i)) == 0)
			return i;
	return -1;
}

const char *settings_spelling(const char *name)
{
	int at = find(name);
	return at < 0 ? name : setting_name((enum setting)at);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static int fail(struct settings_error *error, const char *sqlstate, const char *format,
	const char *name, const char *value)
{
	error->sqlstate = sqlstate;
	error->hint[0] = '\0';
	snprintf(error->message, sizeof error->message, format, name, value);
	return -1;
}

static int fail_value(struct settings_error *error, const char *name, const char *value)
{
	return fail(error, "22023", "invalid value for parameter \"%s\": \"%s\"", name, value);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool read_bool(const char *text, char *out)
{
	static const char *const words[] = { "off", "false", "no", "0", "f", "on", "true", "yes",
		"1", "t" };
	for (size_t i = 0; i < 10; i++) {
		if (strcasecmp(words[i], text) == 0) {
			strcpy(out, i < 5 ? "off" : "on");
			return true;
		}
	}
	return false;
}

static const struct {
	const char *unit;
	int64_t ms;
} units[] = { { "d", 86400000 }, { "h", 3600000 }, { "min", 60000 }, { "s", 1000 }, { "ms", 1 },
	{ "", 1 } };

/* "5s", "250", "1 min"; kept in the largest unit that divides it, as PostgreSQL shows it. */
static bool read_time(const char *text, const struct entry *entry, char *out)
{
	char *end;
	long long number = strtoll(text, &end, 10);
	size_t unit = 0;
	if (end == text || number < 0)
		return false;
	end += strspn(end, " ");
	while (unit < 6 && strcmp(units[unit].unit, end) != 0)
		unit++;
	if (unit == 6 || number > entry->most / units[unit].ms)
		return false;
	int64_t ms = number * units[unit].ms;
	unit = ms ? 0 : 5;
	while (ms % units[unit].ms)
		unit++;
	snprintf(out, SETTINGS_VALUE_MAX, "%lld%s", (long long)(ms / units[unit].ms),
		units[unit].unit);
	return ms <= entry->most;
}

static bool read_integer(const char *text, const struct entry *entry, char *out)
{
	char *end;
	long long number = strtoll(text, &end, 10);
	snprintf(out, SETTINGS_VALUE_MAX, "%lld", number);
	return end != text && !*end && number >= entry->least && number <= entry->most;
}

/* One of the words of a list, separated by `separator`, written as the list does. */
static bool read_word(const char *text, const char *list, char separator, char *out)
{
	size_t bytes = strlen(text);
	for (const char *at = list; *at && bytes;) {
		const char *end = strchrnul(at, separator);
		if ((size_t)(end - at) == bytes && strncasecmp(at, text, bytes) == 0) {
			snprintf(out, SETTINGS_VALUE_MAX, "%.*s", (int)bytes, at);
			return true;
		}
		at = *end ? end + 1 : end;
	}
	return false;
}

static bool read_encoding(const char *text, char *out)
{
	const char *name = encoding_name(text);
	if (name)
		strcpy(out, name);
	return name != NULL;
}

/* Whatever order of day and month is asked for, dates are written the ISO way. */
static bool read_style(const char *text, char *out)
{
	strcpy(out, "ISO, MDY");
	return strcasestr(text, "iso") || strcasestr(text, "mdy") || strcasestr(text, "dmy") ||
	       strcasestr(text, "ymd");
}

/* The value as it is kept, in out[SETTINGS_VALUE_MAX]. */
static bool read_value(const struct entry *entry, const char *text, char *out)
{
	if (strlen(text) >= SETTINGS_VALUE_MAX)
		return false;
	switch (entry->kind) {
	case BOOL:
		return read_bool(text, out);
	case TIME:
		return read_time(text, entry, out);
	case INTEGER:
		return read_integer(text, entry, out);
	case WORD:
		return read_word(text, entry->words, ' ', out);
	case WORDS:
		return read_word(text, entry->words, '|', out);
	case ENCODING:
		return read_encoding(text, out);
	case STYLE:
		return read_style(text, out);
	case TEXT:
		break;
	}
	strcpy(out, text);
	return true;
}

static void replace(char **to, const char *from)
{
	char *copy = from ? strdup(from) : NULL;
	free(*to);
	*to = copy;
}

/* ---- Sets of values -------------------------------------------------------------------------- */

static void free_values(struct settings_values *values)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		free(values->known[i].text);
	for (uint32_t i = 0; i < values->custom_count; i++) {
		free(values->custom[i].name);
		free(values->custom[i].text);
	}
	memset(values, 0, sizeof *values);
}

static void copy_values(struct settings_values *to, const struct settings_values *from)
{
	free_values(to);
	for (int i = 0; i < SETTING_COUNT; i++)
		replace(&to->known[i].text, from->known[i].text);
	for (uint32_t i = 0; i < from->custom_count; i++) {
		replace(&to->custom[i].name, from->custom[i].name);
		replace(&to->custom[i].text, from->custom[i].text);
	}
	to->custom_count = from->custom_count;
}

static struct custom_setting *find_custom(const struct settings_values *values, const char *name)
{
	for (uint32_t i = 0; i < values->custom_count; i++)
		if (values->custom[i].name && strcasecmp(values->custom[i].name, name) == 0)
			return (struct custom_setting *)&values->custom[i];
	return NULL;
}

static void note_change(struct settings *settings)
{
	settings->changed = true;
	settings->version++;
}

void settings_init(struct settings *settings)
{
	memset(settings, 0, sizeof *settings);
	note_change(settings);
}

void settings_free(struct settings *settings)
{
	free_values(&settings->start);
	free_values(&settings->now);
	if (settings->before)
		free_values(settings->before);
	free(settings->before);
	for (int i = 0; i < SETTING_COUNT; i++)
		free(settings->reported[i]);
}

/* Remembers what the block began with, once. */
static void remember(struct settings *settings)
{
	if (settings->before)
		return;
	settings->before = calloc(1, sizeof *settings->before);
	if (settings->before)
		copy_values(settings->before, &settings->now);
	settings->local = 0;
}

void settings_end_block(struct settings *settings, bool committed)
{
	if (!settings->before)
		return;
	if (!committed)
		copy_values(&settings->now, settings->before);
	for (int i = 0; committed && i < SETTING_COUNT; i++)
		if (settings->local >> i & 1)
			replace(&settings->now.known[i].text, settings->before->known[i].text);
	free_values(settings->before);
	free(settings->before);
	settings->before = NULL;
	settings->local = 0;
	note_change(settings);
}

/* ---- SET ------------------------------------------------------------------------------------- */

static int set_custom(struct settings_values *values, const char *name, const char *value,
	struct settings_error *error)
{
	struct custom_setting *custom = find_custom(values, name);
	const char *dot = strchr(name, '.');
	if (!dot || dot == name || !dot[1] || strncasecmp(name, "cancel.", 7) == 0)
		return fail(
			error, "42704", "unrecognized configuration parameter \"%s\"%s", name, "");
	if (strlen(name) > 63 || (value && strlen(value) >= SETTINGS_VALUE_MAX))
		return fail_value(error, name, "too long");
	if (!custom && values->custom_count == SETTINGS_CUSTOM_MAX)
		return fail(error, "54000", "too many parameters: \"%s\"%s", name, "");
	if (!custom) {
		custom = &values->custom[values->custom_count++];
		replace(&custom->name, name);
	}
	replace(&custom->text, value ? value : "");
	return 0;
}

static int set_known(struct settings_values *values, int at, const char *value, bool fixed_too,
	struct settings_error *error)
{
	char kept[SETTINGS_VALUE_MAX];
	const struct entry *entry = &entries[at];
	const char *name = setting_name((enum setting)at);
	if (value && !read_value(entry, value, kept))
		return fail_value(error, name, value);
	if ((entry->flags & FIXED) && !fixed_too && value && strcmp(kept, entry->value) != 0)
		return fail(error, "55P02", "parameter \"%s\" cannot be changed%s", name, "");
	if (!(entry->flags & FIXED) || fixed_too)
		replace(&values->known[at].text, value ? kept : NULL);
	return 0;
}

int settings_start(struct settings *settings, const char *name, const char *value,
	struct settings_error *error)
{
	int at = find(name);
	int status = at >= 0 ? set_known(&settings->start, at, value, false, error)
			     : set_custom(&settings->start, name, value, error);
	if (status == 0 && at < 0)
		status = set_custom(&settings->now, name, value, error);
	return status;
}

void settings_tell(struct settings *settings, enum setting setting, const char *value)
{
	struct settings_error ignored;
	const char *before = settings_get(settings, setting);
	if (strcmp(before, value) == 0)
		return;
	set_known(&settings->start, (int)setting, value, true, &ignored);
	note_change(settings);
}

int settings_set(struct settings *settings, const char *name, const char *value, bool local,
	bool in_block, struct settings_error *error)
{
	int at = find(name);
	if (in_block)
		remember(settings);
	else if (local)
		return 0; /* PostgreSQL warns: it would end with this very statement */
	int status = at >= 0 ? set_known(&settings->now, at, value, false, error)
			     : set_custom(&settings->now, name, value, error);
	if (status == 0 && at >= 0 && in_block)
		settings->local =
			local ? settings->local | 1ull << at : settings->local & ~(1ull << at);
	note_change(settings);
	return status;
}

void settings_reset_all(struct settings *settings, bool in_block)
{
	if (in_block)
		remember(settings);
	free_values(&settings->now);
	note_change(settings);
}

/* ---- Reading --------------------------------------------------------------------------------- */

const char *settings_get(const struct settings *settings, enum setting setting)
{
	const char *now = settings->now.known[setting].text;
	const char *start = settings->start.known[setting].text;
	return now ? now : start ? start : entries[setting].value;
}

const char *settings_show(
	const struct settings *settings, const char *name, struct settings_error *error)
{
	int at = find(name);
	if (at >= 0)
		return settings_get(settings, (enum setting)at);
	const struct custom_setting *custom = find_custom(&settings->now, name);
	if (custom)
		return custom->text;
	fail(error, "42704", "unrecognized configuration parameter \"%s\"%s", name, "");
	return NULL;
}

uint64_t settings_ms(const struct settings *settings, enum setting setting)
{
	char *end;
	unsigned long long number = strtoull(settings_get(settings, setting), &end, 10);
	for (size_t unit = 0; unit < 6; unit++)
		if (strcmp(units[unit].unit, end) == 0)
			return number * (uint64_t)units[unit].ms;
	return 0;
}

bool settings_on(const struct settings *settings, enum setting setting)
{
	return strcmp(settings_get(settings, setting), "on") == 0;
}

void settings_report(struct settings *settings, struct wire_out *out)
{
	if (!settings->changed)
		return;
	settings->changed = false;
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *value = settings_get(settings, (enum setting)i);
		const char *told = settings->reported[i];
		if (!(entries[i].flags & REPORT) || (told && strcmp(told, value) == 0))
			continue;
		wire_parameter_status(out, setting_name((enum setting)i), value);
		replace(&settings->reported[i], value);
	}
}

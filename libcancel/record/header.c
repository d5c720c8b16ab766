/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the pieces of a file that are lines of text: name=value. A name that is not known is of a
 * newer writer and passed over.
 */
#include "libcancel/record/header.h"

struct line {
	const char *name, *value;
	size_t name_bytes, value_bytes;
};

/* False: no line is left, or (`bad`) it is none. */
static bool next_line(struct byte_reader *in, struct line *line)
{
	const char *at = (const char *)in->from + in->at;
	size_t left = in->size - in->at, length = 0, equals = 0;
	if (left == 0)
		return false;
	while (length < left && at[length] != '\n')
		length++;
	while (equals < length && at[equals] != '=')
		equals++;
	if (length == left || equals == length) {
		in->bad = true;
		return false;
	}
	*line = (struct line){ at, at + equals + 1, equals, length - equals - 1 };
	in->at += length + 1;
	return true;
}

static bool is(const char *text, size_t bytes, const char *word)
{
	return strlen(word) == bytes && memcmp(text, word, bytes) == 0;
}

static bool read_number(const struct line *l, uint64_t max, uint64_t *number)
{
	*number = 0;
	if (l->value_bytes == 0 || l->value_bytes > 19)
		return false;
	for (size_t i = 0; i < l->value_bytes; i++) {
		if (l->value[i] < '0' || l->value[i] > '9')
			return false;
		*number = *number * 10 + (uint64_t)(l->value[i] - '0');
	}
	return *number <= max;
}

static bool read_name(const struct line *l, char to[CANCEL_NAME_MAX])
{
	if (l->value_bytes >= CANCEL_NAME_MAX)
		return false;
	memset(to, 0, CANCEL_NAME_MAX);
	memcpy(to, l->value, l->value_bytes);
	return true;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static uint8_t place_of(const struct record_table *table, const char *name, size_t bytes)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (is(name, bytes, table->fields[i].name))
			return (uint8_t)i;
	return 255;
}

/* One word of a line of fields, name:k. */
static bool read_field(struct record_layout *layout, uint32_t index, const char *word, size_t bytes)
{
	uint32_t at = layout->tables[index].count;
	uint8_t kind = 0;
	if (bytes < 3 || word[bytes - 2] != ':' || at == RECORD_FIELDS_MAX)
		return false;
	while (kind < RECORD_KINDS && record_kind_letters[kind] != word[bytes - 1])
		kind++;
	if (kind == RECORD_KINDS)
		return false;
	uint8_t place = place_of(&record_tables[index], word, bytes - 2);
	for (uint32_t i = 0; place != 255 && i < at; i++)
		if (layout->tables[index].place[i] == place)
			return false;
	layout->tables[index].kind[at] = kind;
	layout->tables[index].place[at] = place;
	layout->tables[index].count++;
	return place == 255 || record_tables[index].fields[place].kind == kind;
}

static bool read_table(struct record_layout *layout, uint32_t index, const struct line *l)
{
	layout->tables[index].count = 0;
	for (size_t at = 0; at < l->value_bytes;) {
		size_t bytes = 0;
		while (at + bytes < l->value_bytes && l->value[at + bytes] != ' ')
			bytes++;
		if (!read_field(layout, index, l->value + at, bytes))
			return false;
		at += bytes + 1;
	}
	return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool read_threshold(struct cancel_pipeline_config *c, const struct line *l)
{
	uint64_t number;
#define X(field, fallback, min, max, text)                                                         \
	if (is(l->name, l->name_bytes, #field)) {                                                  \
		c->field = read_number(l, max, &number) ? (uint32_t)number : 0;                    \
		return read_number(l, max, &number);                                               \
	}
	CANCEL_THRESHOLDS(X)
#undef X
	return true;
}

static bool read_setting(struct record_config *c, const struct line *l)
{
	uint64_t number = 0;
	if (is(l->name, l->name_bytes, "policy"))
		return read_name(l, c->policy);
	if (is(l->name, l->name_bytes, "estimator"))
		return read_name(l, c->estimator);
	if (is(l->name, l->name_bytes, "first_look")) {
		bool good = read_number(l, UINT64_MAX / 2, &number);
		c->first_look = number;
		return good;
	}
	if (is(l->name, l->name_bytes, "task_limit")) {
		bool good = read_number(l, RECORD_TASKS_MAX, &number);
		c->pipeline.task_limit = (uint32_t)number;
		return good && number > 0;
	}
	if (is(l->name, l->name_bytes, "window_ms")) {
		bool good = read_number(l, UINT32_MAX, &number);
		c->pipeline.window_ms = (uint32_t)number;
		return good;
	}
	if (is(l->name, l->name_bytes, "act") || is(l->name, l->name_bytes, "flight")) {
		bool good = read_number(l, 1, &number);
		*(l->name[0] == 'a' ? &c->pipeline.act : &c->flight) = number;
		return good;
	}
	return read_threshold(&c->pipeline, l);
}

const char *header_read_config(struct byte_reader *in, struct record_config *config)
{
	struct line line;
	config->pipeline.struct_size = sizeof config->pipeline;
	while (next_line(in, &line))
		if (!read_setting(config, &line))
			return "a setting that makes no sense";
	if (in->bad)
		return "a line that is not name=value";
	return config->pipeline.task_limit ? NULL : "no task_limit";
}

const char *header_read_fields(struct byte_reader *in, struct record_layout *layout)
{
	struct line line;
	for (uint32_t i = 0; i < RECORD_TABLE_COUNT; i++)
		layout->tables[i].count = 0;
	while (next_line(in, &line)) {
		if (line.name_bytes < 7 || memcmp(line.name, "fields.", 7) != 0)
			continue;
		for (uint32_t i = 0; i < RECORD_TABLE_COUNT; i++)
			if (is(line.name + 7, line.name_bytes - 7, record_tables[i].name) &&
				!read_table(layout, i, &line))
				return "a field that is none, comes twice or is of another kind";
	}
	/* Without these two a task's history could not be told from another's. */
	if (layout->tables[RECORD_TASK].count == 0 || layout->tables[RECORD_TASK].place[0] != 0)
		return "the first field of a task is not its id";
	return NULL;
}

const char *header_read_names(struct byte_reader *in, struct record_names *names)
{
	struct line line;
	while (next_line(in, &line)) {
		struct line index = { 0 };
		uint64_t number;
		bool class = line.name_bytes > 6 && memcmp(line.name, "class.", 6) == 0;
		size_t prefix = class ? 6 : 9;
		if (!class && (line.name_bytes < 10 || memcmp(line.name, "resource.", 9) != 0))
			continue;
		index.value = line.name + prefix;
		index.value_bytes = line.name_bytes - prefix;
		uint64_t max = class ? CANCEL_CLASSES_MAX - 1 : CANCEL_RESOURCES_MAX - 1;
		if (!read_number(&index, max, &number) ||
			!read_name(
				&line, class ? names->classes[number] : names->resources[number]))
			return "a name that is too long or of nothing";
	}
	return in->bad ? "a line that is not name=value" : NULL;
}

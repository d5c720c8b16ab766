/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the answers of lanes. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *answer_rows(json_t *root, const char *table)
{
	json_t *rows = json_object_get(json_object_get(root, "tables"), table);
	if (!json_is_array(rows))
		fail_msg("no table %s", table);
	return rows;
}

static void cell_text(json_t *cell, char *text, size_t bytes)
{
	text[0] = '\0';
	if (json_is_integer(cell))
		snprintf(text, bytes, "%lld", (long long)json_integer_value(cell));
	else if (json_is_boolean(cell))
		snprintf(text, bytes, "%s", json_boolean_value(cell) ? "yes" : "no");
	else if (json_is_string(cell))
		snprintf(text, bytes, "%s", json_string_value(cell));
}

static bool row_is(json_t *row, const char *conditions)
{
	char copy[256], text[64], *rest = copy, *part;
	snprintf(copy, sizeof(copy), "%s", conditions);
	while ((part = strsep(&rest, ";"))) {
		char *value = strchr(part, '=');
		*value++ = '\0';
		cell_text(json_object_get(row, part), text, sizeof(text));
		if (strcmp(text, value) != 0)
			return false;
	}
	return true;
}

json_t *answer_row(json_t *rows, const char *conditions)
{
	size_t index;
	json_t *row;
	json_array_foreach(rows, index, row)
	{
		if (row_is(row, conditions))
			return row;
	}
	fail_msg("no row where %s", conditions);
	return NULL;
}

double answer_number(json_t *row, const char *column)
{
	json_t *cell = json_object_get(row, column);
	if (!json_is_number(cell))
		fail_msg("%s is not a number", column);
	return json_number_value(cell);
}

int64_t answer_whole(json_t *row, const char *column)
{
	json_t *cell = json_object_get(row, column);
	if (!json_is_integer(cell)) /* "never" is no number, and smaller than none */
		fail_msg("%s is not a whole number", column);
	return json_integer_value(cell);
}

const char *answer_word(json_t *row, const char *column)
{
	json_t *cell = json_object_get(row, column);
	if (!json_is_string(cell))
		fail_msg("%s is not a word", column);
	return json_string_value(cell);
}

bool answer_yes(json_t *row, const char *column)
{
	json_t *cell = json_object_get(row, column);
	if (!json_is_boolean(cell))
		fail_msg("%s is not yes or no", column);
	return json_is_true(cell);
}

void answer_within(json_t *root, const char *table, const struct answer_bound *bounds, size_t count)
{
	json_t *rows = answer_rows(root, table);
	for (size_t i = 0; i < count; i++) {
		const struct answer_bound *b = &bounds[i];
		double value = answer_number(answer_row(rows, b->row), b->column);
		if (value < b->least || value > b->most)
			fail_msg("%s where %s is %g, not %g to %g", b->column, b->row, value,
				b->least, b->most);
	}
}

void answer_expect(
	const char *command, const char *table, const struct answer_bound *bounds, size_t count)
{
	json_t *root = tool_json(command);
	answer_within(root, table, bounds, count);
	json_decref(root);
}

void answer_same(const char *command, const char *other)
{
	struct tool_result one = tool_run(command), two = tool_run(other);
	assert_int_equal(one.status, 0);
	assert_string_equal(one.out, two.out);
	tool_free(&one);
	tool_free(&two);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - what a lane answered in JSON: its tables, rows and figures, and bounds on them. */
#ifndef TEST_SIM_ANSWER_H
#define TEST_SIM_ANSWER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tool.h"

/* Each fails the test where what is asked for is not there, or of another kind. */
json_t *answer_rows(json_t *root, const char *table);
/* The first row whose columns are as asked: "column=text;column=text". A flag is yes or no. */
json_t *answer_row(json_t *rows, const char *conditions);
double answer_number(json_t *row, const char *column);
int64_t answer_whole(json_t *row, const char *column); /* fails where it is none: "never" */
const char *answer_word(json_t *row, const char *column);
bool answer_yes(json_t *row, const char *column);

struct answer_bound { /* of one figure, inclusive */
	const char *row, *column;
	double least, most;
};
void answer_within(
	json_t *root, const char *table, const struct answer_bound *bounds, size_t count);
/* Runs the command and looks at one of its tables. */
void answer_expect(
	const char *command, const char *table, const struct answer_bound *bounds, size_t count);
#define ANSWER_EXPECT(command, table, ...)                                                         \
	answer_expect(command, table, (const struct answer_bound[]){ __VA_ARGS__ },                \
		sizeof((const struct answer_bound[]){ __VA_ARGS__ }) /                             \
			sizeof(struct answer_bound))

/* Both commands end well and print the same bytes. */
void answer_same(const char *command, const char *other);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how a figure with its range is written. */
#include "bench/report/range_output.h"

#include <math.h>

#define JSON_DIGITS 6

void range_csv(FILE *file, const struct range *range)
{
	if (range->count)
		fprintf(file, ",%.6g,%.6g,%.6g", range->median, range->min, range->max);
	else
		fputs(",,,", file);
}

json_t *range_json_number(double value)
{
	if (value == floor(value) && fabs(value) < 1e15)
		return json_integer((json_int_t)value);
	return json_real(value);
}

json_t *range_json(const struct range *range)
{
	json_t *object = json_object();
	if (!range->count) {
		json_object_set_new(object, "median", json_null());
		json_object_set_new(object, "min", json_null());
		json_object_set_new(object, "max", json_null());
		return object;
	}
	json_object_set_new(object, "median", range_json_number(range->median));
	json_object_set_new(object, "min", range_json_number(range->min));
	json_object_set_new(object, "max", range_json_number(range->max));
	if (range->has_ci) {
		json_t *interval = json_array();
		json_array_append_new(interval, range_json_number(range->ci_low));
		json_array_append_new(interval, range_json_number(range->ci_high));
		json_object_set_new(object, "ci95", interval);
	}
	return object;
}

static void print_numbers(FILE *file, const struct repetition_choice *choice, const char *between)
{
	for (uint32_t i = 0; i < choice->left_out_count; i++)
		fprintf(file, "%s%u", i ? between : "", choice->left_out[i] + 1);
}

void range_csv_disturbed(FILE *file, bool disturbed, const struct repetition_choice *choice)
{
	fprintf(file, ",%d,", disturbed);
	print_numbers(file, choice, " ");
}

void range_json_disturbed(json_t *row, bool disturbed, const struct repetition_choice *choice)
{
	json_t *numbers = json_array();
	for (uint32_t i = 0; i < choice->left_out_count; i++)
		json_array_append_new(numbers, json_integer(choice->left_out[i] + 1));
	json_object_set_new(row, "disturbed", json_boolean(disturbed));
	json_object_set_new(row, "left_out", numbers);
}

void range_note_left_out(FILE *file, const char *name, const struct repetition_choice *choice)
{
	if (!choice->left_out_count)
		return;
	fprintf(file, "%s: left out, because disturbed: repetition%s ", name,
		choice->left_out_count == 1 ? "" : "s");
	print_numbers(file, choice, ", ");
	fputc('\n', file);
}

void range_note_taken(FILE *file, bool is_first, const char *name, const struct range *taken)
{
	if (is_first)
		fputs(RANGE_DISTURBED ": others had CPUs that the bench waited for; ms a second: ",
			file);
	fprintf(file, "%s%s ", is_first ? "" : ", ", name);
	if (taken->count)
		fprintf(file, "%.0f", taken->max);
	else
		fputc('-', file);
}

int range_json_write(FILE *file, json_t *root, json_t *rows)
{
	if (json_object_set_new(root, "summary", rows) != 0) {
		json_decref(root);
		return -1;
	}
	int status = json_dumpf(root, file, JSON_INDENT(2) | JSON_REAL_PRECISION(JSON_DIGITS));
	fputc('\n', file);
	json_decref(root);
	return status;
}

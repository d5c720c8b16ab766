/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the checking of what a user typed. Whatever is wrong is said in one line with the accepted
 * range, and the process ends with status 2 before anything was written.
 */
#include "bench/base/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_BAD_INPUT 2

void bench_refuse(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("cancel-bench: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(STATUS_BAD_INPUT);
}

void options_defaults(struct bench_options *options)
{
	*options = (struct bench_options){ .rho = 0.6,
		.reps = 1,
		.seed = 1,
		.slo_ratio = 10,
		.pool_mb = 64,
		.workers = 8,
		.data_dir = "build/data",
		.share_pct = -1,
		.retries = UINT32_MAX,
		.connections = 6000 };
}

double options_number(const char *name, const char *text, double low, double high)
{
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || *end || errno == ERANGE || !isfinite(value) || value < low ||
		value > high)
		bench_refuse("%s: '%s' is not a number from %g to %g", name, text, low, high);
	return value;
}

uint64_t options_integer(const char *name, const char *text, uint64_t low, uint64_t high)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (end == text || *end || errno == ERANGE || strchr(text, '-') || value < low ||
		value > high)
		bench_refuse("%s: '%s' is not a whole number from %llu to %llu", name, text,
			(unsigned long long)low, (unsigned long long)high);
	return value;
}

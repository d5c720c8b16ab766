/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/server_tool.h"
#include "patience.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char server_folder[] = "/tmp/bench-server-XXXXXX";

bool server_stretches = true;

static void stretch(char **words)
{
	static const char *const times[] = { "--stall", "--timeout-ms", "--service-ms", "--slo-ms",
		"--seconds" };
	static char longer[sizeof times / sizeof *times][32];
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		for (char **word = words; server_stretches && word[0] && word[1]; word++)
			if (strcmp(word[0], times[i]) == 0) {
				snprintf(longer[i], sizeof longer[i], "%g",
					atof(word[1]) * ((test_time_factor() + 2) / 3));
				word[1] = longer[i];
			}
}

int server_begin(void **state)
{
	(void)state;
	tool_prepare = stretch;
	return mkdtemp(server_folder) && setenv("TMPDIR", server_folder, 1) == 0 ? 0 : -1;
}

int server_end(void **state)
{
	(void)state;
	return rmdir(server_folder);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	(void)about;
	(void)kind;
	(void)at;
	return remove(path);
}

void server_remove(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void server_nothing_left(void)
{
	DIR *directory = opendir(server_folder);
	const struct dirent *entry;
	assert_non_null(directory);
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			fail_msg("%s was left behind", entry->d_name);
	closedir(directory);
}

json_t *server_row_of(json_t *result, const char *policy)
{
	size_t i;
	json_t *row;
	json_array_foreach(json_object_get(result, "summary"), i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "policy")), policy) == 0)
			return row;
	}
	fail_msg("no row %s", policy);
	return NULL;
}

double server_median(json_t *row, const char *figure)
{
	const json_t *range = json_object_get(row, figure);
	assert_true(json_is_object(range));
	assert_non_null(json_object_get(range, "min"));
	assert_non_null(json_object_get(range, "max"));
	const json_t *median = json_object_get(range, "median");
	if (!json_is_number(median))
		fail_msg("%s was not measured", figure);
	return json_number_value(median);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - `demo-db init`: makes data, with a progress bar. Knows sizes, not rows. */
#include "demo-db/cli/commands.h"
#include "demo-db/engine/dataset/dataset.h"
#include "demo-db/engine/engine.h"
#include "demo-db/cli/pgbench.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR_WIDTH 40
#define MIB	  (1024ull * 1024ull)

static const struct {
	const char *name;
	uint64_t items_bytes, archive_bytes;
} sizes[] = {
	{ "small", 16 * MIB, 48 * MIB },
	{ "medium", 64 * MIB, 192 * MIB },
	{ "large", 512 * MIB, 1536 * MIB },
};
#define SIZES (sizeof sizes / sizeof *sizes)

struct arguments {
	const char *data;
	int size; /* of sizes; -1: none */
	uint32_t scale;
	uint64_t seed;
	bool remake;
};

enum { KEY_SIZE = 256, KEY_SCALE, KEY_SEED, KEY_REMAKE };

static const struct argp_option options[] = {
	{ "data", 'D', "DIR", 0, "data folder, made if missing (required)", 0 },
	{ "size", KEY_SIZE, "SIZE", 0,
		"the demo data set: small (64 MB), medium (256 MB) or large (2 GB)", 0 },
	{ "pgbench-scale", KEY_SCALE, "N", 0, "pgbench's four tables, 100,000 accounts a unit", 0 },
	{ "seed", KEY_SEED, "N", 0, "of the data set's rows [1]", 0 },
	{ "remake", KEY_REMAKE, NULL, 0, "make the data set anew even if it is there", 0 }, { 0 }
};

static uint64_t number(struct argp_state *state, const char *text, const char *what, uint64_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || value == 0 || value > most)
		argp_error(state, "%s is %s, but must be 1 to %llu", what, text,
			(unsigned long long)most);
	return value;
}

static int find_size(struct argp_state *state, const char *name)
{
	for (size_t i = 0; i < SIZES; i++)
		if (strcmp(sizes[i].name, name) == 0)
			return (int)i;
	argp_error(state, "there is no size %s: small, medium or large", name);
	return -1;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct arguments *a = state->input;
	switch (key) {
	case 'D':
		a->data = value;
		return 0;
	case KEY_SIZE:
		a->size = find_size(state, value);
		return 0;
	case KEY_SCALE:
		a->scale = (uint32_t)number(state, value, "--pgbench-scale", PGBENCH_SCALE_MAX);
		return 0;
	case KEY_SEED:
		a->seed = number(state, value, "--seed", UINT64_MAX - 1);
		return 0;
	case KEY_REMAKE:
		a->remake = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument %s", value);
		return 0;
	case ARGP_KEY_END:
		if (!a->data)
			argp_error(state, "--data is missing");
		if (a->size < 0 && !a->scale)
			argp_error(state, "nothing to make: give --size or --pgbench-scale");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A bar on a terminal; nothing elsewhere, where it would only fill a log. */
static void draw(void *arg, uint64_t done, uint64_t total)
{
	char bar[BAR_WIDTH + 1];
	size_t filled = total ? (size_t)(done * BAR_WIDTH / total) : BAR_WIDTH;
	filled = filled < BAR_WIDTH ? filled : BAR_WIDTH;
	if (!isatty(STDERR_FILENO))
		return;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r%-10s [%s] %3zu %%%s", (const char *)arg, bar, filled * 100 / BAR_WIDTH,
		done >= total ? "\n" : "");
}

static int make_dataset(const struct arguments *a)
{
	char message[DB_MESSAGE_MAX], label[] = "data set";
	struct db_dataset dataset = { .struct_size = sizeof dataset,
		.data_dir = a->data,
		.seed = a->seed,
		.items_bytes = sizes[a->size].items_bytes,
		.archive_bytes = sizes[a->size].archive_bytes,
		.remake = a->remake,
		.on_progress = draw,
		.progress_arg = label };
	if (db_dataset_make(&dataset, message)) {
		fprintf(stderr, "demo-db init: %s\n", message);
		return EXIT_USAGE;
	}
	printf("%s: %llu items, 4 archive tables of %llu rows%s\n", a->data,
		(unsigned long long)dataset.items, (unsigned long long)dataset.rows_per_archive,
		dataset.reused ? " (were there already)" : "");
	return 0;
}

static int make_pgbench(const struct arguments *a)
{
	char message[DB_MESSAGE_MAX], label[] = "pgbench";
	if (pgbench_make(a->data, a->scale, draw, label, message)) {
		fprintf(stderr, "demo-db init: %s\n", message);
		return EXIT_USAGE;
	}
	printf("%s: pgbench's tables at scale %u, %llu accounts\n", a->data, a->scale,
		(unsigned long long)PGBENCH_ACCOUNTS * a->scale);
	return 0;
}

int command_init(int argc, char **argv)
{
	struct arguments arguments = { .size = -1 };
	static const struct argp argp = { .options = options,
		.parser = parse,
		.doc = "Makes data for the server to serve. --size replaces the folder's database; "
		       "--pgbench-scale adds to it." };
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	int status = arguments.size >= 0 ? make_dataset(&arguments) : 0;
	if (status == 0 && arguments.scale)
		status = make_pgbench(&arguments);
	return status;
}

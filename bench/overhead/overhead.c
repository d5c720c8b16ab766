/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the comparison of the instrumented engine with the one built without the library. Two ways,
 * because each is blind where the other sees: callgrind counts instructions exactly and knows no
 * caches; slices of 100 ms, in turn in two processes, see time, with noise that neighbouring slices
 * share and a bootstrap measures.
 */
#include "bench/overhead/commands.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/target/data.h"
#include "common/random.h"
#include "bench/report/report.h"
#include "bench/overhead/slices.h"
#include "common/quantile.h"
#include "common/output.h"

#define PATH_BYTES	 512
#define SIDES		 2
#define PAIRS_MAX	 2000
#define RESAMPLES	 2000
#define COUNT_FEW	 "1000"
#define COUNT_MANY	 "4000"
#define COUNT_DIFFERENCE 3000.0
#define OVERHEAD_POOL_MB "32"
#define COUNT_POOL_MB	 "4"
#define WARM_PAIRS	 2 /* at the start of each half, thrown away */
#define STATUS_FAILED	 1

extern char **environ;

enum side { SIDE_ON, SIDE_OFF };

struct overhead {
	char binary[SIDES][PATH_BYTES], folder[SIDES][PATH_BYTES];
	char count_folder[PATH_BYTES]; /* of both sides in turn */
	uint32_t pairs;
	enum report_format format;
	const char *out_path, *data_dir;
	bool no_callgrind;
};

struct bounded { /* per cent, with a 95 % interval */
	double value, low, high;
};

struct loss {
	struct bounded throughput, p99;
};

/* ---- Slices ---------------------------------------------------------------------------------- */

struct worker {
	pid_t pid;
	int to, from;
};

struct pair_samples {
	uint32_t pairs;
	double rate[SIDES][PAIRS_MAX];
	double p99_us[SIDES][PAIRS_MAX];
};

static bool read_all(int fd, void *bytes, size_t length)
{
	for (char *at = bytes; length > 0;) {
		ssize_t got = read(fd, at, length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		length -= (size_t)got;
	}
	return true;
}

static void start_worker(const struct overhead *overhead, enum side side, const char *folder,
	const char *load, struct worker *worker)
{
	int to[2], from[2];
	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
		bench_refuse("overhead: no pipe: %s", strerror(errno));
	char *const arguments[] = { (char *)overhead->binary[side], (char[]){ "slices" },
		(char *)folder, (char[]){ OVERHEAD_POOL_MB }, (char *)load, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
	int error = posix_spawn(
		&worker->pid, overhead->binary[side], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	worker->to = to[1];
	worker->from = from[0];
	if (error != 0)
		bench_refuse(
			"overhead: cannot run %s: %s", overhead->binary[side], strerror(error));
	struct slice_result ready;
	if (!read_all(worker->from, &ready, sizeof ready) || ready.count != SLICE_READY)
		bench_refuse("overhead: %s did not come up", overhead->binary[side]);
}

static void end_worker(struct worker *worker)
{
	char command = SLICE_END;
	ssize_t ignored = write(worker->to, &command, 1);
	(void)ignored;
	close(worker->to);
	close(worker->from);
	waitpid(worker->pid, NULL, 0);
}

static void take_slice(struct worker *worker, double *rate, double *p99_us)
{
	static uint32_t latencies_us[SLICE_MAX];
	struct slice_result result;
	char command = SLICE_GO;
	if (write(worker->to, &command, 1) != 1 ||
		!read_all(worker->from, &result, sizeof result) || result.count > SLICE_MAX ||
		!read_all(worker->from, latencies_us, result.count * sizeof *latencies_us))
		bench_refuse("overhead: a measured process ended early");
	*rate = (double)result.answered * 1e9 / (double)result.elapsed_ns;
	*p99_us = 0;
	if (!result.count)
		return;
	sort_u32(latencies_us, result.count);
	*p99_us = latencies_us[(uint64_t)result.count * 99 / 100];
}

/* on off, off on, on off …: drift hits both sides alike. Halfway they exchange their files, which
 * lie on different parts of a disk and are not equally fast. */
static void take_half(const struct overhead *overhead, const char *load, int exchanged,
	struct pair_samples *samples)
{
	struct worker workers[SIDES];
	for (int side = 0; side < SIDES; side++)
		start_worker(overhead, (enum side)side, overhead->folder[side ^ exchanged], load,
			&workers[side]);
	uint32_t first = samples->pairs, count = overhead->pairs / 2;
	for (uint32_t i = 0; i < count + WARM_PAIRS; i++) {
		uint32_t at = first + (i < WARM_PAIRS ? 0 : i - WARM_PAIRS);
		for (int turn = 0; turn < SIDES; turn++) {
			int side = (int)(i & 1) ^ turn;
			take_slice(&workers[side], &samples->rate[side][at],
				&samples->p99_us[side][at]);
		}
	}
	samples->pairs += count;
	for (int side = 0; side < SIDES; side++)
		end_worker(&workers[side]);
}

static double mean_of(const double *values, const uint32_t *picked, uint32_t count)
{
	double sum = 0;
	for (uint32_t i = 0; i < count; i++)
		sum += values[picked ? picked[i] : i];
	return sum / count;
}

/* 100 · sign · (on/off - 1) of the means, and its percentile bootstrap over pairs (Efron, 1979). */
static void compare(const struct pair_samples *samples, double values[SIDES][PAIRS_MAX],
	double sign, struct bounded *out)
{
	static double results[RESAMPLES];
	static uint32_t picked[PAIRS_MAX];
	struct random random;
	random_seed(&random, 1);
	uint32_t count = samples->pairs;
	out->value =
		100 * sign *
		(mean_of(values[SIDE_ON], NULL, count) / mean_of(values[SIDE_OFF], NULL, count) -
			1);
	for (int r = 0; r < RESAMPLES; r++) {
		for (uint32_t i = 0; i < count; i++)
			picked[i] = (uint32_t)random_below(random_next(&random), count);
		results[r] = 100 * sign *
			     (mean_of(values[SIDE_ON], picked, count) /
					     mean_of(values[SIDE_OFF], picked, count) -
				     1);
	}
	sort_doubles(results, RESAMPLES);
	out->low = results[(int)(RESAMPLES * 0.025)];
	out->high = results[(int)(RESAMPLES * 0.975)];
}

static void measure_loss(const struct overhead *overhead, const char *load, struct loss *loss)
{
	static struct pair_samples samples;
	fprintf(stderr, "%s: %u pairs of 100 ms slices\n", load, overhead->pairs);
	samples.pairs = 0;
	for (int exchanged = 0; exchanged < SIDES; exchanged++)
		take_half(overhead, load, exchanged, &samples);
	compare(&samples, samples.rate, -1, &loss->throughput);
	compare(&samples, samples.p99_us, 1, &loss->p99);
}

/* ---- Callgrind ------------------------------------------------------------------------------- */

/* The number after "Collected :" in what callgrind prints; 0 if there is none. */
static double read_collected(int fd)
{
	double collected = 0;
	char line[512];
	FILE *file = fdopen(fd, "r");
	while (file && fgets(line, sizeof line, file)) {
		const char *at = strstr(line, "Collected :");
		if (at)
			collected = strtod(at + strlen("Collected :"), NULL);
	}
	if (file)
		fclose(file);
	return collected;
}

static double count_instructions(
	const struct overhead *overhead, enum side side, const char *kind, const char *count)
{
	int from[2];
	pid_t pid;
	if (pipe2(from, O_CLOEXEC) != 0)
		return 0;
	char *const arguments[] = { (char[]){ "valgrind" }, (char[]){ "--tool=callgrind" },
		(char[]){ "--callgrind-out-file=/dev/null" },
		(char[]){ "--toggle-collect=db_execute" }, (char *)overhead->binary[side],
		(char[]){ "count" }, (char *)overhead->count_folder, (char[]){ COUNT_POOL_MB },
		(char *)kind, (char *)count, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, from[1], STDERR_FILENO);
	int error = posix_spawnp(&pid, "valgrind", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(from[1]);
	if (error != 0) {
		close(from[0]);
		return 0;
	}
	double collected = read_collected(from[0]);
	waitpid(pid, NULL, 0);
	return collected;
}

/* Per statement: the difference of two counts leaves out opening, compiling and closing. */
static double per_statement(const struct overhead *overhead, enum side side, const char *kind)
{
	double few = count_instructions(overhead, side, kind, COUNT_FEW);
	double many = count_instructions(overhead, side, kind, COUNT_MANY);
	return many > few ? (many - few) / COUNT_DIFFERENCE : 0;
}

struct counts {
	double on, off, pct;
	bool known;
};

static void measure_counts(const struct overhead *overhead, const char *kind, struct counts *counts)
{
	*counts = (struct counts){ 0 };
	if (overhead->no_callgrind)
		return;
	fprintf(stderr, "callgrind: instructions per point %s\n", kind);
	counts->on = per_statement(overhead, SIDE_ON, kind);
	counts->off = per_statement(overhead, SIDE_OFF, kind);
	counts->known = counts->on > 0 && counts->off > 0;
	if (counts->known)
		counts->pct = 100 * (counts->on / counts->off - 1);
	else
		fprintf(stderr, "cancel-bench: no count: is valgrind installed?\n");
}

/* ---- The result ------------------------------------------------------------------------------ */

struct result {
	struct counts read, update, question;
	struct loss normal, overload;
};

static json_t *json_counts(const struct counts *counts)
{
	if (!counts->known)
		return json_null();
	return json_real(counts->pct);
}

static json_t *json_sides(const struct counts *counts)
{
	return json_pack("{s:f, s:f}", "on", counts->on, "off", counts->off);
}

static void json_bounded(json_t *root, const char *name, const struct bounded *value)
{
	char key[64];
	snprintf(key, sizeof key, "%s_pct", name);
	json_object_set_new(root, key, json_real(value->value));
	snprintf(key, sizeof key, "%s_lower_pct", name);
	json_object_set_new(root, key, json_real(value->low));
	snprintf(key, sizeof key, "%s_upper_pct", name);
	json_object_set_new(root, key, json_real(value->high));
}

static int write_json(FILE *file, const struct overhead *overhead, const struct result *result)
{
	json_t *root = json_pack("{s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o}, s:i, s:i}",
		"instructions_pct", "read", json_counts(&result->read), "update",
		json_counts(&result->update), "question", json_counts(&result->question),
		"instructions", "read", json_sides(&result->read), "update",
		json_sides(&result->update), "question", json_sides(&result->question), "pairs",
		(int)overhead->pairs, "slice_ms", (int)(SLICE_NS / 1000000));
	json_bounded(root, "normal_loss", &result->normal.throughput);
	json_bounded(root, "overload_loss", &result->overload.throughput);
	json_bounded(root, "p99_normal", &result->normal.p99);
	json_bounded(root, "p99_overload", &result->overload.p99);
	int status = json_dumpf(root, file, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	fputc('\n', file);
	json_decref(root);
	return status;
}

static void print_bounded(FILE *file, const char *what, const struct bounded *value)
{
	fprintf(file, "%-38s %7.2f %%   95 %%: %6.2f … %6.2f %%\n", what, value->value, value->low,
		value->high);
}

static void print_counts(FILE *file, const char *what, const struct counts *counts)
{
	if (counts->known)
		fprintf(file, "%-38s %7.2f %%   %.0f against %.0f\n", what, counts->pct, counts->on,
			counts->off);
	else
		fprintf(file, "%-38s not counted\n", what);
}

static int write_table(FILE *file, const struct result *result)
{
	print_counts(file, "instructions per point read", &result->read);
	print_counts(file, "instructions per point update", &result->update);
	print_counts(file, "instructions per question of the cases", &result->question);
	print_bounded(file, "throughput lost, normal", &result->normal.throughput);
	print_bounded(file, "throughput lost, overload, no cancel", &result->overload.throughput);
	print_bounded(file, "p99 added, normal", &result->normal.p99);
	print_bounded(file, "p99 added, overload, no cancel", &result->overload.p99);
	return ferror(file) ? -1 : 0;
}

/* ---- The command ----------------------------------------------------------------------------- */

enum { OPT_FORMAT = 256, OPT_OUT, OPT_DATA, OPT_PAIRS, OPT_NO_CALLGRIND };

static const struct argp_option options_table[] = {
	{ "format", OPT_FORMAT, "table|json", 0, "of the result [table]", 1 },
	{ "out", OPT_OUT, "FILE", 0, "write the result there, whole or not at all", 1 },
	{ "data", OPT_DATA, "DIR", 0, "where the data sets are made [build/data]", 1 },
	{ "pairs", OPT_PAIRS, "N", 0, "pairs of slices for each load [150]", 1 },
	{ "no-callgrind", OPT_NO_CALLGRIND, NULL, 0, "slices only", 1 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct overhead *overhead = state->input;
	switch (key) {
	case OPT_FORMAT:
		if (strcmp(text, "table") != 0 && strcmp(text, "json") != 0)
			bench_refuse("--format: '%s' is not table or json", text);
		overhead->format = text[0] == 'j' ? FORMAT_JSON : FORMAT_TABLE;
		return 0;
	case OPT_OUT:
		overhead->out_path = text;
		return 0;
	case OPT_DATA:
		overhead->data_dir = text;
		return 0;
	case OPT_PAIRS:
		overhead->pairs = (uint32_t)options_integer("--pairs", text, 10, PAIRS_MAX);
		return 0;
	case OPT_NO_CALLGRIND:
		overhead->no_callgrind = true;
		return 0;
	case ARGP_KEY_ARG:
		bench_refuse("overhead takes no arguments, and '%s' is one", text);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void find_sides(struct overhead *overhead)
{
	ssize_t length =
		readlink("/proc/self/exe", overhead->binary[SIDE_ON], PATH_BYTES - sizeof "-off");
	if (length <= 0)
		bench_refuse("overhead: cannot find its own binary: %s", strerror(errno));
	overhead->binary[SIDE_ON][length] = '\0';
	snprintf(overhead->binary[SIDE_OFF], PATH_BYTES, "%.500s-off", overhead->binary[SIDE_ON]);
	if (access(overhead->binary[SIDE_OFF], X_OK) != 0)
		bench_refuse("overhead: %s, the build without the library, is missing",
			overhead->binary[SIDE_OFF]);
	if (strlen(overhead->data_dir) > PATH_BYTES - 32)
		bench_refuse("--data: the path is too long");
	snprintf(overhead->folder[SIDE_ON], PATH_BYTES, "%.480s/overhead-on", overhead->data_dir);
	snprintf(overhead->folder[SIDE_OFF], PATH_BYTES, "%.480s/overhead-off", overhead->data_dir);
	snprintf(overhead->count_folder, PATH_BYTES, "%.480s/overhead-count", overhead->data_dir);
}

int command_overhead(int argc, char **argv)
{
	static struct overhead overhead;
	struct result result = { 0 };
	struct output output;
	struct case_data data;
	overhead = (struct overhead){ .pairs = 150, .data_dir = "build/data" };
	struct argp argp = { .options = options_table,
		.parser = parse,
		.doc = "Compares the instrumented engine with the one built without the library." };
	argp_parse(&argp, argc, argv, 0, NULL, &overhead);
	signal(SIGPIPE, SIG_IGN);
	find_sides(&overhead);
	const char *unwritable = output_open(&output, overhead.out_path);
	if (unwritable)
		bench_refuse("--out: cannot write '%s': %s", overhead.out_path, unwritable);
	for (int side = 0; side < SIDES; side++)
		data_prepare_in(overhead.folder[side], (uint32_t)atoi(OVERHEAD_POOL_MB),
			OVERHEAD_ARCHIVE_POOLS, &data);
	data_prepare_in(overhead.count_folder, (uint32_t)atoi(COUNT_POOL_MB),
		OVERHEAD_ARCHIVE_POOLS, &data);
	measure_counts(&overhead, "read", &result.read);
	measure_counts(&overhead, "update", &result.update);
	measure_counts(&overhead, "question", &result.question);
	measure_loss(&overhead, "normal", &result.normal);
	measure_loss(&overhead, "overload", &result.overload);
	int status = overhead.format == FORMAT_JSON ? write_json(output.file, &overhead, &result)
						    : write_table(output.file, &result);
	if (status == 0 && output_commit(&output) == 0)
		return 0;
	fprintf(stderr, "cancel-bench: cannot write the result: %s\n", strerror(errno));
	return STATUS_FAILED;
}

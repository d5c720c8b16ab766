/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the measured side of `overhead`: one process with its own engine, which works only when told
 * to. Built twice, against the instrumented engine and against the one with cancellation compiled
 * out; the source is the same. Also the counted process: so many statements and out, under
 * callgrind.
 */
#include "bench/overhead/commands.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>

#include "bench/cases/case.h"
#include "bench/target/data.h"
#include "bench/target/target_engine.h"
#include "bench/load/saturation.h"
#include "common/random.h"
#include "bench/overhead/slices.h"
#include "bench/experiment/warmup.h"

#define SLICE_DEPTH	16
#define SLICE_SLO_NS	5000000u
#define QUEUE_LIMIT	64
#define WARM_QPS	500
#define SLICE_WORKERS	4
#define COUNT_WORKERS	1
#define SLICE_ARGUMENTS 4

struct slicer {
	struct saturation saturation;
	struct target *target;
	struct case_plan plan;
	_Atomic uint32_t count;
	uint32_t latencies_us[SLICE_MAX];
	struct target_client *dumper;
	pthread_t dump_thread;
	_Atomic bool over;
};

static void write_all(const void *bytes, size_t length)
{
	for (const char *at = bytes; length > 0;) {
		ssize_t written = write(STDOUT_FILENO, at, length);
		if (written <= 0)
			exit(1);
		at += written;
		length -= (size_t)written;
	}
}

static void keep_latency(void *arg, uint64_t latency_ns)
{
	struct slicer *slicer = arg;
	uint32_t at = atomic_fetch_add_explicit(&slicer->count, 1, memory_order_relaxed);
	if (at < SLICE_MAX)
		slicer->latencies_us[at] = (uint32_t)(latency_ns / 1000);
}

static void work_one_slice(struct slicer *slicer, uint64_t seed)
{
	struct saturation *saturation = &slicer->saturation;
	*saturation = (struct saturation){ .target = slicer->target,
		.ask = slicer->plan.ask,
		.ask_arg = &slicer->plan,
		.seed = seed,
		.depth = SLICE_DEPTH,
		.length_ns = SLICE_NS,
		.on_latency = keep_latency,
		.arg = slicer };
	slicer->count = 0;
	uint64_t begin_ns = target_now_ns();
	target_engine_hold_rows(slicer->target, false);
	char error[TARGET_ERROR_MAX];
	if (saturation_run(saturation, error) != 0)
		bench_refuse("%s", error);
	target_engine_hold_rows(slicer->target, true);
	struct slice_result result = { .answered = saturation->answered,
		.elapsed_ns = target_now_ns() - begin_ns,
		.count = slicer->count < SLICE_MAX ? slicer->count : SLICE_MAX };
	write_all(&result, sizeof result);
	write_all(slicer->latencies_us, result.count * sizeof *slicer->latencies_us);
}

static void say(struct slicer *slicer, const char *sql, bool rows_out)
{
	struct target_answer ignored;
	target_engine_execute(slicer->dumper,
		&(struct target_request){ .sql = sql, .rows_out = rows_out }, &ignored);
}

static void *dump_again_and_again(void *arg)
{
	struct slicer *slicer = arg;
	const struct actor *dump = &case_dump_actor;
	while (!atomic_load_explicit(&slicer->over, memory_order_acquire)) {
		say(slicer, dump->begin, false);
		for (int i = 0; dump->statements[i]; i++)
			say(slicer, dump->statements[i], dump->rows_out);
		say(slicer, dump->end, false);
	}
	return NULL;
}

static void start_dump(struct slicer *slicer)
{
	target_engine_hold_rows(slicer->target, true);
	if (target_client_open(slicer->target, false, &slicer->dumper) != 0 ||
		pthread_create(&slicer->dump_thread, NULL, dump_again_and_again, slicer) != 0)
		bench_refuse("cannot start the dump of the overload slices");
}

static void stop_dump(struct slicer *slicer)
{
	atomic_store_explicit(&slicer->over, true, memory_order_release);
	target_stop_clients(slicer->target);
	pthread_join(slicer->dump_thread, NULL);
	target_client_close(slicer->dumper);
}

static struct target *open_measured(struct target_options options)
{
	char error[TARGET_ERROR_MAX];
	struct target *target;
	options.struct_size = sizeof options;
	options.queue_limit = QUEUE_LIMIT;
	options.control = TARGET_MONITOR;
	options.slo_ns = SLICE_SLO_NS;
	if (target_open(&options, &target, error) != 0)
		bench_refuse("%s", error);
	return target;
}

/* slices FOLDER POOL_MB normal|overload */
int command_slices(int argc, char **argv)
{
	static struct slicer slicer;
	char command, error[TARGET_ERROR_MAX];
	struct warm warm = { 0 };
	if (argc != SLICE_ARGUMENTS)
		bench_refuse("slices: FOLDER POOL_MB normal|overload");
	uint32_t pool_mb = (uint32_t)options_integer("POOL_MB", argv[2], 1, 65536);
	bool overload = strcmp(argv[3], "overload") == 0;
	data_prepare_in(argv[1], pool_mb, OVERHEAD_ARCHIVE_POOLS, &slicer.plan.data);
	slicer.plan.ask = case_ask_read;
	slicer.target = open_measured((struct target_options){ .data_dir = argv[1],
		.pool_mb = pool_mb,
		.workers = SLICE_WORKERS,
		.precise_always = overload });
	if (warm_up(&warm, slicer.target, &slicer.plan, WARM_QPS, 1, error) != 0)
		bench_refuse("%s", error);
	if (overload)
		start_dump(&slicer);
	struct slice_result ready = { .count = SLICE_READY };
	write_all(&ready, sizeof ready);
	for (uint64_t seed = 1; read(STDIN_FILENO, &command, 1) == 1 && command == SLICE_GO; seed++)
		work_one_slice(&slicer, seed);
	if (overload)
		stop_dump(&slicer);
	target_close(slicer.target);
	warm_free(&warm);
	return 0;
}

/* The statement whose instructions are counted: one row read or written by its key, or a question
 * of the cases. */
static void make_counted(const char *kind, const struct case_plan *plan, uint64_t draw,
	struct target_request *request)
{
	*request = (struct target_request){ .arg_count = 1 };
	request->args[0] = (int64_t)random_below(draw, plan->data.items) + 1;
	if (strcmp(kind, "question") == 0)
		case_ask_read(plan, draw, request);
	else if (strcmp(kind, "update") == 0)
		request->sql = "UPDATE items SET stock = stock + 1 WHERE id = ?1";
	else
		request->sql = "SELECT name, price FROM items WHERE id = ?1";
}

/* count FOLDER POOL_MB read|update|question N: statements on this thread, for callgrind to count
 * inside db_execute. */
int command_count(int argc, char **argv)
{
	struct case_plan plan = { 0 };
	struct target_client *client;
	struct target_request request;
	struct target_answer answer = { 0 };
	if (argc != SLICE_ARGUMENTS + 1)
		bench_refuse("count: FOLDER POOL_MB read|update|question N");
	uint32_t pool_mb = (uint32_t)options_integer("POOL_MB", argv[2], 1, 65536);
	uint64_t count = options_integer("N", argv[4], 1, 100000000), state = 1;
	data_prepare_in(argv[1], pool_mb, OVERHEAD_ARCHIVE_POOLS, &plan.data);
	struct target *target = open_measured((struct target_options){ .data_dir = argv[1],
		.pool_mb = pool_mb,
		.workers = COUNT_WORKERS,
		.no_checkpoint = true });
	if (target_client_open(target, false, &client) != 0)
		bench_refuse("cannot open a session");
	target_engine_execute(client, &(struct target_request){ .sql = WARM_HOT_SET }, &answer);
	for (uint64_t i = 0; i < count && answer.status == TARGET_OK; i++) {
		make_counted(argv[3], &plan, random_mix(&state), &request);
		target_engine_execute(client, &request, &answer);
	}
	if (answer.status != TARGET_OK)
		bench_refuse("%s", answer.error);
	target_client_close(client);
	target_close(target);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of cases, and what several of them say. */
#include "bench/cases/case.h"

#include <string.h>

#include "common/random.h"

#define ARCHIVE_POOLS	32 /* the cold tables together, in pools */
#define WINDOW_LEAST_MS 10u
#define WINDOW_MOST_MS	60000u

const struct bench_case *const bench_cases[] = {
#define CASE(name) &case_##name,
#include "bench/cases/cases.def"
#undef CASE
	NULL,
};

const struct actor case_report_actor = {
	.name = "report",
	.label = LABEL_BYSTANDER,
	.start_ns = 500000000u,
	.forever = true,
	.rows_out = true,
	.row_pause_us = 5000,
	.statements = { "SELECT id, name, stock FROM items WHERE id <= 100000" },
};

const struct actor case_backup_actor = {
	.name = "backup",
	.label = LABEL_WAITING,
	.start_ns = 3500000000u,
	.every_ns = CASE_BACKUP_EVERY_NS,
	.operates = true,
	.statements = { TARGET_BACKUP },
};

const struct actor case_lock_actor = {
	.name = "lock",
	.label = LABEL_CULPRIT,
	.begin = "BEGIN; LOCK TABLE items",
	.end = "COMMIT",
	.statements = { "SELECT 1" },
};

const struct bench_case *bench_case_find(const char *name)
{
	for (const struct bench_case *const *c = bench_cases; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

struct actor *case_add(struct case_plan *plan, const struct actor *actor)
{
	struct actor *added = &plan->actors[plan->actor_count++];
	*added = *actor;
	return added;
}

/* ---- The questions --------------------------------------------------------------------------- */

void case_ask_read(const void *arg, uint64_t draw, struct target_request *request)
{
	const struct case_plan *plan = arg;
	request->sql =
		"SELECT count(*), sum(stock), sum(instr(hex(payload), hex(name))) FROM items "
		"WHERE id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
		"?16)";
	request->arg_count = CASE_READ_ROWS;
	for (uint32_t i = 0; i < CASE_READ_ROWS; i++)
		request->args[i] = (int64_t)random_below(random_mix(&draw), plan->data.items) + 1;
}

/* The keys are those of a linear congruential generator. */
void case_ask_items(const void *arg, uint64_t draw, struct target_request *request)
{
	const struct case_plan *plan = arg;
	request->args[0] = (int64_t)random_below(draw, plan->data.items) + 1;
	request->args[1] = plan->rows;
	request->args[2] = (int64_t)plan->data.items;
	request->arg_count = plan->rows > 1 ? 3 : 1;
	request->sql =
		plan->rows > 1
			? "WITH RECURSIVE k(i,x) AS (SELECT 1,?1 UNION ALL SELECT i+1,"
			  "(x*1103515245+12345)&1073741823 FROM k WHERE i<?2) "
			  "SELECT sum(stock), sum(length(payload)) FROM k CROSS JOIN items t "
			  "WHERE t.id=1+k.x%?3"
			: "SELECT stock FROM items WHERE id=?1";
}

void case_ask_write(const void *arg, uint64_t draw, struct target_request *request)
{
	const struct case_plan *plan = arg;
	request->sql = "UPDATE items SET stock=stock+1 WHERE id=?1 RETURNING stock";
	request->args[0] = (int64_t)random_below(draw, plan->data.items) + 1;
	request->arg_count = 1;
}

/* ---- The plan -------------------------------------------------------------------------------- */

/* The gate of a server takes no window outside these. */
static void fit_gate(struct case_plan *plan)
{
	if (plan->window_ms < WINDOW_LEAST_MS)
		plan->window_ms = WINDOW_LEAST_MS;
	if (plan->window_ms > WINDOW_MOST_MS)
		plan->window_ms = WINDOW_MOST_MS;
	if (!plan->threshold_ms)
		plan->threshold_ms = 1;
}

/* What the user says goes before what the case says. */
static void take_options(const struct bench_options *options, struct case_plan *plan)
{
	if (options->rho_given)
		plan->rho = options->rho;
	if (options->seconds)
		plan->length_ns = options->seconds * (uint64_t)CASE_NS_PER_S;
	if (options->slo_ms > 0)
		plan->slo_ns = (uint64_t)(options->slo_ms * CASE_NS_PER_MS);
	if (options->retries != UINT32_MAX)
		plan->retries = options->retries;
	if (options->service_ms && plan->service_ms)
		plan->service_ms = options->service_ms;
	if (options->pool_given)
		plan->pool_mb = options->pool_mb;
	if (options->workers_given)
		plan->workers = options->workers;
	if (plan->timeout_ns)
		fit_gate(plan);
}

void bench_case_plan(const struct bench_case *bench_case, const struct bench_options *options,
	struct case_plan *plan)
{
	uint32_t seconds = options->rerun && bench_case->rerun_seconds ? bench_case->rerun_seconds
								       : bench_case->seconds;
	if (options->seconds)
		seconds = options->seconds;
	*plan = (struct case_plan){ .data = plan->data,
		.rate_qps = plan->rate_qps,
		.rho = options->rho,
		.length_ns = seconds * (uint64_t)CASE_NS_PER_S,
		.workers = options->workers,
		.pool_mb = options->pool_mb,
		.archive_pools = ARCHIVE_POOLS,
		.ask = case_ask_read,
		.priorities = 1 };
	bench_case->plan(options, plan);
	take_options(options, plan);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of cases, and the question most of them ask. */
#include "bench/cases/case.h"

#include <string.h>

#include "common/random.h"

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
	.backup = true,
};

const struct bench_case *bench_case_find(const char *name)
{
	for (const struct bench_case *const *c = bench_cases; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

const char *bench_case_what(const struct bench_case *bench_case, enum bench_target target)
{
	return target == SERVER_TARGET ? bench_case->server_what : bench_case->what;
}

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

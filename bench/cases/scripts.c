/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the statements of the tasks beside the load, over the wire. */
#include "bench/cases/scripts.h"

#include <stdio.h>

#define PAGE_ROWS     100
#define PAGE_MS	      100 /* what its client does with them: 1 ms a row */
#define SHORT_SCAN_MS 400
#define REPORT_MS     5 /* a row */

static void say_dump(uint32_t round, char sql[SCRIPT_SQL_BYTES])
{
	snprintf(sql, SCRIPT_SQL_BYTES, "SELECT sum(length(payload)) FROM archive_%u",
		round % CASE_ARCHIVES + 1);
}

static void say_rows(uint32_t round, char sql[SCRIPT_SQL_BYTES])
{
	snprintf(sql, SCRIPT_SQL_BYTES, "SELECT * FROM archive_%u", round % CASE_ARCHIVES + 1);
}

static void say_update(uint32_t round, char sql[SCRIPT_SQL_BYTES])
{
	snprintf(sql, SCRIPT_SQL_BYTES,
		"UPDATE archive_1 SET amount = amount + 1 WHERE id BETWEEN %u AND %u RETURNING id",
		round * PAGE_ROWS + 1, (round + 1) * PAGE_ROWS);
}

static void say_page(uint32_t round, char sql[SCRIPT_SQL_BYTES])
{
	snprintf(sql, SCRIPT_SQL_BYTES,
		"SELECT id, name, stock FROM items WHERE id BETWEEN %u AND %u",
		round * PAGE_ROWS + 1, (round + 1) * PAGE_ROWS);
}

static void say_one(uint32_t round, char sql[SCRIPT_SQL_BYTES])
{
	(void)round;
	snprintf(sql, SCRIPT_SQL_BYTES, "SELECT 1");
}

static void say_short_scan(uint32_t round, char sql[SCRIPT_SQL_BYTES])
{
	(void)round;
	snprintf(
		sql, SCRIPT_SQL_BYTES, "SELECT sum(stock), max(price) FROM items WHERE id <= 4000");
}

static void say_report(uint32_t round, char sql[SCRIPT_SQL_BYTES])
{
	(void)round;
	snprintf(sql, SCRIPT_SQL_BYTES, "SELECT * FROM items");
}

static const struct script scripts[] = {
	[SCRIPT_NONE] = { .name = "none" },
	[SCRIPT_PAUSE] = { "pause", "PAUSE", "RESUME", .operates = true },
	[SCRIPT_LOCK] = { "lock", "BEGIN; LOCK TABLE items", "COMMIT", .work = say_one },
	[SCRIPT_DUMP] = { "dump", "BEGIN", "COMMIT", .work = say_dump },
	[SCRIPT_CHECKPOINT] = { "checkpoint", NULL, "CHECKPOINT", .operates = true },
	[SCRIPT_ROWS] = { "rows", "BEGIN", "COMMIT", .work = say_rows },
	[SCRIPT_UPDATE] = { "update", "BEGIN", "COMMIT", say_update, .think_ms = PAGE_MS },
	[SCRIPT_SCAN] = { "scan", "BEGIN", "COMMIT", say_page, .think_ms = PAGE_MS },
	[SCRIPT_BACKUP] = { "backup", NULL, "BACKUP TO '" SCRIPT_BACKUP_NAME "'",
		.operates = true },
	[SCRIPT_REPORT] = { "report", NULL, NULL, say_report, .row_ms = REPORT_MS,
		.harmless = true },
	[SCRIPT_SHORT_SCANS] = { "short scans", NULL, NULL, say_short_scan,
		.think_ms = SHORT_SCAN_MS, .harmless = true },
};

const struct script *script_find(enum script_id script)
{
	return &scripts[script];
}

bool script_is_culprit(enum script_id script)
{
	return scripts[script].begin && !scripts[script].operates;
}

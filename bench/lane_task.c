/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what a task beside the load says to the server and when. It must not know the clients it
 * troubles, nor whether it is the culprit.
 */
#include "lane_task.h"

#include <stdio.h>
#include <string.h>

#define SQL_BYTES     192
#define PAGE_ROWS     100
#define PAGE_MS	      100 /* what its client does with them: 1 ms a row */
#define SHORT_SCAN_MS 400
#define REPORT_MS     5 /* a row */
#define REFUSED_MS    100

/* ---- Scripts ----------------------------------------------------------------------------------
 */

static void say_dump(uint32_t round, char sql[SQL_BYTES])
{
	snprintf(sql, SQL_BYTES, "SELECT sum(length(payload)) FROM archive_%u",
		round % LANE_ARCHIVES + 1);
}

static void say_rows(uint32_t round, char sql[SQL_BYTES])
{
	snprintf(sql, SQL_BYTES, "SELECT * FROM archive_%u", round % LANE_ARCHIVES + 1);
}

static void say_update(uint32_t round, char sql[SQL_BYTES])
{
	snprintf(sql, SQL_BYTES,
		"UPDATE archive_1 SET amount = amount + 1 WHERE id BETWEEN %u AND %u RETURNING id",
		round * PAGE_ROWS + 1, (round + 1) * PAGE_ROWS);
}

static void say_page(uint32_t round, char sql[SQL_BYTES])
{
	snprintf(sql, SQL_BYTES, "SELECT id, name, stock FROM items WHERE id BETWEEN %u AND %u",
		round * PAGE_ROWS + 1, (round + 1) * PAGE_ROWS);
}

static void say_one(uint32_t round, char sql[SQL_BYTES])
{
	(void)round;
	snprintf(sql, SQL_BYTES, "SELECT 1");
}

static void say_short_scan(uint32_t round, char sql[SQL_BYTES])
{
	(void)round;
	snprintf(sql, SQL_BYTES, "SELECT sum(stock), max(price) FROM items WHERE id <= 4000");
}

static void say_report(uint32_t round, char sql[SQL_BYTES])
{
	(void)round;
	snprintf(sql, SQL_BYTES, "SELECT * FROM items");
}

/* What it says first, again and again until its time is over, and last; NULL: nothing. */
static const struct script {
	const char *name, *begin, *end;
	void (*work)(uint32_t round, char sql[SQL_BYTES]);
	uint32_t think_ms; /* between two rounds of its work */
	uint32_t row_ms;   /* its client takes so long over each row */
	bool operates;	   /* needs the operator's rights */
	bool harmless;	   /* goes on when it was cancelled, and never ends */
} scripts[] = {
	[LANE_NO_SCRIPT] = { .name = "none" },
	[LANE_PAUSE] = { "pause", "PAUSE", "RESUME", .operates = true },
	[LANE_LOCK] = { "lock", "BEGIN; LOCK TABLE items", "COMMIT", .work = say_one },
	[LANE_DUMP] = { "dump", "BEGIN", "COMMIT", .work = say_dump },
	[LANE_CHECKPOINT] = { "checkpoint", NULL, "CHECKPOINT", .operates = true },
	[LANE_ROWS] = { "rows", "BEGIN", "COMMIT", .work = say_rows },
	[LANE_UPDATE] = { "update", "BEGIN", "COMMIT", say_update, .think_ms = PAGE_MS },
	[LANE_SCAN] = { "scan", "BEGIN", "COMMIT", say_page, .think_ms = PAGE_MS },
	[LANE_BACKUP] = { "backup", NULL, "BACKUP TO '" LANE_BACKUP_NAME "'", .operates = true },
	[LANE_REPORT] = { "report", NULL, NULL, say_report, .row_ms = REPORT_MS, .harmless = true },
	[LANE_SHORT_SCANS] = { "short scans", NULL, NULL, say_short_scan, .think_ms = SHORT_SCAN_MS,
		.harmless = true },
};

const char *lane_script_name(enum lane_script script)
{
	return scripts[script].name;
}

bool lane_script_is_culprit(enum lane_script script)
{
	return scripts[script].begin && !scripts[script].operates;
}

/* ---- A task ------------------------------------------------------------------------------------
 */

static void on_answer(void *arg, const struct wire_answer *answer);

static uint64_t now_of(const struct lane_task *task)
{
	return task->now_ns(task->arg);
}

static void ask(struct lane_task *task, const char *sql)
{
	task->next_ns = UINT64_MAX;
	wire_session_ask(task->session, sql, on_answer, task);
}

static void be_over(struct lane_task *task)
{
	task->state = TASK_OVER;
	task->next_ns = UINT64_MAX;
}

static void give_back(struct lane_task *task)
{
	if (task->taken_ns)
		task->held_ns += now_of(task) - task->taken_ns;
	task->taken_ns = 0;
}

static void finish(struct lane_task *task)
{
	task->state = TASK_ENDS;
	ask(task, scripts[task->script].end);
}

static void take(struct lane_task *task, uint64_t now_ns)
{
	task->taken_ns = now_ns;
	if (!task->first_ns)
		task->first_ns = now_ns;
	task->state = TASK_HOLDS;
}

/* Its next statement, or when it is due. */
static void go_on(struct lane_task *task, uint64_t now_ns)
{
	const struct script *script = &scripts[task->script];
	char sql[SQL_BYTES];
	if (!script->harmless && now_ns >= task->until_ns) {
		finish(task);
	} else if (!script->work) {
		task->next_ns = task->until_ns;
	} else {
		script->work(task->rounds++, sql);
		ask(task, sql);
	}
}

static void start(struct lane_task *task, uint64_t now_ns)
{
	const struct script *script = &scripts[task->script];
	task->until_ns = now_ns + task->hold_ns;
	if (script->begin) {
		task->state = TASK_BEGINS;
		ask(task, script->begin);
		return;
	}
	take(task, now_ns);
	if (script->work)
		go_on(task, now_ns);
	else
		finish(task); /* all of it is one statement */
}

static void tell_failure(struct lane_task *task, const struct wire_answer *answer)
{
	snprintf(task->error, sizeof task->error, "%s failed: %.200s",
		lane_script_name(task->script), answer->message);
	be_over(task);
}

/* Sent again at once, as its client sees no reason not to. */
static void end(struct lane_task *task)
{
	give_back(task);
	if (task->again) {
		task->again = false;
		task->resends--;
		task->state = TASK_WAITS;
		task->next_ns = now_of(task);
	} else {
		be_over(task);
	}
}

/* Its transaction is gone as soon as it is cancelled, which its client hears from the next answer;
 * ROLLBACK only tidies up. */
static void stop(struct lane_task *task)
{
	task->stopped++;
	task->again = task->resends > 0;
	give_back(task);
	if (task->state == TASK_ENDS) {
		end(task);
		return;
	}
	task->state = TASK_ENDS;
	ask(task, "ROLLBACK");
}

static void wait_for(struct lane_task *task, uint32_t ms)
{
	task->next_ns = now_of(task) + ms * (uint64_t)LANE_NS_PER_MS;
}

static void stop_harmless(struct lane_task *task)
{
	task->stopped++;
	wait_for(task, REFUSED_MS);
}

static void proceed(struct lane_task *task)
{
	const struct script *script = &scripts[task->script];
	bool begins = task->state == TASK_BEGINS;
	if (task->state == TASK_ENDS) {
		end(task);
		return;
	}
	if (begins)
		take(task, now_of(task));
	if (begins || !script->think_ms)
		go_on(task, now_of(task));
	else
		wait_for(task, script->think_ms);
}

/* Refused by admission control, at its first statement or a later one: all of it again. */
static void turn_back(struct lane_task *task)
{
	give_back(task);
	task->state = TASK_TURNED_BACK;
	ask(task, "ROLLBACK");
}

static void come_again(struct lane_task *task)
{
	task->state = TASK_WAITS;
	wait_for(task, REFUSED_MS);
}

static void on_answer(void *arg, const struct wire_answer *answer)
{
	struct lane_task *task = arg;
	const struct script *script = &scripts[task->script];
	if (task->state == TASK_TURNED_BACK)
		come_again(task);
	else if (answer->status == WIRE_REFUSED && script->harmless)
		wait_for(task, REFUSED_MS);
	else if (answer->status == WIRE_REFUSED && script->begin)
		turn_back(task);
	else if (answer->status == WIRE_CANCELLED && script->harmless)
		stop_harmless(task);
	else if (answer->status == WIRE_CANCELLED)
		stop(task);
	else if (answer->status != WIRE_OK)
		tell_failure(task, answer);
	else
		proceed(task);
}

int lane_task_begin(struct lane_task *task, struct wire_pool *operators, struct wire_pool *pool)
{
	const struct script *script = &scripts[task->script];
	be_over(task);
	if (task->script == LANE_NO_SCRIPT)
		return 0;
	task->state = TASK_WAITS;
	task->next_ns = task->onset_ns;
	task->session = wire_session_take(script->operates ? operators : pool);
	return task->session
		       ? wire_session_stream(task->session, script->row_ms ? 1 : 0, script->row_ms)
		       : -1;
}

void lane_task_step(struct lane_task *task, uint64_t now_ns)
{
	if (now_ns < task->next_ns)
		return;
	if (task->state == TASK_WAITS)
		start(task, now_ns);
	else if (task->state == TASK_HOLDS)
		go_on(task, now_ns);
}

uint64_t lane_task_next_ns(const struct lane_task *task)
{
	return task->next_ns;
}

uint64_t lane_task_held_ns(const struct lane_task *task, uint64_t now_ns)
{
	return task->held_ns +
	       (task->taken_ns && now_ns > task->taken_ns ? now_ns - task->taken_ns : 0);
}

uint32_t lane_task_process(const struct lane_task *task)
{
	return task->session ? wire_session_process(task->session) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what a task beside the load says to the server and when.
 */
#include "bench/experiment/script_task.h"

#include <stdio.h>
#include <string.h>

#include "bench/cases/scripts.h"

#define REFUSED_MS 100

/* ---- A task ---------------------------------------------------------------------------------- */

static void on_answer(void *arg, const struct wire_answer *answer);

static uint64_t now_of(const struct script_task *task)
{
	return task->now_ns(task->arg);
}

static void ask(struct script_task *task, const char *sql)
{
	task->next_ns = UINT64_MAX;
	wire_session_ask(task->session, sql, on_answer, task);
}

static void be_over(struct script_task *task)
{
	task->state = TASK_OVER;
	task->next_ns = UINT64_MAX;
}

static void give_back(struct script_task *task)
{
	if (task->taken_ns)
		task->held_ns += now_of(task) - task->taken_ns;
	task->taken_ns = 0;
}

static void finish(struct script_task *task)
{
	task->state = TASK_ENDS;
	ask(task, script_find(task->script)->end);
}

static void take(struct script_task *task, uint64_t now_ns)
{
	task->taken_ns = now_ns;
	if (!task->first_ns)
		task->first_ns = now_ns;
	task->state = TASK_HOLDS;
}

/* Its next statement, or when it is due. */
static void go_on(struct script_task *task, uint64_t now_ns)
{
	const struct script *script = script_find(task->script);
	char sql[SCRIPT_SQL_BYTES];
	if (!script->harmless && now_ns >= task->until_ns) {
		finish(task);
	} else if (!script->work) {
		task->next_ns = task->until_ns;
	} else {
		script->work(task->rounds++, sql);
		ask(task, sql);
	}
}

static void start(struct script_task *task, uint64_t now_ns)
{
	const struct script *script = script_find(task->script);
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

static void tell_failure(struct script_task *task, const struct wire_answer *answer)
{
	snprintf(task->error, sizeof task->error, "%s failed: %.200s",
		script_find(task->script)->name, answer->message);
	be_over(task);
}

/* Sent again at once, as its client sees no reason not to. */
static void end(struct script_task *task)
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
static void stop(struct script_task *task)
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

static void wait_for(struct script_task *task, uint32_t ms)
{
	task->next_ns = now_of(task) + ms * (uint64_t)BENCH_NS_PER_MS;
}

static void stop_harmless(struct script_task *task)
{
	task->stopped++;
	wait_for(task, REFUSED_MS);
}

static void proceed(struct script_task *task)
{
	const struct script *script = script_find(task->script);
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
static void turn_back(struct script_task *task)
{
	give_back(task);
	task->state = TASK_TURNED_BACK;
	ask(task, "ROLLBACK");
}

static void come_again(struct script_task *task)
{
	task->state = TASK_WAITS;
	wait_for(task, REFUSED_MS);
}

static void on_answer(void *arg, const struct wire_answer *answer)
{
	struct script_task *task = arg;
	const struct script *script = script_find(task->script);
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

int script_task_begin(struct script_task *task, struct wire_pool *operators, struct wire_pool *pool)
{
	const struct script *script = script_find(task->script);
	be_over(task);
	if (task->script == SCRIPT_NONE)
		return 0;
	task->state = TASK_WAITS;
	task->next_ns = task->onset_ns;
	task->session = wire_session_take(script->operates ? operators : pool);
	return task->session
		       ? wire_session_stream(task->session, script->row_ms ? 1 : 0, script->row_ms)
		       : -1;
}

void script_task_step(struct script_task *task, uint64_t now_ns)
{
	if (now_ns < task->next_ns)
		return;
	if (task->state == TASK_WAITS)
		start(task, now_ns);
	else if (task->state == TASK_HOLDS)
		go_on(task, now_ns);
}

uint64_t script_task_next_ns(const struct script_task *task)
{
	return task->next_ns;
}

uint64_t script_task_held_ns(const struct script_task *task, uint64_t now_ns)
{
	return task->held_ns +
	       (task->taken_ns && now_ns > task->taken_ns ? now_ns - task->taken_ns : 0);
}

uint32_t script_task_process(const struct script_task *task)
{
	return task->session ? wire_session_process(task->session) : 0;
}

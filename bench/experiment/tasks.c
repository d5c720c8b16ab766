/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what a task says to the target and when, and what it notes of each execution. An execution
 * counts from its scheduled start. What is rerun after a cancel is the target's business; a script
 * with resends is sent again at once, as its client sees no reason not to.
 */
#include "bench/experiment/tasks.h"

#include <stdio.h>
#include <string.h>

#define NS_PER_S	 1e9
#define FOREVER_PAUSE_MS 10  /* between the rounds of a bystander */
#define REFUSED_MS	 100 /* after a refusal, or a bystander's cancel */

static uint64_t after_ms(uint64_t now_ns, uint32_t ms)
{
	return now_ns + ms * (uint64_t)CASE_NS_PER_MS;
}

/* ---- What it notes --------------------------------------------------------------------------- */

static void tell(const struct task *task, uint64_t now_ns, const char *what)
{
	const struct progress *progress = task->tasks->progress;
	if (progress && task->actor.label == LABEL_CULPRIT)
		progress_event(progress, (double)now_ns / NS_PER_S, what, task->actor.name, "");
}

static void begin_record(struct task *task)
{
	struct samples *data = task->tasks->data;
	task->record = NULL;
	if (!data)
		return;
	pthread_mutex_lock(task->tasks->data_lock);
	if (data->task_count < RUN_TASKS_MAX) {
		task->record = &data->tasks[data->task_count++];
		*task->record = (struct task_record){ .label = task->actor.label,
			.start_ns = task->begun_ns,
			.key = target_client_key(task->client) };
		snprintf(task->record->name, sizeof task->record->name, "%s", task->actor.name);
	}
	pthread_mutex_unlock(task->tasks->data_lock);
}

static void take(struct task *task, uint64_t now_ns)
{
	if (task->record)
		task->record->taken_ns = now_ns;
	tell(task, now_ns, "begins:");
}

/* Its transaction is gone as soon as it is cancelled, which its client hears from the next answer. */
static void end_record(struct task *task, uint64_t now_ns, enum target_status status)
{
	struct task_record *record = task->record;
	tell(task, now_ns, status == TARGET_OK ? "is over:" : "is stopped:");
	task->record = NULL;
	if (!record)
		return;
	pthread_mutex_lock(task->tasks->data_lock);
	record->end_ns = now_ns ? now_ns : 1;
	record->completed = status == TARGET_OK;
	record->cancelled = status == TARGET_CANCELLED;
	if (record->taken_ns)
		record->held_ns = now_ns - record->taken_ns;
	pthread_mutex_unlock(task->tasks->data_lock);
}

static void note_answer(struct task *task)
{
	if (!task->record)
		return;
	task->record->work += task->answer.rows;
	task->record->reruns += task->answer.reruns;
}

/* ---- What it says ---------------------------------------------------------------------------- */

static void on_answer(void *arg, uint64_t token, const struct target_answer *answer)
{
	struct task *task = arg;
	(void)token;
	task->answer = *answer;
	atomic_store_explicit(&task->answered, true, memory_order_release);
}

static void ask(struct task *task, enum task_state state, const char *sql)
{
	const struct actor *actor = &task->actor;
	uint64_t first = (uint64_t)task->pages * actor->page_rows + 1;
	bool works = state == TASK_WORKS;
	task->state = state;
	task->next_ns = UINT64_MAX;
	atomic_store_explicit(&task->answered, false, memory_order_relaxed);
	target_client_ask(task->client,
		&(struct target_request){ .sql = sql,
			.args = { (int64_t)first, (int64_t)(first + actor->page_rows - 1) },
			.arg_count = works && actor->page_rows ? 2 : 0,
			.rows_out = works && actor->rows_out,
			.row_pause_us = works ? actor->row_pause_us : 0,
			.callback = on_answer,
			.arg = task });
}

static void wait_until(struct task *task, enum task_state state, uint64_t at_ns)
{
	task->state = at_ns == UINT64_MAX ? TASK_OVER : state;
	task->next_ns = at_ns;
}

/* The next time of an actor that comes again and again; UINT64_MAX: it does not. */
static uint64_t next_start_ns(const struct task *task, uint64_t now_ns)
{
	const struct actor *actor = &task->actor;
	uint64_t at_ns = task->begun_ns;
	if (actor->forever)
		return after_ms(now_ns, actor->think_ms ? actor->think_ms : FOREVER_PAUSE_MS);
	if (!actor->every_ns)
		return UINT64_MAX;
	while (at_ns <= now_ns)
		at_ns += actor->every_ns;
	return at_ns;
}

static void complete(struct task *task, uint64_t now_ns)
{
	end_record(task, now_ns, TARGET_OK);
	wait_until(task, TASK_WAITS, next_start_ns(task, now_ns));
}

/* Its next statement, or when it is due. */
static void go_on(struct task *task, uint64_t now_ns)
{
	const struct actor *actor = &task->actor;
	uint32_t count = 0;
	while (count < CASE_STATEMENTS_MAX && actor->statements[count])
		count++;
	bool over = actor->hold_ns ? now_ns >= task->until_ns : task->said == count;
	if (!over && !count) {
		wait_until(task, TASK_THINKS, task->until_ns);
	} else if (!over) {
		ask(task, TASK_WORKS, actor->statements[task->said++ % count]);
		task->pages++;
	} else if (actor->end) {
		ask(task, TASK_ENDS, actor->end);
	} else {
		complete(task, now_ns);
	}
}

static void start(struct task *task, uint64_t due_ns, uint64_t now_ns)
{
	task->until_ns = now_ns + task->actor.hold_ns;
	task->begun_ns = due_ns;
	task->said = 0;
	begin_record(task);
	if (task->actor.begin) {
		ask(task, TASK_BEGINS, task->actor.begin);
		return;
	}
	take(task, now_ns);
	go_on(task, now_ns);
}

/* ---- What it hears --------------------------------------------------------------------------- */

static void begin_anew_at(struct task *task, uint64_t at_ns)
{
	bool to_undo = task->actor.begin && task->state != TASK_ENDS;
	task->again_ns = at_ns;
	if (to_undo)
		ask(task, TASK_UNDOES, "ROLLBACK");
	else
		wait_until(task, TASK_WAITS, at_ns);
}

static void be_stopped(struct task *task, uint64_t now_ns)
{
	uint64_t again_ns;
	end_record(task, now_ns, TARGET_CANCELLED);
	if (task->actor.resends) {
		task->actor.resends--;
		again_ns = now_ns;
	} else if (task->actor.forever) {
		again_ns = after_ms(now_ns, REFUSED_MS);
	} else {
		again_ns = next_start_ns(task, now_ns);
	}
	begin_anew_at(task, again_ns);
}

static void hear(struct task *task, uint64_t now_ns)
{
	enum target_status status = task->answer.status;
	const struct actor *actor = &task->actor;
	note_answer(task);
	if (task->state == TASK_UNDOES) {
		wait_until(task, TASK_WAITS, task->again_ns);
	} else if (status == TARGET_CANCELLED) {
		be_stopped(task, now_ns);
	} else if (status == TARGET_REJECTED && (actor->begin || actor->forever)) {
		end_record(task, now_ns, status); /* by admission control: all of it again */
		begin_anew_at(task, after_ms(now_ns, REFUSED_MS));
	} else if (status != TARGET_OK) {
		end_record(task, now_ns, status);
		char said[sizeof task->answer.error];
		memcpy(said, task->answer.error, sizeof said);
		snprintf(
			task->error, sizeof task->error, "%.32s failed: %.200s", actor->name, said);
		begin_anew_at(task, next_start_ns(task, now_ns));
	} else if (task->state == TASK_ENDS) {
		complete(task, now_ns);
	} else if (task->state == TASK_WORKS && actor->think_ms && !actor->forever) {
		wait_until(task, TASK_THINKS, after_ms(now_ns, actor->think_ms));
	} else {
		if (task->state == TASK_BEGINS)
			take(task, now_ns);
		go_on(task, now_ns);
	}
}

static bool in_hand(const struct task *task)
{
	return task->next_ns == UINT64_MAX && task->state != TASK_OVER;
}

static void step(struct task *task, uint64_t now_ns)
{
	if (in_hand(task)) {
		if (atomic_load_explicit(&task->answered, memory_order_acquire))
			hear(task, now_ns);
	} else if (now_ns >= task->next_ns && task->state == TASK_WAITS) {
		start(task, task->next_ns, now_ns);
	} else if (now_ns >= task->next_ns) {
		go_on(task, now_ns);
	}
}

/* ---- All of them ----------------------------------------------------------------------------- */

int tasks_add(struct tasks *tasks, const struct actor *actor)
{
	struct task *task = &tasks->list[tasks->count];
	*task = (struct task){ .tasks = tasks, .actor = *actor, .next_ns = actor->start_ns };
	if (target_client_open(tasks->target, actor->operates, &task->client) != 0)
		return -1;
	tasks->count++;
	return 0;
}

bool task_begin(struct task *task, uint64_t now_ns)
{
	if (task->state != TASK_WAITS && task->state != TASK_OVER)
		return false;
	start(task, now_ns, now_ns);
	return true;
}

void tasks_step(struct tasks *tasks, uint64_t now_ns)
{
	for (uint32_t i = 0; i < tasks->count; i++)
		step(&tasks->list[i], now_ns);
}

uint64_t tasks_next_ns(const struct tasks *tasks)
{
	uint64_t next_ns = UINT64_MAX;
	for (uint32_t i = 0; i < tasks->count; i++)
		if (tasks->list[i].next_ns < next_ns)
			next_ns = tasks->list[i].next_ns;
	return next_ns;
}

bool tasks_busy(const struct tasks *tasks)
{
	for (uint32_t i = 0; i < tasks->count; i++)
		if (in_hand(&tasks->list[i]))
			return true;
	return false;
}

void tasks_end(struct tasks *tasks)
{
	for (uint32_t i = 0; i < tasks->count; i++)
		target_client_close(tasks->list[i].client);
	tasks->count = 0;
}

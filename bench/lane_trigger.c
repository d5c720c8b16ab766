/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what a trigger says to the server and when. It must not know the clients it troubles.
 */
#include "lane_trigger.h"

#include <stdio.h>
#include <string.h>

static const struct script {
	const char *begin, *work, *end;
} scripts[] = {
	[LANE_NO_TRIGGER] = { "", NULL, "" },
	[LANE_PAUSE] = { "PAUSE", NULL, "RESUME" },
	[LANE_LOCK] = { "BEGIN; LOCK TABLE items", "SELECT 1", "COMMIT" },
	[LANE_DUMP] = { "BEGIN", "dump", "COMMIT" },
	[LANE_CHECKPOINT] = { NULL, NULL, "CHECKPOINT" }, /* all of it is one statement */
};

static void on_answer(void *arg, const struct wire_answer *answer);

static void ask(struct trigger *trigger, const char *sql)
{
	wire_session_ask(trigger->session, sql, on_answer, trigger);
}

static void ask_work(struct trigger *trigger)
{
	char sql[96];
	if (trigger->kind != LANE_DUMP) {
		ask(trigger, scripts[trigger->kind].work);
		return;
	}
	snprintf(sql, sizeof sql, "SELECT sum(length(payload)) FROM archive_%u",
		trigger->dumps++ % LANE_ARCHIVES + 1);
	ask(trigger, sql);
}

static bool time_is_over(const struct trigger *trigger, uint64_t now_ns)
{
	return now_ns >= trigger->onset_ns + trigger->hold_ns;
}

static void finish(struct trigger *trigger)
{
	trigger->state = TRIGGER_ENDS;
	ask(trigger, scripts[trigger->kind].end);
}

static void hold(struct trigger *trigger, uint64_t now_ns)
{
	trigger->state = TRIGGER_HOLDS;
	if (!scripts[trigger->kind].work)
		return; /* trigger_step ends it */
	if (time_is_over(trigger, now_ns))
		finish(trigger);
	else
		ask_work(trigger);
}

static void tell_failure(struct trigger *trigger, const struct wire_answer *answer)
{
	snprintf(trigger->error, sizeof trigger->error, "the trigger failed: %.200s",
		answer->message);
}

/* Its transaction is gone as soon as it is cancelled; ROLLBACK only tidies up. */
static void stop(struct trigger *trigger, const struct wire_answer *answer, uint64_t now_ns)
{
	trigger->stopped = answer->status == WIRE_CANCELLED;
	if (!trigger->stopped)
		tell_failure(trigger, answer);
	trigger->released_ns = now_ns;
	trigger->state = TRIGGER_ENDS;
	ask(trigger, "ROLLBACK");
}

static void on_answer(void *arg, const struct wire_answer *answer)
{
	struct trigger *trigger = arg;
	uint64_t now_ns = trigger->now_ns(trigger->arg);
	if (trigger->state == TRIGGER_ENDS) {
		trigger->state = TRIGGER_OVER;
		if (!scripts[trigger->kind].begin && answer->status != WIRE_OK)
			tell_failure(trigger, answer);
		if (!trigger->released_ns)
			trigger->released_ns = now_ns;
		return;
	}
	if (answer->status != WIRE_OK) {
		stop(trigger, answer, now_ns);
		return;
	}
	if (trigger->state == TRIGGER_BEGINS)
		trigger->taken_ns = now_ns;
	hold(trigger, now_ns);
}

int trigger_begin(struct trigger *trigger, struct wire_pool *operators, struct wire_pool *pool)
{
	trigger->state = trigger->kind == LANE_NO_TRIGGER ? TRIGGER_OVER : TRIGGER_WAITS;
	if (trigger->kind == LANE_NO_TRIGGER)
		return 0;
	bool operator= trigger->kind == LANE_PAUSE || trigger->kind == LANE_CHECKPOINT;
	trigger->session = wire_session_take(operator? operators : pool);
	return trigger->session ? 0 : -1;
}

void trigger_step(struct trigger *trigger, uint64_t now_ns)
{
	if (trigger->state == TRIGGER_WAITS && now_ns >= trigger->onset_ns &&
		!scripts[trigger->kind].begin) {
		trigger->taken_ns = now_ns;
		finish(trigger);
	} else if (trigger->state == TRIGGER_WAITS && now_ns >= trigger->onset_ns) {
		trigger->state = TRIGGER_BEGINS;
		ask(trigger, scripts[trigger->kind].begin);
	} else if (trigger->state == TRIGGER_HOLDS && !scripts[trigger->kind].work &&
		   time_is_over(trigger, now_ns)) {
		finish(trigger);
	}
}

uint64_t trigger_next_ns(const struct trigger *trigger)
{
	if (trigger->state == TRIGGER_WAITS)
		return trigger->onset_ns;
	if (trigger->state == TRIGGER_HOLDS && !scripts[trigger->kind].work)
		return trigger->onset_ns + trigger->hold_ns;
	return UINT64_MAX;
}

uint32_t trigger_process(const struct trigger *trigger)
{
	return trigger->session ? wire_session_process(trigger->session) : 0;
}

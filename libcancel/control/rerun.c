/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerun.c - owns the fairness of cancelling: a culprit runs again once the others are well.
 *
 * A cancelled task may start anew when every resource it was blamed for has been calm for a second
 * (the core's calm_mask; doubling each time the same culprit was decided again), and when no other
 * task blamed for the same resource was let go within that time. The oldest ticket goes first; one
 * whose host has not asked for a second does not stand in the way. What runs again is never
 * cancelled again, so a task is delayed, not starved: it waits until its SLO deadline, or
 * rerun_max_ms where it has none, and is then dropped; background tasks are then run.
 */
#include "libcancel/control/rerun.h"

#include <pthread.h>
#include <string.h>

#include "libcancel/track/count.h"
#include "libcancel/track/event.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/state_word.h"
#include "libcancel/track/task.h"

#define TICKETS_MAX   64
#define RETURNING_MAX 64
#define DOUBLINGS_MAX 5
#define CALM_NS	      1000000000u /* what a bit of calm_mask stands for */
#define ABSENT_NS     1000000000u
#define NS_PER_MS     1000000u

struct ticket {
	uint64_t id; /* 0: free; smaller is older */
	uint64_t task, mask, asked_ns;
};

struct returning { /* a culprit by signature and class, and how often it was decided again */
	uint64_t signature;
	uint32_t class_index, times;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; of all below */
static struct ticket tickets[TICKETS_MAX];
static uint64_t last_ticket;
static uint64_t calm_since_ns[CANCEL_RESOURCES_MAX]; /* 0: not calm; else calm a second before */
static uint64_t granted_ns[CANCEL_RESOURCES_MAX];
static struct returning returning[RETURNING_MAX];
static uint32_t next_returning;
static uint64_t longest_ns;

/* ---- What the controller knows --------------------------------------------------------------- */

static struct returning *find_returning(uint64_t signature, uint32_t class_index)
{
	for (uint32_t i = 0; i < RETURNING_MAX; i++)
		if (returning[i].times && returning[i].signature == signature &&
			returning[i].class_index == class_index)
			return &returning[i];
	return NULL;
}

static void note_returning(const struct cancel_candidate *target)
{
	struct returning *known = find_returning(target->signature, target->class_index);
	if (known) {
		known->times += known->times < DOUBLINGS_MAX;
		return;
	}
	returning[next_returning++ % RETURNING_MAX] = (struct returning){
		.signature = target->signature,
		.class_index = target->class_index,
		.times = 1,
	};
}

void rerun_turn(const struct cancel_verdict *v)
{
	pthread_mutex_lock(&lock);
	for (uint32_t r = 0; r < CANCEL_RESOURCES_MAX; r++) {
		bool calm = v->calm_mask >> r & 1;
		if (!calm)
			calm_since_ns[r] = 0;
		else if (!calm_since_ns[r])
			calm_since_ns[r] = v->now_ns - CALM_NS;
	}
	if (v->decided && v->decision.returning)
		note_returning(&v->decision.target);
	pthread_mutex_unlock(&lock);
}

void rerun_limit_ms(uint32_t rerun_max_ms)
{
	pthread_mutex_lock(&lock);
	longest_ns = (uint64_t)rerun_max_ms * NS_PER_MS;
	pthread_mutex_unlock(&lock);
}

void rerun_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(tickets, 0, sizeof tickets);
	memset(calm_since_ns, 0, sizeof calm_since_ns);
	memset(granted_ns, 0, sizeof granted_ns);
	memset(returning, 0, sizeof returning);
	pthread_mutex_unlock(&lock);
}

/* ---- What a task asks; all under the lock ---------------------------------------------------- */

static bool all_calm(uint64_t mask, uint64_t needed_ns, uint64_t now_ns)
{
	for (; mask; mask &= mask - 1) {
		uint32_t r = (uint32_t)__builtin_ctzll(mask);
		if (!calm_since_ns[r] || now_ns - calm_since_ns[r] < needed_ns)
			return false;
		if (granted_ns[r] && now_ns - granted_ns[r] < needed_ns)
			return false;
	}
	return true;
}

static struct ticket *find_ticket(uint64_t id, uint64_t task)
{
	for (uint32_t i = 0; id && i < TICKETS_MAX; i++)
		if (tickets[i].id == id && tickets[i].task == task)
			return &tickets[i];
	return NULL;
}

static struct ticket *new_ticket(uint64_t task, uint64_t mask, uint64_t now_ns)
{
	for (uint32_t i = 0; i < TICKETS_MAX; i++) {
		struct ticket *t = &tickets[i];
		if (t->id && now_ns - t->asked_ns < longest_ns + ABSENT_NS)
			continue;
		*t = (struct ticket){ .id = ++last_ticket, .task = task, .mask = mask };
		return t;
	}
	count(CANCEL_COUNT_tickets_dropped);
	return NULL;
}

static bool is_oldest(const struct ticket *mine, uint64_t now_ns)
{
	for (uint32_t i = 0; i < TICKETS_MAX; i++) {
		const struct ticket *t = &tickets[i];
		if (t->id && t->id < mine->id && t->mask & mine->mask &&
			now_ns - t->asked_ns < ABSENT_NS)
			return false;
	}
	return true;
}

static uint64_t calm_needed_ns(const struct slot *s)
{
	const struct returning *known =
		find_returning(load_relaxed(&s->signature), load_relaxed(&s->class_index));
	return (uint64_t)CALM_NS << (known ? known->times : 0);
}

/* The last moment at which waiting makes sense. */
static uint64_t deadline_ns(const struct slot *s)
{
	uint64_t slo_ns = task_slo_ns(s);
	uint64_t start_ns = load_relaxed(&s->episode_start_ns);
	if (slo_ns && start_ns && !(load_relaxed(&s->flags) & CANCEL_BACKGROUND))
		return start_ns + slo_ns;
	return load_relaxed(&s->cold->delivered_ns) + longest_ns;
}

static void mark_granted(uint64_t mask, uint64_t now_ns)
{
	for (; mask; mask &= mask - 1)
		granted_ns[__builtin_ctzll(mask)] = now_ns;
}

static enum cancel_rerun_answer answer(
	const struct slot *s, uint64_t id, struct cancel_ticket *ticket, uint64_t now_ns)
{
	uint64_t mask = load_relaxed(&s->cold->blamed_mask);
	bool background = load_relaxed(&s->flags) & CANCEL_BACKGROUND;
	struct ticket *mine = find_ticket(ticket->id, id);
	enum cancel_rerun_answer says = CANCEL_WAIT;
	if (load_relaxed(&s->cold->reason) == CANCEL_REASON_MANUAL)
		says = CANCEL_DROP;
	else if (now_ns >= deadline_ns(s))
		says = background ? CANCEL_RERUN : CANCEL_DROP;
	else if (!mine)
		mine = new_ticket(id, mask, now_ns);
	if (mine)
		mine->asked_ns = now_ns;
	if (says == CANCEL_WAIT && all_calm(mask, calm_needed_ns(s), now_ns) &&
		(!mine || is_oldest(mine, now_ns)))
		says = CANCEL_RERUN;
	if (says == CANCEL_RERUN)
		mark_granted(mask, now_ns);
	if (says != CANCEL_WAIT && mine)
		mine->id = 0;
	ticket->id = mine ? mine->id : 0;
	return says;
}

/* ---- The call -------------------------------------------------------------------------------- */

/* What it held is back, whether or not it has looked at its request; then it begins again. What it
 * did so far is wasted. The old cancel is forgotten while nobody can deliver another; false where
 * an operator's came first, which is final. */
static bool start_anew(struct slot *s, uint64_t id)
{
	task_check_released(s);
	enum slot_state before = state_word_change_begin(s);
	if (load_relaxed(&s->cold->reason) == CANCEL_REASON_MANUAL) {
		state_word_change_end(s, before);
		return false;
	}
	uint64_t now_ns = clock_precise_ns(), start_ns = load_relaxed(&s->episode_start_ns);
	uint64_t open_ns = start_ns && now_ns > start_ns ? now_ns - start_ns : 0;
	uint64_t active_ns = load_relaxed(&s->active_ns) + open_ns;
	event_post(CANCEL_EVENT_RERUN, id, now_ns, task_wasted_ns(s, active_ns, now_ns));
	count(CANCEL_COUNT_reruns);
	store_relaxed(&s->flags, load_relaxed(&s->flags) | CANCEL_RERUNNING);
	store_relaxed(&s->watch_mask, 0);
	store_relaxed(&s->progress_done, 0);
	store_relaxed(&s->progress_expected, 0);
	s->cold->stopped_ns = 0;
	store_relaxed(&s->cold->acknowledged, false);
	store_relaxed(&s->cold->reason, 0);
	state_word_change_end(s, SLOT_RUNNING);
	return true;
}

static void give_up(struct slot *s, uint64_t id, uint64_t now_ns)
{
	if (s->cold->dropped)
		return;
	s->cold->dropped = true;
	count(CANCEL_COUNT_drops);
	event_post(CANCEL_EVENT_DROPPED, id, now_ns, 0);
}

enum cancel_rerun_answer cancel_rerun(struct cancel_task task, struct cancel_ticket *ticket)
{
	struct cancel_ticket none = { 0 };
	bool borrowed;
	if (!task.id)
		return CANCEL_RERUN;
	if (count_own_thread())
		return CANCEL_DROP;
	struct slot *s = task_hold(task.id, &borrowed);
	if (!s)
		return CANCEL_DROP;
	enum cancel_rerun_answer says = CANCEL_RERUN;
	if (state_word_settle(s) == SLOT_DELIVERED) {
		uint64_t now_ns = clock_precise_ns();
		pthread_mutex_lock(&lock);
		says = answer(s, task.id, ticket ? ticket : &none, now_ns);
		pthread_mutex_unlock(&lock);
		if (says == CANCEL_RERUN && !start_anew(s, task.id))
			says = CANCEL_DROP;
		if (says == CANCEL_DROP)
			give_up(s, task.id, now_ns);
	}
	task_release(s, borrowed);
	return says;
}

void rerun_lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

void rerun_unlock_after_fork(bool child)
{
	if (child)
		memset(tickets, 0, sizeof tickets);
	pthread_mutex_unlock(&lock);
}

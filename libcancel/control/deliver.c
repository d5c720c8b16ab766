/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.c - owns the delivery thread and its queue. The thread takes a task to DELIVERING, runs
 * the host's action there, and says what became of it. state_word.c argues why that is safe.
 *
 * A thread of its own, because an action is the host's code: however long it takes, the controller
 * goes on looking. No lock is held while an action runs.
 */
#include "libcancel/control/deliver.h"

#include <pthread.h>

#include "libcancel/control/thread.h"
#include "libcancel/diag/probes.h"
#include "libcancel/track/count.h"
#include "libcancel/track/event.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/state_word.h"

#define QUEUE_MAX 64
#define STALE_NS  1000000000u

static struct {
	pthread_mutex_t lock; /* of queue, head, length, stopping */
	pthread_cond_t changed;
	struct delivery queue[QUEUE_MAX];
	uint32_t head, length;
	bool stopping;
	pthread_t thread;
	_Atomic uint64_t running_since_ns, running_task; /* delivery thread writes */
} delivery = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void run_action(struct slot *s, const struct delivery *d)
{
	struct slot_cold *cold = s->cold;
	struct cancel_request request = {
		.task = { d->task },
		.key = load_relaxed(&s->key),
		.serial = d->serial,
		.reason = d->reason,
		.strength = d->strength,
	};
	if (!request.strength)
		request.strength = load_relaxed(&s->episode_start_ns) ? CANCEL_END_STATEMENT
								      : CANCEL_END_SESSION;
	if (cold->action) {
		cold->action(&request, cold->action_arg);
	} else if (cold->thread_valid && load_relaxed(&library_state.thread_cancel)) {
		store_relaxed(&cold->thread_cancelled, true);
		pthread_cancel(cold->thread);
	}
}

/* A decision that waited behind a slow action was made for another world; an operator's was not. */
static bool is_stale(const struct delivery *d, uint64_t now_ns)
{
	return d->reason != CANCEL_REASON_MANUAL && now_ns > d->pushed_ns &&
	       now_ns - d->pushed_ns > STALE_NS;
}

static void deliver(const struct delivery *d)
{
	struct slot *s = slot_at(id_index(d->task));
	enum state_word_delivery how = STATE_WORD_GONE;
	uint64_t now_ns = clock_precise_ns();
	if (s && library_is_on() && !is_stale(d, now_ns))
		how = state_word_deliver(s, d->task, d->reason != CANCEL_REASON_MANUAL);
	if (how != STATE_WORD_DELIVER) {
		count(CANCEL_COUNT_ignored);
		event_post(CANCEL_EVENT_IGNORED, d->task, now_ns, 0);
		return;
	}
	store_relaxed(&s->watch_mask, d->blamed_mask);
	store_relaxed(&s->cold->blamed_mask, d->blamed_mask);
	if (load_relaxed(&s->cold->reason) != CANCEL_REASON_MANUAL) /* that one is final */
		store_relaxed(&s->cold->reason, d->reason);
	store_relaxed(&s->cold->delivered_ns, now_ns);
	store_relaxed(&delivery.running_task, d->task);
	store_release(&delivery.running_since_ns, now_ns);
	run_action(s, d);
	store_release(&delivery.running_since_ns, 0);
	count(CANCEL_COUNT_delivered);
	PROBE2(delivered, d->task, d->reason);
	event_post(CANCEL_EVENT_DELIVERED, d->task, now_ns, 0);
	state_word_delivered(s);
}

static bool pop(struct delivery *d)
{
	pthread_mutex_lock(&delivery.lock);
	while (!delivery.length && !delivery.stopping)
		pthread_cond_wait(&delivery.changed, &delivery.lock);
	bool some = !delivery.stopping;
	if (some) {
		*d = delivery.queue[delivery.head];
		delivery.head = (delivery.head + 1) % QUEUE_MAX;
		delivery.length--;
	}
	pthread_mutex_unlock(&delivery.lock);
	return some;
}

static void *deliver_main(void *ignored)
{
	struct delivery d;
	(void)ignored;
	own_thread = true;
	while (pop(&d))
		deliver(&d);
	return NULL;
}

int deliver_start(void)
{
	pthread_mutex_lock(&delivery.lock); /* a call that began before the last stop may be here */
	delivery.head = 0;
	delivery.length = 0;
	delivery.stopping = false;
	pthread_mutex_unlock(&delivery.lock);
	return thread_start(&delivery.thread, deliver_main, "cancel-deliver");
}

void deliver_stop(void)
{
	pthread_mutex_lock(&delivery.lock);
	delivery.stopping = true;
	pthread_cond_signal(&delivery.changed);
	pthread_mutex_unlock(&delivery.lock);
	pthread_join(delivery.thread, NULL);
}

bool deliver_push(const struct delivery *d)
{
	pthread_mutex_lock(&delivery.lock);
	bool room = delivery.length < QUEUE_MAX && !delivery.stopping;
	if (room) {
		uint32_t tail = (delivery.head + delivery.length) % QUEUE_MAX;
		delivery.queue[tail] = *d;
		delivery.queue[tail].pushed_ns = clock_precise_ns();
		delivery.length++;
		pthread_cond_signal(&delivery.changed);
	}
	pthread_mutex_unlock(&delivery.lock);
	if (!room)
		count(CANCEL_COUNT_deliveries_dropped);
	return room;
}

uint64_t deliver_running_since_ns(uint64_t *task)
{
	uint64_t since_ns = load_acquire(&delivery.running_since_ns);
	*task = load_relaxed(&delivery.running_task);
	return since_ns;
}

void deliver_lock_for_fork(void)
{
	pthread_mutex_lock(&delivery.lock);
}

void deliver_unlock_after_fork(bool child)
{
	if (child) {
		delivery.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
		delivery.length = 0;
		store_relaxed(&delivery.running_since_ns, 0);
	}
	pthread_mutex_unlock(&delivery.lock);
}

int cancel_deliver(struct cancel_task task)
{
	if (count_own_thread())
		return CANCEL_ESTATE;
	if (!library_is_on())
		return CANCEL_ESTATE;
	struct slot *s = slot_at(id_index(task.id));
	uint64_t word = s ? load_acquire(&s->state_word) : 0;
	if (!state_word_is(word, task.id))
		return CANCEL_ENOTASK;
	if (!(load_relaxed(&s->flags) & CANCEL_CANCELLABLE))
		return CANCEL_EINVAL;
	if (state_in(word) == SLOT_BLOCKED)
		return CANCEL_EBUSY;
	struct delivery d = { .task = task.id, .reason = CANCEL_REASON_MANUAL };
	return deliver_push(&d) ? 0 : CANCEL_EBUSY;
}

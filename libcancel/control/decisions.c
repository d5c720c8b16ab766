/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decisions.c - owns the last decisions and the listeners.
 *
 * Only the controller thread writes records, so it may hand one to a listener without a lock; the
 * lock is for its writes against readers on other threads. No lock is held while a listener runs:
 * `calling` says that one does, and whoever removes it waits.
 */
#include "libcancel/control/decisions.h"

#include <pthread.h>
#include <string.h>

#include "libcancel/control/log.h"
#include "libcancel/control/quarantine.h"
#include "libcancel/control/recording.h"
#include "libcancel/diag/journal.h"
#include "libcancel/diag/probes.h"
#include "libcancel/diag/stack.h"
#include "libcancel/track/count.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/slot.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; of all below */
static pthread_cond_t call_over = PTHREAD_COND_INITIALIZER;
static struct cancel_decision_record records[CANCEL_RECORDS_KEPT];
static uint64_t record_count; /* ever; the last is at (record_count - 1) % kept */
static cancel_listener listener;
static void *listener_arg;
static cancel_window_listener window_listener;
static void *window_listener_arg;
static bool calling;

/* ---- Listeners ------------------------------------------------------------------------------- */

static void call_ended(void)
{
	pthread_mutex_lock(&lock);
	calling = false;
	pthread_cond_broadcast(&call_over);
	pthread_mutex_unlock(&lock);
}

static void notify(enum cancel_change change, const struct cancel_decision_record *record)
{
	pthread_mutex_lock(&lock);
	cancel_listener call = listener;
	void *arg = listener_arg;
	calling = call != NULL;
	pthread_mutex_unlock(&lock);
	if (call) {
		call(change, record, arg);
		call_ended();
	}
	if (!journal_decision(change, record))
		log_line("the journal cannot be written and is closed");
}

void decisions_window(const struct cancel_ledger *ledger, const struct cancel_verdict *verdict)
{
	pthread_mutex_lock(&lock);
	cancel_window_listener call = window_listener;
	void *arg = window_listener_arg;
	calling = call != NULL;
	pthread_mutex_unlock(&lock);
	if (call) {
		call(ledger, verdict, arg);
		call_ended();
	}
}

static void wait_for_call(void)
{
	while (calling && !own_thread)
		pthread_cond_wait(&call_over, &lock);
}

void cancel_set_listener(cancel_listener call, void *arg)
{
	pthread_mutex_lock(&lock);
	wait_for_call();
	listener = call;
	listener_arg = arg;
	pthread_mutex_unlock(&lock);
}

void cancel_set_window_listener(cancel_window_listener call, void *arg)
{
	pthread_mutex_lock(&lock);
	wait_for_call();
	window_listener = call;
	window_listener_arg = arg;
	pthread_mutex_unlock(&lock);
}

/* ---- Records --------------------------------------------------------------------------------- */

static struct cancel_decision_record *find(uint64_t serial)
{
	for (uint32_t i = 0; i < CANCEL_RECORDS_KEPT; i++)
		if (records[i].serial == serial)
			return &records[i];
	return NULL;
}

static void take_decision(const struct cancel_verdict *v)
{
	const struct cancel_decision *d = &v->decision;
	struct cancel_decision_record *r = &records[record_count % CANCEL_RECORDS_KEPT];
	pthread_mutex_lock(&lock);
	memset(r, 0, sizeof *r);
	r->serial = d->serial;
	r->decision = *d;
	r->outcome.serial = d->serial;
	r->outcome.task = d->target.task;
	r->outcome.times.decided_ns = v->now_ns;
	text_of_decision(d, &library_names, r->text);
	quarantine_take(d); /* acted or not is known now */
	record_count++;
	pthread_mutex_unlock(&lock);
	count(CANCEL_COUNT_decisions);
	PROBE4(decided, d->serial, d->target.task, d->target.key, d->acted);
	log_line("%s", r->text);
	notify(CANCEL_CHANGE_DECIDED, r);
}

/* Told once: an excluded target's outcome is final. */
static void tell_excluded(const struct cancel_outcome *o, const struct cancel_decision_record *r)
{
	char text[CANCEL_TEXT_MAX];
	struct slot *s = slot_at(id_index(o->task));
	if (s && s->cold) /* a feed's tasks have no slot */
		store_relaxed(&s->cold->ignores, o->task);
	count(CANCEL_COUNT_excluded);
	text_of_excluded(&r->decision, &library_names, text);
	log_line("%s", text);
}

static void take_outcome(const struct cancel_outcome *o)
{
	struct cancel_decision_record *r = find(o->serial);
	if (!r)
		return;
	if (o->excluded)
		tell_excluded(o, r);
	pthread_mutex_lock(&lock);
	r->outcome = *o;
	pthread_mutex_unlock(&lock);
	notify(o->final ? CANCEL_CHANGE_FINAL : CANCEL_CHANGE_OUTCOME, r);
}

/* A stack arrives shortly after its acknowledgement. */
static void take_stack(struct cancel_decision_record *r)
{
	static char text[CANCEL_STACK_MAX]; /* controller thread only */
	if (!r->serial || r->stack[0] || !r->decision.acted ||
		!stack_take(r->decision.target.task, text))
		return;
	pthread_mutex_lock(&lock);
	memcpy(r->stack, text, sizeof r->stack);
	pthread_mutex_unlock(&lock);
	notify(CANCEL_CHANGE_STACK, r);
}

void decisions_take(const struct cancel_verdict *v)
{
	if (v->decided)
		take_decision(v);
	for (uint32_t i = 0; i < v->outcome_count && i < CANCEL_CANDIDATES_MAX; i++)
		take_outcome(&v->outcomes[i]);
	for (uint32_t i = 0; i < CANCEL_RECORDS_KEPT && stack_waiting(); i++)
		take_stack(&records[i]);
}

void decisions_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(records, 0, sizeof records);
	record_count = 0;
	pthread_mutex_unlock(&lock);
}

size_t cancel_recent_decisions(struct cancel_decision_record *out, size_t capacity)
{
	pthread_mutex_lock(&lock);
	uint64_t kept = record_count < CANCEL_RECORDS_KEPT ? record_count : CANCEL_RECORDS_KEPT;
	size_t n = capacity < kept ? capacity : (size_t)kept;
	for (size_t i = 0; i < n; i++)
		out[i] = records[(record_count - 1 - i) % CANCEL_RECORDS_KEPT];
	pthread_mutex_unlock(&lock);
	return n;
}

void decisions_lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

void decisions_unlock_after_fork(bool child)
{
	if (child) {
		call_over = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
		calling = false;
	}
	pthread_mutex_unlock(&lock);
}

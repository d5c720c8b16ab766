/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - owns the background worker: it looks at the server some twenty times a second, feeds
 * libcancel, and carries out what libcancel orders.
 */
#include "pg_culprit.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include <time.h>

#define CANCEL_NO_SHORT_NAMES
#include <cancel/feed.h>

#define TYPES	 12 /* of locks, by LockTagType; what is newer goes to the last */
#define ROWS_MAX 16384

PGDLLEXPORT void pg_culprit_worker_main(Datum arg);

static const char *const type_names[TYPES] = { "relation", "extend", "frozenid", "page", "tuple",
	"transactionid", "virtualxid", "spectoken", "object", "userlock", "advisory", "other" };

/* A server's time and what it is on the worker's clock: kept, so that it does not move. */
struct moment {
	TimestampTz at;
	uint64 ns;
};

struct process { /* by PGPROC number */
	int pid, handle;
	bool involved, idle; /* in a contended lock; between statements */
	struct moment statement, transaction, wait;
};

static struct {
	struct process *processes;
	struct pg_culprit_row *rows;
	struct cancel_resource resources[TYPES];
	uint64 now_ns;
	TimestampTz now;
	uint64 order_serial, order_statement; /* the last order, until it is acknowledged */
	int order_process;
	char why[PG_CULPRIT_WHY_MAX]; /* of the last decision, for the client */
	struct pg_culprit_status status;
} w;

/* ---- Time ------------------------------------------------------------------------------------ */

static uint64 monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64)t.tv_sec * UINT64CONST(1000000000) + (uint64)t.tv_nsec;
}

static uint64 on_own_clock(struct moment *m, TimestampTz at)
{
	if (!at)
		return 0;
	if (m->at != at) {
		uint64 age_ns = (uint64)Max(w.now - at, 0) * 1000;
		m->at = at;
		m->ns = age_ns < w.now_ns ? w.now_ns - age_ns : 1;
	}
	return m->ns;
}

/* ---- Decisions ------------------------------------------------------------------------------- */

static double after_ms(uint64 at_ns, uint64 decided_ns)
{
	return at_ns >= decided_ns && at_ns ? (double)(at_ns - decided_ns) / 1e6 : -1;
}

static struct pg_culprit_decision *decision_of(uint64 serial)
{
	for (int i = 0; i < PG_CULPRIT_DECISIONS; i++)
		if (pg_culprit_shared->decisions[i].serial == serial)
			return &pg_culprit_shared->decisions[i];
	return NULL;
}

static void note_decision(const struct cancel_decision_record *r)
{
	const struct cancel_decision *d = &r->decision;
	uint64 at = pg_culprit_shared->decision_count++ % PG_CULPRIT_DECISIONS;
	uint32 top = d->top_resource < TYPES ? d->top_resource : TYPES - 1;
	struct pg_culprit_decision *to = &pg_culprit_shared->decisions[at];
	*to = (struct pg_culprit_decision){
		.serial = r->serial,
		.decided_at = w.now,
		.pid = (int)d->target.key,
		.acted = d->acted,
		.lost = d->contention_ppm[top] / 1e6,
		.blame = d->target.blame_ppm[top] / 1e6,
		.held_ms = (double)d->target.age_ns / 1e6,
		.late_ms = Max(after_ms(d->decided_ns, d->onset_ns), 0),
		.delivered_ms = -1,
		.released_ms = -1,
		.recovered_ms = -1,
	};
	strlcpy(to->lock, type_names[top], sizeof to->lock);
	strlcpy(to->text, r->text, sizeof to->text);
	snprintf(w.why, sizeof w.why,
		"It held a %s lock, and %.0f %% of the time of statements was lost to waiting for "
		"it.",
		to->lock, to->lost * 100);
}

static void on_change(enum cancel_change change, const struct cancel_decision_record *r, void *arg)
{
	const struct cancel_times *t = &r->outcome.times;
	LWLockAcquire(pg_culprit_shared->lock, LW_EXCLUSIVE);
	if (change == CANCEL_CHANGE_DECIDED)
		note_decision(r);
	struct pg_culprit_decision *d = decision_of(r->serial);
	if (d) {
		d->delivered_ms = after_ms(t->delivered_ns, t->decided_ns);
		d->released_ms = after_ms(t->released_ns, t->decided_ns);
		d->recovered_ms = after_ms(t->recovered_ns, t->decided_ns);
	}
	LWLockRelease(pg_culprit_shared->lock);
}

static void on_log(void *arg, const char *line)
{
	ereport(LOG, (errmsg("pg_culprit: %s", line)));
}

/* ---- Carrying out ---------------------------------------------------------------------------- */

static void carry_out(const struct cancel_order *order)
{
	int at = (int)order->subject;
	struct pg_culprit_slot *slot = &pg_culprit_shared->slots[at];
	bool sent = pg_culprit_cancel_statement(slot, (int)order->key, order->statement,
		w.processes[at].idle ? PG_CULPRIT_END_IDLE : PG_CULPRIT_CANCEL, w.why);
	cancel_feed_answer(order->serial, sent ? CANCEL_EVENT_DELIVERED : CANCEL_EVENT_IGNORED,
		monotonic_ns());
	w.order_serial = sent ? order->serial : 0;
	w.order_statement = order->statement;
	w.order_process = at;
}

static void look_for_acknowledgement(void)
{
	if (!w.order_serial ||
		pg_atomic_read_u64(&pg_culprit_shared->slots[w.order_process].taken) !=
			w.order_statement)
		return;
	cancel_feed_answer(w.order_serial, CANCEL_EVENT_ACKNOWLEDGED, w.now_ns);
	w.order_serial = 0;
}

/* ---- A look ---------------------------------------------------------------------------------- */

struct activity {
	BackendType type;
	BackendState state;
	TimestampTz statement, transaction;
};

/* As pg_stat_activity reads it; false when it changes all the time. */
static bool read_activity(int backend_id, struct activity *a)
{
	volatile PgBackendStatus *b = MyBEEntry - (MyBackendId - 1) + (backend_id - 1);
	for (int tries = 0; tries < 100; tries++) {
		int before, after;
		pgstat_begin_read_activity(b, before);
		a->type = b->st_backendType;
		a->state = b->st_state;
		a->statement = b->st_activity_start_timestamp;
		a->transaction = b->st_xact_start_timestamp;
		pgstat_end_read_activity(b, after);
		if (pgstat_read_activity_complete(before, after))
			return true;
	}
	return false;
}

static bool somebody_waits(void)
{
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++) {
		uint32 event = *(volatile uint32 *)&ProcGlobal->allProcs[i].wait_event_info;
		if ((event & 0xFF000000U) == PG_WAIT_LOCK)
			return true;
	}
	return false;
}

static void report_process(int at)
{
	PGPROC *proc = &ProcGlobal->allProcs[at];
	struct process *p = &w.processes[at];
	struct pg_culprit_slot *slot = &pg_culprit_shared->slots[at];
	struct activity a = { B_INVALID, STATE_UNDEFINED, 0, 0 };
	/* Generations first: what is read later belongs to this statement or to none. */
	uint64 statement = pg_atomic_read_u64(&slot->generation);
	uint64 transaction = pg_atomic_read_u64(&slot->transaction);
	pg_read_barrier();
	p->pid = *(volatile int *)&proc->pid;
	p->handle = -1;
	int backend_id = *(volatile BackendId *)&proc->backendId;
	bool known = p->pid && backend_id > 0 && backend_id <= MaxBackends &&
		     read_activity(backend_id, &a);
	bool listens = known && pg_atomic_read_u64(&slot->pid) == (uint64)p->pid;
	bool runs = known && (a.state == STATE_RUNNING || a.state == STATE_FASTPATH);
	p->idle = !runs;
	if (!p->involved && !(runs && listens))
		return;
	bool may =
		listens && !pg_atomic_read_u64(&slot->exempt) && !pg_atomic_read_u64(&slot->spared);
	struct cancel_feed_task task = {
		.struct_size = sizeof task,
		.subject = (uint64)at,
		.generation = listens ? transaction : (uint64)a.transaction,
		.statement = statement,
		.key = (uint64)p->pid,
		.start_ns = on_own_clock(&p->transaction, a.transaction),
		.episode_start_ns = runs ? on_own_clock(&p->statement, a.statement) : 0,
		.slo_ns = listens ? pg_atomic_read_u64(&slot->slo_ms) * 1000000 : 0,
		.flags = (uint8)((may ? CANCEL_CANCELLABLE : 0) |
				 (may && pg_culprit_end_idle ? CANCEL_ENDS_SESSION : 0) |
				 (listens ? 0 : CANCEL_BACKGROUND)),
	};
	p->handle = cancel_feed_add_task(&task);
}

static void report_row(const struct pg_culprit_row *row)
{
	struct process *p = &w.processes[row->owner];
	struct pg_culprit_slot *slot = &pg_culprit_shared->slots[row->owner];
	struct cancel_resource r = w.resources[row->type < TYPES ? row->type : TYPES - 1];
	for (uint64 mode = 1; mode <= CANCEL_LOCK_MODES_MAX; mode++)
		if (row->held >> (mode - 1) & 1)
			cancel_feed_hold(p->handle, r, row->instance, mode, 0);
	if (row->held)
		pg_culprit_add(&slot->holds, 1);
	if (!row->wanted)
		return;
	cancel_feed_wait(
		p->handle, r, row->instance, row->wanted, on_own_clock(&p->wait, row->wait_start));
	pg_culprit_add(&slot->waits, 1);
}

static void report_completed(void)
{
	uint64 completed = 0, late = 0, active_us = 0;
	for (int i = 0; i < pg_culprit_shared->slot_count; i++) {
		struct pg_culprit_slot *slot = &pg_culprit_shared->slots[i];
		completed += pg_atomic_read_u64(&slot->completed);
		late += pg_atomic_read_u64(&slot->late);
		active_us += pg_atomic_read_u64(&slot->active_us);
	}
	cancel_feed_completed(0, completed, late, active_us * 1000, NULL);
}

static void publish(uint64 took_ns)
{
	static const char *const overloads[] = { "healthy", "suspect", "resource", "regular" };
	struct pg_culprit_status *s = &w.status;
	struct cancel_status now;
	struct cancel_counters counters;
	cancel_read_status(&now);
	cancel_read_counters(&counters);
	s->worker_pid = MyProcPid;
	s->looks++;
	s->decisions = counters.decisions;
	s->delivered = counters.delivered;
	s->ignored = counters.ignored;
	s->acknowledged = counters.acknowledged;
	s->completed = now.completed;
	s->late = now.late;
	s->late_share = now.late_share_ppm / 1e6;
	s->last_look_us = (double)took_ns / 1e3;
	s->worst_look_us = Max(s->worst_look_us, s->last_look_us);
	strlcpy(s->overload, overloads[now.overload & 3], sizeof s->overload);
	strlcpy(s->held_back, now.held_back_text, sizeof s->held_back);
	LWLockAcquire(pg_culprit_shared->lock, LW_EXCLUSIVE);
	pg_culprit_shared->status = *s;
	LWLockRelease(pg_culprit_shared->lock);
}

static void look(void)
{
	struct cancel_order order = { .struct_size = sizeof order };
	int rows = 0;
	w.now_ns = monotonic_ns();
	w.now = GetCurrentTimestamp();
	look_for_acknowledgement();
	for (int i = 0; i < pg_culprit_shared->slot_count; i++) {
		w.processes[i].involved = false;
		pg_atomic_write_u64(&pg_culprit_shared->slots[i].holds, 0);
		pg_atomic_write_u64(&pg_culprit_shared->slots[i].waits, 0);
	}
	if (somebody_waits()) {
		w.status.lock_looks++;
		rows = pg_culprit_read_locks(w.rows, ROWS_MAX, &w.status.lost_rows);
	}
	for (int i = 0; i < rows; i++)
		w.processes[w.rows[i].owner].involved = true;
	cancel_feed_begin(w.now_ns);
	for (int i = 0; i < pg_culprit_shared->slot_count; i++)
		report_process(i);
	for (int i = 0; i < rows; i++)
		report_row(&w.rows[i]);
	report_completed();
	if (cancel_feed_end(&order))
		carry_out(&order);
	publish(monotonic_ns() - w.now_ns);
}

/* ---- The process ----------------------------------------------------------------------------- */

static void declare_locks(void)
{
	struct cancel_resource_options o = { .struct_size = sizeof o };
	for (int a = 1; a <= CANCEL_LOCK_MODES_MAX; a++)
		for (int b = 1; b <= CANCEL_LOCK_MODES_MAX; b++)
			if (DoLockModesConflict(a, b))
				o.conflicts[a - 1] |= (uint8)(1 << (b - 1));
	for (int i = 0; i < TYPES; i++)
		w.resources[i] = cancel_create_resource(type_names[i], CANCEL_LOCK, &o);
}

static void start_feed(void)
{
	const struct cancel_class class = { .name = "statements" };
	const struct cancel_config config = {
		.struct_size = sizeof config,
		.mode = pg_culprit_mode == PG_CULPRIT_ACT ? CANCEL_ACT : CANCEL_MONITOR,
		.window_ms = (uint32_t)pg_culprit_window_ms,
		.max_tasks = (uint32_t)pg_culprit_shared->slot_count,
		.classes = &class,
		.class_count = 1,
		.log = on_log,
	};
	int error = cancel_start_feed(&config);
	if (error)
		ereport(FATAL, (errmsg("pg_culprit: cannot start: %s", cancel_error_text(error))));
	cancel_set_listener(on_change, NULL);
	declare_locks();
}

static void apply_settings(void)
{
	const char *mode = pg_culprit_mode == PG_CULPRIT_ACT ? "act" : "monitor";
	int error = cancel_set_option("mode", mode);
	if (error)
		ereport(LOG, (errmsg("pg_culprit: mode stays: %s", cancel_error_text(error))));
}

static void on_exit_of_worker(int code, Datum arg)
{
	pg_culprit_shared->status.worker_pid = 0;
}

static void prepare(void)
{
	int n = pg_culprit_shared->slot_count;
	w.processes = MemoryContextAllocZero(TopMemoryContext, (Size)n * sizeof *w.processes);
	w.rows = MemoryContextAllocHuge(TopMemoryContext, ROWS_MAX * sizeof *w.rows);
	before_shmem_exit(on_exit_of_worker, 0);
	start_feed();
}

void pg_culprit_worker_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	prepare();
	for (;;) {
		(void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
			pg_culprit_window_ms, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending) {
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			apply_settings();
		}
		if (pg_culprit_enabled)
			look();
	}
}

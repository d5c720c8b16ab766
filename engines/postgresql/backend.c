/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.c - owns what runs in client backends: counting statements, and being cancelled exactly.
 *
 * Exactness. The worker writes the generation of the statement it means into `wanted` and then
 * sends SIGUSR2. The handler runs in the target and compares: only if that statement still runs
 * does it set what a cancel sets. At the end of a statement the generation moves first, and then a
 * cancel that was taken for the old one is let out, so it cannot reach the next.
 */
#include "pg_culprit.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "tcop/utility.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"

#include <signal.h>

/* libpq/auth.h wants the headers of GSSAPI. */
struct Port;
typedef void (*ClientAuthentication_hook_type)(struct Port *, int);
extern PGDLLIMPORT ClientAuthentication_hook_type ClientAuthentication_hook;

static struct pg_culprit_slot *me; /* NULL: no client backend */
static int nesting;
static bool role_known;
/* A commit that waits for a synchronous standby would give that up on a cancel. */
static volatile sig_atomic_t committing;

static ClientAuthentication_hook_type next_authentication;
static ExecutorRun_hook_type next_run;
static ExecutorFinish_hook_type next_finish;
static ExecutorEnd_hook_type next_end;
static ProcessUtility_hook_type next_utility;

/* ---- Being cancelled ------------------------------------------------------------------------- */

static bool is_idle_in_transaction(void)
{
	return MyBEEntry && (MyBEEntry->st_state == STATE_IDLEINTRANSACTION ||
				    MyBEEntry->st_state == STATE_IDLEINTRANSACTION_ABORTED);
}

static void take_cancel(uint64 wanted)
{
	bool end = pg_atomic_read_u64(&me->strength) == PG_CULPRIT_END_IDLE;
	if (committing || wanted != pg_atomic_read_u64(&me->generation) ||
		end != is_idle_in_transaction()) {
		pg_culprit_add(&me->stale, 1);
		return;
	}
	pg_atomic_write_u64(&me->taken, wanted);
	InterruptPending = true;
	if (end) {
		IdleInTransactionSessionTimeout = 1;
		IdleInTransactionSessionTimeoutPending = true;
	} else {
		QueryCancelPending = true;
	}
	SetLatch(MyLatch);
}

static void on_signal(SIGNAL_ARGS)
{
	int saved_errno = errno;
	if (me && !proc_exit_inprogress) {
		uint64 wanted = pg_atomic_read_u64(&me->wanted);
		if (wanted)
			take_cancel(wanted);
	}
	errno = saved_errno;
}

/* The client learns why. The SQLSTATE stays that of a cancel. */
static void rethrow(MemoryContext context)
{
	if (!me || geterrcode() != ERRCODE_QUERY_CANCELED ||
		pg_atomic_read_u64(&me->taken) != pg_atomic_read_u64(&me->generation))
		return;
	MemoryContextSwitchTo(context);
	ErrorData *error = CopyErrorData();
	FlushErrorState();
	error->message = pstrdup("canceling statement because others wait for it");
	error->detail = pstrdup(me->why);
	error->hint = pstrdup("Run it again when less depends on its locks, or in smaller parts.");
	ReThrowError(error);
}

/* ---- Statements ------------------------------------------------------------------------------ */

static void move_generation(void)
{
	uint64 old = pg_atomic_read_u64(&me->generation);
	pg_atomic_write_u64(&me->generation, old + 1);
	pg_write_barrier();
}

static void count_statement(void)
{
	uint64 slo_ms = pg_atomic_read_u64(&me->slo_ms);
	if (!slo_ms)
		return;
	TimestampTz began = IsTransactionBlock() ? GetCurrentStatementStartTimestamp()
						 : GetCurrentTransactionStartTimestamp();
	int64 us = Max(GetCurrentTimestamp() - began, 0);
	pg_culprit_add(&me->completed, 1);
	pg_culprit_add(&me->active_us, (uint64)us);
	if ((uint64)us > slo_ms * 1000)
		pg_culprit_add(&me->late, 1);
}

static void statement_ended(void)
{
	if (!me)
		return;
	uint64 old = pg_atomic_read_u64(&me->generation);
	if (pg_culprit_enabled)
		count_statement();
	move_generation();
	if (unlikely(pg_atomic_read_u64(&me->taken) == old))
		CHECK_FOR_INTERRUPTS();
}

/* What was taken before is let out while it still can be. */
static void begin_commit(void)
{
	committing = true;
	if (unlikely(pg_atomic_read_u64(&me->taken) == pg_atomic_read_u64(&me->generation)))
		CHECK_FOR_INTERRUPTS();
}

/* VACUUM and procedures commit inside a statement: only at nesting 0 has it ended. */
static void on_transaction(XactEvent event, void *arg)
{
	if (me && (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE))
		begin_commit();
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		committing = false;
	if (!me || (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
			   event != XACT_EVENT_PREPARE))
		return;
	pg_culprit_add(&me->transaction, 1);
	if (nesting == 0)
		move_generation();
}

/* An error behind a savepoint ends the statement and not the transaction. */
static void on_subtransaction(
	SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (me && nesting == 0 && event == SUBXACT_EVENT_ABORT_SUB)
		move_generation();
}

/* Superusers mend what is broken: they are named, and not cancelled. Before its first statement a
 * session holds nothing. */
static void note_role(void)
{
	if (role_known || !me || !IsTransactionState())
		return;
	role_known = true;
	if (superuser_arg(GetSessionUserId()))
		pg_atomic_fetch_or_u64(&me->spared, PG_CULPRIT_SPARED_SUPERUSER);
}

static void on_run(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	MemoryContext context = CurrentMemoryContext;
	note_role();
	nesting++;
	PG_TRY();
	{
		if (next_run)
			next_run(query, direction, count, once);
		else
			standard_ExecutorRun(query, direction, count, once);
		nesting--;
	}
	PG_CATCH();
	{
		if (--nesting == 0)
			rethrow(context);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* Triggers run here: their queries are part of this statement. */
static void on_finish(QueryDesc *query)
{
	MemoryContext context = CurrentMemoryContext;
	nesting++;
	PG_TRY();
	{
		if (next_finish)
			next_finish(query);
		else
			standard_ExecutorFinish(query);
		nesting--;
	}
	PG_CATCH();
	{
		if (--nesting == 0)
			rethrow(context);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

static void on_end(QueryDesc *query)
{
	if (next_end)
		next_end(query);
	else
		standard_ExecutorEnd(query);
	if (nesting == 0)
		statement_ended();
}

/* Its commit waits for a standby, too, outside of any transaction's end. */
static bool ends_a_prepared_one(const Node *statement)
{
	TransactionStmtKind kind = ((const TransactionStmt *)statement)->kind;
	return kind == TRANS_STMT_COMMIT_PREPARED || kind == TRANS_STMT_ROLLBACK_PREPARED;
}

static void on_utility(PlannedStmt *statement, const char *text, bool read_only,
	ProcessUtilityContext where, ParamListInfo params, QueryEnvironment *environment,
	DestReceiver *destination, QueryCompletion *completion)
{
	MemoryContext context = CurrentMemoryContext;
	bool is_transaction = IsA(statement->utilityStmt, TransactionStmt);
	bool ends_prepared = is_transaction && ends_a_prepared_one(statement->utilityStmt);
	note_role();
	nesting++;
	PG_TRY();
	{
		if (ends_prepared)
			committing = true;
		if (next_utility)
			next_utility(statement, text, read_only, where, params, environment,
				destination, completion);
		else
			standard_ProcessUtility(statement, text, read_only, where, params,
				environment, destination, completion);
		nesting--;
	}
	PG_CATCH();
	{
		if (ends_prepared)
			committing = false;
		if (--nesting == 0)
			rethrow(context);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (nesting == 0 && !is_transaction)
		statement_ended();
}

/* ---- Coming and going ------------------------------------------------------------------------ */

void pg_culprit_publish_settings(int slo_ms, bool exempt)
{
	if (!me)
		return;
	pg_atomic_write_u64(&me->slo_ms, (uint64)slo_ms);
	pg_atomic_write_u64(&me->exempt, exempt);
}

static void on_leave(int code, Datum arg)
{
	struct pg_culprit_slot *slot = me;
	me = NULL;
	if (slot)
		pg_atomic_write_u64(&slot->pid, 0);
}

/* SIGUSR2 is ignored in client backends. Where somebody else listens to it, nothing is taken. */
static void listen_to_signal(void)
{
	struct sigaction old;
	if (sigaction(SIGUSR2, NULL, &old) || old.sa_handler != SIG_IGN) {
		ereport(LOG,
			(errmsg("pg_culprit: SIGUSR2 is in use, this session is only watched")));
		pg_atomic_write_u64(&me->spared, PG_CULPRIT_SPARED_DEAF);
		return;
	}
	pqsignal(SIGUSR2, on_signal);
}

static void on_authentication(struct Port *port, int status)
{
	if (next_authentication)
		next_authentication(port, status);
	if (!pg_culprit_shared || !MyProc || MyBackendType != B_BACKEND || am_walsender ||
		MyProc->pgprocno >= pg_culprit_shared->slot_count)
		return;
	me = &pg_culprit_shared->slots[MyProc->pgprocno];
	pg_atomic_write_u64(&me->wanted, 0);
	pg_atomic_write_u64(&me->spared, 0);
	move_generation();
	pg_culprit_add(&me->transaction, 1);
	pg_culprit_publish_settings(pg_culprit_slo_ms, pg_culprit_exempt);
	RegisterXactCallback(on_transaction, NULL);
	RegisterSubXactCallback(on_subtransaction, NULL);
	before_shmem_exit(on_leave, 0);
	listen_to_signal();
	pg_atomic_write_u64(&me->pid, (uint64)MyProcPid);
}

void pg_culprit_install_hooks(void)
{
	next_authentication = ClientAuthentication_hook;
	ClientAuthentication_hook = on_authentication;
	next_run = ExecutorRun_hook;
	ExecutorRun_hook = on_run;
	next_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = on_finish;
	next_end = ExecutorEnd_hook;
	ExecutorEnd_hook = on_end;
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = on_utility;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - one client: its state, and the mutex between its statements and those who cancel
 * them.
 *
 * Lock levels, outermost first: sessions' list > cancel_mutex > (locks' space | workers | reruns).
 * The library's action takes a session's cancel_mutex and what is below it; so nobody calls
 * freeCancel, blockCancel or setCancelAction while holding any of these.
 */
#ifndef DEMO_DB_SESSION_H
#define DEMO_DB_SESSION_H

#include "demo-db/engine/statement/connection.h"
#include "demo-db/engine/statement/memory.h"
#include "demo-db/engine/session/savepoint.h"
#include "demo-db/engine/locks/worker.h"

#include <stddef.h>

/* Where the session's statement is; changes under cancel_mutex only.
 *
 *	IDLE -> QUEUED -> RUNNING <-> COMMITTING
 *	RUNNING -> IDLE | QUEUED (rerun) | AWAITING_RERUN -> QUEUED
 *	IDLE -> ABORT_QUEUED -> ABORTING -> IDLE | QUEUED
 *	ABORT_QUEUED -> QUEUED (a statement came)
 */
enum session_phase {
	PHASE_IDLE,
	PHASE_QUEUED,	      /* for a worker slot */
	PHASE_RUNNING,	      /* on a slot; may wait for a lock */
	PHASE_COMMITTING,     /* cannot be cancelled */
	PHASE_AWAITING_RERUN, /* cancelled, waits for calm to run again; no slot */
	PHASE_ABORT_QUEUED,   /* an idle transaction is to be rolled back */
	PHASE_ABORTING,
};

enum cancelled_by { BY_NOBODY, BY_LIBRARY, BY_OPERATOR, BY_CLIENT }; /* the greater one wins */

enum transaction_state { TX_NONE, TX_BLOCK, TX_FAILED };

struct transaction { /* the engine's own idea of it, never SQLite's */
	enum transaction_state state;
	bool repeatable_read, read_only;
	bool wrote;    /* it holds the write lock: BEGIN IMMEDIATE is open, or a writing snapshot */
	bool snapshot; /* BEGIN is open, REPEATABLE READ */
	enum cancelled_by abort_unreported; /* rolled back while idle; the client does not know */
	uint64_t start_ns;
	uint8_t known_by; /* weight of the statement its task is known by, see session_task_name */
};

/* The statement in hand. Written by the thread that brings or runs it. */
struct run {
	struct failure failure;
	enum verb verb;
	const char *sql; /* NULL: a host function */
	uint64_t hash, signature;
	uint32_t statement_id;
	const char *tag;
	uint64_t rows;
	int64_t changes;
	enum cancelled_by by; /* whose cancel ended it */
	bool columns_told, rows_sent, gentle;
	bool fast_path; /* a registered look-up or change by key */
	bool untracked; /* nothing of it is told to the library: it is on the fast path and nobody waits */
	bool no_task;	  /* it has no task yet; if it never needs one it is only counted */
	bool at_once;	  /* it found a free slot: started when it was taken */
	bool ended;	  /* cancelled for good: not to be run again */
	bool uncompiled;  /* SQLite does not take its text */
	bool tells_abort; /* its answer is what became of the block */
	uint32_t reruns;
	uint64_t arrival_ns, queued_ns, start_ns, done_ns;
	uint64_t queue_ns, commit_ns, rerun_wait_ns, awaiting_rerun_ns;
	struct lock_waited waited;
	struct cancel_ticket ticket;
};

/* Written by the session's running statement only; read by anybody. */
struct session_counters {
	_Atomic uint64_t statements, commits, rollbacks, errors, cancelled, reruns, rerun_drops,
		serialization_failures, lock_set_retries;
};

struct shown { /* to other threads; under cancel_mutex */
	uint64_t key, signature, arrival_ns, transaction_start_ns;
	enum transaction_state state;
	uint32_t savepoints; /* set in the block */
	uint8_t class_index;
	bool gentle, background;
	bool abort_unreported; /* the transaction was cancelled while idle */
};

struct db_session {
	struct db_engine *engine;
	uint64_t number;
	enum db_task_unit task_unit;
	uint64_t lock_timeout_ns, key;
	uint8_t class_index;
	bool read_only;
	struct db_session *previous, *next; /* the engine's list */

	pthread_mutex_t cancel_mutex;
	pthread_cond_t changed;	  /* phase, done or abort_pending */
	enum session_phase phase; /* under cancel_mutex, as all up to here: */
	sqlite3 *stepping;	  /* what an interrupt goes to */
	struct shown shown;
	bool idle_in_block;
	bool abort_pending;	      /* abort_job is queued or runs */
	bool done;		      /* for a caller asleep in db_execute */
	_Atomic uint8_t cancelled_by; /* written under cancel_mutex, polled without */

	/* of the thread that has the session in hand */
	struct db_request request;
	struct run run;
	struct transaction transaction;
	struct savepoints savepoints;
	struct connection *connection; /* borrowed for a statement, or pinned */
	bool has_temp;
	bool synchronous; /* db_execute waits for it */
	struct cancel_task task;
	struct db_result result; /* for that waiter */
	struct memory_account memory;
	struct session_counters counters;

	struct lock_owner owner;
	struct job job, abort_job;
	struct db_session *next_awaiting_rerun; /* reruns' mutex */
};

/* The session a member lies in. */
#define SESSION_OF(pointer, member)                                                                \
	((struct db_session *)(void *)((char *)(pointer)-offsetof(struct db_session, member)))

struct session_list {
	pthread_mutex_t mutex;
	struct db_session *first; /* by number */
	struct db_session *last;
	uint32_t count, limit;
	uint64_t next_number;
	struct session_counters closed; /* totals of closed sessions */
};

int session_list_init(struct session_list *list, uint32_t limit);
void session_list_destroy(struct session_list *list);

static inline void count_one(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/* Does it hold what others may wait for? A failed block does while ROLLBACK TO can bring it back.
 */
static inline bool session_in_block(const struct db_session *session)
{
	return session->transaction.state == TX_BLOCK ||
	       (session->transaction.state == TX_FAILED && session->savepoints.count);
}

static inline char transaction_letter(enum transaction_state state)
{
	static const char letters[] = { [TX_NONE] = 'I', [TX_BLOCK] = 'T', [TX_FAILED] = 'E' };
	return letters[state];
}

static inline enum cancelled_by session_cancelled(const struct db_session *session)
{
	return atomic_load_explicit(&session->cancelled_by, memory_order_relaxed);
}

/* Fence steps of a running statement. False: a cancel came first. */
bool session_start_step(struct db_session *session, sqlite3 *db);
void session_end_step(struct db_session *session);
bool session_start_commit(struct db_session *session);
void session_end_commit(struct db_session *session);

/* The statement saw the library's request before the action reached the session. */
void session_note_request(struct db_session *session);

/* The library's action; `arg` is the session. */
void session_action(const struct cancel_request *request, void *arg);
bool session_cancel(struct db_session *session, enum cancelled_by by);
/* Queues the rollback of an idle block; cancel_mutex is held. */
bool session_abort_idle(struct db_session *session, enum cancelled_by by);

/* The task of the session's statement: created or bound on this thread; ended or left idle. One
 * that may stay untracked gets its task only from session_task_show, which is nothing for all
 * others. */
void session_task_begin(struct db_session *session);
void session_task_show(struct db_session *session);
/* Tells what the task runs, once that is known. */
void session_task_name(struct db_session *session);
void session_task_end(struct db_session *session);
void session_task_discard(struct db_session *session);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* points.c - see points.h. */
#include "points.h"
#include "moments.h"

#include "demo-db/engine/locks/lock.h"
#include "demo-db/engine/session/session.h"

#include <sqlite3.h>

static void (*action)(void *arg);
static void *action_arg;

void points_arm(uint64_t k, void (*fire)(void *arg), void *arg)
{
	action = fire;
	action_arg = arg;
	moments_arm(k);
}

void points_pass(void)
{
	if (moments_pass())
		action(action_arg);
}

/* ---- The calls that are turned aside ---------------------------------------------------------- */

static int (*on_progress)(void *context);

static int pass_progress(void *context)
{
	points_pass();
	return on_progress(context);
}

void __real_sqlite3_progress_handler(
	sqlite3 *db, int operations, int (*handler)(void *), void *context);
void __wrap_sqlite3_progress_handler(
	sqlite3 *db, int operations, int (*handler)(void *), void *context);
void __wrap_sqlite3_progress_handler(
	sqlite3 *db, int operations, int (*handler)(void *), void *context)
{
	(void)operations;
	on_progress = handler; /* the engine has one */
	__real_sqlite3_progress_handler(db, 1, pass_progress, context);
}

/* A checkpoint, and then the call. */
#define ASIDE(result, name, parameters, call)                                                      \
	result __real_##name parameters;                                                           \
	result __wrap_##name parameters;                                                           \
	result __wrap_##name parameters                                                            \
	{                                                                                          \
		points_pass();                                                                     \
		call;                                                                              \
	}
#define BEFORE(result, name, parameters, arguments)                                                \
	ASIDE(result, name, parameters, return __real_##name arguments)
#define BEFORE_VOID(name, parameters, arguments)                                                   \
	ASIDE(void, name, parameters, __real_##name arguments)

BEFORE(bool, cancel_requested, (void), ())
BEFORE(int, cancel_block, (void), ())
BEFORE_VOID(cancel_allow, (void), ())
BEFORE(bool, session_start_step, (struct db_session * session, sqlite3 *db), (session, db))
BEFORE_VOID(session_end_step, (struct db_session * session), (session))
BEFORE(bool, session_start_commit, (struct db_session * session), (session))
BEFORE_VOID(session_end_commit, (struct db_session * session), (session))
BEFORE(int, lock_acquire,
	(struct lock_owner * owner, const struct lock_request *requests, uint32_t requested,
		uint64_t timeout_ns, struct lock_waited *waited),
	(owner, requests, requested, timeout_ns, waited))
BEFORE_VOID(lock_release_all, (struct lock_owner * owner), (owner))
BEFORE(int, sqlite3_step, (sqlite3_stmt * stmt), (stmt))
BEFORE(int, sqlite3_reset, (sqlite3_stmt * stmt), (stmt))
BEFORE(int, sqlite3_backup_step, (sqlite3_backup * backup, int pages), (backup, pages))
BEFORE(int, sqlite3_prepare_v3,
	(sqlite3 * db, const char *sql, int bytes, unsigned flags, sqlite3_stmt **stmt,
		const char **tail),
	(db, sql, bytes, flags, stmt, tail))

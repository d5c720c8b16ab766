/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_fixture.h - an engine in a temporary folder, clients on threads of their own, and what
 * tests ask again and again. Asserts are made by the test's thread only.
 */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "demo-db/engine/engine.h"

#include <pthread.h>

struct fixture {
	char dir[128];
	struct db_engine *engine;
	bool library; /* the real one was started here: its misuse counters must stay 0 */
};

/* Options: data_dir is filled in; NULL: a 4 MiB pool, buffered, no checkpoints by surprise. */
void fixture_open(struct fixture *fixture, const struct db_options *options);
void fixture_close(struct fixture *fixture); /* also removes the folder */
void fixture_reopen(struct fixture *fixture, const struct db_options *options);
/* A folder alone, for tests of opening. */
void fixture_make_folder(struct fixture *fixture);
void fixture_remove_folder(struct fixture *fixture);
struct db_options fixture_options(const struct fixture *fixture);

struct db_session *open_session(struct fixture *fixture);

/* ---- Statements on this thread ----------------------------------------------------------------
 */

/* Runs it; the result of the last call stays in `last_result`, its message too. */
extern struct db_result last_result;
int run_sql(struct db_session *session, const char *sql);
/* First column of the first row; -1 and a failed assertion on error. */
int64_t ask(struct db_session *session, const char *sql);
/* First column of the first row as text, up to 255 bytes; "" if none. */
const char *ask_text(struct db_session *session, const char *sql);
#define must(session, sql)	       assert_int_equal(run_sql(session, sql), DB_OK)
#define must_fail(session, sql, error) assert_int_equal(run_sql(session, sql), error)

/* ---- Statements in the background -------------------------------------------------------------
 */

/* One statement submitted to the workers. */
struct pending {
	struct db_session *session;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool done;
	struct db_result result;
	char message[DB_MESSAGE_MAX];
};

/* Submits; asserts that it was taken. */
void begin(struct pending *pending, struct db_session *session, const char *sql);
void begin_request(struct pending *pending, struct db_session *session, struct db_request request);
bool is_done(struct pending *pending);
/* Waits for it and returns its status. */
int await(struct pending *pending);

/* ---- Waiting for a state ------------------------------------------------------------------------
 */

/* Polls the engine's figures until they say so; fails the test when they do not (patience.h). At
 * the gate at least so many: the checkpointer may stand there too. */
void await_waiters(struct fixture *fixture, uint32_t locks, uint32_t gate);
void await_queued(struct fixture *fixture, uint32_t queued);
/* Until the session's statement waits there (DB_WAIT_NONE: runs). */
void await_wait(struct fixture *fixture, struct db_session *session, enum db_wait wait);
void await_true(bool (*condition)(void *arg), void *arg);

/* ---- A moment inside a statement ----------------------------------------------------------------
 */

/* moment(n) is a function of SQL on every engine opened here, and returns n. From expect_moment
 * until pass_moment, a statement that calls it with that number stands there: await_moment waits
 * for that. */
int fixture_functions(void *arg, struct sqlite3 *db); /* for db_options.on_connection */
void expect_moment(int64_t n);
void await_moment(void);
void pass_moment(void);

/* A query that runs until it is cancelled (it would take about an hour). */
#define ENDLESS                                                                                    \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000000) "   \
	"SELECT count(*) FROM n"

#endif

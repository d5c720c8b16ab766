/* SPDX-License-Identifier: Apache-2.0 */
/* engine_fixture.c - see engine_fixture.h. */
#include "engine_fixture.h"
#include "patience.h"

#include <cancel/observe.h>

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct db_result last_result;
static char last_message[DB_MESSAGE_MAX];

/* ---- Folder and engine ------------------------------------------------------------------------
 */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

void fixture_make_folder(struct fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	const char *base = getenv("TMPDIR");
	snprintf(fixture->dir, sizeof(fixture->dir), "%s/engine-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(fixture->dir));
}

void fixture_remove_folder(struct fixture *fixture)
{
	nftw(fixture->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

struct db_options fixture_options(const struct fixture *fixture)
{
	return (struct db_options){ .struct_size = sizeof(struct db_options),
		.data_dir = fixture->dir,
		.pool_bytes = 4u << 20,
		.io = DB_IO_BUFFERED,
		.read_latency_ns = 1000,
		.workers = 4,
		.lock_timeout_ns = patience_s() * 1000000000ull,
		.deadlock_check_ns = 20000000,
		.on_connection = fixture_functions };
}

static void open_engine(struct fixture *fixture, const struct db_options *options)
{
	char message[DB_MESSAGE_MAX] = "";
	struct db_options filled = options ? *options : fixture_options(fixture);
	filled.struct_size = sizeof(filled);
	filled.data_dir = fixture->dir;
	int rc = db_open(&fixture->engine, &filled, message);
	if (rc)
		fail_msg("db_open: %d %s", rc, message);
}

void fixture_open(struct fixture *fixture, const struct db_options *options)
{
	fixture_make_folder(fixture);
	static const struct cancel_class classes[] = { { .name = "test", .slo_ns = 1000000000 } };
	const struct cancel_config config = { .struct_size = sizeof(config),
		.mode = CANCEL_MONITOR,
		.classes = classes,
		.class_count = 1 };
	fixture->library = cancel_start(&config) == 0;
	open_engine(fixture, options);
}

void fixture_reopen(struct fixture *fixture, const struct db_options *options)
{
	db_close(fixture->engine);
	open_engine(fixture, options);
}

/* A correct host makes none of these. */
static void assert_no_misuse(void)
{
	struct cancel_counters counters;
	cancel_read_counters(&counters);
	assert_int_equal(counters.no_task, 0);
	assert_int_equal(counters.nested_task, 0);
	assert_int_equal(counters.stale_task, 0);
	assert_int_equal(counters.wrong_thread, 0);
	assert_int_equal(counters.bad_resource, 0);
	assert_int_equal(counters.wrong_mode, 0);
	assert_int_equal(counters.release_without_acquire, 0);
	assert_int_equal(counters.double_release, 0);
	assert_int_equal(counters.give_up_without_wait, 0);
	assert_int_equal(counters.leaked_holds, 0);
	assert_int_equal(counters.leaked_waits, 0);
	assert_int_equal(counters.allow_without_block, 0);
	assert_int_equal(counters.ended_blocked, 0);
	assert_int_equal(counters.called_from_action, 0);
	assert_int_equal(counters.internal_faults, 0);
}

void fixture_close(struct fixture *fixture)
{
	db_close(fixture->engine);
	if (fixture->library) {
		assert_no_misuse();
		cancel_stop();
	}
	fixture_remove_folder(fixture);
}

struct db_session *open_session(struct fixture *fixture)
{
	struct db_session *session = NULL;
	assert_int_equal(db_session_open(fixture->engine, NULL, &session), DB_OK);
	return session;
}

/* ---- Statements on this thread ----------------------------------------------------------------
 */

struct first_row {
	bool seen;
	int64_t integer;
	char text[256];
};

static int keep_first(void *arg, const struct db_row *row)
{
	struct first_row *first = arg;
	if (first->seen)
		return 0;
	first->seen = true;
	first->integer = db_row_integer(row, 0);
	const char *text = db_row_text(row, 0);
	snprintf(first->text, sizeof(first->text), "%s", text ? text : "");
	return 0;
}

static int execute(struct db_session *session, const struct db_request *request)
{
	int rc = db_execute(session, request, &last_result);
	snprintf(last_message, sizeof(last_message), "%s", last_result.message);
	last_result.message = last_message;
	return rc;
}

int run_sql(struct db_session *session, const char *sql)
{
	const struct db_request request = { .struct_size = sizeof(request), .sql = sql };
	return execute(session, &request);
}

static struct first_row ask_row(struct db_session *session, const char *sql)
{
	struct first_row first = { .integer = -1 };
	const struct db_request request = {
		.struct_size = sizeof(request), .sql = sql, .on_row = keep_first, .arg = &first
	};
	int rc = execute(session, &request);
	if (rc)
		fail_msg("%s: %d %s", sql, rc, last_message);
	return first;
}

int64_t ask(struct db_session *session, const char *sql)
{
	return ask_row(session, sql).integer;
}

const char *ask_text(struct db_session *session, const char *sql)
{
	static char text[256];
	struct first_row first = ask_row(session, sql);
	memcpy(text, first.text, sizeof(text));
	return text;
}

/* ---- Statements in the background -------------------------------------------------------------
 */

static void on_done(void *arg, const struct db_result *result)
{
	struct pending *pending = arg;
	pthread_mutex_lock(&pending->mutex);
	pending->result = *result;
	snprintf(pending->message, sizeof(pending->message), "%s", result->message);
	pending->result.message = pending->message;
	pending->done = true;
	pthread_cond_broadcast(&pending->cond);
	pthread_mutex_unlock(&pending->mutex);
}

void begin_request(struct pending *pending, struct db_session *session, struct db_request request)
{
	memset(pending, 0, sizeof(*pending));
	pthread_mutex_init(&pending->mutex, NULL);
	pthread_cond_init(&pending->cond, NULL);
	pending->session = session;
	request.struct_size = sizeof(request);
	request.on_done = on_done;
	if (!request.function)
		request.arg = pending;
	assert_int_equal(db_submit(session, &request), DB_OK);
}

void begin(struct pending *pending, struct db_session *session, const char *sql)
{
	begin_request(pending, session, (struct db_request){ .sql = sql });
}

bool is_done(struct pending *pending)
{
	pthread_mutex_lock(&pending->mutex);
	bool done = pending->done;
	pthread_mutex_unlock(&pending->mutex);
	return done;
}

int await(struct pending *pending)
{
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 2 * patience_s(); /* longer than it may wait for a lock */
	int rc = 0;
	pthread_mutex_lock(&pending->mutex);
	while (!pending->done && rc == 0)
		rc = pthread_cond_timedwait(&pending->cond, &pending->mutex, &deadline);
	bool done = pending->done;
	pthread_mutex_unlock(&pending->mutex);
	if (!done)
		fail_msg("the statement did not end");
	return pending->result.status;
}

/* ---- Waiting for a state ------------------------------------------------------------------------
 */

void await_true(bool (*condition)(void *arg), void *arg)
{
	WAIT_UNTIL(condition(arg));
}

struct figures {
	struct fixture *fixture;
	uint32_t locks, gate, queued;
	struct db_session *session;
	enum db_wait wait;
};

static bool waiters_are(void *arg)
{
	const struct figures *wanted = arg;
	struct db_stats stats;
	db_stats(wanted->fixture->engine, &stats);
	return stats.lock_waiters == wanted->locks && stats.gate_waiters >= wanted->gate;
}

void await_waiters(struct fixture *fixture, uint32_t locks, uint32_t gate)
{
	struct figures figures = { .fixture = fixture, .locks = locks, .gate = gate };
	await_true(waiters_are, &figures);
}

static bool queued_is(void *arg)
{
	const struct figures *wanted = arg;
	struct db_stats stats;
	db_stats(wanted->fixture->engine, &stats);
	return stats.queued + stats.resume_queued == wanted->queued;
}

void await_queued(struct fixture *fixture, uint32_t queued)
{
	struct figures figures = { .fixture = fixture, .queued = queued };
	await_true(queued_is, &figures);
}

static bool waits_there(void *arg)
{
	const struct figures *wanted = arg;
	struct db_activity activities[64];
	uint32_t count = db_activities(wanted->fixture->engine, activities, 64);
	for (uint32_t i = 0; i < count && i < 64; i++)
		if (activities[i].session == wanted->session)
			return activities[i].running && activities[i].waiting == wanted->wait;
	return false;
}

void await_wait(struct fixture *fixture, struct db_session *session, enum db_wait wait)
{
	struct figures figures = { .fixture = fixture, .session = session, .wait = wait };
	await_true(waits_there, &figures);
}

/* ---- A moment inside a statement ----------------------------------------------------------------
 */

#define NO_MOMENT INT64_MIN

static pthread_mutex_t moment_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moment_changed = PTHREAD_COND_INITIALIZER;
static int64_t moment = NO_MOMENT;
static bool moment_reached;

static void sql_moment(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count;
	int64_t n = sqlite3_value_int64(values[0]);
	pthread_mutex_lock(&moment_mutex);
	while (n == moment) {
		moment_reached = true;
		pthread_cond_wait(&moment_changed, &moment_mutex);
	}
	pthread_mutex_unlock(&moment_mutex);
	sqlite3_result_int64(context, n);
}

int fixture_functions(void *arg, sqlite3 *db)
{
	(void)arg;
	return sqlite3_create_function(db, "moment", 1,
		SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, sql_moment, NULL,
		NULL);
}

void expect_moment(int64_t n)
{
	pthread_mutex_lock(&moment_mutex);
	moment = n;
	moment_reached = false;
	pthread_cond_broadcast(&moment_changed);
	pthread_mutex_unlock(&moment_mutex);
}

void pass_moment(void)
{
	expect_moment(NO_MOMENT);
}

static bool is_reached(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&moment_mutex);
	bool reached = moment_reached;
	pthread_mutex_unlock(&moment_mutex);
	return reached;
}

void await_moment(void)
{
	await_true(is_reached, NULL);
}

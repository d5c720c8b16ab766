/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the connections and how an answer is read. The protocol is libpq's.
 */
#include "bench/target/wire.h"

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_BYTES  160
#define RETRY_WORDS "retry after "

enum state { OPENING, IDLE, BUSY, KEPT };

struct wire_session {
	struct wire_pool *pool;
	struct wire_session *next, *previous; /* of all */
	struct wire_session *next_idle;
	PGconn *connection;
	struct event *event;
	enum state state;
	bool kept;		   /* by wire_session_take */
	bool one_by_one;	   /* rows are read and forgotten */
	char *first;		   /* what to ask once it is open */
	wire_on_answer *on_answer; /* NULL: nothing was asked */
	void *arg;
	struct wire_answer answer; /* in the making */
	PGresult *rows, *error;
	uint32_t pace_rows, read_rows; /* 0: as fast as they come; read since the last pause */
	struct timeval pause;
	struct event *rest; /* the end of a pause */
};

struct wire_pool {
	struct event_base *base;
	char dir[256], port[8], user[64];
	uint32_t limit, count, busy, ready, lost; /* ready: idle or opening for nobody */
	struct wire_session *all, *idle, *last_idle;
	char last_loss[LOSS_BYTES];
};

const char *wire_value(const struct wire_answer *answer, int row, int column)
{
	const PGresult *rows = answer->rows;
	if (!rows || row >= PQntuples(rows) || column >= PQnfields(rows))
		return "";
	return PQgetvalue(rows, row, column);
}

int wire_rows(const struct wire_answer *answer)
{
	return answer->rows ? PQntuples(answer->rows) : 0;
}

/* ---- Which connection ------------------------------------------------------------------------ */

static void put_idle(struct wire_session *session)
{
	struct wire_pool *pool = session->pool;
	session->state = IDLE;
	session->next_idle = NULL;
	*(pool->last_idle ? &pool->last_idle->next_idle : &pool->idle) = session;
	pool->last_idle = session;
}

static struct wire_session *take_idle(struct wire_pool *pool)
{
	struct wire_session *session = pool->idle;
	if (!session)
		return NULL;
	pool->idle = session->next_idle;
	if (!pool->idle)
		pool->last_idle = NULL;
	pool->ready--;
	return session;
}

static void remove_idle(struct wire_session *gone)
{
	struct wire_pool *pool = gone->pool;
	struct wire_session **at = &pool->idle, *before = NULL;
	for (; *at != gone; at = &before->next_idle)
		before = *at;
	*at = gone->next_idle;
	if (pool->last_idle == gone)
		pool->last_idle = before;
	pool->ready--;
}

static void destroy(struct wire_session *session)
{
	struct wire_pool *pool = session->pool;
	*(session->previous ? &session->previous->next : &pool->all) = session->next;
	if (session->next)
		session->next->previous = session->previous;
	pool->count--;
	if (session->event)
		event_free(session->event);
	if (session->rest)
		event_free(session->rest);
	PQclear(session->rows);
	PQclear(session->error);
	PQfinish(session->connection);
	free(session->first);
	free(session);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void judge(struct wire_answer *answer, const PGresult *error)
{
	const char *sqlstate = PQresultErrorField(error, PG_DIAG_SQLSTATE);
	const char *hint = PQresultErrorField(error, PG_DIAG_MESSAGE_HINT);
	const char *message = PQresultErrorField(error, PG_DIAG_MESSAGE_PRIMARY);
	answer->message = message ? message : PQresultErrorMessage(error);
	answer->status = WIRE_FAILED;
	if (sqlstate && strncmp(sqlstate, "53", 2) == 0)
		answer->status = WIRE_REFUSED;
	else if (sqlstate && strcmp(sqlstate, "57014") == 0)
		answer->status = WIRE_CANCELLED;
	if (hint && strncmp(hint, RETRY_WORDS, strlen(RETRY_WORDS)) == 0)
		answer->retry_after_ms = (uint32_t)strtoul(hint + strlen(RETRY_WORDS), NULL, 10);
}

/* Everything was read: the connection is free before its owner hears, who may ask again. */
static void settle(struct wire_session *session)
{
	struct wire_answer answer = { .message = "", .rows = session->rows };
	wire_on_answer *on_answer = session->on_answer;
	PGresult *rows = session->rows, *error = session->error;
	if (error)
		judge(&answer, error);
	session->rows = session->error = NULL;
	session->on_answer = NULL;
	session->pool->busy--;
	if (session->kept) {
		session->state = KEPT;
	} else {
		session->pool->ready++;
		put_idle(session);
	}
	on_answer(session->arg, &answer);
	PQclear(rows);
	PQclear(error);
}

static void lose(struct wire_session *session)
{
	struct wire_pool *pool = session->pool;
	wire_on_answer *on_answer = session->on_answer;
	void *arg = session->arg;
	bool kept = session->kept;
	snprintf(
		pool->last_loss, sizeof pool->last_loss, "%s", PQerrorMessage(session->connection));
	pool->last_loss[strcspn(pool->last_loss, "\n")] = '\0';
	const struct wire_answer answer = { .status = WIRE_FAILED, .message = pool->last_loss };
	pool->lost++;
	if (session->state == IDLE)
		remove_idle(session);
	else if (on_answer)
		pool->busy--;
	else if (!kept)
		pool->ready--;
	session->on_answer = NULL;
	if (kept) {
		event_free(session->event); /* its owner still has it: wire_session_give ends it */
		session->event = NULL;
		session->state = KEPT;
	} else {
		destroy(session);
	}
	if (on_answer)
		on_answer(arg, &answer);
}

static void note_result(struct wire_session *session, PGresult *result)
{
	PGresult **place =
		PQresultStatus(result) == PGRES_FATAL_ERROR ? &session->error : &session->rows;
	PQclear(*place);
	*place = result;
}

/* A client that takes its time does not even look at the socket meanwhile. */
static bool rests(struct wire_session *session, const PGresult *result)
{
	if (!session->pace_rows || PQresultStatus(result) != PGRES_SINGLE_TUPLE ||
		++session->read_rows < session->pace_rows)
		return false;
	session->read_rows = 0;
	return event_add(session->rest, &session->pause) == 0 && event_del(session->event) == 0;
}

static void read_results(struct wire_session *session)
{
	while (session->state == BUSY && !PQisBusy(session->connection)) {
		PGresult *result = PQgetResult(session->connection);
		if (result)
			note_result(session, result);
		else if (PQstatus(session->connection) == CONNECTION_BAD)
			break;
		else {
			settle(session); /* its owner may have asked again, and lost it */
			return;
		}
		if (result && rests(session, result))
			return;
	}
	if (PQstatus(session->connection) == CONNECTION_BAD)
		lose(session);
}

static void read_answer(struct wire_session *session)
{
	if (PQconsumeInput(session->connection))
		read_results(session);
	else
		lose(session);
}

static void on_rested(int fd, short events, void *arg)
{
	struct wire_session *session = arg;
	(void)fd;
	(void)events;
	if (session->event && event_add(session->event, NULL) == 0)
		read_results(session);
}

/* ---- Opening and asking ---------------------------------------------------------------------- */

static void on_ready(int fd, short events, void *arg);

static bool watch(struct wire_session *session, short events)
{
	int fd = PQsocket(session->connection);
	if (session->event)
		event_free(session->event);
	session->event = event_new(session->pool->base, fd, events, on_ready, session);
	return session->event && event_add(session->event, NULL) == 0;
}

/* The statement is small and the socket empty: it never waits for room. */
static void submit(struct wire_session *session, const char *sql)
{
	session->state = BUSY;
	if (!PQsendQuery(session->connection, sql) || PQflush(session->connection) != 0)
		lose(session);
	else if (session->one_by_one)
		PQsetSingleRowMode(session->connection);
}

static void opened(struct wire_session *session)
{
	PQsetnonblocking(session->connection, 1);
	if (!watch(session, EV_READ | EV_PERSIST)) {
		lose(session);
	} else if (session->first) {
		char *sql = session->first;
		session->first = NULL;
		submit(session, sql);
		free(sql);
	} else if (session->kept) {
		session->state = KEPT;
	} else {
		put_idle(session);
	}
}

static void open_further(struct wire_session *session)
{
	switch (PQconnectPoll(session->connection)) {
	case PGRES_POLLING_OK:
		opened(session);
		break;
	case PGRES_POLLING_READING:
		if (!watch(session, EV_READ))
			lose(session);
		break;
	case PGRES_POLLING_WRITING:
		if (!watch(session, EV_WRITE))
			lose(session);
		break;
	default:
		lose(session);
	}
}

static void on_ready(int fd, short events, void *arg)
{
	struct wire_session *session = arg;
	(void)fd;
	(void)events;
	if (session->state == OPENING)
		open_further(session);
	else
		read_answer(session);
}

/* The caller counts it as busy, ready or kept. */
static struct wire_session *open_session(struct wire_pool *pool)
{
	const char *const names[] = { "host", "port", "user", "dbname", "sslmode", "gssencmode",
		"application_name", NULL };
	const char *const values[] = { pool->dir, pool->port, pool->user, "demo", "disable",
		"disable", "cancel-bench", NULL };
	struct wire_session *session =
		pool->count < pool->limit ? calloc(1, sizeof *session) : NULL;
	if (!session)
		return NULL;
	session->pool = pool;
	session->connection = PQconnectStartParams(names, values, 0);
	if (!session->connection) {
		free(session);
		return NULL;
	}
	session->next = pool->all;
	if (pool->all)
		pool->all->previous = session;
	pool->all = session;
	pool->count++;
	if (PQstatus(session->connection) != CONNECTION_BAD && watch(session, EV_WRITE))
		return session;
	snprintf(
		pool->last_loss, sizeof pool->last_loss, "%s", PQerrorMessage(session->connection));
	pool->last_loss[strcspn(pool->last_loss, "\n")] = '\0';
	pool->lost++;
	destroy(session);
	return NULL;
}

void wire_session_ask(
	struct wire_session *session, const char *sql, wire_on_answer *on_answer, void *arg)
{
	session->on_answer = on_answer;
	session->arg = arg;
	session->pool->busy++;
	if (!session->event)
		lose(session); /* it was lost before */
	else if (session->state == OPENING)
		session->first = strdup(sql);
	else
		submit(session, sql);
}

int wire_ask(struct wire_pool *pool, const char *sql, wire_on_answer *on_answer, void *arg)
{
	struct wire_session *session = take_idle(pool);
	if (!session)
		session = open_session(pool);
	if (!session)
		return -1;
	wire_session_ask(session, sql, on_answer, arg);
	return 0;
}

struct wire_session *wire_session_take(struct wire_pool *pool)
{
	struct wire_session *session = take_idle(pool);
	if (!session)
		session = open_session(pool);
	if (!session)
		return NULL;
	session->kept = true;
	if (session->state == IDLE)
		session->state = KEPT;
	return session;
}

int wire_session_stream(struct wire_session *session, uint32_t rows, uint32_t pause_ms)
{
	session->one_by_one = true;
	session->pace_rows = rows;
	session->pause = (struct timeval){ .tv_sec = pause_ms / 1000,
		.tv_usec = (suseconds_t)(pause_ms % 1000) * 1000 };
	if (rows && !session->rest)
		session->rest = evtimer_new(session->pool->base, on_rested, session);
	return rows && !session->rest ? -1 : 0;
}

uint32_t wire_session_process(const struct wire_session *session)
{
	return (uint32_t)PQbackendPID(session->connection);
}

void wire_session_give(struct wire_session *session)
{
	session->kept = session->one_by_one = false;
	session->pace_rows = session->read_rows = 0;
	if (!session->event) {
		destroy(session);
		return;
	}
	session->pool->ready++;
	if (session->state == KEPT)
		put_idle(session);
}

void wire_pool_open(struct wire_pool *pool, uint32_t count)
{
	while (pool->ready < count && open_session(pool))
		pool->ready++;
}

/* ---- The pool -------------------------------------------------------------------------------- */

struct wire_pool *wire_pool_new(const struct wire_pool_options *options)
{
	struct wire_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return NULL;
	pool->base = options->base;
	pool->limit = options->limit;
	snprintf(pool->dir, sizeof pool->dir, "%s", options->socket_dir);
	snprintf(pool->port, sizeof pool->port, "%u", options->port);
	snprintf(pool->user, sizeof pool->user, "%s", options->user);
	return pool;
}

void wire_pool_free(struct wire_pool *pool)
{
	while (pool && pool->all)
		destroy(pool->all);
	free(pool);
}

void wire_pool_stats(const struct wire_pool *pool, struct wire_stats *stats)
{
	*stats = (struct wire_stats){ .connections = pool->count,
		.busy = pool->busy,
		.lost = pool->lost,
		.last_loss = pool->last_loss };
}

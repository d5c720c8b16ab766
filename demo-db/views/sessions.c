/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions.c - cancel_sessions, and PostgreSQL's pg_stat_activity: who is connected and does what.
 * Reads the server's list of clients and the engine's of what runs.
 */
#include "demo-db/server/dialect/signatures.h"
#include "demo-db/server/session/client.h"
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cancel/observe.h>

static uint64_t load(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

/* Transactions under way, by their session's process; a statement outside a block is one. */
struct transactions {
	struct db_activity *list;
	uint32_t count;
};

static int by_key(const void *a, const void *b)
{
	const struct db_activity *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

/* Those that begin meanwhile may be missing. Free its list. */
static struct transactions transactions_of(struct services *services, struct view_rows *rows)
{
	uint32_t limit = db_activities(services->engine, NULL, 0);
	struct transactions t = { .list = calloc(limit + 1, sizeof *t.list) };
	rows->failed |= !t.list;
	if (!t.list)
		return t;
	t.count = db_activities(services->engine, t.list, limit);
	if (t.count > limit)
		t.count = limit;
	qsort(t.list, t.count, sizeof *t.list, by_key);
	return t;
}

static const struct db_activity *find_activity(const struct transactions *t, uint32_t process)
{
	const struct db_activity key = { .key = process };
	return t->count ? bsearch(&key, t->list, t->count, sizeof key, by_key) : NULL;
}

static void put_transaction(
	struct view_rows *rows, const struct transactions *t, uint32_t process, uint64_t now_ns)
{
	const struct db_activity *found = find_activity(t, process);
	uint64_t since_ns = 0;
	if (found)
		since_ns = found->transaction_start_ns ? found->transaction_start_ns
						       : found->statement_start_ns;
	view_ms_or_null(rows, since_ns && now_ns > since_ns ? now_ns - since_ns : 0);
}

struct sessions { /* what put_session needs */
	struct view_rows *rows;
	struct transactions transactions;
	uint64_t now_ns;
};

static void put_session(void *arg, const struct client *client)
{
	static const char *const states[] = { "startup", "password", "password", "idle",
		"leaving" };
	const struct sessions *s = arg;
	const struct backend *backend = &client->backend;
	const struct output *output = &backend->output;
	struct view_rows *rows = s->rows;
	uint64_t blocked_ns = load(&output->blocked_since_ns);
	bool running = atomic_load_explicit(&backend->query.running, memory_order_relaxed) ==
		       RUNNING_PENDING;
	uint32_t state = atomic_load_explicit(&client->shown_state, memory_order_relaxed);
	char letter[2] = { (char)atomic_load_explicit(&backend->shown_tx, memory_order_relaxed),
		'\0' };
	view_integer(rows, backend->process);
	view_text(rows, client->shown_user);
	view_text(rows, client->address);
	view_text(rows, running				 ? "running"
			: query_is_held(&backend->query) ? "held" /* by admission */
							 : states[state]);
	view_text(rows, letter[0] ? letter : NULL);
	put_transaction(rows, &s->transactions, backend->process, s->now_ns);
	view_integer(rows, atomic_load_explicit(&client->source.level, memory_order_relaxed));
	view_integer(rows, (int64_t)load(&backend->statements));
	view_integer(rows, (int64_t)load(&output->buffered_bytes));
	view_ms_or_null(rows, blocked_ns && s->now_ns > blocked_ns ? s->now_ns - blocked_ns : 0);
}

static void fill_sessions(struct services *services, struct view_rows *rows)
{
	struct sessions sessions = { .rows = rows,
		.transactions = transactions_of(services, rows),
		.now_ns = cancel_now_ns() };
	clients_visit(services->clients, put_session, &sessions);
	free(sessions.transactions.list);
}

const struct view view_sessions = { .name = "cancel_sessions",
	.columns =
		"process BIGINT, usename TEXT, address TEXT, state TEXT, transaction_state TEXT, "
		"transaction_ms FLOAT8, level BIGINT, statements BIGINT, unread_bytes BIGINT, "
		"unread_ms FLOAT8",
	.fill = fill_sessions };

/* ---- pg_stat_activity ------------------------------------------------------------------------ */

/* A moment of the runtime's clock as PostgreSQL writes it; NULL for 0. */
static void put_time(struct view_rows *rows, uint64_t at_ns, uint64_t now_ns)
{
	char text[48];
	struct timespec wall;
	struct tm utc;
	if (!at_ns) {
		view_null(rows);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	uint64_t micros = (uint64_t)wall.tv_sec * 1000000u + (uint64_t)wall.tv_nsec / 1000u -
			  (now_ns > at_ns ? now_ns - at_ns : 0) / 1000u;
	time_t seconds = (time_t)(micros / 1000000u);
	gmtime_r(&seconds, &utc);
	size_t used = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc);
	used += (size_t)snprintf(
		text + used, sizeof text - used, ".%06u", (unsigned)(micros % 1000000u));
	while (text[used - 1] == '0')
		used--;
	used -= text[used - 1] == '.';
	snprintf(text + used, sizeof text - used, "+00");
	view_text(rows, text);
}

static void put_wait(
	struct view_rows *rows, const struct db_activity *activity, bool running, bool held)
{
	static const char *const waits[][2] = { [DB_WAIT_NONE] = { NULL, NULL },
		[DB_WAIT_QUEUE] = { "Extension", "worker queue" },
		[DB_WAIT_GLOBAL] = { "Lock", "global" },
		[DB_WAIT_TABLE] = { "Lock", "relation" },
		[DB_WAIT_GATE] = { "Lock", "write" },
		[DB_WAIT_RERUN] = { "Extension", "rerun" } };
	enum db_wait wait = running && activity ? activity->waiting : DB_WAIT_NONE;
	view_text(rows, held ? "Extension" : running ? waits[wait][0] : "Client");
	view_text(rows, held ? "admission" : running ? waits[wait][1] : "ClientRead");
}

static const char *activity_state(bool active, char letter)
{
	if (active)
		return "active";
	return letter == 'T'   ? "idle in transaction"
	       : letter == 'E' ? "idle in transaction (aborted)"
			       : "idle";
}

static void put_activity(void *arg, const struct client *client)
{
	const struct sessions *s = arg;
	const struct backend *backend = &client->backend;
	struct view_rows *rows = s->rows;
	char text[SIGNATURE_TEXT_MAX];
	if (!client->counted)
		return; /* it has not logged in */
	const struct db_activity *found = find_activity(&s->transactions, backend->process);
	bool running = atomic_load_explicit(&backend->query.running, memory_order_relaxed) ==
		       RUNNING_PENDING;
	bool held = query_is_held(&backend->query);
	view_integer(rows, 5);
	view_text(rows, backend->database);
	view_integer(rows, backend->process);
	view_integer(rows, 10);
	view_text(rows, client->shown_user);
	view_text(rows, backend->shown_program);
	view_text(rows, client->local ? NULL : client->address);
	put_time(rows, client->accepted_ns, s->now_ns);
	put_time(rows, found ? found->transaction_start_ns : 0, s->now_ns);
	put_time(rows, found ? found->statement_start_ns : 0, s->now_ns);
	put_wait(rows, found, running, held);
	view_text(rows,
		activity_state(running || held,
			(char)atomic_load_explicit(&backend->shown_tx, memory_order_relaxed)));
	view_text(rows, found && signatures_find(found->signature, text) ? text : NULL);
	view_text(rows, "client backend");
}

static void fill_activity(struct services *services, struct view_rows *rows)
{
	struct sessions sessions = { .rows = rows,
		.transactions = transactions_of(services, rows),
		.now_ns = cancel_now_ns() };
	clients_visit(services->clients, put_activity, &sessions);
	free(sessions.transactions.list);
}

const struct view view_activity = { .name = "pg_stat_activity",
	.columns = "datid OID, datname NAME, pid INT4, usesysid OID, usename NAME, "
		   "application_name TEXT, client_addr TEXT, backend_start TIMESTAMPTZ, "
		   "xact_start TIMESTAMPTZ, query_start TIMESTAMPTZ, wait_event_type TEXT, "
		   "wait_event TEXT, state TEXT, query TEXT, backend_type TEXT",
	.fill = fill_activity };

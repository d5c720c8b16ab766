/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - cancel_admission: the gate, a row a business priority; cancel_sessions. */
#include "demo-db/server/session/client.h"
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"
#include "demo-db/views/view.h"

#include <stdlib.h>
#include <string.h>

static uint64_t load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* How much of a priority's levels is below the cursor. */
static uint32_t admitted_levels(uint32_t cursor, unsigned priority)
{
	uint32_t first = priority * GATE_USER_LEVELS;
	if (cursor <= first)
		return 0;
	return cursor - first < GATE_USER_LEVELS ? cursor - first : GATE_USER_LEVELS;
}

static void fill_admission(struct services *services, struct view_rows *rows)
{
	struct admission *admission = &services->admission;
	struct gate *gate = &admission->gate;
	struct cancel_dagor_stats stats = { .cursor = PRIORITY_LEVELS * GATE_USER_LEVELS };
	uint64_t now_ns = cancel_now_ns();
	if (gate->dagor)
		cancel_dagor_shared_stats(gate->dagor, &stats);
	for (unsigned i = 0; i < PRIORITY_LEVELS; i++) {
		view_text(rows, priority_name((enum priority)i));
		view_integer(rows, (int64_t)load(&gate->offered[i]));
		view_integer(rows, (int64_t)load(&gate->refused[i]));
		view_real(rows, 100.0 * admitted_levels(stats.cursor, i) / GATE_USER_LEVELS);
		view_bool(rows, gate->dagor != NULL);
		view_integer(rows, stats.cursor);
		view_integer(rows, (int64_t)stats.windows);
		view_bool(rows, stats.overloaded);
		view_ms(rows, stats.mean_delay_ns);
		view_bool(rows, load(&gate->spare_until_ns) > now_ns);
		view_integer(rows, (int64_t)load(&gate->spared));
		view_bool(rows, load(&gate->regular_until_ns) > now_ns);
		view_bool(rows, atomic_load_explicit(&admission->paused, memory_order_relaxed));
		view_integer(rows, atomic_load_explicit(&admission->waiting, memory_order_relaxed));
		view_integer(rows, (int64_t)load(&admission->busy_refused));
		view_integer(rows, (int64_t)load(&admission->io_waits));
	}
}

const struct view view_admission = { .name = "cancel_admission",
	.columns = "priority TEXT, offered BIGINT, refused BIGINT, admitted_pct FLOAT8, gate BOOL, "
		   "cursor BIGINT, windows BIGINT, overloaded BOOL, mean_queue_ms FLOAT8, sparing "
		   "BOOL, spared BIGINT, regular_overload BOOL, paused BOOL, waiting BIGINT, busy "
		   "BIGINT, io_waits BIGINT",
	.fill = fill_admission };

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

static void put_transaction(
	struct view_rows *rows, const struct transactions *t, uint32_t process, uint64_t now_ns)
{
	const struct db_activity key = { .key = process };
	const struct db_activity *found =
		t->count ? bsearch(&key, t->list, t->count, sizeof key, by_key) : NULL;
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.h - what a client's message makes the engine do, step by step.
 *
 * A message that runs statements is a small state machine: each step ends at once, or leaves a
 * statement with a worker thread (query_run answers QUERY_PENDING) and goes on when that is done.
 * Several statements in one message, and everything between two Syncs, are one transaction unless
 * they say otherwise, as in PostgreSQL.
 */
#ifndef DEMO_DB_QUERY_H
#define DEMO_DB_QUERY_H

#include "demo-db/server/net/encoding.h"
#include "demo-db/server/admission/admission.h"
#include "demo-db/server/dialect/parameterize.h"
#include "demo-db/server/net/protocol.h"
#include "demo-db/server/dialect/error_text.h"

#include <stdatomic.h>

struct backend;
struct statement;
struct portal;

enum query_step {
	STEP_NONE,	  /* nothing in hand */
	STEP_NEXT,	  /* take the next statement of the message */
	STEP_ASK,	  /* may it begin? */
	STEP_BEGUN,	  /* the hidden BEGIN has run: now the statement */
	STEP_RAN,	  /* the statement has run */
	STEP_TOLD,	  /* in its place: what became of the block */
	STEP_END,	  /* no more statements: commit the implicit block */
	STEP_COMMITTED,	  /* the hidden COMMIT has run */
	STEP_FAILED,	  /* an error was told: end the implicit block, fail the explicit one */
	STEP_ROLLED_BACK, /* that is done */
	STEP_DONE,
	STEP_COUNT
};

/* A canceller turns HELD into its own; the serving thread, and only it, sets the rest. */
enum query_wait { WAIT_NONE, WAIT_HELD, WAIT_CANCELLED };
enum query_running { RUNNING_NOTHING, RUNNING_PENDING, RUNNING_ENDED };
enum query_answer { QUERY_DONE, QUERY_PENDING };

struct query {
	enum query_step step;
	bool simple;	   /* a Query message; else Execute or Sync */
	bool sync;	   /* a Sync message */
	bool sync_follows; /* the next message is a Sync: the transaction ends behind this one */
	bool skip_to_sync; /* extended: an error came, ignore until Sync */
	bool implicit;	   /* an implicit block is open */
	bool ran_any;	   /* this message has run a statement */
	bool failed;	   /* an error was told */
	const char *text;  /* simple: what is left of the text, in the input buffer */
	const char *text_start;
	size_t text_bytes;
	const char *written; /* the statement in hand as the client wrote it, for positions */
	size_t written_bytes;
	struct statement *statement; /* in hand; held */
	struct portal *portal;	     /* of Execute */
	uint64_t arrival_ns, last_end_ns;
	uint64_t unserved_ns;	    /* from the arrival until the reactor served it */
	enum priority priority;	    /* of the statement in hand, in this session */
	_Atomic uint32_t waits;	    /* enum query_wait, for admission: ask again when served */
	bool gated;		    /* let in by the gate, which is to hear of it … */
	bool observed;		    /* … and has been asked to tell how long it queued */
	struct admission_turn turn; /* as the transaction was let in */

	/* the engine's statement in hand: the worker's while running is PENDING */
	struct db_request request;
	struct db_result result;
	char message[DB_MESSAGE_MAX];
	struct db_value literals[LITERALS_MAX];
	uint16_t literal_count;	  /* taken out of the text, or given to EXECUTE … */
	char key[ERROR_TEXT_MAX]; /* the words about a key that is there; "" none */
	char *expanded;		  /* what is run in place of the statement's; owned; NULL: none */
	char *recoded;		  /* the text in hand, written in LATIN1, as UTF-8; owned */
	char *executed;		  /* … whose texts lie here; owned */
	_Atomic uint32_t running; /* enum query_running; the worker's last word is ENDED */

	/* its rows */
	bool describe;	     /* RowDescription before the first row */
	bool describe_due;   /* of a portal: the client has not heard yet what it returns */
	size_t described_at; /* where the description is in the output, when its types are guessed
			      */
	bool guessed;
	const uint16_t *formats; /* none: text; one: for all */
	uint16_t format_count;
	struct wire_column *columns; /* what is being sent; names are SQLite's */
	uint32_t column_count, column_room;
	uint64_t row_limit, rows;	      /* of Execute; 0: none */
	bool too_many_rows;		      /* more than a portal may keep */
	size_t row_too_large;		      /* bytes of a row over the output's limit */
	char unencodable[ENCODING_ERROR_MAX]; /* why a value cannot be sent in LATIN1; "" none */
	uint32_t misfit;     /* column, from 1, whose value has no binary form of its type */
	uint16_t bad_format; /* a format code of Bind that is none */
};

/* Does admission make it wait? */
static inline bool query_is_held(const struct query *query)
{
	return atomic_load_explicit(&query->waits, memory_order_relaxed) != WAIT_NONE;
}

void query_free(struct backend *backend);

/* Begin with a message; then query_run until it answers DONE. */
void query_begin_simple(struct backend *backend, const char *sql);
/* `refused`: the block has failed, which is all it is going to hear. */
void query_begin_execute(
	struct backend *backend, struct portal *portal, uint32_t max_rows, bool refused);
void query_begin_sync(struct backend *backend);
/* An error was told outside of a statement: the block fails with it. */
void query_begin_failure(struct backend *backend);
/* A message of the simple protocol that is not done. */
void query_begin_refused(struct backend *backend, const char *sqlstate, const char *message);
enum query_answer query_run(struct backend *backend);

/* What runs for the client elsewhere (running is PENDING) has ended. Any thread, the last it does
 * with the client. */
void query_ended(struct backend *backend, const struct db_result *result);

/* Time the statement spends waiting counts from its message's arrival, or from the end of the
 * statement of the same client before it. */
uint64_t query_arrival_ns(const struct query *query);
/* Makes it the statement in hand; shared. */
void query_take(struct query *query, struct statement *statement);

/* The dialect's literals for this session. */
struct dialect_context;
struct dialect_context query_context(struct backend *backend);

#endif

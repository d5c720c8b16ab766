/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - the server's side of one session: whose it is, its settings, its statements, and what
 * is on its way to the client.
 *
 * Who may touch what: the thread that serves the client owns everything but the atomic fields,
 * which others read or set as said beside them. While a statement runs on a worker thread
 * (query.running is PENDING) the worker owns `query` and `output`, and the serving thread only
 * looks whether the client has hung up.
 */
#ifndef DEMO_DB_BACKEND_H
#define DEMO_DB_BACKEND_H

#include "demo-db/server/config/config.h"
#include "demo-db/server/net/output.h"
#include "demo-db/server/net/reactor.h"
#include "demo-db/server/session/prepared.h"
#include "demo-db/server/session/query.h"
#include "demo-db/server/session/schema.h"
#include "demo-db/server/session/settings.h"
#include "demo-db/server/session/timer.h"

struct services;

/* Why the server ends a client. Set once by anybody, acted on by the serving thread. */
enum close_reason {
	CLOSE_NOT,
	CLOSE_SHUTDOWN,	     /* 57P01, once it is between transactions */
	CLOSE_SHUTDOWN_NOW,  /* 57P01, whatever it does */
	CLOSE_STARTUP,	     /* start-up took too long */
	CLOSE_IDLE,	     /* 57P05 */
	CLOSE_IDLE_IN_BLOCK, /* 25P03 */
	CLOSE_OUTPUT,	     /* does not read its results */
	CLOSE_GONE,	     /* hung up while a statement ran */
};

struct backend {
	struct services *services;
	struct reactor_source *source; /* its client's socket */
	struct db_session *db;	       /* NULL before start-up has ended */
	uint32_t process;	       /* names it to others */
	char user[CONFIG_NAME_MAX], database[CONFIG_NAME_MAX];
	uint64_t user_hash;
	const struct config_role *role; /* NULL: none given */
	/* what its settings make of it, as of settings_version */
	uint32_t settings_version;
	enum priority limit; /* no statement of its is above it; AUTO: no limit */
	enum priority lift;  /* all of its statements are this, by a role that may; AUTO: no */
	uint64_t lock_timeout_ns;
	char shown_program[CONFIG_NAME_MAX]; /* by clients_show_program */
	uint64_t user_level;		     /* hash of whose requests these are, for the gate */
	uint64_t reported_serial;
	uint32_t reported_level; /* the admission level the client knows */
	struct output output;
	struct settings settings;
	struct prepared prepared;
	struct schema schema;
	bool defined; /* the block in hand has changed the schema */
	struct query query;
	uint64_t arrival_ns; /* when the messages in hand arrived */
	uint64_t served_ns;  /* when the reactor last came to serve the client */
	struct timer timer;

	_Atomic uint32_t close_reason; /* enum close_reason; anybody, once */
	_Atomic bool timed_out;	       /* the statement is cancelled because of statement_timeout */
	_Atomic bool in_callback;      /* a worker is inside on_done: it must not be freed */
	/* for views */
	_Atomic uint32_t shown_tx;
	_Atomic uint64_t statements; /* served; the serving thread writes */
};

/* 0, or -1 when memory is out. */
int backend_init(struct backend *backend, struct services *services, struct reactor_source *source);
void backend_free(struct backend *backend);

/* Any thread, while its client exists. Close: the serving thread will. */
void backend_close(struct backend *backend, enum close_reason why);
void backend_cancel(struct backend *backend, bool timed_out);

/* Is its client gone, or has the server decided to end it whatever it does? Then nothing more of
 * what it sent may begin, not even the COMMIT of an implicit block, and the end of its session
 * rolls back what is open. Once true it stays true. The serving thread, while no worker has a
 * statement. */
bool backend_is_over(const struct backend *backend);

/* May it cancel others, pause admission, change the runtime's settings? */
bool backend_may_control(const struct backend *backend);
/* May it say with cancel.user whose request its next is? Only a role that the configuration names. */
bool backend_speaks_for_others(const struct backend *backend);

/* An error to the client: detail and hint may be NULL. */
void backend_error(struct backend *backend, const char *sqlstate, const char *message,
	const char *detail, const char *hint, int position);
/* Watches the statement in hand, from the moment it asks to be let in. */
void backend_watch_statement(struct backend *backend);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - one client of the server: its socket, its start-up, its messages, its end.
 *
 * Who may touch what: the thread that serves the client owns everything but the atomic fields,
 * which others read or set as said beside them. While a statement runs on a worker thread
 * (query.running is PENDING) the worker owns `query` and `output`, and the serving thread only
 * looks whether the client has hung up.
 */
#ifndef DEMO_DB_CLIENT_H
#define DEMO_DB_CLIENT_H

#include "demo-db/server/config.h"
#include "demo-db/server/net/output.h"
#include "demo-db/server/session/prepared.h"
#include "demo-db/server/session/query.h"
#include "demo-db/server/net/reactor.h"
#include "demo-db/server/session/settings.h"

struct server;

enum client_state {
	CLIENT_STARTUP,	 /* waits for the startup packet */
	CLIENT_PASSWORD, /* waits for SASLInitialResponse */
	CLIENT_PROOF,	 /* waits for SASLResponse */
	CLIENT_READY,
	CLIENT_LEAVING, /* an answer is on its way, then the end */
};

/* Why the server ends a client. Set once by anybody, acted on by the serving thread. */
enum client_doom {
	DOOM_NONE,
	DOOM_SHUTDOWN,	    /* 57P01, once it is between transactions */
	DOOM_SHUTDOWN_NOW,  /* 57P01, whatever it does */
	DOOM_STARTUP,	    /* start-up took too long */
	DOOM_IDLE,	    /* 57P05 */
	DOOM_IDLE_IN_BLOCK, /* 25P03 */
	DOOM_OUTPUT,	    /* does not read its results */
	DOOM_GONE,	    /* hung up while a statement ran */
};

/* What a client waits for that may last too long. */
enum client_watch {
	WATCH_NOTHING,
	WATCH_STARTUP,
	WATCH_IDLE,
	WATCH_IDLE_IN_BLOCK,
	WATCH_STATEMENT,
	WATCH_ACTED, /* the ticker is just about it: whoever sets another waits for that */
};

struct input { /* bytes read and not yet consumed: data[start … end) */
	uint8_t *data;
	size_t start, end, capacity;
};

struct client {
	struct reactor_source source; /* must be first */
	struct server *server;
	struct client *previous, *next; /* the server's list, under its lock */
	enum client_state state;
	bool trusted;		  /* came by the socket or loopback: no password */
	bool counted;		  /* against the limit of sessions */
	uint32_t process, secret; /* its key for cancel requests */
	char user[CONFIG_NAME_MAX], database[CONFIG_NAME_MAX], address[64];
	uint64_t user_hash;
	const struct config_role *role; /* NULL: none given */
	/* what its settings make of it, as of settings_version */
	uint32_t settings_version;
	enum business limit; /* no statement of its is above it; AUTO: no limit */
	enum business lift;  /* all of its statements are this, by a role that may; AUTO: no */
	uint64_t user_level; /* hash of whose requests these are, for the gate */
	uint64_t told_serial;
	uint32_t told_cursor; /* the admission level the client knows */
	struct input input;
	struct output output;
	struct settings settings;
	struct prepared prepared;
	struct query query;
	struct db_session *session;
	struct scram *scram;
	uint64_t arrival_ns; /* when what is in `input` arrived */
	uint64_t unread_ns;  /* when bytes still in the socket arrived; 0 none known */
	bool writable_watched;

	_Atomic uint32_t doom;	  /* enum client_doom; anybody, once */
	_Atomic uint64_t watch;	  /* enum client_watch in the low bits, deadline in ns above */
	_Atomic bool timed_out;	  /* the statement is cancelled because of statement_timeout */
	_Atomic bool in_callback; /* a worker is inside on_done: the client must not be freed */
	/* for views */
	char shown_user[CONFIG_NAME_MAX]; /* under the server's lock */
	_Atomic uint32_t shown_state, shown_tx;
	_Atomic uint64_t statements; /* served; this thread writes */
};

/* A client on an accepted socket, not yet watched. NULL when memory is out. */
struct client *client_new(struct server *server, int fd, bool trusted, const char *address);
/* Once nobody can know it any more. */
void client_free(struct client *client);
/* Serves: reads, decodes, runs, answers. */
enum reactor_answer client_serve(struct client *client);

/* Any thread, under the server's lock of clients (so that the client exists). */
void client_doom(struct client *client, enum client_doom why);
void client_cancel(struct client *client, bool timed_out);
/* Looks at the clock for it: dooms or cancels what takes too long. */
void client_tick(struct client *client, uint64_t now_ns);

/* Is it gone, or has the server decided to end it whatever it does? Then nothing more of what it
 * sent may begin, not even the COMMIT of an implicit block, and the end of its session rolls back
 * what is open. Once true it stays true. The serving thread, while no worker has a statement. */
bool client_is_over(const struct client *client);

/* May it cancel others, pause admission, change the runtime's settings? */
bool client_may_control(const struct client *client);

/* An error to the client: message, hint and detail may be NULL. */
void client_error(struct client *client, const char *sqlstate, const char *message,
	const char *detail, const char *hint, int position);
void client_fatal(struct client *client, const char *sqlstate, const char *message);
/* Watches for `what` to last longer than `limit_ns` from now (0: no limit). */
void client_set_watch(
	struct client *client, enum client_watch what, uint64_t from_ns, uint64_t limit_ns);
/* Watches the statement in hand, from the moment it asks to be let in. */
void client_watch_statement(struct client *client);

#endif

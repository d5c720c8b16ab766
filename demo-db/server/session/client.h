/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - one client of the server: its socket, its start-up, its messages, its end.
 *
 * The thread that serves the client owns it; what others may touch is in its backend.
 */
#ifndef DEMO_DB_CLIENT_H
#define DEMO_DB_CLIENT_H

#include "demo-db/server/session/backend.h"

enum client_state {
	CLIENT_STARTUP,	 /* waits for the startup packet */
	CLIENT_PASSWORD, /* waits for SASLInitialResponse */
	CLIENT_PROOF,	 /* waits for SASLResponse */
	CLIENT_READY,
	CLIENT_LEAVING, /* an answer is on its way, then the end */
};

struct input { /* bytes read and not yet consumed: data[start … end) */
	uint8_t *data;
	size_t start, end, capacity;
};

struct client {
	struct reactor_source source; /* must be first */
	struct backend backend;
	struct client *previous, *next; /* the clients' list, under its lock */
	bool counted;			/* against the limit of sessions; under the lock, too */
	char shown_user[CONFIG_NAME_MAX];

	enum client_state state;
	_Atomic uint32_t shown_state;
	bool trusted;	 /* came by the socket or loopback: no password */
	uint32_t secret; /* its key for cancel requests */
	uint64_t accepted_ns;
	bool local; /* it came by the local socket */
	char address[64];
	struct scram *scram;
	struct input input;
	uint64_t unread_ns; /* when bytes still in the socket arrived; 0 none known */
	bool writable_watched;
};

/* A client on an accepted socket, not yet watched. NULL when memory is out. */
struct client *client_new(struct services *services, int fd, bool trusted, const char *address);
/* Once nobody can know it any more. */
void client_free(struct client *client);
/* Serves: reads, decodes, runs, answers. */
enum reactor_answer client_serve(struct client *client);
/* Any thread, under the clients' lock: looks at the clock, and closes or cancels what takes too
 * long. */
void client_tick(struct client *client, uint64_t now_ns);

void client_fatal(struct client *client, const char *sqlstate, const char *message);

#endif

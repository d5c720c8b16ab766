/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - the sockets a server listens on, and who is trusted by where it comes from. */
#ifndef DEMO_DB_LISTEN_H
#define DEMO_DB_LISTEN_H

#include "demo-db/server/net/reactor.h"

#include <stddef.h>

#define LISTEN_LOCAL "local" /* the address of whoever comes by the local socket */

#define LISTEN_MAX	   4
#define LISTEN_MESSAGE_MAX 256

struct listeners;

struct listener {
	struct reactor_source source; /* must be first */
	struct listeners *all;
	bool local;	      /* Unix socket */
	_Atomic bool starved; /* nothing could be accepted: to be tried again */
	char path[108];
};

struct listen_options {
	const char *socket_dir; /* of the Unix socket .s.PGSQL.PORT */
	const char *address;	/* of TCP; "" or "none": no TCP */
	uint16_t port;
	bool trust_local; /* clients of the socket and of loopback */
	/* A client on an accepted socket. Negative: it is turned away. */
	int (*welcome)(void *arg, int fd, bool trusted, const char *address);
	/* No more clients are taken: the listeners end. */
	bool (*is_draining)(void *arg);
	void *arg;
};

struct listeners {
	struct listen_options options;
	struct listener list[LISTEN_MAX];
	uint32_t count;
	_Atomic uint64_t turned_away;
};

/* Opens the Unix socket and the TCP address. 0, or -1 with one line in `message`. */
int listen_open(struct listeners *listeners, const struct listen_options *options,
	char message[LISTEN_MESSAGE_MAX]);
/* Closes what is open and removes the socket's file; only while no reactor serves them. */
void listen_close(struct listeners *listeners);
bool listen_owns(const struct listeners *listeners, const struct reactor_source *source);
/* Accepts whoever waits. */
enum reactor_answer listen_serve(struct reactor *reactor, struct listener *listener);
/* Has every listener served; with `starved_only` those that could not accept. */
void listen_kick(struct listeners *listeners, struct reactor *reactor, bool starved_only);

#endif

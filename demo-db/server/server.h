/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the server as a whole: its engine, its listeners, its clients, its way down.
 *
 * Threads: the reactor's serve; the engine's workers run what did not fit; one ticks, looking every
 * 100 ms for what took too long. server_start and server_stop by one thread.
 */
#ifndef DEMO_DB_SERVER_H
#define DEMO_DB_SERVER_H

#include "demo-db/server/net/listen.h"
#include "demo-db/server/session/clients.h"
#include "demo-db/server/session/services.h"

#include <pthread.h>

struct metrics;
struct sqlite3;

/* What every connection is given: tables of the runtime and functions about it. */
struct server_views {
	int (*install)(void *services, struct sqlite3 *db); /* 0 or an SQLite error */
	/* Of a function or table of theirs: only those who may control call or change it. */
	bool (*are_guarded)(const char *name);
};

struct server {
	struct services services;
	struct clients clients;
	struct listeners listeners;
	struct server_views views;
	struct metrics *metrics; /* NULL: none */
	uint64_t started_ns;
	pthread_t ticker;
	bool ticking;
	_Atomic bool stop_ticking;
};

/* Opens the engine and listens. 0, or -1 with one line in `message`; nothing is left behind. */
int server_start(struct server **server, const struct config *config,
	const struct server_views *views, char message[CONFIG_MESSAGE_MAX]);
/* No new clients; idle ones leave, others when their transaction ends, all of them after the drain
 * time. Returns when the last has left. */
void server_drain(struct server *server);
/* Another thread waits in server_drain: end what is left at once. */
void server_force(struct server *server);
/* After server_drain: closes the engine. */
void server_stop(struct server *server);

/* No new clients are taken. */
bool server_is_draining(struct server *server);

#endif

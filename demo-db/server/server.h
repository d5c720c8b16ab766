/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the server as a whole: its engine, its listeners, its clients, its way down.
 *
 * Threads: the reactor's serve; the engine's workers run what did not fit; one ticks, looking every
 * 100 ms for what took too long. server_start and server_stop by one thread.
 */
#ifndef DEMO_DB_SERVER_H
#define DEMO_DB_SERVER_H

#include "demo-db/server/session/backup.h"
#include "demo-db/server/session/client.h"
#include "demo-db/server/net/listen.h"

#include <pthread.h>

#define SERVER_VERSION "PostgreSQL 15.0 compatible, demo-db on SQLite"
#define SERVER_STARTING_MAX                                                                        \
	64 /* sockets beyond the sessions, in start-up or with a cancel request */

struct metrics;
struct sqlite3;

struct server_counters { /* each written by anybody */
	_Atomic uint64_t accepted, refused, cancel_requests, statements, errors, handed_over;
};

/* What every connection is given: tables of the runtime and functions about it. */
struct server_views {
	int (*install)(void *server, struct sqlite3 *db); /* 0 or an SQLite error */
	/* Of a function or table of theirs: only those who may control call or change it. */
	bool (*are_guarded)(const char *name);
};

struct server {
	struct config config;
	struct db_engine *engine;
	struct reactor *reactor;
	struct listeners listeners;
	uint8_t scram_secret[SCRAM_KEY_BYTES];
	struct server_counters counters;
	uint64_t started_ns;

	pthread_mutex_t lock; /* of the clients' list and what counts them */
	pthread_cond_t left;  /* a client was freed */
	struct client *first;
	uint32_t clients, sessions, next_process;
	bool draining, hurry;

	pthread_t ticker;
	bool ticking;
	_Atomic bool stop_ticking;
	struct admission admission;
	struct backup_turn backup;
	struct server_views views;
	struct metrics *metrics;      /* NULL: none */
	_Atomic bool checkpointing;   /* somebody's CHECKPOINT keeps a serving thread */
	_Atomic bool partial_indexes; /* some index has a WHERE: literals may matter to plans */
};

/* Opens the engine and listens. 0, or -1 with one line in `message`; nothing is left behind. */
int server_start(struct server **server, const struct config *config,
	const struct server_views *views, char message[CONFIG_MESSAGE_MAX]);
/* No new clients; idle ones leave, others when their transaction ends, all of them after the drain
 * time. Returns when the last has left. */
void server_drain(struct server *server);
/* Another thread waits in server_drain: end what is left at once. */
void server_hurry(struct server *server);
/* After server_drain: closes the engine. */
void server_stop(struct server *server);

/* No new clients are taken. */
bool server_is_draining(struct server *server);
/* Wakes every client, so that statements held back ask again. */
void server_kick_waiting(struct server *server);

/* For clients. A cancel request by key; false: no such session. */
bool server_cancel(struct server *server, uint32_t process, uint32_t secret);
/* The same without a key, for those who may. */
bool server_cancel_process(struct server *server, uint32_t process);
/* A client becomes a session. False: too many (it is told). */
bool server_admit_session(struct server *server, struct client *client);
/* From here on others may cancel what it does. */
void server_open_session(struct server *server, struct client *client, struct db_session *session);
/* The client ends: nobody finds it from here on; later, it is closed. */
void server_forget(struct server *server, struct client *client);
void server_left(struct server *server, struct client *client);

#endif

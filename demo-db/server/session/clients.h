/* SPDX-License-Identifier: Apache-2.0 */
/* clients.h - the list of a server's clients: who there is, who is cancelled, who is to leave. */
#ifndef DEMO_DB_CLIENTS_H
#define DEMO_DB_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CLIENTS_STARTING_MAX 64 /* beyond the sessions: in start-up, or with a cancel request */

struct backend;
struct client;
struct db_session;
struct services;

struct clients {
	pthread_mutex_t lock; /* of all here */
	pthread_cond_t left;  /* a client was freed */
	struct client *first;
	uint32_t count, sessions, next_process;
	bool draining, force;
};

void clients_init(struct clients *clients);
void clients_destroy(struct clients *clients);

/* A new client on an accepted socket is served from here on. -1: turn it away. */
int clients_welcome(struct services *services, int fd, bool trusted, const char *address);
/* A client becomes a session. False: too many. The reserved ones are for whoever comes to help: roles
 * with `raise`, and the local socket. */
bool clients_admit_session(struct services *services, struct client *client);
/* From here on others may cancel what it does. */
void clients_open_session(
	struct clients *clients, struct client *client, struct db_session *session);
/* The client ends: nobody finds it from here on; later, it is closed. */
void clients_forget(struct clients *clients, struct client *client);
void clients_left(struct clients *clients, struct client *client);

/* A cancel request by key; false: no such session. */
bool clients_cancel_request(struct services *services, uint32_t process, uint32_t secret);
/* The same without a key, for those who may. */
bool clients_cancel_process(struct clients *clients, uint32_t process);
/* Ends its session, as PostgreSQL's pg_terminate_backend does; false: there is none. */
bool clients_end_process(struct clients *clients, uint32_t process);
/* Wakes every client, so that statements held back ask again. */
void clients_wake(struct clients *clients);
/* Has every client look at the clock. */
void clients_tick(struct clients *clients, uint64_t now_ns);
/* What visitors see as its program. */
void clients_show_program(struct clients *clients, struct backend *backend, const char *program);
/* Calls `visit` for each client, under the lock. */
void clients_visit(
	struct clients *clients, void (*visit)(void *arg, const struct client *client), void *arg);

/* No new clients are taken. */
bool clients_is_draining(struct clients *clients);
void clients_stop_welcoming(struct clients *clients);
/* Has idle clients leave, others when their transaction ends, all of them after `seconds`. Returns
 * when the last has left. */
void clients_drain(struct clients *clients, uint64_t seconds);
/* Another thread waits in clients_drain: ends what is left at once. */
void clients_force(struct clients *clients);

#endif

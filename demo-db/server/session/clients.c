/* SPDX-License-Identifier: Apache-2.0 */
/* clients.c - keeps the list of clients, and does what concerns one of them by its key, or all. */
#include "demo-db/server/session/clients.h"
#include "demo-db/server/net/listen.h"
#include "demo-db/server/session/client.h"
#include "demo-db/server/session/services.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_PROCESS 1000

void clients_init(struct clients *clients)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&clients->left, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&clients->lock, NULL);
}

void clients_destroy(struct clients *clients)
{
	pthread_cond_destroy(&clients->left);
	pthread_mutex_destroy(&clients->lock);
}

/* ---- Coming and going ------------------------------------------------------------------------ */

static void enlist(struct clients *clients, struct client *client)
{
	client->next = clients->first;
	if (clients->first)
		clients->first->previous = client;
	clients->first = client;
	clients->count++;
	client->backend.process =
		FIRST_PROCESS + clients->next_process++ % (UINT32_MAX - FIRST_PROCESS);
}

/* How many sessions there may be for this one still to come in. */
static uint64_t limit_for(
	const struct services *services, bool local, const struct config_role *role)
{
	bool helps = local || (role && role->raise);
	return services->config.connections + (helps ? services->config.reserved : 0);
}

int clients_welcome(struct services *services, int fd, bool trusted, const char *address)
{
	struct clients *clients = services->clients;
	uint64_t limit = limit_for(services, strcmp(address, LISTEN_LOCAL) == 0, NULL);
	pthread_mutex_lock(&clients->lock);
	bool full = clients->draining || clients->count >= limit + CLIENTS_STARTING_MAX;
	pthread_mutex_unlock(&clients->lock);
	struct client *client = full ? NULL : client_new(services, fd, trusted, address);
	if (!client)
		return -1;
	if (getrandom(&client->secret, sizeof client->secret, 0) != sizeof client->secret) {
		client_free(client);
		return -1;
	}
	pthread_mutex_lock(&clients->lock);
	enlist(clients, client);
	pthread_mutex_unlock(&clients->lock);
	atomic_fetch_add_explicit(&services->counters.accepted, 1, memory_order_relaxed);
	if (reactor_add(services->reactor, &client->source) == 0)
		return 0;
	clients_forget(clients, client);
	clients_left(clients, client);
	client_free(client);
	return -1;
}

bool clients_admit_session(struct services *services, struct client *client)
{
	struct clients *clients = services->clients;
	uint64_t limit = limit_for(services, client->local, client->backend.role);
	pthread_mutex_lock(&clients->lock);
	client->counted = !clients->draining && clients->sessions < limit;
	clients->sessions += client->counted;
	snprintf(client->shown_user, sizeof client->shown_user, "%s", client->backend.user);
	pthread_mutex_unlock(&clients->lock);
	if (!client->counted)
		atomic_fetch_add_explicit(&services->counters.refused, 1, memory_order_relaxed);
	return client->counted;
}

void clients_open_session(
	struct clients *clients, struct client *client, struct db_session *session)
{
	pthread_mutex_lock(&clients->lock);
	client->backend.db = session;
	pthread_mutex_unlock(&clients->lock);
}

void clients_forget(struct clients *clients, struct client *client)
{
	pthread_mutex_lock(&clients->lock);
	if (client->previous)
		client->previous->next = client->next;
	else
		clients->first = client->next;
	if (client->next)
		client->next->previous = client->previous;
	pthread_mutex_unlock(&clients->lock);
}

void clients_left(struct clients *clients, struct client *client)
{
	pthread_mutex_lock(&clients->lock);
	clients->count--;
	clients->sessions -= client->counted;
	client->counted = false;
	pthread_cond_broadcast(&clients->left);
	pthread_mutex_unlock(&clients->lock);
}

bool clients_cancel_request(struct services *services, uint32_t process, uint32_t secret)
{
	struct clients *clients = services->clients;
	bool found = false;
	atomic_fetch_add_explicit(&services->counters.cancel_requests, 1, memory_order_relaxed);
	pthread_mutex_lock(&clients->lock);
	for (struct client *c = clients->first; c && !found; c = c->next) {
		found = c->backend.process == process && c->secret == secret;
		if (found)
			backend_cancel(&c->backend, false);
	}
	pthread_mutex_unlock(&clients->lock);
	return found;
}

bool clients_cancel_process(struct clients *clients, uint32_t process)
{
	bool found = false;
	pthread_mutex_lock(&clients->lock);
	for (struct client *c = clients->first; c && !found; c = c->next) {
		found = c->backend.process == process;
		if (found)
			backend_cancel(&c->backend, false);
	}
	pthread_mutex_unlock(&clients->lock);
	return found;
}

bool clients_end_process(struct clients *clients, uint32_t process)
{
	bool found = false;
	pthread_mutex_lock(&clients->lock);
	for (struct client *c = clients->first; c && !found; c = c->next) {
		found = c->backend.process == process;
		if (found) {
			backend_close(&c->backend, CLOSE_SHUTDOWN_NOW);
			backend_cancel(&c->backend, false);
		}
	}
	pthread_mutex_unlock(&clients->lock);
	return found;
}

void clients_show_program(struct clients *clients, struct backend *backend, const char *program)
{
	pthread_mutex_lock(&clients->lock);
	snprintf(backend->shown_program, sizeof backend->shown_program, "%s", program);
	pthread_mutex_unlock(&clients->lock);
}

bool clients_is_draining(struct clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	bool draining = clients->draining;
	pthread_mutex_unlock(&clients->lock);
	return draining;
}

void clients_wake(struct clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	for (struct client *c = clients->first; c; c = c->next)
		reactor_kick(c->backend.services->reactor, &c->source);
	pthread_mutex_unlock(&clients->lock);
}

void clients_tick(struct clients *clients, uint64_t now_ns)
{
	pthread_mutex_lock(&clients->lock);
	for (struct client *c = clients->first; c; c = c->next)
		client_tick(c, now_ns);
	pthread_mutex_unlock(&clients->lock);
}

void clients_visit(
	struct clients *clients, void (*visit)(void *arg, const struct client *client), void *arg)
{
	pthread_mutex_lock(&clients->lock);
	for (const struct client *c = clients->first; c; c = c->next)
		visit(arg, c);
	pthread_mutex_unlock(&clients->lock);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Under the lock. */
static void close_all(struct clients *clients, enum close_reason why)
{
	for (struct client *c = clients->first; c; c = c->next) {
		backend_close(&c->backend, why);
		if (why == CLOSE_SHUTDOWN_NOW)
			backend_cancel(&c->backend, false);
	}
}

/* Under the lock: until no client is left, somebody forces it, or the time is over. */
static void wait_for_clients(struct clients *clients, uint64_t seconds)
{
	struct timespec until;
	int status = 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	while (clients->count && !clients->force && status == 0)
		status = pthread_cond_timedwait(&clients->left, &clients->lock, &until);
}

void clients_stop_welcoming(struct clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	clients->draining = true;
	pthread_mutex_unlock(&clients->lock);
}

void clients_drain(struct clients *clients, uint64_t seconds)
{
	pthread_mutex_lock(&clients->lock);
	close_all(clients, CLOSE_SHUTDOWN);
	wait_for_clients(clients, seconds);
	while (clients->count) {
		close_all(clients, CLOSE_SHUTDOWN_NOW);
		clients->force = false;
		wait_for_clients(clients, 1);
	}
	pthread_mutex_unlock(&clients->lock);
}

void clients_force(struct clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	clients->force = true;
	pthread_cond_broadcast(&clients->left);
	pthread_mutex_unlock(&clients->lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - the sockets a server listens on. */
#ifndef DEMO_DB_LISTEN_H
#define DEMO_DB_LISTEN_H

#include "demo-db/server/server.h"

/* Opens the Unix socket and the TCP address of the configuration. 0, or -1 with `message`. */
int listen_open(struct server *server, char message[CONFIG_MESSAGE_MAX]);
/* Closes what is open and removes the socket's file; only while no reactor serves them. */
void listen_close(struct server *server);
/* Accepts whoever waits. */
enum reactor_answer listen_serve(struct listener *listener);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_client.h - for black-box tests of the server: starts the real binary on a temporary folder,
 * and speaks the protocol byte by byte, with everything a client should not do.
 *
 * What the server says comes back as one line, a message a word:
 *
 *	T(a:20,b:25) D(1,x) D(2,~) C(SELECT 2) E(42P01) N(25P01) Z(I)  1 2 3 n s I t(23)
 *
 * with R (authentication), S (parameter status) and K left out. Every wait ends (patience.h).
 */
#ifndef TESTS_WIRE_CLIENT_H
#define TESTS_WIRE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wire_server {
	pid_t pid;
	int errors; /* its standard error */
	char dir[64];
	uint64_t file_limit_bytes; /* no file of the server grows beyond; 0: no limit */
	uint16_t port;
	char said[2048]; /* the last it said on standard error */
};

/* Options after the folder and the port, NULL at the end. The socket is in `dir`; without --listen
 * there is no TCP; the admission gate is off, because on a slow machine it would refuse what a test
 * asks. The server is ready on return; fails the test otherwise. */
void wire_server_start(struct wire_server *server, const char *const *options);
/* Again on the same folder. */
void wire_server_restart(struct wire_server *server, const char *const *options);
/* SIGTERM; returns its exit status. The folder is kept. */
int wire_server_stop(struct wire_server *server);
void wire_server_kill(struct wire_server *server);
void wire_server_clean(struct wire_server *server); /* removes the folder */
/* Runs the binary with these arguments, NULL at the end; its status; output in `said`. */
int wire_run(const char *const *arguments, const char *input, char *said, size_t bytes);
uint16_t wire_free_port(void);

struct wire_client {
	int fd;
	uint8_t *in;
	size_t in_bytes, in_room;
	uint8_t out[65536];
	size_t out_bytes;
	char *said;
	size_t said_bytes, said_room;
	uint32_t process, secret;
	char last_error[512], last_detail[256], last_hint[256];
	int last_position;
	char level[32]; /* the last cancel.level told */
	uint64_t rows;
};

void wire_open(struct wire_client *client, const struct wire_server *server);
void wire_open_tcp(struct wire_client *client, uint16_t port);
/* A session of `user`: startup and everything up to the first Z. */
void wire_login(struct wire_client *client, const struct wire_server *server, const char *user);
void wire_startup(struct wire_client *client, const char *const *pairs);
void wire_close(struct wire_client *client);

/* Appends a message; nothing is sent before wire_talk or wire_flush. */
void wire_message(struct wire_client *client, char type, const void *body, size_t bytes);
void wire_raw(struct wire_client *client, const void *data, size_t bytes);
void wire_flush(struct wire_client *client);
void wire_parse(struct wire_client *client, const char *name, const char *sql);
void wire_bind(struct wire_client *client, const char *portal, const char *statement,
	const char *const *values, uint16_t count, int result_format);
void wire_describe(struct wire_client *client, char target, const char *name);
void wire_execute(struct wire_client *client, const char *portal, uint32_t rows);
void wire_close_named(struct wire_client *client, char target, const char *name);
void wire_sync(struct wire_client *client);

/* Sends what waits and reads up to Z, or to the end of the connection ("EOF"). */
const char *wire_talk(struct wire_client *client);
/* Reads up to a message of this type. */
const char *wire_until(struct wire_client *client, char type);
const char *wire_query(struct wire_client *client, const char *sql);
void wire_send_query(struct wire_client *client, const char *sql); /* without waiting */
/* A CancelRequest on a connection of its own; returns when the server has closed it. */
void wire_cancel(const struct wire_server *server, uint32_t process, uint32_t secret);

#endif

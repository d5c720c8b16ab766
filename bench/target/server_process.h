/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_process.h - a `demo-db serve` of the bench's own: started beside it on a Unix socket in a
 * temporary folder, and gone with it.
 */
#ifndef BENCH_SERVER_PROCESS_H
#define BENCH_SERVER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SERVER_ERROR_MAX     256
#define SERVER_PATH_MAX	     256
#define SERVER_SETTINGS_MAX  32
#define SERVER_SETTING_BYTES 96
#define SERVER_PORT	     5433 /* only the socket's suffix: nothing listens on TCP */

/* What `--set` takes: SECTION.NAME=VALUE. */
struct server_settings {
	char list[SERVER_SETTINGS_MAX][SERVER_SETTING_BYTES];
	uint32_t count;
};
void server_set(struct server_settings *settings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct server_process {
	pid_t pid;
	int said;			  /* its standard error */
	char socket_dir[SERVER_PATH_MAX]; /* made by server_process_start, removed by _stop */
};

/* The folder for temporary data of this process: made on first use, removed at exit. NULL with a
 * line in `error`. */
const char *server_scratch(char error[SERVER_ERROR_MAX]);

/* Serves `data_dir`; it is ready on return. The server ends when this process does, whatever ends
 * it. 0, or -1 with a line in `error`. */
int server_process_start(struct server_process *server, const char *data_dir,
	const struct server_settings *settings, char error[SERVER_ERROR_MAX])
	__attribute__((warn_unused_result));
/* Takes what it says, so that it never blocks on a full pipe. False: it has ended. */
bool server_process_listen(struct server_process *server);
/* Ends it at once: what is asked of it then is lost. */
void server_process_stop(struct server_process *server);
/* User and system time it has used. 0: unknown. */
uint64_t server_process_cpu_ns(const struct server_process *server);

#endif

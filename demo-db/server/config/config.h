/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - what an operator can say about the server: one table of settings, a file, users and
 * roles.
 *
 * The file is INI (lines of at most 200 bytes):
 *
 *	[server]     the settings of config_table below that are not listed elsewhere
 *	[output]  [admission]  [memory]  [metrics]      the others, by section
 *	[cancel]     options of libcancel by name: mode, policy, slo_ms, contention_ppm …
 *	[users]      name = SCRAM-SHA-256 verifier (demo-db password NAME prints the line)
 *	[roles]      name = business priority [raise]   system, write, read, analytical or auto;
 *	             "raise": may set cancel.priority above it
 *	[programs]   application_name = business priority
 *
 * A line that makes no sense is an error with its number: nothing is guessed.
 */
#ifndef DEMO_DB_CONFIG_H
#define DEMO_DB_CONFIG_H

#include "demo-db/server/dialect/priority.h"
#include "demo-db/server/net/scram.h"

#include <stdint.h>
#include <stdio.h>

#define CONFIG_NAME_MAX	   64 /* bytes of a user's or program's name, terminator included */
#define CONFIG_TEXT_MAX	   256
#define CONFIG_LISTS_MAX   64 /* users, roles, programs, cancel options: of each */
#define CONFIG_MESSAGE_MAX 640

struct config_user {
	char name[CONFIG_NAME_MAX];
	struct scram_verifier verifier;
};

struct config_role { /* also a program: then `raise` is false */
	char name[CONFIG_NAME_MAX];
	enum priority priority;
	bool raise;
};

struct config_option {
	char name[CONFIG_NAME_MAX], value[CONFIG_TEXT_MAX];
};

/* section, name, kind, default, least, most, what it is. Kinds: COUNT and SWITCH are uint64_t,
 * TEXT is char[CONFIG_TEXT_MAX]. Units are in the names. */
#define CONFIG(X)                                                                                  \
	X(server, listen, TEXT, "127.0.0.1", 0, 0, "address to listen on; none: socket only")      \
	X(server, port, COUNT, 5433, 1, 65535, "TCP port, and the socket's suffix")                \
	X(server, socket_dir, TEXT, "", 0, 0, "folder of .s.PGSQL.PORT; empty: the data folder")   \
	X(server, trust_local, SWITCH, 1, 0, 1, "no passwords over the socket and loopback")       \
	X(server, workers, COUNT, 8, 1, 1024, "statements that run at once")                       \
	X(server, queue, COUNT, 1024, 1, 1000000, "statements that may wait for a worker")         \
	X(server, pool_mb, COUNT, 64, 1, 1048576, "page pool")                                     \
	X(server, connections, COUNT, 256, 1, 16384, "sessions at once")                           \
	X(server, reserved, COUNT, 3, 0, 1024,                                                     \
		"more sessions, for roles with raise and the local socket")                        \
	X(server, startup_timeout_s, COUNT, 60, 1, 3600, "for start-up and password")              \
	X(server, idle_timeout_s, COUNT, 0, 0, 2000000, "idle session, 0 none")                    \
	X(server, idle_transaction_timeout_s, COUNT, 0, 0, 2000000,                                \
		"idle in a transaction, 0 none")                                                   \
	X(server, statement_timeout_ms, COUNT, 0, 0, 86400000, "longest statement, 0 none")        \
	X(server, lock_timeout_ms, COUNT, 60000, 1, 86400000, "longest wait for one lock")         \
	X(server, drain_s, COUNT, 10, 0, 3600, "at SIGTERM, for transactions to end")              \
	X(server, sync_commits, SWITCH, 0, 0, 1, "fsync at each commit: survive a power cut")      \
	X(server, wal_limit_mb, COUNT, 8, 1, 65536, "the log is kept below this")                  \
	X(server, service_ms, COUNT, 0, 0, 10000,                                                  \
		"a fixed service time: each SELECT keeps its worker so long")                      \
	X(server, judge_sessions, SWITCH, 0, 0, 1, "a task is a session: short statements add up") \
	X(output, soft_kb, COUNT, 1024, 64, 1048576, "unread results before the statement waits")  \
	X(output, soft_s, COUNT, 30, 1, 86400, "… and so long before the client is disconnected")  \
	X(output, hard_mb, COUNT, 64, 1, 65536, "unread results before it is at once")             \
	X(output, portal_kb, COUNT, 16384, 64, 1048576, "rows a session's portals keep")           \
	X(admission, gate, SWITCH, 1, 0, 1, "DAGOR's gate in front of the workers")                \
	X(admission, threshold_ms, COUNT, 20, 1, 60000, "mean queuing time of an overload")        \
	X(admission, window_ms, COUNT, 1000, 10, 60000, "longest window")                          \
	X(admission, window_requests, COUNT, 2000, 10, 1000000, "statements that end one early")   \
	X(admission, spare_victims, SWITCH, 1, 0, 1, "shed nothing while a culprit is cancelled")  \
	X(admission, busy_ms, COUNT, 5000, 1, 3600000, "maintenance so long: BUSY for the others") \
	X(memory, statement_mb, COUNT, 16, 1, 65536, "largest grant to one statement")             \
	X(memory, budget_mb, COUNT, 128, 1, 1048576, "of all statements' grants together")         \
	X(memory, cancel_outgrown, SWITCH, 1, 0, 1, "cancel what takes four times its grant")      \
	X(memory, io_tokens, SWITCH, 1, 0, 1,                                                      \
		"let writes of the lowest priority wait for the log")                              \
	X(metrics, metrics_port, COUNT, 0, 0, 65535, "of http://127.0.0.1/metrics, 0 none")

enum config_kind { CONFIG_COUNT, CONFIG_SWITCH, CONFIG_TEXT };

#define CONFIG_TYPE_COUNT(name)	 uint64_t name
#define CONFIG_TYPE_SWITCH(name) uint64_t name
#define CONFIG_TYPE_TEXT(name)	 char name[CONFIG_TEXT_MAX]

struct config {
#define X(section, name, kind, value, least, most, what) CONFIG_TYPE_##kind(name);
	CONFIG(X)
#undef X
	char data_dir[CONFIG_TEXT_MAX];
	struct config_user users[CONFIG_LISTS_MAX];
	struct config_role roles[CONFIG_LISTS_MAX], programs[CONFIG_LISTS_MAX];
	struct config_option cancel[CONFIG_LISTS_MAX];
	uint32_t user_count, role_count, program_count, cancel_count;
};

void config_init(struct config *config);
/* One setting by section and name. 0, or -1 with one line in `message`. */
int config_set(struct config *config, const char *section, const char *name, const char *value,
	char message[CONFIG_MESSAGE_MAX]);
/* A file of them. 0, or -1 with "FILE:LINE: …". */
int config_read(struct config *config, const char *path, char message[CONFIG_MESSAGE_MAX]);
/* What fits together: an outside address needs users. 0 or -1. */
int config_check(const struct config *config, char message[CONFIG_MESSAGE_MAX]);
/* Does `listen` name an address other machines can reach? */
bool config_is_open(const struct config *config);

const struct config_user *config_find_user(const struct config *config, const char *name);
const struct config_role *config_find_role(const struct config *config, const char *name);
const struct config_role *config_find_program(const struct config *config, const char *name);

/* Setting `index`: section, name and text of its value; false past the end. */
bool config_show(const struct config *config, uint32_t index, const char **section,
	const char **name, char value[CONFIG_TEXT_MAX], const char **what);

#endif

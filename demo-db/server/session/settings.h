/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what SET, SHOW and RESET speak about: one session's run-time parameters.
 *
 * Values follow PostgreSQL's rules: SET inside a block is undone when the block rolls back, SET
 * LOCAL ends with the block, a parameter with a dot that nobody defined is the client's own.
 * One session, one caller. Nothing here acts; who needs a value asks for it.
 */
#ifndef DEMO_DB_SETTINGS_H
#define DEMO_DB_SETTINGS_H

#include "demo-db/server/net/protocol.h"

#define SETTINGS_CUSTOM_MAX 32	/* parameters of the client's own naming */
#define SETTINGS_VALUE_MAX  256 /* bytes, terminator included */

/* name, default, kind, flags, least, most (or the words allowed), what it is */
#define SETTINGS(X)                                                                                \
	X(application_name, "", TEXT, REPORT, 0, 0, NULL, "name of the client's program")          \
	X(bytea_output, "hex", WORD, 0, 0, 0, "hex", "how bytea is written")                       \
	X(check_function_bodies, "on", BOOL, 0, 0, 0, NULL, "accepted, without effect")            \
	X(client_encoding, "UTF8", ENCODING, REPORT, 0, 0, NULL, "encoding of all text")           \
	X(client_min_messages, "notice", WORD, 0, 0, 0,                                            \
		"debug5 debug4 debug3 debug2 debug1 debug log notice warning error",               \
		"notices below this are not sent")                                                 \
	X(DateStyle, "ISO, MDY", STYLE, REPORT, 0, 0, "ISO", "how dates are written")              \
	X(default_table_access_method, "heap", TEXT, 0, 0, 0, NULL, "accepted, without effect")    \
	X(default_tablespace, "", TEXT, 0, 0, 0, NULL, "accepted, without effect")                 \
	X(default_transaction_deferrable, "off", BOOL, 0, 0, 0, NULL, "accepted, without effect")  \
	X(default_transaction_isolation, "read committed", WORDS, 0, 0, 0,                         \
		"read committed|read uncommitted|repeatable read|serializable",                    \
		"isolation of new transactions")                                                   \
	X(default_transaction_read_only, "off", BOOL, REPORT, 0, 0, NULL,                          \
		"new transactions only read")                                                      \
	X(escape_string_warning, "on", BOOL, 0, 0, 0, NULL, "accepted, without effect")            \
	X(extra_float_digits, "1", INTEGER, 0, -15, 3, NULL,                                       \
		"accepted; floats are written with the digits they need")                          \
	X(idle_in_transaction_session_timeout, "0", TIME, 0, 0, INT32_MAX, NULL,                   \
		"longest idle time inside a transaction, 0 none")                                  \
	X(idle_session_timeout, "0", TIME, 0, 0, INT32_MAX, NULL,                                  \
		"longest idle time outside a transaction, 0 none")                                 \
	X(in_hot_standby, "off", BOOL, REPORT | FIXED, 0, 0, NULL, "always off")                   \
	X(integer_datetimes, "on", BOOL, REPORT | FIXED, 0, 0, NULL, "always on")                  \
	X(IntervalStyle, "postgres", TEXT, REPORT, 0, 0, NULL, "accepted, without effect")         \
	X(is_superuser, "off", BOOL, REPORT | FIXED, 0, 0, NULL, "may the role act as system")     \
	X(jit, "off", BOOL, 0, 0, 0, NULL, "accepted, without effect")                             \
	X(lc_messages, "C", TEXT, 0, 0, 0, NULL, "accepted, without effect")                       \
	X(lock_timeout, "0", TIME, 0, 0, INT32_MAX, NULL, "longest wait for one lock, 0 none")     \
	X(max_identifier_length, "63", INTEGER, FIXED, 0, 0, NULL, "as PostgreSQL's")              \
	X(row_security, "on", BOOL, 0, 0, 0, NULL, "accepted, without effect")                     \
	X(search_path, "public", TEXT, 0, 0, 0, NULL, "accepted; there is one schema")             \
	X(server_encoding, "UTF8", TEXT, REPORT | FIXED, 0, 0, NULL, "encoding of the database")   \
	X(server_version, "15.0", TEXT, REPORT | FIXED, 0, 0, NULL, "PostgreSQL's it speaks like") \
	X(server_version_num, "150000", INTEGER, FIXED, 0, 0, NULL, "the same as a number")        \
	X(session_authorization, "", TEXT, REPORT | FIXED, 0, 0, NULL, "the session's user")       \
	X(standard_conforming_strings, "on", BOOL, REPORT | FIXED, 0, 0, NULL, "always on")        \
	X(statement_timeout, "0", TIME, 0, 0, INT32_MAX, NULL,                                     \
		"longest run of a statement, 0 none")                                              \
	X(synchronous_commit, "on", TEXT, 0, 0, 0, NULL, "accepted, without effect")               \
	X(TimeZone, "UTC", TEXT, REPORT, 0, 0, NULL, "accepted; times are in UTC")                 \
	X(transaction_deferrable, "off", BOOL, FIXED, 0, 0, NULL, "always off")                    \
	X(transaction_isolation, "read committed", TEXT, FIXED, 0, 0, NULL,                        \
		"isolation of this transaction")                                                   \
	X(transaction_read_only, "off", BOOL, FIXED, 0, 0, NULL,                                   \
		"does this transaction only read")                                                 \
	X(work_mem, "4MB", TEXT, 0, 0, 0, NULL, "accepted, without effect")                        \
	X(xmloption, "content", TEXT, 0, 0, 0, NULL, "accepted, without effect")                   \
	X(cancel_priority, "auto", WORD, 0, 0, 0, "auto system write read analytical",             \
		"business priority of this session's statements")                                  \
	X(cancel_user, "", TEXT, 0, 0, 0, NULL,                                                    \
		"whose request this is, for the gate, said by a role with raise; empty: the "      \
		"role's")                                                                          \
	X(cancel_level, "", TEXT, REPORT | FIXED, 0, 0, NULL,                                      \
		"admission level: cursor/levels serial; empty: everything is admitted")

enum setting {
#define X(name, value, kind, flags, least, most, words, what) SETTING_##name,
	SETTINGS(X)
#undef X
		SETTING_COUNT
};

struct settings_error {
	const char *sqlstate;
	char message[256], hint[192];
};

struct setting_value { /* an owned text; NULL: the session's starting value */
	char *text;
};

struct custom_setting {
	char *name, *text;
};

struct settings_values {
	struct setting_value known[SETTING_COUNT];
	struct custom_setting custom[SETTINGS_CUSTOM_MAX];
	uint32_t custom_count;
};

struct settings {
	struct settings_values start; /* what RESET goes back to */
	struct settings_values now;
	struct settings_values *before; /* the block began with these; NULL: no SET in it */
	uint64_t local;			/* bit of each setting set by SET LOCAL */
	char *reported[SETTING_COUNT];	/* what the client was told last */
	bool changed;			/* since the last report */
	uint32_t version;		/* grows with every change */
};

void settings_init(struct settings *settings);
void settings_free(struct settings *settings);

/* A starting value: server, role or startup packet. 0 or -1 with `error`. */
int settings_start(struct settings *settings, const char *name, const char *value,
	struct settings_error *error);
/* The server's own word, on a fixed setting too: what the session starts with. */
void settings_tell(struct settings *settings, enum setting setting, const char *value);

/* The name as the server writes it: TimeZone, DateStyle; `name` if there is no such setting. */
const char *settings_spelling(const char *name);
/* SET and RESET (value NULL). `in_block`: inside a transaction block. 0 or -1 with `error`. */
int settings_set(struct settings *settings, const char *name, const char *value, bool local,
	bool in_block, struct settings_error *error);
void settings_reset_all(struct settings *settings, bool in_block);
void settings_end_block(struct settings *settings, bool committed);

/* NULL and `error`: there is no such setting. */
const char *settings_show(
	const struct settings *settings, const char *name, struct settings_error *error);
const char *settings_get(const struct settings *settings, enum setting setting);
uint64_t settings_ms(const struct settings *settings, enum setting setting);
bool settings_on(const struct settings *settings, enum setting setting);
/* The name as SHOW prints it, and what the setting is. */
const char *setting_name(enum setting setting);
const char *setting_text(enum setting setting);

/* ParameterStatus for whatever differs from what the client was told. */
void settings_report(struct settings *settings, struct wire_out *out);

#endif

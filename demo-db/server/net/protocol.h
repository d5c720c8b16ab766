/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h - the PostgreSQL frontend/backend protocol, version 3, as bytes and structs.
 *
 * Decoding is incremental and copies nothing: a decoded message points into the caller's buffer and
 * lives until that buffer changes. Encoding appends to a growing buffer. Neither knows a socket, a
 * session or the engine. Not thread-safe: one connection, one caller.
 *
 * Source: PostgreSQL documentation, chapters "Message Flow" and "Message Formats".
 */
#ifndef DEMO_DB_PROTOCOL_H
#define DEMO_DB_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_STARTUP_MAX_BYTES 10000	  /* what PostgreSQL allows before authentication */
#define WIRE_MESSAGE_MAX_BYTES (64 << 20) /* one message of a client, length word included */

/* ---- From the client ------------------------------------------------------------------------- */

enum wire_kind {
	WIRE_STARTUP = 1, /* untyped messages, before the session begins */
	WIRE_SSL_REQUEST,
	WIRE_GSS_REQUEST,
	WIRE_CANCEL_REQUEST,
	WIRE_BIND = 'B', /* typed messages keep their letter */
	WIRE_CLOSE = 'C',
	WIRE_DESCRIBE = 'D',
	WIRE_EXECUTE = 'E',
	WIRE_FUNCTION_CALL = 'F',
	WIRE_FLUSH = 'H',
	WIRE_PARSE = 'P',
	WIRE_QUERY = 'Q',
	WIRE_SYNC = 'S',
	WIRE_TERMINATE = 'X',
	WIRE_COPY_DONE = 'c',
	WIRE_COPY_DATA = 'd',
	WIRE_COPY_FAIL = 'f',
	WIRE_PASSWORD = 'p', /* also SASL responses */
};

struct wire_bytes {
	const uint8_t *data; /* NULL with length -1: SQL NULL */
	int32_t length;
};

/* An array of big-endian words inside a message. */
struct wire_words {
	const uint8_t *data;
	uint16_t count;
};
uint16_t wire_word16(struct wire_words words, uint16_t index);
uint32_t wire_word32(struct wire_words words, uint16_t index);

struct wire_message {
	enum wire_kind kind;
	union {
		struct { /* WIRE_STARTUP: name, value, name, value …, each NUL-terminated */
			uint32_t protocol;
			const char *pairs;
			size_t bytes;
		} startup;
		struct { /* WIRE_CANCEL_REQUEST */
			uint32_t process, secret;
		} cancel;
		struct { /* WIRE_QUERY */
			const char *sql;
		} query;
		struct {
			const char *name, *sql;
			struct wire_words types; /* 32-bit */
		} parse;
		struct {
			const char *portal, *statement;
			struct wire_words formats; /* 16-bit; none: text; one: for all */
			const uint8_t *values;	   /* walk with wire_next_value */
			uint16_t value_count;
			struct wire_words result_formats; /* 16-bit */
		} bind;
		struct { /* WIRE_DESCRIBE, WIRE_CLOSE: target is to be 'S' or 'P' */
			char target;
			const char *name;
		} named;
		struct {
			const char *portal;
			uint32_t max_rows; /* 0: all */
		} execute;
		struct { /* WIRE_PASSWORD and what is not looked into */
			const uint8_t *data;
			size_t bytes;
		} body;
	};
};

enum wire_status {
	WIRE_MORE,   /* not a whole message yet */
	WIRE_OK,     /* `message` is set, `used` bytes are consumed */
	WIRE_BROKEN, /* a protocol violation: answer 08P01 and disconnect */
};

/* Decodes one message from the front of `data`. Before the session begins `startup` is true and
 * messages carry no type. `error` is one line when broken. O(message). */
enum wire_status wire_decode(const uint8_t *data, size_t bytes, bool startup,
	struct wire_message *message, size_t *used, const char **error);

/* The next value of a Bind; `cursor` starts at bind.values. */
struct wire_bytes wire_next_value(const uint8_t **cursor);
/* The value of a startup parameter, NULL if absent. */
const char *wire_startup_value(const struct wire_message *startup, const char *name);
/* Well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF)? */
bool wire_utf8_valid(const char *text, size_t bytes);
/* What PostgreSQL says of one that is not: the bytes at which it stops. */
#define WIRE_UTF8_ERROR_MAX 80
void wire_utf8_error(const char *text, size_t bytes, char message[WIRE_UTF8_ERROR_MAX]);

/* ---- To the client --------------------------------------------------------------------------- */

struct wire_out { /* zero = empty */
	uint8_t *data;
	size_t bytes, capacity;
	size_t message_at; /* where the open message's length word is */
	bool failed;	   /* an allocation failed: the connection must end */
	bool latin1;	   /* texts are put in LATIN1, with ? for what it lacks */
};
void wire_out_free(struct wire_out *out);
void wire_out_consume(struct wire_out *out, size_t bytes);

void wire_begin(struct wire_out *out, char type);
void wire_end(struct wire_out *out);
void wire_put_bytes(struct wire_out *out, const void *data, size_t bytes);
void wire_put_text(struct wire_out *out, const char *text); /* with its NUL */
void wire_put8(struct wire_out *out, uint8_t value);
void wire_put16(struct wire_out *out, uint16_t value);
void wire_put32(struct wire_out *out, uint32_t value);
void wire_put64(struct wire_out *out, uint64_t value);

struct wire_report {
	const char *severity; /* ERROR, FATAL; WARNING, NOTICE … */
	const char *sqlstate;
	const char *message;
	const char *detail, *hint; /* NULL: none */
	int position;		   /* characters from 1; 0: none */
};
void wire_error(struct wire_out *out, const struct wire_report *error);
void wire_notice(struct wire_out *out, const struct wire_report *notice);
void wire_parameter_status(struct wire_out *out, const char *name, const char *value);
void wire_ready(struct wire_out *out, char transaction);
void wire_complete(struct wire_out *out, const char *tag);
void wire_empty(struct wire_out *out, char type); /* a message without a body */

struct wire_column {
	const char *name;
	uint32_t type; /* object id in pg_type */
	int16_t length;
	uint16_t format; /* 0 text, 1 binary */
	bool scaled;	 /* a numeric with so many digits behind the point: */
	uint8_t scale;
	uint32_t width;	  /* blanks make it so many characters; 0: as it is */
	int32_t modifier; /* 1 + atttypmod; 0: none */
};
void wire_row_description(struct wire_out *out, const struct wire_column *columns, uint16_t count);

#endif

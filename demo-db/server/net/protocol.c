/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the byte layout of the PostgreSQL protocol, both ways. Every read is bounds-checked against
 * the message, every count against what the message can hold.
 */
#include "demo-db/server/net/protocol.h"
#include "demo-db/server/net/encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_CANCEL 80877102u
#define CODE_SSL    80877103u
#define CODE_GSS    80877104u

/* ---- Reading --------------------------------------------------------------------------------- */

struct reader { /* one message's body; `bad` sticks */
	const uint8_t *at, *end;
	bool bad;
};

static const uint8_t *take(struct reader *r, size_t bytes)
{
	if (r->bad || (size_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return NULL;
	}
	const uint8_t *start = r->at;
	r->at += bytes;
	return start;
}

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint16_t take16(struct reader *r)
{
	const uint8_t *p = take(r, 2);
	return p ? load16(p) : 0;
}

static uint32_t take32(struct reader *r)
{
	const uint8_t *p = take(r, 4);
	return p ? load32(p) : 0;
}

static const char *take_text(struct reader *r)
{
	const uint8_t *nul = r->bad ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
	if (!nul) {
		r->bad = true;
		return "";
	}
	const char *text = (const char *)r->at;
	r->at = nul + 1;
	return text;
}

static struct wire_words take_words(struct reader *r, size_t word_bytes)
{
	uint16_t count = take16(r);
	const uint8_t *data = take(r, count * word_bytes);
	return (struct wire_words){ .data = data, .count = data ? count : 0 };
}

uint16_t wire_word16(struct wire_words words, uint16_t index)
{
	return load16(words.data + 2u * index);
}

uint32_t wire_word32(struct wire_words words, uint16_t index)
{
	return load32(words.data + 4u * index);
}

struct wire_bytes wire_next_value(const uint8_t **cursor)
{
	int32_t length = (int32_t)load32(*cursor);
	const uint8_t *data = *cursor + 4;
	if (length < 0) {
		*cursor = data;
		return (struct wire_bytes){ .length = -1 };
	}
	*cursor = data + length;
	return (struct wire_bytes){ .data = data, .length = length };
}

static void read_bind(struct reader *r, struct wire_message *m)
{
	m->bind.portal = take_text(r);
	m->bind.statement = take_text(r);
	m->bind.formats = take_words(r, 2);
	m->bind.value_count = take16(r);
	m->bind.values = r->at;
	for (uint32_t i = 0; i < m->bind.value_count && !r->bad; i++) {
		int32_t length = (int32_t)take32(r);
		if (length < -1)
			r->bad = true;
		else if (length > 0)
			take(r, (size_t)length);
	}
	m->bind.result_formats = take_words(r, 2);
}

static void read_named(struct reader *r, struct wire_message *m)
{
	const uint8_t *target = take(r, 1);
	m->named.target = target ? (char)*target : 0;
	m->named.name = take_text(r);
}

static void read_parse(struct reader *r, struct wire_message *m)
{
	m->parse.name = take_text(r);
	m->parse.sql = take_text(r);
	m->parse.types = take_words(r, 4);
}

static void read_opaque(struct reader *r, struct wire_message *m)
{
	m->body.data = r->at;
	m->body.bytes = (size_t)(r->end - r->at);
	r->at = r->end;
}

/* False for a type letter no client may send. */
static bool read_body(struct reader *r, struct wire_message *m)
{
	switch (m->kind) {
	case WIRE_QUERY:
		m->query.sql = take_text(r);
		return true;
	case WIRE_PARSE:
		read_parse(r, m);
		return true;
	case WIRE_BIND:
		read_bind(r, m);
		return true;
	case WIRE_DESCRIBE:
	case WIRE_CLOSE:
		read_named(r, m);
		return true;
	case WIRE_EXECUTE:
		m->execute.portal = take_text(r);
		m->execute.max_rows = take32(r);
		return true;
	case WIRE_SYNC:
	case WIRE_FLUSH:
	case WIRE_TERMINATE:
	case WIRE_COPY_DONE:
		return true;
	case WIRE_PASSWORD:
	case WIRE_COPY_DATA:
	case WIRE_COPY_FAIL:
	case WIRE_FUNCTION_CALL:
		read_opaque(r, m);
		return true;
	case WIRE_STARTUP:
	case WIRE_SSL_REQUEST:
	case WIRE_GSS_REQUEST:
	case WIRE_CANCEL_REQUEST:
		break;
	}
	return false;
}

static enum wire_status broken(const char **error, const char *why)
{
	*error = why;
	return WIRE_BROKEN;
}

/* Startup pairs must be texts, an even number of them, closed by an empty one. */
static bool pairs_valid(const char *pairs, size_t bytes)
{
	struct reader r = { .at = (const uint8_t *)pairs, .end = (const uint8_t *)pairs + bytes };
	while (!r.bad) {
		const char *name = take_text(&r);
		if (!r.bad && !*name)
			return r.at == r.end;
		take_text(&r);
	}
	return false;
}

static enum wire_status read_startup(struct reader *r, struct wire_message *m, const char **error)
{
	uint32_t code = take32(r);
	switch (code) {
	case CODE_SSL:
		m->kind = WIRE_SSL_REQUEST;
		return WIRE_OK;
	case CODE_GSS:
		m->kind = WIRE_GSS_REQUEST;
		return WIRE_OK;
	case CODE_CANCEL:
		m->kind = WIRE_CANCEL_REQUEST;
		m->cancel.process = take32(r);
		m->cancel.secret = take32(r);
		return r->bad ? broken(error, "invalid length of cancel request") : WIRE_OK;
	default:
		m->kind = WIRE_STARTUP;
		m->startup.protocol = code;
		m->startup.pairs = (const char *)r->at;
		m->startup.bytes = (size_t)(r->end - r->at);
		if (code >> 16 == 3 && !pairs_valid(m->startup.pairs, m->startup.bytes))
			return broken(error, "invalid startup packet layout");
		return WIRE_OK;
	}
}

static enum wire_status decode_startup(
	const uint8_t *data, size_t bytes, struct wire_message *m, size_t *used, const char **error)
{
	if (bytes < 4)
		return WIRE_MORE;
	uint32_t length = load32(data);
	if (length < 8 || length > WIRE_STARTUP_MAX_BYTES)
		return broken(error, "invalid length of startup packet");
	if (bytes < length)
		return WIRE_MORE;
	*used = length;
	struct reader r = { .at = data + 4, .end = data + length };
	return read_startup(&r, m, error);
}

enum wire_status wire_decode(const uint8_t *data, size_t bytes, bool startup,
	struct wire_message *message, size_t *used, const char **error)
{
	*message = (struct wire_message){ 0 };
	if (startup)
		return decode_startup(data, bytes, message, used, error);
	if (bytes < 5)
		return WIRE_MORE;
	uint32_t length = load32(data + 1);
	if (length < 4 || length > WIRE_MESSAGE_MAX_BYTES)
		return broken(error, "invalid message length");
	if (bytes < (size_t)length + 1)
		return WIRE_MORE;
	struct reader r = { .at = data + 5, .end = data + 1 + length };
	message->kind = (enum wire_kind)data[0];
	if (data[0] < 'A' || !read_body(&r, message))
		return broken(error, "invalid frontend message type");
	if (r.bad || r.at != r.end)
		return broken(error, "invalid message format");
	*used = (size_t)length + 1;
	return WIRE_OK;
}

const char *wire_startup_value(const struct wire_message *m, const char *name)
{
	for (const char *at = m->startup.pairs; *at;) {
		const char *value = at + strlen(at) + 1;
		if (strcmp(at, name) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

/* Bytes of the sequence that starts at `p`, 0 if it is malformed or cut off. */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
	static const struct {
		uint8_t mask, lead;
		uint32_t smallest;
	} form[] = { { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 } };
	for (size_t bytes = 1; bytes <= 4 && bytes <= left; bytes++) {
		if ((p[0] & form[bytes - 1].mask) != form[bytes - 1].lead)
			continue;
		uint32_t code = p[0] & (uint8_t)~form[bytes - 1].mask;
		for (size_t i = 1; i < bytes; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (p[i] & 0x3f);
		}
		bool surrogate = code >= 0xd800 && code <= 0xdfff;
		return code < form[bytes - 1].smallest || surrogate || code > 0x10ffff ? 0 : bytes;
	}
	return 0;
}

bool wire_utf8_valid(const char *text, size_t bytes)
{
	const uint8_t *p = (const uint8_t *)text;
	for (size_t at = 0; at < bytes;) {
		size_t step = utf8_sequence(p + at, bytes - at);
		if (step == 0)
			return false;
		at += step;
	}
	return true;
}

void wire_utf8_error(const char *text, size_t bytes, char message[WIRE_UTF8_ERROR_MAX])
{
	const uint8_t *p = (const uint8_t *)text, *end = p + bytes;
	for (size_t step; p < end && (step = utf8_sequence(p, (size_t)(end - p))) > 0;)
		p += step;
	int used = snprintf(
		message, WIRE_UTF8_ERROR_MAX, "invalid byte sequence for encoding \"UTF8\":");
	int told = p == end ? 0 : *p < 0xc0 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf8 ? 4 : 1;
	for (; told > 0 && p < end; told--, p++)
		used += snprintf(message + used, WIRE_UTF8_ERROR_MAX - (size_t)used, " 0x%02x", *p);
}

/* ---- Writing --------------------------------------------------------------------------------- */

void wire_out_free(struct wire_out *out)
{
	free(out->data);
	*out = (struct wire_out){ 0 };
}

void wire_out_consume(struct wire_out *out, size_t bytes)
{
	out->bytes -= bytes;
	memmove(out->data, out->data + bytes, out->bytes);
}

static uint8_t *grow(struct wire_out *out, size_t bytes)
{
	if (out->failed)
		return NULL;
	if (out->capacity - out->bytes < bytes) {
		size_t capacity = out->capacity ? out->capacity : 4096;
		while (capacity - out->bytes < bytes)
			capacity *= 2;
		uint8_t *data = realloc(out->data, capacity);
		if (!data) {
			out->failed = true;
			return NULL;
		}
		out->data = data;
		out->capacity = capacity;
	}
	uint8_t *at = out->data + out->bytes;
	out->bytes += bytes;
	return at;
}

static void store_be(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

static void put_be(struct wire_out *out, uint64_t value, unsigned bytes)
{
	uint8_t *at = grow(out, bytes);
	if (at)
		store_be(at, value, bytes);
}

void wire_put8(struct wire_out *out, uint8_t value)
{
	put_be(out, value, 1);
}

void wire_put16(struct wire_out *out, uint16_t value)
{
	put_be(out, value, 2);
}

void wire_put32(struct wire_out *out, uint32_t value)
{
	put_be(out, value, 4);
}

void wire_put64(struct wire_out *out, uint64_t value)
{
	put_be(out, value, 8);
}

void wire_put_bytes(struct wire_out *out, const void *data, size_t bytes)
{
	uint8_t *at = bytes ? grow(out, bytes) : NULL;
	if (at)
		memcpy(at, data, bytes);
}

void wire_put_text(struct wire_out *out, const char *text)
{
	size_t bytes = strlen(text) + 1, at = out->bytes;
	wire_put_bytes(out, text, bytes);
	if (!out->latin1 || out->failed)
		return;
	(void)encoding_to_latin1((char *)out->data + at, &bytes, NULL);
	out->bytes = at + bytes;
}

void wire_begin(struct wire_out *out, char type)
{
	wire_put8(out, (uint8_t)type);
	out->message_at = out->bytes;
	wire_put32(out, 0);
}

void wire_end(struct wire_out *out)
{
	if (!out->failed)
		store_be(out->data + out->message_at, out->bytes - out->message_at, 4);
}

void wire_empty(struct wire_out *out, char type)
{
	wire_begin(out, type);
	wire_end(out);
}

static void put_field(struct wire_out *out, char field, const char *text)
{
	if (!text)
		return;
	wire_put8(out, (uint8_t)field);
	wire_put_text(out, text);
}

static void put_decimal(struct wire_out *out, char field, int value)
{
	char text[12];
	size_t at = sizeof text - 1;
	text[at] = 0;
	for (unsigned left = (unsigned)value; left; left /= 10)
		text[--at] = (char)('0' + left % 10);
	put_field(out, field, text + at);
}

static void put_report(struct wire_out *out, char type, const struct wire_report *e)
{
	wire_begin(out, type);
	put_field(out, 'S', e->severity);
	put_field(out, 'V', e->severity);
	put_field(out, 'C', e->sqlstate);
	put_field(out, 'M', e->message);
	put_field(out, 'D', e->detail);
	put_field(out, 'H', e->hint);
	if (e->position > 0)
		put_decimal(out, 'P', e->position);
	wire_put8(out, 0);
	wire_end(out);
}

void wire_error(struct wire_out *out, const struct wire_report *error)
{
	put_report(out, 'E', error);
}

void wire_notice(struct wire_out *out, const struct wire_report *notice)
{
	put_report(out, 'N', notice);
}

void wire_parameter_status(struct wire_out *out, const char *name, const char *value)
{
	wire_begin(out, 'S');
	wire_put_text(out, name);
	wire_put_text(out, value);
	wire_end(out);
}

void wire_ready(struct wire_out *out, char transaction)
{
	wire_begin(out, 'Z');
	wire_put8(out, (uint8_t)transaction);
	wire_end(out);
}

void wire_complete(struct wire_out *out, const char *tag)
{
	wire_begin(out, 'C');
	wire_put_text(out, tag);
	wire_end(out);
}

void wire_row_description(struct wire_out *out, const struct wire_column *columns, uint16_t count)
{
	wire_begin(out, 'T');
	wire_put16(out, count);
	for (uint16_t i = 0; i < count; i++) {
		wire_put_text(out, columns[i].name);
		wire_put32(out, 0); /* no table */
		wire_put16(out, 0);
		wire_put32(out, columns[i].type);
		wire_put16(out, (uint16_t)columns[i].length);
		wire_put32(out, (uint32_t)(columns[i].modifier - 1));
		wire_put16(out, columns[i].format);
	}
	wire_end(out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns how a result reaches the client: descriptions, rows, tags, and what a portal with a row
 * limit keeps for the next Execute.
 *
 * A column's type is what the client was told (Describe), else what its definition or its form
 * says, else what the first row has. In the last case the description is written when the columns
 * are known, in case there is no row, and written again with the first one.
 */
#include "demo-db/server/session/rows.h"
#include "demo-db/server/session/query_text.h"
#include "demo-db/server/session/backend.h"
#include "demo-db/server/session/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROW_MAX_BYTES (1u << 30) /* as PostgreSQL's largest message */

void rows_begin(struct backend *backend, bool describe)
{
	struct query *q = &backend->query;
	q->describe = describe;
	backend->output.wire.latin1 = query_speaks_latin1(backend);
	q->guessed = false;
	q->column_count = 0;
	q->rows = 0;
	q->too_many_rows = false;
	q->bad_format = 0;
	q->misfit = 0;
	q->unencodable[0] = '\0';
	q->row_too_large = 0;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static bool reserve_columns(struct query *q, uint32_t count)
{
	if (count <= q->column_room)
		return true;
	struct wire_column *grown = realloc(q->columns, count * sizeof *grown);
	if (!grown)
		return false;
	q->columns = grown;
	q->column_room = count;
	return true;
}

static uint16_t format_of(const struct query *q, uint32_t column)
{
	if (q->format_count == 0)
		return 0;
	return q->formats[q->format_count == 1 ? 0 : column < q->format_count ? column : 0];
}

static enum pg_type type_of(const struct query *q, const struct db_row *row, uint32_t column)
{
	const struct statement *s = q->statement;
	if (s->is_described && column < s->described_count)
		return (enum pg_type)s->described[column].type;
	const char *declared = db_row_declared(row, column);
	if (column < s->dialect.column_count && s->dialect.column_types[column] != PG_UNKNOWN)
		return s->dialect.column_types[column];
	return declared && *declared ? value_pg_type(declared, DB_NULL) : PG_UNKNOWN;
}

/* False: some column's type only a value can tell. */
static bool fill_columns(struct query *q, const struct db_row *row, bool values)
{
	bool known = true;
	for (uint32_t i = 0; i < q->column_count; i++) {
		enum pg_type type = type_of(q, row, i);
		if (type == PG_UNKNOWN) {
			known = false;
			type = value_pg_type(NULL, values ? db_row_value(row, i).type : DB_NULL);
		}
		uint16_t format = format_of(q, i);
		if (format > 1)
			q->bad_format = format;
		const char *declared = db_row_declared(row, i);
		int scale = type == PG_NUMERIC ? value_scale(declared) : -1;
		q->columns[i] = (struct wire_column){ .name = db_row_name(row, i),
			.scaled = scale >= 0,
			.scale = (uint8_t)(scale < 0 ? 0 : scale),
			.width = type == PG_BPCHAR && declared ? value_width(declared) : 0,
			.modifier = value_pg_type(declared, DB_NULL) == type
					    ? value_modifier(declared)
					    : 0,
			.type = type,
			.length = value_pg_length(type),
			.format = value_has_binary(type) ? format : 0 };
	}
	return known;
}

/* A pinned service time: the statement keeps its worker so long, whatever the machine does. */
static void keep_worker(const struct backend *backend)
{
	uint64_t ms = backend->services->config.service_ms;
	if (ms && !backend->query.statement->kind.view) {
		struct timespec wait = { .tv_sec = (time_t)(ms / 1000),
			.tv_nsec = (long)(ms % 1000) * 1000000 };
		while (nanosleep(&wait, &wait) != 0)
			continue;
	}
}

int rows_on_columns(void *arg, const struct db_row *row)
{
	struct backend *backend = arg;
	struct query *q = &backend->query;
	uint32_t count = db_row_columns(row);
	keep_worker(backend);
	if (!reserve_columns(q, count))
		return 0; /* the first row ends the statement */
	q->column_count = count;
	q->guessed = !fill_columns(q, row, false);
	q->describe_due = false;
	if (q->describe) {
		q->described_at = backend->output.wire.bytes;
		wire_row_description(&backend->output.wire, q->columns, (uint16_t)count);
	}
	return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void describe_again(struct backend *backend, const struct db_row *row)
{
	struct query *q = &backend->query;
	fill_columns(q, row, true);
	q->guessed = false;
	if (!q->describe)
		return;
	backend->output.wire.bytes = q->described_at;
	wire_row_description(&backend->output.wire, q->columns, (uint16_t)q->column_count);
}

/* A row that alone would be over the hard limit is an error; that limit is for clients that do not
 * read. What they have not read yet is within the soft one. */
static size_t largest_row(const struct backend *backend)
{
	const struct cancel_output_limit *limit = &backend->output.limit;
	size_t most = limit->hard_bytes - limit->soft_bytes;
	if (most < limit->hard_bytes / 2)
		most = limit->hard_bytes / 2;
	return most < ROW_MAX_BYTES ? most : ROW_MAX_BYTES;
}

static bool is_text(uint32_t type)
{
	return type == PG_TEXT || type == PG_VARCHAR || type == PG_BPCHAR || type == PG_NAME ||
	       type == PG_JSON || type == PG_JSONB || type == PG_UNKNOWN_LITERAL;
}

/* The value that lies behind its length word at `at`, in LATIN1. Numbers and their like have the same
 * bytes in both. */
static void recode(
	struct query *q, struct wire_out *out, size_t at, const struct wire_column *column)
{
	const size_t head = sizeof(uint32_t);
	if (out->failed || out->bytes <= at + head ||
		(column->format == 1 && !is_text(column->type)))
		return;
	size_t bytes = out->bytes - at - head;
	if (!encoding_to_latin1((char *)out->data + at + head, &bytes, q->unencodable))
		return;
	out->bytes = at;
	wire_put32(out, (uint32_t)bytes);
	out->bytes += bytes;
}

static int encode(struct backend *backend, struct wire_out *out, const struct db_row *row)
{
	struct query *q = &backend->query;
	size_t before = out->bytes;
	wire_begin(out, 'D');
	wire_put16(out, (uint16_t)q->column_count);
	for (uint32_t i = 0; i < q->column_count && !q->misfit; i++) {
		struct db_value value = db_row_value(row, i);
		size_t at = out->bytes;
		if (value_fits(value, &q->columns[i]))
			value_write(out, value, &q->columns[i]);
		else
			q->misfit = i + 1;
		if (backend->output.wire.latin1)
			recode(q, out, at, &q->columns[i]);
	}
	wire_end(out);
	size_t bytes = out->bytes - before;
	bool sound = !out->failed && !q->misfit && !*q->unencodable;
	if (sound && bytes <= largest_row(backend))
		return 0;
	if (sound)
		q->row_too_large = bytes;
	out->bytes = before;
	return -1;
}

/* Beyond the row limit: kept for the next Execute. */
static int keep(struct backend *backend, const struct db_row *row)
{
	struct query *q = &backend->query;
	struct portal *portal = q->portal;
	size_t before = portal->rows.bytes;
	int status = encode(backend, &portal->rows, row);
	backend->prepared.kept_bytes += portal->rows.bytes - before;
	if (status)
		return -1;
	portal->rows_left++;
	q->too_many_rows = backend->prepared.kept_bytes > backend->services->config.portal_kb << 10;
	return q->too_many_rows;
}

int rows_on_row(void *arg, const struct db_row *row)
{
	struct backend *backend = arg;
	struct query *q = &backend->query;
	if (q->column_count != db_row_columns(row) || q->bad_format)
		return -1;
	if (q->guessed)
		describe_again(backend, row);
	if (q->row_limit && q->rows == q->row_limit)
		return keep(backend, row);
	if (encode(backend, &backend->output.wire, row))
		return -1;
	q->rows++;
	return !output_make_room(&backend->output, db_session_cancelled(backend->db));
}

/* ---- The end --------------------------------------------------------------------------------- */

static void make_tag(const struct query *q, char *tag, size_t bytes)
{
	const char *word = q->statement->dialect.tag[0] ? q->statement->dialect.tag : q->result.tag;
	unsigned long long rows = q->result.rows;
	if (strcmp(word, "SELECT") == 0)
		snprintf(tag, bytes, "SELECT %llu", rows);
	else if (strcmp(word, "INSERT") == 0)
		snprintf(tag, bytes, "INSERT 0 %lld", (long long)q->result.changes);
	else if (strcmp(word, "UPDATE") == 0 || strcmp(word, "DELETE") == 0)
		snprintf(tag, bytes, "%s %lld", word, (long long)q->result.changes);
	else
		snprintf(tag, bytes, "%s", word);
}

void rows_complete(struct backend *backend)
{
	struct query *q = &backend->query;
	struct wire_out *out = &backend->output.wire;
	char tag[64];
	if (q->describe_due)
		wire_empty(out, 'n');
	q->describe_due = false;
	make_tag(q, tag, sizeof tag);
	if (q->portal) {
		snprintf(q->portal->tag, sizeof q->portal->tag, "%s", tag);
		q->portal->started = true;
		q->portal->returns_rows = q->column_count > 0;
	}
	if (q->row_limit && q->rows == q->row_limit) /* whether there are more is not looked at */
		wire_empty(out, 's');
	else
		wire_complete(out, tag);
}

/* Of the rows of one Execute. Tags without a number stay as they are. */
static void count_in_tag(char *tag, size_t bytes, uint64_t rows)
{
	size_t word = strcspn(tag, "0123456789");
	if (tag[word])
		snprintf(tag + word, bytes - word, "%s%llu",
			strncmp(tag, "INSERT", 6) == 0 ? "0 " : "", (unsigned long long)rows);
}

void rows_keep(struct backend *backend, const char *tag, bool returns_rows)
{
	struct portal *portal = backend->query.portal;
	snprintf(portal->tag, sizeof portal->tag, "%s", tag);
	portal->started = true;
	portal->returns_rows = returns_rows;
	backend->prepared.kept_bytes += portal->rows.bytes;
}

static uint32_t load_length(const uint8_t *message)
{
	return (uint32_t)message[1] << 24 | (uint32_t)message[2] << 16 | (uint32_t)message[3] << 8 |
	       message[4];
}

void rows_continue(struct backend *backend)
{
	struct query *q = &backend->query;
	struct portal *portal = q->portal;
	struct wire_out *out = &backend->output.wire;
	uint64_t sent = 0;
	for (; portal->rows_left && (!q->row_limit || sent < q->row_limit); sent++) {
		const uint8_t *message = portal->rows.data + portal->rows_at;
		size_t bytes = load_length(message) + 1u;
		wire_put_bytes(out, message, bytes);
		portal->rows_at += bytes;
		portal->rows_left--;
	}
	if (!portal->rows_left)
		portal_drop_rows(&backend->prepared, portal);
	if (q->row_limit && sent == q->row_limit) {
		wire_empty(out, 's');
		return;
	}
	count_in_tag(portal->tag, sizeof portal->tag, sent);
	wire_complete(out, portal->tag);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the types of columns, and values in text and binary as clients are sent them. How they are
 * read is in values_read.c.
 */
#include "demo-db/server/types/values.h"
#include "demo-db/server/types/datetime.h"
#include "demo-db/server/types/values_binary.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCALE_MAX  100
#define UUID_BYTES 16

/* ---- Types ----------------------------------------------------------------------------------- */

static enum pg_type type_of_value(enum db_type actual)
{
	switch (actual) {
	case DB_INTEGER:
		return PG_INT8;
	case DB_REAL:
		return PG_FLOAT8;
	case DB_BLOB:
		return PG_BYTEA;
	case DB_TEXT:
	case DB_NULL:
		break;
	}
	return PG_TEXT;
}

enum pg_type value_pg_type(const char *declared, enum db_type actual)
{
	enum pg_type type = declared ? pg_type_declared(declared) : PG_UNKNOWN;
	return type == PG_UNKNOWN ? type_of_value(actual) : type;
}

int value_scale(const char *declared)
{
	int precision, scale = 0;
	const char *open = declared ? strchr(declared, '(') : NULL;
	if (!open || pg_type_declared(declared) != PG_NUMERIC ||
		sscanf(open, "(%9d ,%9d", &precision, &scale) < 1)
		return -1;
	return scale >= 0 && scale <= SCALE_MAX ? scale : -1;
}

int32_t value_modifier(const char *declared)
{
	enum pg_type type = declared ? pg_type_declared(declared) : PG_UNKNOWN;
	const char *open = declared ? strchr(declared, '(') : NULL;
	int first = 1, second = 0;
	int numbers = open ? sscanf(open, "(%9d ,%9d", &first, &second) : 0;
	if (type == PG_NUMERIC && numbers > 0 && first <= 1000 && second >= 0 && second <= 1000)
		return (first << 16 | second) + 5;
	if ((type == PG_VARCHAR && numbers > 0) || (type == PG_BPCHAR && value_width(declared)))
		return first + 5;
	return 0;
}

uint32_t value_width(const char *declared)
{
	unsigned width = strncasecmp(declared, "bpchar", 6) == 0 ? 0 : 1;
	const char *open = strchr(declared, '(');
	if (pg_type_declared(declared) != PG_BPCHAR)
		return 0;
	return open && sscanf(open, "(%9u", &width) != 1 ? 0 : width;
}

int16_t value_pg_length(enum pg_type type)
{
	const struct pg_type_row *row = pg_type_row(type);
	return row ? row->length : -1;
}

bool value_has_binary(enum pg_type type)
{
	const struct pg_type_row *row = pg_type_row(type);
	return row && row->binary;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_counted(struct wire_out *out, const void *data, size_t bytes)
{
	wire_put32(out, (uint32_t)bytes);
	wire_put_bytes(out, data, bytes);
}

static void write_integer_text(struct wire_out *out, int64_t value)
{
	char text[24];
	char *at = text + sizeof text;
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	write_counted(out, at, (size_t)(text + sizeof text - at));
}

/* The fewest digits that read back as the same number, as PostgreSQL prints them. */
void value_real_text(double value, char text[32])
{
	if (isnan(value) || isinf(value)) {
		strcpy(text, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, 32, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
}

static void write_real_text(struct wire_out *out, double value)
{
	char text[32];
	value_real_text(value, text);
	write_counted(out, text, strlen(text));
}

/* As short as it can be read back; PostgreSQL has an exponent from the seventh digit on. */
static void write_float4_text(struct wire_out *out, double wide)
{
	float value = (float)wide;
	char text[32];
	int digits = 0;
	if (!isfinite(value)) {
		write_real_text(out, wide);
		return;
	}
	do
		snprintf(text, sizeof text, "%.*e", digits, (double)value);
	while (strtof(text, NULL) != value && ++digits < 9);
	int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	if (exponent >= -4 && exponent < 6)
		snprintf(text, sizeof text, "%.*f", digits > exponent ? digits - exponent : 0,
			(double)value);
	write_counted(out, text, strlen(text));
}

static void write_bytea_text(struct wire_out *out, const uint8_t *data, uint32_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	wire_put32(out, 2 + 2 * bytes);
	wire_put_bytes(out, "\\x", 2);
	for (uint32_t i = 0; i < bytes; i++) {
		wire_put8(out, (uint8_t)digits[data[i] >> 4]);
		wire_put8(out, (uint8_t)digits[data[i] & 15]);
	}
}

/* A text '\x0a1b' that was put into a bytea column as it is. */
static bool is_hex(struct db_value v)
{
	const char *text = v.data;
	return v.type == DB_TEXT && v.length >= 2 && text[0] == '\\' && text[1] == 'x';
}

static void write_scaled(struct wire_out *out, double value, int scale)
{
	char text[SCALE_MAX + 400];
	write_counted(out, text, (size_t)snprintf(text, sizeof text, "%.*f", scale, value));
}

static void write_text(struct wire_out *out, struct db_value v, enum pg_type type)
{
	if (v.type == DB_INTEGER && type == PG_BOOL)
		write_counted(out, v.integer ? "t" : "f", 1);
	else if (v.type == DB_INTEGER && type == PG_FLOAT4)
		write_float4_text(out, (double)v.integer);
	else if (v.type == DB_INTEGER)
		write_integer_text(out, v.integer);
	else if (v.type == DB_REAL && type == PG_FLOAT4)
		write_float4_text(out, v.real);
	else if (v.type == DB_REAL)
		write_real_text(out, v.real);
	else if (v.type == DB_BLOB || (type == PG_BYTEA && !is_hex(v)))
		write_bytea_text(out, v.data, v.length);
	else
		write_counted(out, v.data, v.length);
}

static void write_padded(struct wire_out *out, struct db_value v, uint32_t width)
{
	static const char blanks[] = "                                ";
	const char *text = v.data;
	uint32_t characters = 0;
	for (uint32_t i = 0; i < v.length; i++)
		characters += ((unsigned char)text[i] & 0xc0) != 0x80;
	uint32_t missing = characters < width ? width - characters : 0;
	wire_put32(out, v.length + missing);
	wire_put_bytes(out, text, v.length);
	for (uint32_t part; missing; missing -= part) {
		part = missing < sizeof blanks - 1 ? missing : (uint32_t)sizeof blanks - 1;
		wire_put_bytes(out, blanks, part);
	}
}

static int64_t as_integer(struct db_value v)
{
	if (v.type == DB_INTEGER)
		return v.integer;
	return v.type == DB_REAL ? (int64_t)v.real : 0;
}

static double as_real(struct db_value v)
{
	return v.type == DB_INTEGER ? (double)v.integer : v.type == DB_REAL ? v.real : 0;
}

static void write_float(struct wire_out *out, double value, bool narrow)
{
	uint64_t bits = 0;
	float half = (float)value;
	if (narrow) {
		uint32_t bits32;
		memcpy(&bits32, &half, sizeof bits32);
		wire_put32(out, 4);
		wire_put32(out, bits32);
		return;
	}
	memcpy(&bits, &value, sizeof bits);
	wire_put32(out, 8);
	wire_put64(out, bits);
}

int value_hex_digit(uint8_t c)
{
	if (isdigit(c))
		return c - '0';
	c = (uint8_t)tolower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 32 hexadecimal digits, hyphens between them; false: not a uuid. */
static bool read_uuid(struct db_value v, uint8_t uuid[UUID_BYTES])
{
	const uint8_t *text = v.data;
	unsigned digits = 0;
	for (uint32_t i = 0; i < v.length; i++) {
		int digit = value_hex_digit(text[i]);
		if (text[i] == '-')
			continue;
		if (digit < 0 || digits == 2 * UUID_BYTES)
			return false;
		uuid[digits / 2] = (uint8_t)(digits % 2 ? uuid[digits / 2] | digit : digit << 4);
		digits++;
	}
	return v.type == DB_TEXT && digits == 2 * UUID_BYTES;
}

/* A time of day in microseconds; false: not one. */
static bool read_time(struct db_value v, int64_t *micros)
{
	char text[STAMP_TEXT_MAX];
	struct stamp s;
	if (v.type != DB_TEXT || v.length >= sizeof text)
		return false;
	memcpy(text, v.data, v.length);
	text[v.length] = '\0';
	if (stamp_read(text, false, &s) != STAMP_FINE || s.infinite)
		return false;
	*micros = ((s.hour * 60 + s.minute) * 60 + s.second) * INT64_C(1000000) + s.micros;
	return true;
}

static void write_encoded(struct wire_out *out, struct db_value v, enum pg_type type)
{
	uint8_t uuid[UUID_BYTES];
	int64_t micros;
	if (type == PG_UUID && read_uuid(v, uuid)) {
		write_counted(out, uuid, sizeof uuid);
	} else if (type == PG_TIME && read_time(v, &micros)) {
		wire_put32(out, 8);
		wire_put64(out, (uint64_t)micros);
	}
}

static void write_binary(struct wire_out *out, struct db_value v, enum pg_type type, int scale)
{
	uint8_t form[BINARY_FORM_MAX];
	switch (type) {
	case PG_NUMERIC:
	case PG_DATE:
	case PG_TIMESTAMP:
	case PG_TIMESTAMPTZ:
	case PG_INTERVAL:
		write_counted(out, form, (size_t)binary_write(v, type, scale, form));
		break;
	case PG_BOOL:
		wire_put32(out, 1);
		wire_put8(out, as_integer(v) != 0);
		break;
	case PG_INT2:
		wire_put32(out, 2);
		wire_put16(out, (uint16_t)as_integer(v));
		break;
	case PG_INT4:
	case PG_OID:
		wire_put32(out, 4);
		wire_put32(out, (uint32_t)as_integer(v));
		break;
	case PG_INT8:
		wire_put32(out, 8);
		wire_put64(out, (uint64_t)as_integer(v));
		break;
	case PG_FLOAT4:
	case PG_FLOAT8:
		write_float(out, as_real(v), type == PG_FLOAT4);
		break;
	case PG_UUID:
	case PG_TIME:
		write_encoded(out, v, type);
		break;
	case PG_JSONB:
		wire_put32(out, v.length + 1);
		wire_put8(out, VALUE_JSONB_VERSION);
		wire_put_bytes(out, v.data, v.length);
		break;
	default:
		if (v.type == DB_BLOB || v.type == DB_TEXT)
			write_counted(out, v.data, v.length);
		else
			write_text(out, v, type);
	}
}

static bool is_between(struct db_value v, int64_t least, int64_t most)
{
	return v.type == DB_INTEGER && v.integer >= least && v.integer <= most;
}

bool value_fits(struct db_value value, const struct wire_column *column)
{
	uint8_t form[BINARY_FORM_MAX];
	uint8_t uuid[UUID_BYTES];
	int64_t micros;
	if (column->format != 1 || value.type == DB_NULL)
		return true;
	switch ((enum pg_type)column->type) {
	case PG_BOOL:
	case PG_INT8:
		return value.type == DB_INTEGER;
	case PG_INT2:
		return is_between(value, INT16_MIN, INT16_MAX);
	case PG_INT4:
		return is_between(value, INT32_MIN, INT32_MAX);
	case PG_OID:
		return is_between(value, 0, UINT32_MAX);
	case PG_UUID:
		return read_uuid(value, uuid);
	case PG_TIME:
		return read_time(value, &micros);
	case PG_JSONB:
		return value.type == DB_TEXT;
	case PG_NUMERIC:
	case PG_DATE:
	case PG_TIMESTAMP:
	case PG_TIMESTAMPTZ:
	case PG_INTERVAL:
		return binary_write(value, (enum pg_type)column->type,
			       column->scaled ? column->scale : -1, form) >= 0;
	case PG_FLOAT4:
	case PG_FLOAT8:
		return value.type == DB_INTEGER || value.type == DB_REAL;
	default:
		return true;
	}
}

void value_write(struct wire_out *out, struct db_value value, const struct wire_column *column)
{
	enum pg_type type = (enum pg_type)column->type;
	bool number = value.type == DB_INTEGER || value.type == DB_REAL;
	if (value.type == DB_NULL)
		wire_put32(out, (uint32_t)-1);
	else if (column->width && value.type == DB_TEXT)
		write_padded(out, value, column->width);
	else if (column->format == 1)
		write_binary(out, value, type, column->scaled ? column->scale : -1);
	else if (type == PG_NUMERIC && column->scaled && number && isfinite(as_real(value)))
		write_scaled(out, as_real(value), column->scale);
	else
		write_text(out, value, type);
}

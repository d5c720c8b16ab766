/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the mapping of types and the text and binary forms of values. It must not know statements,
 * connections or where a value goes.
 */
#include "demo-db/server/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCALE_MAX 100

/* ---- Types ---------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	enum pg_type type;
} declared_types[] = {
	/* the first of a type is its own name */
	{ "int8", PG_INT8 },
	{ "int4", PG_INT4 },
	{ "integer", PG_INT4 },
	{ "int", PG_INT4 },
	{ "bigint", PG_INT8 },
	{ "text", PG_TEXT },
	{ "bpchar", PG_BPCHAR },
	{ "char", PG_BPCHAR },
	{ "character", PG_BPCHAR },
	{ "varchar", PG_VARCHAR },
	{ "timestamp", PG_TIMESTAMP },
	{ "timestamptz", PG_TIMESTAMPTZ },
	{ "bool", PG_BOOL },
	{ "boolean", PG_BOOL },
	{ "float8", PG_FLOAT8 },
	{ "float4", PG_FLOAT4 },
	{ "real", PG_FLOAT4 },
	{ "double", PG_FLOAT8 },
	{ "float", PG_FLOAT8 },
	{ "numeric", PG_NUMERIC },
	{ "decimal", PG_NUMERIC },
	{ "bytea", PG_BYTEA },
	{ "blob", PG_BYTEA },
	{ "date", PG_DATE },
	{ "int2", PG_INT2 },
	{ "smallint", PG_INT2 },
	{ "serial", PG_INT4 },
	{ "bigserial", PG_INT8 },
	{ "name", PG_TEXT },
	{ "oid", PG_INT8 },
};

enum pg_type value_type_named(const char *name, size_t bytes)
{
	for (size_t i = 0; bytes && i < sizeof declared_types / sizeof *declared_types; i++) {
		const char *word = declared_types[i].word;
		if ((word[0] | 0x20) == (name[0] | 0x20) && strncasecmp(name, word, bytes) == 0 &&
			!word[bytes])
			return declared_types[i].type;
	}
	return PG_UNKNOWN;
}

const char *value_type_name(enum pg_type type)
{
	for (size_t i = 0; i < sizeof declared_types / sizeof *declared_types; i++)
		if (declared_types[i].type == type)
			return declared_types[i].word;
	return "text";
}

static enum pg_type declared_type(const char *declared)
{
	size_t bytes = 0;
	while (isalnum((unsigned char)declared[bytes]))
		bytes++;
	enum pg_type type = value_type_named(declared, bytes);
	if (type == PG_BPCHAR && strcasestr(declared, "varying"))
		return PG_VARCHAR;
	if (type == PG_TIMESTAMP && strcasestr(declared, "with time zone"))
		return PG_TIMESTAMPTZ;
	return type;
}

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

/* SQLite stores integers of 64 bits whatever INTEGER says, so INTEGER answers int8. */
enum pg_type value_pg_type(const char *declared, enum db_type actual)
{
	enum pg_type type = declared ? declared_type(declared) : PG_UNKNOWN;
	if (type == PG_UNKNOWN)
		return type_of_value(actual);
	return type == PG_INT4 && strncasecmp(declared, "integer", 7) == 0 ? PG_INT8 : type;
}

int value_scale(const char *declared)
{
	int precision, scale;
	const char *open = declared ? strchr(declared, '(') : NULL;
	if (!open || declared_type(declared) != PG_NUMERIC ||
		sscanf(open, "(%9d ,%9d", &precision, &scale) != 2)
		return -1;
	return scale >= 0 && scale <= SCALE_MAX ? scale : -1;
}

uint32_t value_width(const char *declared)
{
	unsigned width = strncasecmp(declared, "bpchar", 6) == 0 ? 0 : 1;
	const char *open = strchr(declared, '(');
	if (declared_type(declared) != PG_BPCHAR)
		return 0;
	return open && sscanf(open, "(%9u", &width) != 1 ? 0 : width;
}

int16_t value_pg_length(enum pg_type type)
{
	switch (type) {
	case PG_BOOL:
		return 1;
	case PG_INT2:
		return 2;
	case PG_INT4:
	case PG_FLOAT4:
	case PG_DATE:
		return 4;
	case PG_INT8:
	case PG_FLOAT8:
	case PG_TIMESTAMP:
	case PG_TIMESTAMPTZ:
		return 8;
	default:
		return -1;
	}
}

bool value_has_binary(enum pg_type type)
{
	return type != PG_NUMERIC && type != PG_DATE && type != PG_TIMESTAMP &&
	       type != PG_TIMESTAMPTZ;
}

/* ---- Writing ------------------------------------------------------------------------------ */

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
static void write_real_text(struct wire_out *out, double value)
{
	char text[32];
	if (isnan(value) || isinf(value)) {
		const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
		write_counted(out, name, strlen(name));
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
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

static void write_binary(struct wire_out *out, struct db_value v, enum pg_type type)
{
	switch (type) {
	case PG_BOOL:
		wire_put32(out, 1);
		wire_put8(out, as_integer(v) != 0);
		break;
	case PG_INT2:
		wire_put32(out, 2);
		wire_put16(out, (uint16_t)as_integer(v));
		break;
	case PG_INT4:
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
		write_binary(out, value, type);
	else if (type == PG_NUMERIC && column->scaled && number && isfinite(as_real(value)))
		write_scaled(out, as_real(value), column->scale);
	else
		write_text(out, value, type);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int wrong(
	struct value_error *error, const char *sqlstate, const char *what, struct wire_bytes b)
{
	int shown = b.length < 40 ? b.length : 40;
	error->sqlstate = sqlstate;
	if (shown >= 0)
		snprintf(error->message, sizeof error->message, "%s: \"%.*s\"", what, shown,
			(const char *)b.data);
	else
		snprintf(error->message, sizeof error->message, "%s", what);
	return -1;
}

/* All of `bytes` as a decimal integer of 64 bits. `plain`: exactly as it would be printed. */
static bool read_integer(struct wire_bytes b, bool plain, int64_t *value)
{
	bool negative = b.length > 0 && b.data[0] == '-';
	int32_t at = negative || (!plain && b.length > 0 && b.data[0] == '+');
	uint64_t sum = 0, limit = (uint64_t)INT64_MAX + negative;
	if (at == b.length || (plain && b.data[at] == '0' && b.length > 1))
		return false;
	for (; at < b.length; at++) {
		unsigned digit = (unsigned)b.data[at] - '0';
		if (digit > 9 || sum > (limit - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*value = (int64_t)(negative ? 0 - sum : sum);
	return true;
}

static bool read_real(struct wire_bytes b, double *value)
{
	char text[64];
	char *end;
	if (b.length == 0 || (size_t)b.length >= sizeof text)
		return false;
	memcpy(text, b.data, (size_t)b.length);
	text[b.length] = '\0';
	*value = strtod(text, &end);
	return *end == '\0';
}

static int hex_digit(uint8_t c)
{
	if (isdigit(c))
		return c - '0';
	c = (uint8_t)tolower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "\x0a1b"; the old escape form is taken as the bytes it shows when it has no backslash. */
static int read_bytea(struct wire_bytes b, uint8_t *storage, struct db_value *v)
{
	if (b.length < 2 || b.data[0] != '\\' || b.data[1] != 'x') {
		*v = (struct db_value){ DB_BLOB, .length = (uint32_t)b.length, .data = b.data };
		return b.length && memchr(b.data, '\\', (size_t)b.length) ? -1 : 0;
	}
	uint32_t bytes = (uint32_t)(b.length - 2) / 2;
	for (uint32_t i = 0; i < bytes; i++) {
		int high = hex_digit(b.data[2 + 2 * i]), low = hex_digit(b.data[3 + 2 * i]);
		if (high < 0 || low < 0)
			return -1;
		storage[i] = (uint8_t)(high << 4 | low);
	}
	*v = (struct db_value){ DB_BLOB, .length = bytes, .data = storage };
	return b.length % 2;
}

static bool read_bool(struct wire_bytes b, int64_t *value)
{
	static const char *const words[] = { "f", "false", "no", "off", "0", "t", "true", "yes",
		"on", "1" };
	for (size_t i = 0; i < 10; i++) {
		if (strlen(words[i]) == (size_t)b.length &&
			strncasecmp(words[i], (const char *)b.data, (size_t)b.length) == 0) {
			*value = i >= 5;
			return true;
		}
	}
	return false;
}

static int read_text(struct wire_bytes b, enum pg_type type, void *storage, struct db_value *v,
	struct value_error *error)
{
	*v = (struct db_value){ DB_TEXT, .length = (uint32_t)b.length, .data = b.data };
	switch (type) {
	case PG_INT2:
	case PG_INT4:
	case PG_INT8:
		v->type = DB_INTEGER;
		return read_integer(b, false, &v->integer)
			       ? 0
			       : wrong(error, "22P02", "invalid input syntax for type integer", b);
	case PG_FLOAT4:
	case PG_FLOAT8:
		v->type = DB_REAL;
		return read_real(b, &v->real)
			       ? 0
			       : wrong(error, "22P02",
					 "invalid input syntax for type double precision", b);
	case PG_BOOL:
		v->type = DB_INTEGER;
		return read_bool(b, &v->integer)
			       ? 0
			       : wrong(error, "22P02", "invalid input syntax for type boolean", b);
	case PG_BYTEA:
		return read_bytea(b, storage, v) == 0
			       ? 0
			       : wrong(error, "22P02", "invalid input syntax for type bytea", b);
	case PG_UNKNOWN:
	case PG_UNKNOWN_LITERAL:
	case PG_NUMERIC: {
		int64_t integer;
		if (read_integer(b, true, &integer))
			*v = (struct db_value){ DB_INTEGER, .integer = integer };
		break;
	}
	default:
		break;
	}
	if (b.length && memchr(b.data, 0, (size_t)b.length))
		return wrong(error, "22021", "invalid byte sequence for encoding \"UTF8\": 0x00",
			(struct wire_bytes){ .length = -1 });
	if (!wire_utf8_valid((const char *)b.data, (size_t)b.length))
		return wrong(error, "22021", "invalid byte sequence for encoding \"UTF8\"",
			(struct wire_bytes){ .length = -1 });
	return 0;
}

static uint64_t load_be(struct wire_bytes b)
{
	uint64_t value = 0;
	for (int32_t i = 0; i < b.length; i++)
		value = value << 8 | b.data[i];
	return value;
}

static double read_float(struct wire_bytes b)
{
	uint64_t bits = load_be(b);
	uint32_t bits32 = (uint32_t)bits;
	double wide;
	float narrow;
	memcpy(&wide, &bits, sizeof wide);
	memcpy(&narrow, &bits32, sizeof narrow);
	return b.length == 4 ? (double)narrow : wide;
}

static int64_t sign_extend(struct wire_bytes b)
{
	uint64_t value = load_be(b);
	uint64_t sign = (uint64_t)1 << (8 * b.length - 1);
	return (int64_t)((value ^ sign) - sign);
}

static int read_binary(
	struct wire_bytes b, enum pg_type type, struct db_value *v, struct value_error *error)
{
	int16_t expected = value_pg_length(type);
	if (type == PG_UNKNOWN) /* told to be text: its binary form is the same */
		return read_text(b, type, NULL, v, error);
	if (!value_has_binary(type))
		return wrong(error, "0A000", "no binary form for a parameter of this type",
			(struct wire_bytes){ .length = -1 });
	if (expected > 0 && b.length != expected)
		return wrong(error, "22P03", "incorrect binary data format in a parameter",
			(struct wire_bytes){ .length = -1 });
	switch (type) {
	case PG_BOOL:
	case PG_INT2:
	case PG_INT4:
	case PG_INT8:
		*v = (struct db_value){ DB_INTEGER, .integer = sign_extend(b) };
		return 0;
	case PG_FLOAT4:
	case PG_FLOAT8:
		*v = (struct db_value){ DB_REAL, .real = read_float(b) };
		return 0;
	case PG_BYTEA:
		*v = (struct db_value){ DB_BLOB, .length = (uint32_t)b.length, .data = b.data };
		return 0;
	default:
		return read_text(b, PG_TEXT, NULL, v, error);
	}
}

int value_read(struct wire_bytes bytes, enum pg_type type, uint16_t format, void *storage,
	struct db_value *value, struct value_error *error)
{
	if (bytes.length < 0) {
		*value = (struct db_value){ .type = DB_NULL };
		return 0;
	}
	if (format > 1)
		return wrong(error, "22023", "unsupported format code",
			(struct wire_bytes){ .length = -1 });
	return format ? read_binary(bytes, type, value, error)
		      : read_text(bytes, type, storage, value, error);
}

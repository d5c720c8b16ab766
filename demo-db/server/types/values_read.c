/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of parameters, in text and binary. */
#include "demo-db/server/types/datetime.h"
#include "demo-db/server/types/decimal.h"
#include "demo-db/server/types/values_binary.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static bool is_number(struct wire_bytes b)
{
	int32_t at = b.length > 1 && (b.data[0] == '-' || b.data[0] == '+');
	while (at < b.length && isdigit(b.data[at]))
		at++;
	return b.length > 0 && at == b.length;
}

static int invalid(struct value_error *error, enum pg_type type, struct wire_bytes b)
{
	char what[64];
	snprintf(
		what, sizeof what, "invalid input syntax for type %s", pg_type_row(type)->spelling);
	return wrong(error, "22P02", what, b);
}

static int invalid_stamp(struct value_error *error, enum pg_type type, struct wire_bytes b)
{
	invalid(error, type, b);
	error->sqlstate = "22007";
	return -1;
}

/* An integer of its type, perhaps with blanks around it. */
static int read_ranged(
	struct wire_bytes b, enum pg_type type, int64_t *value, struct value_error *error)
{
	int64_t most = type == PG_INT2 ? INT16_MAX : type == PG_INT4 ? INT32_MAX : INT64_MAX;
	struct wire_bytes digits = b;
	for (; digits.length > 0 && isspace(*digits.data); digits.length--)
		digits.data++;
	while (digits.length > 0 && isspace(digits.data[digits.length - 1]))
		digits.length--;
	if (read_integer(digits, false, value) && *value <= most && *value >= -most - 1)
		return 0;
	if (!is_number(digits))
		return invalid(error, type, b);
	error->sqlstate = "22003";
	snprintf(error->message, sizeof error->message,
		"value \"%.*s\" is out of range for type %s", b.length < 40 ? b.length : 40,
		(const char *)b.data, pg_type_row(type)->spelling);
	return -1;
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

/* "\x0a1b"; the old escape form is taken as the bytes it shows when it has no backslash. */
static int read_bytea(struct wire_bytes b, uint8_t *storage, struct db_value *v)
{
	if (b.length < 2 || b.data[0] != '\\' || b.data[1] != 'x') {
		*v = (struct db_value){ DB_BLOB, .length = (uint32_t)b.length, .data = b.data };
		return b.length && memchr(b.data, '\\', (size_t)b.length) ? -1 : 0;
	}
	uint32_t bytes = (uint32_t)(b.length - 2) / 2;
	for (uint32_t i = 0; i < bytes; i++) {
		int high = value_hex_digit(b.data[2 + 2 * i]),
		    low = value_hex_digit(b.data[3 + 2 * i]);
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

/* A date or a time as columns keep it. */
static int read_stamp(struct wire_bytes b, enum pg_type type, char *storage, struct db_value *v,
	struct value_error *error)
{
	enum stamp_form form = type == PG_DATE	      ? STAMP_DATE
			       : type == PG_TIME      ? STAMP_TIME
			       : type == PG_TIMESTAMP ? STAMP_TIMESTAMP
						      : STAMP_TIMESTAMPTZ;
	char text[STAMP_TEXT_MAX];
	struct stamp s;
	if (b.length >= (int32_t)sizeof text)
		return invalid_stamp(error, type, b);
	memcpy(text, b.data, (size_t)b.length);
	text[b.length] = '\0';
	enum stamp_answer answer = stamp_read(text, form != STAMP_TIME, &s);
	if (answer == STAMP_SYNTAX)
		return invalid_stamp(error, type, b);
	if (answer != STAMP_FINE)
		return wrong(error, "22008", "date/time field value out of range", b);
	if (form == STAMP_TIMESTAMPTZ)
		stamp_to_utc(&s);
	stamp_write(&s, form, text);
	*v = (struct db_value){ DB_TEXT, .length = (uint32_t)strlen(text), .data = storage };
	memcpy(storage, text, v->length);
	return 0;
}

/* Checked; a column keeps it as SQLite's number. */
static int read_numeric(struct wire_bytes b, struct db_value *v, struct value_error *error)
{
	char text[DECIMAL_TEXT_MAX];
	struct decimal d;
	int64_t integer;
	if (b.length >= (int32_t)sizeof text)
		return invalid(error, PG_NUMERIC, b);
	memcpy(text, b.data, (size_t)b.length);
	text[b.length] = '\0';
	if (!decimal_read(text, &d))
		return invalid(error, PG_NUMERIC, b);
	if (read_integer(b, true, &integer))
		*v = (struct db_value){ DB_INTEGER, .integer = integer };
	return 0;
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
		return read_ranged(b, type, &v->integer, error);
	case PG_OID:
		v->type = DB_INTEGER;
		return read_integer(b, false, &v->integer) ? 0 : invalid(error, type, b);
	case PG_FLOAT4:
	case PG_FLOAT8:
		v->type = DB_REAL;
		return read_real(b, &v->real) ? 0 : invalid(error, type, b);
	case PG_BOOL:
		v->type = DB_INTEGER;
		return read_bool(b, &v->integer) ? 0 : invalid(error, type, b);
	case PG_BYTEA:
		return read_bytea(b, storage, v) == 0 ? 0 : invalid(error, type, b);
	case PG_DATE:
	case PG_TIME:
	case PG_TIMESTAMP:
	case PG_TIMESTAMPTZ:
		return read_stamp(b, type, storage, v, error);
	case PG_NUMERIC:
		return read_numeric(b, v, error);
	case PG_UNKNOWN:
	case PG_UNKNOWN_LITERAL: {
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
	if (wire_utf8_valid((const char *)b.data, (size_t)b.length))
		return 0;
	error->sqlstate = "22021";
	wire_utf8_error((const char *)b.data, (size_t)b.length, error->message);
	return -1;
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

static void decode_uuid(struct wire_bytes b, char *storage, struct db_value *v)
{
	char *at = storage;
	for (int32_t i = 0; i < b.length; i++)
		at += sprintf(
			at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b.data[i]);
	*v = (struct db_value){ DB_TEXT, .length = (uint32_t)(at - storage), .data = storage };
}

/* As columns keep it. */
static int decode_time(
	struct wire_bytes b, char *storage, struct db_value *v, struct value_error *error)
{
	uint64_t micros = load_be(b), seconds = micros / 1000000;
	struct stamp s = { .hour = (int)(seconds / 3600 % 25),
		.minute = (int)(seconds / 60 % 60),
		.second = (int)(seconds % 60),
		.micros = (int)(micros % 1000000) };
	char text[STAMP_TEXT_MAX];
	if (micros > UINT64_C(86400000000))
		return wrong(
			error, "22008", "time out of range", (struct wire_bytes){ .length = -1 });
	stamp_write(&s, STAMP_TIME, text);
	*v = (struct db_value){ DB_TEXT, .length = (uint32_t)strlen(text), .data = storage };
	memcpy(storage, text, v->length);
	return 0;
}

static int read_binary(struct wire_bytes b, enum pg_type type, void *storage, struct db_value *v,
	struct value_error *error)
{
	/* that of a name is the room it takes there */
	int16_t expected = type == PG_NAME ? -1 : value_pg_length(type);
	if (type == PG_UNKNOWN) /* told to be text: its binary form is the same */
		return read_text(b, type, NULL, v, error);
	if (!value_has_binary(type))
		return wrong(error, "0A000", "no binary form for a parameter of this type",
			(struct wire_bytes){ .length = -1 });
	if (expected > 0 && b.length < expected)
		return wrong(error, "08P01", "insufficient data left in message",
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
	case PG_OID:
		*v = (struct db_value){ DB_INTEGER, .integer = (int64_t)load_be(b) };
		return 0;
	case PG_UUID:
		decode_uuid(b, storage, v);
		return 0;
	case PG_TIME:
		return decode_time(b, storage, v, error);
	case PG_JSONB:
		if (b.length == 0 || b.data[0] != VALUE_JSONB_VERSION)
			return wrong(error, "22P03", "unsupported jsonb version in a parameter",
				(struct wire_bytes){ .length = -1 });
		return read_text((struct wire_bytes){ .data = b.data + 1, .length = b.length - 1 },
			PG_TEXT, NULL, v, error);
	case PG_NUMERIC:
	case PG_DATE:
	case PG_TIMESTAMP:
	case PG_TIMESTAMPTZ:
	case PG_INTERVAL:
		if (!binary_read(b, type, storage, value_room((size_t)b.length)))
			return wrong(error, "22P03", "incorrect binary data format in a parameter",
				(struct wire_bytes){ .length = -1 });
		return read_text(
			(struct wire_bytes){ .data = storage, .length = (int32_t)strlen(storage) },
			PG_TEXT, NULL, v, error);
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
	if (format > 1) {
		error->sqlstate = "22023";
		snprintf(error->message, sizeof error->message, "unsupported format code: %u",
			format);
		return -1;
	}
	return format ? read_binary(bytes, type, storage, value, error)
		      : read_text(bytes, type, storage, value, error);
}

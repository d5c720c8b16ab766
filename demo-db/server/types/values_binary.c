/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the binary forms that are more than a number of a processor's.
 */
#include "demo-db/server/types/values_binary.h"
#include "demo-db/server/types/datetime.h"
#include "demo-db/server/types/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_DAYS INT64_C(10957) /* from 1970-01-01 to 2000-01-01 */
#define DAY_MICROS INT64_C(86400000000)
#define GROUP	   4	  /* digits of a numeric that are sent as one number */
#define SIGN_MINUS 0x4000 /* of a numeric … */
#define SIGN_NAN   0xc000

static void put(uint8_t **at, uint64_t value, int bytes)
{
	while (bytes--)
		*(*at)++ = (uint8_t)(value >> 8 * bytes);
}

static int64_t load(const uint8_t *at, int bytes)
{
	uint64_t value = at[0] & 0x80 ? ~UINT64_C(0) : 0;
	for (int i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return (int64_t)value;
}

/* Of a text; false: it is none, or too long. */
static bool copy_text(struct db_value value, char *text, size_t bytes)
{
	if (value.type != DB_TEXT || value.length >= bytes)
		return false;
	memcpy(text, value.data, value.length);
	text[value.length] = '\0';
	return true;
}

/* ---- Numeric --------------------------------------------------------------------------------- */

static bool decimal_of(struct db_value value, int scale, struct decimal *d)
{
	char text[DECIMAL_TEXT_MAX];
	switch (value.type) {
	case DB_INTEGER:
		decimal_of_integer(value.integer, d);
		return scale < 0 || decimal_round(d, scale, false) == DECIMAL_FINE;
	case DB_REAL:
		return decimal_of_real(value.real, scale, d);
	default:
		return copy_text(value, text, sizeof text) && decimal_read(text, d);
	}
}

/* The digit so many places left of the point (negative: right of it). */
static int digit_at(const struct decimal *d, int place)
{
	int index = d->count - d->scale - 1 - place;
	return index >= 0 && index < d->count ? d->digits[index] : 0;
}

static int write_numeric(const struct decimal *d, uint8_t *form)
{
	uint8_t *at = form + 8;
	int whole = d->count - d->scale;
	int weight = whole > 0 ? (whole - 1) / GROUP : -1;
	int last = -((d->scale + GROUP - 1) / GROUP), groups = 0;
	bool begun = false;
	for (int group = weight; group >= last && d->count; group--) {
		int value = 0;
		for (int i = GROUP - 1; i >= 0; i--)
			value = 10 * value + digit_at(d, group * GROUP + i);
		if (!begun && value == 0) {
			weight--;
			continue;
		}
		begun = true;
		put(&at, (uint64_t)value, 2);
		groups++;
	}
	while (groups && at[-1] == 0 && at[-2] == 0) {
		at -= 2;
		groups--;
	}
	uint8_t *head = form;
	put(&head, (uint64_t)groups, 2);
	put(&head, groups ? (uint64_t)(int64_t)weight : 0, 2);
	put(&head, d->nan ? SIGN_NAN : d->negative ? SIGN_MINUS : 0, 2);
	put(&head, d->nan ? 0 : (uint64_t)d->scale, 2);
	return (int)(at - form);
}

static bool read_numeric(struct wire_bytes form, char *text, size_t bytes)
{
	struct decimal d = { .scale = 0 };
	if (form.length < 8)
		return false;
	int groups = (int)load(form.data, 2), weight = (int)load(form.data + 2, 2);
	int sign = (int)load(form.data + 4, 2) & 0xffff, scale = (int)load(form.data + 6, 2);
	int whole = (weight + 1) * GROUP;
	d.nan = sign == SIGN_NAN;
	d.negative = sign == SIGN_MINUS;
	if (groups < 0 || form.length != 8 + 2 * groups || scale < 0 || weight < -100 ||
		(sign != 0 && !d.negative && !d.nan) ||
		(whole > 0 ? whole : 0) + scale > DECIMAL_DIGITS_MAX)
		return false;
	for (int place = whole > 0 ? whole - 1 : -1; place >= -scale; place--) {
		int group = weight - (place >= 0 ? place / GROUP : -((-place + GROUP - 1) / GROUP));
		int value = group >= 0 && group < groups
				    ? (int)load(form.data + 8 + (ptrdiff_t)2 * group, 2)
				    : 0;
		if (value < 0 || value > 9999)
			return false;
		for (int i = ((place % GROUP) + GROUP) % GROUP; i > 0; i--)
			value /= 10;
		if (d.count || value % 10)
			d.digits[d.count++] = (uint8_t)(value % 10);
	}
	d.scale = scale;
	if (d.count == 0)
		d.negative = false;
	char written[DECIMAL_TEXT_MAX];
	decimal_write(&d, written);
	return snprintf(text, bytes, "%s", written) < (int)bytes;
}

/* ---- Dates and timestamps -------------------------------------------------------------------- */

static int write_stamp(const struct stamp *s, enum pg_type type, uint8_t *form)
{
	uint8_t *at = form;
	int64_t days = stamp_days(s) - EPOCH_DAYS;
	int64_t micros =
		((s->hour * 60 + s->minute) * 60 + s->second) * INT64_C(1000000) + s->micros;
	if (type == PG_DATE) {
		int64_t infinite = s->infinite > 0 ? INT32_MAX : INT32_MIN;
		put(&at, (uint64_t)(s->infinite ? infinite : days), 4);
	} else {
		int64_t infinite = s->infinite > 0 ? INT64_MAX : INT64_MIN;
		put(&at, (uint64_t)(s->infinite ? infinite : days * DAY_MICROS + micros), 8);
	}
	return (int)(at - form);
}

static enum stamp_form form_of(enum pg_type type)
{
	return type == PG_DATE	      ? STAMP_DATE
	       : type == PG_TIMESTAMP ? STAMP_TIMESTAMP
				      : STAMP_TIMESTAMPTZ;
}

static bool read_stamp(struct wire_bytes form, enum pg_type type, char *text, size_t bytes)
{
	struct stamp s = { .dated = true, .year = 2000, .month = 1, .day = 1 };
	char written[STAMP_TEXT_MAX];
	bool date = type == PG_DATE;
	if (form.length != (date ? 4 : 8))
		return false;
	int64_t value = load(form.data, form.length), rest = 0;
	if (value == (date ? INT32_MAX : INT64_MAX))
		s.infinite = 1;
	else if (value == (date ? INT32_MIN : INT64_MIN))
		s.infinite = -1;
	if (!date) {
		rest = value % DAY_MICROS;
		rest += rest < 0 ? DAY_MICROS : 0;
		value = (value - rest) / DAY_MICROS;
	}
	value += EPOCH_DAYS;
	if (!s.infinite && (value < STAMP_FIRST_DAY || value > STAMP_LAST_DAY))
		return false;
	if (!s.infinite)
		stamp_set_days(&s, value);
	s.micros = (int)(rest % 1000000);
	s.second = (int)(rest / 1000000 % 60);
	s.minute = (int)(rest / 60000000 % 60);
	s.hour = (int)(rest / INT64_C(3600000000));
	stamp_write(&s, form_of(type), written);
	return snprintf(text, bytes, "%s", written) < (int)bytes;
}

/* Days and a time, as the difference of timestamps is written. */
static int write_interval(const char *text, uint8_t *form)
{
	long days = 0, hours, minutes;
	double seconds;
	char *end;
	int64_t micros = 0;
	if (strstr(text, "day")) {
		days = strtol(text, &end, 10);
		text = strchr(strstr(end, "day"), ' ');
		text = text ? text + 1 : "";
	}
	bool negative = *text == '-';
	if (*text && sscanf(text + negative, "%ld:%ld:%lf", &hours, &minutes, &seconds) != 3)
		return -1;
	if (*text)
		micros =
			(hours * 60 + minutes) * INT64_C(60000000) + (int64_t)(seconds * 1e6 + 0.5);
	put(&form, (uint64_t)(negative ? -micros : micros), 8);
	put(&form, (uint64_t)days, 4);
	put(&form, 0, 4);
	return 16;
}

/* ---- Both ways ------------------------------------------------------------------------------- */

int binary_write(struct db_value value, enum pg_type type, int scale, uint8_t form[BINARY_FORM_MAX])
{
	struct decimal d;
	struct stamp s;
	char text[STAMP_TEXT_MAX];
	switch (type) {
	case PG_NUMERIC:
		return decimal_of(value, scale, &d) ? write_numeric(&d, form) : -1;
	case PG_INTERVAL:
		return copy_text(value, text, sizeof text) ? write_interval(text, form) : -1;
	default:
		if (!copy_text(value, text, sizeof text) ||
			stamp_read(text, true, &s) != STAMP_FINE)
			return -1;
		if (type == PG_TIMESTAMPTZ)
			stamp_to_utc(&s);
		return write_stamp(&s, type, form);
	}
}

bool binary_read(struct wire_bytes form, enum pg_type type, char *text, size_t bytes)
{
	if (type == PG_NUMERIC)
		return read_numeric(form, text, bytes);
	return type != PG_INTERVAL && read_stamp(form, type, text, bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns decimal arithmetic, digit by digit: the numbers of SQL are short.
 */
#include "demo-db/server/types/decimal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTIENT_DIGITS 16   /* significant ones of a quotient, at least */
#define GROUP		4    /* digits PostgreSQL counts together when it chooses a scale */
#define SCALE_MAX	1000 /* of text that is read */

/* ---- Shape ----------------------------------------------------------------------------------- */

static void trim(struct decimal *d)
{
	int zeros = 0;
	while (zeros < d->count && d->digits[zeros] == 0)
		zeros++;
	d->count -= zeros;
	memmove(d->digits, d->digits + zeros, (size_t)d->count);
	if (d->count == 0)
		d->negative = false;
}

/* More digits behind the point, all zero. */
static bool widen(struct decimal *d, int scale)
{
	int more = scale - d->scale;
	if (scale > DECIMAL_DIGITS_MAX || (d->count && more > DECIMAL_DIGITS_MAX - d->count))
		return false;
	if (d->count) {
		memset(d->digits + d->count, 0, (size_t)more);
		d->count += more;
	}
	d->scale = scale;
	return true;
}

static void set_nan(struct decimal *d)
{
	*d = (struct decimal){ .nan = true };
}

/* Of the digits alone. */
static int compare_digits(const uint8_t *a, int a_count, const uint8_t *b, int b_count)
{
	if (a_count != b_count)
		return a_count < b_count ? -1 : 1;
	return a_count ? memcmp(a, b, (size_t)a_count) : 0;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *read_digits(const char *at, struct decimal *d, bool *any)
{
	bool point = false;
	for (; isdigit((unsigned char)*at) || (*at == '.' && !point); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		*any = true;
		d->scale += point;
		if (d->count == 0 && *at == '0')
			continue;
		if (d->count == DECIMAL_DIGITS_MAX)
			return NULL;
		d->digits[d->count++] = (uint8_t)(*at - '0');
	}
	return at;
}

static bool read_exponent(const char **at, struct decimal *d)
{
	char *end;
	if (**at != 'e' && **at != 'E')
		return true;
	long exponent = strtol(*at + 1, &end, 10);
	if (end == *at + 1 || labs(exponent) > SCALE_MAX)
		return false;
	*at = end;
	d->scale -= (int)exponent;
	return d->scale >= 0 || widen(d, 0);
}

bool decimal_read(const char *text, struct decimal *d)
{
	bool any = false;
	*d = (struct decimal){ .scale = 0 };
	while (isspace((unsigned char)*text))
		text++;
	if (strncmp(text, "NaN", 3) == 0) {
		d->nan = true;
		return true;
	}
	bool negative = *text == '-';
	const char *at = read_digits(text + (*text == '-' || *text == '+'), d, &any);
	if (!at || !any || !read_exponent(&at, d))
		return false;
	while (isspace((unsigned char)*at))
		at++;
	d->negative = negative && d->count;
	return *at == '\0' && d->scale <= DECIMAL_DIGITS_MAX;
}

void decimal_of_integer(int64_t value, struct decimal *d)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)value);
	decimal_read(text, d);
}

bool decimal_of_real(double value, int scale, struct decimal *d)
{
	char text[512];
	if (isnan(value)) {
		set_nan(d);
		return true;
	}
	if (!isfinite(value))
		return false;
	if (scale >= 0) {
		int written = snprintf(text, sizeof text, "%.*f", scale, value);
		return written > 0 && written < (int)sizeof text && decimal_read(text, d);
	}
	snprintf(text, sizeof text, "%.15g", value);
	return decimal_read(text, d);
}

void decimal_write(const struct decimal *d, char text[DECIMAL_TEXT_MAX])
{
	char *at = text;
	int whole = d->count - d->scale;
	if (d->nan) {
		strcpy(text, "NaN");
		return;
	}
	if (d->negative)
		*at++ = '-';
	if (whole <= 0)
		*at++ = '0';
	for (int i = 0; i < whole; i++)
		*at++ = (char)('0' + d->digits[i]);
	if (d->scale)
		*at++ = '.';
	for (int i = whole; i < d->count; i++)
		*at++ = (char)('0' + (i < 0 ? 0 : d->digits[i]));
	*at = '\0';
}

/* ---- Addition -------------------------------------------------------------------------------- */

/* |a| + |b| of numbers of one scale. */
static bool add_digits(const struct decimal *a, const struct decimal *b, struct decimal *sum)
{
	int most = (a->count > b->count ? a->count : b->count) + 1, carry = 0;
	if (most > DECIMAL_DIGITS_MAX)
		return false;
	for (int i = 1; i <= most; i++) {
		int digit = carry + (i <= a->count ? a->digits[a->count - i] : 0) +
			    (i <= b->count ? b->digits[b->count - i] : 0);
		sum->digits[most - i] = (uint8_t)(digit % 10);
		carry = digit / 10;
	}
	sum->count = most;
	return true;
}

/* |a| - |b|, of which a is not the smaller one. */
static void subtract_digits(const struct decimal *a, const struct decimal *b, struct decimal *rest)
{
	int borrow = 0;
	for (int i = 1; i <= a->count; i++) {
		int digit = a->digits[a->count - i] - borrow -
			    (i <= b->count ? b->digits[b->count - i] : 0);
		borrow = digit < 0;
		rest->digits[a->count - i] = (uint8_t)(digit + 10 * borrow);
	}
	rest->count = a->count;
}

/* Both to the larger scale. */
static bool align(struct decimal *a, struct decimal *b)
{
	int scale = a->scale > b->scale ? a->scale : b->scale;
	return widen(a, scale) && widen(b, scale);
}

enum decimal_answer decimal_add(
	const struct decimal *left, const struct decimal *right, bool subtract, struct decimal *sum)
{
	struct decimal a = *left, b = *right;
	if (a.nan || b.nan) {
		set_nan(sum);
		return DECIMAL_FINE;
	}
	if (!align(&a, &b))
		return DECIMAL_TOO_LONG;
	b.negative ^= subtract;
	sum->nan = false;
	sum->scale = a.scale;
	bool larger = compare_digits(a.digits, a.count, b.digits, b.count) >= 0;
	if (a.negative == b.negative) {
		sum->negative = a.negative;
		if (!add_digits(&a, &b, sum))
			return DECIMAL_TOO_LONG;
	} else {
		sum->negative = larger ? a.negative : b.negative;
		subtract_digits(larger ? &a : &b, larger ? &b : &a, sum);
	}
	trim(sum);
	return DECIMAL_FINE;
}

/* ---- Multiplication and division ------------------------------------------------------------- */

enum decimal_answer decimal_multiply(
	const struct decimal *a, const struct decimal *b, struct decimal *product)
{
	int count = a->count + b->count;
	if (a->nan || b->nan) {
		set_nan(product);
		return DECIMAL_FINE;
	}
	if (count > DECIMAL_DIGITS_MAX || a->scale + b->scale > DECIMAL_DIGITS_MAX)
		return DECIMAL_TOO_LONG;
	struct decimal result = {
		.negative = a->negative != b->negative, .scale = a->scale + b->scale, .count = count
	};
	for (int i = a->count - 1; i >= 0; i--) {
		int carry = 0;
		for (int j = b->count - 1; j >= 0; j--) {
			int digit = result.digits[i + j + 1] + a->digits[i] * b->digits[j] + carry;
			result.digits[i + j + 1] = (uint8_t)(digit % 10);
			carry = digit / 10;
		}
		result.digits[i] = (uint8_t)carry;
	}
	trim(&result);
	*product = result;
	return DECIMAL_FINE;
}

/* The group of four digits that a number begins with, and how many groups it stands left of the
 * point (negative: right of it). */
static int first_group(const struct decimal *d, int *weight)
{
	int exponent = d->count - d->scale - 1, value = 0;
	if (d->count == 0) {
		*weight = 0;
		return 0;
	}
	*weight = exponent >= 0 ? exponent / GROUP : -((-exponent + GROUP - 1) / GROUP);
	int digits = exponent - *weight * GROUP + 1;
	for (int i = 0; i < digits; i++)
		value = 10 * value + (i < d->count ? d->digits[i] : 0);
	return value;
}

static int scale_of_quotient(const struct decimal *a, const struct decimal *b)
{
	int a_weight, b_weight, a_first = first_group(a, &a_weight),
				b_first = first_group(b, &b_weight);
	int weight = a_weight - b_weight - (a_first <= b_first);
	int scale = QUOTIENT_DIGITS - weight * GROUP;
	scale = scale > a->scale ? scale : a->scale;
	scale = scale > b->scale ? scale : b->scale;
	return scale > 0 ? scale : 0;
}

/* a / b of their digits, b not zero; `rest` is what is left. */
static void divide_digits(const struct decimal *a, const struct decimal *b,
	struct decimal *quotient, struct decimal *rest)
{
	*rest = (struct decimal){ .count = 0 };
	quotient->count = a->count;
	for (int i = 0; i < a->count; i++) {
		uint8_t digit = 0;
		if (rest->count || a->digits[i])
			rest->digits[rest->count++] = a->digits[i];
		for (; compare_digits(rest->digits, rest->count, b->digits, b->count) >= 0;
			digit++) {
			subtract_digits(rest, b, rest);
			trim(rest);
		}
		quotient->digits[i] = digit;
	}
}

static bool increment(struct decimal *d)
{
	const struct decimal one = { .scale = d->scale, .count = 1, .digits = { 1 } };
	struct decimal sum = *d;
	if (!add_digits(d, &one, &sum))
		return false;
	*d = sum;
	return true;
}

/* Is twice that at least the divisor? */
static bool is_half(const struct decimal *rest, const struct decimal *divisor)
{
	struct decimal twice = *rest;
	return !add_digits(rest, rest, &twice) ||
	       (trim(&twice), compare_digits(twice.digits, twice.count, divisor->digits,
				      divisor->count) >= 0);
}

enum decimal_answer decimal_divide(
	const struct decimal *left, const struct decimal *right, struct decimal *quotient)
{
	struct decimal a = *left, b = *right, rest;
	if (a.nan || b.nan) {
		set_nan(quotient);
		return DECIMAL_FINE;
	}
	if (b.count == 0)
		return DECIMAL_BY_ZERO;
	int scale = scale_of_quotient(&a, &b);
	if (!widen(&a, scale + b.scale))
		return DECIMAL_TOO_LONG;
	struct decimal result = { .negative = a.negative != b.negative, .scale = scale };
	divide_digits(&a, &b, &result, &rest);
	if (is_half(&rest, &b) && !increment(&result))
		return DECIMAL_TOO_LONG;
	trim(&result);
	*quotient = result;
	return DECIMAL_FINE;
}

enum decimal_answer decimal_modulo(
	const struct decimal *left, const struct decimal *right, struct decimal *rest)
{
	struct decimal a = *left, b = *right, quotient;
	if (a.nan || b.nan) {
		set_nan(rest);
		return DECIMAL_FINE;
	}
	if (b.count == 0)
		return DECIMAL_BY_ZERO;
	if (!align(&a, &b))
		return DECIMAL_TOO_LONG;
	divide_digits(&a, &b, &quotient, rest);
	rest->scale = a.scale;
	rest->negative = a.negative && rest->count;
	return DECIMAL_FINE;
}

/* ---- Comparing and rounding ------------------------------------------------------------------ */

int decimal_compare(const struct decimal *left, const struct decimal *right)
{
	struct decimal a = *left, b = *right;
	if (a.nan || b.nan)
		return a.nan - b.nan;
	if (a.negative != b.negative)
		return a.negative ? -1 : 1;
	int order = align(&a, &b) ? compare_digits(a.digits, a.count, b.digits, b.count)
				  : (a.count - a.scale) - (b.count - b.scale);
	return a.negative ? -order : order;
}

/* Behind a negative scale, digits in front of the point become zeros. */
enum decimal_answer decimal_round(struct decimal *d, int scale, bool cut)
{
	if (scale < -DECIMAL_DIGITS_MAX)
		scale = -DECIMAL_DIGITS_MAX; /* it is 0 there */
	if (d->nan)
		return DECIMAL_FINE;
	if (scale > DECIMAL_DIGITS_MAX)
		return DECIMAL_TOO_LONG;
	int dropped = d->scale - scale;
	if (dropped <= 0)
		return widen(d, scale) ? DECIMAL_FINE : DECIMAL_TOO_LONG;
	bool up = !cut && dropped <= d->count && d->digits[d->count - dropped] >= 5;
	d->count = dropped < d->count ? d->count - dropped : 0;
	d->scale = scale;
	bool negative = d->negative;
	if (up && !increment(d))
		return DECIMAL_TOO_LONG;
	trim(d);
	d->negative = negative && d->count;
	return scale >= 0 || widen(d, 0) ? DECIMAL_FINE : DECIMAL_TOO_LONG;
}

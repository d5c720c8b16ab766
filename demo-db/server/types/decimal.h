/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decimal.h - numbers of decimal digits, with the scale PostgreSQL's numeric gives each result.
 *
 * Pure. A number has at most DECIMAL_DIGITS_MAX digits, and as many behind the point; what would
 * have more is no answer.
 * Source: PostgreSQL documentation, "Arbitrary Precision Numbers"; the scale of a quotient as it shows.
 */
#ifndef DEMO_DB_DECIMAL_H
#define DEMO_DB_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECIMAL_DIGITS_MAX 400
#define DECIMAL_TEXT_MAX   (DECIMAL_DIGITS_MAX + 8)

struct decimal {
	bool negative, nan;
	int scale; /* digits behind the point */
	int count; /* all digits, without zeros in front of them */
	uint8_t digits[DECIMAL_DIGITS_MAX];
};

enum decimal_answer { DECIMAL_FINE, DECIMAL_TOO_LONG, DECIMAL_BY_ZERO };

/* False: the text is none, or too long. */
bool decimal_read(const char *text, struct decimal *d);
void decimal_of_integer(int64_t value, struct decimal *d);
/* `scale` digits behind the point; -1: as many as a float surely has, 15. */
bool decimal_of_real(double value, int scale, struct decimal *d);
void decimal_write(const struct decimal *d, char text[DECIMAL_TEXT_MAX]);

enum decimal_answer decimal_add(
	const struct decimal *a, const struct decimal *b, bool subtract, struct decimal *sum);
enum decimal_answer decimal_multiply(
	const struct decimal *a, const struct decimal *b, struct decimal *product);
enum decimal_answer decimal_divide(
	const struct decimal *a, const struct decimal *b, struct decimal *quotient);
enum decimal_answer decimal_modulo(
	const struct decimal *a, const struct decimal *b, struct decimal *rest);
int decimal_compare(const struct decimal *a, const struct decimal *b);
/* To so many digits behind the point, halves away from zero; or cut off there. */
enum decimal_answer decimal_round(struct decimal *d, int scale, bool cut);

#endif

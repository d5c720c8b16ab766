/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - what PostgreSQL has as functions and operators and SQLite does not, or does
 * otherwise. The rewriting (rewriter.h) puts the names that begin with pg_ into statements:
 *
 *   pg_int4(x), pg_date(x) …      casts that refuse, of each type of pg_types.def that has one;
 *                                 pg_numeric(x, p, s) rounds, pg_varchar(x, n), pg_bpchar(x, n) cut
 *   pg_divisor(x)                 x, unless it is zero
 *   pg_position(a, b)             position(a in b)
 *   regexp                        a ~ b; '(?i)' before the pattern ~*, '(?like)' ILIKE
 *   LIKE                          minds the case
 *   greatest least concat concat_ws left right repeat reverse lpad rpad split_part starts_with
 * strpos gen_random_uuid char_length octet_length date_part date_trunc bool_and bool_or every
 */
#ifndef DEMO_DB_FUNCTIONS_H
#define DEMO_DB_FUNCTIONS_H

struct sqlite3;

/* On a new connection; SQLite's result code. */
int functions_install(struct sqlite3 *db);

#endif

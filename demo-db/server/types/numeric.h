/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numeric.h - PostgreSQL's numeric as SQL functions. A column keeps one as SQLite's number; an
 * expression is the text of its digits, which is exact:
 *
 *   pg_exact(x)                    a numeric of it; of a float, its 15 digits
 *   pg_exact(x, p, s)              the same as numeric(p, s): rounded, or an error
 *   pg_scaled(x, s)                what a column of that scale holds
 *   pg_add pg_subtract pg_multiply pg_divide pg_modulo (a, b), pg_negate(a)
 *   pg_round pg_trunc (x[, digits]), pg_ceil pg_floor pg_abs pg_sign (x)
 *   pg_sum pg_avg (x)              aggregates, and over windows
 *   x COLLATE pg_numeric           order of two such texts
 */
#ifndef DEMO_DB_NUMERIC_H
#define DEMO_DB_NUMERIC_H

struct sqlite3;

int numeric_install(struct sqlite3 *db);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parameterize.h - takes the numbers out of a simple query, so that the same statement with other
 * numbers is the same statement: translated once, compiled once.
 *
 * Only integers behind a comparison, an arithmetic operator or in a VALUES list are taken, only of
 * SELECT, INSERT, UPDATE and DELETE, and only behind WHERE, SET or VALUES: there a parameter means
 * exactly what the literal means. (Not where a partial index or an ON CONFLICT … WHERE has to match
 * the text: the caller leaves those alone.) Pure; one pass, O(bytes).
 */
#ifndef DEMO_DB_PARAMETERIZE_H
#define DEMO_DB_PARAMETERIZE_H

#include "demo-db/engine/engine.h"

#define LITERALS_MAX	  32
#define LITERALS_TEXT_MAX 2048 /* bytes of a statement worth it */

struct parameterized {
	size_t used;  /* bytes of the statement in the source, its semicolon included */
	size_t bytes; /* of text */
	uint64_t hash;
	uint32_t count;
	struct db_value values[LITERALS_MAX];
	char text[LITERALS_TEXT_MAX]; /* the statement with $1, $2 … for them */
};

/* False: not a statement this is worth or safe for; take it as it is. */
bool parameterize(const char *sql, size_t bytes, struct parameterized *literals);

#endif

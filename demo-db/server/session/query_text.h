/* SPDX-License-Identifier: Apache-2.0 */
/* query_text.h - the statements of a simple query's text, one after the other. */
#ifndef DEMO_DB_QUERY_TEXT_H
#define DEMO_DB_QUERY_TEXT_H

#include <stdbool.h>

struct backend;
struct query;
struct statement;

/* Is the client's encoding LATIN1? */
bool query_speaks_latin1(const struct backend *backend);
/* A text of the client's as UTF-8, until the next is asked for; NULL: memory is out. */
const char *query_in_utf8(struct backend *backend, const char *text);
/* Only white space, comments and semicolons left? */
bool query_text_ends(const struct query *query);
/* Cuts the next statement off backend->query's text; not shared, see prepared_simple. NULL: memory
 * is out. */
struct statement *query_text_next(struct backend *backend);

#endif

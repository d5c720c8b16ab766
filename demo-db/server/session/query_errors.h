/* SPDX-License-Identifier: Apache-2.0 */
/* query_errors.h - telling a client that its statement failed, or is odd. */
#ifndef DEMO_DB_QUERY_ERRORS_H
#define DEMO_DB_QUERY_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct dialect;
struct query;

/* These tell the error and put the query's next step to STEP_FAILED; always true. */
bool query_fail(struct client *client, const char *sqlstate, const char *message, const char *hint);
/* Cancelled before the engine had it. */
bool query_fail_cancelled(struct client *client);
bool query_fail_by_engine(struct client *client);
bool query_fail_by_dialect(struct client *client, const struct dialect *dialect);
bool query_fail_in_failed_block(struct client *client);
bool query_fail_outside_block(struct client *client);
/* A text that is not UTF-8. */
bool query_fail_utf8(struct client *client, const char *text, size_t bytes);
bool query_fail_untyped(struct client *client, uint16_t parameter);

/* The result of a request the engine is not given, because its client is over: as of a cancel. */
bool query_refuse_start(struct query *query); /* always true */

/* A WARNING, unless the session wants none. */
void query_warn(struct client *client, const char *sqlstate, const char *message);
/* What DROP IF EXISTS or CREATE IF NOT EXISTS in hand is going to skip. */
void query_notice_skipped(struct client *client);

#endif

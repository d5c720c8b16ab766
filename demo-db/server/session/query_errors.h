/* SPDX-License-Identifier: Apache-2.0 */
/* query_errors.h - telling a client that its statement failed, or is odd. */
#ifndef DEMO_DB_QUERY_ERRORS_H
#define DEMO_DB_QUERY_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend;
struct dialect;
struct query;

/* These tell the error and put the query's next step to STEP_FAILED; always true. */
bool query_fail(
	struct backend *backend, const char *sqlstate, const char *message, const char *hint);
/* Cancelled before the engine had it. */
bool query_fail_cancelled(struct backend *backend);
bool query_fail_by_engine(struct backend *backend);
bool query_fail_by_dialect(struct backend *backend, const struct dialect *dialect);
bool query_fail_in_failed_block(struct backend *backend);
bool query_fail_outside_block(struct backend *backend);
/* A text that is not UTF-8. */
bool query_fail_utf8(struct backend *backend, const char *text, size_t bytes);
bool query_fail_untyped(struct backend *backend, uint16_t parameter);

/* The result of a request the engine is not given, because its client is over: as of a cancel. */
bool query_refuse_start(struct query *query); /* always true */

/* A WARNING, unless the session wants none. */
void query_warn(struct backend *backend, const char *sqlstate, const char *message);
/* What DROP IF EXISTS or CREATE IF NOT EXISTS in hand is going to skip. */
void query_notice_skipped(struct backend *backend);

#endif

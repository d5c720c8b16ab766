/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - the result of the statement in hand: its columns described, its rows encoded, its tag.
 */
#ifndef DEMO_DB_ROWS_H
#define DEMO_DB_ROWS_H

#include "demo-db/server/session/backend.h"

/* Before a statement runs. */
void rows_begin(struct backend *backend, bool describe);
/* The engine's callbacks; `arg` is the client. On the thread that runs the statement. */
int rows_on_columns(void *arg, const struct db_row *row);
int rows_on_row(void *arg, const struct db_row *row);
/* After it: CommandComplete, PortalSuspended or NoData. */
void rows_complete(struct backend *backend);
/* The portal in hand has run without the engine; its rows, if it returns any, are in it. */
void rows_keep(struct backend *backend, const char *tag, bool returns_rows);
/* Rows a portal still keeps: sends up to the limit, and the end if it is reached. */
void rows_continue(struct backend *backend);

#endif

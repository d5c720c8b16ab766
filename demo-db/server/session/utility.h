/* SPDX-License-Identifier: Apache-2.0 */
/* utility.h - statements the server answers itself: SET, SHOW, RESET, DISCARD, PAUSE, RESUME,
 * CHECKPOINT. BACKUP is one too, but takes its time: backup.h. */
#ifndef DEMO_DB_UTILITY_H
#define DEMO_DB_UTILITY_H

#include "demo-db/server/session/backend.h"

bool utility_is(const struct statement *statement);
/* Answers it, up to CommandComplete. False: an error was told. */
bool utility_answer(struct backend *backend);
/* The result columns of SHOW; 0 for the others. Names live as long as the statement. */
uint16_t utility_columns(const struct statement *statement, struct wire_column columns[3]);

#endif

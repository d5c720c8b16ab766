/* SPDX-License-Identifier: Apache-2.0 */
/* short_insert.h - an INSERT without a list of columns that has fewer values than the table. */
#ifndef DEMO_DB_SHORT_INSERT_H
#define DEMO_DB_SHORT_INSERT_H

#include <stdbool.h>

struct backend;

/* The statement in hand failed. True: for want of values; query.expanded names the columns it has
 * values for, as the table is now. */
bool short_insert_expand(struct backend *backend);

#endif

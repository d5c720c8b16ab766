/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extended.h - Parse, Bind, Describe, Execute, Close, Flush and Sync.
 *
 * A Describe of a portal is answered together with the Execute behind it, when that comes next, so
 * that the first row can tell the types nobody declared.
 */
#ifndef DEMO_DB_EXTENDED_H
#define DEMO_DB_EXTENDED_H

#include "demo-db/server/session/backend.h"

/* One message of a session; what it begins is run by query_run. */
void extended_message(struct backend *backend, const struct wire_message *message);
/* Before any message: answers a Describe that waits for an Execute which is not the one that comes.
 * False: that failed, and the failure is to be run before the message is taken. */
bool extended_settle(struct backend *backend, const struct wire_message *message);
/* Before an error or a notice of an Execute: answers the Describe that waits for its rows. */
void extended_describe_first(struct backend *backend);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* extended.h - Parse, Bind, Describe, Execute, Close, Flush and Sync. */
#ifndef DEMO_DB_EXTENDED_H
#define DEMO_DB_EXTENDED_H

#include "demo-db/server/session/client.h"

/* One message of a session; what it begins is run by query_run. */
void extended_message(struct client *client, const struct wire_message *message);

#endif

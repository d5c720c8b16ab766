/* SPDX-License-Identifier: Apache-2.0 */
/* startup.h - from a new socket to a session: requests for encryption, cancel requests, passwords.
 */
#ifndef DEMO_DB_STARTUP_H
#define DEMO_DB_STARTUP_H

#include "demo-db/server/session/client.h"

/* One message of a client that is not READY yet. */
void startup_message(struct client *client, const struct wire_message *message);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - libcancel as this server runs it: classes by business priority, options by name. */
#ifndef DEMO_DB_RUNTIME_H
#define DEMO_DB_RUNTIME_H

#include "demo-db/server/config/config.h"

/* Starts the library. 0, or -1 with one line in `message`. */
int runtime_start(const struct config *config, char message[CONFIG_MESSAGE_MAX]);
void runtime_stop(void);

#endif

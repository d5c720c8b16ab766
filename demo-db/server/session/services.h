/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - what all sessions of a server share. */
#ifndef DEMO_DB_SERVICES_H
#define DEMO_DB_SERVICES_H

#include "demo-db/server/admission/admission.h"
#include "demo-db/server/config/config.h"
#include "demo-db/server/net/reactor.h"
#include "demo-db/engine/engine.h"
#include "demo-db/server/net/scram.h"
#include "demo-db/server/session/backup.h"

#define SERVER_VERSION "PostgreSQL 15.0 compatible, demo-db on SQLite"

struct clients;

struct service_counters { /* each written by anybody */
	_Atomic uint64_t accepted, refused, cancel_requests, errors, handed_over;
};

struct services {
	struct config config;
	struct db_engine *engine;
	struct reactor *reactor;
	uint8_t scram_secret[SCRAM_KEY_BYTES];
	struct service_counters counters;
	struct clients *clients;
	struct admission admission;
	struct backup_turn backup;
	_Atomic bool checkpointing;	 /* somebody's CHECKPOINT keeps a serving thread */
	_Atomic uint64_t schema_version; /* counts the changes of the schema */
	_Atomic bool partial_indexes;	 /* some index has a WHERE: literals may matter to plans */
};

#endif

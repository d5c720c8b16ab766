/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - the memory of all statements together: who may sort and group now.
 *
 * A statement whose plan needs memory (sorters, ephemeral tables, the pages a big change touches)
 * asks for its grant before it starts; one that needs none is never asked. A grant is the size of
 * SQLite's page cache on the statement's connection, and stays with the connection as clean pages:
 * those of idle connections are evicted before anybody is refused, and nothing is evicted in vain.
 * Any thread.
 */
#ifndef DEMO_DB_BUDGET_H
#define DEMO_DB_BUDGET_H

#include "demo-db/engine/statement/connection.h"

#include <cancel/admission/memory_gate.h>

struct budget {
	bool limited;
	pthread_mutex_t mutex;
	struct cancel_memory_gate gate; /* under the mutex, as all below */
	uint64_t evicted_bytes;
	_Atomic uint64_t cancelled;	 /* statements that outgrew their grant */
	struct cancel_resource resource; /* MEMORY, units = pages of grants */
};

int budget_init(struct budget *budget, uint64_t limit_bytes);
void budget_destroy(struct budget *budget);
/* Gives the connection a cache of so many pages (0: its usual one). DB_ENOMEM with one line in
 * `failure`, when it does not fit. */
int budget_grant(struct budget *budget, struct connection *connection, uint32_t pages,
	struct failure *failure);
/* The connection is being closed: its grant is free. */
void budget_forget(struct budget *budget, const struct connection *connection);

struct budget_figures {
	uint64_t limit_bytes, granted_bytes, evicted_bytes, refused, cancelled;
};
void budget_read(struct budget *budget, struct budget_figures *figures);

#endif

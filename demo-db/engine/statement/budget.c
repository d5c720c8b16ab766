/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.c - owns the account of grants. What a plan needs is plan.c's to know; that an idle
 * connection's pages are clean is connection.c's doing.
 */
#include "demo-db/engine/statement/budget.h"

#include <string.h>

int budget_init(struct budget *budget, uint64_t limit_bytes)
{
	const struct cancel_memory_gate_options options = { .struct_size = sizeof(options),
		.limit_bytes = limit_bytes };
	memset(budget, 0, sizeof(*budget));
	budget->limited = limit_bytes != 0;
	if (budget->limited && cancel_memory_gate_init(&budget->gate, &options))
		return DB_EINVAL;
	const struct cancel_resource_options resource = { .struct_size = sizeof(resource),
		.capacity = limit_bytes / DB_PAGE_BYTES };
	if (budget->limited)
		budget->resource = createResource("statement_memory", CANCEL_MEMORY, &resource);
	return pthread_mutex_init(&budget->mutex, NULL) ? DB_ENOMEM : 0;
}

void budget_destroy(struct budget *budget)
{
	pthread_mutex_destroy(&budget->mutex);
}

static uint64_t bytes_of(uint32_t pages)
{
	return (uint64_t)pages * DB_PAGE_BYTES;
}

static void change(struct budget *budget, int64_t bytes)
{
	cancel_memory_gate_observe(&budget->gate, cancel_now_ns(), bytes);
}

/* Asks for more; *evict_bytes is what must go first, if anything. */
static enum cancel_memory_verdict ask(
	struct budget *budget, uint64_t need_bytes, uint64_t evictable_bytes, uint64_t *evict_bytes)
{
	pthread_mutex_lock(&budget->mutex);
	enum cancel_memory_verdict verdict = cancel_memory_gate_admit(
		&budget->gate, cancel_now_ns(), need_bytes, evictable_bytes, evict_bytes);
	pthread_mutex_unlock(&budget->mutex);
	return verdict;
}

/* Clean pages of idle connections go, until so much is free. */
static void evict(struct budget *budget, struct connections *pool, uint64_t wanted_bytes)
{
	uint64_t freed = connections_shrink_idle(pool, wanted_bytes);
	pthread_mutex_lock(&budget->mutex);
	change(budget, -(int64_t)freed);
	budget->evicted_bytes += freed;
	pthread_mutex_unlock(&budget->mutex);
}

static int refuse(struct budget *budget, uint64_t need_bytes, struct failure *failure)
{
	pthread_mutex_lock(&budget->mutex);
	uint64_t used = budget->gate.used_bytes, limit = budget->gate.limit_bytes;
	pthread_mutex_unlock(&budget->mutex);
	return failure_set(failure, DB_ENOMEM,
		"the plan needs %llu KiB of memory, %llu of %llu KiB are granted to others",
		(unsigned long long)(need_bytes / 1024), (unsigned long long)(used / 1024),
		(unsigned long long)(limit / 1024));
}

static int take(struct budget *budget, struct connection *connection, uint64_t need_bytes,
	struct failure *failure)
{
	uint64_t evict_bytes = 0;
	enum cancel_memory_verdict verdict = CANCEL_MEMORY_EVICT;
	for (int attempt = 0; attempt < 2 && verdict == CANCEL_MEMORY_EVICT; attempt++) {
		uint64_t evictable = connections_idle_bytes(connection->pool);
		verdict = ask(budget, need_bytes, evictable, &evict_bytes);
		if (verdict == CANCEL_MEMORY_EVICT)
			evict(budget, connection->pool, evict_bytes);
	}
	return verdict == CANCEL_MEMORY_GO ? 0 : refuse(budget, need_bytes, failure);
}

int budget_grant(struct budget *budget, struct connection *connection, uint32_t pages,
	struct failure *failure)
{
	uint64_t had = bytes_of(connection->granted_pages), wanted = bytes_of(pages);
	if (!budget->limited) {
		connection_set_cache(connection, pages);
		return 0;
	}
	if (wanted > had) {
		int rc = take(budget, connection, wanted - had, failure);
		if (rc)
			return rc;
	}
	connection_set_cache(connection, pages);
	connection->granted_pages = pages;
	if (wanted < had) {
		pthread_mutex_lock(&budget->mutex);
		change(budget, (int64_t)wanted - (int64_t)had);
		pthread_mutex_unlock(&budget->mutex);
	}
	return 0;
}

void budget_forget(struct budget *budget, const struct connection *connection)
{
	if (!budget->limited || !connection->granted_pages)
		return;
	pthread_mutex_lock(&budget->mutex);
	change(budget, -(int64_t)bytes_of(connection->granted_pages));
	pthread_mutex_unlock(&budget->mutex);
}

void budget_read(struct budget *budget, struct budget_figures *figures)
{
	pthread_mutex_lock(&budget->mutex);
	*figures = (struct budget_figures){ .limit_bytes = budget->gate.limit_bytes,
		.granted_bytes = budget->gate.used_bytes,
		.evicted_bytes = budget->evicted_bytes,
		.refused = budget->gate.refused,
		.cancelled = atomic_load_explicit(&budget->cancelled, memory_order_relaxed) };
	pthread_mutex_unlock(&budget->mutex);
}

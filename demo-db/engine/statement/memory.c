/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - an allocator between SQLite and malloc that knows on whose behalf it works.
 *
 * Owns the process-wide hooks (sqlite3_config) and a thread-local pointer to the account that
 * pays. SQLite's own statistics are turned off: they cost a global mutex for each allocation.
 */
#include "demo-db/engine/statement/memory.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

#define LARGE_BYTES (1 << 20)

static _Thread_local struct memory_account *payer;
static sqlite3_mem_methods base;
static bool installed;

static void charge(int64_t bytes)
{
	struct memory_account *account = payer;
	if (!account)
		return;
	int64_t now = atomic_load_explicit(&account->bytes, memory_order_relaxed) + bytes;
	atomic_store_explicit(&account->bytes, now, memory_order_relaxed);
	if (now > atomic_load_explicit(&account->peak, memory_order_relaxed))
		atomic_store_explicit(&account->peak, now, memory_order_relaxed);
}

/* A single value may be as large as the machine; that many small ones are is seen in time by the
 * progress handler, and none of them fails. */
static bool is_refused(int64_t more)
{
	struct memory_account *account = payer;
	if (more < LARGE_BYTES || !account || !account->limit)
		return false;
	int64_t total = atomic_load_explicit(&account->bytes, memory_order_relaxed) + more;
	if (total <= (int64_t)account->limit)
		return false;
	account->refused = (uint64_t)total;
	return true;
}

static void *counted_malloc(int bytes)
{
	if (is_refused(bytes))
		return NULL;
	void *memory = base.xMalloc(bytes);
	if (memory)
		charge(base.xSize(memory));
	return memory;
}

static void counted_free(void *memory)
{
	charge(-(int64_t)base.xSize(memory));
	base.xFree(memory);
}

static void *counted_realloc(void *memory, int bytes)
{
	int64_t before = base.xSize(memory);
	if (is_refused(bytes - before))
		return NULL;
	void *moved = base.xRealloc(memory, bytes);
	if (moved)
		charge(base.xSize(moved) - before);
	return moved;
}

static void install(void)
{
	if (sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK)
		return; /* already initialised */
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &base) != SQLITE_OK)
		return;
	sqlite3_mem_methods counted = base;
	counted.xMalloc = counted_malloc;
	counted.xFree = counted_free;
	counted.xRealloc = counted_realloc;
	installed = sqlite3_config(SQLITE_CONFIG_MALLOC, &counted) == SQLITE_OK;
}

bool memory_install(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install);
	return installed;
}

struct memory_account *memory_charge(struct memory_account *account)
{
	struct memory_account *former = payer;
	payer = account;
	return former;
}

struct memory_account *memory_charged(void)
{
	return payer;
}

void memory_reset(struct memory_account *account, uint64_t limit)
{
	account->limit = limit;
	account->refused = 0;
	atomic_store_explicit(&account->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&account->peak, 0, memory_order_relaxed);
}

static uint64_t positive(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

uint64_t memory_peak(const struct memory_account *account)
{
	return positive(atomic_load_explicit(&account->peak, memory_order_relaxed));
}

uint64_t memory_bytes(const struct memory_account *account)
{
	return positive(atomic_load_explicit(&account->bytes, memory_order_relaxed));
}

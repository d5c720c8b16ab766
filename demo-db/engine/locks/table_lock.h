/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_lock.h - the lock of each table, by name, and the sets of them a statement needs.
 */
#ifndef DEMO_DB_TABLE_LOCK_H
#define DEMO_DB_TABLE_LOCK_H

#include "demo-db/engine/locks/lock.h"

/* Weakest first. The conflicts are PostgreSQL's (documentation, table 13.2 "Conflicting Lock
 * Modes"), of which SQLite's statements need four. */
enum table_mode {
	TABLE_ACCESS_SHARE = 1,
	TABLE_ROW_EXCLUSIVE,
	TABLE_SHARE,
	TABLE_ACCESS_EXCLUSIVE,
};
extern const struct lock_kind table_lock_kind;

#define TABLE_NAME_MAX	 128 /* bytes kept of a name, terminator included */
#define TABLE_HASH_SLOTS (2 * DB_TABLES_MAX)

struct table {
	char name[TABLE_NAME_MAX]; /* lower case */
	struct lock lock;
	_Atomic bool is_virtual; /* its shadow tables (name_suffix) are part of it */
};

struct table_catalog {
	pthread_mutex_t mutex;
	struct table *tables[DB_TABLES_MAX]; /* by instance; never freed before the catalog */
	uint16_t hash[TABLE_HASH_SLOTS];     /* instance + 1, 0 = empty */
	_Atomic uint32_t count;
};

int table_catalog_init(struct table_catalog *catalog);
void table_catalog_destroy(struct table_catalog *catalog);
/* The table of that name, made on first sight; NULL when the catalog is full. A shadow table of a
 * virtual table is that table. */
struct table *table_find(struct table_catalog *catalog, const char *name);
void table_mark_virtual(struct table_catalog *catalog, const char *name);
const char *table_name(const struct table_catalog *catalog, uint32_t instance);

/* ---- Sets ------------------------------------------------------------------------------------ */

#define LOCK_SET_INLINE 4

/* Tables and modes, in the order of names, each table's modes reduced to those not implied. */
struct lock_set {
	struct lock_want {
		struct table *table;
		uint8_t modes; /* bit (mode - 1) */
	} * wants;
	uint32_t count, capacity;
	struct lock_want inline_wants[LOCK_SET_INLINE];
};

void lock_set_init(struct lock_set *set);
void lock_set_free(struct lock_set *set);
int lock_set_add(struct lock_set *set, struct table *table, uint8_t mode);
/* Would holding the set allow what `mode` allows? */
bool lock_set_covers(const struct lock_set *set, const struct table *table, uint8_t mode);
bool lock_set_equal(const struct lock_set *a, const struct lock_set *b);

#endif

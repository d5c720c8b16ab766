/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_lock.c - names of tables, their locks, and lock sets.
 *
 * Owns the catalog: a name gets a lock the first time a statement mentions it and keeps it until
 * the engine closes, also when the table is dropped and made again, so an instance number means
 * one name forever.
 */
#include "demo-db/engine/locks/table_lock.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

#define AS (1u << (TABLE_ACCESS_SHARE - 1))
#define RE (1u << (TABLE_ROW_EXCLUSIVE - 1))
#define SH (1u << (TABLE_SHARE - 1))
#define AE (1u << (TABLE_ACCESS_EXCLUSIVE - 1))

const struct lock_kind table_lock_kind = {
	.index = LOCK_KIND_TABLE,
	.name = "table",
	.mode_names = { "ACCESS SHARE", "ROW EXCLUSIVE", "SHARE", "ACCESS EXCLUSIVE" },
	.conflicts = { AE, SH | AE, RE | AE, AS | RE | SH | AE },
};

int table_catalog_init(struct table_catalog *catalog)
{
	memset(catalog, 0, sizeof(*catalog));
	return pthread_mutex_init(&catalog->mutex, NULL) ? DB_ENOMEM : 0;
}

void table_catalog_destroy(struct table_catalog *catalog)
{
	for (uint32_t i = 0; i < catalog->count; i++)
		free(catalog->tables[i]);
	pthread_mutex_destroy(&catalog->mutex);
}

/* SQLite compares names without regard to ASCII case. */
static void lower(char out[TABLE_NAME_MAX], const char *name)
{
	size_t length = 0;
	for (; length < TABLE_NAME_MAX - 1 && name[length]; length++) {
		char c = name[length];
		out[length] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	out[length] = '\0';
}

static struct table *look_up(
	const struct table_catalog *catalog, const char *lowered, uint32_t *slot)
{
	uint32_t at = (uint32_t)hash_text(lowered) % TABLE_HASH_SLOTS;
	while (catalog->hash[at]) {
		struct table *table = catalog->tables[catalog->hash[at] - 1];
		if (strcmp(table->name, lowered) == 0)
			return table;
		at = (at + 1) % TABLE_HASH_SLOTS;
	}
	*slot = at;
	return NULL;
}

static struct table *add(struct table_catalog *catalog, const char *lowered, uint32_t slot)
{
	if (catalog->count == DB_TABLES_MAX)
		return NULL;
	struct table *table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	memcpy(table->name, lowered, TABLE_NAME_MAX);
	lock_init(&table->lock, &table_lock_kind, table->name, catalog->count);
	catalog->tables[catalog->count] = table;
	catalog->hash[slot] = (uint16_t)(catalog->count + 1);
	catalog->count++;
	return table;
}

/* "docs_data" belongs to "docs" if that is a virtual table. */
static struct table *virtual_owner(const struct table_catalog *catalog, const char *lowered)
{
	char prefix[TABLE_NAME_MAX];
	memcpy(prefix, lowered, TABLE_NAME_MAX);
	for (char *end = strrchr(prefix, '_'); end; end = strrchr(prefix, '_')) {
		uint32_t slot;
		*end = '\0';
		struct table *table = look_up(catalog, prefix, &slot);
		if (table && table->is_virtual)
			return table;
	}
	return NULL;
}

struct table *table_find(struct table_catalog *catalog, const char *name)
{
	char lowered[TABLE_NAME_MAX];
	uint32_t slot = 0;
	lower(lowered, name);
	pthread_mutex_lock(&catalog->mutex);
	struct table *table = virtual_owner(catalog, lowered);
	if (!table)
		table = look_up(catalog, lowered, &slot);
	if (!table)
		table = add(catalog, lowered, slot);
	pthread_mutex_unlock(&catalog->mutex);
	return table;
}

void table_mark_virtual(struct table_catalog *catalog, const char *name)
{
	struct table *table = table_find(catalog, name);
	if (table)
		table->is_virtual = true;
}

const char *table_name(const struct table_catalog *catalog, uint32_t instance)
{
	return instance < catalog->count ? catalog->tables[instance]->name : NULL;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

void lock_set_init(struct lock_set *set)
{
	set->wants = set->inline_wants;
	set->count = 0;
	set->capacity = LOCK_SET_INLINE;
}

void lock_set_free(struct lock_set *set)
{
	if (set->wants != set->inline_wants)
		free(set->wants);
	lock_set_init(set);
}

static int grow(struct lock_set *set)
{
	uint32_t capacity = set->capacity * 2;
	struct lock_want *wants = malloc(capacity * sizeof(*wants));
	if (!wants)
		return DB_ENOMEM;
	memcpy(wants, set->wants, set->count * sizeof(*wants));
	if (set->wants != set->inline_wants)
		free(set->wants);
	set->wants = wants;
	set->capacity = capacity;
	return 0;
}

static uint8_t barred_by(uint8_t modes)
{
	uint8_t barred = 0;
	for (uint8_t i = 0; i < LOCK_MODES_MAX; i++)
		if (modes & (1u << i))
			barred |= table_lock_kind.conflicts[i];
	return barred;
}

static bool implied(uint8_t modes, uint8_t mode)
{
	return modes && (table_lock_kind.conflicts[mode - 1] & ~barred_by(modes)) == 0;
}

static uint8_t merge(uint8_t modes, uint8_t mode)
{
	if (implied(modes, mode))
		return modes;
	uint8_t merged = (uint8_t)(1u << (mode - 1));
	for (uint8_t other = 1; other <= LOCK_MODES_MAX; other++)
		if ((modes & (1u << (other - 1))) && !implied(merged, other))
			merged |= (uint8_t)(1u << (other - 1));
	return merged;
}

int lock_set_add(struct lock_set *set, struct table *table, uint8_t mode)
{
	uint32_t at = 0;
	while (at < set->count && strcmp(set->wants[at].table->name, table->name) < 0)
		at++;
	if (at < set->count && set->wants[at].table == table) {
		set->wants[at].modes = merge(set->wants[at].modes, mode);
		return 0;
	}
	if (set->count == set->capacity) {
		int rc = grow(set);
		if (rc)
			return rc;
	}
	memmove(&set->wants[at + 1], &set->wants[at], (set->count - at) * sizeof(set->wants[0]));
	set->wants[at] = (struct lock_want){ .table = table, .modes = (uint8_t)(1u << (mode - 1)) };
	set->count++;
	return 0;
}

bool lock_set_covers(const struct lock_set *set, const struct table *table, uint8_t mode)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->wants[i].table == table)
			return implied(set->wants[i].modes, mode);
	return false;
}

bool lock_set_equal(const struct lock_set *a, const struct lock_set *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->wants[i].table != b->wants[i].table ||
			a->wants[i].modes != b->wants[i].modes)
			return false;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.c - owns the table of resources.
 */
#include "libcancel/track/resource.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "libcancel/base/lock_modes.h"
#include "libcancel/base/struct_size.h"
#include "libcancel/track/count.h"
#include "libcancel/track/library_state.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; of writing, and of names */
_Atomic uint32_t resource_table_age;
struct resource resource_table[CANCEL_RESOURCES_MAX];
static _Atomic uint32_t table_count; /* released after the entry it covers is written */

uint32_t resource_count(void)
{
	return load_acquire(&table_count);
}

static uint32_t make_id(uint32_t index, enum cancel_resource_type type, uint32_t modes)
{
	uint32_t width_log2 = modes <= 2 ? 5 : modes <= 4 ? 4 : 3;
	return (index + 1) | (uint32_t)type << 8 | width_log2 << 10 | modes << 13 |
	       load_relaxed(&resource_table_age) << RESOURCE_AGE_SHIFT;
}

static struct cancel_resource find(const char *name, enum cancel_resource_type type)
{
	struct cancel_resource none = { 0 };
	uint32_t n = load_relaxed(&table_count);
	for (uint32_t i = 0; i < n; i++)
		if (resource_type(resource_id(i)) == type &&
			strncmp(resource_table[i].name, name, CANCEL_NAME_MAX - 1) == 0)
			return resource_id(i);
	return none;
}

static struct cancel_resource append(const char *name, enum cancel_resource_type type,
	uint64_t capacity, const uint8_t *conflicts)
{
	struct cancel_resource none = { 0 };
	uint32_t index = load_relaxed(&table_count);
	if (index == CANCEL_RESOURCES_MAX) {
		count(CANCEL_COUNT_resources_refused);
		return none;
	}
	struct resource *r = &resource_table[index];
	uint32_t modes = type == CANCEL_LOCK ? lock_modes_count(conflicts) : 1;
	r->capacity = capacity;
	store_relaxed(&r->id, make_id(index, type, modes));
	snprintf(r->name, sizeof r->name, "%s", name);
	memset(r->conflicts, 0, sizeof r->conflicts);
	if (type == CANCEL_LOCK)
		memcpy(r->conflicts, conflicts, sizeof r->conflicts);
	store_release(&table_count, index + 1);
	return resource_id(index);
}

struct cancel_resource cancel_create_resource(const char *name, enum cancel_resource_type type,
	const struct cancel_resource_options *options)
{
	struct cancel_resource r = { 0 };
	struct cancel_resource_options o;
	if (!library_has_resources() || own_thread) {
		count_untracked();
		return r;
	}
	if (!struct_size_read(&o, sizeof o, options))
		count(CANCEL_COUNT_bad_options);
	if (!name || !name[0] || type < CANCEL_LOCK || type > CANCEL_QUEUE ||
		!lock_modes_are_symmetric(o.conflicts)) {
		count(CANCEL_COUNT_resources_refused);
		return r;
	}
	pthread_mutex_lock(&lock);
	r = find(name, type);
	if (!r.id)
		r = append(name, type, o.capacity, lock_modes_in_force(o.conflicts));
	pthread_mutex_unlock(&lock);
	return r;
}

void resources_forget(void)
{
	pthread_mutex_lock(&lock);
	store_release(&table_count, 0);
	uint32_t age = load_relaxed(&resource_table_age) + 1;
	store_relaxed(&resource_table_age, age << RESOURCE_AGE_SHIFT >> RESOURCE_AGE_SHIFT);
	pthread_mutex_unlock(&lock);
}

void resources_lock(void)
{
	pthread_mutex_lock(&lock);
}

void resources_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

int cancel_resource_index(struct cancel_resource r)
{
	uint32_t index = resource_index(r);
	return resource_valid(r) && index < resource_count() ? (int)index : -1;
}

void cancel_resource_name(int index, char name[CANCEL_NAME_MAX])
{
	resources_lock();
	uint32_t n = resource_count();
	snprintf(name, CANCEL_NAME_MAX, "%s",
		index >= 0 && (uint32_t)index < n ? resource_table[index].name : "");
	resources_unlock();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - the sixteen exact (resource, instance) entries of a task, and where the rest goes.
 */
#ifndef CANCEL_TRACK_ENTRY_H
#define CANCEL_TRACK_ENTRY_H

#include "libcancel/track/resource.h"
#include "libcancel/track/slot.h"

#define ENTRY_NONE CANCEL_ENTRIES_MAX

/* The whole id and the instance: an id of another age finds nothing. */
static inline uint64_t entry_key(struct cancel_resource r, uint32_t instance)
{
	return (uint64_t)instance << 32 | r.id;
}

static inline uint32_t key_resource(uint64_t key)
{
	return (uint32_t)(key & 0xff) - 1;
}

static inline uint32_t key_instance(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

/* Owner. The index of the entry with this key, ENTRY_NONE if there is none. Tasks mostly use what
 * they used last; the rest of the search is a call. */
uint32_t entry_search(struct slot *s, uint64_t key);

static inline uint32_t entry_find(struct slot *s, uint64_t key)
{
	uint32_t last = s->last;
	return likely(load_relaxed(&s->keys[last]) == key) ? last : entry_search(s, key);
}

/* Owner. A new entry for this key: an unused one, or an idle one whose totals are folded into its
 * resource's. ENTRY_NONE when all sixteen are in use. */
uint32_t entry_take(struct slot *s, uint64_t key);

/* Owner. The totals of everything that is not an exact entry of this resource. */
struct folded *entry_folded(struct slot *s, uint32_t resource);

#endif

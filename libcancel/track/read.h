/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - a consistent copy of one live slot, taken by any thread at any time.
 */
#ifndef CANCEL_TRACK_READ_H
#define CANCEL_TRACK_READ_H

#include "libcancel/track/slot.h"
#include "libcancel/track/totals.h"

enum read_answer { READ_LIVE, READ_NONE, READ_TORN };

/*
 * Copies a live task and its entries at time now_ns; totals of what is no exact entry are added
 * to folded[resource], waits only where the task bears an SLO. `entries` has room for
 * CANCEL_ENTRIES_MAX; task->first_entry is the caller's. Entries of resources from
 * resource_limit on are left out.
 */
enum read_answer slot_read(struct slot *s, uint64_t now_ns, uint32_t resource_limit,
	struct cancel_ledger_task *task, struct cancel_ledger_entry *entries,
	struct ended_use *folded);

#endif

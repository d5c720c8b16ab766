/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction.h - between the hot calls (usage.c) and what stalls for memory mean to others.
 */
#ifndef CANCEL_TRACK_EVICTION_H
#define CANCEL_TRACK_EVICTION_H

#include "libcancel/track/slot.h"

/* Owner: a wait for this MEMORY resource has ended; keeps the charge for the next flush. Hot. */
void eviction_stall_ended(struct slot *s, struct cancel_resource r, uint64_t stall_ns);
/* Owner: charges the stall that is kept, if any. */
void eviction_flush(struct slot *s);

/* A charge as its reader sees it: 0 when it belongs to an earlier task of this slot. */
uint64_t eviction_charged_ns(const struct slot *s, uint64_t generation, uint32_t resource);

#endif

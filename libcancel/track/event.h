/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - what happened to cancelled tasks, on its way to the next ledger.
 */
#ifndef CANCEL_TRACK_EVENT_H
#define CANCEL_TRACK_EVENT_H

#include <cancel/policy.h>

#define EVENTS_MAX 1024

/* Any thread, cold: a leaf lock. A full table counts events_dropped. */
void event_post(enum cancel_event_kind kind, uint64_t task, uint64_t at_ns, uint64_t wasted_ns);
/* Controller: moves all events out, ordered by time. Returns how many. */
uint32_t events_take(struct cancel_event out[EVENTS_MAX]);
void events_forget(void);

void events_lock_for_fork(void);
void events_unlock_after_fork(bool child);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.h - from what an adapter reports, look by look, to a ledger. Pure: the memory and the time
 * are the caller's.
 */
#ifndef CANCEL_FEED_LOOK_H
#define CANCEL_FEED_LOOK_H

#include <cancel/feed.h>

#define LOOK_EVENTS_MAX 256u
#define LOOK_ORDERS_MAX 64u

struct look; /* opaque, one block of zeroed memory */

/* What was refused, since the start. */
struct look_refused {
	uint64_t tasks, entries, modes, events;
};

size_t look_bytes(uint32_t task_limit);
void look_init(struct look *l, uint32_t task_limit);

void look_begin(struct look *l, uint64_t now_ns);
/* The SLO is the one in force. A handle, CANCEL_EINVAL, CANCEL_ENOMEM or CANCEL_ESTATE. */
int look_task(struct look *l, const struct cancel_feed_task *task);
/* `r` is row number `resource` of the table given to look_end. */
void look_hold(struct look *l, int task, uint32_t resource, const struct cancel_ledger_resource *r,
	uint64_t instance, uint64_t amount, uint64_t since_ns);
void look_wait(struct look *l, int task, uint32_t resource, const struct cancel_ledger_resource *r,
	uint64_t instance, uint64_t amount, uint64_t since_ns);
void look_completed(struct look *l, uint8_t class_index, uint64_t count, uint64_t late,
	uint64_t active_ns, const uint64_t *latency);
/* The latencies reported for a class; NULL: none. */
const uint64_t *look_latency(const struct look *l, uint8_t class_index);

/* The ledger of this look; NULL when none has begun. `resources` has CANCEL_RESOURCES_MAX rows, of
 * which type, capacity and conflicts are read and the totals are written. */
struct cancel_ledger *look_end(
	struct look *l, struct cancel_ledger_resource *resources, uint32_t resource_count);

/* After a verdict: remembers that this task is to be cancelled, and fills all but the text. */
bool look_order(struct look *l, const struct cancel_decision *d, struct cancel_order *order);
void look_answer(struct look *l, uint64_t serial, enum cancel_event_kind what, uint64_t at_ns);

const struct look_refused *look_refused(const struct look *l);

#endif

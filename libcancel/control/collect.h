/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - from the slots to a ledger.
 */
#ifndef CANCEL_CONTROL_COLLECT_H
#define CANCEL_CONTROL_COLLECT_H

#include <cancel/policy.h>

#include "libcancel/track/event.h"
#include "libcancel/track/totals.h"

struct collector {
	struct cancel_ledger ledger; /* points into the rest */
	uint32_t task_limit;
	struct cancel_ledger_task *tasks;    /* task_limit */
	struct cancel_ledger_entry *entries; /* CANCEL_ENTRIES_MAX each */
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
	struct cancel_event events[EVENTS_MAX];
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
	struct totals totals;
};

/* 0 or CANCEL_ENOMEM. The memory is mapped, and touched only as tasks need it. */
int collector_init(struct collector *c, uint32_t task_limit);
void collector_free(struct collector *c);

/* One resource as a ledger shows it, with what ended tasks made of it. Any thread. */
void collect_resource(
	uint32_t index, const struct ended_use *ended, struct cancel_ledger_resource *resource);

/* Fills c->ledger with the instant now_ns. Controller thread only. */
void collect(struct collector *c, uint64_t now_ns);

#endif

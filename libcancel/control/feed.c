/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - owns the calls of cancel/feed.h: it checks what an adapter says, looks up what the
 * library knows of classes and resources, and hands each look to the controller.
 */
#include "libcancel/control/feed.h"

#include <string.h>
#include <sys/mman.h>

#include "libcancel/base/struct_size.h"
#include "libcancel/control/collect.h"
#include "libcancel/control/controller.h"
#include "libcancel/control/slo_learner.h"
#include "libcancel/control/recording.h"
#include "libcancel/feed/look.h"
#include "libcancel/track/count.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/resource.h"

static struct {
	struct look *look; /* NULL: not started */
	size_t bytes;
	struct options options; /* as at start: classes, for the learner */
	bool learning, ordered;
	uint64_t now_ns;
	struct look_refused counted;
	struct cancel_order order;
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
} feed;

static bool send_order(const struct cancel_decision *d)
{
	feed.ordered = look_order(feed.look, d, &feed.order);
	text_of_decision(d, &library_names, feed.order.text);
	return feed.ordered;
}

void feed_stop(void)
{
	if (feed.look)
		munmap(feed.look, feed.bytes);
	feed.look = NULL;
}

int feed_start(const struct options *o)
{
	memset(&feed, 0, sizeof feed);
	feed.options = *o;
	feed.bytes = look_bytes(o->max_tasks);
	void *memory = mmap(NULL, feed.bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return CANCEL_ENOMEM;
	feed.look = memory;
	look_init(feed.look, o->max_tasks);
	int error = controller_start_fed(o, send_order);
	if (error)
		feed_stop();
	return error;
}

void feed_read_learned(uint32_t class_index, uint64_t *counts)
{
	const uint64_t *latency = feed.look ? look_latency(feed.look, (uint8_t)class_index) : NULL;
	if (latency)
		memcpy(counts, latency, CANCEL_HISTOGRAM_MAX * sizeof *counts);
	else
		memset(counts, 0, CANCEL_HISTOGRAM_MAX * sizeof *counts);
}

/* ---- What an adapter calls ------------------------------------------------------------------- */

/* False, and counted: not started as a feed, or called by a listener. */
static bool may_call(void)
{
	if (count_own_thread())
		return false;
	if (feed.look && load_acquire(&library_state.phase) == LIBRARY_FED)
		return true;
	count(CANCEL_COUNT_not_running);
	return false;
}

void cancel_feed_begin(uint64_t now_ns)
{
	if (!may_call())
		return;
	feed.now_ns = now_ns;
	look_begin(feed.look, now_ns);
}

static uint8_t class_of(uint8_t index)
{
	if (index < load_relaxed(&library_state.class_count))
		return index;
	count(CANCEL_COUNT_bad_class);
	return 0;
}

int cancel_feed_add_task(const struct cancel_feed_task *task)
{
	struct cancel_feed_task t;
	if (!may_call())
		return CANCEL_ESTATE;
	if (!task || !struct_size_read(&t, sizeof t, task))
		return CANCEL_EINVAL;
	t.class_index = class_of(t.class_index);
	const struct library_class *class = &library_state.classes[t.class_index];
	if (!t.slo_ns && !(t.flags & CANCEL_BACKGROUND))
		t.slo_ns = load_relaxed(&class->slo_ns);
	if (!t.rank)
		t.rank = load_relaxed(&class->rank);
	if (load_relaxed(&class->exempt))
		t.flags |= CANCEL_EXEMPT;
	return look_task(feed.look, &t);
}

/* The ledger's row of a resource an adapter may use; NULL, and counted. */
static const struct cancel_ledger_resource *row_of(struct cancel_resource r)
{
	static const struct ended_use none;
	if (!may_call())
		return NULL;
	if (!resource_valid(r) || resource_index(r) >= resource_count()) {
		count(CANCEL_COUNT_bad_resource);
		return NULL;
	}
	if (resource_type(r) == CANCEL_MEMORY) {
		count(CANCEL_COUNT_wrong_type);
		return NULL;
	}
	struct cancel_ledger_resource *row = &feed.resources[resource_index(r)];
	if (!row->type)
		collect_resource(resource_index(r), &none, row);
	return row;
}

void cancel_feed_hold(
	int task, struct cancel_resource r, uint64_t instance, uint64_t amount, uint64_t since_ns)
{
	const struct cancel_ledger_resource *row = row_of(r);
	if (row)
		look_hold(feed.look, task, resource_index(r), row, instance, amount, since_ns);
}

void cancel_feed_wait(
	int task, struct cancel_resource r, uint64_t instance, uint64_t amount, uint64_t since_ns)
{
	const struct cancel_ledger_resource *row = row_of(r);
	if (row)
		look_wait(feed.look, task, resource_index(r), row, instance, amount, since_ns);
}

void cancel_feed_completed(uint8_t class_index, uint64_t episodes, uint64_t late,
	uint64_t active_ns, const uint64_t *latency)
{
	if (!may_call())
		return;
	if (latency && !feed.learning) {
		feed.learning = true;
		slo_learner_start(&feed.options, feed.now_ns);
	}
	look_completed(feed.look, class_of(class_index), episodes, late, active_ns, latency);
}

static void count_refused(void)
{
	const struct look_refused *r = look_refused(feed.look);
	struct look_refused *before = &feed.counted;
	add_relaxed(&count_global[CANCEL_COUNT_tasks_refused], r->tasks - before->tasks);
	add_relaxed(&count_global[CANCEL_COUNT_entries_dropped], r->entries - before->entries);
	add_relaxed(&count_global[CANCEL_COUNT_wrong_mode], r->modes - before->modes);
	add_relaxed(&count_global[CANCEL_COUNT_events_dropped], r->events - before->events);
	*before = *r;
}

bool cancel_feed_end(struct cancel_order *order)
{
	static const struct ended_use none;
	if (!may_call())
		return false;
	uint32_t resources = resource_count();
	for (uint32_t i = 0; i < resources; i++)
		if (!feed.resources[i].type)
			collect_resource(i, &none, &feed.resources[i]);
	struct cancel_ledger *ledger = look_end(feed.look, feed.resources, resources);
	if (!ledger)
		return false;
	count_refused();
	feed.ordered = false;
	controller_take_look(ledger);
	ledger->event_count = 0;
	if (!feed.ordered || !order || order->struct_size < sizeof order->struct_size)
		return false;
	size_t bytes =
		order->struct_size < sizeof feed.order ? order->struct_size : sizeof feed.order;
	feed.order.struct_size = order->struct_size;
	memcpy(order, &feed.order, bytes);
	return true;
}

void cancel_feed_answer(uint64_t serial, enum cancel_event_kind what, uint64_t at_ns)
{
	if (!may_call())
		return;
	if (what == CANCEL_EVENT_DELIVERED)
		count(CANCEL_COUNT_delivered);
	else if (what == CANCEL_EVENT_IGNORED)
		count(CANCEL_COUNT_ignored);
	else if (what != CANCEL_EVENT_ACKNOWLEDGED)
		return;
	look_answer(feed.look, serial, what, at_ns);
}

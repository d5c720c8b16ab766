/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what an adapter says, look by look: the ledger that comes of it keeps to its tables,
 * its totals never fall, and the core judges it.
 */
#include "libcancel/feed/look.h"

#include <stdlib.h>
#include <string.h>

#define TASKS	  16u
#define RESOURCES 3u
#define LOOK_NS	  50000000u
#define CALLS_MAX 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static struct {
	struct look *look;
	struct cancel_pipeline *pipeline;
	struct cancel_ledger_resource rows[CANCEL_RESOURCES_MAX];
	struct cancel_verdict verdict;
	uint64_t now_ns, held_before[RESOURCES];
} f;

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void prepare(void)
{
	const struct cancel_pipeline_config config = {
		.struct_size = sizeof config, .act = true, .task_limit = TASKS, .warm_up_ms = 1
	};
	size_t size = cancel_pipeline_bytes(&config);
	f.look = calloc(1, look_bytes(TASKS));
	f.pipeline = malloc(size);
	expect(f.look && f.pipeline);
	look_init(f.look, TASKS);
	expect(cancel_pipeline_init(f.pipeline, size, &config) == 0);
	memset(f.rows, 0, sizeof f.rows);
	memset(f.held_before, 0, sizeof f.held_before);
	f.rows[0].type = f.rows[1].type = CANCEL_LOCK;
	f.rows[2].type = CANCEL_QUEUE;
	f.rows[2].capacity = 4;
	f.now_ns = 1000 * UINT64_C(1000000000);
}

static void check(const struct cancel_ledger *l)
{
	uint64_t held[RESOURCES];
	expect(l->task_count <= TASKS && l->entry_count <= TASKS * CANCEL_ENTRIES_MAX);
	for (uint32_t r = 0; r < RESOURCES; r++)
		held[r] = f.rows[r].ended_hold_ns;
	for (uint32_t i = 0; i < l->task_count; i++) {
		const struct cancel_ledger_task *t = &l->tasks[i];
		expect(t->slot < TASKS && t->first_entry + t->entry_count <= l->entry_count);
		for (uint32_t k = 0; k < t->entry_count; k++) {
			const struct cancel_ledger_entry *e = &l->entries[t->first_entry + k];
			expect(e->resource < RESOURCES);
			expect(e->held_since_ns <= l->now_ns && e->waiting_since_ns <= l->now_ns);
			held[e->resource] += e->hold_ns;
		}
	}
	for (uint32_t r = 0; r < RESOURCES; r++) {
		expect(held[r] >= f.held_before[r]);
		f.held_before[r] = held[r];
	}
}

static void end_look(uint8_t b)
{
	struct cancel_order order;
	struct cancel_ledger *l = look_end(f.look, f.rows, RESOURCES);
	if (!l)
		return;
	check(l);
	cancel_pipeline_step(f.pipeline, l, &f.verdict);
	l->event_count = 0;
	if (f.verdict.cancel && look_order(f.look, &f.verdict.decision, &order))
		look_answer(f.look, order.serial, (enum cancel_event_kind)(b % 8), f.now_ns);
}

/* Four bytes a call. */
static void act(const uint8_t b[4])
{
	uint64_t since_ns = b[3] ? f.now_ns - b[3] * UINT64_C(5000000) : 0;
	int task = b[1] % (TASKS + 4);
	uint32_t r = b[2] % RESOURCES;
	struct cancel_feed_task t = { .struct_size = sizeof t,
		.subject = b[1],
		.generation = b[2],
		.key = b[1],
		.episode_start_ns = since_ns,
		.slo_ns = b[2] & 1 ? 1000000 : 0,
		.flags = b[2] & 31 };
	switch (b[0] % 7) {
	case 0:
		f.now_ns += b[1] * (LOOK_NS / 8);
		look_begin(f.look, f.now_ns);
		break;
	case 1:
		(void)look_task(f.look, &t);
		break;
	case 2:
	case 3:
		look_hold(f.look, task, r, &f.rows[r], b[2] >> 4, b[2] >> 2 & 3, since_ns);
		break;
	case 4:
		look_wait(f.look, task, r, &f.rows[r], b[2] >> 4, b[2] >> 2 & 3, since_ns);
		break;
	case 5:
		look_completed(f.look, b[1], b[2], b[3], since_ns, NULL);
		break;
	default:
		end_look(b[1]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	prepare();
	for (size_t i = 0; i + 4 <= bytes && i < CALLS_MAX * 4; i += 4)
		act(data + i);
	free(f.look);
	free(f.pipeline);
	return 0;
}

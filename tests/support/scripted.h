/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scripted.h - a small world for tests of the core: tasks that hold, wait, evict and end as the
 * test says, under a clock the test moves. Each step hands a ledger to a pipeline, kept as the live
 * collector keeps it.
 */
#ifndef SUPPORT_SCRIPTED_H
#define SUPPORT_SCRIPTED_H

#include <cancel/policy.h>

#define SCRIPTED_TASKS	  2048u
#define SCRIPTED_EVENTS	  64u
#define MS		  1000000ull
#define S		  1000000000ull
#define SCRIPTED_SLO_NS	  (10 * MS)
#define SCRIPTED_START	  80u /* healthy windows before anything happens: warm, with a reference */
#define SCRIPTED_ARRIVALS 10u /* victims a window */

struct scripted_task {
	bool live;
	bool aside; /* left alone by random worlds */
	struct cancel_ledger_task t;
	uint64_t active_ns; /* of closed episodes */
	uint32_t entry_count;
	struct cancel_ledger_entry
		entries[CANCEL_ENTRIES_MAX]; /* times without the present hold and wait */
};

struct scripted {
	struct cancel_pipeline *pipeline;
	struct cancel_verdict verdict;
	struct cancel_ledger ledger;
	uint64_t now_ns, window_ns, next_sequence;
	uint32_t shuffle; /* not 0: the order of tasks in the ledger is drawn from this seed */
	struct cancel_ledger_resource resources[CANCEL_RESOURCES_MAX];
	struct scripted_task tasks[SCRIPTED_TASKS];
	struct cancel_ledger_task ledger_tasks[SCRIPTED_TASKS];
	struct cancel_ledger_entry ledger_entries[SCRIPTED_TASKS * CANCEL_ENTRIES_MAX];
	struct cancel_event events[SCRIPTED_EVENTS];
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
	/* Seen so far. */
	uint32_t decisions, cancels, steps;
	struct cancel_decision last; /* decision */
	struct cancel_outcome last_outcome;
};

/* NULL config: the defaults, in act mode. Never fails: it ends the test program. */
struct scripted *scripted_new(const struct cancel_pipeline_config *config);
void scripted_free(struct scripted *s);

uint32_t scripted_resource(struct scripted *s, enum cancel_resource_type type, uint64_t capacity);
/* A cancellable task in an open episode; slo_ns 0: bears none. */
struct scripted_task *scripted_task(struct scripted *s, uint64_t slo_ns);
void scripted_hold(struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance,
	uint64_t amount);
void scripted_wait(
	struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance, uint64_t mode);
void scripted_stop_waiting(
	struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance);
void scripted_release(struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance);
struct cancel_ledger_entry *scripted_entry(
	struct scripted *s, struct scripted_task *t, uint32_t r, uint32_t instance);
/* Ends a task and closes its episode. */
void scripted_end(struct scripted *s, struct scripted_task *t);
/* Short tasks that came, took latency_ns each and went since the last step. */
void scripted_complete(struct scripted *s, uint64_t count, uint64_t latency_ns, bool late);
void scripted_event(
	struct scripted *s, enum cancel_event_kind kind, uint64_t task, uint64_t wasted_ns);
/* Makes the ledger of this instant and runs the pipeline; `step` first moves the clock by a
 * window. */
void scripted_judge(struct scripted *s);
void scripted_step(struct scripted *s);
/* `count` windows with 50 completions of 1 ms each. */
void scripted_healthy(struct scripted *s, uint32_t count);
/* `count` victims that wait from now on. */
void scripted_arrive(
	struct scripted *s, uint32_t count, uint32_t r, uint32_t instance, uint64_t mode);
/* Windows in each of which SCRIPTED_ARRIVALS victims arrive at instance 0 of the lock. */
void scripted_crowd(struct scripted *s, uint32_t lock, uint64_t mode, uint32_t windows);
/* A healthy start, and then a task that holds instance 0 of the lock alone. */
struct scripted_task *scripted_culprit(struct scripted *s, uint32_t lock);
/* Ends every task but one; NULL: every task. */
void scripted_end_all_but(struct scripted *s, const struct scripted_task *kept);
/* Victims arrive until a decision is made, at most `windows` long. */
void scripted_until_decided(struct scripted *s, uint32_t r, uint64_t mode, uint32_t windows);
/* A window of reads of a hot set that a dump keeps evicting: 25 of each victim's 30 ms are stalls,
 * charged to the dump and, one in twenty, to the other. */
void scripted_dump(struct scripted *s, uint32_t pool, struct scripted_task *dump,
	struct scripted_task *other, bool charged);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - the tables of a world, shared by its source files and nobody else.
 *
 * Tasks, requests and ledger entries live in slabs named by index; NONE ends a list. A task id is
 * generation << 32 | index + 1, so a stale id never finds the slab's next tenant. Nothing recurses:
 * whoever may go on is put on the ready list, and the loop drains it before the next event.
 */
#ifndef SIM_WORLD_PARTS_H
#define SIM_WORLD_PARTS_H

#include "sim/base/clock.h"
#include "sim/base/events.h"
#include "sim/base/memory.h"
#include "sim/world/pool.h"
#include "sim/world/world.h"

#define NONE	       UINT32_MAX
#define QUARANTINE_MAX 16 /* signatures kept out at once; an older one is let in again */

/* What happens, and who sees to it. */
#define WORLD_EVENTS(X)                                                                             \
	X(ORIGINAL, client_original) /* who = client: the next open-loop arrival */                 \
	X(USER, client_original)     /* who = client: a closed-loop user stops thinking */          \
	X(RETRY, client_arrive)	     /* who = request */                                            \
	X(STEP, task_step_done)	     /* arg = task, who = its step serial: compute or I/O done */   \
	X(DEADLINE, client_deadline) /* arg = task: too late to start it */                         \
	X(LEAVE, client_left)	     /* arg = task: its client's patience ends */                   \
	X(TIRED, client_tired)	     /* who = request: its client leaves; it was dropped before */  \
	X(STATEMENT, cancel_statement) /* arg = task: statement timeout */                          \
	X(DELIVER, cancel_deliver)     /* arg = task, who = decision index or NONE */               \
	X(NOTICE, cancel_notice)       /* arg = task: reaches its cancellation checkpoint */        \
	X(ROLLED, cancel_rolled)       /* arg = task: rollback done */                              \
	X(CHILD, tree_arrive)	       /* who = request: a call reaches its service */              \
	X(REPLY, tree_reply)	       /* arg = parent task, who = 1: the child failed */           \
	X(TELL, tree_told) /* arg = child task: the parent's cancel arrives; who = 0: it is lost */ \
	X(LEASE, tree_lease)	 /* arg = child task: it looks for its parent */                    \
	X(RERUN, control_rerun)	 /* who = request: look whether it is calm */                       \
	X(CONTROL, control_step) /* who = node */                                                   \
	X(PAUSE, stand_still)	 /* the machine stands still */

enum world_event {
#define X(event, handler) EVENT_##event,
	WORLD_EVENTS(X)
#undef X
};
#define X(event, handler) void world_##handler(struct sim_world *w, const struct sim_event *event);
WORLD_EVENTS(X)
#undef X

enum world_state {
	TASK_FREE,
	TASK_READY,   /* on the ready list, or running now */
	TASK_WAITING, /* in a lock's or a slot queue's line */
	TASK_WORKING, /* a step event will come */
	TASK_JOINING, /* for its children */
	TASK_ENDING,  /* noticed its cancel; rolling back */
};

enum world_reason { /* why a task is told to stop */
	REASON_NONE,
	REASON_CULPRIT,
	REASON_STATEMENT,
	REASON_ZOMBIE,
	REASON_PARENT,
};

struct world_entry {
	struct cancel_ledger_entry ledger; /* hold_ns and wait_ns: closed spans only */
	uint64_t acquires, waits;
	uint32_t next;
};

struct world_request {
	uint64_t sequence, first_ns, arrival_ns; /* first_ns: of the original */
	uint64_t args[SIM_ARGS_MAX];
	uint64_t parent; /* task id for a child */
	uint64_t rerun_since_ns, rerun_mask;
	uint32_t client, attempt, cancels;
	uint32_t references;
	bool settled; /* its outcome is counted */
	bool rerunning;
};

struct world_task {
	uint64_t id, sequence;
	uint64_t arrival_ns;
	uint64_t work_ns, work_total_ns; /* done by finished steps; of the whole script */
	uint64_t step_since_ns;
	uint64_t pages_done, page; /* of the current READ */
	uint64_t parent;
	uint32_t request, client;
	uint32_t entries;	 /* list */
	uint32_t waits_in;	 /* it waits in, NONE */
	uint32_t next, previous; /* in that line, or on the ready list (next) */
	uint32_t live;		 /* position in its node's list */
	uint32_t slot;		 /* in the ledger, NONE: untracked */
	uint32_t step_serial;
	uint32_t children;	       /* calls without a reply */
	uint32_t first_child, sibling; /* children on the server; NONE */
	uint32_t script_index;
	uint32_t decision; /* that named it, NONE */
	uint32_t hold;	   /* its record, NONE */
	uint16_t pc;
	uint8_t state, flags, reason;
	uint8_t deaf;
	bool left, requested, blocked, started, timed, granted, working;
	bool child_failed, rejecting, delivered;
	uint8_t read_phase;
};

struct world_instance { /* one instance of a lock or a slot queue */
	uint64_t slots_used;
	uint32_t head, tail, waiting;
	uint32_t holders[CANCEL_LOCK_MODES_MAX]; /* by mode */
};

struct world_resource {
	struct sim_resource_options options;
	struct cancel_ledger_resource ledger;
	struct world_pool pool;
	uint32_t first_instance;
};

struct world_script {
	struct sim_step steps[SIM_STEPS_MAX];
	uint16_t count;
};

struct world_client {
	struct sim_client_options options;
	struct sim_client_totals totals;
	struct sim_rng rng;
	uint64_t next_ns;
};

struct world_node {
	uint32_t *live; /* task indexes */
	size_t live_count, live_capacity;
	uint32_t *free_slots;
	uint32_t free_count;
	struct cancel_pipeline *pipeline;
	struct cancel_verdict *verdict;
	struct recorder *recorder; /* NULL: nobody wants to read it later */
	uint64_t completed, late, ended_active_ns, calm_mask;
	uint64_t latency[CANCEL_HISTOGRAM_MAX];
	struct cancel_event *events;
	size_t event_count, event_capacity;
	struct cancel_ledger_task *tasks; /* the ledger's arrays */
	struct cancel_ledger_entry *entries;
	size_t task_capacity, entry_capacity;
};

struct world_quarantine { /* a signature the host keeps out */
	uint64_t signature, until_ns;
};

struct world_bin {
	uint32_t originals, late;
};

struct sim_world {
	struct sim_world_options options;
	struct sim_clock clock;
	struct sim_events events;
	struct sim_rng net_rng;
	struct world_resource resources[CANCEL_RESOURCES_MAX];
	struct world_script scripts[SIM_SCRIPTS_MAX];
	struct world_client clients[SIM_CLIENTS_MAX];
	struct world_node nodes[SIM_NODES_MAX];
	uint32_t resource_count, script_count, client_count;
	struct world_instance *instances;
	size_t instance_count, instance_capacity;
	struct world_task *tasks;
	struct sim_slab task_slab;
	struct world_entry *entries;
	struct sim_slab entry_slab;
	struct world_request *requests;
	struct sim_slab request_slab;
	uint64_t task_sequence;
	uint32_t ready_head, ready_tail;
	uint64_t live_tasks;
	struct sim_world_window *windows;
	size_t window_count;
	struct world_bin *bins; /* 100 ms */
	size_t bin_count;
	struct sim_decision *decisions;
	size_t decision_count, decision_capacity;
	struct sim_hold *holds;
	size_t hold_count, hold_capacity;
	uint64_t decisions_total;
	uint64_t regular_windows, resource_windows, suspect_windows, untracked;
	struct world_quarantine quarantine[QUARANTINE_MAX]; /* a ring */
	uint32_t quarantine_next;
	const char *broken;
};

/* ---- world.c: the loop ---------------------------------------------------------------------- */
void world_ready(struct sim_world *w, uint32_t task);
void world_at(struct sim_world *w, uint64_t at_ns, enum sim_rank rank, enum world_event kind,
	uint32_t who, uint64_t arg);
struct sim_world_window *world_window(struct sim_world *w);
bool world_partitioned(const struct sim_world *w);
/* Now as the ledger writes it, where 0 means "not": the run's first nanosecond stands for 0. */
static inline uint64_t world_stamp(const struct sim_world *w)
{
	return w->clock.now_ns ? w->clock.now_ns : 1;
}
static inline uint64_t world_since(const struct sim_world *w, uint64_t stamp_ns)
{
	return w->clock.now_ns > stamp_ns ? w->clock.now_ns - stamp_ns : 0;
}

/* ---- task.c: life of a task ----------------------------------------------------------------- */
uint32_t world_task_new(struct sim_world *w, uint32_t request, uint32_t script);
void world_task_run(struct sim_world *w, uint32_t task);
void world_task_end(struct sim_world *w, uint32_t task);	  /* completed or rolled back */
uint32_t world_task_find(const struct sim_world *w, uint64_t id); /* NONE: gone */
uint64_t world_task_work_ns(const struct sim_world *w, const struct world_task *t);
void world_work_for(struct sim_world *w, struct world_task *t, uint64_t ns);
uint64_t world_arg(
	const struct sim_world *w, const struct world_task *t, uint8_t arg, uint64_t plain);
static inline const struct sim_step *world_step(
	const struct sim_world *w, const struct world_task *t)
{
	return &w->scripts[t->script_index].steps[t->pc];
}

/* ---- instance.c: locks and slots ------------------------------------------------------------ */
struct world_entry *world_entry(
	struct sim_world *w, struct world_task *t, uint8_t resource, uint32_t instance);
struct world_entry *world_entry_find(
	struct sim_world *w, const struct world_task *t, uint8_t resource, uint32_t instance);
/* True: granted now. False: the task waits and will be put on the ready list. */
bool world_take(
	struct sim_world *w, uint32_t task, uint8_t resource, uint32_t instance, uint64_t amount);
void world_give(
	struct sim_world *w, uint32_t task, uint8_t resource, uint32_t instance, uint64_t amount);
void world_stop_waiting(struct sim_world *w, uint32_t task); /* stops waiting */
void world_give_all(struct sim_world *w, uint32_t task);

/* ---- read.c: pages -------------------------------------------------------------------------- */
bool world_read_go(struct sim_world *w, uint32_t task); /* true: the step is done */

/* ---- client.c: requests --------------------------------------------------------------------- */
void world_client_start(struct sim_world *w, uint32_t client);
/* A task of the request ended: completed, or stopped for `reason`. */
void world_client_ended(struct sim_world *w, const struct world_task *t, enum world_reason reason);
void world_client_give_up(struct sim_world *w, uint32_t request); /* it has failed */
void world_attempt_of(const struct world_request *request, struct sim_attempt *attempt);
void world_request_hold(struct sim_world *w, uint32_t request);
void world_request_drop(struct sim_world *w, uint32_t request);
uint32_t world_request_new(struct sim_world *w, uint32_t client);

/* ---- cancel.c: stopping a task -------------------------------------------------------------- */
void world_cancel(struct sim_world *w, uint32_t task, enum world_reason reason);
void world_cancel_released(struct sim_world *w, struct world_task *t);
void world_event_emit(struct sim_world *w, uint32_t node, enum cancel_event_kind kind,
	uint64_t task, uint64_t wasted_ns);

/* ---- tree.c: calls -------------------------------------------------------------------------- */
void world_tree_call(struct sim_world *w, uint32_t task, uint32_t service);
void world_tree_ended(struct sim_world *w, const struct world_task *child, bool failed);
void world_tree_orphan(struct sim_world *w, struct world_task *parent, bool told);
void world_tree_tell(struct sim_world *w, uint64_t task); /* a cancel, over the net */
uint64_t world_tree_root(const struct sim_world *w, uint64_t id);

/* ---- control.c: ledger in, verdict out ------------------------------------------------------ */
struct recorder *world_record_start(
	struct sim_world *w, const struct cancel_pipeline_config *config);
void world_record(const struct world_node *node, const struct cancel_ledger *ledger);

int world_control_start(struct sim_world *w);
void world_control_free(struct sim_world *w);
void world_control_ended(struct sim_world *w, const struct world_task *t);
/* Whether the core's word keeps tasks of this signature out now. */
bool world_control_bars(const struct sim_world *w, uint64_t signature);

#endif

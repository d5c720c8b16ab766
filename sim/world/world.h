/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - a small server under virtual time, with libcancel's own core watching it.
 *
 * A world has nodes (one unless a call tree is built), resources (FIFO locks with modes and
 * instances, slot queues, LRU page pools), scripts (what a task does, step by step) and clients
 * (who sends such tasks, how patiently). Every `control_ms` each controlled node hands the core the
 * ledger the live collector would fill; a verdict reaches its target after a modelled delivery
 * latency, the target notices after `ack_ns` and gives its holds back after a rollback.
 *
 * A run is a function of its description and seed. It ends at `duration_ns` or at a bound that the
 * result names. Ties at one instant: trigger, completion, wake, timeout, arrival, tick.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cancel/policy.h>

#include "sim/base/dist.h"
#include "sim/base/patience.h"
#include "sim/base/policy.h"
#include "sim/base/rng.h"

#define SIM_STEPS_MAX	  24 /* of a script */
#define SIM_SCRIPTS_MAX	  64
#define SIM_CLIENTS_MAX	  128
#define SIM_NODES_MAX	  8
#define SIM_ARGS_MAX	  4 /* numbers a request carries for its script */
#define SIM_RECORDS_MAX	  64
#define SIM_DECISIONS_MAX 512 /* kept of a run; later ones are counted only */

struct sim_world; /* opaque */

/* ---- Scripts -------------------------------------------------------------------------------- */

enum sim_step_kind {
	SIM_STEP_LOCK = 1, /* resource, instance, mode: FIFO, waits for incompatible holders */
	SIM_STEP_UNLOCK,   /* resource, instance, mode */
	SIM_STEP_SLOT,	   /* resource, instance, amount slots: FIFO */
	SIM_STEP_FREE,	   /* resource, instance, amount slots */
	SIM_STEP_READ, /* resource (a pool), instance (a table), amount pages of [first, +span) */
	SIM_STEP_COMPUTE, /* amount nanoseconds */
	SIM_STEP_START,	  /* queuing ends here: reported to the policy's observe hook */
	SIM_STEP_BLOCK,	  /* a phase that must not be cancelled begins … */
	SIM_STEP_ALLOW,	  /* … and ends */
	SIM_STEP_CALL,	  /* client `instance` (a service) runs a child; replies to JOIN */
	SIM_STEP_JOIN,	  /* waits until every child has replied; fails when one failed */
};

enum sim_read {
	SIM_READ_RANDOM,     /* uniform over the range */
	SIM_READ_SEQUENTIAL, /* from `first`, wrapping at `span`; misses fetch `read_ahead` pages */
};

struct sim_step {
	enum sim_step_kind kind;
	uint8_t resource;
	uint8_t mode;	    /* LOCK: enum cancel_lock_mode or the resource's own; READ: sim_read */
	uint8_t amount_arg; /* 0: `amount`; k: the request's args[k-1] */
	uint8_t instance_arg; /* 0: `instance`; k: the request's args[k-1] */
	uint32_t instance;
	uint64_t amount;
	uint64_t first, span; /* READ */
};

struct sim_script {
	const struct sim_step *steps;
	size_t count;
};

/* A script from an array of steps, and the usual steps. */
#define SIM_SCRIPT(steps) ((struct sim_script){ steps, sizeof(steps) / sizeof(*(steps)) })
#define SIM_STEP(what, at, ...)                                                                    \
	((struct sim_step){ .kind = SIM_STEP_##what, .resource = (at), __VA_ARGS__ })
#define SIM_TAKE(at, slots)	     SIM_STEP(SLOT, at, .amount = (slots))
#define SIM_FREE(at, slots)	     SIM_STEP(FREE, at, .amount = (slots))
#define SIM_LOCK(at, how)	     SIM_STEP(LOCK, at, .mode = (how))
#define SIM_UNLOCK(at, how)	     SIM_STEP(UNLOCK, at, .mode = (how))
#define SIM_LOCK_ARG(at, arg, how)   SIM_STEP(LOCK, at, .mode = (how), .instance_arg = (arg))
#define SIM_UNLOCK_ARG(at, arg, how) SIM_STEP(UNLOCK, at, .mode = (how), .instance_arg = (arg))
#define SIM_COMPUTE(ns)		     SIM_STEP(COMPUTE, 0, .amount = (ns))
#define SIM_COMPUTE_ARG(arg)	     SIM_STEP(COMPUTE, 0, .amount_arg = (arg))

/* ---- Resources ------------------------------------------------------------------------------ */

struct sim_resource_options {
	const char *name;
	enum cancel_resource_type type;
	uint32_t instances; /* [1] */
	uint64_t capacity;  /* QUEUE: slots of one instance; MEMORY: pages */
	bool untracked;	    /* not shown to the core: a device behind a pool's stalls */
	uint8_t conflicts[CANCEL_LOCK_MODES_MAX]; /* LOCK: all zero = shared/exclusive */
	/* MEMORY only */
	uint8_t io_resource; /* slot queue a miss takes one slot of; 0: unlimited (index + 1) */
	uint32_t read_ahead; /* [1] pages a sequential miss fetches */
	uint64_t hit_ns, miss_ns, next_page_ns; /* a hit; a miss; each further page of it */
};

/* ---- Clients -------------------------------------------------------------------------------- */

/* How a task's own idea of its progress differs from the truth. */
enum sim_progress {
	SIM_PROGRESS_NONE, /* reports nothing */
	SIM_PROGRESS_TRUE,
	SIM_PROGRESS_SCALED, /* expected × parameter */
	SIM_PROGRESS_BIASED, /* done + parameter × true total */
	SIM_PROGRESS_STUCK,  /* done stays at parameter × true total */
	SIM_PROGRESS_OVER,   /* expected is parameter × true total: passes 100 % */
};

struct sim_client_options { /* zero = default */
	const char *name;
	uint32_t script, node;
	uint8_t class_index;
	uint8_t flags; /* enum cancel_task_flags */
	uint64_t signature, slo_ns;
	bool measured; /* counts in the windows; others only in their own totals */
	bool trigger;  /* at equal times its arrivals go before everything else */
	bool service;  /* sends nothing: SIM_STEP_CALL names it */
	bool rerun;    /* the server runs a culprit-cancelled task once more when calm */
	/* Open loop: first, first + gap … while before `until` (or the end of the run). */
	uint64_t first_ns, until_ns, limit;
	struct sim_dist gap;
	/* Closed loop instead: this many users, each thinking between answer and next request. */
	uint32_t users;
	struct sim_dist think;
	struct sim_patience patience;
	uint32_t retries_on_cancel; /* after the server cancelled it */
	uint32_t reject_script;	    /* what a reject costs the server (script + 1); 0: nothing */
	uint32_t deaf_deliveries;   /* cancels it ignores before it obeys */
	enum sim_progress progress;
	uint32_t progress_ppm; /* the parameter above */
	uint32_t rollback_ppm; /* of the work done; 0: the world's */
	/* Fills args of a new request; NULL: zeros. `arg` must outlive the world. */
	void (*draw)(void *arg, struct sim_rng *rng, uint64_t sequence, uint64_t *args);
	void *draw_arg;
};

/* ---- The world ------------------------------------------------------------------------------ */

enum sim_zombies { /* what the server does when it learns that a client has left */
	SIM_ZOMBIES_SERVE,
	SIM_ZOMBIES_DROP_QUEUED, /* taken out of the queue it waits in */
	SIM_ZOMBIES_CANCEL,	 /* running ones are cancelled too */
};

enum sim_propagation { /* what a cancelled parent does to its children */
	SIM_CHILDREN_FORGOTTEN,
	SIM_CHILDREN_TOLD,	 /* one message after net_ns, which may be lost */
	SIM_CHILDREN_TOLD_AGAIN, /* repeated every resend_ns until it arrives */
};

struct sim_world_options {    /* zero = default */
	uint64_t duration_ns; /* must be set; at most a year */
	uint64_t seed;
	uint64_t events_limit;
	uint32_t tasks_limit;	  /* [4,000,000] live at once: a bound of the run */
	uint32_t tracked_limit;	  /* [4096] slots of one node's ledger; more tasks go untracked */
	struct sim_policy policy; /* of the measured clients */
	const struct cancel_pipeline_config *pipeline; /* NULL: nobody watches */
	uint32_t controlled_nodes;		       /* [1] bit n: node n is watched */
	uint32_t control_ms;			       /* [50] */
	uint64_t deliver_ns;			       /* [1 ms] verdict to action */
	uint64_t ack_ns;	       /* [5 ms] action to the task's next checkpoint */
	uint32_t rollback_ppm;	       /* [100000] of the work done */
	uint64_t statement_timeout_ns; /* from the first slot granted (or the arrival) */
	enum sim_zombies zombies;
	uint64_t zombie_lead_ns; /* a queued request is dropped so long before its client leaves */
	uint64_t rerun_wait_max_ns; /* [10 s] */
	/* Call trees */
	enum sim_propagation propagation;
	uint64_t net_ns;    /* [0.5 ms] one way */
	uint64_t resend_ns; /* [100 ms] */
	uint64_t lease_ns;  /* a child stops after so long without its parent; 0: never */
	uint32_t loss_ppm;  /* of cancel messages */
	uint64_t partition_start_ns, partition_ns; /* nothing passes between nodes */
	bool no_rollback_guess; /* ledgers say 0: the host does not know what undoing takes */
	uint64_t grain_ns;	/* gaps and thinking are whole multiples of it; 0: they are not */
	uint64_t pause_first_ns, pause_every_ns, pause_ns; /* the machine stands still; 0: never */
	bool cancel_root; /* a verdict on a child goes to the root of its tree */
	/* Asked after every event, by tests: NULL, or what is broken, which ends the run. */
	const char *(*check)(const struct sim_world *world);
	const char *record_path; /* file of what the first watched node sees; NULL: none */
	bool ledgers_only;	 /* without the verdicts */
};

/* From now on every watched node of every world is recorded, too: the first in `path`, the others
 * in PATH-2, PATH-3 … up to SIM_RECORDS_MAX files. The path must stay. */
void sim_world_record_all(const char *path);
/* How many files there are. `failure`: the first that could not be written, or NULL. */
uint32_t sim_world_recorded(const char **failure);

/* NULL with a message in *why when an option is out of range. Free with sim_world_free. */
struct sim_world *sim_world_new(const struct sim_world_options *options, const char **why);
void sim_world_free(struct sim_world *world);

/* Each returns an index, or -1 when a table is full or the description is wrong. */
int sim_world_resource(struct sim_world *world, const struct sim_resource_options *options);
int sim_world_script(struct sim_world *world, const struct sim_step *steps, size_t count);
int sim_world_client(struct sim_world *world, const struct sim_client_options *options);
/* Whole tables, each index its place in the table of an empty world. False: something was refused. */
bool sim_world_resources(
	struct sim_world *world, const struct sim_resource_options *resources, size_t count);
bool sim_world_scripts(struct sim_world *world, const struct sim_script *scripts, size_t count);
bool sim_world_clients(
	struct sim_world *world, const struct sim_client_options *clients, size_t count);
/* The three from arrays. */
#define SIM_BUILD(world, resources, scripts, clients)                                              \
	(sim_world_resources(world, resources, sizeof(resources) / sizeof(*(resources))) &&        \
		sim_world_scripts(world, scripts, sizeof(scripts) / sizeof(*(scripts))) &&         \
		sim_world_clients(world, clients, sizeof(clients) / sizeof(*(clients))))

/* Runs to the end. 0; or -1 when an invariant broke (check) or a bound was hit: see the result. */
int sim_world_run(struct sim_world *world);

/* ---- Results -------------------------------------------------------------------------------- */

struct sim_world_window { /* one second of the measured clients */
	uint64_t offered, rejected, goodput;
	uint64_t late;		     /* successes over their SLO */
	uint64_t in_server;	     /* live tasks at the window's end, all clients */
	uint64_t cancelled, zombies; /* tasks ended by a cancel; completed for nobody */
};

struct sim_client_totals {
	uint64_t originals, attempts, rejected;
	uint64_t barred; /* attempts turned away because the core quarantined their signature */
	uint64_t succeeded, late, failed; /* requests; in flight at the end: the rest */
	uint64_t timed_out;		  /* attempts */
	uint64_t tasks, completed;	  /* on the server */
	uint64_t cancelled;		  /* by the core */
	uint64_t stopped; /* by statement timeout, as zombies, or with their parent */
	uint64_t reruns, dropped_reruns;
	uint64_t zombies;   /* completed after the client had left */
	uint64_t wasted_ns; /* work of cancelled, stopped and zombie tasks */
	uint64_t rerun_wait_ns;
	uint64_t latency_max_ns;
	uint64_t ended_ns;			/* when its last task ended; 0: none has */
	uint64_t latency[CANCEL_HISTOGRAM_MAX]; /* of successes, from the first arrival */
};

struct sim_decision { /* one verdict that named a target */
	struct cancel_decision decision;
	uint32_t node, client;	  /* the target's */
	uint64_t sequence;	  /* of the target's request */
	uint64_t hold_started_ns; /* its oldest hold on a blamed resource; 0: none */
	uint64_t decided_ns, delivered_ns, acknowledged_ns, released_ns; /* 0: not */
};

/* A task of a trigger client, from its first lock granted to the first given back. */
struct sim_hold {
	uint64_t taken_ns, given_ns; /* given 0: still held */
	uint32_t client;
	uint64_t sequence;
};

struct sim_result {
	const struct sim_world_window *windows;
	size_t window_count;
	const struct sim_decision *decisions;
	size_t decision_count;
	uint64_t decisions_total;
	const struct sim_hold *holds; /* of trigger clients, in order of taking */
	size_t hold_count;
	uint64_t late_bins; /* of the whole run, see sim_world_late_bins */
	uint64_t end_ns;    /* where the run stopped */
	uint64_t events, regular_windows, resource_windows, suspect_windows;
	uint64_t untracked; /* tasks that found no ledger slot */
	const char *bound;  /* NULL: ran to its end */
	const char *broken; /* invariant that failed; NULL: none */
};

void sim_world_result(const struct sim_world *world, struct sim_result *result);
const struct sim_client_totals *sim_world_totals(const struct sim_world *world, uint32_t client);
/* The latency that a share of the successes stay within. */
uint64_t sim_latency_ns(const struct sim_client_totals *totals, uint32_t share_ppm);
/* 100 ms bins of [from, to) with over 1 % of originals late, by scheduled arrival. */
uint64_t sim_world_late_bins(const struct sim_world *world, uint64_t from_ns, uint64_t to_ns);
/* First second >= start_s from which every window's goodput is `goodput`, give or take `slack` (a
 * window's edge may cut a request off); -1: never. */
int64_t sim_world_heal_s(
	const struct sim_world *world, uint64_t start_s, uint64_t goodput, uint64_t slack);

#endif

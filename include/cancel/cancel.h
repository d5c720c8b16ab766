/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.h - what an application calls: tasks, resources, actions, progress.
 *
 * A server tells this library which task holds and waits for what; the library finds the one task
 * that chokes the others and calls the server's own, safe way of cancelling it. Model and names:
 * Atropos (SOSP 2025). The paper's names (startCancel, getResource …) are inline functions in
 * paper.h over the exported cancel_… functions, so a host's own getResource never clashes at link
 * time. CANCEL_NO_SHORT_NAMES leaves them out; CANCEL_OFF compiles every call to nothing.
 *
 * The shape of an instrumented server:
 *
 *	startCancel(&config);                           once, before the first task
 *	table = createResource("orders", CANCEL_LOCK, NULL);
 *
 *	task = createCancel(&options);                  a request begins on this thread
 *	slowByResource(table, CANCEL_EXCLUSIVE);        … it has to wait
 *	getResource(table, CANCEL_EXCLUSIVE);           … it got the lock
 *	if (cancelRequested())                          … at its checkpoints
 *		goto clean_up;
 *	freeResource(table, CANCEL_EXCLUSIVE);
 *	freeCancel(task);                               it ends
 *
 * Words used throughout:
 *	current task   the task bound to the calling thread; calls without a task argument act on it
 *	untracked      id 0, or no current task: every call accepts it and does nothing
 *	struct_size    the first member of every options struct, set to its sizeof. A caller
 *	               compiled with an older header leaves out what it does not know, which means
 *	               default; of a newer one, what this library does not know is ignored. A
 *	               struct_size that was not set is an error, or counted where the call cannot
 *	               fail
 *	counted        misuse never fails and never stops the host: it is counted (observe.h),
 *	               logged once, and otherwise without effect
 *
 * Cost classes, on a 3 GHz machine:
 *	hot     a few nanoseconds; no read-modify-write, lock, allocation or system call
 *	warm    tens of nanoseconds; a few uncontended atomic operations
 *	cold    may lock, allocate or sleep
 *
 * Thread safety: every function may be called by any thread at any time, except where it names the
 * thread. Signal handlers: cancel_now_ns and cancel_current only. The thread-local pointer to the
 * current task uses the initial-exec model.
 */
#ifndef CANCEL_CANCEL_H
#define CANCEL_CANCEL_H

#include <cancel/error.h>
#include <cancel/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_API __attribute__((visibility("default")))

/* ---- Ids ------------------------------------------------------------------------------------- */

/* One-member ids, by value. Zero means untracked: every call takes it as a no-op. */
struct cancel_task {
	uint64_t id; /* slot + generation; never used twice while the process lives */
};
struct cancel_resource {
	uint32_t id; /* opaque; cancel_resource_index() in observe.h gives the ledger's index */
};

/* ---- Start and stop -------------------------------------------------------------------------- */

enum cancel_mode {
	CANCEL_MONITOR, /* decide and report, never act: the default */
	CANCEL_ACT,
};

/*
 * A kind of request. Tasks name their class by index. A class without an SLO learns one: 3 x the
 * p99 of its first 30 s, and logs it once. Background tasks neither bear a class's SLO nor
 * teach it one.
 */
struct cancel_class {
	const char *name; /* copied, cut to 31 bytes */
	uint64_t slo_ns;  /* longest latency that is on time; 0: learned */
	bool exempt;	  /* its tasks are never chosen */
	uint8_t rank;	  /* [0] of a waiter that bars others and the holders it waits for, the one
			     of the lower rank goes; of equals the one that loses less */
	bool by_name; /* reports, dumps: an SLO for all, as in CANCEL_SLO_MS=5, leaves it alone */
};

/*
 * Zero means the default, given in brackets. struct_size must be set. Every option can be
 * overridden by the environment variable named beside it, so that an operator can change an
 * installed server; a value that does not parse is logged and ignored. The thresholds of
 * `pipeline` follow the same rule: CANCEL_ + the field's name in capitals, as in
 * CANCEL_CONTENTION_PPM.
 */
struct cancel_config {
	size_t struct_size;
	enum cancel_mode mode; /* CANCEL_MODE=monitor|act */
	uint32_t window_ms;    /* [50] CANCEL_WINDOW_MS, 10 … 60000 */
	uint32_t max_tasks;    /* [4096] live at once; CANCEL_MAX_TASKS, at most 1,048,576 */
	const char *policy;    /* [multi-objective] CANCEL_POLICY */
	const char *estimator; /* [proportional] CANCEL_ESTIMATOR */
	const struct cancel_class *classes; /* class 0 first; none: one class "default" */
	uint32_t class_count;	/* at most CANCEL_CLASSES_MAX; CANCEL_SLO_MS=5 (all but by_name)
				   or reads=5,dump=0 */
	uint32_t rerun_max_ms;	/* [10000] longest wait for a rerun without an SLO deadline;
				   CANCEL_RERUN_MAX_MS */
	uint32_t action_max_ms; /* [1000] an action over this stops new cancels;
				   CANCEL_ACTION_MAX_MS */
	bool thread_cancel;	/* pthread_cancel for tasks that opted in; CANCEL_THREAD_CANCEL=1 */
	bool no_precise;	/* never switch to per-event stamps; CANCEL_NO_PRECISE=1 */
	bool always_precise;	/* per-event stamps from the start; CANCEL_ALWAYS_PRECISE=1 */
	const struct cancel_pipeline_config *pipeline; /* thresholds; NULL = defaults */
	const char *journal_path; /* JSON lines of decisions and outcomes, appended; NULL:
				     none; CANCEL_JOURNAL */
	void (*log)(void *arg, const char *line); /* NULL: stderr; few lines, each once. Called
						     on the controller thread or inside start
						     and stop; must not call this library */
	void *log_arg;
	const char *record_path; /* every ledger and verdict, for cancel-replay: mode 0600, at most
				    64 MiB in four files, no SQL; NULL: none; CANCEL_RECORD */
	bool record_flight;	 /* instead the last 30 s, in PATH.N beside each decision;
				    CANCEL_RECORD_FLIGHT=1 */
};

/* ---- Resources ------------------------------------------------------------------------------- */

struct cancel_resource_options {
	size_t struct_size;
	uint64_t capacity; /* MEMORY: units; QUEUE: slots of one instance; LOCK: 0 */
	/* LOCK: bit (j-1) of conflicts[i-1] is set when mode i cannot be held beside mode j.
	 * Symmetric; the modes are 1 to the last row with a bit. All zero: the table of
	 * CANCEL_SHARED and CANCEL_EXCLUSIVE. */
	uint8_t conflicts[CANCEL_LOCK_MODES_MAX];
};

/* ---- Tasks ----------------------------------------------------------------------------------- */

enum cancel_reason { CANCEL_REASON_CULPRIT = 1, CANCEL_REASON_ESCALATION, CANCEL_REASON_MANUAL };

struct cancel_request { /* what an action is told */
	struct cancel_task task;
	uint64_t key;
	uint64_t serial; /* of the decision; 0 for MANUAL */
	enum cancel_reason reason;
	enum cancel_strength strength; /* END_SESSION: it is unbound CANCEL_IDLE and holds on */
};

/*
 * The host's way of cancelling one task: set its flag, wake its wait, interrupt its statement.
 * Runs on the delivery thread; takes leaf locks only; never blocks and never calls back into this
 * library (such calls are counted and do nothing). The task cannot end while it runs.
 */
typedef void (*cancel_action)(const struct cancel_request *request, void *arg);

struct cancel_task_options { /* zero = default */
	size_t struct_size;
	uint64_t key;	      /* the host's name for the task, shown in every report */
	uint64_t signature;   /* of what it runs (a statement's hash); recognises its return */
	uint64_t slo_ns;      /* 0: the class's */
	uint64_t rollback_ns; /* the host's guess of what undoing would take; 0 unknown */
	uint8_t class_index;  /* of config.classes; too large: class 0, counted */
	uint8_t flags;	      /* CANCEL_CANCELLABLE | CANCEL_BACKGROUND | CANCEL_THREAD |
				 CANCEL_MAINTENANCE | CANCEL_ENDS_SESSION (an action that
				 works while the task is unbound CANCEL_IDLE: without it an
				 idle holder is named and not cancelled) */
	cancel_action action; /* NULL: the task watches cancelRequested() */
	void *action_arg;
	uint64_t start_ns; /* 0: now; else cancel_now_ns() of its arrival: the episode opens
			      there, so that time spent in a socket or queue is latency too */
	uint64_t origin;   /* 0: the signature. Cancels of one origin that comes back are counted
			    together, and it may be kept out (cancel_quarantined): a client and
			    what it runs, hashed. Never a user or an address alone: others share
			    it */
};

enum cancel_unbind {
	CANCEL_QUEUED = 1, /* the request goes on elsewhere: its episode stays open */
	CANCEL_IDLE,	   /* think time: its episode closes */
};
enum cancel_rerun_answer { CANCEL_RERUN = 1, CANCEL_WAIT, CANCEL_DROP };
struct cancel_ticket {
	uint64_t id;
};

#ifndef CANCEL_OFF

/* The text of a negative error. Any thread, hot. */
CANCEL_API const char *cancel_error_text(int error);

/*
 * Starts the controller and the delivery thread. Both block every signal. NULL: all defaults.
 * Cold; about 20 ms the first time, to calibrate the clock.
 * Errors: EINVAL (an option out of range, an unknown policy), ENOMEM, ESTATE (already started),
 * ETHREAD. After an error nothing runs.
 */
CANCEL_API int cancel_start(const struct cancel_config *config) CANCEL_MUST_CHECK;

/*
 * Stops both threads; waits for an action that is running. The caller holds no lock an action
 * takes. Tasks alive at this moment stay valid and are freed by their owners as usual; resources
 * are forgotten once no task is left: an id kept over the next cancel_start is no resource any more
 * (counted, and nothing is done). cancel_start may be called again.
 * In a forked child the library is off and every task untracked; the child may start it anew.
 * Errors: ESTATE (not started, or called by an action). Cold.
 */
CANCEL_API int cancel_stop(void);

/*
 * The library's monotonic clock in nanoseconds: CLOCK_MONOTONIC at the first start, driven by the
 * time-stamp counter where that is invariant (then it may drift from CLOCK_MONOTONIC by a few
 * parts per million), by CLOCK_MONOTONIC elsewhere. Any thread, any time, signal handlers too.
 */
CANCEL_API uint64_t cancel_now_ns(void);

/*
 * Declares a resource: CANCEL_LOCK, CANCEL_MEMORY, or CANCEL_QUEUE (workers, CPU and I/O slots).
 * `name` is copied and cut to 31 bytes. The same name and type again gives the same resource. At
 * most 64; the 65th, and calls before start, give the untracked id and are counted. Resources are
 * never freed while the library runs. Cold.
 */
CANCEL_API struct cancel_resource cancel_create_resource(const char *name,
	enum cancel_resource_type type, const struct cancel_resource_options *options);

/*
 * Begins a task, binds it to the calling thread and opens its episode. What a task is, is the
 * developer's choice: a request, a transaction, a session, a job. On a thread that has a current
 * task the call is counted and gives the untracked id: nested work belongs to the outer task. So
 * does a full table (config.max_tasks). Warm.
 */
CANCEL_API struct cancel_task cancel_task_begin(const struct cancel_task_options *options);

/*
 * Ends a task: by the bound thread, or by any thread when it is unbound; another thread's attempt
 * is counted and does nothing. Waits for an action that is running, so the caller holds no lock an
 * action takes. On return the action is not running and never will for this task: no cancel can
 * reach the next task on the same slot, connection or thread. Holds left over are released and
 * counted as leaks. Warm.
 */
CANCEL_API void cancel_task_end(struct cancel_task task);

/*
 * A request that came and went without a task. For a host whose shortest requests would feel the
 * two calls above: it begins the task only when there is something to tell (a wait, a miss, longer
 * work), with the arrival as start_ns; where that never happens, this counts the request's latency
 * as the task's episode would have, so that loads, latencies and SLOs stay whole. What it used is
 * not known, and it could not be cancelled. Both times are of cancel_now_ns(). Any thread. Warm:
 * less than half of cancel_task_begin and cancel_task_end.
 */
CANCEL_API void cancel_count_request(uint8_t class_index, uint64_t start_ns, uint64_t end_ns);

/*
 * Hand a task between threads. bind: an unbound task becomes the calling thread's current one, and
 * its episode opens if none is open. unbind: by the bound thread. Holds and waits survive; a wait
 * for a queue may begin on one thread and end on another. The host orders the two calls (its own
 * queue does). Warm.
 */
CANCEL_API void cancel_bind(struct cancel_task task);
CANCEL_API void cancel_unbind(struct cancel_task task, enum cancel_unbind how);

/* The id of the current task, 0 if none: what a page frame or a ghost entry stores. Hot. */
CANCEL_API struct cancel_task cancel_current(void);

/* ---- Using resources: all by the bound thread ------------------------------------------------ */

/*
 * `instance` tells things of one kind apart: table 17, queue 3. Blame and chains are per instance,
 * contention per resource. A task keeps 16 exact (resource, instance) entries; an idle one makes
 * room for the next and its totals go to the resource's; with 16 in use at once the 17th counts
 * towards the resource's totals only.
 */

/* The task now waits for r. LOCK: amount is the mode it wants; else the units or slots. A task may
 * wait for several things at once (a page, and the I/O slot to read it). Hot. */
CANCEL_API void cancel_wait_for(struct cancel_resource r, uint32_t instance, uint64_t amount);

/*
 * Got it; a wait for it ends. LOCK: amount is a mode; the same again is counted and must be given
 * back as often; the strongest mode is reported; asking EXCLUSIVE while holding SHARED is an
 * upgrade. (Counts stop at 65,535 a mode, with more than four modes at 255.) QUEUE: slots. MEMORY:
 * units; 0 ends a stall without holding anything. Hot.
 */
CANCEL_API void cancel_acquire(struct cancel_resource r, uint32_t instance, uint64_t amount);

/* Gives back one mode, some slots or some units. More than is held gives back what is held, and is
 * counted. Hot. */
CANCEL_API void cancel_release(struct cancel_resource r, uint32_t instance, uint64_t amount);

/* Stops waiting without it: a timeout, an error, a cancel. Hot. */
CANCEL_API void cancel_give_up(struct cancel_resource r, uint32_t instance);

/*
 * MEMORY: the current task took `units` from `owner`, who brought them in (its id may be stale or
 * 0; the task's own units are nobody's loss). On the miss path. Hot.
 */
CANCEL_API void cancel_evict(struct cancel_resource r, struct cancel_task owner, uint64_t units);

/*
 * MEMORY: between slow and get of a stall: what is missing now was evicted by `evictor`; the
 * host's ghost directory knows. Charges this stall to it. Not called, own id or 0: a cold miss,
 * nobody's fault. An evictor that has ended: the resource's orphan stalls. Warm.
 */
CANCEL_API void cancel_miss(struct cancel_resource r, struct cancel_task evictor);

/*
 * GetNext progress: work done over work expected, summed over the declared phases (scan, sort,
 * write), in any unit. Both 0: unknown. Hot.
 */
CANCEL_API void cancel_progress(uint64_t done, uint64_t expected);

/*
 * What the current task is, told once it is known: a transaction after its BEGIN, a statement once
 * it is parsed. The signature is what a culprit is recognised by when it returns; 0: unknown.
 * Maintenance (a backup, FLUSH TABLES WITH READ LOCK, a checkpoint) stays where it waits and bars
 * others: the holders it waits for go. Hot.
 */
CANCEL_API void cancel_set_signature(uint64_t signature);
CANCEL_API void cancel_set_maintenance(bool maintenance);

/* ---- Being cancelled ------------------------------------------------------------------------- */

/*
 * Sets the current task's action; NULL: none. On return the old action is not running and never
 * will, so what its argument pointed to may go. Warm; waits for an action that is running.
 */
CANCEL_API void cancel_set_action(cancel_action action, void *arg);

/*
 * Has a cancel been delivered to the current task? To be asked at its checkpoints. The first call
 * that answers true is the acknowledgement: its time and stack are recorded. Hot; that first call
 * is cold.
 */
CANCEL_API bool cancel_requested(void);

/*
 * Begins a phase that must not be cancelled (a commit). 0: no action runs and none will start
 * before the matching cancel_allow; nests. CANCEL_EREQUESTED: one was delivered: abort now;
 * nothing is blocked and no cancel_allow is owed. Waits for an action that is running. Without a
 * current task: 0. Warm.
 */
CANCEL_API int cancel_block(void) CANCEL_MUST_CHECK;
CANCEL_API void cancel_allow(void);

/*
 * What to do with a cancelled task after clean-up. Waits for an action that is running, so the
 * caller holds no lock an action takes.
 *	CANCEL_RERUN  run it again now; it is never cancelled again and bears no old request
 *	CANCEL_WAIT   the resources it was blamed for are not calm yet: requeue it and ask again
 *	              with the same ticket (zero before the first call); the oldest goes first
 *	CANCEL_DROP   answer an error: its SLO deadline (config.rerun_max_ms where it has none)
 *	              has passed, or an operator cancelled it
 * Background tasks wait at most rerun_max_ms and then rerun. Calm: below half the contention
 * threshold for 1 s, doubling each time the same culprit returns. By the bound thread, or by any
 * thread when the task is unbound. A task that was never cancelled, or is untracked: CANCEL_RERUN;
 * one that has ended: CANCEL_DROP. Cold.
 */
CANCEL_API enum cancel_rerun_answer cancel_rerun(
	struct cancel_task task, struct cancel_ticket *ticket);

/*
 * An operator's cancel of one task by id: same path, same safety, in monitor mode too. 0: it is on
 * its way. Errors: ENOTASK (ended), EINVAL (not cancellable), EBUSY (blocked, or the queue is
 * full), ESTATE (not started). Cold.
 */
CANCEL_API int cancel_deliver(struct cancel_task task) CANCEL_MUST_CHECK;

#else
#include <cancel/off.h>
#endif

#ifdef __cplusplus
}
#endif

#ifndef CANCEL_NO_SHORT_NAMES
#include <cancel/paper.h>
#endif
#endif

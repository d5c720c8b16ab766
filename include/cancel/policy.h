/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - what the pure core reads and what it answers.
 *
 * The core is a function of its inputs: a ledger (one instant of the tracked world, time included)
 * goes in, a verdict comes out. It calls no clock, takes no lock, allocates nothing after init and
 * breaks ties by task sequence, so the live controller and the simulator run the same code and a
 * run can be repeated bit for bit. The formulas with their sources are in docs/policy.md.
 *
 * Units. Shares are parts per million (ppm). Times are nanoseconds of one monotonic clock chosen by
 * the caller; 0 means "none" wherever a time can be missing. Gains are millionths of the resource's
 * own constant: a second held (LOCK), a slot-second a slot (QUEUE), a turnover of the pool
 * (MEMORY). Scores are gains weighted by contention.
 *
 * Threads. Nothing here locks. One pipeline belongs to one thread at a time; different pipelines do
 * not meet. Everything returned by pointer inside a verdict is static text. No function here is
 * meant for signal handlers.
 *
 * Source of the model: Atropos (SOSP 2025), sections on detection, estimation and policy.
 */
#ifndef CANCEL_POLICY_H
#define CANCEL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cancel/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_RESOURCES_MAX  64
#define CANCEL_CLASSES_MAX    16
#define CANCEL_ENTRIES_MAX    16 /* exact (resource, instance) entries a task keeps */
#define CANCEL_LOCK_MODES_MAX 8
#define CANCEL_HISTOGRAM_MAX                                                                       \
	1152 /* log-linear, 32 sub-buckets an octave; see libcancel/base/histogram.h */
#define CANCEL_CANDIDATES_MAX 16 /* kept for explanation and dominance */
#define CANCEL_PPM	      1000000u

/* ---- The ledger: one instant ----------------------------------------------------------------- */

/*
 * All counters are cumulative since start: the core takes differences, so a ledger may be late or
 * skipped without harm. A cumulative time that goes back by up to 20 ms (a coarse stamp read after
 * a precise one) counts as no time passed. Tasks, entries or slots outside their tables are
 * ignored.
 */

enum cancel_resource_type {
	CANCEL_LOCK = 1, /* amount = mode; waiters are blocked by incompatible holders */
	CANCEL_MEMORY,	 /* amount = units; waiters stall on what somebody evicted */
	CANCEL_QUEUE,	 /* amount = slots; workers, CPU and I/O slots */
};

/* The default lock modes. A resource with a richer table declares it (`conflicts`). */
enum cancel_lock_mode {
	CANCEL_SHARED = 1,
	CANCEL_EXCLUSIVE = 2,
};

struct cancel_ledger_resource {
	enum cancel_resource_type type;
	uint64_t capacity; /* MEMORY: units; QUEUE: slots of one instance; LOCK: 0 */
	/* LOCK: bit (j-1) of conflicts[i-1] is set when mode i cannot be held beside mode j. */
	uint8_t conflicts[CANCEL_LOCK_MODES_MAX];
	/* Totals of tasks that have ended or left this entry. Cumulative totals of the whole
	 * resource are these plus the sum over active entries; they never fall. */
	uint64_t ended_wait_ns;	  /* of tasks with an SLO only */
	uint64_t ended_hold_ns;	  /* QUEUE: slot-nanoseconds */
	uint64_t ended_evicted;	  /* MEMORY: units evicted from others */
	uint64_t orphan_stall_ns; /* MEMORY: stalls charged after their evictor had ended */
	uint64_t waits, acquires; /* events of ended tasks; shown by observers, not judged */
};

struct cancel_ledger_entry {
	uint8_t resource;    /* index into ledger.resources */
	uint8_t held_modes;  /* LOCK: bit (mode-1) for each mode held */
	uint8_t wanted_mode; /* LOCK: the mode it waits for */
	uint32_t instance;   /* table 17, queue 3 */
	uint64_t held; /* LOCK: nesting count; MEMORY: units; QUEUE: slots; 0 = holds nothing */
	uint64_t held_since_ns;	   /* start of the present hold, 0 = none */
	uint64_t hold_ns;	   /* cumulative, present hold included up to now; QUEUE: slot-ns */
	uint64_t waiting_since_ns; /* start of the present wait, 0 = none */
	uint64_t wait_ns;	   /* cumulative, present wait included up to now */
	uint64_t evicted;	   /* MEMORY: cumulative units this task took from others */
	uint64_t stall_caused_ns;  /* MEMORY: cumulative stalls of others charged to this task */
};

enum cancel_task_state {
	CANCEL_RUNNING,
	CANCEL_BLOCKED, /* in a phase that must not be cancelled */
	CANCEL_DELIVERING,
	CANCEL_DELIVERED,
};

enum cancel_task_flags {
	CANCEL_CANCELLABLE = 1u << 0,
	CANCEL_BACKGROUND = 1u << 1,
	CANCEL_THREAD = 1u << 2,    /* opted in to pthread_cancel */
	CANCEL_RERUNNING = 1u << 3, /* cancelled once already: never again */
	CANCEL_EXEMPT = 1u << 4,    /* excluded by configuration */
	CANCEL_MAINTENANCE =
		1u << 5, /* while it waits and bars others, the holders go and not it */
	CANCEL_ENDS_SESSION = 1u << 6, /* its action works between statements, too */
	CANCEL_IGNORES = 1u << 7,      /* snapshots: it ignored two cancels and is left alone */
};

struct cancel_ledger_task {
	uint64_t id;		   /* slot + generation; unique while the process lives, never 0 */
	uint64_t sequence;	   /* order of creation; breaks ties */
	uint64_t key;		   /* the host's name for it; only passed through */
	uint64_t signature;	   /* of what it runs, 0 unknown: recognises a returning culprit */
	uint64_t episode_start_ns; /* 0 = no open episode (think time) */
	uint64_t slo_ns;	   /* 0 = none: bears no SLO */
	uint64_t active_ns;	   /* cumulative time in episodes, the open one included */
	uint64_t progress_done, progress_expected; /* GetNext: rows examined, rows expected */
	uint64_t rollback_ns; /* the host's guess of what undoing would take, 0 unknown */
	uint64_t origin;      /* cancels of one are counted together; 0: those of a signature */
	uint32_t slot;	      /* dense index < task_limit: matches tasks of two ledgers in O(1) */
	uint32_t first_entry;
	uint8_t entry_count;
	uint8_t class_index;
	uint8_t state; /* enum cancel_task_state */
	uint8_t flags; /* enum cancel_task_flags */
	uint8_t rank;  /* of its class: a waiter that ranks above the holders is not given up */
};

enum cancel_event_kind {
	CANCEL_EVENT_DELIVERED = 1, /* the action ran */
	CANCEL_EVENT_IGNORED,	    /* the task was gone or blocked when the action was due, or
				       it could not be sent */
	CANCEL_EVENT_ACKNOWLEDGED,  /* its own thread saw the request */
	CANCEL_EVENT_RELEASED,	    /* it gave back its last hold on the blamed resources */
	CANCEL_EVENT_ENDED,	    /* it was freed */
	CANCEL_EVENT_RERUN,	    /* it started again */
	CANCEL_EVENT_DROPPED,	    /* it was not run again */
};

struct cancel_event {
	enum cancel_event_kind kind;
	uint64_t task; /* id */
	uint64_t at_ns;
	uint64_t wasted_ns; /* ENDED: active time thrown away */
};

struct cancel_ledger {
	uint64_t now_ns;
	const struct cancel_ledger_resource *resources;
	const struct cancel_ledger_task *tasks;	   /* any order; a slot at most once */
	const struct cancel_ledger_entry *entries; /* of task t: first_entry .. + entry_count */
	const struct cancel_event *events;	   /* since the previous ledger, by time */
	uint32_t resource_count, task_count, entry_count, event_count;
	/* Cumulative since start, over tasks that bear an SLO: episodes closed, those over their
	 * SLO, the time they took, and their latencies in log-linear buckets. */
	uint64_t completed, late, ended_active_ns;
	const uint64_t *latency; /* CANCEL_HISTOGRAM_MAX counts */
	uint64_t dropped_events; /* full tables; explains gaps */
	bool action_stuck;	 /* an action runs over its limit: decide nothing new */
};

/* ---- Configuration --------------------------------------------------------------------------- */

struct cancel_choice;
/* A policy returns the index of the candidate to cancel, or -1 for nobody. It must be pure: its
 * answer may depend on the choice alone, and not on the order of the candidates (break ties by
 * sequence, the smaller first). It is called at most twice a window, the second time without the
 * winner, to name the runner-up. A host may bring its own. */
typedef int (*cancel_policy_fn)(const struct cancel_choice *choice);

struct cancel_policy {
	const char *name;
	const char *what; /* one line, for lists */
	cancel_policy_fn choose;
};

/* An estimator scales what a task has used so far to what it would still use: linear in used_micro,
 * and pure. It is asked for the usage of each resource, and with a hold and the age in microseconds
 * for the time they will still last. */
struct cancel_estimate_input {
	uint64_t used_micro;	   /* gain units so far, see cancel_candidate.gain_micro */
	uint64_t done, expected;   /* progress as declared; may be 0, stuck or beyond 100 % */
	uint64_t since_advance_ns; /* time since done last changed, as seen in ledgers */
	uint64_t rollback_ns;	   /* 0 unknown */
	uint64_t class_median_ns;  /* of completed tasks of its class and signature, 0 unknown */
	uint64_t age_ns; /* of the open episode, or of its longest hold if that is older */
};
struct cancel_estimator {
	const char *name;
	const char *what;
	uint64_t (*gain_micro)(const struct cancel_estimate_input *input);
};

/*
 * The built-in ones: symbol, name, what it does. A row here and a file are all there is to one: the
 * policy SYMBOL is the function policy_SYMBOL in libcancel/core/policies/SYMBOL.c, the estimator
 * estimator_SYMBOL in libcancel/core/estimators/SYMBOL.c. The first rows are the defaults.
 */
#define CANCEL_POLICIES(X)                                                                         \
	X(multi_objective, "multi-objective",                                                      \
		"largest gain weighted by contention over all resources (the paper)")              \
	X(greedy, "greedy", "largest gain on the most contended resource")                         \
	X(current_usage, "current-usage", "multi-objective on usage so far")                       \
	X(published, "published",                                                                  \
		"gains divided by the candidates' sum, as the authors' published code")            \
	X(relief, "relief", "most of the lost time given back within a second")                    \
	X(longest, "longest", "the oldest of the eligible")                                        \
	X(none, "none", "judge, and cancel nobody")

#define CANCEL_ESTIMATORS(X)                                                                       \
	X(proportional, "proportional", "usage so far x remaining / done (the paper)")             \
	X(undo_aware, "undo-aware", "proportional, less what the rollback would still use")        \
	X(class_history, "class-history",                                                          \
		"from the median duration of completed tasks of its class and signature")

/* NULL-terminated tables of them, and look-up by name (NULL: unknown). */
extern const struct cancel_policy *const cancel_policies[];
extern const struct cancel_estimator *const cancel_estimators[];
const struct cancel_policy *cancel_policy_find(const char *name);
const struct cancel_estimator *cancel_estimator_find(const char *name);

/*
 * The thresholds: name, default, smallest and largest value, what it means. A row here is all there
 * is to a threshold: the field of struct cancel_pipeline_config, its default, its range, the option
 * and the environment variable of that name (observe.h), and its line in docs/thresholds.md are
 * made from it. Why each default is what it is: docs/policy.md. A new row is the last one.
 */
#define CANCEL_THRESHOLDS(X)                                                                       \
	X(late_share_ppm, 10000, 1, CANCEL_PPM,                                                    \
		"a window is suspect at this share of late episodes")                              \
	X(late_tasks, 3, 1, UINT32_MAX, "and with at least so many late tasks")                    \
	X(contention_ppm, 200000, 1, CANCEL_PPM,                                                   \
		"a resource counts at this share of execution time lost to it")                    \
	X(contention_ratio, 2, 1, 1000,                                                            \
		"and at this multiple of its healthy median, or so far towards 1 as that ratio "   \
		"leaves")                                                                          \
	X(blame_ppm, 20000, 1, CANCEL_PPM,                                                         \
		"a candidate has at least this share of a resource's delay, over three windows")   \
	X(held_back_ppm, 500000, 1, CANCEL_PPM,                                                    \
		"an instance leaves the score when tasks that may not be cancelled have this "     \
		"share of its delay")                                                              \
	X(evict_share_ppm, 100000, 1, CANCEL_PPM,                                                  \
		"MEMORY: a candidate has at least this share of the last second's evictions")      \
	X(warm_up_ms, 2000, 1, 3600000, "no decision is made before")                              \
	X(pace_gap_ms, 100, 1, 3600000, "time between two decisions")                              \
	X(pace_burst, 5, 1, 1000, "decisions in a row; the bucket starts full")                    \
	X(pace_share_ppm, 100000, 1, CANCEL_PPM,                                                   \
		"the bucket is refilled by this share of completions, or by one a second if that " \
		"is more")                                                                         \
	X(release_wait_ms, 1000, 1, 3600000,                                                       \
		"how long the last target has to release or to answer")                            \
	X(quarantine_ms, 0, 0, 86400000,                                                           \
		"how long a cancelled signature stays marked; 0: it is only recognised")           \
	X(explained_ppm, 300000, 1, CANCEL_PPM,                                                    \
		"a LOCK or QUEUE leaves the score when the eligible together have less than this " \
		"share of its delay")                                                              \
	X(drain_wait_ms, 10000, 1, 3600000,                                                        \
		"how long a target that has answered is waited for while what it was blamed for "  \
		"still chokes")                                                                    \
	X(origin_cancels, 6, 1, 1000,                                                              \
		"cancels of one origin that keeps coming back within a minute of the last")        \
	X(helpless_cancels, 8, 1, 64,                                                              \
		"cancels in a minute of what came back or without effect, before cancelling "      \
		"stops")

/* Zero means the default, given in brackets or in the row of the threshold. struct_size must be
 * set; a shorter structure of an older caller means defaults for the rest, and what a longer one of
 * a newer caller has more is ignored. A threshold outside its range and more than 1,048,576 slots
 * are refused. */
struct cancel_pipeline_config {
	size_t struct_size;
	uint32_t task_limit; /* [4096] slots a ledger may name */
	bool act;	     /* false: monitor; a task is decided once and nothing is delivered */
	const struct cancel_policy *policy;	  /* [multi-objective] */
	const struct cancel_estimator *estimator; /* [proportional] */
	uint32_t window_ms; /* [50] the caller's rhythm; windows are ledger differences */
#define X(name, fallback, min, max, text) uint32_t name;
	CANCEL_THRESHOLDS(X)
#undef X
};

/* ---- The verdict ----------------------------------------------------------------------------- */

enum cancel_overload {
	CANCEL_HEALTHY,
	CANCEL_SUSPECT,	 /* late, not confirmed in this window */
	CANCEL_RESOURCE, /* a resource explains it, and somebody's cancel would help */
	CANCEL_REGULAR,	 /* none does, or nobody is eligible: admission control's business */
};

enum cancel_cause { /* why a task, or a verdict, was held back */
	CANCEL_CAUSE_NONE,
	CANCEL_CAUSE_WARM_UP,		/* too soon after start */
	CANCEL_CAUSE_NOT_CANCELLABLE,	/* the host does not allow it */
	CANCEL_CAUSE_BLOCKED,		/* in a phase that must not be cancelled */
	CANCEL_CAUSE_ALREADY_CANCELLED, /* asked once, or running again */
	CANCEL_CAUSE_EXEMPT,		/* excluded by configuration */
	CANCEL_CAUSE_LOW_BLAME,		/* too little of any resource's delay ends at it */
	CANCEL_CAUSE_SHORT_HOLD,	/* it would be gone before a cancel could help; MEMORY: too
					   small a share of the evictions */
	CANCEL_CAUSE_PACE,		/* too soon after the last, or the bucket is empty */
	CANCEL_CAUSE_AWAIT_RELEASE,	/* the last target has not released yet, or has and the
					   effect does not show yet */
	CANCEL_CAUSE_NO_CULPRIT,	/* a resource counts, and nobody stands out */
	CANCEL_CAUSE_MONITOR,		/* monitor mode has named it and leaves it running */
	CANCEL_CAUSE_ACTION_STUCK,	/* a cancel action runs over its limit */
	CANCEL_CAUSE_POLICY,		/* the policy chose nobody */
	CANCEL_CAUSE_IGNORES_CANCELS,	/* it has ignored two and is left alone */
	CANCEL_CAUSE_CANCELS_DO_NOT_HELP, /* it came back after several, or several had no effect */
	CANCEL_CAUSE_IDLE_HOLDER, /* it holds and does nothing, and its host can end no session */
	CANCEL_CAUSE_COUNT,
};
/* A short name with hyphens ("short-hold"), never NULL. */
const char *cancel_cause_name(enum cancel_cause cause);

enum cancel_strength { /* what it takes to stop a task */
	CANCEL_END_STATEMENT = 1,
	CANCEL_END_SESSION, /* it has none: it holds on between two (an idle transaction) */
};

struct cancel_candidate {
	uint64_t task, key, sequence, signature; /* as in the ledger */
	uint64_t origin;			 /* likewise, the signature where there is none */
	uint8_t class_index, flags;
	enum cancel_cause held_back; /* NONE: eligible */
	bool dominated;		     /* another gains no less anywhere and more somewhere */
	uint64_t score_micro;	     /* sum of contention x gain, whatever the policy */
	uint64_t gain_micro[CANCEL_RESOURCES_MAX]; /* by resource: what its cancel would free */
	uint64_t used_micro[CANCEL_RESOURCES_MAX]; /* the same so far, before the estimator; of a
						      waiter that bars others, its wait */
	uint32_t blame_ppm[CANCEL_RESOURCES_MAX]; /* share of the delay rooted at the resource, over
						     three windows */
	uint64_t age_ns, done, expected, remaining_ns; /* remaining: predicted, 0 unknown */
};

/* What a policy sees: the eligible candidates in no particular order. Dominance is marked among the
 * best CANCEL_CANDIDATES_MAX by score. */
struct cancel_choice {
	const struct cancel_candidate *candidates;
	uint32_t candidate_count;
	uint32_t resource_count;
	/* By resource; 0 for those that do not count or whose culprits may not be cancelled. */
	const uint32_t *contention_ppm;
};

/* A candidate in short, on the most contended resource: what a log line or a table shows. */
struct cancel_contender {
	uint64_t task, key, sequence; /* task 0: none */
	uint64_t score_micro, gain_micro, age_ns;
	uint32_t blame_ppm;
	enum cancel_cause held_back;
	uint8_t class_index;
	bool dominated;
};

struct cancel_times {	       /* of one decision; 0 = not (yet) */
	uint64_t onset_ns;     /* the first request passed its SLO */
	uint64_t suspected_ns; /* the suspicion began */
	uint64_t decided_ns;
	uint64_t delivered_ns;	  /* the action ran */
	uint64_t acknowledged_ns; /* the task saw it */
	uint64_t released_ns;	  /* it gave back what it was blamed for, or ended */
	uint64_t recovered_ns;	  /* start of the ten windows without lateness that ended it */
	uint64_t effective_ns;	  /* others got what it gave back, or fewer wait for it */
};

struct cancel_decision {
	uint64_t serial; /* from 1 */
	bool acted;	 /* false in monitor mode, and where it could not be sent */
	bool escalation; /* second and last attempt on the same task */
	bool returning;	 /* another task of its class and signature was decided before */
	enum cancel_strength strength;
	const char *policy, *estimator;
	struct cancel_candidate target, runner_up;     /* runner_up.task 0: there was none */
	uint32_t top_resource;			       /* the most contended of the score */
	uint64_t blamed_mask;			       /* resources of the score, bit by index */
	uint32_t contention_ppm[CANCEL_RESOURCES_MAX]; /* of all resources */
	uint32_t late_share_ppm;
	uint64_t onset_ns, decided_ns;
	uint64_t quarantine_until_ns;		  /* 0: the signature is not marked */
	uint32_t candidate_count, eligible_count; /* tasks with any blame; of those, eligible */
	uint32_t held_back[CANCEL_CAUSE_COUNT];	  /* the others by cause */
	/* The eligible by score, then those held back by score; at most so many of both. */
	struct cancel_contender contenders[CANCEL_CANDIDATES_MAX];
	uint32_t contender_count;
};

/* An outcome is reported when anything about a decision changes; `final` once it can change no
 * more, at the latest a minute after the decision. */
struct cancel_outcome {
	uint64_t serial, task;
	struct cancel_times times;
	uint64_t wasted_ns;	/* active time thrown away */
	uint64_t rerun_wait_ns; /* from its release to its rerun */
	uint32_t reruns;	/* it ran again (0 or 1) */
	bool dropped;		/* it was not run again */
	bool final;		/* nothing more will be reported */
	bool excluded;		/* it ignored two deliveries and is left alone */
};

struct cancel_verdict {
	uint64_t now_ns;
	enum cancel_overload overload;
	enum cancel_cause held_back;  /* why there is an overload and no cancel */
	struct cancel_contender held; /* the task that carries most and may not be cancelled */
	bool precise;		      /* per-event stamps wanted */
	/* The late ones among the SLO-bearing episodes that closed in this window, or are open and
	 * over their SLO. */
	uint32_t late_share_ppm, late_tasks;
	uint64_t window_ns, completed, late; /* of this window */
	uint64_t onset_ns;		     /* of the present suspicion, 0 = none */
	/* Share of SLO-bearing execution time lost to each resource in this window, by its root. */
	uint32_t contention_ppm[CANCEL_RESOURCES_MAX];
	/* The paper's raw metrics. LOCK: wait/hold ppm; QUEUE: wait/slot time ppm; MEMORY:
	 * evictions a second. */
	uint64_t raw_metric[CANCEL_RESOURCES_MAX];
	uint64_t calm_mask; /* resources below half their threshold for 1 s: reruns may start */
	bool cancel;	    /* deliver to decision.target */
	bool decided;	    /* `decision` is new (monitor mode: cancel is false) */
	struct cancel_decision decision;
	struct cancel_outcome outcomes[CANCEL_CANDIDATES_MAX];
	uint32_t outcome_count;
};

/* ---- The explanation ------------------------------------------------------------------------- */

#define CANCEL_REASONS_MAX 5 /* contention of resources that count adds up to at most 1 */

/* What one resource contributed to a decision, largest part of the score first. */
struct cancel_explanation_part {
	uint32_t resource;
	uint32_t contention_ppm; /* share of execution time lost to it */
	uint32_t blame_ppm;	 /* the target's share of that */
	uint64_t gain_micro;	 /* seconds held, slot-seconds a slot, or pool turnovers, x 1e6 */
	uint64_t score_micro;	 /* contention x gain */
};

/* The numbers that led to a decision, ready to be put into words. */
struct cancel_explanation {
	uint64_t task, key, score_micro;
	uint64_t runner_up_task, runner_up_key, runner_up_score_micro; /* task 0: there was none */
	uint64_t late_ns;					       /* from onset to decision */
	uint64_t age_ns, remaining_ns;
	uint32_t progress_ppm; /* done / expected, 0 unknown */
	struct cancel_explanation_part parts[CANCEL_REASONS_MAX];
	uint32_t part_count;
	struct cancel_contender held; /* the strongest that may not be cancelled; task 0: none */
};
void cancel_explain(const struct cancel_decision *decision, struct cancel_explanation *explanation);

/* ---- The pipeline ---------------------------------------------------------------------------- */

struct cancel_pipeline; /* opaque, one block of memory */

/* Bytes one pipeline needs, about 2 KiB a slot, most of them touched only by slots in use; 0 if
 * the configuration is invalid. */
size_t cancel_pipeline_bytes(const struct cancel_pipeline_config *config);
/* Prepares `memory` (max_align_t aligned; it need not be zeroed). Returns 0, CANCEL_EINVAL for a
 * bad configuration or address, or CANCEL_ENOMEM for too few bytes. Nothing is allocated, then or
 * later, and nothing has to be released: free the memory when done. */
int cancel_pipeline_init(struct cancel_pipeline *memory, size_t bytes,
	const struct cancel_pipeline_config *config) CANCEL_MUST_CHECK;
/* New thresholds, policy, estimator or mode for a pipeline that goes on: what it has learned stays.
 * task_limit is not changed. 0, or CANCEL_EINVAL and nothing is changed. */
int cancel_pipeline_configure(struct cancel_pipeline *pipeline,
	const struct cancel_pipeline_config *config) CANCEL_MUST_CHECK;
/* One window: the difference of this ledger and the previous one. The first ledger, or one whose
 * time has not moved, gives no window; its events are taken in all the same. Fills all of
 * `verdict`. O(tasks + entries): a pass over every entry, and a second only where time is lost. The
 * ledger is not kept. */
void cancel_pipeline_step(struct cancel_pipeline *pipeline, const struct cancel_ledger *ledger,
	struct cancel_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif

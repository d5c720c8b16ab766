/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe.h - what an operator asks: who holds what, what was cancelled, and why that one.
 *
 * Nothing here slows a tracked task down: snapshots read the same single-writer slots the
 * controller reads and may be taken while everything else is stuck. Any thread, cold. With
 * CANCEL_OFF there is nothing to observe and every call answers "none".
 */
#ifndef CANCEL_OBSERVE_H
#define CANCEL_OBSERVE_H

#include <cancel/cancel.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CANCEL_NAME_MAX	    32	/* bytes of a resource's or class's name, its end included */
#define CANCEL_TEXT_MAX	    256 /* bytes of a decision's one-line reason */
#define CANCEL_FRAMES_MAX   24	/* frames of a victim's stack */
#define CANCEL_STACK_MAX    2048
#define CANCEL_RECORDS_KEPT 64 /* decisions remembered */

/* ---- Counters -------------------------------------------------------------------------------- */

/*
 * Everything counted since start: name, what it means. The first group is misuse by the host, each
 * kind logged once; the second is what did not fit in a bounded table; the third is what happened.
 */
#define CANCEL_COUNTERS(X)                                                                         \
	X(not_running, "calls before start or after stop")                                         \
	X(no_task, "calls that need a current task, on a thread without one")                      \
	X(nested_task, "create or bind on a thread that has a current task")                       \
	X(stale_task, "calls with the id of a task that has ended (a double free is one)")         \
	X(wrong_thread, "free, bind or unbind of a task bound to another thread")                  \
	X(thread_ended, "threads that ended with a current task: it was unbound")                  \
	X(bad_class, "tasks with a class index out of range: class 0")                             \
	X(bad_options, "options without struct_size: defaults")                                    \
	X(bad_resource, "calls with an id that is no resource")                                    \
	X(wrong_type, "evict or miss on a resource that is no MEMORY")                             \
	X(wrong_mode, "lock modes the resource does not have")                                     \
	X(release_without_acquire, "releases of what the task never held")                         \
	X(double_release, "releases of more than the task holds")                                  \
	X(give_up_without_wait, "give-ups without a wait")                                         \
	X(leaked_holds, "holds left over at the end of a task")                                    \
	X(leaked_waits, "waits left over at the end of a task")                                    \
	X(allow_without_block, "cancel_allow without cancel_block")                                \
	X(ended_blocked, "tasks that ended in a blocked phase")                                    \
	X(called_from_action, "calls made by a cancel action or a listener")                       \
	X(slow_actions, "actions that ran over action_max_ms")                                     \
	X(options_rejected, "environment overrides that do not parse")                             \
	X(tasks_refused, "tasks beyond max_tasks: untracked")                                      \
	X(resources_refused, "resources beyond 64, or without a name or type")                     \
	X(entries_folded, "idle entries folded into totals to make room")                          \
	X(entries_dropped, "uses beyond 16 at once: in totals only")                               \
	X(nesting_saturated, "acquisitions beyond the largest nesting count")                      \
	X(events_dropped, "events beyond the event table")                                         \
	X(deliveries_dropped, "deliveries beyond the delivery queue")                              \
	X(tickets_dropped, "reruns beyond the table of waiting ones: no order kept")               \
	X(torn_reads, "slots that changed under every attempt to read them")                       \
	X(internal_faults, "inconsistencies after which the library turned itself off")            \
	X(turns, "windows judged")                                                                 \
	X(late_turns, "windows that came more than a window late")                                 \
	X(resource_overloads, "windows with a resource overload")                                  \
	X(regular_overloads, "windows with a regular overload")                                    \
	X(decisions, "culprits decided, monitor mode included")                                    \
	X(delivered, "actions run")                                                                \
	X(ignored, "deliveries that found the task gone or blocked")                               \
	X(acknowledged, "requests seen by their task")                                             \
	X(released, "targets that gave back their blamed holds")                                   \
	X(reruns, "cancelled tasks run again")                                                     \
	X(drops, "cancelled tasks not run again")                                                  \
	X(excluded, "targets left alone after two ignored cancels")

enum cancel_counter {
#define X(name, what) CANCEL_COUNT_##name,
	CANCEL_COUNTERS(X)
#undef X
		CANCEL_COUNTER_COUNT
};

struct cancel_counters {
#define X(name, what) uint64_t name;
	CANCEL_COUNTERS(X)
#undef X
	uint64_t held_back[CANCEL_CAUSE_COUNT]; /* eligible but not cancelled, by cause: verdicts */
};

/* ---- Snapshots ------------------------------------------------------------------------------- */

struct cancel_task_info {
	struct cancel_task task;
	uint64_t sequence, key, signature;
	char class_name[CANCEL_NAME_MAX];
	enum cancel_task_state state;
	uint8_t class_index;
	uint8_t flags;				/* enum cancel_task_flags */
	bool bound;				/* to a thread at this moment */
	uint64_t slo_ns, episode_ns, active_ns; /* episode_ns: age of the open one, 0 none */
	uint64_t progress_done, progress_expected;
	uint32_t entry_count;
	struct cancel_ledger_entry entries[CANCEL_ENTRIES_MAX];
};

struct cancel_resource_info {
	char name[CANCEL_NAME_MAX];
	struct cancel_ledger_resource ledger; /* type, capacity, conflicts, totals of ended tasks */
	uint32_t holders, waiters;	      /* entries of live tasks */
	uint64_t held;			      /* QUEUE: slots; MEMORY: units; LOCK: entries */
	uint32_t contention_ppm;	      /* of the last window */
	uint64_t raw_metric;
	bool calm;
};

struct cancel_status {
	bool running, acting, precise; /* acting: mode act and not turned off */
	bool turned_off;	       /* an internal inconsistency: see the log */
	bool action_stuck;
	uint64_t now_ns, started_ns;
	uint32_t live_tasks, resource_count, class_count;
	enum cancel_overload overload;
	enum cancel_cause held_back;
	char held_back_text[CANCEL_TEXT_MAX]; /* who carries the load and why it stays; "" none */
	uint32_t late_share_ppm;
	uint64_t completed, late;	      /* since start, of tasks with an SLO */
	uint64_t slo_ns[CANCEL_CLASSES_MAX];  /* by class; 0: none, or still learning */
	uint64_t turn_last_ns, turn_worst_ns; /* time the controller took for a window */
};

/* ---- Decisions ------------------------------------------------------------------------------- */

enum cancel_change { /* why a listener is called */
	CANCEL_CHANGE_DECIDED = 1,
	CANCEL_CHANGE_OUTCOME, /* its times moved on */
	CANCEL_CHANGE_STACK,   /* the victim's stack has arrived */
	CANCEL_CHANGE_FINAL,   /* it will change no more */
};

struct cancel_decision_record {
	uint64_t serial;
	struct cancel_decision decision;
	struct cancel_outcome outcome;
	char text[CANCEL_TEXT_MAX];   /* "task 812 (dump) cancelled: 61 % of execution time …" */
	char stack[CANCEL_STACK_MAX]; /* a frame a line, where it saw the request; "" none yet */
};

#define CANCEL_QUARANTINE_MAX 64 /* origins; a full list forgets the oldest */

/* An origin that is to be kept out, because its cancels would go on: quarantine_ms. In monitor mode
 * (acted: false) it only would be. */
struct cancel_quarantine {
	uint64_t origin;    /* as its task's options said, or its signature */
	uint64_t signature; /* of the task that was decided last */
	uint64_t until_ns, serial;
	bool acted;
};

/* Runs on the controller thread; must not block and must not start, stop or free anything. The
 * record is valid during the call. */
typedef void (*cancel_listener)(
	enum cancel_change change, const struct cancel_decision_record *record, void *arg);

/* Called once a window with what the core said: for admission control and metrics. Same rules. */
typedef void (*cancel_window_listener)(
	const struct cancel_ledger *ledger, const struct cancel_verdict *verdict, void *arg);

#ifndef CANCEL_OFF

/* Copies up to `capacity` live tasks, in slot order; returns how many were copied. */
CANCEL_API size_t cancel_snapshot_tasks(struct cancel_task_info *tasks, size_t capacity);
/* The same for resources, by index. */
CANCEL_API size_t cancel_snapshot_resources(
	struct cancel_resource_info *resources, size_t capacity);
/* One task; ENOTASK if it has ended. */
CANCEL_API int cancel_read_task(struct cancel_task task, struct cancel_task_info *info);

CANCEL_API void cancel_read_status(struct cancel_status *status);
CANCEL_API void cancel_read_counters(struct cancel_counters *counters);
CANCEL_API const char *cancel_counter_name(enum cancel_counter counter);
CANCEL_API const char *cancel_counter_text(enum cancel_counter counter);

/* Up to `capacity` of the last decisions, newest first; returns how many. */
CANCEL_API size_t cancel_recent_decisions(struct cancel_decision_record *records, size_t capacity);

/* Until when (cancel_now_ns) the host should refuse what comes from this origin; 0: it is welcome.
 * To be asked before a request gets anything others wait for. The event is the decision that began
 * it: its quarantine_until_ns says so, and its text. Any thread; one load while nobody is kept out.
 */
CANCEL_API uint64_t cancel_quarantined(uint64_t origin);
/* Up to `capacity` of those kept out now; returns how many. */
CANCEL_API size_t cancel_snapshot_quarantine(struct cancel_quarantine *list, size_t capacity);

/* One listener of each kind; NULL removes it and waits until it is not running (do not call from
 * the listener itself). May be set before start; survives stop. */
CANCEL_API void cancel_set_listener(cancel_listener listener, void *arg);
CANCEL_API void cancel_set_window_listener(cancel_window_listener listener, void *arg);

/* Index of a resource in the ledger and in snapshots; -1: untracked. Names by index, "" unknown. */
CANCEL_API int cancel_resource_index(struct cancel_resource r);
CANCEL_API void cancel_resource_name(int index, char name[CANCEL_NAME_MAX]);

/*
 * Options by the names of their environment variables without CANCEL_, in lower case: "mode",
 * "policy", "slo_ms", "contention_ppm" … cancel_set_option changes a running library from its next
 * window on (EINVAL: unknown name, does not parse, out of range; ESTATE: not running, called by a
 * listener, or this option is fixed at start). cancel_option lists them: text of option `index`,
 * ENOTASK past the end. The text of slo_ms tells learned ones apart: "reads=5,dump=900 (learned)".
 * cancel_option_choices writes what an option takes, as in "monitor or act" (ENOTASK: no such
 * option; ESTATE as above).
 */
CANCEL_API int cancel_set_option(const char *name, const char *value) CANCEL_MUST_CHECK;
CANCEL_API int cancel_option_choices(const char *name, char text[CANCEL_TEXT_MAX]);
CANCEL_API int cancel_option(uint32_t index, const char **name, char value[CANCEL_TEXT_MAX],
	bool *writable) CANCEL_MUST_CHECK;

#else

static inline size_t cancel_snapshot_tasks(struct cancel_task_info *tasks, size_t capacity)
{
	(void)tasks;
	(void)capacity;
	return 0;
}

static inline size_t cancel_snapshot_resources(
	struct cancel_resource_info *resources, size_t capacity)
{
	(void)resources;
	(void)capacity;
	return 0;
}

static inline int cancel_read_task(struct cancel_task task, struct cancel_task_info *info)
{
	(void)task;
	(void)info;
	return CANCEL_ENOTASK;
}

static inline void cancel_read_status(struct cancel_status *status)
{
	memset(status, 0, sizeof *status);
}

static inline void cancel_read_counters(struct cancel_counters *counters)
{
	memset(counters, 0, sizeof *counters);
}

static inline const char *cancel_counter_name(enum cancel_counter counter)
{
	(void)counter;
	return "";
}

static inline const char *cancel_counter_text(enum cancel_counter counter)
{
	(void)counter;
	return "";
}

static inline size_t cancel_recent_decisions(
	struct cancel_decision_record *records, size_t capacity)
{
	(void)records;
	(void)capacity;
	return 0;
}

static inline uint64_t cancel_quarantined(uint64_t origin)
{
	(void)origin;
	return 0;
}

static inline size_t cancel_snapshot_quarantine(struct cancel_quarantine *list, size_t capacity)
{
	(void)list;
	(void)capacity;
	return 0;
}

static inline void cancel_set_listener(cancel_listener listener, void *arg)
{
	(void)listener;
	(void)arg;
}

static inline void cancel_set_window_listener(cancel_window_listener listener, void *arg)
{
	(void)listener;
	(void)arg;
}

static inline int cancel_resource_index(struct cancel_resource r)
{
	(void)r;
	return -1;
}

static inline void cancel_resource_name(int index, char name[CANCEL_NAME_MAX])
{
	(void)index;
	name[0] = '\0';
}

CANCEL_MUST_CHECK static inline int cancel_set_option(const char *name, const char *value)
{
	(void)name;
	(void)value;
	return CANCEL_ESTATE;
}

static inline int cancel_option_choices(const char *name, char text[CANCEL_TEXT_MAX])
{
	(void)name;
	text[0] = '\0';
	return CANCEL_ESTATE;
}

CANCEL_MUST_CHECK static inline int cancel_option(
	uint32_t index, const char **name, char value[CANCEL_TEXT_MAX], bool *writable)
{
	(void)index;
	(void)name;
	(void)value;
	(void)writable;
	return CANCEL_ENOTASK;
}

#endif

#ifdef __cplusplus
}
#endif
#endif

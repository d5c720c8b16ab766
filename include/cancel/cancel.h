/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.h - what an application calls: tasks, resources, actions, progress.
 */
#ifndef CANCEL_CANCEL_H
#define CANCEL_CANCEL_H

#include <cancel/error.h>
#include <cancel/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One-member ids, by value. Zero means untracked: every call takes it as a no-op. */
struct cancel_task {
	uint64_t id; /* slot + generation */
};
struct cancel_resource {
	uint32_t id; /* index + 1 */
};

const char *cancel_error_text(int error);

enum cancel_mode {
	CANCEL_MONITOR, /* decide and report, never act */
	CANCEL_ACT,
};

struct cancel_class {
	const char *name; /* copied */
	uint64_t slo_ns;  /* 0: learned, 3 x the healthy p99 of the first 30 s */
	bool exempt;	  /* its tasks are never chosen */
};

struct cancel_config { /* zero = default; every field has a CANCEL_… environment override */
	size_t struct_size;
	enum cancel_mode mode;
	uint32_t window_ms;		    /* [50] */
	uint32_t max_tasks;		    /* [4096] live at once */
	const char *policy;		    /* [multi-objective] */
	const char *estimator;		    /* [proportional] */
	const struct cancel_class *classes; /* class 0 first; none: one class "default" */
	uint32_t class_count;
	uint32_t rerun_max_ms;	/* [10000] longest wait for a rerun without an SLO deadline */
	uint32_t action_max_ms; /* [1000] an action over this stops new cancels */
	bool thread_cancel;	/* pthread_cancel for tasks that opted in */
	bool no_precise;	/* never switch to per-event stamps (overhead measurements) */
	bool always_precise;
	const struct cancel_pipeline_config *pipeline; /* thresholds; NULL = defaults */
	const char *journal_path;		       /* NULL: none */
	void (*log)(void *arg, const char *line);      /* NULL: stderr; few lines, each once */
	void *log_arg;
};

struct cancel_resource_options {
	size_t struct_size;
	uint64_t capacity;			  /* MEMORY: units; QUEUE: slots of one instance */
	uint8_t conflicts[CANCEL_LOCK_MODES_MAX]; /* LOCK: all zero = shared/exclusive */
};

enum cancel_reason { CANCEL_REASON_CULPRIT = 1, CANCEL_REASON_ESCALATION, CANCEL_REASON_MANUAL };

struct cancel_request { /* what an action is told */
	struct cancel_task task;
	uint64_t key;
	uint64_t serial; /* of the decision */
	enum cancel_reason reason;
};
/* Runs on the delivery thread; takes leaf locks only; never calls back into this library. */
typedef void (*cancel_action)(const struct cancel_request *request, void *arg);

struct cancel_task_options { /* zero = default */
	size_t struct_size;
	uint64_t key;
	uint64_t signature;
	uint64_t slo_ns; /* 0: the class's */
	uint64_t rollback_ns;
	uint8_t class_index;
	uint8_t flags; /* CANCEL_CANCELLABLE | CANCEL_BACKGROUND | CANCEL_THREAD */
	cancel_action action;
	void *action_arg;
	uint64_t
		start_ns; /* 0: now; else cancel_now_ns() of its arrival: the episode opens there */
};

enum cancel_unbind { CANCEL_QUEUED = 1, CANCEL_IDLE };
enum cancel_rerun_answer { CANCEL_RERUN = 1, CANCEL_WAIT, CANCEL_DROP };
struct cancel_ticket {
	uint64_t id;
};

/* Exported functions; the paper's names below are inline over them. */
int cancel_start(const struct cancel_config *config) CANCEL_MUST_CHECK;
int cancel_stop(void);
uint64_t cancel_now_ns(void); /* the library's monotonic clock */
struct cancel_resource cancel_create_resource(const char *name, enum cancel_resource_type type,
	const struct cancel_resource_options *options);
struct cancel_task cancel_create(const struct cancel_task_options *options);
void cancel_free(struct cancel_task task);
void cancel_bind(struct cancel_task task);
void cancel_unbind(struct cancel_task task, enum cancel_unbind how);
struct cancel_task cancel_current(void);
void cancel_slow(struct cancel_resource r, uint32_t instance, uint64_t amount);
void cancel_get(struct cancel_resource r, uint32_t instance, uint64_t amount);
void cancel_release(struct cancel_resource r, uint32_t instance, uint64_t amount);
void cancel_give_up(struct cancel_resource r, uint32_t instance);
void cancel_evict(struct cancel_resource r, struct cancel_task owner, uint64_t units);
void cancel_miss(struct cancel_resource r, struct cancel_task evictor);
void cancel_progress(uint64_t done, uint64_t expected);
void cancel_set_action(cancel_action action, void *arg); /* of the current task */
bool cancel_requested(void);
int cancel_block(void) CANCEL_MUST_CHECK;
void cancel_allow(void);
enum cancel_rerun_answer cancel_rerun(struct cancel_task task, struct cancel_ticket *ticket);
/* An operator's cancel of one task by id: same path, same safety. 0, or a negative error. */
int cancel_deliver(struct cancel_task task) CANCEL_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif

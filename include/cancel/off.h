/* SPDX-License-Identifier: Apache-2.0 */
/*
 * off.h - what cancel.h declares, as empty inline functions: the build without cancellation.
 *
 * Included by cancel.h when CANCEL_OFF is defined; nothing has to be linked. Every task and
 * resource is untracked and a rerun is always allowed. cancel_now_ns still tells the time, by
 * CLOCK_MONOTONIC: hosts use it for themselves.
 */
#ifndef CANCEL_OFF_H
#define CANCEL_OFF_H

#include <time.h>

static inline const char *cancel_error_text(int error)
{
	(void)error;
	return "cancellation is compiled out";
}

CANCEL_MUST_CHECK static inline int cancel_start(const struct cancel_config *config)
{
	(void)config;
	return 0;
}

static inline int cancel_stop(void)
{
	return 0;
}

static inline uint64_t cancel_now_ns(void)
{
	struct timespec now;
#ifdef CLOCK_MONOTONIC
	clock_gettime(CLOCK_MONOTONIC, &now);
#else /* -std=c17 alone hides POSIX; this one may be set */
	timespec_get(&now, TIME_UTC);
#endif
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct cancel_resource cancel_create_resource(const char *name,
	enum cancel_resource_type type, const struct cancel_resource_options *options)
{
	struct cancel_resource none = { 0 };
	(void)name;
	(void)type;
	(void)options;
	return none;
}

static inline struct cancel_task cancel_task_begin(const struct cancel_task_options *options)
{
	struct cancel_task none = { 0 };
	(void)options;
	return none;
}

static inline void cancel_task_end(struct cancel_task task)
{
	(void)task;
}

static inline void cancel_count_request(uint8_t class_index, uint64_t start_ns, uint64_t end_ns)
{
	(void)class_index;
	(void)start_ns;
	(void)end_ns;
}

static inline void cancel_bind(struct cancel_task task)
{
	(void)task;
}

static inline void cancel_unbind(struct cancel_task task, enum cancel_unbind how)
{
	(void)task;
	(void)how;
}

static inline struct cancel_task cancel_current(void)
{
	struct cancel_task none = { 0 };
	return none;
}

static inline void cancel_wait_for(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	(void)r;
	(void)instance;
	(void)amount;
}

static inline void cancel_acquire(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	(void)r;
	(void)instance;
	(void)amount;
}

static inline void cancel_release(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	(void)r;
	(void)instance;
	(void)amount;
}

static inline void cancel_give_up(struct cancel_resource r, uint32_t instance)
{
	(void)r;
	(void)instance;
}

static inline void cancel_evict(struct cancel_resource r, struct cancel_task owner, uint64_t units)
{
	(void)r;
	(void)owner;
	(void)units;
}

static inline void cancel_miss(struct cancel_resource r, struct cancel_task evictor)
{
	(void)r;
	(void)evictor;
}

static inline void cancel_progress(uint64_t done, uint64_t expected)
{
	(void)done;
	(void)expected;
}

static inline void cancel_set_signature(uint64_t signature)
{
	(void)signature;
}

static inline void cancel_set_maintenance(bool maintenance)
{
	(void)maintenance;
}

static inline void cancel_set_action(cancel_action action, void *arg)
{
	(void)action;
	(void)arg;
}

static inline bool cancel_requested(void)
{
	return false;
}

CANCEL_MUST_CHECK static inline int cancel_block(void)
{
	return 0;
}

static inline void cancel_allow(void)
{
}

static inline enum cancel_rerun_answer cancel_rerun(
	struct cancel_task task, struct cancel_ticket *ticket)
{
	(void)task;
	(void)ticket;
	return CANCEL_RERUN;
}

CANCEL_MUST_CHECK static inline int cancel_deliver(struct cancel_task task)
{
	(void)task;
	return CANCEL_ESTATE;
}

#endif

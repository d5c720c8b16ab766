/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper.h - the paper's names for the calls of cancel.h, which includes this file.
 *
 * Each is an inline function over one exported function, whose comment in cancel.h holds for both.
 * A call that names a resource has two forms: the plain one is for a resource of which there is one
 * instance, the one that ends in At for instance `instance` of it.
 */
#ifndef CANCEL_PAPER_H
#define CANCEL_PAPER_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

CANCEL_MUST_CHECK static inline int startCancel(const struct cancel_config *config)
{
	return cancel_start(config);
}

static inline int stopCancel(void)
{
	return cancel_stop();
}

static inline struct cancel_resource createResource(const char *name,
	enum cancel_resource_type type, const struct cancel_resource_options *options)
{
	return cancel_create_resource(name, type, options);
}

static inline struct cancel_task createCancel(const struct cancel_task_options *options)
{
	return cancel_task_begin(options);
}

static inline void freeCancel(struct cancel_task task)
{
	cancel_task_end(task);
}

static inline void countRequest(uint8_t class_index, uint64_t start_ns, uint64_t end_ns)
{
	cancel_count_request(class_index, start_ns, end_ns);
}

static inline void bindCancel(struct cancel_task task)
{
	cancel_bind(task);
}

static inline void unbindCancel(struct cancel_task task, enum cancel_unbind how)
{
	cancel_unbind(task, how);
}

static inline struct cancel_task currentCancel(void)
{
	return cancel_current();
}

static inline void slowByResource(struct cancel_resource r, uint64_t amount)
{
	cancel_wait_for(r, 0, amount);
}

static inline void slowByResourceAt(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	cancel_wait_for(r, instance, amount);
}

static inline void getResource(struct cancel_resource r, uint64_t amount)
{
	cancel_acquire(r, 0, amount);
}

static inline void getResourceAt(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	cancel_acquire(r, instance, amount);
}

static inline void freeResource(struct cancel_resource r, uint64_t amount)
{
	cancel_release(r, 0, amount);
}

static inline void freeResourceAt(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	cancel_release(r, instance, amount);
}

static inline void giveUpResource(struct cancel_resource r)
{
	cancel_give_up(r, 0);
}

static inline void giveUpResourceAt(struct cancel_resource r, uint32_t instance)
{
	cancel_give_up(r, instance);
}

static inline void evictResource(struct cancel_resource r, struct cancel_task owner, uint64_t units)
{
	cancel_evict(r, owner, units);
}

static inline void missResource(struct cancel_resource r, struct cancel_task evictor)
{
	cancel_miss(r, evictor);
}

static inline void setProgress(uint64_t done, uint64_t expected)
{
	cancel_progress(done, expected);
}

static inline void setCancelSignature(uint64_t signature)
{
	cancel_set_signature(signature);
}

static inline void setCancelMaintenance(bool maintenance)
{
	cancel_set_maintenance(maintenance);
}

static inline void setCancelAction(cancel_action action, void *arg)
{
	cancel_set_action(action, arg);
}

static inline bool cancelRequested(void)
{
	return cancel_requested();
}

CANCEL_MUST_CHECK static inline int blockCancel(void)
{
	return cancel_block();
}

static inline void allowCancel(void)
{
	cancel_allow();
}

static inline enum cancel_rerun_answer rerunCancel(
	struct cancel_task task, struct cancel_ticket *ticket)
{
	return cancel_rerun(task, ticket);
}

CANCEL_MUST_CHECK static inline int deliverCancel(struct cancel_task task)
{
	return cancel_deliver(task);
}

#ifdef __cplusplus
}
#endif
#endif

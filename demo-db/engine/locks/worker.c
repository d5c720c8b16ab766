/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - who may run now.
 *
 * Owns the slots, the queues and the threads. There is a thread for each slot, so a job that is
 * granted one finds a thread; a job that brings its own thread leaves one asleep. Slots are granted
 * in one place, grant_slots, whenever one is given back or a job arrives.
 *
 * Threads run with pthread_cancel disabled; a host function enables it around itself.
 */
#include "demo-db/engine/locks/worker.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lists ----------------------------------------------------------------------------------- */

static void list_append(struct job_list *list, struct job *job)
{
	job->previous = list->last;
	job->next = NULL;
	if (list->last)
		list->last->next = job;
	else
		list->first = job;
	list->last = job;
}

static void list_remove(struct job_list *list, struct job *job)
{
	if (job->previous)
		job->previous->next = job->next;
	else
		list->first = job->next;
	if (job->next)
		job->next->previous = job->previous;
	else
		list->last = job->previous;
	job->previous = job->next = NULL;
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static void count_normal(struct workers *workers, int change)
{
	uint32_t count = atomic_load_explicit(&workers->normal_waiting, memory_order_relaxed);
	atomic_store_explicit(
		&workers->normal_waiting, count + (uint32_t)change, memory_order_relaxed);
}

bool workers_are_full(const struct workers *workers)
{
	return atomic_load_explicit(&workers->normal_waiting, memory_order_relaxed) >=
	       workers->queue_limit;
}

static int queue_push(struct workers *workers, struct job *job)
{
	if (job->class == JOB_NORMAL) {
		job->work.priority = job->priority;
		job->work.tenant = job->tenant;
		if (!cancel_work_queue_push(&workers->normal, job->since_ns, &job->work))
			return DB_EQUEUE;
		count_normal(workers, 1);
	}
	list_append(&workers->queues[job->class], job);
	workers->waiting++;
	return 0;
}

static void queue_remove(struct workers *workers, struct job *job)
{
	if (job->class == JOB_NORMAL) {
		cancel_work_queue_remove(&workers->normal, &job->work);
		count_normal(workers, -1);
	}
	list_remove(&workers->queues[job->class], job);
	workers->waiting--;
}

/* The next of its class, taken out; NULL: nobody waits. */
static struct job *queue_pop(struct workers *workers, enum job_class class)
{
	struct job *job = workers->queues[class].first;
	if (!job)
		return NULL;
	if (class == JOB_NORMAL) {
		struct cancel_work *work = cancel_work_queue_pop(&workers->normal, 0);
		job = (struct job *)(void *)((char *)work - offsetof(struct job, work));
		count_normal(workers, -1);
	}
	list_remove(&workers->queues[class], job);
	workers->waiting--;
	return job;
}

static uint32_t limit_of(const struct workers *workers, enum job_class class)
{
	static const uint32_t reserved[JOB_CLASSES] = { [JOB_FINISH] = 2, [JOB_RESUME] = 1 };
	_Static_assert(DB_RESERVED_SLOTS == 2, "one for resumed statements, one that never waits");
	return workers->slots + reserved[class];
}

/* ---- Granting -------------------------------------------------------------------------------- */

static void take_slot(struct workers *workers, const struct job *job)
{
	workers->used++;
	cancel_work_queue_charge(&workers->normal, job->tenant, 1);
}

static void give_slot(struct workers *workers, uint8_t tenant)
{
	workers->used--;
	cancel_work_queue_refund(&workers->normal, tenant, 1);
}

static void start_running(struct workers *workers, struct job *job)
{
	take_slot(workers, job);
	job->state = JOB_RUNNING;
	list_append(&workers->running, job);
}

/* `here`: a worker thread is about to look for work, so no other needs to be woken for it. */
static void grant(struct workers *workers, struct job *job, bool here)
{
	if (job->caller_runs) {
		start_running(workers, job);
		pthread_cond_signal(&job->granted);
		return;
	}
	take_slot(workers, job);
	job->state = JOB_READY;
	list_append(&workers->ready, job);
	if (!here)
		pthread_cond_signal(&workers->work);
}

static void grant_slots(struct workers *workers, bool here)
{
	for (int i = 0; i < JOB_CLASSES && workers->waiting; i++) {
		enum job_class class = (enum job_class)i;
		while (workers->used < limit_of(workers, class)) {
			struct job *job = queue_pop(workers, class);
			if (!job)
				break;
			bool runs_here = here && !job->caller_runs;
			grant(workers, job, runs_here);
			here = here && !runs_here;
		}
	}
}

/* Would the job overtake somebody of its own class or a better one? (Normal jobs wait only while
 * there is no slot for any of them.) */
static bool must_wait(const struct workers *workers, const struct job *job)
{
	if (workers->used >= limit_of(workers, job->class))
		return true;
	for (int i = 0; i <= (int)job->class && workers->waiting; i++)
		if (workers->queues[i].first)
			return true;
	return false;
}

static int enqueue(struct workers *workers, struct job *job)
{
	if (workers->stopping)
		return DB_ESHUTDOWN;
	job->since_ns = cancel_now_ns();
	int rc = queue_push(workers, job);
	if (rc)
		return rc;
	job->state = JOB_WAITING;
	grant_slots(workers, false);
	return 0;
}

bool workers_try_enter(struct workers *workers, struct job *job)
{
	pthread_mutex_lock(&workers->mutex);
	bool entered = !workers->stopping && !must_wait(workers, job);
	if (entered)
		start_running(workers, job);
	pthread_mutex_unlock(&workers->mutex);
	return entered;
}

static int enqueue_as(struct workers *workers, struct job *job, bool caller_runs)
{
	pthread_mutex_lock(&workers->mutex);
	job->caller_runs = caller_runs;
	int rc = enqueue(workers, job);
	pthread_mutex_unlock(&workers->mutex);
	return rc;
}

int workers_enqueue(struct workers *workers, struct job *job)
{
	return enqueue_as(workers, job, false);
}

int workers_enqueue_caller(struct workers *workers, struct job *job)
{
	return enqueue_as(workers, job, true);
}

void workers_await(struct workers *workers, struct job *job)
{
	pthread_mutex_lock(&workers->mutex);
	while (job->state != JOB_RUNNING)
		pthread_cond_wait(&job->granted, &workers->mutex);
	pthread_mutex_unlock(&workers->mutex);
}

void workers_leave(struct workers *workers, struct job *job)
{
	pthread_mutex_lock(&workers->mutex);
	list_remove(&workers->running, job);
	job->state = JOB_IDLE;
	give_slot(workers, job->tenant);
	grant_slots(workers, false);
	pthread_mutex_unlock(&workers->mutex);
}

void workers_detach(struct workers *workers, struct job *job)
{
	pthread_mutex_lock(&workers->mutex);
	list_remove(&workers->running, job);
	job->state = JOB_IDLE;
	pthread_mutex_unlock(&workers->mutex);
}

bool workers_promote(struct workers *workers, struct job *job)
{
	pthread_mutex_lock(&workers->mutex);
	bool waits = job->state == JOB_WAITING;
	if (waits && job->class != JOB_FINISH) {
		queue_remove(workers, job);
		job->class = JOB_FINISH;
		(void)queue_push(workers, job); /* this class has no limit */
		grant_slots(workers, false);
	}
	pthread_mutex_unlock(&workers->mutex);
	return waits;
}

bool workers_may_wait(struct workers *workers, struct job *job)
{
	pthread_mutex_lock(&workers->mutex);
	if (job->class == JOB_FINISH && workers->used <= limit_of(workers, JOB_RESUME))
		job->class = JOB_RESUME;
	bool may = job->class != JOB_FINISH;
	pthread_mutex_unlock(&workers->mutex);
	return may;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void *worker_thread(void *arg)
{
	struct workers *workers = arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_mutex_lock(&workers->mutex);
	while (!workers->stopping || workers->ready.first) {
		struct job *job = workers->ready.first;
		if (!job) {
			pthread_cond_wait(&workers->work, &workers->mutex);
			continue;
		}
		list_remove(&workers->ready, job);
		job->state = JOB_RUNNING;
		list_append(&workers->running, job);
		uint8_t tenant = job->tenant;
		pthread_mutex_unlock(&workers->mutex);
		bool keeps_slot = job->run(job);
		pthread_mutex_lock(&workers->mutex);
		if (keeps_slot) {
			give_slot(workers, tenant);
			grant_slots(workers, true);
		}
	}
	pthread_mutex_unlock(&workers->mutex);
	return NULL;
}

void workers_replace_thread(struct workers *workers)
{
	pthread_mutex_lock(&workers->mutex);
	for (uint32_t i = 0; i < workers->thread_count && !workers->stopping; i++) {
		if (!pthread_equal(workers->threads[i], pthread_self()))
			continue;
		pthread_t fresh;
		if (pthread_create(&fresh, NULL, worker_thread, workers) == 0) {
			pthread_detach(workers->threads[i]);
			workers->threads[i] = fresh;
			workers->replaced++;
		}
		break;
	}
	pthread_mutex_unlock(&workers->mutex);
}

int workers_start(struct workers *workers, uint32_t slots, uint32_t queue_limit)
{
	memset(workers, 0, sizeof(*workers));
	workers->slots = slots;
	workers->queue_limit = queue_limit;
	const struct cancel_work_queue_options normal = { .struct_size = sizeof(normal),
		.order = CANCEL_WORK_PRIORITY_FIRST,
		.tenants = DB_TENANTS,
		.limit = queue_limit };
	if (cancel_work_queue_init(&workers->normal, &normal))
		return DB_EINVAL;
	workers->threads = calloc(slots + DB_RESERVED_SLOTS, sizeof(pthread_t));
	if (!workers->threads)
		return DB_ENOMEM;
	pthread_mutex_init(&workers->mutex, NULL);
	pthread_cond_init(&workers->work, NULL);
	const struct cancel_resource_options options = { .struct_size = sizeof(options),
		.capacity = slots };
	workers->resource = createResource("workers", CANCEL_QUEUE, &options);
	for (uint32_t i = 0; i < slots + DB_RESERVED_SLOTS; i++) {
		if (pthread_create(&workers->threads[i], NULL, worker_thread, workers)) {
			workers_stop(workers);
			return DB_ETHREAD;
		}
		workers->thread_count++;
	}
	return 0;
}

void workers_stop(struct workers *workers)
{
	pthread_mutex_lock(&workers->mutex);
	workers->stopping = true;
	pthread_cond_broadcast(&workers->work);
	pthread_mutex_unlock(&workers->mutex);
	for (uint32_t i = 0; i < workers->thread_count; i++)
		pthread_join(workers->threads[i], NULL);
	free(workers->threads);
	pthread_cond_destroy(&workers->work);
	pthread_mutex_destroy(&workers->mutex);
}

int job_init(struct job *job, bool (*run)(struct job *), struct lock_owner *owner)
{
	memset(job, 0, sizeof(*job));
	job->run = run;
	job->owner = owner;
	return pthread_cond_init(&job->granted, NULL) ? DB_ENOMEM : 0;
}

void job_destroy(struct job *job)
{
	pthread_cond_destroy(&job->granted);
}

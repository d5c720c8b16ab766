/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - worker slots, the threads behind them, and the queues in front of them.
 *
 * A statement runs only while it holds a slot. `slots` of them serve everybody; two more serve only
 * the resume queue, because N workers that wait for a lock whose holder's COMMIT is queued behind
 * them would otherwise wait for ever:
 *
 *	JOB_FINISH   COMMIT, ROLLBACK, cancels, system views: never wait for a lock   slots + 2
 *	             (a view with a table in it: workers_may_wait)
 *	JOB_RESUME   other statements of sessions that hold locks                      slots + 1
 *	JOB_NORMAL   everything else, by priority; within one the tenant with the
 *	             fewest slots, then first come first served                        slots
 *
 * A job runs on a worker thread, or on the thread that brought it (no hand-over) once the slot is
 * its own.
 */
#ifndef DEMO_DB_WORKER_H
#define DEMO_DB_WORKER_H

#include "demo-db/engine/locks/lock.h"

#include <cancel/admission/work_queue.h>

enum job_class { JOB_FINISH, JOB_RESUME, JOB_NORMAL, JOB_CLASSES };
enum job_state { JOB_IDLE, JOB_WAITING, JOB_READY, JOB_RUNNING };

struct job {
	struct cancel_work work;     /* its place among the normal jobs */
	struct job *previous, *next; /* of its queue, the ready list or the running list */
	enum job_state state;	     /* this and all below under the workers' mutex */
	enum job_class class;
	uint8_t priority, tenant;
	bool caller_runs; /* its owner sleeps in workers_await */
	uint64_t since_ns;
	pthread_cond_t granted;
	/* Set by the owner before the job is first used. */
	/* On a worker, slot held. True: the job is done with (workers_detach) but the slot is still
	 * this thread's; false: it was given back by workers_leave. */
	bool (*run)(struct job *job);
	struct lock_owner *owner; /* whose statement it is, for the deadlock graph */
};

struct job_list {
	struct job *first, *last;
};

struct workers {
	pthread_mutex_t mutex;
	pthread_cond_t work; /* a job is ready, or stop */
	uint32_t slots;	     /* for everybody */
	uint32_t used;
	uint32_t waiting;		 /* jobs in all queues */
	_Atomic uint32_t normal_waiting; /* … in the normal one; for workers_are_full */
	uint32_t queue_limit;
	struct cancel_work_queue normal;     /* the order of the normal class */
	struct job_list queues[JOB_CLASSES]; /* who waits, in order of arrival */
	struct job_list ready, running;
	bool stopping;
	struct cancel_resource resource;
	pthread_t *threads;
	uint32_t thread_count;
	uint32_t replaced; /* threads lost to pthread_cancel and started anew */
};

int workers_start(struct workers *workers, uint32_t slots, uint32_t queue_limit);
void workers_stop(struct workers *workers); /* nothing is queued or running */

int job_init(struct job *job, bool (*run)(struct job *), struct lock_owner *owner);
void job_destroy(struct job *job);

/* Would a normal job be refused now? Read without the mutex: the next to queue may hear otherwise.
 */
bool workers_are_full(const struct workers *workers);
/* A slot for the calling thread, if one is free and nobody of its class waits. */
bool workers_try_enter(struct workers *workers, struct job *job);
/* Queues the job; run() follows on a worker. DB_EQUEUE when the normal queue is full. */
int workers_enqueue(struct workers *workers, struct job *job);
/* The same for the calling thread, which then sleeps in workers_await until the slot is its own. */
int workers_enqueue_caller(struct workers *workers, struct job *job);
void workers_await(struct workers *workers, struct job *job);
/* Gives the slot back; the job may be used again. */
void workers_leave(struct workers *workers, struct job *job);
/* The job may be used again, but the worker thread keeps its slot until run() returns: what it does
 * meanwhile for its client counts, and the next job then needs no other thread. */
void workers_detach(struct workers *workers, struct job *job);
/* Moves a waiting job to the front class (a cancel reached it). False if it does not wait. */
bool workers_promote(struct workers *workers, struct job *job);
/* May the running job wait for a lock? Not one of the front class that has the last slot: that is
 * kept for those who never wait. Another of that class is of the resumed statements from here on.
 */
bool workers_may_wait(struct workers *workers, struct job *job);
/* The calling worker thread is being cancelled by pthread_cancel: start another in its place. */
void workers_replace_thread(struct workers *workers);

#endif

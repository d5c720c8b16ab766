/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the epoll descriptor, the queues of ready sources and the serving threads.
 *
 * A source is IDLE, READY (in a queue), SERVED (by one thread) or AGAIN (served, and an edge came
 * meanwhile). IDLE → READY and SERVED → AGAIN happen on an edge or a kick, READY → SERVED when a
 * thread takes it, SERVED → IDLE or AGAIN → READY when that thread is done. All changes are
 * compare-and-swap, so exactly one of them queues it.
 */
#include "demo-db/server/net/reactor.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <cancel/cancel.h>

#define BATCH	    64
#define GAP_NS	    1000000u   /* a standby looks this often … */
#define QUIET_NS    100000000u /* … unless nothing was served for so long */
#define THREADS_MAX 1100       /* 1,024 workers and those beside them */

enum source_state { SOURCE_IDLE, SOURCE_READY, SOURCE_SERVED, SOURCE_AGAIN };

/* Is this thread inside serve, and has it said that it sleeps there? */
static _Thread_local struct serving {
	const struct reactor *reactor;
	bool blocked;
} serving;

struct queue {
	struct reactor_source *first, *last;
};

struct reactor {
	struct reactor_options options;
	int epoll_fd, wake_fd;
	pthread_mutex_t lock;
	pthread_cond_t standby_wakes, follower_wakes;
	/* under lock */
	struct queue queues[REACTOR_LEVELS];
	struct reactor_source *gone; /* removed, perhaps still in the hands of a poll */
	uint32_t ready, active, polling, started;
	uint32_t blocked; /* active ones that sleep inside serve */
	bool standby, stopping;
	uint64_t last_poll_ns, last_ready_ns, longest_gap_ns;
	uint64_t polls, served, standby_steps;
	pthread_t threads[THREADS_MAX];
};

/* ---- Ready sources (under lock) -------------------------------------------------------------- */

static void push(struct reactor *r, struct reactor_source *source)
{
	uint32_t level = atomic_load_explicit(&source->level, memory_order_relaxed);
	struct queue *q = &r->queues[level < REACTOR_LEVELS ? level : REACTOR_LEVELS - 1];
	source->next = NULL;
	if (q->last)
		q->last->next = source;
	else
		q->first = source;
	q->last = source;
	r->ready++;
}

static struct reactor_source *pop(struct reactor *r)
{
	for (unsigned level = 0; level < REACTOR_LEVELS; level++) {
		struct queue *q = &r->queues[level];
		struct reactor_source *source = q->first;
		if (!source)
			continue;
		q->first = source->next;
		if (!q->first)
			q->last = NULL;
		r->ready--;
		return source;
	}
	return NULL;
}

/* Marks an edge. True when the caller must queue the source. */
static bool mark_edge(struct reactor_source *source, uint64_t now_ns)
{
	static const uint32_t next[] = { SOURCE_READY, SOURCE_READY, SOURCE_AGAIN, SOURCE_AGAIN };
	uint32_t state = atomic_load_explicit(&source->state, memory_order_relaxed);
	do {
		if (state == SOURCE_IDLE || state == SOURCE_SERVED)
			atomic_store_explicit(&source->edge_ns, now_ns, memory_order_relaxed);
		/* also where nothing changes: what the caller wrote before must be seen when the
		 * source is served, and only a read-modify-write orders that */
	} while (!atomic_compare_exchange_weak_explicit(
		&source->state, &state, next[state], memory_order_acq_rel, memory_order_relaxed));
	return state == SOURCE_IDLE;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void drain_wake(struct reactor *r)
{
	uint64_t count;
	if (read(r->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		abort(); /* a non-blocking eventfd gives its count or EAGAIN */
}

/* Ends the poll under way. */
static void wake_poll(struct reactor *r)
{
	uint64_t one = 1;
	if (write(r->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
		abort(); /* a non-blocking eventfd takes a 1, or is full of them */
}

/* Under the lock, which is given up meanwhile, when no poll is under way. */
static void release_gone(struct reactor *r)
{
	struct reactor_source *gone = r->gone;
	r->gone = NULL;
	if (!gone)
		return;
	pthread_mutex_unlock(&r->lock);
	while (gone) {
		struct reactor_source *next = gone->next;
		if (r->options.release)
			r->options.release(r->options.arg, gone);
		gone = next;
	}
	pthread_mutex_lock(&r->lock);
}

/* Waits for edges; the lock is given up meanwhile. One thread at a time. */
static void poll_once(struct reactor *r)
{
	struct epoll_event events[BATCH];
	r->polling++;
	pthread_mutex_unlock(&r->lock);
	int count = epoll_wait(r->epoll_fd, events, BATCH, -1);
	uint64_t now_ns = cancel_now_ns();
	pthread_mutex_lock(&r->lock);
	r->polling--;
	r->polls++;
	if (now_ns - r->last_ready_ns > QUIET_NS && r->standby)
		pthread_cond_signal(&r->standby_wakes); /* it sleeps deeply: look again */
	r->last_poll_ns = r->last_ready_ns = now_ns;
	for (int i = 0; i < count; i++) {
		struct reactor_source *source = events[i].data.ptr;
		if (!source) {
			drain_wake(r);
			continue;
		}
		if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			atomic_store_explicit(&source->hung_up, true, memory_order_relaxed);
		if (mark_edge(source, now_ns))
			push(r, source);
	}
	release_gone(r);
}

static void serve_one(struct reactor *r, struct reactor_source *source)
{
	uint32_t state = SOURCE_SERVED;
	atomic_exchange_explicit(&source->state, SOURCE_SERVED, memory_order_acq_rel);
	source->arrival_ns = atomic_load_explicit(&source->edge_ns, memory_order_relaxed);
	r->served++;
	pthread_mutex_unlock(&r->lock);
	serving = (struct serving){ .reactor = r };
	enum reactor_answer answer = r->options.serve(r->options.arg, source);
	bool again = answer == REACTOR_WAIT &&
		     !atomic_compare_exchange_strong_explicit(&source->state, &state, SOURCE_IDLE,
			     memory_order_acq_rel, memory_order_acquire);
	pthread_mutex_lock(&r->lock);
	r->blocked -= serving.blocked;
	serving.reactor = NULL;
	if (again) {
		atomic_store_explicit(&source->state, SOURCE_READY, memory_order_relaxed);
		push(r, source);
	} else if (answer == REACTOR_GONE) { /* its state stays SERVED: nobody queues it */
		source->next = r->gone;
		r->gone = source;
		if (r->polling)
			wake_poll(r); /* it may never end by itself */
		else
			release_gone(r);
	}
}

static void wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t after_ns)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	uint64_t ns = (uint64_t)at.tv_nsec + after_ns;
	at.tv_sec += (time_t)(ns / 1000000000u);
	at.tv_nsec = (long)(ns % 1000000000u);
	pthread_cond_timedwait(cond, lock, &at);
}

/* Everybody active sleeps, or is busy for so long that others wait, seen or unseen. */
static bool standby_needed(const struct reactor *r, uint64_t now_ns)
{
	return r->polling == 0 && (r->active == r->blocked || now_ns - r->last_poll_ns >= GAP_NS);
}

/* Sleeps as the standby until needed, or as a follower until there is no standby. Leaves active. */
static void wait_to_be_needed(struct reactor *r)
{
	r->active--;
	while (r->standby && !r->stopping)
		pthread_cond_wait(&r->follower_wakes, &r->lock);
	r->standby = true;
	while (!r->stopping) {
		uint64_t now_ns = cancel_now_ns();
		if (standby_needed(r, now_ns))
			break;
		r->standby_steps++;
		if (r->polling && now_ns - r->last_ready_ns > QUIET_NS)
			pthread_cond_wait(&r->standby_wakes, &r->lock);
		else
			wait_until(&r->standby_wakes, &r->lock, GAP_NS);
	}
	uint64_t gap_ns = cancel_now_ns() - r->last_poll_ns;
	if (!r->polling && gap_ns > r->longest_gap_ns)
		r->longest_gap_ns = gap_ns;
	r->standby = false;
	r->active++;
	pthread_cond_signal(&r->follower_wakes);
}

static void *serve_loop(void *arg)
{
	struct reactor *r = arg;
	pthread_mutex_lock(&r->lock);
	r->active++;
	while (!r->stopping) {
		struct reactor_source *source = pop(r);
		if (source)
			serve_one(r, source);
		else if (r->polling == 0)
			poll_once(r);
		else
			wait_to_be_needed(r);
	}
	r->active--;
	pthread_cond_broadcast(&r->follower_wakes);
	pthread_cond_broadcast(&r->standby_wakes);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- The public calls ------------------------------------------------------------------------ */

static int open_descriptors(struct reactor *r)
{
	struct epoll_event wake = { .events = EPOLLIN };
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->epoll_fd < 0 || r->wake_fd < 0)
		return -1;
	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->wake_fd, &wake);
}

static void init_sync(struct reactor *r)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->standby_wakes, &monotonic);
	pthread_cond_init(&r->follower_wakes, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int reactor_start(struct reactor **reactor, const struct reactor_options *options)
{
	if (options->threads < 2 || options->threads > THREADS_MAX) {
		errno = EINVAL;
		return -1;
	}
	struct reactor *r = calloc(1, sizeof *r);
	if (!r)
		return -1;
	r->options = *options;
	r->epoll_fd = r->wake_fd = -1;
	init_sync(r);
	int status = open_descriptors(r);
	while (status == 0 && r->started < options->threads) {
		status = pthread_create(&r->threads[r->started], NULL, serve_loop, r);
		r->started += status == 0;
	}
	if (status) {
		int error = status > 0 ? status : errno;
		reactor_stop(r);
		errno = error;
		return -1;
	}
	*reactor = r;
	return 0;
}

void reactor_stop(struct reactor *r)
{
	pthread_mutex_lock(&r->lock);
	r->stopping = true;
	pthread_cond_broadcast(&r->follower_wakes);
	pthread_cond_broadcast(&r->standby_wakes);
	pthread_mutex_unlock(&r->lock);
	if (r->wake_fd >= 0)
		wake_poll(r);
	for (uint32_t i = 0; i < r->started; i++)
		pthread_join(r->threads[i], NULL);
	pthread_mutex_lock(&r->lock);
	release_gone(r);
	pthread_mutex_unlock(&r->lock);
	if (r->epoll_fd >= 0)
		close(r->epoll_fd);
	if (r->wake_fd >= 0)
		close(r->wake_fd);
	pthread_cond_destroy(&r->standby_wakes);
	pthread_cond_destroy(&r->follower_wakes);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* EPOLLOUT only on demand: a client that reads its answer would be an edge too. */
static int watch(struct reactor *r, struct reactor_source *source, int how, uint32_t more)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET | more,
		.data.ptr = source };
	return epoll_ctl(r->epoll_fd, how, source->fd, &event);
}

int reactor_add(struct reactor *r, struct reactor_source *source)
{
	return watch(r, source, EPOLL_CTL_ADD, 0);
}

int reactor_watch_writable(struct reactor *r, struct reactor_source *source, bool wanted)
{
	return watch(r, source, EPOLL_CTL_MOD, wanted ? EPOLLOUT : 0);
}

void reactor_remove(struct reactor *r, struct reactor_source *source)
{
	struct epoll_event none = { 0 };
	epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, source->fd, &none);
}

void reactor_kick(struct reactor *r, struct reactor_source *source)
{
	if (!mark_edge(source, cancel_now_ns()))
		return;
	pthread_mutex_lock(&r->lock);
	push(r, source);
	bool wake = r->polling > 0;
	pthread_mutex_unlock(&r->lock);
	if (wake)
		wake_poll(r);
}

void reactor_blocking(struct reactor *r)
{
	if (serving.reactor != r || serving.blocked)
		return;
	pthread_mutex_lock(&r->lock);
	serving.blocked = true;
	r->blocked++;
	if (r->active == r->blocked && r->polling == 0)
		pthread_cond_signal(&r->standby_wakes);
	pthread_mutex_unlock(&r->lock);
}

void reactor_stats(struct reactor *r, struct reactor_stats *stats)
{
	pthread_mutex_lock(&r->lock);
	*stats = (struct reactor_stats){ .polls = r->polls,
		.served = r->served,
		.standby_steps = r->standby_steps,
		.active = r->active,
		.ready = r->ready,
		.longest_gap_ns = r->longest_gap_ns };
	r->longest_gap_ns = 0;
	pthread_mutex_unlock(&r->lock);
}

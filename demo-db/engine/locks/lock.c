/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.c - grants, waits and queues of FIFO locks with modes.
 *
 * Order of service: strictly first come, first served. Nobody overtakes a waiter of any mode, with
 * two exceptions that would otherwise deadlock at once: a request covered by what the owner holds,
 * and the upgrade of a holder, which waits in front of everybody who holds nothing.
 *
 * A waiter that gives up (cancel, timeout, deadlock) leaves the queue at once and those behind it
 * are looked at again. Each owner sleeps on its own condition variable.
 *
 * One mutex for all locks: a statement takes it twice, for well under a microsecond, and in return
 * a whole set of locks is taken at once and the deadlock search sees one instant.
 */
#include "demo-db/engine/locks/lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull

static uint8_t bit(uint8_t mode)
{
	return (uint8_t)(1u << (mode - 1));
}

int cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;
	if (pthread_condattr_init(&attributes))
		return DB_ENOMEM;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	int rc = pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
	return rc ? DB_ENOMEM : 0;
}

struct timespec deadline_after(uint64_t ns)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t at = (uint64_t)now.tv_nsec + ns;
	return (struct timespec){ .tv_sec = now.tv_sec + (time_t)(at / NS_PER_S),
		.tv_nsec = (long)(at % NS_PER_S) };
}

int lock_space_init(struct lock_space *space)
{
	memset(space, 0, sizeof(*space));
	return pthread_mutex_init(&space->mutex, NULL) ? DB_ENOMEM : 0;
}

void lock_space_destroy(struct lock_space *space)
{
	pthread_mutex_destroy(&space->mutex);
}

void lock_init(struct lock *lock, const struct lock_kind *kind, const char *name, uint32_t instance)
{
	memset(lock, 0, sizeof(*lock));
	lock->kind = kind;
	lock->name = name;
	lock->instance = instance;
}

int lock_owner_init(struct lock_owner *owner, struct lock_space *space, uint64_t number)
{
	memset(owner, 0, sizeof(*owner));
	owner->space = space;
	owner->number = number;
	int rc = cond_init_monotonic(&owner->woken);
	if (rc)
		return rc;
	for (size_t i = 0; i < LOCK_GRANTS_INLINE; i++) {
		owner->inline_grants[i].next_of_owner = owner->free_grants;
		owner->free_grants = &owner->inline_grants[i];
	}
	pthread_mutex_lock(&space->mutex);
	owner->next_owner = space->owners;
	if (space->owners)
		space->owners->previous_owner = owner;
	space->owners = owner;
	pthread_mutex_unlock(&space->mutex);
	return 0;
}

static bool is_inline(const struct lock_owner *owner, const struct lock_grant *grant)
{
	return grant >= owner->inline_grants && grant < owner->inline_grants + LOCK_GRANTS_INLINE;
}

void lock_owner_destroy(struct lock_owner *owner)
{
	struct lock_space *space = owner->space;
	if (!space) /* never initialised */
		return;
	pthread_mutex_lock(&space->mutex);
	if (owner->previous_owner)
		owner->previous_owner->next_owner = owner->next_owner;
	else
		space->owners = owner->next_owner;
	if (owner->next_owner)
		owner->next_owner->previous_owner = owner->previous_owner;
	pthread_mutex_unlock(&space->mutex);
	struct lock_grant *next;
	for (struct lock_grant *grant = owner->free_grants; grant; grant = next) {
		next = grant->next_of_owner;
		if (!is_inline(owner, grant))
			free(grant);
	}
	pthread_cond_destroy(&owner->woken);
}

/* ---- Compatibility --------------------------------------------------------------------------- */

bool lock_bars(const struct lock *lock, uint8_t held_modes, uint8_t wanted)
{
	return (lock->kind->conflicts[wanted - 1] & held_modes) != 0;
}

/* Do grants of others bar `mode`? `own` is what the asking owner holds itself. */
static bool is_barred(const struct lock *lock, uint8_t mode, uint8_t own)
{
	uint8_t conflicts = lock->kind->conflicts[mode - 1];
	for (uint8_t i = 0; i < LOCK_MODES_MAX; i++) {
		if (!(conflicts & (1u << i)))
			continue;
		uint32_t mine = (own >> i) & 1u;
		if (lock->held[i] > mine)
			return true;
	}
	return false;
}

/* Is everything `mode` bars already barred by what the owner holds? Then asking adds nothing. */
static bool is_covered(const struct lock *lock, uint8_t mode, uint8_t own)
{
	if (own & bit(mode))
		return true;
	uint8_t barred = 0;
	for (uint8_t i = 0; i < LOCK_MODES_MAX; i++)
		if (own & (1u << i))
			barred |= lock->kind->conflicts[i];
	return own && (lock->kind->conflicts[mode - 1] & ~barred) == 0;
}

/* ---- Grants ---------------------------------------------------------------------------------- */

static struct lock_grant *grant_of(struct lock_owner *owner, const struct lock *lock)
{
	struct lock_grant *grant = owner->grants;
	while (grant && grant->lock != lock)
		grant = grant->next_of_owner;
	return grant;
}

static struct lock_grant *grant_reserve(struct lock_owner *owner)
{
	struct lock_grant *grant = owner->free_grants;
	if (!grant)
		return calloc(1, sizeof(*grant));
	owner->free_grants = grant->next_of_owner;
	return grant;
}

static void grant_return(struct lock_owner *owner, struct lock_grant *grant)
{
	grant->next_of_owner = owner->free_grants;
	owner->free_grants = grant;
}

static void grant_link(struct lock_grant *grant, struct lock_owner *owner, struct lock *lock)
{
	grant->lock = lock;
	grant->owner = owner;
	grant->modes = grant->told = 0;
	grant->previous = NULL;
	grant->next = lock->grants;
	if (lock->grants)
		lock->grants->previous = grant;
	lock->grants = grant;
	grant->next_of_owner = owner->grants;
	owner->grants = grant;
}

static void grant_add(struct lock_grant *grant, uint8_t mode)
{
	grant->modes |= bit(mode);
	grant->lock->held[mode - 1]++;
}

static void grant_unlink(struct lock_grant *grant)
{
	struct lock *lock = grant->lock;
	if (grant->previous)
		grant->previous->next = grant->next;
	else
		lock->grants = grant->next;
	if (grant->next)
		grant->next->previous = grant->previous;
	for (uint8_t i = 0; i < LOCK_MODES_MAX; i++)
		if (grant->modes & (1u << i))
			lock->held[i]--;
}

/* ---- The queue ------------------------------------------------------------------------------- */

/* Upgraders stand before everybody who holds nothing, in their own order. */
static void queue_enter(struct lock *lock, struct lock_owner *owner)
{
	struct lock_owner *after = lock->last_waiter;
	if (owner->wait.upgrade) {
		after = NULL;
		for (struct lock_owner *other = lock->first_waiter; other && other->wait.upgrade;
			other = other->wait.next)
			after = other;
	}
	struct lock_owner *before = after ? after->wait.next : lock->first_waiter;
	owner->wait.previous = after;
	owner->wait.next = before;
	if (after)
		after->wait.next = owner;
	else
		lock->first_waiter = owner;
	if (before)
		before->wait.previous = owner;
	else
		lock->last_waiter = owner;
	owner->space->waiting++;
	owner->space->waiters[lock->kind->index]++;
}

static void queue_leave(struct lock_owner *owner)
{
	struct lock *lock = owner->wait.lock;
	if (owner->wait.previous)
		owner->wait.previous->wait.next = owner->wait.next;
	else
		lock->first_waiter = owner->wait.next;
	if (owner->wait.next)
		owner->wait.next->wait.previous = owner->wait.previous;
	else
		lock->last_waiter = owner->wait.previous;
	owner->space->waiting--;
	owner->space->waiters[lock->kind->index]--;
	owner->wait.lock = NULL;
}

/* Gives the lock to the waiter that `wait` describes; its thread finds the grant made. */
static void serve(struct lock_owner *owner)
{
	struct lock *lock = owner->wait.lock;
	struct lock_grant *grant = grant_of(owner, lock);
	if (grant) {
		if (owner->wait.grant)
			grant_return(owner, owner->wait.grant);
	} else {
		grant = owner->wait.grant;
		grant_link(grant, owner, lock);
	}
	owner->wait.grant = NULL;
	grant_add(grant, owner->wait.mode);
	owner->wait.outcome = 0;
	queue_leave(owner);
	pthread_cond_signal(&owner->woken);
}

static void serve_waiters(struct lock *lock)
{
	while (lock->first_waiter) {
		struct lock_owner *owner = lock->first_waiter;
		struct lock_grant *grant = grant_of(owner, lock);
		if (is_barred(lock, owner->wait.mode, grant ? grant->modes : 0))
			return;
		serve(owner);
	}
}

void lock_end_wait(struct lock_owner *owner, int outcome)
{
	struct lock *lock = owner->wait.lock;
	if (!lock)
		return;
	owner->wait.outcome = outcome;
	if (owner->wait.grant)
		grant_return(owner, owner->wait.grant);
	owner->wait.grant = NULL;
	queue_leave(owner);
	pthread_cond_signal(&owner->woken);
	serve_waiters(lock);
}

/* ---- Acquire --------------------------------------------------------------------------------- */

static void tell(struct lock_owner *owner, struct lock_grant *grant, uint8_t mode)
{
	if (grant->told & bit(mode))
		return;
	grant->told |= bit(mode);
	getResourceAt(
		owner->space->resources[grant->lock->kind->index], grant->lock->instance, mode);
}

/* A waiter, and a statement that turns out long, shows everything it holds. */
static void speak(struct lock_owner *owner)
{
	owner->untracked = false;
	for (struct lock_grant *grant = owner->grants; grant; grant = grant->next_of_owner)
		for (uint8_t mode = 1; mode <= LOCK_MODES_MAX; mode++)
			if (grant->modes & bit(mode))
				tell(owner, grant, mode);
}

void lock_speak(struct lock_owner *owner)
{
	pthread_mutex_lock(&owner->space->mutex);
	speak(owner);
	pthread_mutex_unlock(&owner->space->mutex);
}

/* Tries without waiting: 0, LOCK_PENDING (it must wait), DB_ENOMEM. */
static int try_one(struct lock_owner *owner, struct lock *lock, uint8_t mode)
{
	struct lock_grant *grant = grant_of(owner, lock);
	uint8_t own = grant ? grant->modes : 0;
	if (own && is_covered(lock, mode, own))
		return 0;
	if ((!own && lock->first_waiter) || is_barred(lock, mode, own))
		return LOCK_PENDING;
	if (!grant) {
		grant = grant_reserve(owner);
		if (!grant)
			return DB_ENOMEM;
		grant_link(grant, owner, lock);
	}
	grant_add(grant, mode);
	if (!owner->untracked)
		tell(owner, grant, mode);
	return 0;
}

static void tell_timeout(struct lock_owner *owner, uint64_t timeout_ns)
{
	const struct lock *lock = owner->wait.lock;
	snprintf(owner->wait_text, sizeof(owner->wait_text),
		"lock timeout: %s on %s not granted within %llu ms",
		lock->kind->mode_names[owner->wait.mode - 1], lock->name,
		(unsigned long long)(timeout_ns / 1000000));
}

static int tell_not_available(struct lock_owner *owner, const struct lock *lock, uint8_t mode)
{
	snprintf(owner->wait_text, sizeof(owner->wait_text),
		"%s on %s is not available at once, and this statement may not wait",
		lock->kind->mode_names[mode - 1], lock->name);
	return DB_ELOCKTIMEOUT;
}

static int sleep_until_served(struct lock_owner *owner, uint64_t timeout_ns)
{
	struct lock_space *space = owner->space;
	struct timespec deadline = deadline_after(timeout_ns);
	while (owner->wait.outcome == LOCK_PENDING) {
		int rc = pthread_cond_timedwait(&owner->woken, &space->mutex, &deadline);
		if (rc == ETIMEDOUT && owner->wait.outcome == LOCK_PENDING) {
			space->timeouts++;
			tell_timeout(owner, timeout_ns);
			lock_end_wait(owner, DB_ELOCKTIMEOUT);
		}
	}
	return owner->wait.outcome;
}

static int wait_for_one(struct lock_owner *owner, struct lock *lock, uint8_t mode,
	uint64_t timeout_ns, struct lock_waited *waited)
{
	struct lock_space *space = owner->space;
	struct cancel_resource resource = space->resources[lock->kind->index];
	struct lock_grant *reserved = grant_reserve(owner);
	if (!reserved)
		return DB_ENOMEM;
	uint64_t since_ns = cancel_now_ns();
	if (owner->untracked) {
		owner->before_wait(owner);
		speak(owner);
	}
	owner->wait = (struct lock_wait){ .lock = lock,
		.mode = mode,
		.upgrade = grant_of(owner, lock) != NULL,
		.outcome = LOCK_PENDING,
		.since_ns = since_ns,
		.grant = reserved };
	slowByResourceAt(resource, lock->instance, mode);
	queue_enter(lock, owner);
	if (space->on_wait)
		space->on_wait(space->on_wait_arg);
	int outcome = sleep_until_served(owner, timeout_ns);
	if (outcome == 0)
		tell(owner, grant_of(owner, lock), mode);
	else
		giveUpResourceAt(resource, lock->instance);
	uint64_t wait_ns = cancel_now_ns() - since_ns;
	space->waits[lock->kind->index]++;
	space->wait_ns[lock->kind->index] += wait_ns;
	if (waited)
		waited->ns[lock->kind->index] += wait_ns;
	return outcome;
}

int lock_acquire(struct lock_owner *owner, const struct lock_request *requests, uint32_t count,
	uint64_t timeout_ns, struct lock_waited *waited)
{
	int rc = 0;
	pthread_mutex_lock(&owner->space->mutex);
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		rc = try_one(owner, requests[i].lock, requests[i].mode);
		if (rc != LOCK_PENDING)
			continue;
		if (owner->cancelled)
			rc = owner->cancelled;
		else if (!timeout_ns)
			rc = tell_not_available(owner, requests[i].lock, requests[i].mode);
		else
			rc = wait_for_one(
				owner, requests[i].lock, requests[i].mode, timeout_ns, waited);
	}
	pthread_mutex_unlock(&owner->space->mutex);
	return rc;
}

/* ---- Release --------------------------------------------------------------------------------- */

static void tell_released(const struct lock_owner *owner)
{
	for (struct lock_grant *grant = owner->grants; grant; grant = grant->next_of_owner)
		for (uint8_t mode = 1; mode <= LOCK_MODES_MAX; mode++)
			if (grant->told & bit(mode))
				freeResourceAt(owner->space->resources[grant->lock->kind->index],
					grant->lock->instance, mode);
}

void lock_release_all(struct lock_owner *owner)
{
	if (!owner->grants) /* only its own thread adds to the list while nothing waits */
		return;
	pthread_mutex_lock(&owner->space->mutex);
	if (!owner->untracked)
		tell_released(owner);
	while (owner->grants) {
		struct lock_grant *grant = owner->grants;
		owner->grants = grant->next_of_owner;
		grant_unlink(grant);
		serve_waiters(grant->lock);
		grant_return(owner, grant);
	}
	pthread_mutex_unlock(&owner->space->mutex);
}

void lock_downgrade(struct lock_owner *owner, struct lock *lock, uint8_t from, uint8_t to)
{
	struct cancel_resource resource = owner->space->resources[lock->kind->index];
	pthread_mutex_lock(&owner->space->mutex);
	struct lock_grant *grant = grant_of(owner, lock);
	if (grant && (grant->modes & bit(from))) {
		if (!(grant->modes & bit(to))) {
			grant_add(grant, to);
			tell(owner, grant, to);
		}
		grant->modes &= (uint8_t)~bit(from);
		lock->held[from - 1]--;
		grant->told &= (uint8_t)~bit(from);
		freeResourceAt(resource, lock->instance, from);
		serve_waiters(lock);
	}
	pthread_mutex_unlock(&owner->space->mutex);
}

void lock_cancel(struct lock_owner *owner, int status)
{
	pthread_mutex_lock(&owner->space->mutex);
	owner->cancelled = status;
	lock_end_wait(owner, status);
	pthread_mutex_unlock(&owner->space->mutex);
}

void lock_cancel_clear(struct lock_owner *owner)
{
	pthread_mutex_lock(&owner->space->mutex);
	owner->cancelled = 0;
	pthread_mutex_unlock(&owner->space->mutex);
}

bool lock_holds(struct lock_owner *owner, const struct lock *lock, uint8_t mode)
{
	pthread_mutex_lock(&owner->space->mutex);
	const struct lock_grant *grant = grant_of(owner, lock);
	bool holds = grant && is_covered(lock, mode, grant->modes);
	pthread_mutex_unlock(&owner->space->mutex);
	return holds;
}

bool lock_holds_any(struct lock_owner *owner)
{
	return owner->grants != NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.c - owns a task's life: begin, bind, episodes, end. What a cancel may do to it is
 * state_word.c's business, what it uses usage.c's.
 */
#include "libcancel/track/task.h"

#include "libcancel/base/struct_size.h"
#include "libcancel/track/event.h"
#include "libcancel/track/eviction.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/state_word.h"
#include "libcancel/track/totals.h"

#define HOST_FLAGS                                                                                 \
	(CANCEL_CANCELLABLE | CANCEL_BACKGROUND | CANCEL_THREAD | CANCEL_MAINTENANCE |             \
		CANCEL_ENDS_SESSION)

static _Atomic uint64_t next_sequence = 1;
static pthread_key_t thread_key;
static _Thread_local bool thread_known;

/* ---- Threads that end ------------------------------------------------------------------------ */

/* From here on nobody sends a pthread_cancel to the thread of this task. Waits for one that is
 * under way. */
static void thread_forget(struct slot *s)
{
	enum slot_state before = state_word_change_begin(s);
	s->cold->thread_valid = false;
	state_word_change_end(s, before);
}

/* A thread that ends with a current task leaves it unbound, so that its host can still free it. A
 * destructor that runs later may begin another: then this is called once more. */
static void thread_ended(void *ignored)
{
	(void)ignored;
	struct slot *s = current_slot;
	thread_known = false;
	if (!s)
		return;
	count(CANCEL_COUNT_thread_ended);
	if (load_relaxed(&s->flags) & CANCEL_THREAD)
		thread_forget(s);
	current_slot = NULL;
	state_word_unbind(s);
}

static void init_once(void)
{
	pthread_key_create(&thread_key, thread_ended);
}

void task_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, init_once);
}

static void make_current(struct slot *s)
{
	current_slot = s;
	if (unlikely(!thread_known)) {
		thread_known = true;
		pthread_setspecific(thread_key, s);
	}
}

/* ---- Episodes -------------------------------------------------------------------------------- */

uint64_t task_slo_ns(const struct slot *s)
{
	uint64_t own_ns = load_relaxed(&s->slo_ns);
	if (own_ns || load_relaxed(&s->flags) & CANCEL_BACKGROUND)
		return own_ns;
	return load_relaxed(&library_state.classes[load_relaxed(&s->class_index)].slo_ns);
}

static void episode_open(struct slot *s, uint64_t start_ns)
{
	store_release(&s->episode_start_ns, start_ns);
}

/* Both fields change together for a reader: inside a layout change. */
static void episode_close(struct slot *s, uint64_t now_ns)
{
	uint64_t start_ns = load_relaxed(&s->episode_start_ns);
	if (!start_ns)
		return;
	uint64_t latency_ns = now_ns > start_ns ? now_ns - start_ns : 0;
	uint64_t slo_ns = task_slo_ns(s);
	store_release(&s->active_ns, load_relaxed(&s->active_ns) + latency_ns);
	store_release(&s->episode_start_ns, 0);
	if (slo_ns)
		totals_episode(s->index, latency_ns, slo_ns);
	else if (unlikely(load_relaxed(&library_state.learning)) &&
		 !(load_relaxed(&s->flags) & CANCEL_BACKGROUND))
		totals_learn(load_relaxed(&s->class_index), latency_ns);
}

static cold_path uint32_t bad_class(void)
{
	count(CANCEL_COUNT_bad_class);
	return 0;
}

static inline uint32_t existing_class(uint32_t class_index)
{
	return likely(class_index < load_relaxed(&library_state.class_count)) ? class_index
									      : bad_class();
}

void cancel_count_request(uint8_t class_index, uint64_t start_ns, uint64_t end_ns)
{
	if (unlikely(!library_is_on() || own_thread)) {
		count_untracked();
		return;
	}
	uint32_t index = existing_class(class_index);
	uint64_t latency_ns = end_ns > start_ns ? end_ns - start_ns : 0;
	uint64_t slo_ns = load_relaxed(&library_state.classes[index].slo_ns);
	if (likely(slo_ns))
		totals_episode(TOTALS_NO_SLOT, latency_ns, slo_ns);
	else if (load_relaxed(&library_state.learning))
		totals_learn(index, latency_ns);
}

/* ---- Create ---------------------------------------------------------------------------------- */

/* Release stores: a reader still busy with the former task of this slot that sees any of them also
 * sees that the word has moved on, and drops what it read. */
static void fill(struct slot *s, const struct cancel_task_options *o, uint64_t now_ns)
{
	uint32_t class_index = existing_class(o->class_index);
	uint8_t flags = o->flags & HOST_FLAGS;
	if (load_relaxed(&library_state.classes[class_index].exempt))
		flags |= CANCEL_EXEMPT;
	store_release(&s->entry_count, 0);
	store_release(&s->class_index, (uint8_t)class_index);
	if (unlikely(o->origin)) {
		flags |= SLOT_HAS_ORIGIN;
		store_relaxed(&s->cold->origin, o->origin);
	}
	store_release(&s->flags, flags);
	s->last = 0;
	store_release(&s->watch_mask, 0);
	store_release(&s->progress_done, 0);
	store_release(&s->progress_expected, 0);
	store_release(&s->active_ns, 0);
	store_release(&s->sequence, add_relaxed(&next_sequence, 1));
	store_release(&s->key, o->key);
	store_release(&s->signature, o->signature);
	store_release(&s->slo_ns, o->slo_ns);
	store_release(&s->rollback_ns, o->rollback_ns);
	episode_open(s, o->start_ns && o->start_ns < now_ns ? o->start_ns : now_ns);

	struct slot_cold *cold = s->cold;
	cold->action = o->action;
	cold->action_arg = o->action_arg;
	cold->block_depth = 0;
	cold->pending_resource = 0;
	cold->dropped = false;
	cold->stopped_ns = 0;
	store_relaxed(&cold->acknowledged, false);
	store_relaxed(&cold->thread_cancelled, false);
	store_relaxed(&cold->blamed_mask, 0);
	store_relaxed(&cold->reason, 0);
	cold->thread_valid = flags & CANCEL_THREAD;
	if (cold->thread_valid)
		cold->thread = pthread_self();
}

struct cancel_task cancel_task_begin(const struct cancel_task_options *options)
{
	static const struct cancel_task_options defaults;
	struct cancel_task none = { 0 };
	struct cancel_task_options copy;
	if (unlikely(!library_is_on() || own_thread)) {
		count_untracked();
		return none;
	}
	if (unlikely(current_slot)) {
		count(CANCEL_COUNT_nested_task);
		return none;
	}
	struct slot *s = slot_take();
	if (unlikely(!s)) {
		count(CANCEL_COUNT_tasks_refused);
		return none;
	}
	if (options && unlikely(options->struct_size != sizeof copy)) {
		if (!struct_size_read(&copy, sizeof copy, options))
			count(CANCEL_COUNT_bad_options);
		options = &copy;
	}
	fill(s, options ? options : &defaults, clock_precise_ns());
	struct cancel_task task = { .id = state_word_open(s) };
	make_current(s);
	return task;
}

/* ---- Tasks that may be stopped by pthread_cancel --------------------------------------------- */

static void thread_enter(struct slot *s)
{
	enum slot_state before = state_word_change_begin(s);
	s->cold->thread = pthread_self();
	s->cold->thread_valid = true;
	state_word_change_end(s, before);
}

/* A pthread_cancel stays pending on its thread and would hit whatever that does next. So before
 * the task leaves the thread, no more can be sent (the change below waits for one that is under
 * way), and one that was sent is honoured here, with the task still current: the host's cleanup
 * handler, which CANCEL_THREAD promises, then calls cancel_task_end, and gets past this test
 * because a thread is cancelled only once. */
static void thread_leave(struct slot *s)
{
	thread_forget(s);
	if (load_relaxed(&s->cold->thread_cancelled))
		pthread_testcancel();
}

/* ---- Bind ------------------------------------------------------------------------------------ */

struct slot *task_hold(uint64_t id, bool *borrowed)
{
	struct slot *s = current_slot;
	*borrowed = false;
	if (s && task_id(s) == id)
		return s;
	enum cancel_counter why;
	s = state_word_bind(id, &why);
	if (!s) {
		count(why);
		return NULL;
	}
	*borrowed = true;
	return s;
}

void task_release(struct slot *s, bool borrowed)
{
	if (borrowed)
		state_word_unbind(s);
}

void cancel_bind(struct cancel_task task)
{
	if (!task.id)
		return;
	if (count_own_thread())
		return;
	if (unlikely(current_slot)) {
		count(CANCEL_COUNT_nested_task);
		return;
	}
	enum cancel_counter why;
	struct slot *s = state_word_bind(task.id, &why);
	if (unlikely(!s)) {
		count(why);
		return;
	}
	if (!load_relaxed(&s->episode_start_ns))
		episode_open(s, clock_precise_ns());
	if (unlikely(load_relaxed(&s->flags) & CANCEL_THREAD))
		thread_enter(s);
	make_current(s);
}

/* The task of this id if it is the caller's current one; otherwise counted and NULL. */
static struct slot *own_current(uint64_t id)
{
	struct slot *s = current_slot;
	if (likely(s && task_id(s) == id))
		return s;
	if (count_own_thread())
		return NULL;
	struct slot *other = slot_at(id_index(id));
	bool lives = other && state_word_is(load_acquire(&other->state_word), id);
	count(lives ? CANCEL_COUNT_wrong_thread : CANCEL_COUNT_stale_task);
	return NULL;
}

void cancel_unbind(struct cancel_task task, enum cancel_unbind how)
{
	if (!task.id)
		return;
	struct slot *s = own_current(task.id);
	if (unlikely(!s))
		return;
	eviction_flush(s);
	if (how == CANCEL_IDLE) {
		uint32_t layout = load_relaxed(&s->layout);
		store_relaxed(&s->layout, layout + 1);
		episode_close(s, clock_precise_ns());
		store_release(&s->layout, layout + 2);
	}
	if (unlikely(load_relaxed(&s->flags) & CANCEL_THREAD))
		thread_leave(s);
	current_slot = NULL;
	state_word_unbind(s);
}

/* ---- End ------------------------------------------------------------------------------------- */

static void post_end(struct slot *s, uint64_t id, uint64_t now_ns)
{
	if (load_relaxed(&s->watch_mask))
		event_post(CANCEL_EVENT_RELEASED, id, now_ns, 0);
	if (load_relaxed(&s->cold->reason))
		event_post(CANCEL_EVENT_ENDED, id, now_ns,
			task_wasted_ns(s, load_relaxed(&s->active_ns), now_ns));
}

void cancel_task_end(struct cancel_task task)
{
	bool borrowed = false;
	if (!task.id)
		return;
	if (count_own_thread())
		return;
	struct slot *s = task_hold(task.id, &borrowed);
	if (unlikely(!s))
		return;
	if (unlikely(load_relaxed(&s->flags) & CANCEL_THREAD))
		thread_leave(s);
	if (unlikely(s->cold->block_depth))
		count(CANCEL_COUNT_ended_blocked);
	state_word_end(s);
	uint64_t now_ns = clock_precise_ns();
	uint32_t layout = load_relaxed(&s->layout);
	store_relaxed(&s->layout, layout + 1);
	episode_close(s, now_ns);
	usage_end(s, now_ns);
	count_fold(s);
	post_end(s, task.id, now_ns);
	if (!borrowed)
		current_slot = NULL;
	store_release(&s->layout, layout + 2);
	state_word_close(s);
	slot_give(s);
}

struct cancel_task cancel_current(void)
{
	struct slot *s = current_slot;
	struct cancel_task task = { .id = s ? task_id(s) : 0 };
	return task;
}

void cancel_set_signature(uint64_t signature)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	store_release(&s->signature, signature);
}

void cancel_set_maintenance(bool maintenance)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	uint8_t flags = load_relaxed(&s->flags) & (uint8_t)~CANCEL_MAINTENANCE;
	store_release(&s->flags, (uint8_t)(flags | (maintenance ? CANCEL_MAINTENANCE : 0)));
}

void cancel_progress(uint64_t done, uint64_t expected)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	store_release(&s->progress_done, done); /* as all in a slot: see usage.c */
	store_release(&s->progress_expected, expected);
}

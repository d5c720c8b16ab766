/* SPDX-License-Identifier: Apache-2.0 */
/* engine_fake.c - see engine_fake.h. One mutex for everything: it is for tests. */
#include "engine_fake.h"

#include <cancel/observe.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#define RESOURCES_MAX 16
#define ENTRIES_MAX   1024
#define REPORTS_MAX   8192

enum state { FREE, RUNNING, DELIVERING, DELIVERED };

struct entry {
	uint32_t resource, instance;
	uint64_t held[8]; /* by mode; slots and units under 0 */
	bool waiting;
};

struct task {
	uint64_t id;
	struct cancel_task_options options;
	enum state state;
	uint32_t blocked;
	bool bound, acknowledged, rerunning;
	enum cancel_reason reason;
	struct entry entries[ENTRIES_MAX];
	uint32_t entry_count;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct task tasks[FAKE_TASKS_MAX];
static enum cancel_resource_type types[RESOURCES_MAX];
static uint32_t resource_count;
static uint64_t generation, misuse, blocks, acknowledged, counted;
static uint32_t reported_ppm[REPORTS_MAX], reports;
static enum cancel_rerun_answer answer = CANCEL_RERUN;
static void (*block_hook)(void *arg);
static void *block_arg;
static _Thread_local struct task *current;
static _Thread_local bool in_action;

/* ---- The test's side --------------------------------------------------------------------------
 */

static bool deliver(struct task *task, enum cancel_reason reason)
{
	if (task->state != RUNNING || task->blocked || task->rerunning ||
		!(task->options.flags & CANCEL_CANCELLABLE) || !task->options.action)
		return false;
	task->state = DELIVERING;
	task->reason = reason;
	const struct cancel_request request = {
		.task = { task->id }, .key = task->options.key, .serial = 1, .reason = reason
	};
	pthread_mutex_unlock(&mutex);
	in_action = true;
	task->options.action(&request, task->options.action_arg);
	in_action = false;
	pthread_mutex_lock(&mutex);
	task->state = DELIVERED;
	pthread_cond_broadcast(&changed);
	return true;
}

bool fake_deliver(uint64_t key, enum cancel_reason reason)
{
	bool delivered = false;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < FAKE_TASKS_MAX && !delivered; i++)
		if (tasks[i].state != FREE && tasks[i].options.key == key)
			delivered = deliver(&tasks[i], reason);
	pthread_mutex_unlock(&mutex);
	return delivered;
}

bool fake_deliver_any(uint64_t random, enum cancel_reason reason)
{
	bool delivered = false;
	pthread_mutex_lock(&mutex);
	for (uint64_t i = 0; i < FAKE_TASKS_MAX && !delivered; i++)
		delivered = deliver(&tasks[(random + i) % FAKE_TASKS_MAX], reason);
	pthread_mutex_unlock(&mutex);
	return delivered;
}

static uint32_t holds_of(const struct task *task, enum cancel_resource_type type)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < task->entry_count; i++)
		for (int mode = 0; mode < 8; mode++)
			count += types[task->entries[i].resource] == type &&
				 task->entries[i].held[mode] > 0;
	return count;
}

uint32_t fake_holds(uint64_t key, enum cancel_resource_type type)
{
	uint32_t count = 0;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < FAKE_TASKS_MAX; i++)
		if (tasks[i].state != FREE && tasks[i].options.key == key)
			count = holds_of(&tasks[i], type);
	pthread_mutex_unlock(&mutex);
	return count;
}

void fake_answer(enum cancel_rerun_answer wanted)
{
	pthread_mutex_lock(&mutex);
	answer = wanted;
	pthread_mutex_unlock(&mutex);
}

void fake_on_block(void (*hook)(void *arg), void *arg)
{
	pthread_mutex_lock(&mutex);
	block_hook = hook;
	block_arg = arg;
	pthread_mutex_unlock(&mutex);
}

static uint64_t read_locked(const uint64_t *value)
{
	pthread_mutex_lock(&mutex);
	uint64_t copy = *value;
	pthread_mutex_unlock(&mutex);
	return copy;
}

uint64_t fake_misuse(void)
{
	return read_locked(&misuse);
}

uint64_t fake_blocks(void)
{
	return read_locked(&blocks);
}

uint64_t fake_created(void)
{
	return read_locked(&generation);
}

uint64_t fake_acknowledged(void)
{
	return read_locked(&acknowledged);
}

uint32_t fake_progress(uint32_t ppm[], uint32_t limit)
{
	pthread_mutex_lock(&mutex);
	uint32_t count = reports;
	for (uint32_t i = 0; i < count && i < limit && i < REPORTS_MAX; i++)
		ppm[i] = reported_ppm[i];
	pthread_mutex_unlock(&mutex);
	return count;
}

void fake_progress_forget(void)
{
	pthread_mutex_lock(&mutex);
	reports = 0;
	pthread_mutex_unlock(&mutex);
}

uint64_t fake_counted(void)
{
	pthread_mutex_lock(&mutex);
	uint64_t count = counted;
	pthread_mutex_unlock(&mutex);
	return count;
}

uint32_t fake_live_tasks(void)
{
	uint32_t count = 0;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < FAKE_TASKS_MAX; i++)
		count += tasks[i].state != FREE;
	pthread_mutex_unlock(&mutex);
	return count;
}

void fake_reset(void)
{
	pthread_mutex_lock(&mutex);
	memset(tasks, 0, sizeof(tasks));
	misuse = blocks = acknowledged = counted = reports = 0;
	answer = CANCEL_RERUN;
	block_hook = NULL;
	pthread_mutex_unlock(&mutex);
}

/* ---- The library's side -----------------------------------------------------------------------
 */

uint64_t cancel_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cancel_start(const struct cancel_config *config)
{
	(void)config;
	return 0;
}

int cancel_stop(void)
{
	return 0;
}

void cancel_read_counters(struct cancel_counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	counters->internal_faults = fake_misuse();
}

struct cancel_resource cancel_create_resource(const char *name, enum cancel_resource_type type,
	const struct cancel_resource_options *options)
{
	(void)name;
	(void)options;
	pthread_mutex_lock(&mutex);
	uint32_t id = resource_count++ % (RESOURCES_MAX - 1) + 1;
	types[id] = type;
	pthread_mutex_unlock(&mutex);
	return (struct cancel_resource){ id };
}

static void require(bool condition)
{
	misuse += !condition || in_action;
}

struct cancel_task cancel_task_begin(const struct cancel_task_options *options)
{
	struct cancel_task id = { 0 };
	pthread_mutex_lock(&mutex);
	require(current == NULL);
	for (int i = 0; i < FAKE_TASKS_MAX && !current; i++) {
		struct task *task = &tasks[i];
		if (task->state != FREE)
			continue;
		memset(task, 0, sizeof(*task));
		task->id = id.id = ++generation * FAKE_TASKS_MAX + (uint64_t)i;
		task->options = *options;
		task->state = RUNNING;
		task->bound = true;
		current = task;
	}
	pthread_mutex_unlock(&mutex);
	return id;
}

static struct task *find(struct cancel_task id)
{
	struct task *task = &tasks[id.id % FAKE_TASKS_MAX];
	return id.id && task->state != FREE && task->id == id.id ? task : NULL;
}

static void check_nothing_is_left(const struct task *task)
{
	for (uint32_t i = 0; i < task->entry_count; i++) {
		require(!task->entries[i].waiting);
		if (types[task->entries[i].resource] == CANCEL_MEMORY)
			continue;
		for (int mode = 0; mode < 8; mode++)
			require(task->entries[i].held[mode] == 0);
	}
}

void cancel_task_end(struct cancel_task id)
{
	pthread_mutex_lock(&mutex);
	struct task *task = find(id);
	require(id.id == 0 || (task && (!task->bound || task == current)));
	if (task) {
		while (task->state == DELIVERING)
			pthread_cond_wait(&changed, &mutex);
		check_nothing_is_left(task);
		require(!task->blocked);
		if (task == current)
			current = NULL;
		task->state = FREE;
	}
	pthread_mutex_unlock(&mutex);
}

void cancel_count_request(uint8_t class_index, uint64_t start_ns, uint64_t end_ns)
{
	(void)class_index;
	pthread_mutex_lock(&mutex);
	require(current == NULL && start_ns && end_ns >= start_ns);
	counted++;
	pthread_mutex_unlock(&mutex);
}

void cancel_bind(struct cancel_task id)
{
	pthread_mutex_lock(&mutex);
	struct task *task = find(id);
	require(current == NULL && task && !task->bound);
	if (task) {
		task->bound = true;
		current = task;
	}
	pthread_mutex_unlock(&mutex);
}

void cancel_unbind(struct cancel_task id, enum cancel_unbind how)
{
	(void)how;
	pthread_mutex_lock(&mutex);
	struct task *task = find(id);
	require(task && task == current);
	if (task) {
		task->bound = false;
		current = NULL;
	}
	pthread_mutex_unlock(&mutex);
}

struct cancel_task cancel_current(void)
{
	return (struct cancel_task){ current ? current->id : 0 };
}

static struct entry *entry_of(struct cancel_resource r, uint32_t instance)
{
	require(current != NULL);
	if (!current)
		return NULL;
	for (uint32_t i = 0; i < current->entry_count; i++)
		if (current->entries[i].resource == r.id &&
			current->entries[i].instance == instance)
			return &current->entries[i];
	if (current->entry_count == ENTRIES_MAX)
		return NULL;
	struct entry *entry = &current->entries[current->entry_count++];
	*entry = (struct entry){ .resource = r.id, .instance = instance };
	return entry;
}

void cancel_wait_for(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	(void)amount;
	pthread_mutex_lock(&mutex);
	struct entry *entry = entry_of(r, instance);
	if (entry)
		entry->waiting = true;
	pthread_mutex_unlock(&mutex);
}

static uint64_t *place(struct entry *entry, uint64_t amount, uint64_t *units)
{
	bool lock = types[entry->resource] == CANCEL_LOCK;
	*units = lock ? 1 : amount;
	return &entry->held[lock ? amount % 8 : 0];
}

void cancel_acquire(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	pthread_mutex_lock(&mutex);
	struct entry *entry = entry_of(r, instance);
	if (entry) {
		uint64_t units;
		uint64_t *held = place(entry, amount, &units);
		*held += units;
		entry->waiting = false;
	}
	pthread_mutex_unlock(&mutex);
}

void cancel_release(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	pthread_mutex_lock(&mutex);
	struct entry *entry = entry_of(r, instance);
	if (entry) {
		uint64_t units;
		uint64_t *held = place(entry, amount, &units);
		require(*held >= units);
		*held -= *held >= units ? units : *held;
	}
	pthread_mutex_unlock(&mutex);
}

void cancel_give_up(struct cancel_resource r, uint32_t instance)
{
	pthread_mutex_lock(&mutex);
	struct entry *entry = entry_of(r, instance);
	require(entry && entry->waiting);
	if (entry)
		entry->waiting = false;
	pthread_mutex_unlock(&mutex);
}

void cancel_evict(struct cancel_resource r, struct cancel_task owner, uint64_t units)
{
	(void)r;
	(void)owner;
	(void)units;
}

void cancel_miss(struct cancel_resource r, struct cancel_task evictor)
{
	(void)r;
	(void)evictor;
}

void cancel_progress(uint64_t done, uint64_t expected)
{
	pthread_mutex_lock(&mutex);
	require(current != NULL && done <= expected && expected);
	if (reports < REPORTS_MAX)
		reported_ppm[reports] = (uint32_t)(done * 1000000 / expected);
	reports++;
	pthread_mutex_unlock(&mutex);
}

void cancel_set_signature(uint64_t signature)
{
	pthread_mutex_lock(&mutex);
	require(current != NULL && signature);
	pthread_mutex_unlock(&mutex);
}

void cancel_set_action(cancel_action action, void *arg)
{
	pthread_mutex_lock(&mutex);
	require(current != NULL);
	if (current) {
		while (current->state == DELIVERING)
			pthread_cond_wait(&changed, &mutex);
		current->options.action = action;
		current->options.action_arg = arg;
	}
	pthread_mutex_unlock(&mutex);
}

bool cancel_requested(void)
{
	pthread_mutex_lock(&mutex);
	bool requested = current && (current->state == DELIVERED || current->state == DELIVERING);
	if (requested && !current->acknowledged) {
		current->acknowledged = true;
		acknowledged++;
	}
	pthread_mutex_unlock(&mutex);
	return requested;
}

int cancel_block(void)
{
	int rc = 0;
	pthread_mutex_lock(&mutex);
	void (*hook)(void *arg) = block_hook;
	void *arg = block_arg;
	pthread_mutex_unlock(&mutex);
	if (hook)
		hook(arg);
	pthread_mutex_lock(&mutex);
	blocks++;
	if (current) {
		while (current->state == DELIVERING)
			pthread_cond_wait(&changed, &mutex);
		if (current->state == DELIVERED)
			rc = CANCEL_EREQUESTED;
		else
			current->blocked++;
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

void cancel_allow(void)
{
	pthread_mutex_lock(&mutex);
	require(!current || current->blocked);
	if (current && current->blocked)
		current->blocked--;
	pthread_mutex_unlock(&mutex);
}

enum cancel_rerun_answer cancel_rerun(struct cancel_task id, struct cancel_ticket *ticket)
{
	pthread_mutex_lock(&mutex);
	struct task *task = find(id);
	enum cancel_rerun_answer given = answer;
	require(task && (!task->bound || task == current) && ticket);
	if (task) {
		while (task->state == DELIVERING)
			pthread_cond_wait(&changed, &mutex);
		if (task->reason == CANCEL_REASON_MANUAL)
			given = CANCEL_DROP;
		if (given == CANCEL_RERUN) {
			task->state = RUNNING;
			task->rerunning = true;
		}
	}
	pthread_mutex_unlock(&mutex);
	return given;
}

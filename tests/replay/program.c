/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with the library: one thread holds a lock for long, others miss their SLO at it, and
 * the holder is named. Prints what the library logged of decisions. CANCEL_RECORD says where to.
 */
#include <cancel/observe.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define VICTIMS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cancel_resource table;
static atomic_bool named, over;

static void on_line(void *arg, const char *line)
{
	(void)arg;
	if (!strstr(line, "would be cancelled"))
		return;
	puts(line);
	named = true;
}

static void sleep_ms(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };
	nanosleep(&time, NULL);
}

static void use_table(long hold_ms)
{
	if (pthread_mutex_trylock(&lock) != 0) {
		slowByResource(table, CANCEL_EXCLUSIVE);
		pthread_mutex_lock(&lock);
	}
	getResource(table, CANCEL_EXCLUSIVE);
	if (hold_ms)
		sleep_ms(hold_ms);
	else
		while (!named && !over)
			sleep_ms(10);
	freeResource(table, CANCEL_EXCLUSIVE);
	pthread_mutex_unlock(&lock);
}

static void *victim(void *arg)
{
	(void)arg;
	while (!over) {
		struct cancel_task task = createCancel(NULL);
		use_table(1);
		freeCancel(task);
		sleep_ms(2);
	}
	return NULL;
}

static void *culprit(void *arg)
{
	const struct cancel_task_options options = { .struct_size = sizeof options,
		.key = 812,
		.class_index = 1,
		.flags = CANCEL_CANCELLABLE };
	(void)arg;
	struct cancel_task task = createCancel(&options);
	use_table(0);
	freeCancel(task);
	return NULL;
}

int main(void)
{
	static const struct cancel_class classes[] = { { .name = "reads", .slo_ns = 20000000 },
		{ .name = "dump" } };
	const struct cancel_pipeline_config pipeline = { .struct_size = sizeof pipeline,
		.warm_up_ms = 200 };
	const struct cancel_config config = { .struct_size = sizeof config,
		.classes = classes,
		.class_count = 2,
		.pipeline = &pipeline,
		.log = on_line };
	pthread_t victims[VICTIMS], holder;
	if (startCancel(&config) != 0)
		return 1;
	table = createResource("table \"a\"", CANCEL_LOCK, NULL);
	for (int i = 0; i < VICTIMS; i++)
		pthread_create(&victims[i], NULL, victim, NULL);
	sleep_ms(900);
	pthread_create(&holder, NULL, culprit, NULL);
	for (int i = 0; i < 3000 && !named; i++)
		sleep_ms(10);
	over = true;
	pthread_join(holder, NULL);
	for (int i = 0; i < VICTIMS; i++)
		pthread_join(victims[i], NULL);
	return stopCancel() == 0 && named ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * housekeeper.c - a thread that ends deadlocks and asks when cancelled statements may run again.
 */
#include "demo-db/engine/session/state.h"

#define TICK_NS 20000000ull

/* Sleeps until the time is up; false: stop. */
static bool rest(struct housekeeper *housekeeper, uint64_t ns)
{
	struct timespec deadline = deadline_after(ns);
	pthread_mutex_lock(&housekeeper->mutex);
	int rc = 0;
	while (!housekeeper->stopping && rc == 0)
		rc = pthread_cond_timedwait(&housekeeper->wake, &housekeeper->mutex, &deadline);
	bool go = !housekeeper->stopping;
	pthread_mutex_unlock(&housekeeper->mutex);
	return go;
}

static void *look_after(void *arg)
{
	struct db_engine *engine = arg;
	while (rest(&engine->housekeeper, TICK_NS)) {
		while (deadlock_resolve(&engine->deadlock, &engine->locks, &engine->workers))
			;
		reruns_poll(engine);
	}
	return NULL;
}

int housekeeper_start(struct db_engine *engine, struct failure *failure)
{
	struct housekeeper *housekeeper = &engine->housekeeper;
	pthread_mutex_init(&housekeeper->mutex, NULL);
	if (cond_init_monotonic(&housekeeper->wake))
		return failure_set(failure, DB_ENOMEM, NULL);
	housekeeper->running = pthread_create(&housekeeper->thread, NULL, look_after, engine) == 0;
	return housekeeper->running ? 0 : failure_set(failure, DB_ETHREAD, NULL);
}

void housekeeper_stop(struct housekeeper *housekeeper)
{
	pthread_mutex_lock(&housekeeper->mutex);
	housekeeper->stopping = true;
	pthread_cond_broadcast(&housekeeper->wake);
	pthread_mutex_unlock(&housekeeper->mutex);
	if (housekeeper->running)
		pthread_join(housekeeper->thread, NULL);
	pthread_cond_destroy(&housekeeper->wake);
	pthread_mutex_destroy(&housekeeper->mutex);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* housekeeper.h - the thread that looks after waits which never end, and after reruns. */
#ifndef DEMO_DB_HOUSEKEEPER_H
#define DEMO_DB_HOUSEKEEPER_H

#include "demo-db/engine/base/failure.h"

#include <pthread.h>

struct db_engine;

struct housekeeper {
	pthread_mutex_t mutex;
	pthread_cond_t wake; /* stop */
	bool stopping, running;
	pthread_t thread;
};

int housekeeper_start(struct db_engine *engine, struct failure *failure);
void housekeeper_stop(struct housekeeper *housekeeper);

#endif

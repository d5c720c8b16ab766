/* SPDX-License-Identifier: Apache-2.0 */
/* rerun.h - cancelled statements that wait, without a worker, until they may run again. */
#ifndef DEMO_DB_RERUN_H
#define DEMO_DB_RERUN_H

#include <pthread.h>
#include <stdint.h>

struct db_engine;
struct db_session;

struct reruns {
	pthread_mutex_t mutex;
	struct db_session *first, *last; /* in the order in which they came */
	uint32_t count;
};

int reruns_init(struct reruns *reruns);
void reruns_destroy(struct reruns *reruns);
/* All with the session's cancel_mutex held. */
void rerun_add(struct reruns *reruns, struct db_session *session);
/* A cancel reached a statement that waits to run again: it is queued for its end, if it is still in
 * the list. */
void rerun_release(struct reruns *reruns, struct db_session *session);
/* Asks the library about each waiting statement once. Called by the housekeeper. */
void reruns_poll(struct db_engine *engine);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.h - the thread that runs cancel actions.
 */
#ifndef CANCEL_CONTROL_DELIVER_H
#define CANCEL_CONTROL_DELIVER_H

#include <cancel/cancel.h>

struct delivery {
	uint64_t task, serial, blamed_mask;
	enum cancel_reason reason;
	enum cancel_strength strength; /* 0: what it takes when it is delivered */
	uint64_t pushed_ns;	       /* deliver_push sets it */
};

int deliver_start(void); /* 0 or CANCEL_ETHREAD */
void deliver_stop(void); /* waits for an action that is running; drops what is queued */
bool deliver_push(const struct delivery *d); /* false, and counted: the queue is full */

/* The action that is running: since when (0: none), and of which task. */
uint64_t deliver_running_since_ns(uint64_t *task);

void deliver_lock_for_fork(void);
void deliver_unlock_after_fork(bool child);

#endif

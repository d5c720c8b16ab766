/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller.h - the thread that looks, judges, acts and remembers, once a window.
 */
#ifndef CANCEL_CONTROL_CONTROLLER_H
#define CANCEL_CONTROL_CONTROLLER_H

#include "libcancel/control/options.h"

/* Prepares ledger and pipeline, starts the thread. 0 or a negative error, then nothing is left. */
int controller_start(const struct options *o);

/* The same without a thread: looks are handed in, and what is decided goes to `send`, which answers
 * whether it could be sent. One thread at a time. */
typedef bool (*cancel_sender)(const struct cancel_decision *decision);
int controller_start_fed(const struct options *o, cancel_sender send);
void controller_take_look(struct cancel_ledger *ledger);

void controller_stop(void);
/* Any thread: takes these options from the next tick on. */
void controller_change(const struct options *o);

/* Any thread: the state of the last window. */
void controller_status(struct cancel_status *status);
/* Any thread: the last verdict's contention, raw metric and calm bit of each resource. */
void controller_contention(struct cancel_resource_info *resources, size_t count);
void controller_held_back(uint64_t held_back[CANCEL_CAUSE_COUNT]);

void controller_lock_for_fork(void);
void controller_unlock_after_fork(bool child);

#endif

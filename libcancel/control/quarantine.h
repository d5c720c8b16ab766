/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine.h - origins that a host is asked to keep out for a while.
 */
#ifndef CANCEL_CONTROL_QUARANTINE_H
#define CANCEL_CONTROL_QUARANTINE_H

#include <cancel/observe.h>

/* Takes in a decision; controller thread. */
void quarantine_take(const struct cancel_decision *decision);
void quarantine_forget(void);

void quarantine_lock_for_fork(void);
void quarantine_unlock_after_fork(void);

#endif

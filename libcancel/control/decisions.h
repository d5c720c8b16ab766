/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decisions.h - the decisions remembered, and who is notified of them.
 */
#ifndef CANCEL_CONTROL_DECISIONS_H
#define CANCEL_CONTROL_DECISIONS_H

#include <cancel/observe.h>

/* Controller thread: takes in what the verdict decided and how earlier decisions went on, fetches
 * stacks that have arrived, tells journal and listeners. */
void decisions_take(const struct cancel_verdict *verdict);
/* Controller thread: tells the window listener. */
void decisions_window(const struct cancel_ledger *ledger, const struct cancel_verdict *verdict);
void decisions_forget(void);

void decisions_lock_for_fork(void);
void decisions_unlock_after_fork(bool child);

#endif

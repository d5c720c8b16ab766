/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the decisions remembered, and who is told of them.
 */
#ifndef CANCEL_CONTROL_RECORD_H
#define CANCEL_CONTROL_RECORD_H

#include <cancel/observe.h>

/* Controller thread: takes in what the verdict decided and how earlier decisions went on, fetches
 * stacks that have arrived, tells journal and listeners. */
void records_take(const struct cancel_verdict *verdict);
/* Controller thread: tells the window listener. */
void records_window(const struct cancel_ledger *ledger, const struct cancel_verdict *verdict);
void records_forget(void);

void records_lock_for_fork(void);
void records_unlock_after_fork(bool child);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerun.h - when may a cancelled task run again?
 */
#ifndef CANCEL_CONTROL_RERUN_H
#define CANCEL_CONTROL_RERUN_H

#include <cancel/policy.h>

/* Controller thread, each window: which resources are calm, which culprits came back. */
void rerun_turn(const struct cancel_verdict *verdict);
void rerun_limit_ms(uint32_t rerun_max_ms);
void rerun_forget(void);

void rerun_lock_for_fork(void);
void rerun_unlock_after_fork(bool child);

#endif

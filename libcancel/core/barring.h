/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barring.h - waiters that bar others: those behind them would get in beside the holders, but
 * queues are first come, first served. Of such a waiter and the holders it waits for, who goes?
 */
#ifndef CANCEL_CORE_BARRING_H
#define CANCEL_CORE_BARRING_H

#include "libcancel/core/contended.h"

/* Finds the instances whose barring waiters give way, marks the waits, and lists those waiters
 * among the users of the instance, so that they are blamed in place of the holders. */
void barring_find(struct contended *contended, struct history *history,
	const struct cancel_ledger *ledger, const struct window *window);

#endif

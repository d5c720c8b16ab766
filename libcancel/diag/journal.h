/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - decisions and outcomes as lines of JSON, for those who ask later.
 */
#ifndef CANCEL_DIAG_JOURNAL_H
#define CANCEL_DIAG_JOURNAL_H

#include <cancel/observe.h>

/* Appends to `path`. 0, or CANCEL_EINVAL: it cannot be opened. One journal at a time. */
int journal_open(const char *path);
void journal_close(void);

/* One line; without a journal nothing. Controller thread. A failed write closes the journal: the
 * result is false, once. */
bool journal_decision(enum cancel_change change, const struct cancel_decision_record *record);

#endif

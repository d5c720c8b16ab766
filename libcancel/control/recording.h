/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h - the recorder of a running library, if its options name a path. Start, stop and the
 * controller thread only.
 */
#ifndef CANCEL_CONTROL_RECORDING_H
#define CANCEL_CONTROL_RECORDING_H

#include "libcancel/control/options.h"
#include "libcancel/recorder/text.h"

extern const struct text_names library_names;

/* 0, or CANCEL_EINVAL: the path is the host's and cannot be written. One from the environment that
 * cannot is logged, and nothing is recorded. */
int recording_start(const struct options *o);
void recording_stop(void);
void recording_abandon(void); /* in a forked child */
bool recording_is_on(void);

void recording_configure(const struct cancel_pipeline_config *config);
void recording_take(const struct cancel_ledger *ledger, const struct cancel_verdict *verdict);
void recording_flush(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the thread-safe gate needs of the pure one. */
#ifndef CANCEL_ADMISSION_DAGOR_WINDOW_H
#define CANCEL_ADMISSION_DAGOR_WINDOW_H

#include <cancel/admission/dagor.h>

/* Judges the counts of the running window (histogram, requests, admitted, observed, missed,
 * delay_sum_ns), moves the cursor and starts an empty window at now_ns. */
void dagor_close_window(struct cancel_dagor *gate, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - the few lines this library logs.
 */
#ifndef CANCEL_CONTROL_LOG_H
#define CANCEL_CONTROL_LOG_H

#include <cancel/cancel.h>

/* Where lines go; start, before the threads. NULL: stderr. */
void log_to(void (*line)(void *arg, const char *line), void *arg);

/* One line, cut to CANCEL_TEXT_MAX. Start, stop and the controller thread only. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* Logs each kind of misuse that has been counted, once. Controller thread. */
void log_misuse(void);
void log_forget(void);

#endif

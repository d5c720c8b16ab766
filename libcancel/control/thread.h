/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - starts a thread that takes none of the host's signals.
 */
#ifndef CANCEL_CONTROL_THREAD_H
#define CANCEL_CONTROL_THREAD_H

#include <pthread.h>

/* 0 or CANCEL_ETHREAD. `name` has at most 15 bytes. */
int thread_start(pthread_t *thread, void *(*main)(void *), const char *name);

#endif

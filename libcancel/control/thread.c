/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - how the library's own threads begin: with every signal blocked, so that the host's
 * handlers never run on them.
 */
#include "libcancel/control/thread.h"

#include <signal.h>

#include <cancel/error.h>

int thread_start(pthread_t *thread, void *(*main)(void *), const char *name)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(thread, NULL, main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return CANCEL_ETHREAD;
	pthread_setname_np(*thread, name);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hanging_action.h - a cancel action that runs until the test lets it leave. */
#ifndef SUPPORT_HANGING_ACTION_H
#define SUPPORT_HANGING_ACTION_H

#include <cancel/cancel.h>

#include <semaphore.h>

static sem_t entered, may_leave;

static void prepare_hang(void)
{
	sem_init(&entered, 0, 0);
	sem_init(&may_leave, 0, 0);
}

static void hang(const struct cancel_request *request, void *arg)
{
	(void)request;
	(void)arg;
	sem_post(&entered);
	sem_wait(&may_leave);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Retry budgets for the threads of one client: a pure budget behind a mutex. */
#include <cancel/admission_shared.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libcancel/admission/retry.h"

_Static_assert(
	(int)CANCEL_RETRY_BUCKET == (int)RETRY_BUCKET && (int)CANCEL_RETRY_SRE == (int)RETRY_SRE,
	"a kind of budget has one number");

struct cancel_retry_shared {
	pthread_mutex_t lock;
	struct retry_budget budget; /* under the lock */
};

static const char *const names[] = {
	[CANCEL_RETRY_BUCKET] = "bucket",
	[CANCEL_RETRY_FINAGLE] = "finagle",
	[CANCEL_RETRY_GRPC] = "grpc",
	[CANCEL_RETRY_ENVOY] = "envoy",
	[CANCEL_RETRY_AWS] = "aws",
	[CANCEL_RETRY_SRE] = "sre",
};
#define KINDS (sizeof names / sizeof *names)

enum cancel_retry_kind cancel_retry_kind_find(const char *name)
{
	for (unsigned kind = 1; kind < KINDS; kind++)
		if (!strcmp(names[kind], name))
			return (enum cancel_retry_kind)kind;
	return 0;
}

const char *cancel_retry_kind_name(enum cancel_retry_kind kind)
{
	return (unsigned)kind < KINDS ? names[kind] : NULL;
}

struct cancel_retry_shared *cancel_retry_shared_create(
	enum cancel_retry_kind kind, const void *options)
{
	struct cancel_retry_shared *budget = calloc(1, sizeof *budget);
	if (!budget)
		return NULL;
	if (retry_budget_init(&budget->budget, (enum retry_kind)kind, options)) {
		free(budget);
		return NULL;
	}
	pthread_mutex_init(&budget->lock, NULL);
	return budget;
}

void cancel_retry_shared_free(struct cancel_retry_shared *budget)
{
	if (!budget)
		return;
	pthread_mutex_destroy(&budget->lock);
	free(budget);
}

bool cancel_retry_shared_send(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, uint32_t random)
{
	pthread_mutex_lock(&budget->lock);
	const bool admitted = retry_budget_first(&budget->budget, now_ns, random);
	if (admitted)
		retry_budget_sent(&budget->budget, now_ns);
	pthread_mutex_unlock(&budget->lock);
	call->retrying = false;
	return admitted;
}

void cancel_retry_shared_end(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, enum cancel_retry_outcome outcome)
{
	pthread_mutex_lock(&budget->lock);
	retry_budget_ended(&budget->budget, now_ns, &call->aws, call->retrying,
		outcome == CANCEL_RETRY_SUCCESS, outcome != CANCEL_RETRY_REFUSED);
	pthread_mutex_unlock(&budget->lock);
}

bool cancel_retry_shared_retry(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, bool timed_out, uint32_t random)
{
	pthread_mutex_lock(&budget->lock);
	const bool admitted =
		retry_budget_again(&budget->budget, now_ns, &call->aws, timed_out, random);
	if (admitted)
		retry_budget_sent(&budget->budget, now_ns);
	pthread_mutex_unlock(&budget->lock);
	if (admitted)
		call->retrying = true;
	return admitted;
}

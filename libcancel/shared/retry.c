/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retry budgets for the threads of one client: the pure budgets behind one mutex and one set of
 * calls. It owns the translation of send, end and retry into what each budget wants to hear.
 */
#include <cancel/admission_shared.h>

#include <cancel/admission/bucket.h>
#include <cancel/admission/retry_envoy.h>
#include <cancel/admission/retry_finagle.h>
#include <cancel/admission/retry_grpc.h>
#include <cancel/admission/retry_sre.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct cancel_retry_shared {
	enum cancel_retry_kind kind; /* constant */
	pthread_mutex_t lock;
	union { /* under the lock */
		struct cancel_bucket bucket;
		struct cancel_retry_finagle finagle;
		struct cancel_retry_grpc grpc;
		struct cancel_retry_envoy envoy;
		struct cancel_retry_aws aws;
		struct cancel_retry_sre sre;
	};
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

static int init(struct cancel_retry_shared *budget, const void *options)
{
	switch (budget->kind) {
	case CANCEL_RETRY_BUCKET:
		return cancel_bucket_init(&budget->bucket, options);
	case CANCEL_RETRY_FINAGLE:
		return cancel_retry_finagle_init(&budget->finagle, options);
	case CANCEL_RETRY_GRPC:
		return cancel_retry_grpc_init(&budget->grpc, options);
	case CANCEL_RETRY_ENVOY:
		return cancel_retry_envoy_init(&budget->envoy, options);
	case CANCEL_RETRY_AWS:
		return cancel_retry_aws_init(&budget->aws, options);
	case CANCEL_RETRY_SRE:
		return cancel_retry_sre_init(&budget->sre, options);
	}
	return CANCEL_EINVAL;
}

struct cancel_retry_shared *cancel_retry_shared_create(
	enum cancel_retry_kind kind, const void *options)
{
	struct cancel_retry_shared *budget = calloc(1, sizeof *budget);
	if (!budget)
		return NULL;
	budget->kind = kind;
	if (init(budget, options)) {
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

static bool send_first(struct cancel_retry_shared *budget, uint64_t now_ns, uint32_t random)
{
	if (budget->kind == CANCEL_RETRY_SRE)
		return cancel_retry_sre_admit(&budget->sre, now_ns, random);
	if (budget->kind == CANCEL_RETRY_FINAGLE)
		cancel_retry_finagle_observe(&budget->finagle, now_ns);
	else if (budget->kind == CANCEL_RETRY_ENVOY)
		cancel_retry_envoy_observe(&budget->envoy, now_ns, 1);
	return true;
}

static bool retry(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, bool timed_out, uint32_t random)
{
	switch (budget->kind) {
	case CANCEL_RETRY_BUCKET:
		return cancel_bucket_admit(&budget->bucket, now_ns, 1);
	case CANCEL_RETRY_FINAGLE:
		return cancel_retry_finagle_admit(&budget->finagle, now_ns);
	case CANCEL_RETRY_GRPC:
		return cancel_retry_grpc_admit(&budget->grpc, now_ns);
	case CANCEL_RETRY_ENVOY:
		if (!cancel_retry_envoy_admit(&budget->envoy, now_ns))
			return false;
		cancel_retry_envoy_observe(&budget->envoy, now_ns, 1);
		return true;
	case CANCEL_RETRY_AWS:
		return cancel_retry_aws_admit(&budget->aws, now_ns, &call->aws, timed_out);
	case CANCEL_RETRY_SRE:
		return cancel_retry_sre_admit(&budget->sre, now_ns, random);
	}
	return false;
}

static void end(struct cancel_retry_shared *budget, uint64_t now_ns,
	const struct cancel_retry_call *call, enum cancel_retry_outcome outcome)
{
	const bool success = outcome == CANCEL_RETRY_SUCCESS;
	if (budget->kind == CANCEL_RETRY_GRPC) {
		cancel_retry_grpc_observe(&budget->grpc, now_ns, success);
	} else if (budget->kind == CANCEL_RETRY_SRE) {
		cancel_retry_sre_observe(&budget->sre, now_ns, outcome != CANCEL_RETRY_REFUSED);
	} else if (budget->kind == CANCEL_RETRY_AWS && success) {
		cancel_retry_aws_observe(&budget->aws, now_ns, &call->aws);
	} else if (budget->kind == CANCEL_RETRY_ENVOY) {
		cancel_retry_envoy_observe(&budget->envoy, now_ns, -1);
		if (call->retrying)
			cancel_retry_envoy_end(&budget->envoy, now_ns);
	}
}

bool cancel_retry_shared_send(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, uint32_t random)
{
	pthread_mutex_lock(&budget->lock);
	const bool admitted = send_first(budget, now_ns, random);
	pthread_mutex_unlock(&budget->lock);
	call->retrying = false;
	return admitted;
}

void cancel_retry_shared_end(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, enum cancel_retry_outcome outcome)
{
	pthread_mutex_lock(&budget->lock);
	end(budget, now_ns, call, outcome);
	pthread_mutex_unlock(&budget->lock);
}

bool cancel_retry_shared_retry(struct cancel_retry_shared *budget, uint64_t now_ns,
	struct cancel_retry_call *call, bool timed_out, uint32_t random)
{
	pthread_mutex_lock(&budget->lock);
	const bool admitted = retry(budget, now_ns, call, timed_out, random);
	pthread_mutex_unlock(&budget->lock);
	if (admitted)
		call->retrying = true;
	return admitted;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.h - the pure retry budgets behind one set of calls: what the thread-safe budget locks, and
 * what the simulator's clients ask. It owns the translation of send, end and retry into what each
 * budget wants to hear.
 */
#ifndef CANCEL_ADMISSION_RETRY_H
#define CANCEL_ADMISSION_RETRY_H

#include <cancel/admission/bucket.h>
#include <cancel/admission/retry_aws.h>
#include <cancel/admission/retry_envoy.h>
#include <cancel/admission/retry_finagle.h>
#include <cancel/admission/retry_grpc.h>
#include <cancel/admission/retry_sre.h>

enum retry_kind { /* as enum cancel_retry_kind */
	RETRY_BUCKET = 1,
	RETRY_FINAGLE,
	RETRY_GRPC,
	RETRY_ENVOY,
	RETRY_AWS,
	RETRY_SRE,
};

struct retry_budget {
	enum retry_kind kind;
	union {
		struct cancel_bucket bucket;
		struct cancel_retry_finagle finagle;
		struct cancel_retry_grpc grpc;
		struct cancel_retry_envoy envoy;
		struct cancel_retry_aws aws;
		struct cancel_retry_sre sre;
	};
};

/* `options`: those of the kind, or NULL. 0, or an error where they make no budget. */
int retry_budget_init(struct retry_budget *budget, enum retry_kind kind, const void *options);
/* May the first attempt be sent? Only sre ever says no, by `random`, uniform in [0, 2^32). */
bool retry_budget_first(struct retry_budget *budget, uint64_t now_ns, uint32_t random);
/* May a failed call be sent again? `call`: aws only; `random`: sre only. */
bool retry_budget_again(struct retry_budget *budget, uint64_t now_ns,
	struct cancel_retry_aws_call *call, bool timed_out, uint32_t random);
/* An attempt, the first or another, is sent. */
void retry_budget_sent(struct retry_budget *budget, uint64_t now_ns);
/* It ended; `accepted` unless the server's admission control refused it. */
void retry_budget_ended(struct retry_budget *budget, uint64_t now_ns,
	const struct cancel_retry_aws_call *call, bool was_retry, bool success, bool accepted);

#endif

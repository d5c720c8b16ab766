/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h - a retry budget of libcancel at a client, whichever kind. */
#ifndef SIM_ADMISSION_BUDGET_H
#define SIM_ADMISSION_BUDGET_H

#include "libcancel/admission/retry.h"
#include "sim/base/rng.h"

enum sim_budget_kind {
	SIM_BUDGET_NONE,
	SIM_BUDGET_BUCKET = RETRY_BUCKET,
	SIM_BUDGET_FINAGLE = RETRY_FINAGLE,
	SIM_BUDGET_GRPC = RETRY_GRPC,
	SIM_BUDGET_ENVOY = RETRY_ENVOY,
	SIM_BUDGET_AWS = RETRY_AWS,
	SIM_BUDGET_SRE = RETRY_SRE, /* throttles first attempts too */
	SIM_BUDGET_KINDS,
};

struct sim_budget_options {
	enum sim_budget_kind kind;
	struct cancel_bucket_options bucket; /* BUCKET; struct_size is filled in */
	uint32_t share_ppm;		     /* FINAGLE, ENVOY; 0: their own */
	bool no_reserve;		     /* FINAGLE */
};

struct sim_budget {
	struct retry_budget budget; /* kind 0: none */
};

/* 0, or -1: the options make no budget. */
int sim_budget_init(struct sim_budget *budget, const struct sim_budget_options *options);
/* May the first attempt be sent? Counts it. `rng`: SRE only. */
bool sim_budget_first(struct sim_budget *budget, uint64_t now_ns, struct sim_rng *rng);
/* May the task of `call`, which has just failed, be retried? `call`: AWS only; `rng`: SRE only. */
bool sim_budget_retry(struct sim_budget *budget, uint64_t now_ns,
	struct cancel_retry_aws_call *call, bool timed_out, struct sim_rng *rng);
void sim_budget_sent(struct sim_budget *budget, uint64_t now_ns);
void sim_budget_ended(struct sim_budget *budget, uint64_t now_ns,
	const struct cancel_retry_aws_call *call, bool was_retry, bool success);
/* The retry alone, of a budget that needs no more: a sim_budget_fn for the sweep. */
bool sim_budget_allows(void *budget, uint64_t now_ns);

#endif

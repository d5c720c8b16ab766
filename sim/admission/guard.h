/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - a gate and a retry budget before one server, as the three hooks of a policy. Engines
 * that know no gate by name (single/, world/) are guarded this way.
 */
#ifndef SIM_ADMISSION_GUARD_H
#define SIM_ADMISSION_GUARD_H

#include "sim/admission/budget.h"
#include "sim/admission/gate.h"

struct sim_guard_options {
	struct sim_gate_options gate;	  /* any kind that sheds at arrival */
	struct sim_budget_options budget; /* NONE, BUCKET, FINAGLE */
	uint32_t levels;		  /* DAGOR: a request's level is its number mod levels */
	uint64_t interval_ns;		  /* between originals: where a request entered */
};

struct sim_guard {
	struct sim_guard_options options;
	struct sim_gate gate;
	struct sim_budget budget;
};

/* 0, or -1: the options make no gate or no budget. It must stay where it is. */
int sim_guard_init(struct sim_guard *guard, const struct sim_guard_options *options);
void sim_guard_free(struct sim_guard *guard);
/* Hooks that do nothing are NULL. The guard must outlive the run. */
struct sim_policy sim_guard_policy(struct sim_guard *guard);

#endif

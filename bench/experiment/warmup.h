/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmup.h - brings a freshly opened target to the state in which a run may begin.
 */
#ifndef BENCH_WARMUP_H
#define BENCH_WARMUP_H

#include "bench/cases/case.h"
#include "bench/load/sender.h"

#define WARM_HOT_SET	  "SELECT sum(stock), sum(length(payload)) FROM items"
#define WARM_SATURATE_QPS 500

struct warm { /* must outlive the target: late answers land in it */
	struct schedule schedule;
	struct outcome *outcomes;
	struct sender sender;
};

/* Makes what the plan wants prepared, reads the hot set once, then asks a second of questions like the
 * run's own, unless its clients time out. */
int warm_up(struct warm *warm, struct target *target, const struct case_plan *plan, double rate_qps,
	uint64_t seed, char error[TARGET_ERROR_MAX]) __attribute__((warn_unused_result));
/* After target_close. */
void warm_free(struct warm *warm);

#endif

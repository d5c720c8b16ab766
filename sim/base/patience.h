/* SPDX-License-Identifier: Apache-2.0 */
/* patience.h - how long a client waits and how often it tries again, in every engine with clients. */
#ifndef SIM_BASE_PATIENCE_H
#define SIM_BASE_PATIENCE_H

#include "sim/base/rng.h"

struct sim_patience {
	uint64_t timeout_ns; /* the client leaves; 0: never */
	uint32_t retries;    /* after a timeout, and after a reject with retry_on_reject */
	bool retry_on_reject;
	bool backoff_jitter;	 /* uniform in [0, backoff] */
	uint64_t backoff_ns;	 /* before a retry, doubling each time; 0: at once */
	uint64_t backoff_max_ns; /* [32 × backoff_ns] */
};

/* How long the client waits before the retry that follows `failed` earlier retries. */
uint64_t sim_backoff_ns(const struct sim_patience *patience, uint32_t failed, struct sim_rng *rng);

#endif

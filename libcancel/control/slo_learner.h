/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo_learner.h - SLOs for classes that were given none.
 */
#ifndef CANCEL_CONTROL_SLO_LEARNER_H
#define CANCEL_CONTROL_SLO_LEARNER_H

#include <stdint.h>

#include "libcancel/control/options.h"

/* Start: warns once when no class has an SLO, and begins to listen. */
void slo_learner_start(const struct options *o, uint64_t now_ns);
typedef void (*slo_reader)(uint32_t class_index, uint64_t *counts);
/* Controller thread, about once a second: stores and says what has been learned. `read` gives the
 * latencies kept for a class. */
void slo_learner_step(uint64_t now_ns, slo_reader read);
/* Controller thread: an SLO is given to the class, or taken back. */
void slo_learner_forget(uint32_t index);
/* The SLO the class has learned; 0: none. Any thread. */
uint64_t slo_learner_learned_ns(uint32_t index);

#endif

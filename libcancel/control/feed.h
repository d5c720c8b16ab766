/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - the source of looks for a host that is looked at from outside.
 */
#ifndef CANCEL_CONTROL_FEED_H
#define CANCEL_CONTROL_FEED_H

#include "libcancel/control/options.h"

int feed_start(const struct options *o); /* 0, CANCEL_EINVAL or CANCEL_ENOMEM */
void feed_stop(void);			 /* does nothing when it was not started */

/* The latencies an adapter has reported for a class. */
void feed_read_learned(uint32_t class_index, uint64_t *counts);

#endif

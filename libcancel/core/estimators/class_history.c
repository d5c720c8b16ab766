/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tasks of its class and signature usually take, less its age. One that has outlived the
 * median is an exception already, and its own progress says more.
 */
#include "libcancel/core/estimate.h"

uint64_t estimator_class_history(const struct cancel_estimate_input *in)
{
	if (in->age_ns == 0 || in->class_median_ns <= in->age_ns)
		return estimator_proportional(in);
	return estimate_scale(in->used_micro, in->class_median_ns - in->age_ns, in->age_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A cancelled task goes on using the resource, at its rate so far, while it is undone. */
#include "libcancel/core/estimate.h"

#include "libcancel/base/fixed.h"

uint64_t estimator_undo_aware(const struct cancel_estimate_input *in)
{
	uint64_t gain = estimator_proportional(in);
	if (in->rollback_ns == 0 || in->age_ns == 0)
		return gain;
	return fixed_minus(gain, fixed_scale(in->used_micro, in->rollback_ns, in->age_ns));
}

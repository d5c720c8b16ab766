/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage x remaining / done: the model of Atropos (SOSP 2025), which calls it strong and possibly
 * imprecise; hence the bounds of estimate_scale().
 */
#include "libcancel/core/estimate.h"

uint64_t estimator_proportional(const struct cancel_estimate_input *in)
{
	if (!estimate_progress_is_known(in))
		return in->used_micro;
	return estimate_scale(in->used_micro, in->expected - in->done, in->done);
}

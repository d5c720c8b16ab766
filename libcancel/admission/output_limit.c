/* SPDX-License-Identifier: Apache-2.0 */
/* The output limit of one client: two thresholds and since when the lower one is exceeded. */
#include <cancel/admission/output_limit.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define SOFT_NS_DEFAULT UINT64_C(60000000000)

int cancel_output_limit_init(
	struct cancel_output_limit *limit, const struct cancel_output_limit_options *options)
{
	struct cancel_output_limit_options o;
	if (!struct_size_read(&o, sizeof o, options) ||
		(o.hard_bytes && o.soft_bytes > o.hard_bytes))
		return CANCEL_EINVAL;
	*limit = (struct cancel_output_limit){
		.hard_bytes = o.hard_bytes,
		.soft_bytes = o.soft_bytes,
		.soft_ns = o.soft_ns ? o.soft_ns : SOFT_NS_DEFAULT,
	};
	return 0;
}

bool cancel_output_limit_admit(
	struct cancel_output_limit *limit, uint64_t now_ns, uint64_t buffered_bytes)
{
	if (limit->hard_bytes && buffered_bytes > limit->hard_bytes)
		return false;
	if (!limit->soft_bytes || buffered_bytes <= limit->soft_bytes) {
		limit->over = false;
		return true;
	}
	if (!limit->over) {
		limit->over = true;
		limit->over_since_ns = now_ns;
	}
	return fixed_minus(now_ns, limit->over_since_ns) <= limit->soft_ns;
}

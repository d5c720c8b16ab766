/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an exclusive operation has run for too long. */
#include <cancel/admission/busy.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define THRESHOLD_NS_DEFAULT UINT64_C(5000000000)

int cancel_busy_init(struct cancel_busy *busy, const struct cancel_busy_options *options)
{
	struct cancel_busy_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	*busy = (struct cancel_busy){ .threshold_ns = o.threshold_ns ? o.threshold_ns
								     : THRESHOLD_NS_DEFAULT };
	return 0;
}

void cancel_busy_observe(struct cancel_busy *busy, uint64_t now_ns, bool exclusive)
{
	if (exclusive && !busy->exclusive)
		busy->since_ns = now_ns;
	busy->exclusive = exclusive;
}

bool cancel_busy_admit(const struct cancel_busy *busy, uint64_t now_ns)
{
	return !busy->exclusive || fixed_minus(now_ns, busy->since_ns) <= busy->threshold_ns;
}

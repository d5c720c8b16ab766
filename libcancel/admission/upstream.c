/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller's copy of a service's admission level. It owns freshness: which reply is newer, and
 * when a level is too old to refuse anything by.
 */
#include <cancel/admission/upstream.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define TTL_NS_DEFAULT 2000000000u

int cancel_upstream_init(
	struct cancel_upstream *upstream, const struct cancel_upstream_options *options)
{
	struct cancel_upstream_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	*upstream = (struct cancel_upstream){ .ttl_ns = o.ttl_ns ? o.ttl_ns : TTL_NS_DEFAULT };
	return 0;
}

static bool fresh(const struct cancel_upstream *upstream, uint64_t now_ns)
{
	const uint64_t age_ns =
		fixed_plus(upstream->level.age_ns, fixed_minus(now_ns, upstream->learned_ns));

	return upstream->known && age_ns <= upstream->ttl_ns;
}

bool cancel_upstream_admit(struct cancel_upstream *upstream, uint64_t now_ns, uint32_t priority)
{
	if (!fresh(upstream, now_ns) || priority < upstream->level.cursor)
		return true;
	upstream->shed++;
	return false;
}

void cancel_upstream_observe(
	struct cancel_upstream *upstream, uint64_t now_ns, struct cancel_dagor_level level)
{
	if (fresh(upstream, now_ns) && level.serial < upstream->level.serial)
		return;
	upstream->known = true;
	upstream->level = level;
	upstream->learned_ns = now_ns;
}

uint64_t cancel_upstream_take_shed(struct cancel_upstream *upstream)
{
	const uint64_t shed = upstream->shed;
	upstream->shed = 0;
	return shed;
}

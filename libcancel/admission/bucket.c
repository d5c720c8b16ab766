/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token bucket: a level, a cap and the instant up to which it is refilled. It owns exactness:
 * rate x elapsed is added without rounding, in units of 1/per_ns of a token, and no product here
 * can overflow.
 */
#include <cancel/admission/bucket.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

#define PER_NS_DEFAULT 1000000000u

int cancel_bucket_init(struct cancel_bucket *bucket, const struct cancel_bucket_options *options)
{
	struct cancel_bucket_options o;
	if (!struct_size_read(&o, sizeof o, options))
		return CANCEL_EINVAL;
	if (!o.per_ns)
		o.per_ns = PER_NS_DEFAULT;
	if (!o.burst)
		o.burst = o.rate;
	if (o.burst > (uint64_t)INT64_MAX / o.per_ns)
		return CANCEL_EINVAL;
	const uint64_t cap = o.burst * o.per_ns;
	*bucket = (struct cancel_bucket){
		.rate = o.rate,
		.per_ns = o.per_ns,
		.level = o.start_empty ? 0 : cap,
		.cap = cap,
		.last_ns = o.start_ns,
	};
	return 0;
}

static void refill(struct cancel_bucket *bucket, uint64_t now_ns)
{
	if (now_ns <= bucket->last_ns)
		return;
	const uint64_t elapsed_ns = now_ns - bucket->last_ns;
	const uint64_t room = bucket->cap - bucket->level;

	bucket->last_ns = now_ns;
	if (bucket->rate && elapsed_ns > room / bucket->rate)
		bucket->level = bucket->cap;
	else
		bucket->level += bucket->rate * elapsed_ns;
}

bool cancel_bucket_admit(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t tokens)
{
	const uint64_t cost = fixed_times(tokens, bucket->per_ns);
	refill(bucket, now_ns);
	if (bucket->level < cost)
		return false;
	bucket->level -= cost;
	return true;
}

void cancel_bucket_give(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t tokens)
{
	refill(bucket, now_ns);
	const uint64_t room = bucket->cap - bucket->level;
	const uint64_t gift = fixed_times(tokens, bucket->per_ns);

	bucket->level += gift < room ? gift : room;
}

uint64_t cancel_bucket_level(struct cancel_bucket *bucket, uint64_t now_ns)
{
	refill(bucket, now_ns);
	return bucket->level / bucket->per_ns;
}

uint64_t cancel_bucket_wait_ns(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t tokens)
{
	const uint64_t cost = fixed_times(tokens, bucket->per_ns);
	refill(bucket, now_ns);
	if (bucket->level >= cost)
		return 0;
	if (cost > bucket->cap || !bucket->rate)
		return UINT64_MAX;
	const uint64_t missing = cost - bucket->level;
	return missing / bucket->rate + (missing % bucket->rate ? 1 : 0);
}

void cancel_bucket_set_rate(struct cancel_bucket *bucket, uint64_t now_ns, uint64_t rate)
{
	refill(bucket, now_ns);
	bucket->rate = rate;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the token bucket and the gap between cancels. */
#include "libcancel/core/pace.h"

#include "libcancel/base/fixed.h"

#define TOKEN_MICRO    1000000ull
#define NS_PER_MICRO_S 1000u /* one token a second: a millionth of it every microsecond */

static uint64_t burst_micro(const struct settings *s)
{
	return s->pace_burst * TOKEN_MICRO;
}

void pace_init(struct pace *p, const struct settings *s)
{
	*p = (struct pace){ .tokens_micro = burst_micro(s) };
}

void pace_refill(struct pace *p, const struct window *w, const struct settings *s)
{
	uint64_t by_time = w->length_ns / NS_PER_MICRO_S;
	uint64_t by_completions = fixed_scale(w->completed, s->pace_share_ppm, 1);
	p->tokens_micro = fixed_min(
		fixed_plus(p->tokens_micro, fixed_max(by_time, by_completions)), burst_micro(s));
}

bool pace_allows(const struct pace *p, uint64_t now_ns, const struct settings *s)
{
	if (p->last_ns && now_ns - p->last_ns < s->pace_gap_ms * NS_PER_MS)
		return false;
	return p->tokens_micro >= TOKEN_MICRO;
}

void pace_spend(struct pace *p, uint64_t now_ns)
{
	p->tokens_micro = fixed_minus(p->tokens_micro, TOKEN_MICRO);
	p->last_ns = now_ns;
}

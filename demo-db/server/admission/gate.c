/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns when the gate is asked, what it is fed, and what libcancel's verdicts change about it. The
 * algorithm is the library's.
 */
#include "demo-db/server/admission/gate.h"

#define HOLD_NS 1000000000u /* a verdict counts for so long after its window */

int gate_init(struct gate *gate, const struct config *config)
{
	const struct cancel_dagor_options options = { .struct_size = sizeof options,
		.business_levels = PRIORITY_LEVELS,
		.user_levels = GATE_USER_LEVELS,
		.window_ns = config->window_ms * 1000000u,
		.window_requests = (uint32_t)config->window_requests,
		.threshold_ns = config->threshold_ms * 1000000u,
		.start_ns = cancel_now_ns() };
	atomic_store_explicit(
		&gate->spare_victims, config->spare_victims != 0, memory_order_relaxed);
	gate->window_ns = options.window_ns;
	gate->standing_since_ns = options.start_ns;
	if (!config->gate)
		return 0;
	gate->dagor = cancel_dagor_shared_create(&options);
	return gate->dagor ? 0 : -1;
}

void gate_free(struct gate *gate)
{
	cancel_dagor_shared_free(gate->dagor);
	gate->dagor = NULL;
}

static bool lasts(const _Atomic uint64_t *until_ns, uint64_t now_ns)
{
	return atomic_load_explicit(until_ns, memory_order_relaxed) > now_ns;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Somewhere in the window after next: clients refused together must not come back together. */
static uint32_t retry_after_ms(const struct gate *gate, uint64_t now_ns, uint64_t user)
{
	uint64_t mix = (now_ns ^ user) * 0x9e3779b97f4a7c15u; /* splitmix64's increment */
	uint64_t window_ms = gate->window_ns / 1000000u;
	return (uint32_t)(window_ms / 2 + (mix >> 32) % (window_ms + 1));
}

bool gate_admit(struct gate *gate, uint64_t now_ns, enum priority priority, uint64_t user,
	struct gate_refusal *refusal)
{
	if (!gate->dagor)
		return true;
	uint32_t level = cancel_dagor_shared_priority(gate->dagor, now_ns, priority, user);
	count(&gate->offered[priority]);
	if (cancel_dagor_shared_admit(gate->dagor, now_ns, level))
		return true;
	if (lasts(&gate->spare_until_ns, now_ns)) {
		count(&gate->spared);
		return true;
	}
	count(&gate->refused[priority]);
	*refusal = (struct gate_refusal){ .level = level,
		.cursor = cancel_dagor_shared_level(gate->dagor, now_ns).cursor,
		.levels = PRIORITY_LEVELS * GATE_USER_LEVELS,
		.retry_ms = retry_after_ms(gate, now_ns, user) };
	return false;
}

void gate_observe(struct gate *gate, uint64_t now_ns, uint64_t delay_ns)
{
	if (!gate->dagor)
		return;
	/* also while victims are spared: afterwards the queue must not look as if it had stood */
	atomic_store_explicit(&gate->heard_ns, now_ns, memory_order_relaxed);
	if (lasts(&gate->spare_until_ns, now_ns))
		return;
	uint64_t weight = lasts(&gate->regular_until_ns, now_ns) ? 2 : 1;
	cancel_dagor_shared_observe(gate->dagor, now_ns, delay_ns * weight);
}

void gate_watch(struct gate *gate, uint64_t now_ns, uint32_t queued)
{
	uint64_t heard_ns = atomic_load_explicit(&gate->heard_ns, memory_order_relaxed);
	if (!gate->dagor)
		return;
	if (!queued || gate->standing_since_ns < heard_ns)
		gate->standing_since_ns = queued ? heard_ns : now_ns;
	if (queued && gate->standing_since_ns + gate->window_ns < now_ns &&
		!lasts(&gate->spare_until_ns, now_ns))
		cancel_dagor_shared_observe(gate->dagor, now_ns, now_ns - gate->standing_since_ns);
}

/* Is a cancel on its way to a resource's culprit? */
static bool is_being_cured(const struct cancel_verdict *verdict)
{
	if (verdict->overload != CANCEL_RESOURCE)
		return false;
	if (verdict->cancel)
		return true;
	for (uint32_t i = 0; i < verdict->outcome_count; i++) {
		const struct cancel_outcome *outcome = &verdict->outcomes[i];
		if (outcome->times.delivered_ns && !outcome->excluded &&
			!outcome->times.recovered_ns)
			return true;
	}
	return verdict->held_back == CANCEL_CAUSE_PACE ||
	       verdict->held_back == CANCEL_CAUSE_AWAIT_RELEASE;
}

void gate_hear(struct gate *gate, const struct cancel_verdict *verdict)
{
	uint64_t until_ns = verdict->now_ns + HOLD_NS;
	if (verdict->overload == CANCEL_REGULAR)
		atomic_store_explicit(&gate->regular_until_ns, until_ns, memory_order_relaxed);
	if (atomic_load_explicit(&gate->spare_victims, memory_order_relaxed) &&
		is_being_cured(verdict))
		atomic_store_explicit(&gate->spare_until_ns, until_ns, memory_order_relaxed);
}

struct cancel_dagor_level gate_level(const struct gate *gate, uint64_t now_ns)
{
	if (gate->dagor)
		return cancel_dagor_shared_level(gate->dagor, now_ns);
	return (struct cancel_dagor_level){ .cursor = PRIORITY_LEVELS * GATE_USER_LEVELS };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - time: a precise clock, and a coarse stamp published for everybody.
 *
 * One page of memory carries both. The controller publishes its clock in coarse_ns about every
 * 10 ms; while it wants precise stamps it publishes 0, and clock_stamp_ns reads the clock itself.
 * So an event costs one load in normal times.
 */
#ifndef CANCEL_SYS_CLOCK_H
#define CANCEL_SYS_CLOCK_H

#include "libcancel/sys/order.h"

struct clock_page {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t
		coarse_ns; /* controller writes, all read, relaxed; 0 = precise */
	/* Written once, before the scale is released; constant afterwards. */
	uint64_t base_ns, base_ticks;
	_Atomic uint64_t ns_per_tick_q32; /* 0: not calibrated, or no usable counter */
};
extern internal struct clock_page clock_page;

/* Calibrates once; later calls return at once. Sleeps about 20 ms the first time. */
void clock_init(void);

/* CLOCK_MONOTONIC. */
uint64_t clock_monotonic_ns(void);

/* The precise clock; CLOCK_MONOTONIC where there is no usable counter, and before clock_init. About
 * 10 ns. */
static inline uint64_t clock_precise_ns(void)
{
#if defined(__x86_64__)
	__extension__ typedef unsigned __int128 wide;
	uint64_t scale = load_acquire(&clock_page.ns_per_tick_q32);
	if (likely(scale)) {
		uint64_t ticks = __builtin_ia32_rdtsc() - clock_page.base_ticks;
		return clock_page.base_ns + (uint64_t)(((wide)ticks * scale) >> 32);
	}
#endif
	return clock_monotonic_ns();
}

/* The stamp of an event: published, or precise while the controller is suspicious. */
static inline uint64_t clock_stamp_ns(void)
{
	uint64_t coarse_ns = load_relaxed(&clock_page.coarse_ns);
	return likely(coarse_ns) ? coarse_ns : clock_precise_ns();
}

static inline void clock_publish_coarse(uint64_t now_ns)
{
	store_relaxed(&clock_page.coarse_ns, now_ns);
}

static inline void clock_publish_precise(void)
{
	store_relaxed(&clock_page.coarse_ns, 0);
}

#endif

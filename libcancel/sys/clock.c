/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - calibrates the precise clock. The only file that reads the machine's clocks.
 *
 * The time-stamp counter is used where the processor says it is invariant (CPUID 0x80000007, bit
 * 8). Its rate is measured once, over 20 ms between two tight pairs of counter and CLOCK_MONOTONIC;
 * the pairs are good to about 50 ns, the rate to a few parts per million. It is never corrected
 * later: cumulative times are differences of this clock, and a corrected rate would make an hour of
 * them jump.
 */
#include "libcancel/sys/clock.h"

#include <pthread.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CALIBRATE_NS	20000000
#define CALIBRATE_TRIES 16

struct clock_page clock_page;

uint64_t clock_monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
static bool counter_is_invariant(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
}

/* Counter and clock at one instant: of a few tries the one with the shortest way round. */
static void read_pair(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < CALIBRATE_TRIES; i++) {
		uint64_t before = __builtin_ia32_rdtsc();
		uint64_t at_ns = clock_monotonic_ns();
		uint64_t around = __builtin_ia32_rdtsc() - before;
		if (around < best) {
			best = around;
			*ticks = before + around / 2;
			*ns = at_ns;
		}
	}
}

static void calibrate(void)
{
	uint64_t ticks_1, ns_1, ticks_2, ns_2;
	read_pair(&ticks_1, &ns_1);
	struct timespec rest = { .tv_nsec = CALIBRATE_NS };
	nanosleep(&rest, NULL);
	read_pair(&ticks_2, &ns_2);
	if (ticks_2 <= ticks_1 || ns_2 <= ns_1)
		return;
	double scale = (double)(ns_2 - ns_1) / (double)(ticks_2 - ticks_1);
	clock_page.base_ns = ns_1;
	clock_page.base_ticks = ticks_1; /* the past: no later reading is before it */
	store_release(&clock_page.ns_per_tick_q32, (uint64_t)(scale * 4294967296.0));
}
#endif

static void init_once(void)
{
#if defined(__x86_64__)
	if (counter_is_invariant())
		calibrate();
#endif
}

void clock_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, init_once);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patience.h - how long a test waits for what must come, before it says that it did not. Such a
 * limit ends a test that has failed already; on a slow machine all of them grow by CMake's
 * CANCEL_TEST_TIME_FACTOR, as the limits of ctest do.
 */
#ifndef SUPPORT_PATIENCE_H
#define SUPPORT_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint32_t test_time_factor(void)
{
	const char *text = getenv("TEST_TIME_FACTOR");
	long factor = text ? strtol(text, NULL, 10) : 1;
	return (uint32_t)(factor >= 1 && factor <= 999 ? factor : 1);
}

static inline uint32_t patience_s(void)
{
	return 20 * test_time_factor();
}

static inline uint64_t patience_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* When a wait that begins now has failed. */
static inline uint64_t patience_end_ns(void)
{
	return patience_now_ns() + patience_s() * 1000000000ull;
}

/* A millisecond between two looks at what another thread or process will make true. False: it
 * should have come. */
static inline bool patience_nap(uint64_t end_ns)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	nanosleep(&nap, NULL);
	return patience_now_ns() < end_ns;
}

/* Another thread or process will make it true; a test that waits for too long has failed. */
#define WAIT_UNTIL(condition)                                                                      \
	do {                                                                                       \
		uint64_t wait_end_ns = patience_end_ns();                                          \
		while (!(condition))                                                               \
			if (!patience_nap(wait_end_ns))                                            \
				fail_msg("in vain awaited: %s", #condition);                       \
	} while (0)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - atomic access with the memory order in the name.
 *
 * Every shared field goes through these, so that the order can be read at the place of use. No
 * fences: TSan does not model them, and acquire/release on the access itself says more.
 */
#ifndef CANCEL_SYS_ORDER_H
#define CANCEL_SYS_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define load_relaxed(p)	       atomic_load_explicit((p), memory_order_relaxed)
#define load_acquire(p)	       atomic_load_explicit((p), memory_order_acquire)
#define store_relaxed(p, v)    atomic_store_explicit((p), (v), memory_order_relaxed)
#define store_release(p, v)    atomic_store_explicit((p), (v), memory_order_release)
#define add_relaxed(p, v)      atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define or_release(p, v)       atomic_fetch_or_explicit((p), (v), memory_order_release)
#define exchange_relaxed(p, v) atomic_exchange_explicit((p), (v), memory_order_relaxed)
#define exchange_acquire(p, v) atomic_exchange_explicit((p), (v), memory_order_acquire)

/* A plain load and store, for fields only one thread writes: no read-modify-write. */
#define bump_relaxed(p, v) store_relaxed((p), load_relaxed(p) + (v))
#define bump_release(p, v) store_release((p), load_relaxed(p) + (v))

/* Success orders; a failed attempt only reloads. */
#define cas_relaxed(p, old, new)                                                                   \
	atomic_compare_exchange_strong_explicit(                                                   \
		(p), (old), (new), memory_order_relaxed, memory_order_relaxed)
#define cas_acq_rel(p, old, new)                                                                   \
	atomic_compare_exchange_strong_explicit(                                                   \
		(p), (old), (new), memory_order_acq_rel, memory_order_acquire)

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Out of the way of the hot path: it then saves no registers for what hardly ever happens. */
#define cold_path __attribute__((cold, noinline))

/* Not exported: reached without the global offset table. */
#define internal __attribute__((visibility("hidden")))

#define CACHE_LINE_BYTES 64

#endif

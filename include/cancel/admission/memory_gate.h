/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_gate.h - a memory budget that evicts before it refuses, and refuses only what grows.
 *
 * Purpose: stay within a budget without an out-of-memory kill. Before a request starts, or before
 * it takes more, the gate compares use + need with the limit. If it does not fit and enough could
 * be evicted, the caller is told how much to evict and asks again; if not even that would do, a
 * request that grows memory is refused, and nothing is evicted in vain. A request that does not
 * grow memory (a read from what is there, a delete) always goes: refusing it would keep the server
 * full. A need above the limit is told apart: waiting will not help.
 * Thread safety: none: one caller, or a lock of its own. Cost: O(1). Bytes.
 * Source: Redis and Valkey, maxmemory and the deny-oom flag of commands; the need known in advance
 * and the refusal to evict in vain are ours.
 */
#ifndef CANCEL_ADMISSION_MEMORY_GATE_H
#define CANCEL_ADMISSION_MEMORY_GATE_H

#include <cancel/cancel.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cancel_memory_verdict {
	CANCEL_MEMORY_GO,	 /* the need is taken */
	CANCEL_MEMORY_EVICT,	 /* evict so much, observe it, ask again */
	CANCEL_MEMORY_REFUSE,	 /* full: try again later */
	CANCEL_MEMORY_TOO_LARGE, /* could never fit */
};

struct cancel_memory_gate_options { /* zero = default, in brackets */
	size_t struct_size;
	uint64_t limit_bytes; /* required */
};

struct cancel_memory_gate {
	uint64_t limit_bytes, used_bytes;
	uint64_t refused, evict_asked; /* verdicts so far */
};

/* Returns 0, or CANCEL_EINVAL (no struct_size, no limit). */
CANCEL_MUST_CHECK int cancel_memory_gate_init(
	struct cancel_memory_gate *gate, const struct cancel_memory_gate_options *options);
/* May a request that will take `need_bytes` (0: it grows nothing) go ahead, when `evictable_bytes`
 * could be freed? On GO the need counts as used. `evict_bytes` (may be NULL) is set to what must be
 * evicted first (EVICT), or should be soon because the budget is exceeded (GO); else to 0. */
enum cancel_memory_verdict cancel_memory_gate_admit(struct cancel_memory_gate *gate,
	uint64_t now_ns, uint64_t need_bytes, uint64_t evictable_bytes, uint64_t *evict_bytes);
/* Use changed by so much outside of admit: memory given back or evicted (negative), or taken. */
void cancel_memory_gate_observe(
	struct cancel_memory_gate *gate, uint64_t now_ns, int64_t change_bytes);

#ifdef __cplusplus
}
#endif
#endif

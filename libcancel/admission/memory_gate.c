/* SPDX-License-Identifier: Apache-2.0 */
/* The memory gate: one sum and one limit. */
#include <cancel/admission/memory_gate.h>

#include "libcancel/base/fixed.h"
#include "libcancel/base/struct_size.h"

int cancel_memory_gate_init(
	struct cancel_memory_gate *gate, const struct cancel_memory_gate_options *options)
{
	struct cancel_memory_gate_options o;
	if (!struct_size_read(&o, sizeof o, options) || !o.limit_bytes)
		return CANCEL_EINVAL;
	*gate = (struct cancel_memory_gate){ .limit_bytes = o.limit_bytes };
	return 0;
}

enum cancel_memory_verdict cancel_memory_gate_admit(struct cancel_memory_gate *gate,
	uint64_t now_ns, uint64_t need_bytes, uint64_t evictable_bytes, uint64_t *evict_bytes)
{
	const uint64_t wanted = fixed_plus(gate->used_bytes, need_bytes);
	const uint64_t over = fixed_minus(wanted, gate->limit_bytes);
	uint64_t ignored;
	uint64_t *const evict = evict_bytes ? evict_bytes : &ignored;
	(void)now_ns;
	*evict = 0;
	if (!over) {
		gate->used_bytes = wanted;
		return CANCEL_MEMORY_GO;
	}
	if (!need_bytes) {
		*evict = over < evictable_bytes ? over : evictable_bytes;
		return CANCEL_MEMORY_GO;
	}
	if (need_bytes <= gate->limit_bytes && over <= evictable_bytes) {
		gate->evict_asked++;
		*evict = over;
		return CANCEL_MEMORY_EVICT;
	}
	gate->refused++;
	return need_bytes > gate->limit_bytes ? CANCEL_MEMORY_TOO_LARGE : CANCEL_MEMORY_REFUSE;
}

void cancel_memory_gate_observe(
	struct cancel_memory_gate *gate, uint64_t now_ns, int64_t change_bytes)
{
	(void)now_ns;
	if (change_bytes < 0)
		gate->used_bytes = fixed_minus(gate->used_bytes, 0 - (uint64_t)change_bytes);
	else
		gate->used_bytes = fixed_plus(gate->used_bytes, (uint64_t)change_bytes);
}

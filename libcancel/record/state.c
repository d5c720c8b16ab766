/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns what writer and reader remember of the looks so far.
 */
#include "libcancel/record/looks.h"

#include <stdalign.h>

size_t record_state_bytes(uint32_t task_limit)
{
	return sizeof(struct record_state) +
	       task_limit * (sizeof(struct record_slot) + 2 * sizeof(uint32_t));
}

void record_state_init(struct record_state *s, uint32_t task_limit)
{
	_Static_assert(sizeof(struct record_state) % alignof(struct record_slot) == 0 &&
			       sizeof(struct record_slot) % alignof(uint32_t) == 0,
		"the arrays behind the state are not aligned");
	s->task_limit = task_limit;
	s->slots = (struct record_slot *)(s + 1);
	s->order = (uint32_t *)(s->slots + task_limit);
	s->next_order = s->order + task_limit;
	record_state_restart(s);
}

void record_state_restart(struct record_state *s)
{
	s->restart++;
	s->now_ns = 0;
	s->step_ns = 0;
	s->order_count = 0;
	s->has_model = false;
	memset(s->ledger, 0, sizeof s->ledger);
	memset(s->resources, 0, sizeof s->resources);
	memset(s->queues, 0, sizeof s->queues);
	memset(s->latency, 0, sizeof s->latency);
	memset(s->last, 0, sizeof s->last);
}

struct record_slot *record_state_slot(struct record_state *s, uint32_t slot, bool *fresh)
{
	struct record_slot *at = &s->slots[slot];
	*fresh = at->restart != s->restart;
	if (!*fresh)
		return at;
	if (s->has_model)
		*at = s->slots[s->model];
	else
		memset(at, 0, sizeof *at);
	at->restart = s->restart;
	at->look = 0;
	return at;
}

bool record_state_expected(const struct record_state *s, uint32_t *slot)
{
	if (s->cursor < s->order_count) {
		*slot = s->order[s->cursor];
		return true;
	}
	*slot = s->next_count ? s->next_order[s->next_count - 1] + 1 : 0;
	return false;
}

void record_state_passed(struct record_state *s, struct record_slot *at, uint32_t slot)
{
	if (at->look + 1 == s->look)
		s->cursor = at->position + 1;
	at->look = s->look;
	at->now_ns = s->now_ns;
	at->position = s->next_count;
	if (s->next_count < s->task_limit)
		s->next_order[s->next_count++] = slot;
}

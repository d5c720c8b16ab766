/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.c - owns the sums over ended tasks. Knows nothing of slots.
 *
 * Sixteen shards, a thread always adds to the same one, so that busy threads seldom meet on a
 * line. Additions are relaxed: each number is a sum on its own, and the controller reads them
 * again 50 ms later. The latency histogram is long; a shard's `dirty` word has a bit for each group
 * of buckets touched since the controller last took it. The bit is set (release) after the bucket
 * is counted and taken (acquire) before the buckets are read, so no count is overlooked for long.
 */
#include "libcancel/track/totals.h"

#include <string.h>

#include "libcancel/core/histogram.h"

#define SHARDS	      16u
#define GROUP_BUCKETS 32u
#define GROUPS	      (CANCEL_HISTOGRAM_MAX / GROUP_BUCKETS)
_Static_assert(GROUPS <= 64, "one dirty bit a group");

struct atomic_use {
	_Atomic uint64_t wait_ns, hold_ns, evicted, orphan_stall_ns, waits, acquires;
};

struct shard { /* all threads add; the controller reads, and takes `dirty` */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t completed, late, ended_active_ns, dirty;
	_Alignas(CACHE_LINE_BYTES) struct atomic_use use[CANCEL_RESOURCES_MAX];
	_Atomic uint64_t latency[CANCEL_HISTOGRAM_MAX];
};

static struct shard shards[SHARDS];
static _Atomic uint32_t threads_seen;
static uint64_t shard_latency[SHARDS][CANCEL_HISTOGRAM_MAX]; /* as last read; controller only */
static _Atomic uint64_t learned[CANCEL_CLASSES_MAX][CANCEL_HISTOGRAM_MAX];

static struct shard *own_shard(void)
{
	static _Thread_local struct shard *own;
	if (unlikely(!own))
		own = &shards[add_relaxed(&threads_seen, 1) % SHARDS];
	return own;
}

static uint32_t shards_used(void)
{
	uint32_t seen = load_relaxed(&threads_seen);
	return seen < SHARDS ? seen : SHARDS;
}

void totals_episode(uint64_t latency_ns, uint64_t slo_ns)
{
	struct shard *s = own_shard();
	uint32_t bucket = histogram_index(latency_ns);
	uint64_t bit = (uint64_t)1 << (bucket / GROUP_BUCKETS);
	add_relaxed(&s->completed, 1);
	if (latency_ns > slo_ns)
		add_relaxed(&s->late, 1);
	add_relaxed(&s->ended_active_ns, latency_ns);
	add_relaxed(&s->latency[bucket], 1);
	if (!(load_relaxed(&s->dirty) & bit))
		atomic_fetch_or_explicit(&s->dirty, bit, memory_order_release);
}

void totals_learn(uint32_t class_index, uint64_t latency_ns)
{
	add_relaxed(&learned[class_index][histogram_index(latency_ns)], 1);
}

static void add_some(_Atomic uint64_t *sum, uint64_t amount)
{
	if (amount)
		add_relaxed(sum, amount);
}

void totals_use(uint32_t resource, const struct ended_use *use)
{
	struct atomic_use *sum = &own_shard()->use[resource];
	add_some(&sum->wait_ns, use->wait_ns);
	add_some(&sum->hold_ns, use->hold_ns);
	add_some(&sum->evicted, use->evicted);
	add_some(&sum->orphan_stall_ns, use->orphan_stall_ns);
	add_some(&sum->waits, use->waits);
	add_some(&sum->acquires, use->acquires);
}

static void read_latency(uint32_t index, uint64_t *latency)
{
	struct shard *s = &shards[index];
	if (!load_relaxed(&s->dirty))
		return;
	uint64_t dirty = exchange_acquire(&s->dirty, 0);
	while (dirty) {
		uint32_t group = (uint32_t)__builtin_ctzll(dirty);
		dirty &= dirty - 1;
		for (uint32_t i = group * GROUP_BUCKETS; i < (group + 1) * GROUP_BUCKETS; i++) {
			uint64_t now = load_relaxed(&s->latency[i]);
			latency[i] += now - shard_latency[index][i];
			shard_latency[index][i] = now;
		}
	}
}

static void read_use(const struct shard *s, struct totals *sum, uint32_t resource_count)
{
	for (uint32_t r = 0; r < resource_count; r++) {
		const struct atomic_use *from = &s->use[r];
		struct ended_use *to = &sum->use[r];
		to->wait_ns += load_relaxed(&from->wait_ns);
		to->hold_ns += load_relaxed(&from->hold_ns);
		to->evicted += load_relaxed(&from->evicted);
		to->orphan_stall_ns += load_relaxed(&from->orphan_stall_ns);
		to->waits += load_relaxed(&from->waits);
		to->acquires += load_relaxed(&from->acquires);
	}
}

void totals_sum(struct totals *sum, uint32_t resource_count)
{
	*sum = (struct totals){ 0 };
	uint32_t used = shards_used();
	for (uint32_t i = 0; i < used; i++) {
		const struct shard *s = &shards[i];
		sum->completed += load_relaxed(&s->completed);
		sum->late += load_relaxed(&s->late);
		sum->ended_active_ns += load_relaxed(&s->ended_active_ns);
		read_use(s, sum, resource_count);
	}
}

void totals_read(struct totals *sum, uint32_t resource_count, uint64_t *latency)
{
	uint32_t used = shards_used();
	totals_sum(sum, resource_count);
	for (uint32_t i = 0; i < used; i++)
		read_latency(i, latency);
}

void totals_read_learned(uint32_t class_index, uint64_t *counts)
{
	for (uint32_t i = 0; i < CANCEL_HISTOGRAM_MAX; i++)
		counts[i] = load_relaxed(&learned[class_index][i]);
}

static void words_clear(_Atomic uint64_t *words, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		store_relaxed(&words[i], 0);
}

/* Before the threads run, or alone in a forked child. A thread that still adds is harmless. */
void totals_reset(void)
{
	for (uint32_t i = 0; i < SHARDS; i++) {
		struct shard *s = &shards[i];
		store_relaxed(&s->completed, 0);
		store_relaxed(&s->late, 0);
		store_relaxed(&s->ended_active_ns, 0);
		store_relaxed(&s->dirty, 0);
		words_clear(&s->use[0].wait_ns, sizeof(s->use));
		words_clear(s->latency, sizeof(s->latency));
	}
	words_clear(&learned[0][0], sizeof(learned));
	memset(shard_latency, 0, sizeof(shard_latency));
}

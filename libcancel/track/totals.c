/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.c - owns the sums over ended tasks.
 *
 * Sixteen shards, a thread always adds to the same one, so that busy threads seldom meet on a
 * line. Additions are relaxed: each number is a sum on its own.
 *
 * Every task must be in a ledger once: as a live slot, or in the sums. So the collector publishes
 * its position (epoch of the ledger, slots passed), and a task that ends looks at it. Not passed
 * yet: the collector will find the slot empty, so the task counts in this ledger. Passed: it is in
 * this ledger as a live one, so its sums count from the next on. Each shard has two banks for that;
 * what counts from ledger e on goes to bank e mod 2:
 *
 *	ledger e = bank e+1 mod 2 as it was when e began (nothing is added there until a slot has
 *	been passed) + bank e mod 2 when the last slot has been passed
 *
 * A thread that stops between its look and its additions may add to a bank that was just read; its
 * task is then missing from one ledger. The core takes totals that fall for no change.
 *
 * The latency histogram is long; a shard's `dirty` word has a bit for each group of buckets touched
 * since the controller last took it. The bit is set (release) after the bucket is counted and taken
 * (acquire) before the buckets are read.
 */
#include "libcancel/track/totals.h"

#include <string.h>

#include "libcancel/base/histogram.h"

#define SHARDS	      16u
#define GROUP_BUCKETS 32u
#define GROUPS	      (CANCEL_HISTOGRAM_MAX / GROUP_BUCKETS)
_Static_assert(GROUPS <= 64, "one dirty bit a group");
#define EPOCH_SHIFT 32
#define ALL_PASSED  UINT32_MAX

struct atomic_use {
	_Atomic uint64_t wait_ns, hold_ns, evicted, orphan_stall_ns, waits, acquires;
};

struct bank { /* all threads add, relaxed; the controller reads */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t completed;
	_Atomic uint64_t late, ended_active_ns;
	struct atomic_use use[CANCEL_RESOURCES_MAX];
};

struct shard {
	struct bank banks[2];
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t
		dirty; /* all threads set bits; the controller takes them */
	_Atomic uint64_t latency[CANCEL_HISTOGRAM_MAX];
};

static struct shard shards[SHARDS];
static _Atomic uint32_t threads_seen;
static _Atomic uint64_t position; /* epoch and slots passed; controller writes, all read */
static uint64_t shard_latency[SHARDS][CANCEL_HISTOGRAM_MAX]; /* as last read; controller only */
static _Atomic uint64_t learned[CANCEL_CLASSES_MAX][CANCEL_HISTOGRAM_MAX];

static _Thread_local struct shard *own __attribute__((tls_model("initial-exec")));

static cold_path void take_shard(void)
{
	own = &shards[add_relaxed(&threads_seen, 1) % SHARDS];
}

static inline struct shard *own_shard(void)
{
	if (unlikely(!own))
		take_shard();
	return own;
}

static uint32_t shards_used(void)
{
	uint32_t seen = load_relaxed(&threads_seen);
	return seen < SHARDS ? seen : SHARDS;
}

/* ---- Tasks that end -------------------------------------------------------------------------- */

static inline struct bank *bank_of(struct shard *s, uint32_t index)
{
	uint64_t now = load_acquire(&position);
	uint32_t epoch = (uint32_t)(now >> EPOCH_SHIFT) + (index < (uint32_t)now);
	return &s->banks[epoch % 2];
}

struct bank *totals_bank(uint32_t index)
{
	return bank_of(own_shard(), index);
}

static inline void add_episode(
	struct shard *s, uint32_t index, uint64_t latency_ns, uint64_t slo_ns)
{
	struct bank *b = bank_of(s, index);
	uint32_t bucket = histogram_index(latency_ns);
	uint64_t bit = (uint64_t)1 << (bucket / GROUP_BUCKETS);
	add_relaxed(&b->completed, 1);
	if (latency_ns > slo_ns)
		add_relaxed(&b->late, 1);
	add_relaxed(&b->ended_active_ns, latency_ns);
	add_relaxed(&s->latency[bucket], 1);
	if (!(load_relaxed(&s->dirty) & bit))
		or_release(&s->dirty, bit);
}

/* Apart, so that the usual call needs no stack frame. */
static cold_path void add_first_episode(uint32_t index, uint64_t latency_ns, uint64_t slo_ns)
{
	add_episode(own_shard(), index, latency_ns, slo_ns);
}

void totals_episode(uint32_t index, uint64_t latency_ns, uint64_t slo_ns)
{
	if (likely(own))
		add_episode(own, index, latency_ns, slo_ns);
	else
		add_first_episode(index, latency_ns, slo_ns);
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

void totals_use(struct bank *b, uint32_t resource, const struct ended_use *use)
{
	struct atomic_use *sum = &b->use[resource];
	add_some(&sum->wait_ns, use->wait_ns);
	add_some(&sum->hold_ns, use->hold_ns);
	add_some(&sum->evicted, use->evicted);
	add_some(&sum->orphan_stall_ns, use->orphan_stall_ns);
	add_some(&sum->waits, use->waits);
	add_some(&sum->acquires, use->acquires);
}

/* ---- The collector --------------------------------------------------------------------------- */

static void add_bank(uint32_t which, struct totals *sum, uint32_t resource_count)
{
	uint32_t used = shards_used();
	for (uint32_t i = 0; i < used; i++) {
		const struct bank *b = &shards[i].banks[which];
		sum->completed += load_relaxed(&b->completed);
		sum->late += load_relaxed(&b->late);
		sum->ended_active_ns += load_relaxed(&b->ended_active_ns);
		for (uint32_t r = 0; r < resource_count; r++) {
			const struct atomic_use *from = &b->use[r];
			struct ended_use *to = &sum->use[r];
			to->wait_ns += load_relaxed(&from->wait_ns);
			to->hold_ns += load_relaxed(&from->hold_ns);
			to->evicted += load_relaxed(&from->evicted);
			to->orphan_stall_ns += load_relaxed(&from->orphan_stall_ns);
			to->waits += load_relaxed(&from->waits);
			to->acquires += load_relaxed(&from->acquires);
		}
	}
}

static uint32_t epoch_now(void)
{
	return (uint32_t)(load_relaxed(&position) >> EPOCH_SHIFT);
}

void totals_begin(struct totals *sum, uint32_t resource_count)
{
	uint32_t epoch = epoch_now() + 1;
	*sum = (struct totals){ 0 };
	add_bank((epoch + 1) % 2, sum, resource_count);
	store_release(&position, (uint64_t)epoch << EPOCH_SHIFT);
}

void totals_passed(uint32_t index)
{
	store_release(&position, (uint64_t)epoch_now() << EPOCH_SHIFT | index);
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

void totals_end(struct totals *sum, uint32_t resource_count, uint64_t *latency)
{
	uint32_t used = shards_used();
	totals_passed(ALL_PASSED);
	add_bank(epoch_now() % 2, sum, resource_count);
	for (uint32_t i = 0; i < used; i++)
		read_latency(i, latency);
}

/* ---- Others ---------------------------------------------------------------------------------- */

void totals_sum(struct totals *sum, uint32_t resource_count)
{
	*sum = (struct totals){ 0 };
	add_bank(0, sum, resource_count);
	add_bank(1, sum, resource_count);
}

void totals_read_learned(uint32_t class_index, uint64_t *counts)
{
	for (uint32_t i = 0; i < CANCEL_HISTOGRAM_MAX; i++)
		counts[i] = load_relaxed(&learned[class_index][i]);
}

static void words_clear(_Atomic uint64_t *words, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof *words; i++)
		store_relaxed(&words[i], 0);
}

static void bank_clear(struct bank *b)
{
	store_relaxed(&b->completed, 0);
	store_relaxed(&b->late, 0);
	store_relaxed(&b->ended_active_ns, 0);
	words_clear(&b->use[0].wait_ns, sizeof b->use);
}

/* Before the controller runs, or alone in a forked child. A thread that still adds is harmless. */
void totals_reset(void)
{
	for (uint32_t i = 0; i < SHARDS; i++) {
		bank_clear(&shards[i].banks[0]);
		bank_clear(&shards[i].banks[1]);
		store_relaxed(&shards[i].dirty, 0);
		words_clear(shards[i].latency, sizeof shards[i].latency);
	}
	words_clear(&learned[0][0], sizeof learned);
	memset(shard_latency, 0, sizeof shard_latency);
}

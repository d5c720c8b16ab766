/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - owns the life of a page pool: its options, its memory, its figures, and the check that
 * its frames equal their files. Pages move in pool_pages.c and load.c.
 */
#include "demo-db/engine/storage/pool_pages.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SHARD_COUNT_DEFAULT 16u
#define FRAMES_MAX	    (UINT32_MAX / 8) /* 2 TiB: every count fits 32 bits */
#define READ_AHEAD_DEFAULT  64u
#define RING_FRAMES_DEFAULT 64u
#define SHARD_FRAMES_MIN    16u
/* Under a dump of four pools, point reads over 90 % of the pool miss pages evicted several pool
 * turnovers ago. Of their misses a directory of one, two, three, four pools explains 43, 69, 87
 * and 100 % (measured: 25 k/s, 48 MiB). An entry takes 24 bytes, so four are 2 % of the pool. */
#define GHOSTS_A_FRAME	     4u
#define MIDPOINT_PERCENT_MAX 90u
#define HUGE_PAGE_BYTES	     ((size_t)2 << 20)

/* ---- Opening and closing --------------------------------------------------------------------- */

static int check_options(const struct db_pool_options *options)
{
	if (options->struct_size != sizeof(*options))
		return db_pool_refuse(-EINVAL, "pool options of %zu bytes; this build has %zu",
			options->struct_size, sizeof(*options));
	size_t frames = options->pool_bytes / DB_POOL_PAGE_BYTES;
	if (frames < DB_POOL_FRAMES_MIN || frames > FRAMES_MAX)
		return db_pool_refuse(-EINVAL,
			"a pool of %zu bytes holds %zu pages of %u bytes; %u to %u are possible",
			options->pool_bytes, frames, DB_POOL_PAGE_BYTES, DB_POOL_FRAMES_MIN,
			FRAMES_MAX);
	uint32_t shards = options->shard_count;
	if ((shards & (shards - 1)) != 0 || shards > DB_POOL_SHARDS_MAX)
		return db_pool_refuse(-EINVAL, "%u shards; a power of two up to %u is possible",
			shards, DB_POOL_SHARDS_MAX);
	if (options->read_ahead_pages > DB_POOL_READ_AHEAD_MAX)
		return db_pool_refuse(-EINVAL, "read-ahead of %u pages; up to %u are possible",
			options->read_ahead_pages, DB_POOL_READ_AHEAD_MAX);
	if (options->midpoint_percent > MIDPOINT_PERCENT_MAX)
		return db_pool_refuse(-EINVAL, "a midpoint of %u percent; 0 to %u are possible",
			options->midpoint_percent, MIDPOINT_PERCENT_MAX);
	return 0;
}

/* Derives the pool's shape; every shard gets the same number of frames. */
static void shape(struct db_pool *pool, const struct db_pool_options *options)
{
	uint32_t frames = (uint32_t)(options->pool_bytes / DB_POOL_PAGE_BYTES);
	uint32_t shards = options->shard_count != 0 ? options->shard_count : SHARD_COUNT_DEFAULT;
	while (shards > 1 && frames / shards < SHARD_FRAMES_MIN)
		shards /= 2;
	uint32_t ahead =
		options->read_ahead_pages != 0 ? options->read_ahead_pages : READ_AHEAD_DEFAULT;
	pool->shard_count = shards;
	pool->shard_frames = frames / shards;
	pool->frame_count = shards * pool->shard_frames;
	/* A scan may not empty a small pool at one stroke, nor its ring. */
	pool->read_ahead_pages = ahead < frames / 4 ? ahead : frames / 4;
	uint32_t ring = options->ring_frames != 0 ? options->ring_frames : RING_FRAMES_DEFAULT;
	ring = ring < frames / 4 ? ring : frames / 4;
	pool->ring_frames = ring > shards ? ring / shards * shards : shards;
	pool->io.mode = options->io;
	pool->io.latency_us = options->latency_us;
	pool->resource = options->resource;
}

static int map_pages(struct db_pool *pool)
{
	pool->mapped_bytes = ((size_t)pool->frame_count + 1) * DB_POOL_PAGE_BYTES;
	pool->pages = mmap(NULL, pool->mapped_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool->pages == MAP_FAILED) {
		pool->pages = NULL;
		return -ENOMEM;
	}
	/* Fewer misses in the processor's address cache, if the system has such pages to give. */
	if (pool->mapped_bytes >= HUGE_PAGE_BYTES)
		(void)madvise(pool->pages, pool->mapped_bytes, MADV_HUGEPAGE);
	return 0;
}

static int init_shards(struct db_pool *pool, const struct db_pool_options *options)
{
	uint32_t ghosts = options->ghost_frames != 0 ? options->ghost_frames
						     : GHOSTS_A_FRAME * pool->frame_count;
#ifdef CANCEL_OFF
	ghosts = 0; /* nobody asks who evicted what */
#endif
	for (uint32_t i = 0; i < pool->shard_count; i++) {
		struct shard_options shard = {
			.frames = pool->frames,
			.first = i * pool->shard_frames,
			.count = pool->shard_frames,
			.ring_max = pool->ring_frames / pool->shard_count,
			.ghost_capacity = ghosts / pool->shard_count,
			.midpoint_percent = options->midpoint_percent,
		};
		int rc = shard_init(&pool->shards[i], &shard);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static void *zeroed_array(size_t count, size_t element_bytes, size_t alignment)
{
	void *memory = aligned_alloc(alignment, count * element_bytes);
	if (memory != NULL)
		memset(memory, 0, count * element_bytes);
	return memory;
}

int db_pool_open(struct db_pool **out, const struct db_pool_options *options)
{
	*out = NULL;
	db_pool_refuse(0, "%s", "");
	int rc = check_options(options);
	if (rc != 0)
		return rc;
	struct db_pool *pool = calloc(1, sizeof(*pool));
	if (pool == NULL)
		return db_pool_refuse(-ENOMEM, "out of memory for a pool");
	shape(pool, options);
	pool->frames =
		zeroed_array(pool->frame_count, sizeof(struct frame), _Alignof(struct frame));
	pool->shards =
		zeroed_array(pool->shard_count, sizeof(struct shard), _Alignof(struct shard));
	if (pool->frames == NULL || pool->shards == NULL || map_pages(pool) != 0 ||
		init_shards(pool, options) != 0) {
		db_pool_close(pool);
		return db_pool_refuse(
			-ENOMEM, "out of memory for a pool of %zu bytes", options->pool_bytes);
	}
	*out = pool;
	return 0;
}

void db_pool_close(struct db_pool *pool)
{
	if (pool == NULL)
		return;
	for (uint32_t i = 0; pool->shards != NULL && i < pool->shard_count; i++)
		shard_destroy(&pool->shards[i]);
	if (pool->pages != NULL)
		munmap(pool->pages, pool->mapped_bytes);
	free(pool->shards);
	free(pool->frames);
	free(pool);
}

void db_pool_inject(struct db_pool *pool, const struct db_pool_faults *faults)
{
	atomic_store_explicit(&pool->io.fault_reads, 0, memory_order_relaxed);
	atomic_store_explicit(&pool->io.fault_writes, 0, memory_order_relaxed);
	atomic_store_explicit(&pool->io.faults, faults, memory_order_release);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static void add_shard(struct db_pool_stats *stats, struct shard *shard)
{
	pthread_mutex_lock(&shard->lock);
	const struct shard_counters *counters = &shard->counters;
	stats->hits += counters->hits;
	stats->misses += counters->misses;
	stats->waits += counters->waits;
	stats->evictions += counters->evictions;
	stats->ghost_hits += counters->ghost_hits;
	stats->read_ahead += counters->read_ahead;
	stats->discards += counters->discards;
	for (int i = 0; i < LIST_COUNT; i++)
		stats->resident += shard->lists[i].count;
	stats->ring += shard->ring_count;
	stats->ghosts += shard->ghosts.count;
	pthread_mutex_unlock(&shard->lock);
}

static uint64_t relaxed(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void describe_io(const struct page_io *io, struct db_pool_stats *stats)
{
	uint32_t direct = atomic_load_explicit(&io->direct_files, memory_order_relaxed);
	uint32_t buffered = atomic_load_explicit(&io->buffered_files, memory_order_relaxed);
	stats->direct_io = direct != 0 && buffered == 0;
	if (buffered != 0)
		snprintf(stats->io, sizeof(stats->io), "buffered + %u us", io->latency_us);
	else
		snprintf(stats->io, sizeof(stats->io), "%s", direct != 0 ? "O_DIRECT" : "none");
}

void db_pool_stats(const struct db_pool *pool, struct db_pool_stats *stats)
{
	*stats = (struct db_pool_stats){
		.frames = pool->frame_count,
		.bypasses = relaxed(&pool->bypasses),
		.wal_reads = relaxed(&pool->wal_reads),
		.reads = relaxed(&pool->io.reads),
		.writes = relaxed(&pool->io.writes),
	};
	describe_io(&pool->io, stats);
	for (uint32_t i = 0; i < pool->shard_count; i++)
		add_shard(stats, &pool->shards[i]);
}

/* ---- Verifying ------------------------------------------------------------------------------- */

struct verification {
	struct db_pool *pool;
	uint8_t *in_frame, *in_file; /* 4 KiB each, aligned */
	uint32_t different;
};

/* Copies the frame if it holds a page of `file`, and says which. */
static bool copy_frame(struct db_pool *pool, struct frame *frame, const struct page_file *file,
	uint32_t *page, void *out)
{
	struct shard *shard = &pool->shards[frame->index / pool->shard_frames];
	pthread_mutex_lock(&shard->lock);
	bool theirs = frame->state == FRAME_VALID && frame->key >> 32 == file->id;
	if (theirs) {
		*page = (uint32_t)frame->key;
		memcpy(out, pool_data(pool, frame), DB_POOL_PAGE_BYTES);
	}
	pthread_mutex_unlock(&shard->lock);
	return theirs;
}

/* Between two writes frame and file must agree, so each comparison holds writers off. */
static void verify_file(void *arg, struct page_file *file)
{
	struct verification *check = arg;
	for (uint32_t i = 0; i < check->pool->frame_count; i++) {
		uint32_t page = 0;
		pthread_mutex_lock(&file->writing);
		if (copy_frame(
			    check->pool, &check->pool->frames[i], file, &page, check->in_frame)) {
			struct iovec whole = { .iov_base = check->in_file,
				.iov_len = DB_POOL_PAGE_BYTES };
			ssize_t bytes = page_file_read(file, page, &whole, 1);
			if (bytes != (ssize_t)DB_POOL_PAGE_BYTES ||
				memcmp(check->in_frame, check->in_file, DB_POOL_PAGE_BYTES) != 0)
				check->different++;
		}
		pthread_mutex_unlock(&file->writing);
		sched_yield(); /* a mutex is not fair: let a checkpoint have it */
	}
}

uint32_t db_pool_verify(struct db_pool *pool)
{
	struct verification check = { .pool = pool };
	check.in_frame = aligned_alloc(DB_POOL_PAGE_BYTES, 2 * (size_t)DB_POOL_PAGE_BYTES);
	if (check.in_frame == NULL)
		return UINT32_MAX;
	check.in_file = check.in_frame + DB_POOL_PAGE_BYTES;
	page_file_each(&pool->io, verify_file, &check);
	free(check.in_frame);
	return check.different;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the page pool of demo-db: one shared, fixed-size, single-copy cache of 4 KiB pages below
 * SQLite. The file layer (vfs.h) is its only reader; everything else opens it, watches it and
 * closes it.
 *
 * Plain LRU in shards (midpoint insertion as a knob), read-ahead of sequential scans, a ghost
 * directory that remembers who evicted which page. Every function is thread-safe unless it says
 * otherwise. Errors are negative errno values; db_pool_refusal() has the sentence.
 *
 * Lock levels: list of open files > writes of one file > one shard. With a shard locked the
 * library is only asked who the caller is; when a page is found, it is not called at all.
 */
#ifndef DEMO_DB_POOL_H
#define DEMO_DB_POOL_H

#include <cancel/cancel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DB_POOL_PAGE_BYTES     4096u
#define DB_POOL_FRAMES_MIN     64u
#define DB_POOL_SHARDS_MAX     256u
#define DB_POOL_READ_AHEAD_MAX 256u

struct db_pool;

enum db_pool_io {
	DB_POOL_IO_AUTO,     /* O_DIRECT where the file system has it, else buffered */
	DB_POOL_IO_DIRECT,   /* O_DIRECT, or the database is refused */
	DB_POOL_IO_BUFFERED, /* through the system's cache, each read latency_us longer */
};

struct db_pool_options { /* zero = the default in brackets */
	size_t struct_size;
	size_t pool_bytes;	   /* required; rounded down to whole frames a shard */
	uint32_t shard_count;	   /* [16] a power of two; fewer where shards get < 16 frames */
	uint32_t ghost_frames;	   /* [4 x the frames] evictions remembered */
	uint32_t read_ahead_pages; /* [64] pages a sequential reader loads at once; 1 = none */
	uint32_t midpoint_percent; /* [0 = plain LRU] share of the old part, 1 … 90 */
	uint32_t latency_us;	   /* [0] modelled cost of one read that is not O_DIRECT */
	uint32_t ring_frames;	   /* [64] what all gentle readers together may fill */
	enum db_pool_io io;
	struct cancel_resource resource; /* CANCEL_MEMORY, in frames; zero: untracked */
};

struct db_pool_stats {		/* since db_pool_open, except the gauges at the end */
	uint64_t hits;		/* fetches answered by a resident frame */
	uint64_t misses;	/* fetches that started a load */
	uint64_t waits;		/* fetches that waited for a load of another thread */
	uint64_t bypasses;	/* reads past the pool: no frame was free, or beyond the end */
	uint64_t evictions;	/* pages thrown out to make room; not those of the ring */
	uint64_t ghost_hits;	/* misses of a page the ghost directory knew */
	uint64_t read_ahead;	/* pages loaded before they were asked for */
	uint64_t discards;	/* loads thrown away because the file changed under them */
	uint64_t reads, writes; /* I/O calls on database files */
	uint64_t wal_reads;	/* pages read from a WAL, past the pool; not a checkpoint's */
	uint32_t frames, resident, ring, ghosts;
	bool direct_io; /* every file opened so far is read with O_DIRECT */
	char io[40];	/* for results: "O_DIRECT", "buffered + 100 us", "none" */
};

/* Allocates and touches nothing but memory. -EINVAL (see db_pool_refusal) or -ENOMEM. */
int db_pool_open(struct db_pool **out, const struct db_pool_options *options) CANCEL_MUST_CHECK;
/* Every connection must be closed and every file layer over it unregistered. NULL is fine. */
void db_pool_close(struct db_pool *pool);

/* Locks each shard in turn: for a line a second, not for a request. */
void db_pool_stats(const struct db_pool *pool, struct db_pool_stats *stats);

/* Called before a thread without a task waits for a page, so that it may begin one. Set before the
 * pool is used. */
void db_pool_before_stall(struct db_pool *pool, void (*call)(void));

/* This thread's misses go through a ring of few frames from now on, its hits move nothing. */
void db_pool_gentle(bool on);

/* Why the last open of a pool or a database was refused on this thread; "" if none was. */
const char *db_pool_refusal(void);

/* Compares every resident frame with its file; returns how many differ. Slow (a read a frame),
 * safe beside readers, writers and checkpoints; connections open and close only after it. */
uint32_t db_pool_verify(struct db_pool *pool);

/* ---- Faults, for tests ----------------------------------------------------------------------- */

struct db_pool_faults {
	uint64_t read_fails_at;	 /* the n-th read from now on fails; 0: none */
	uint64_t write_fails_at; /* the n-th write; 0: none */
	int error;		 /* with this errno, e.g. EIO, ENOSPC */
	uint32_t read_delay_us;	 /* every read takes this much longer */
	/* Runs after a read from the file, while its frames are still loading. */
	void (*after_read)(void *arg, uint32_t page, uint32_t count);
	void *arg;
};
/* `faults` must live until it is replaced; NULL ends it. Call it while no I/O runs. */
void db_pool_inject(struct db_pool *pool, const struct db_pool_faults *faults);

#endif
